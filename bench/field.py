#!/usr/bin/env python3
"""The field's benchmark, MuJoCo bodies one after the other, with every method:

    bench/field.py tune                        six trials of every method on each body, on a seed of their own
    bench/field.py play RUNS [--seeds N]       plays what is missing of the study into a folder of run files
    bench/field.py report RUNS > docs/field.md

Needs the Python package with MuJoCo (docs/mujoco.md).
"""
import argparse
import itertools
import multiprocessing
import pathlib
import statistics
import tempfile
import time

import numpy as np

import lifeguard as lg
import lifeguard.mujoco as bodies

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOMAINS = ["half-cheetah-gravity", "half-cheetah-sizes", "hopper-gravity", "hopper-sizes"]
# What is played: method, and what differs from configs/field.
PLAYED = {
    "ours": ("learner", []),
    "ours, tuned": ("learner", ["learner.trust_region_per_step=0.3"]),
    "LPG-FTW": ("lpg-ftw", []),
    "PG-ELLA": ("pg-ella", []),
    "PG": ("pg", []),
    "Shared": ("shared", []),
    "ours, safe": ("learner", ["safe_set.gain_box.lower=-1", "safe_set.gain_box.upper=1"]),
}
# On hoppers the one setting of ours is what tuning chose; and of the safe form fewer seeds are played.
LEFT_OUT = {("hopper-gravity", "ours, tuned"), ("hopper-sizes", "ours, tuned")}
SAFE_SEEDS = 2
FIRST_SEED = 10000  # nothing was tuned on these
TUNING_SEED = 5
# Six trials for each.
NATS = [0.03, 0.1, 0.2, 0.3, 0.5, 1.0]
TRIALS = {
    "learner": [{"trust_region_per_step": nats, "agreement_rate": rate} for nats in (0.1, 0.3, 1.0) for rate in (0.005, 0.02)],
    "lpg-ftw": [{"trust_region_per_step": nats, "k": k} for nats in (0.1, 0.3, 1.0) for k in (5, 10)],
    "pg-ella": [{"trust_region_per_step": nats, "k": k} for nats in (0.1, 0.3, 1.0) for k in (3, 5)],
    "pg": [{"trust_region_per_step": nats} for nats in NATS],
    "shared": [{"trust_region_per_step": nats} for nats in NATS],
}  # fmt: skip


def experiment(domain, *overrides):
    bodies.register()
    body = bodies.FAMILIES[domain].__mro__[1].name
    names = [f"experiment.name={domain}", f"family.base={domain}"]
    return lg.Experiment.load(ROOT / f"configs/field/{body}.toml", names + list(overrides))


def rewards_of(run, domain):
    """(tasks, rounds of each) mean rewards a step while learning, with exploration noise."""
    frame = run.rounds
    body = bodies.FAMILIES[domain]()
    tasks = frame["task"].max() + 1
    return body.reward(frame["mean_cost"].to_numpy()).reshape(tasks, -1)


def trial(job):
    body, method, settings = job
    domain = f"{body}-gravity"
    table = method.replace("-", "_")
    sets = [f"{table}.{key}={value}" for key, value in settings.items()]
    with tempfile.TemporaryDirectory() as folder:
        asked = experiment(domain, "experiment.tasks=8", "experiment.rounds=160", *sets)
        run = lg.run(asked.only(method, TUNING_SEED), pathlib.Path(folder) / "a.run")
        return job, float(rewards_of(run, domain).mean())


def tune(options):
    jobs = [(body, method, settings) for body in ("half-cheetah", "hopper") for method, all_settings in TRIALS.items()
            for settings in all_settings]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for (body, method, settings), reward in pool.imap(trial, jobs):
            print(f"{body:<13}{method:<9}{settings!s:<60}{reward:8.3f}", flush=True)


def play_one(job):
    path, domain, method, seed, sets = job
    begun, cpu = time.time(), time.process_time()
    if not path.exists():
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        lg.run(experiment(domain, *sets).only(method, seed), part)
        part.rename(path)
    return path.name, time.time() - begun, time.process_time() - cpu


def path_of(folder, domain, label, seed):
    return folder / f"{domain}-{label.replace(', ', '-')}-{seed}.run"


