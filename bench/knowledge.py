#!/usr/bin/env python3
"""What a basis that is learnt gives: bench/knowledge.py [--seeds N] [--first N] > docs/studies/knowledge.md

bench/new_machines.py writes the second half of that page.

Plays the learner with the rule "empirical Bayes" and with the linearised one, whose basis never
moves, on the same tasks, and writes what came out. Needs build/release; takes some minutes.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile

import rotated_chains

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = ROOT / "build/release/cli/lifeguard"
FIXED = ['learner.update="linearised"']
WITHOUT_L = ["learner.prior_interval=1000000000"]  # the P of the first round: every direction is believed to matter alike
GRADIENT = ['base_learner.critic="none"']
RULES = {  # what differs from the default
    "fixed basis, gradient": FIXED + GRADIENT, "learnt basis, gradient": GRADIENT,
    "fixed basis, critic": FIXED, "without L, critic": WITHOUT_L, "learnt basis, critic": [],
}
FAMILIES = ["mass-spring", "cart-pole", "quadrotor", "wide-mass-spring", "wide-cart-pole"]
LOW_RANK = ["quad24", "rot32"]


def mean_costs(run):
    """(round, mean cost of all tasks) of each evaluation."""
    with sqlite3.connect(run) as database:
        rows = database.execute("SELECT round, costs FROM evaluations ORDER BY round").fetchall()
    return [(n, statistics.fmean(struct.unpack(f"{len(blob) // 8}d", blob))) for n, blob in rows]


def play(folder, config, seed, rule, rounds):
    """The evaluations of one run."""
    label = "-".join(name for name, settings in RULES.items() if settings == rule).replace(" ", "").replace(",", "-")
    run = folder / f"{config.stem}-{seed}-{label}-{rounds}.run"
    settings = ['base_learner.critic="auto"'] + rule + ([f"experiment.rounds={rounds}"] if rounds else [])
    arguments = [word for setting in settings for word in ("--set", setting)]
    subprocess.run(
        [COMMAND, "run", config, "--method", "learner", "--seed", str(seed), "-o", run, *arguments],
        check=True, capture_output=True)
    costs = mean_costs(run)
    os.remove(run)
    return costs


def judge(costs, best):
    """Rounds to 90 % of the possible improvement, infinite if never, and what is left at the end in %."""
    first = costs[0][1]
    level = first - 0.9 * (first - best)
    reached = next((n for n, cost in costs if cost <= level), float("inf"))
    last = statistics.fmean(cost for _, cost in costs[-5:])
    return reached, 100 * (last - best) / (first - best)


def bootstrap(values, draws=2000):
    """A 95 % interval of the median."""
    random_draws = random.Random(1)
    medians = sorted(statistics.median(random_draws.choices(values, k=len(values))) for _ in range(draws))
    return medians[int(0.025 * draws)], medians[int(0.975 * draws)]


def row(name, rule, judged):
    reached = [n for n, _ in judged]
    gaps = [gap for _, gap in judged]
    low, high = bootstrap(gaps)
    never = sum(n == float("inf") for n in reached)
    return (f"| {name} | {rule} | {statistics.median(reached):.0f} ({max(reached):.0f}) | {never} | "
            f"{statistics.median(gaps):.2g} ({low:.2g} to {high:.2g}) | {max(gaps):.2g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=10000)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    print(f"""# A basis that is learnt

Written by `bench/knowledge.py --seeds {options.seeds} --first {options.first}`, with seeds that nothing was
tuned on. All learners have the same trajectories to ask for. "fixed basis" is `learner.update = "linearised"`, which keeps L = I, "learnt basis"
the default, which learns L from how tasks differ ([learning](../learning.md#empirical-bayes)), *without L* the same rule with the P of its first
round, in which every direction matters alike. *critic* is `base_learner.critic = "auto"`, the default
([how](../base_learners.md#the-model-critic)), *gradient* is "none".

What is left is the mean cost over all tasks at the end (the last five evaluations) above the lowest that
any run of the seed reached, in per cent of the distance between the first policies and that; on the first five
families a run of ten times the rounds with a fixed basis is among them. Medians over {options.seeds} seeds with
a 95 % interval from a bootstrap, and the worst seed.

| tasks | | rounds to 90 %: median (worst) | never | left at the end, % | worst seed |
|---|---|---|---|---|---|""")
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(name)
        for family in FAMILIES + LOW_RANK:
            results = {}
            for seed in seeds:
                if family == "rot32":
                    config = folder / f"rot32-{seed}.toml"
                    config.write_text(rotated_chains.fleet(seed))
                elif family == "quad24":
                    config = ROOT / "configs/knowledge/quad24.toml"
                else:
                    config = ROOT / f"configs/paper/{family}.toml"
                rounds = 0 if family in LOW_RANK else 300
                for label, rule in RULES.items():
                    results[seed, label] = pool.submit(play, folder, config, seed, rule, rounds)
                if rounds:
                    results[seed, "longer"] = pool.submit(play, folder, config, seed, RULES["fixed basis, gradient"], 10 * rounds)
            costs = {key: result.result() for key, result in results.items()}
            best = {seed: min(cost for (s, _), run in costs.items() if s == seed for _, cost in run) for seed in seeds}
            for label in RULES:
                print(row(family, label, [judge(costs[seed, label], best[seed]) for seed in seeds]), flush=True)
    print("""
Who learns from the gradient alone knows too little of each machine for knowledge of others to matter much, but where tasks differ along few
directions. The critic is there after two to four rounds on most seeds of every family, whatever the basis, and what is left is then a question of
what is known: the learnt basis leaves less than the fixed one everywhere, a quarter or less on the families with few directions (quad24, rot32), and on rot32
a thousandth of what is left without L; on quad24, where each round has eight trajectories, L takes off six tenths of it. On the
narrow families there is little to know.

Learning from working controllers has a [study of its own](working_controllers.md).""")


if __name__ == "__main__":
    sys.exit(main())
