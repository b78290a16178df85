#!/usr/bin/env python3
"""Learning from controllers that work:

    bench/working_controllers.py [--command lifeguard] [--seeds N] [--first N] > docs/studies/working_controllers.md

Plays configs/working with every method, with and without the critic, and writes what came out.
"""
import argparse
import concurrent.futures
import math
import os
import pathlib
import sqlite3
import statistics
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAMILIES = ["mass-spring", "wide-mass-spring", "cart-pole", "wide-cart-pole", "quadrotor"]
METHODS = {
    "learner, critic": ("learner", "auto"), "PG, critic": ("pg", "auto"), "PG-ELLA, critic": ("pg-ella", "auto"),
    "Shared, critic": ("shared", "auto"), "learner, no critic": ("learner", "none"), "PG, no critic": ("pg", "none"),
}
VISITS = 10


def costs_of_tasks(run):
    """The cost of each task after each round: {round: [cost, …]}."""
    with sqlite3.connect(run) as database:
        rows = database.execute("SELECT round, costs FROM evaluations ORDER BY round").fetchall()
    return {n: struct.unpack(f"{len(blob) // 8}d", blob) for n, blob in rows}


def play(options, folder, family, label, trajectories, tasks, seed):
    method, critic = METHODS[label]
    run = folder / f"{family}-{method}-{critic}-{trajectories}-{tasks}-{seed}.run"
    sets = [f"experiment.rounds={VISITS * tasks}", f"experiment.tasks={tasks}", "evaluation.spacing=0",
            f"experiment.trajectories={trajectories}", "evaluation.regret=false", f'base_learner.critic="{critic}"',
            f"evaluation.start_states={options.start_states}"]
    command = [options.command, "run", ROOT / f"configs/working/{family}.toml", "--method", method, "--seed", str(seed),
               "-o", run, "--quiet"]
    subprocess.run(command + [word for text in sets for word in ("--set", text)], check=True, capture_output=True)
    costs = costs_of_tasks(run)
    os.remove(run)
    return costs


def judge(costs, low, best):
    """Of what the mean cost of all machines is above `low`: visits of each machine to 90 % (infinite: never) and what is left at the
    end in %. Of the last machine, which the others are ahead of, above `best`: its first policy, and after one and two of its own rounds."""
    tasks = len(costs[0])
    mean = {n: statistics.fmean(c) for n, c in costs.items()}
    start = mean[0]
    level = start - 0.9 * (start - low)
    reached = next((n / tasks for n, cost in mean.items() if cost <= level), math.inf)
    left = 100 * (mean[max(mean)] - low) / (start - low)

    def gap(n):  # of the last machine
        return 100 * (costs[n][-1] - best) / (costs[0][-1] - best)
    return reached, left, gap(tasks - 1), gap(tasks), gap(2 * tasks)


def row(family, trajectories, tasks, label, judged):
    columns = list(zip(*judged))
    worst = max(columns[0])
    never = sum(math.isinf(n) for n in columns[0])

    def median(k):
        return f"{statistics.median(columns[k]):.3g} ({max(columns[k]):.3g})"
    return (f"| {family} | {trajectories} | {tasks} | {label} | {statistics.median(columns[0]):.1f} ({worst:.1f}) | {never} | "
            + " | ".join(median(k) for k in range(1, 5)) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=ROOT / "build/release/cli/lifeguard")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=10000)
    parser.add_argument("--families", nargs="+", default=FAMILIES)
    parser.add_argument("--trajectories", nargs="+", type=int, default=[2, 8, 50])
    parser.add_argument("--tasks", nargs="+", type=int, default=[10, 30])
    parser.add_argument("--start-states", type=int, default=200)  # of 20 the lowest cost is one that fits these
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    words = " ".join(f"--{name} {' '.join(map(str, value))}" for name, value in
                     (("families", options.families), ("trajectories", options.trajectories), ("tasks", options.tasks)))
    print(f"""# From controllers that work

Written by `bench/working_controllers.py --seeds {options.seeds} --first {options.first} --start-states {options.start_states} {words}`.
Every machine begins with 0.6 of its own LQR gains (configs/working), all methods have the same number of trajectories a round, and {VISITS} rounds on
each machine, in turn. "critic" is `base_learner.critic = "auto"` ([base learners](../base_learners.md#the-model-critic)), "no critic" is "none".

What is left is the mean cost over all machines above the lowest that any run of the seed reached, in per cent of what was left at the start; without exploration
noise, from {options.start_states} starts. 90 % is reached after so many visits of each machine. The last machine of a run is a new one: the others have had a
round before its first; of it alone, above the lowest that any run reached for it. Medians over seeds, in brackets the worst.

| machines | trajectories | T | method | visits to 90 % | never | left at the end, % | new machine: first policy, % | after one round | after two |
|---|---|---|---|---|---|---|---|---|---|""")
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        for family in options.families:
            for tasks in options.tasks:
                keys = [(n, label, seed) for n in options.trajectories for label in METHODS for seed in seeds]
                runs = {key: pool.submit(play, options, folder, family, key[1], key[0], tasks, key[2]) for key in keys}
                costs = {key: run.result() for key, run in runs.items()}
                low, best = ({seed: min(value(c) for (_, _, s), run in costs.items() if s == seed for c in run.values())
                              for seed in seeds} for value in (statistics.fmean, lambda c: c[-1]))
                for n in options.trajectories:
                    for label in METHODS:
                        print(row(family, n, tasks, label, [judge(costs[n, label, seed], low[seed], best[seed]) for seed in seeds]),
                              flush=True)

    print("""
The gradient of a round does not see what is left to gain where actions are at their limits (masses and quadrotors): nobody without
the critic gets anywhere there. With it PG needs one or two visits of each mass and cart-pole with 8 trajectories, and the learner ("empirical
Bayes") less than one, since its knowledge is the change that each machine's own controller needs: a new machine begins with
as much of it as nearly all others needed, which of single machines is too much: a wide mass on one of the seeds begins at four times what it had left. With two
trajectories the learner is there as soon, where PG and PG-ELLA lose some of the cart-poles for good; on wide masses it can end behind PG, by about a tenth of a
per cent. On quadrotors what one batch says depends on where its trajectories began, and of four rotors that do
much the same it says how they should work together but not how to share it. With 8 trajectories the learner, which remembers, shares what it
saw and knows which actions do the same, gets there within ten visits on every seed; PG and PG-ELLA on none, and Shared, for which ten
machines are one, on most. With two hardly anybody does.""")


if __name__ == "__main__":
    main()
