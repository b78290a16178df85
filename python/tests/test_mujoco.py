"""Bodies of MuJoCo are systems like any other, and what their equations say."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lifeguard as lg

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("gymnasium")

import lifeguard.mujoco as bodies  # noqa: E402


def played_plainly(body, actions, start):
    """Observations, rewards and the step it fell in, by MuJoCo's own loop and Gymnasium's words on rewards."""
    model = body.model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start[: model.nq], start[model.nq : model.nq + model.nv]
    seen, rewards = [], []
    speed = 0.0
    for m, action in enumerate(actions):
        limit = 10 if isinstance(body, (bodies.Hopper, bodies.Walker2d)) else np.inf
        seen.append(np.concatenate([data.qpos[1:], np.clip(data.qvel, -limit, limit)]))
        u = np.clip(action, -1, 1)
        alive = 0 if isinstance(body, bodies.HalfCheetah) else 1
        price = 0.1 if isinstance(body, bodies.HalfCheetah) else 1e-3
        rewards.append(speed + alive - price * np.sum(u * u))
        before = data.qpos[0]
        data.ctrl[:] = u
        data.qacc_warmstart[:] = 0
        for _ in range(body.frame_skip):
            mujoco.mj_step(model, data)
        speed = (data.qpos[0] - before) / (model.opt.timestep * body.frame_skip)
        height, pitch = data.qpos[1], data.qpos[2]
        if isinstance(body, bodies.Hopper) and not (height > 0.7 and abs(pitch) < 0.2):
            return np.array(seen), np.array(rewards), m + 1
        if isinstance(body, bodies.Walker2d) and not (0.8 < height < 2 and abs(pitch) < 1):
            return np.array(seen), np.array(rewards), m + 1
    return np.array(seen), np.array(rewards), len(actions)


@pytest.mark.parametrize(("kind", "inputs", "actions"), [("HalfCheetah", 18, 6), ("Hopper", 12, 3), ("Walker2d", 18, 6)])
def test_rollouts_are_mujocos(kind, inputs, actions):
    body = getattr(bodies, kind)(gravity_share=0.7, torso_share=1.2)
    task = body.task("one")
    assert (task.inputs, task.actions) == (inputs, actions)
    generator = np.random.default_rng(1)
    policy = lg.Policy(0.1 * generator.normal(size=(actions, inputs)), 0.3)
    batch = lg.rollout(task, policy, trajectories=3, steps=60, seed=5)
    for i in range(3):
        start = lg.state_paths(task, policy, trajectories=3, steps=60, seed=5)[i][0]
        seen, rewards, lived = played_plainly(body, batch.actions[i, : batch.lengths[i]], start)
        assert lived == batch.lengths[i]
        expected = np.concatenate([(seen - body.means) / body.scales, np.ones((lived, 1))], axis=1)
        np.testing.assert_array_equal(batch.features[i, :lived], expected)
        np.testing.assert_allclose(body.reward(batch.costs[i, :lived]), rewards, rtol=0, atol=1e-12)
        assert np.all(batch.costs[i, lived:] == body.reward_ceiling)
    if kind == "HalfCheetah":
        assert batch.failed == 0
    else:
        assert batch.failed > 0
    # A pure function of task, policy, seed and range, whatever was played before.
    assert batch == lg.rollout(task, policy, trajectories=3, steps=60, seed=5, threads=2)
    later = lg.rollout(task, policy, trajectories=1, steps=60, seed=5, first_index=2)
    np.testing.assert_array_equal(later.features[0], batch.features[2])


def ends_of(parts, positions):
    """The ends of all lines of a stick figure, as the page computes them (web/src/animation.ts)."""

    def moved(frame, point):
        x, z, angle = frame
        return np.array([x + point[0] * np.cos(angle) + point[1] * np.sin(angle),
                         z - point[0] * np.sin(angle) + point[1] * np.cos(angle)])  # fmt: skip

    frames, ends = [], []
    for part in parts:
        carrier = frames[part["carrier"]] if part["carrier"] >= 0 else (0.0, 0.0, 0.0)
        frame = (*moved(carrier, part["at"]), carrier[2] + part["turn"])
        for joint in part["joints"]:
            way = positions[joint["signal"]] - joint["zero"]
            if "along" in joint:
                frame = (*moved(frame, way * np.array(joint["along"])), frame[2])
            else:
                anchor, angle = moved(frame, joint["around"]), frame[2] + joint["turns"] * way
                frame = (*(anchor - moved((0, 0, angle), joint["around"])), angle)
        frames.append(frame)
        ends += [(moved(frame, line[:2]), moved(frame, line[2:4])) for line in part["lines"]]
    return np.array(ends)


@pytest.mark.parametrize("kind", [bodies.HalfCheetah, bodies.Hopper, bodies.Walker2d])
@pytest.mark.parametrize("shares", [(), (0.5, 0.8, 1.2, 1.5)])
def test_the_stick_figure_is_where_mujoco_has_the_body(kind, shares):
    body = kind(**dict(zip(kind.parts, shares)))
    name, _, parts = body.drawing.partition(" [")
    assert name == "stick figure"
    radii = [line[4] for part in json.loads("[" + parts) for line in part["lines"]]
    capsules = [geom for geom in range(body.model.ngeom) if body.model.geom_bodyid[geom] != 0]  # without the ground
    np.testing.assert_allclose(radii, body.model.geom_size[capsules, 0], rtol=1e-12)
    assert body.positions == list(range(body.model.nq))
    data = mujoco.MjData(body.model)
    generator = np.random.default_rng(3)
    for _ in range(20):
        data.qpos[:] = generator.normal(size=body.model.nq)
        mujoco.mj_kinematics(body.model, data)
        places = []
        for geom in capsules:
            half = body.model.geom_size[geom][1] * data.geom_xmat[geom].reshape(3, 3)[:, 2]
            places.append([(data.geom_xpos[geom] + side * half)[[0, 2]] for side in (-1, 1)])
        np.testing.assert_allclose(ends_of(json.loads("[" + parts), data.qpos), places, atol=1e-12)


@pytest.mark.parametrize("kind", ["half-cheetah", "hopper"])
def test_the_benchmark_of_the_field_plays_and_its_run_is_proven(kind, tmp_path):
    bodies.register()
    config = Path(__file__).resolve().parents[2] / f"configs/field/{kind}.toml"
    short = ["experiment.tasks=2", "experiment.rounds=12", "experiment.steps=20", f"family.base={kind}-sizes",
             "safe_set.gain_box.lower=-1", "safe_set.gain_box.upper=1"]  # fmt: skip
    experiment = lg.Experiment.load(config, short)
    assert set(experiment.methods) == {"learner", "lpg-ftw", "pg-ella", "pg", "shared"}
    run = lg.run(experiment.only("learner", 3), tmp_path / "a.run")
    assert list(run.rounds["task"]) == 6 * [0] + 6 * [1]
    assert run.rounds["unsafe"].sum() == 0
    assert run.check(replay=True)["findings"] == []
    assert "stick figure [" in run.report().html


def test_parameters_change_the_model():
    plain, changed = bodies.Walker2d().model, bodies.Walker2d(gravity_share=0.5, foot_share=1.5).model
    np.testing.assert_allclose(changed.opt.gravity, [0, 0, -9.81 / 2])
    for name in ("foot_geom", "foot_left_geom"):
        np.testing.assert_allclose(changed.geom(name).size, 1.5 * plain.geom(name).size)
        assert changed.body(name.removesuffix("_geom")).mass > plain.body(name.removesuffix("_geom")).mass
    np.testing.assert_allclose(changed.geom("leg_geom").size, plain.geom("leg_geom").size)
    np.testing.assert_allclose(bodies.HalfCheetah(shin_share=0.5).model.geom("fshin").size[0], 0.023)
    task = bodies.Hopper().task("one")
    with pytest.raises(lg.InvalidInput, match="leg_share"):
        task.with_parameters(leg_share=2.0)
    with pytest.raises(lg.InvalidInput, match="wing_share"):
        bodies.Hopper(wing_share=1.0)


def test_normalisation_is_folded_into_gains_exactly():
    body = bodies.Walker2d()
    generator = np.random.default_rng(3)
    gains = generator.normal(size=(6, 18))
    x = generator.normal(size=(20, 19))
    raw = np.concatenate([body.observations(x), np.ones((20, 1))], axis=1)
    np.testing.assert_allclose(raw @ body.raw_gains(gains).T, body.features(x) @ gains.T, atol=1e-12)
    np.testing.assert_array_equal(body.raw_gains(lg.Policy(gains, 0.1)), body.raw_gains(gains))


def test_families_learn_into_run_files_that_replay(tmp_path):
    assert set(bodies.register()) <= set(lg.systems())
    assert len(bodies.register()) == 9  # three bodies, each with two families
    box = [1.0] * 36
    experiment = lg.parse(
        f"""
        [experiment]
        name = "hoppers"
        rounds = 4
        tasks = 2
        trajectories = 4
        steps = 40
        start_lqr_share = 0
        [evaluation]
        start_states = 2
        regret = false
        [family]
        base = "hopper-sizes"
        [safe_set.gain_box]
        lower = {[-b for b in box]}
        upper = {box}
        """
    )
    run = lg.run(experiment, tmp_path / "hoppers.run")
    assert run.finished
    first, second = (task.system.parameters for task in run.tasks)
    assert first != second and first["gravity_share"] == 1 and 0.5 <= first["torso_share"] <= 1.5
    assert run.check(replay=True)["findings"] == []
    assert "hoppers" in run.report().html
    task = run.tasks[0]
    assert pickle.loads(pickle.dumps(task)) == task


FLEET = Path(__file__).resolve().parents[2] / "configs/field/cheetahs.toml"
SHORT_FLEET = ["experiment.rounds=12", "experiment.steps=20", "experiment.trajectories=4", "evaluation.start_states=2"]
# What the file says of its machines.
SHARES = {
    "as it is": {},
    "light": {"gravity_share": 0.7},
    "heavy and stout": {"gravity_share": 1.3, "torso_share": 1.4},
    "big shin": {"shin_share": 1.5},
    "small feet": {"foot_share": 0.6},
    "child": {"gravity_share": 0.9, "torso_share": 0.7, "thigh_share": 0.8, "shin_share": 0.7, "foot_share": 0.7},
}


@pytest.mark.parametrize("method", ["learner", "lpg-ftw", "pg-ella", "pg", "shared"])
def test_a_fleet_file_of_bodies_plays_with_every_method(method, tmp_path):
    bodies.register()
    fleet = lg.load(FLEET, SHORT_FLEET)
    assert method in fleet.methods and set(fleet.methods) == set(lg.methods())
    run = lg.run(fleet.only(method, 1), tmp_path / "cheetahs.run")
    assert run.finished
    # The file has the machines by name, with every parameter, whether it differs or not.
    assert [task.name for task in run.tasks] == list(SHARES)
    for task in run.tasks:
        expected = dict.fromkeys(bodies.HalfCheetah.parameters, 1.0) | SHARES[task.name]
        assert task.system.name == "half-cheetah" and task.system.parameters == expected
        assert task == bodies.HalfCheetah(**expected).task(task.name)  # the same body, with MuJoCo's model of it
        np.testing.assert_allclose(task.system.own.model.opt.gravity[2], -9.81 * expected["gravity_share"])
    assert set(run.rounds["task_name"]) == set(SHARES)  # each has its turn
    # It plays again to the bit: the bodies are made from the file alone. Only ours keeps to the safe sets.
    checked = run.check(replay=True)
    assert checked["replayed"]
    assert [finding for finding in checked["findings"] if "limit\" is violated by" not in finding] == []
    if method == "learner":
        assert checked["findings"] == [] and run.rounds["unsafe"].sum() == 0
        assert np.abs(run.policies).max() <= 1 and np.abs(run.policies[list(SHARES).index("child")]).max() <= 0.5


def test_comparisons_on_several_threads_are_those_of_one(tmp_path):
    # In a process of its own: memory that ended too early took it down.
    code = f"""
