"""What Python adds to a round: the same rounds, to the bit, played from Python and in C++ by turns.

    cmake --preset bench && cmake --build --preset bench --target bench_python_round
    PYTHONPATH=build/release/python build/python-venv/bin/python bench/python_round.py

A round is policy(), rollout() of 50 trajectories of 150 steps of a cart-pole, and observe(). Each takes the least
time that it took in any repeat, so that what else the machine does does not count; what is printed is the mean over the rounds.
"""

import argparse
import subprocess
import time
from pathlib import Path

import lifeguard as lg

PROGRAM = Path(__file__).resolve().parents[1] / "build" / "release" / "bench" / "bench_python_round"


def rounds_in_python(rounds, repeats):
    task = lg.Task("cart", lg.System("cart-pole"))
    box = lg.gain_box_towards(task.lqr_gains().ravel(), 1.5, 0.2)
    batch = lg.rollout(task, lg.Policy(task.lqr_gains(), task.sigma))
    least = [float("inf")] * rounds
    for _ in range(repeats):
        learner = lg.Learner(task.inputs, task.actions)
        learner.add_task("cart", box, sigma=task.sigma)
        for seed in range(rounds):
            start = time.perf_counter()
            lg.rollout(task, learner.policy("cart"), seed=seed, out=batch)
            learner.observe("cart", batch)
            least[seed] = min(least[seed], time.perf_counter() - start)
    return least, learner.policy("cart").parameters.tolist()


def rounds_in_cpp(rounds, repeats):
    numbers = [float(word) for word in subprocess.check_output([PROGRAM, str(rounds), str(repeats)], text=True).split()]
    return numbers[:rounds], numbers[rounds:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20)
    arguments = parser.parse_args()
    best = {}
    for _ in range(arguments.turns):
        policies = []
        for name, play in (("C++", rounds_in_cpp), ("Python", rounds_in_python)):
            seconds, policy = play(arguments.rounds, 10)
            best[name] = list(map(min, best.get(name, seconds), seconds))
            policies.append(policy)
        assert policies[0] == policies[1], "not the same rounds"
    cpp, python = (1e6 * sum(best[name]) / arguments.rounds for name in ("C++", "Python"))
    print(f"a round in C++ {cpp:.2f} us, from Python {python:.2f} us: {100 * (python / cpp - 1):.1f} % more, the same bits")


if __name__ == "__main__":
    main()
