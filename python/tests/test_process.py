"""Threads, memory, pickles, processes, the time an import takes."""

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import lifeguard as lg


def resident_kilobytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def values(cart, box):
    learner = lg.Learner(cart.inputs, cart.actions, k=2)
    learner.add_task(cart.name, box, sigma=1.0)
    policy = learner.policy(cart.name)
    batch = lg.rollout(cart, policy, trajectories=5)
    batch.cut(1, 7, np.ones(4))
    batch.fail(2, 3, 5.0)
    learner.observe(cart.name, lg.rollout(cart, policy))
    plant = lg.inclusion(cart, state_limits=[2, 5, 0.5, 5], action_limits=[10])
    loop = lg.make_closed_loop(
        lg.UncertainPlant([("a", [[1, 0.1], [0, 0.9]], [[0], [0.1]])], [2, 2], [5]), decay=0.995, start_low=[-0.3] * 2, start_high=[0.3] * 2
    )
    loss = lg.round_loss(lg.rollout(cart, policy), policy)
    return [
        plant, loop.plant, loop, loop.inequalities[0], loop.safe_set(), loss, lg.Family.named("cart-pole"),
        policy, batch, cart, cart.system, box, lg.Features(bias=True), lg.Family.named("cart-pole").draw(1),
        lg.System.linear([[1.0]], [[0.5]]), learner, learner.certificate(),
    ]


def same(a, b):
    if isinstance(a, lg.Learner):
        return a.dumps() == b.dumps()
    if isinstance(a, lg.Certificate):
        return a.to_json() == b.to_json()
    if isinstance(a, (lg.RoundLoss, lg.Family)):
        return pickle.dumps(a) == pickle.dumps(b)
    return a == b


def test_values_survive_pickle_and_deepcopy(cart, box):
    for value in values(cart, box):
        assert same(value, pickle.loads(pickle.dumps(value))), value
        assert same(value, copy.deepcopy(value)), value
    error = lg.InvalidInput("a", "1", "must be b")
    again = pickle.loads(pickle.dumps(error))
    assert (again.field, again.value, again.rule) == ("a", "1", "must be b")


def rolled_out_elsewhere(arguments):
    task, policy, seed = arguments
    return lg.rollout(task, policy, seed=seed)


def test_processes_that_are_spawned_give_the_same_bits(cart):
    policy = lg.Policy(cart.lqr_gains(), 1.0)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        batches = pool.map(rolled_out_elsewhere, [(cart, policy, seed) for seed in range(4)])
    for seed, batch in enumerate(batches):
        assert batch == lg.rollout(cart, policy, seed=seed)


def test_threads_share_a_learner_without_harm(cart, box):
    learner = lg.Learner(cart.inputs, cart.actions)
    names = [f"cart {i}" for i in range(4)]
    for name in names:
        learner.add_task(name, box, sigma=cart.sigma)
    failures = []

    def work(name):
        try:
            for seed in range(20):
                policy = learner.policy(name)
                learner.observe(name, lg.rollout(cart, policy, seed=seed, trajectories=10), played=policy)
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert learner.rounds == 80
    assert learner.certificate().valid


def test_other_threads_run_while_a_rollout_does(cart):
    policy = lg.Policy(cart.lqr_gains(), 1.0)
    ticks = []
    over = threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    lg.evaluate(cart, policy, trajectories=50000, steps=1000)
    end = time.monotonic()
    over.set()
    thread.join()
    during = [t for t in ticks if begin + 0.01 < t < end - 0.01]
    assert end - begin < 0.05 or len(during) > 5


def kilobytes_left_behind(arguments):
    call, cart, box = arguments
    policy = lg.Policy(cart.lqr_gains(), 1.0)
    phi = np.ones((3, 4))
    batch = lg.rollout(cart, policy, trajectories=4, steps=5)
    learner = lg.Learner(cart.inputs, cart.actions)
    learner.add_task(cart.name, box, sigma=cart.sigma)
    small = lg.rollout(cart, learner.policy(cart.name), trajectories=2, steps=3)
    played = learner.policy(cart.name)

    def views():
        batch.features, batch.actions, batch.costs, batch.lengths

    def errors():
        try:
            policy.mean(np.zeros(9))
        except lg.InvalidInput:
            pass

    function = {
        "policy": lambda: policy.mean(phi),
        "views": views,
        "batch": lambda: lg.rollout(cart, policy, trajectories=2, steps=2),
        "sets": lambda: box.margins(policy.parameters),
        "errors": errors,
        "observe": lambda: learner.observe(cart.name, small, played=played),
    }[call]
    for _ in range(10_000):
        function()
    gc.collect()
    before = resident_kilobytes()
    for _ in range(100_000):
        function()
    gc.collect()
    return resident_kilobytes() - before


