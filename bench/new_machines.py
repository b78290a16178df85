#!/usr/bin/env python3
"""What knowledge gives a machine that was never seen: bench/new_machines.py [--seeds N] [--first N] [FLEET …]

A learner plays the machines that it knows in turn. Then each of the others is added to a copy of it and
played alone. Needs the Python package (docs/python.md); writes the second half of docs/studies/knowledge.md.
"""
import argparse
import concurrent.futures
import copy
import pathlib
import statistics

import lifeguard as lg

import rotated_chains

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEW_MACHINES = 8
NEW_ROUNDS = 40  # of each new one
GRADIENT = {"base_learner": {"critic": "none"}}
# The same rule with the P of its first round: every direction is believed to matter alike.
WITHOUT_L = {"prior_interval": 10**9}
FIXED = {"update": "linearised"}
RULES = {
    "learnt basis, gradient": GRADIENT, "without L, gradient": WITHOUT_L | GRADIENT, "fixed basis, gradient": FIXED | GRADIENT,
    "learnt basis, critic": {}, "without L, critic": WITHOUT_L, "fixed basis, critic": FIXED,
}


def quad24(seed):
    return lg.Experiment.load(ROOT / "configs/knowledge/quad24.toml", [f"experiment.seed={seed}"]).draw()


def chains(masses):
    return lambda seed: lg.Experiment.parse(rotated_chains.fleet(seed, masses=masses)).draw()


# How machines are drawn, trajectories a round, and visits of each known machine: 72 gains need more of both.
FLEETS = {"quad24": (quad24, 8, 20), "rot32": (chains(4), 8, 20), "rot72": (chains(6), 20, 40)}


def excess_of(task, anchor):
    """J(α) above LQR's as a share of what the anchor costs above it."""
    best = lg.true_cost(task, task.lqr_gains().ravel())
    worst = lg.true_cost(task, anchor)
    return lambda alpha: (lg.true_cost(task, alpha) - best) / (worst - best)


def add(learner, task, anchor):
    limits = {key: task.settings[key] for key in ("action_low", "action_high")}
    learner.add_task(task.name, sigma=task.sigma, anchor=anchor, **limits)


def play(learner, task, trajectories, seed):
    batch = lg.rollout(task, learner.policy(task.name), trajectories=trajectories, seed=seed)
    learner.observe(task.name, batch)


def one_seed(fleet, seed, settings):
    """Of each new machine: the excess before its rounds 1, 2, … and after the last."""
    draw, trajectories, visits = FLEETS[fleet]
    machines = [(task, anchor) for task, _, anchor in draw(seed)]
    known, new = machines[:-NEW_MACHINES], machines[-NEW_MACHINES:]
    first = known[0][0]
    learner = lg.Learner(first.inputs, first.actions, **settings)
    for task, anchor in known:
        add(learner, task, anchor)
    draws = iter(range(seed * 10**6, (seed + 1) * 10**6))
    for _ in range(visits):
        for task, _ in known:
            play(learner, task, trajectories, next(draws))
    paths = []
    for task, anchor in new:
        own = copy.deepcopy(learner)
        add(own, task, anchor)
        excess = excess_of(task, anchor)
        path = [excess(own.policy(task.name).parameters)]
        for _ in range(NEW_ROUNDS):
            play(own, task, trajectories, next(draws))
            path.append(excess(own.policy(task.name).parameters))
        paths.append(path)
    return paths


def rounds_to(path, level):
    return next((n for n, excess in enumerate(path) if excess <= level), len(path))


def row(fleet, rule, seeds):
    """Medians over seeds of means over machines, in per cent."""
    def median(of):
        return statistics.median(statistics.fmean(of(path) for path in paths) for paths in seeds)
    worst = max(path[1] for paths in seeds for path in paths)
    return (f"| {fleet} | {rule} | {100 * median(lambda path: path[0]):.2g} | {100 * median(lambda path: path[1]):.2g} "
            f"({100 * worst:.2g}) | {100 * median(lambda path: path[5]):.2g} | "
            f"{median(lambda path: rounds_to(path, 0.01)):.1f} | {median(lambda path: rounds_to(path, 0.003)):.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=10000)
    parser.add_argument("fleets", nargs="*", default=list(FLEETS), metavar="FLEET", help=", ".join(FLEETS))
    options = parser.parse_args()
    print(f"""
## Machines that were never seen

Written by `bench/new_machines.py --seeds {options.seeds} --first {options.first}`. A learner visits each machine of a fleet but
{NEW_MACHINES} 20 times, with 8 trajectories a round (rot72: 40 times with 20). Each of the others is then added to a copy of it and visited alone. *Without
L* is the same rule with the P of its first round, in which every direction matters alike. rot72 are the chains of rot32
with six masses: 72 gains, of which machines differ in two numbers. *critic* and *gradient* as above. Numbers are costs above LQR's, in per cent of what the
first controller of the configuration costs above it: medians over seeds of means over machines. A machine
that never gets there counts with all its {NEW_ROUNDS} rounds.
""")
    print("| tasks | | first policy | after one round (worst machine) | after five | rounds to 1 % | to 0.3 % |")
    print("|---|---|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for fleet in options.fleets:
            for rule, settings in RULES.items():
                jobs = [pool.submit(one_seed, fleet, seed, settings)
                        for seed in range(options.first, options.first + options.seeds)]
                print(row(fleet, rule, [job.result() for job in jobs]), flush=True)
    print("""
With the gradient alone L is worth rounds on the chains: a new one is at 1 % before its first or after it, where the same rule without L needs ten.
With the critic one round tells nearly as much whatever the basis, and L is worth a factor of ten or more in what five rounds leave. Of quad24 LQR is not the
lowest cost. There eight trajectories do not always tell the critic which way to go: a single machine may tumble for a round, and is then taken back to where it
was before.""")


if __name__ == "__main__":
    main()
