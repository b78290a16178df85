#!/usr/bin/env python3
"""Which seeds are left behind: bench/left_behind.py [--seeds N] [--first N] [FAMILY …]

Plays the default learner on many seeds of the paper's families, and names those that never got to 90 % and those that
end above ten times the median. Its table is in docs/studies/knowledge.md; needs script/demo's build.
"""

import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parent.parent
FAMILIES = ["mass-spring", "cart-pole", "quadrotor", "wide-mass-spring", "wide-cart-pole"]
FAR = 10  # times the median


def played(family, first, seeds, critic):
    """Rounds to 90 % (None: never) and what is left at the end in per cent, over the seeds."""
    command = [
        ROOT / "build/release/cli/lifeguard", "compare", ROOT / f"configs/paper/{family}.toml", "--quiet", "--json",
        "--seeds", str(seeds), "--set", f"experiment.seed={first}", "--set", 'experiment.methods=["learner"]',
        "--set", f'base_learner.critic="{critic}"',
    ]
    method = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["methods"][0]
    return method["rounds_to_90_percent"], method["final_gap_percent"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=40000)
    parser.add_argument("--critic", default="auto", choices=["none", "model", "auto"])
    parser.add_argument("families", nargs="*", default=FAMILIES, metavar="FAMILY", help=", ".join(FAMILIES))
    options = parser.parse_args()
    default = options.critic == "auto"
    print(f"""
## Seeds that are left behind{"" if default else ", with the gradient alone"}

Written by `bench/left_behind.py --seeds {options.seeds} --first {options.first}{"" if default else f" --critic {options.critic}"}`: the default learner{"" if default else f" with critic = {options.critic}"} on {options.seeds} seeds of each
family that nothing was tuned on. What is left at the end is in per cent of the way from the first policies to the lowest cost
that LQR or the learner reached. *Far behind*: the seeds that end above {FAR} times the median. On the quadrotor, where LQR is not the
lowest, that is the learner's own lowest cost, most often its last: the median is small, and so is {FAR} times it. Where the median is a
hundred-thousandth of a per cent {FAR} times it is next to nothing, too: the worst seed says more.
""")
    print("| family | rounds to 90 %: median (worst) | never | left at the end, %: median (worst) | far behind | which |")
    print("|---|---|---|---|---|---|")
    for family in options.families:
        rounds, left = played(family, options.first, options.seeds, options.critic)
        never = sum(value is None for value in rounds["values"])
        far = [options.first + i for i, value in enumerate(left["values"]) if not value <= FAR * left["median"]]
        worst = "never" if never else f"{rounds['worst']:g}"
        print(f"| {family} | {rounds['median']:g} ({worst}) | {never} | {left['median']:.2g} ({left['worst']:.2g}) "
              f"| {len(far)} of {options.seeds} | {', '.join(map(str, far)) or '–'} |", flush=True)


if __name__ == "__main__":
    main()
