"""A system that is written in Python works where a C++ one does."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import lifeguard as lg
from lifeguard import OwnSystem


class Pendulum(OwnSystem):
    name = "python pendulum"
    meaning = "a rod that stands on its hinge"
    states = [("angle", "rad"), ("rate", "rad/s")]
    actions = [("torque", "N m")]
    parameters = {"length_metres": ("m", "length of the rod", "positive")}
    settings = {
        "dt_seconds": 0.02, "start_low": [-0.2, -0.2], "start_high": [0.2, 0.2], "action_low": -10, "action_high": 10,
        "state_weights": [1, 0.1], "action_weights": 0.01, "sigma": 0.5, "failure_bounds": [1.2, np.inf], "failure_cost": 5,
    }
    length_metres = 1.0

    def step(self, x, u):
        rate = x[:, 1] + 0.02 * (9.81 / self.length_metres * np.sin(x[:, 0]) + u[:, 0])
        return np.stack([x[:, 0] + 0.02 * rate, rate], axis=1)

    def cost(self, x, u):
        return x[:, 0] ** 2 + 0.1 * x[:, 1] ** 2 + 0.01 * u[:, 0] ** 2


def test_rollouts_are_what_the_methods_say():
    own = Pendulum()
    task = own.task("mine")
    policy = lg.Policy(task.lqr_gains(), 0.5)
    batch = lg.rollout(task, policy, trajectories=40, steps=60, seed=3)
    assert batch == lg.rollout(task, policy, trajectories=40, steps=60, seed=3, threads=2)
    for m in range(59):
        live = np.flatnonzero(batch.lengths > m + 1)
        u = np.clip(batch.actions[live, m], -10, 10)
        np.testing.assert_array_equal(own.step(batch.features[live, m], u), batch.features[live, m + 1])
        np.testing.assert_array_equal(own.cost(batch.features[live, m], u), batch.costs[live, m])
    start = batch.features[:, 0]
    assert np.all(np.abs(start) <= 0.2) and start.std() > 0.05
    fallen = lg.rollout(task, lg.Policy(np.zeros((1, 2)), 0.5), steps=150)
    assert fallen.failed > 40 and np.all((fallen.costs[:, -1] == 5) == (fallen.lengths < 150))


def test_it_learns_and_is_pickled():
    task = Pendulum().task("mine")
    safe = lg.gain_box_towards(task.lqr_gains().ravel(), 1.5, 0.2)
    learner = lg.Learner(2, 1)
    learner.add_task("mine", safe, sigma=task.sigma)
    for seed in range(3):
        assert learner.observe("mine", lg.rollout(task, learner.policy("mine"), seed=seed))["status"] == "ok"
    again = pickle.loads(pickle.dumps(task))
    assert again == task
    policy = learner.policy("mine")
    assert lg.rollout(again, policy) == lg.rollout(task, policy)
    longer = task.with_parameters(length_metres=2.0)
    assert longer != task and longer.system.own.length_metres == 2.0 and task.system.own.length_metres == 1.0
    with pytest.raises(lg.InvalidInput, match="length_metres"):
        task.with_parameters(length_metres=-1.0)


def test_closed_loop_from_given_corners_holds_for_rollouts():
    task = Pendulum().task("mine", noise_limit=1.0)
    a, b = task.linearise()
    np.testing.assert_allclose(a, [[1 + 0.0004 * 9.81, 0.02], [0.02 * 9.81, 1]], atol=1e-6)
    corners = [("upright", a, b), ("leaning", a - [[0.0004, 0], [0.02, 0]], b)]
    loop = lg.closed_loop_for(
        task, corners=corners, room="none", decay=0.998, start_low=[-0.05, -0.05], start_high=[0.05, 0.05],
        state_limits=[0.5, 3.0], action_limits=[10.0], noise_limits=[1.0],
    )
    assert loop.findings() == [] and loop.plant.statement == "linear"
    learner = lg.Learner(2, 1)
    learner.add_task("mine", loop.safe_set(), sigma=0.4, anchor=loop.anchor)
    near = task.with_settings(start_low=-0.05, start_high=0.05)
    for seed in range(3):
        batch = lg.rollout(near, learner.policy("mine"), seed=seed)
        assert np.abs(batch.features[..., 0]).max() <= 0.5
        learner.observe("mine", batch)
    assert learner.certificate().valid


def test_run_files_and_reports(tmp_path):
    if "python pendulum" not in lg.systems():
        Pendulum().register([("length_metres", (0.8, 1.2))])
    experiment = lg.parse(
        """
        [experiment]
        name = "pendulums"
        rounds = 6
        tasks = 2
        trajectories = 20
        steps = 50
        start_lqr_share = 0.5
        [evaluation]
        start_states = 10
        [family]
        base = "python pendulum"
        [safe_set.lqr_box]
        reach = 1.5
        from = 0.2
        """
    )
    run = lg.run(experiment, tmp_path / "pendulum.run")
    assert run.finished and len(run.rounds) == 6
    assert {task.system.name for task in run.tasks} == {"python pendulum"}
    assert run.tasks[0].system.parameters != run.tasks[1].system.parameters
    assert run.check(replay=True)["findings"] == []
    assert "pendulums" in run.report().html
    # Where nobody has registered it, it is looked at and checked, and not played.
    code = f"""