def play(options):
    options.runs.mkdir(parents=True, exist_ok=True)
    jobs = []
    for seed, label, domain in itertools.product(range(FIRST_SEED, FIRST_SEED + options.seeds), PLAYED, DOMAINS):
        method, sets = PLAYED[label]
        if (domain, label) in LEFT_OUT or (label == "ours, safe" and seed >= FIRST_SEED + SAFE_SEEDS):
            continue
        jobs.append((path_of(options.runs, domain, label, seed), domain, method, seed, sets))
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for name, seconds, cpu in pool.imap_unordered(play_one, jobs):
            print(f"{name}: {seconds:.0f} s, {cpu:.0f} s of a core", flush=True)


def judge_one(job):
    """Numbers of one run, or None if it was not played."""
    path, domain = job
    if not path.exists():
        return None
    bodies.register()
    body = bodies.FAMILIES[domain]()
    run = lg.open_run(path)
    rewards = rewards_of(run, domain)
    tasks = len(rewards)
    steps, trajectories = (int(run.settings[f"experiment.{key}"]) for key in ("steps", "trajectories"))
    # Every task again at the end, as it was played while learning: with noise, as many trajectories.
    again = [
        body.reward(lg.rollout(task, run.policy(t), trajectories=trajectories, steps=steps, seed=run.header["seed"]).mean_cost())
        for t, task in enumerate(run.tasks)
    ]
    lost = rewards[:, -3:].mean(axis=1) - again
    rounds = run.rounds
    return {
        "all": rewards.mean(), "quarters": [part.mean() for part in np.array_split(rewards, 4)],
        "last": rewards[:, -3:].mean(), "again": float(np.mean(again)), "lost": lost.mean(), "most": lost.max(),
        "first": rewards[tasks // 2 :, 0].mean(), "second": rewards[tasks // 2 :, 1].mean(),
        "rollouts": rounds["rollout_seconds"].sum(), "learning": rounds["learn_seconds"].sum(),
        "unsafe": int(rounds["unsafe"].sum()), "rounds": len(rounds),
    }  # fmt: skip


def judged(options):
    """{(domain, label): [numbers of each seed]}"""
    keys, jobs = [], []
    for domain, label, seed in itertools.product(DOMAINS, PLAYED, range(FIRST_SEED, FIRST_SEED + options.seeds)):
        keys.append((domain, label))
        jobs.append((path_of(options.runs, domain, label, seed), domain))
    found = {}
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for key, numbers in zip(keys, pool.imap(judge_one, jobs)):
            found.setdefault(key, [])
            if numbers is not None:
                found[key].append(numbers)
    return found


def text_of(numbers, key):
    """The mean over seeds, and the lowest and highest."""
    values = [one[key] for one in numbers]
    return f"{statistics.fmean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def report(options):
    found = judged(options)
    seeds = {label: max(len(found[domain, label]) for domain in DOMAINS) for label in PLAYED}
    settings = experiment(DOMAINS[0])
    print(f"""# The field's benchmark

Written by `bench/field.py report`, from run files that `bench/field.py play` made: {seeds["ours"]} seeds from {FIRST_SEED} on, which nothing was tuned on
({seeds["ours, safe"]} of the safe form). MuJoCo's half cheetahs and hoppers ([bodies](mujoco.md)) with another gravity or other sizes of their parts, each 0.5 to
1.5 times; 20 bodies come one after the other, each for {settings.rounds // 20} rounds of {settings.trajectories} trajectories, of 200 steps (half cheetah) or at most 500 (hopper), from no
gains. That is a twelfth (half cheetah) of the steps of the published study (Mendez, Wang, Eaton, NeurIPS 2020), which has 50 rounds of 1,000 steps
each and five seeds.

All methods have the same base learner and the same trajectories to ask for. LPG-FTW, PG-ELLA, PG and Shared are tuned for each body, with
six trials each on seed {TUNING_SEED} (`bench/field.py tune`); ours has one setting for both bodies, and on the half cheetah, as *tuned*, the one that six trials chose there
(configs/field). Numbers are mean rewards a step with exploration noise, as means over seeds with the lowest and highest.

## While learning

| bodies | | all rounds | bodies 1 to 5 | 6 to 10 | 11 to 15 | 16 to 20 |
|---|---|---|---|---|---|---|""")
    for domain, label in itertools.product(DOMAINS, PLAYED):
        numbers = found[domain, label]
        if numbers:
            quarters = np.mean([one["quarters"] for one in numbers], axis=0)
            print(f"| {domain} | {label} | {text_of(numbers, 'all')} | " + " | ".join(f"{q:.2f}" for q in quarters) + " |")
    print("""
## What is kept, and what a new body gets

*At the end of its stay* are the last three rounds of each body, *again* is every body once more after the last one. What is
*lost* is the difference, and the body that lost most; a negative number is a gain. A *new* body is any from the eleventh on, in its first round
and its second.

| bodies | | at the end of its stay | again | lost | most lost | new: first policy | after one round |
|---|---|---|---|---|---|---|---|""")
    for domain, label in itertools.product(DOMAINS, PLAYED):
        numbers = found[domain, label]
        if numbers:
            print(f"| {domain} | {label} | {text_of(numbers, 'last')} | {text_of(numbers, 'again')} | {text_of(numbers, 'lost')} | "
                  f"{max(one['most'] for one in numbers):.2f} | {text_of(numbers, 'first')} | {text_of(numbers, 'second')} |")
    print("""
## Against LPG-FTW

On how many seeds ours is ahead, in reward over all rounds and in every body again at the end. Three to five seeds prove
nothing of a difference: the lowest level that a sign test over five can reach is 0.06.

| bodies | one setting: all rounds | again at the end | tuned: all rounds | again at the end |
|---|---|---|---|---|""")
    for domain in DOMAINS:
        cells = []
        for label, key in itertools.product(["ours", "ours, tuned"], ["all", "again"]):
            pairs = list(zip(found[domain, label], found[domain, "LPG-FTW"]))
            cells.append(f"{sum(a[key] > b[key] for a, b in pairs)} of {len(pairs)}" if pairs else "the same setting")
        print(f"| {domain} | " + " | ".join(cells) + " |")
    print("""
## Safe, and how long it takes

*Ours, safe* has all gains within ±1 on normalised observations; every policy was proven before it was played.
Seconds are those of a run, on one core of a machine with other work.

| bodies | unsafe policies of the safe form | seconds of rollouts: ours | LPG-FTW | PG-ELLA | of learning: ours | LPG-FTW | PG-ELLA |
|---|---|---|---|---|---|---|---|""")
    for domain in DOMAINS:
        safe = found[domain, "ours, safe"]
        unsafe = f"{sum(one['unsafe'] for one in safe)} in {sum(one['rounds'] for one in safe)} rounds" if safe else "not played"
        times = [f"{statistics.fmean(one[key] for one in found[domain, label]):.1f}"
                 for key in ("rollouts", "learning") for label in ("ours", "LPG-FTW", "PG-ELLA")]
        print(f"| {domain} | {unsafe} | " + " | ".join(times) + " |")
    print("""
## What it says

The goal was to be ahead of LPG-FTW on three of four kinds of bodies; with these few seeds it is not shown. With another gravity ours is clearly ahead on the
half cheetah and on most seeds of the hopper. With other sizes both are alike: ours, with the smaller steps that suit both
bodies, is behind on the first five half cheetahs and ahead on the last five; of the hoppers with other sizes nobody makes much in this budget, and what
little there is was learnt best by PG, each alone. Nothing is forgotten on average by ours. The single body that lost most lost more than what
noise does to PG, which cannot forget: policies of ours do not move after a stay either, but its last step may have been a bad one. One policy for all bodies (Shared) is as good as ours while learning, and gains more on old bodies than it
loses where only gravity differs; with sizes it loses single bodies, and so does LPG-FTW. Seeds differ by more than methods
do: the gait that the first bodies find is handed on.""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tune", "play", "report"])
    parser.add_argument("runs", type=pathlib.Path, nargs="?", default=pathlib.Path("build/field"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    {"tune": tune, "play": play, "report": report}[options.what](options)


if __name__ == "__main__":
    main()