import lifeguard as lg, lifeguard.mujoco
lifeguard.mujoco.register()
fleet = lg.load({str(FLEET)!r}, {SHORT_FLEET + ["experiment.seeds=2"]!r})
for threads in (1, 4):
    lg.compare(fleet, f"{tmp_path}/{{threads}}", threads=threads)
"""
    played = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert played.returncode == 0, played.stderr
    bodies.register()
    names = sorted(path.name for path in (tmp_path / "1").glob("*.run"))
    assert len(names) == 10
    for name in names:
        np.testing.assert_array_equal(lg.open_run(tmp_path / "4" / name).policies, lg.open_run(tmp_path / "1" / name).policies)


def test_the_page_of_a_fleet_draws_each_body_in_its_sizes(tmp_path):
    bodies.register()
    run = lg.run(lg.load(FLEET, SHORT_FLEET).only("learner", 1), tmp_path / "cheetahs.run")
    shown = json.loads(lg._core.report_json([run.path]))["experiments"][0]["runs"][0]
    assert [task["name"] for task in shown["tasks"]] == list(SHARES)
    for task in shown["tasks"]:
        assert task.get("drawing", shown["drawing"]) == bodies.HalfCheetah(**SHARES[task["name"]]).drawing
        assert len(task["last_flights"]) == 3
    # What looks like the first one does not say it again.
    assert [task["name"] for task in shown["tasks"] if "drawing" not in task] == ["as it is", "light"]


def test_a_fleet_of_bodies_learns_from_outside(tmp_path):
    bodies.register()
    fleet = lg.load(FLEET, SHORT_FLEET)
    run = lg.FleetRun(fleet, tmp_path / "fleet.run")
    assert run.machines == list(SHARES)
    for seed, machine in enumerate(fleet.machines):
        issued = run.policy(machine.name)
        policy = lg.Policy(issued["gains"], issued["sigma"])
        text = lg.record(machine, policy, 4, 20, seed, machine=machine.name, fingerprint=issued["policy"])
        assert run.observe(machine.name, text)["round"] == seed + 1
    del run
    assert lg.check_run(tmp_path / "fleet.run")["findings"] == []
    assert [task.name for task in lg.open_run(tmp_path / "fleet.run").tasks] == list(SHARES)


@pytest.mark.parametrize("system", ["half-cheetah-sizes", "hopper", "walker2d"])
def test_other_bodies_are_machines_too(system, tmp_path):
    bodies.register()
    text = f"""
        [experiment]
        name = "two"
        rounds = 4
        trajectories = 4
        steps = 20
        [evaluation]
        start_states = 2
        regret = false
        [fleet]
        system = "{system}"
        [[machine]]
        name = "one"
        [[machine]]
        name = "other"
        [machine.parameters]
        gravity_share = 0.8
        thigh_share = 1.2
    """
    run = lg.run(lg.parse(text), tmp_path / "two.run")
    changed = {name: value for name, value in run.tasks[1].system.parameters.items() if value != 1}
    assert changed == {"gravity_share": 0.8, "thigh_share": 1.2}
    assert run.check(replay=True)["findings"] == []
    for wrong, rule in (("gravity_share = 2.0", "1.5"), ("wing_share = 1.0", "torso_share")):
        with pytest.raises(lg.InvalidInput, match=rule):
            lg.parse(text.replace("gravity_share = 0.8", wrong))
