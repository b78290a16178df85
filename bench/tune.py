#!/usr/bin/env python3
"""Tunes every method for every family, with as many trials for each.

  bench/tune.py [--family NAME ...] [--json FILE]    what was tried, and what came out best
  bench/tune.py --write bench/tuned.json     the settings, into configs/paper/*.toml as well
  bench/tune.py --from bench/tuned.json      only write them into configs/paper/*.toml again

Trials are drawn from the grids below, the first two being the defaults and what was known before.
All start on few seeds; the better ones go on to more, other seeds (RUNGS), and those of the last rung
choose. Both ends of the trade-off count: the score of a run is

  ln(rounds to 90 %, twice all rounds if never) + ln(max(1, final gap / 0.1 %))

so that twice as fast is worth as much as twice as close, and gaps below 0.1 % are all the same. The
mean of the logarithms over seeds is minimised: a seed that diverges is not hidden, and does not decide
alone. All seeds are below 10000, where nothing is reported from. Needs build/release, or LIFEGUARD=path
of the command.
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = os.environ.get("LIFEGUARD", ROOT / "build/release/cli/lifeguard")
CONFIGS = ROOT / "configs/paper"

# How many trials of each method play which seeds.
RUNGS = [(8, range(2000, 2002)), (2, range(2010, 2014))]

ROUNDS = {"mass-spring": 150, "wide-mass-spring": 150, "cart-pole": 300, "wide-cart-pole": 300, "quadrotor": 150}

STEP = {
    "trust_region_per_step": [0.3, 0.6, 1.2, 1.8, 2.4, 5.0, 10.0, 20.0],
    "step_decay": [0.25, 0.5, 1.0, 1.5],
    "newton_limit": [1.0, 2.0, 4.0],
    "sure_noise_share": [0.0, 0.15],
}
GRIDS = {
    "pg": STEP,
    "shared": STEP,
    "pg-ella": STEP | {"sparsity": [1e-4, 1e-3, 1e-2, 0.1, 1.0], "lambda": [1e-6, 1e-4, 1e-3, 1e-2], "k": [0, 1, 2]},
    "alternating": STEP | {
        "mu1": [1e-3, 1e-2, 0.1, 1.0, 10.0],
        "mu2": [1e-3, 1e-2, 0.1, 1.0, 10.0],
        "mean_weight": [1e-3, 1e-2, 0.1, 1.0],
        "memory": [0.0, 0.3, 0.6, 0.9],
    },
}
# A quadrotor has 24 gains, the others 2 and 4.
QUADROTOR_K = [0, 4, 12]

ALTERNATING_BEFORE = {"trust_region_per_step": 1.8, "step_decay": 0.25, "newton_limit": 1.0, "sure_noise_share": 0.0,
                      "mu1": 1.0, "mu2": 10.0, "mean_weight": 0.01, "memory": 0.0}


def steps(delta, decay, newton):
    return {"trust_region_per_step": delta, "step_decay": decay, "newton_limit": newton, "sure_noise_share": 0.0}


# What was used before, or found by hand.
BEFORE = {
    "pg": {"mass-spring": steps(20.0, 0.5, 4.0), "wide-mass-spring": steps(20.0, 0.5, 4.0),
           "cart-pole": steps(0.6, 0.25, 1.0), "wide-cart-pole": steps(2.4, 0.25, 1.0), "quadrotor": steps(5.0, 1.0, 1.0)},
    "shared": {"mass-spring": steps(20.0, 1.5, 4.0), "wide-mass-spring": steps(20.0, 1.5, 4.0),
               "cart-pole": steps(2.4, 1.0, 1.0), "wide-cart-pole": steps(2.4, 1.0, 1.0),
               "quadrotor": steps(2.4, 1.5, 1.0)},
    "pg-ella": {"mass-spring": steps(20.0, 0.5, 4.0) | {"sparsity": 1.0, "lambda": 1e-6, "k": 0},
                "wide-mass-spring": steps(5.0, 0.5, 1.0) | {"sparsity": 1.0, "lambda": 1e-6, "k": 0},
                "cart-pole": steps(1.2, 0.5, 1.0) | {"sparsity": 1.0, "lambda": 1e-3, "k": 2},
                "wide-cart-pole": steps(2.4, 0.5, 1.0) | {"sparsity": 1.0, "lambda": 1e-3, "k": 0},
                "quadrotor": steps(5.0, 1.0, 4.0) | {"sparsity": 0.1, "lambda": 1e-3, "k": 4}},
    "alternating": dict.fromkeys(ROUNDS, ALTERNATING_BEFORE),
}


def trials(family, method):
    """The settings to be tried, all different; {} is the default."""
    grid = dict(GRIDS[method])
    if "k" in grid and family == "quadrotor":
        grid["k"] = QUADROTOR_K
    draws = random.Random(f"{family} {method}")
    found = [{}, BEFORE[method][family]]
    while len(found) < RUNGS[0][0]:
        drawn = {key: draws.choice(values) for key, values in grid.items()}
        if drawn not in found:
            found.append(drawn)
    return found


def overrides(method, settings):
    """As a [variants] table sets them."""
    if method != "alternating":
        table = method.replace("-", "_")
        return [f"{table}.{key}={value}" for key, value in settings.items()]
    # p is what it was tuned with: the default is for a basis that is learnt from how tasks differ.
    return (["learner.update=alternating", "projection.p=0.01"] +
            [f"learner.{key}={value}" for key, value in settings.items()])


def compare(family, candidates, seeds, threads):
    """What `lifeguard compare` says of the candidates, (method, settings), in their order."""
    methods = [f"{method}-{i}" for i, (method, _) in enumerate(candidates)]
    lines = ["[experiment]", f'name = "tuning-{family}"', f"rounds = {ROUNDS[family]}", f"seed = {seeds[0]}",
             f"seeds = {len(seeds)}", f"methods = {json.dumps(methods)}",
             "[evaluation]", "start_states = 25", "spacing = 0.1", "regret = false",
             "[family]", f'base = "{family}"']
    for name, (method, settings) in zip(methods, candidates):
        plain = "learner" if method == "alternating" else method
        lines += [f"[variants.{name}]", f'method = "{plain}"', f"set = {json.dumps(overrides(method, settings))}"]
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        done = subprocess.run([COMMAND, "compare", file.name, "--json", "--quiet", "--threads", str(threads)],
                              check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["methods"]


def scores(found, rounds):
    """The score of every seed."""
    never = 2 * rounds
    return [math.log(max(1, never if reached is None else reached)) +
            math.log(max(1, 1e6 if gap is None else gap / 0.1))
            for reached, gap in zip(found["rounds_to_90_percent"]["values"], found["final_gap_percent"]["values"])]


def tune(family, threads):
    """The settings of each method, best first, with what came out on the last rung."""
    left = {method: trials(family, method) for method in GRIDS}
    for rung, (keep, seeds) in enumerate(RUNGS):
        left = {method: settings[:keep] for method, settings in left.items()}
        candidates = [(method, settings) for method in GRIDS for settings in left[method]]
        found = compare(family, candidates, seeds, threads)
        ranked = {method: [] for method in GRIDS}
        for (method, settings), result in zip(candidates, found):
            score = statistics.fmean(scores(result, ROUNDS[family]))
            ranked[method].append({
                "score": round(score, 4), "settings": settings,
                "rounds_to_90_percent": result["rounds_to_90_percent"]["median"],
                "final_gap_percent": result["final_gap_percent"]["median"],
                "worst_gap_percent": result["final_gap_percent"]["worst"], "failed": result["failed"]})
        for method in GRIDS:
            ranked[method].sort(key=lambda trial: trial["score"])  # stable: the earlier of two equals
            left[method] = [trial["settings"] for trial in ranked[method]]
        print(f"{family}: rung {rung + 1}, seeds {seeds[0]} to {seeds[-1]}", flush=True)
    for method in GRIDS:
        for trial in ranked[method]:
            rounds = trial["rounds_to_90_percent"]
            print(f"| {family} | {method} | {trial['score']:.2f} | {'never' if rounds is None else rounds} | "
                  f"{trial['final_gap_percent']:.3g} ({trial['worst_gap_percent']:.3g}) | "
                  f"{trial['failed']} of {len(RUNGS[-1][1])} | "
                  + ", ".join(f"{k} {v}" for k, v in trial["settings"].items()) + " |", flush=True)
    return ranked


# From this line on bench/tune.py writes what stands in a configuration.
MARK = "# Tuned for this family on the seeds 2000 to 2013, by bench/tune.py, which writes all that follows."
SPECTRA = [(0.1, 10), (0.1, 1), (1, 10), (0.1, 0.3), (3, 10)]


def variant(name, settings):
    listed = "".join(f'  "{setting}",\n' for setting in settings)
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
    return f'\n[variants.{key}]\nmethod = "learner"\nset = [\n{listed}]\n'


def tuned_text(best, methods):
    """The end of a configuration that runs these methods."""
    text = MARK + "\n"
    if "learner" in methods:
        text += "# The learner has one setting for all families.\n"
    for method in ("pg", "pg-ella", "shared"):
        if method in methods and best[method]:
            text += f"[{method.replace('-', '_')}]\n"
            text += "".join(f"{key} = {value}\n" for key, value in best[method].items()) + "\n"
    if "unconstrained" in methods:
        text += "# The learner as it is without its projection."
        text += variant("unconstrained", ["projection.mode=none"]) + "\n"
    alternating = overrides("alternating", best["alternating"])
    if "ours-10" in methods:
        text += "# The paper's alternating closed form with 10, 50 and 100 alternations a round, tuned with 10."
        for count in (10, 50, 100):
            text += variant(f"ours-{count}", [*alternating, f"learner.alternations={count}"])
    forms = {}
    for method in methods:
        if " p=" in method:
            forms.setdefault(method[:method.index(" p=")], []).append(method)
    for form, names in forms.items():
        if form == "alternating":
            text += "# The paper's alternating closed form, with 10 alternations a round."
            settings = [key for key in alternating if not key.startswith("projection.")]
            settings += ["learner.alternations=10"]
        elif form.startswith("linearised k="):
            text += "\n# The linearised form moves L where that has fewer columns than there are gains."
            settings = ["learner.update=linearised", f"learner.{form.split()[1]}"]
        else:
            text += "\n# A basis that is learnt by empirical Bayes."
            settings = ["learner.update=empirical Bayes"]
        for name in names:
            p, q = re.fullmatch(r".* p=(\S+) q=(\S+)", name).groups()
            text += variant(name, [*settings, f"projection.p={p}", f"projection.q={q}"])
    return text.rstrip("\n") + "\n"


def write(tuned):
    """Puts the best settings into every configuration that has the mark."""
    for path in sorted(CONFIGS.glob("*.toml")):
        text = path.read_text()
        if MARK not in text:
            continue
        family = re.search(r'^base = "([^"]+)"', text, re.M).group(1)
        methods = json.loads(re.search(r"^methods = (\[.*?\])$", text, re.M | re.S).group(1))
        best = {method: ranked[0]["settings"] for method, ranked in tuned[family].items()}
        path.write_text(text[:text.index(MARK)] + tuned_text(best, methods))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", choices=ROUNDS, help="only this one; may be given often")
    parser.add_argument("--json", type=pathlib.Path, help="what came out on the last rung")
    parser.add_argument("--write", type=pathlib.Path, help="as --json, and into configs/paper/*.toml")
    parser.add_argument("--from", dest="source", type=pathlib.Path, help="write what this file says; tunes nothing")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.source:
        write(json.loads(options.source.read_text()))
        return
    print("| family | method | score | rounds to 90 % | final gap % (worst) | failed | settings |\n"
          "|---|---|---|---|---|---|---|")
    target = options.write or options.json
    tuned = json.loads(target.read_text()) if target and target.exists() else {}
    for family in options.family or ROUNDS:
        tuned[family] = tune(family, options.threads)
        if target:
            target.write_text(json.dumps(tuned, indent=1) + "\n")
    if options.write:
        write(tuned)


if __name__ == "__main__":
    main()