@pytest.mark.parametrize("call", ["policy", "views", "batch", "sets", "errors", "observe"])
def test_a_hundred_thousand_calls_leave_nothing_behind(cart, box, call):
    # In a process of its own: what other tests have started takes memory whenever it likes.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(kilobytes_left_behind, [(call, cart, box)]) < 2000


def test_import_is_quick(capsys):
    code = "import time, numpy; t = time.process_time(); import lifeguard; print(time.process_time() - t)"
    seconds = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
    with capsys.disabled():
        print(f" import lifeguard takes {seconds:.3f} s beyond NumPy's ", end="")
    assert seconds < 0.3


def test_import_brings_nothing_else_along():
    code = "import sys, lifeguard; print([m for m in ('gymnasium', 'pandas', 'matplotlib', 'tensorboard') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code]).strip() == b"[]"


WITHOUT = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Nothing())
import lifeguard as lg
run = lg.open_run({path!r})
try:
    {use}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("pandas", "run.rounds"), ("polars", "lg.Run(run.path, frames='polars').rounds"), ("figures", "run.plot()"),
        ("gymnasium", "import lifeguard.gymnasium"), ("tensorboard", "run.to_tensorboard('.')"), ("wandb", "run.to_wandb()"),
        ("mlflow", "run.to_mlflow()"), ("ray", "import lifeguard.ray"), ("mujoco", "import lifeguard.mujoco; lifeguard.mujoco.HalfCheetah().step(None, None)"),
    ],
)
def test_what_is_missing_is_told_with_how_to_get_it(finished_run, package, use):
    code = WITHOUT.format(packages={package, "matplotlib"}, path=str(finished_run.path), use=use)
    assert f"pip install lifeguard[{package}]" in subprocess.check_output([sys.executable, "-c", code], text=True)


def test_ctrl_c_ends_a_run_which_can_go_on(tmp_path, configs):
    code = f"""
import lifeguard as lg
experiment = lg.load({str(configs / "safe-cart-pole.toml")!r}, experiment__rounds=1000000)
print("begins", flush=True)
try:
    lg.start_run(experiment, {str(tmp_path / "long.run")!r}, commit_seconds=0)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    path = tmp_path / "long.run"
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out == "stopped\n"
    assert process.returncode == 0
    run = lg.open_run(path)
    assert not run.finished and run.check()["findings"] == []


LONG_CALLS = {
    "evaluate": """
task = lg.Task("mass", lg.System("mass-spring"))
call = lambda: lg.evaluate(task, lg.Policy(np.zeros((1, 2)), 1.0), trajectories=2_000_000, steps=100_000)
""",
    "project": """
tasks = [{"name": str(t), "A": draws.normal(size=(80, 40)), "b": np.ones(80), "s": 5 * draws.normal(size=40)} for t in range(60)]
problem = {"p": 0.5, "q": 2, "mu1": 1, "mu2": 1, "c_max": 40, "L": draws.normal(size=(40, 40)), "tasks": tasks}
call = lambda: lg.project(problem, seconds=1e6, max_alternations=100_000, objective_tolerance=0)
""",
    "make_closed_loop": """
a, b = 0.9 * np.eye(12) + 0.02 * draws.normal(size=(12, 12)), draws.normal(size=(12, 4))
corners = [(str(i), a + 1e-3 * draws.normal(size=a.shape), b) for i in range(64)]
plant = lg.UncertainPlant(corners, [10.0] * 12, [10.0] * 4)
call = lambda: lg.make_closed_loop(plant, decay=0.99, start_low=[-0.1] * 12, start_high=[0.1] * 12)
""",
}


@pytest.mark.parametrize("name", LONG_CALLS)
def test_ctrl_c_ends_long_calls(name):
    code = f"""
import numpy as np
import lifeguard as lg
draws = np.random.default_rng(0)
{LONG_CALLS[name]}
print("begins", flush=True)
try:
    call()
    print("came to its end", flush=True)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "stopped\n"