import lifeguard as lg
run = lg.open_run({str(tmp_path / 'pendulum.run')!r})
assert run.tasks[0].system.name == "python pendulum"
assert "pendulums" in run.report().html
checked = run.check()
assert checked["findings"] == [] and '"python pendulum"' in checked["not_checked"]
run.check(replay=True)
"""
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "RunFileError" in elsewhere.stderr and 'system "python pendulum"' in elsewhere.stderr
    assert "cannot be played again" in elsewhere.stderr


def test_machines_of_a_fleet(tmp_path):
    if "python pendulum" not in lg.systems():
        Pendulum().register([("length_metres", (0.8, 1.2))])
    fleet = lg.parse(
        """
        [experiment]
        name = "pendulums"
        rounds = 6
        trajectories = 20
        steps = 50
        [evaluation]
        start_states = 10
        [fleet]
        system = "python pendulum"
        first_lqr_share = 0.5
        [safe_set.lqr_box]
        reach = 1.5
        from = 0.2
        [[machine]]
        name = "short"
        [machine.parameters]
        length_metres = 0.7
        [[machine]]
        name = "long"
        [machine.parameters]
        length_metres = 1.4
        [machine.settings]
        sigma = 0.1
        """
    )
    run = lg.run(fleet, tmp_path / "fleet.run")
    assert [(task.name, task.system.parameters["length_metres"]) for task in run.tasks] == [("short", 0.7), ("long", 1.4)]
    assert run.tasks[1].sigma == 0.1 != run.tasks[0].sigma
    assert run.check(replay=True)["findings"] == []


def test_closed_loops_in_run_files(tmp_path):
    class Tank(OwnSystem):
        name = "python tank"
        states = [("level", "m")]
        actions = [("inflow", "m/s")]
        settings = {
            "dt_seconds": 0.1, "start_low": -0.5, "start_high": 0.5, "state_weights": 1, "action_weights": 0.1,
            "action_low": -1, "action_high": 1, "sigma": 0.05, "noise_limit": 0.1,
        }
        leak = 0.1
        parameters = {"leak": ("1/s", "share that runs out", "positive")}

        def step(self, x, u):
            return x + 0.1 * (u - self.leak * x)

        def cost(self, x, u):
            return x[:, 0] ** 2 + 0.1 * u[:, 0] ** 2

    Tank().register([("leak", (0.05, 0.2))])
    text = """
        [experiment]
        name = "tanks"
        rounds = 4
        tasks = 3
        trajectories = 20
        steps = 50
        [family]
        base = "python tank"
        [safe_set.closed_loop]
        statement = "linear"
        decay = 0.99
        room = "none"
        state_limits = [2.0]
    """
    run = lg.run(lg.parse(text), tmp_path / "tank.run")
    assert run.certificate.valid and run.check(replay=True)["findings"] == []
    assert run.rounds["violations"].sum() == 0
    assert {"cost", "decay", "margins"} <= {figure.name for figure in run.figures()}
    with pytest.raises(lg.InvalidInput, match="corners"):
        lg.run(lg.parse(text.replace('statement = "linear"', "")), tmp_path / "other.run")


class Featured(OwnSystem):
    states = 1
    actions = 1
    own_features = [("position", "m"), ("one", "1")]
    settings = {"sigma": 0.1}

    def start(self, random):
        return [random.uniform(0, -1, 1)]

    def step(self, x, u):
        return 0.9 * x + u

    def cost(self, x, u):
        return x[:, 0] ** 2

    def failed(self, x):
        return np.abs(x[:, 0]) > 3

    def features(self, x):
        return np.concatenate([x, np.ones_like(x)], axis=1)


def test_own_starts_failures_and_features():
    task = Featured().task("featured")
    assert task.inputs == 2
    batch = lg.rollout(task, lg.Policy([[0.0, 0.0]], 0.1), trajectories=30)
    assert np.all(batch.features[:, :, 1] == 1) and batch.features[:, 0, 0].std() > 0.2
    pushed = lg.rollout(task, lg.Policy([[0.0, 1.0]], 0.1), trajectories=30)
    assert pushed.failed == 30


@pytest.mark.parametrize(
    ("method", "answer"),
    [("step", lambda x, u: x[:, :1]), ("cost", lambda x, u: np.ones((len(x), 2))), ("step", lambda x, u: "text")],
)
def test_wrong_answers_say_which_method(method, answer):
    own = Pendulum()
    setattr(own, method, answer)
    with pytest.raises(lg.InvalidInput) as error:
        lg.rollout(own.task("mine"), lg.Policy(np.zeros((1, 2)), 0.1))
    assert error.value.field == method


def test_exceptions_of_methods_come_through():
    own = Pendulum()

    def broken(x, u):
        raise ZeroDivisionError("mine")

    own.step = broken
    for threads in (1, 2):
        with pytest.raises(ZeroDivisionError, match="mine"):
            lg.rollout(own.task("mine"), lg.Policy(np.zeros((1, 2)), 0.1), threads=threads)


@pytest.mark.parametrize("lacks", ["states", "actions", "step", "cost"])
def test_what_a_system_must_have(lacks):
    parts = {"states": 1, "actions": 1, "step": lambda self, x, u: x, "cost": lambda self, x, u: x[:, 0]}
    del parts[lacks]
    with pytest.raises(lg.InvalidInput):
        lg.System(type("Incomplete", (), parts)())
