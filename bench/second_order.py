#!/usr/bin/env python3
"""What policies with products of the state learn: bench/second_order.py [--seeds N] [--first N]

Plays the paper's cart-poles and quadrotors with policy.second_order, from no gains, with few trajectories. Its table is in
docs/studies/knowledge.md; needs script/demo's build.
"""
import argparse
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parent.parent
FAMILIES = {"cart-pole": 14, "quadrotor": 108}  # gains


def compared(family, trajectories, critic, options):
    command = [
        ROOT / "build/release/cli/lifeguard", "compare", ROOT / f"configs/paper/{family}.toml", "--quiet", "--json",
        "--seeds", str(options.seeds), "--set", f"experiment.seed={options.first}", "--set", 'experiment.methods=["learner", "pg"]',
        "--set", "policy.second_order=true", "--set", f"experiment.trajectories={trajectories}",
        "--set", f'base_learner.critic="{critic}"',
    ]  # fmt: skip
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["methods"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=10000)
    options = parser.parse_args()
    print(f"""
## Policies that see products

Written by `bench/second_order.py --seeds {options.seeds} --first {options.first}`. With `policy.second_order` a policy sees all products of two states as
well; PG has twice the trajectories. What is left at the end is in per cent of the way from the first policies to the lowest cost
that LQR or any of the methods reached.

| family | gains | trajectories | critic | method | rounds to 90 %: median (worst) | never | left at the end, %: median (worst) |
|---|---|---|---|---|---|---|---|""")
    for family, gains in FAMILIES.items():
        for trajectories in (10, 50):
            for critic in ("auto", "none"):
                for method in compared(family, trajectories, critic, options):
                    rounds, left = method["rounds_to_90_percent"], method["final_gap_percent"]
                    never = sum(value is None for value in rounds["values"])
                    median, worst = (f"{rounds[key]:g}" if rounds[key] is not None else "never" for key in ("median", "worst"))
                    print(f"| {family} | {gains} | {trajectories} | {critic} | {method['name']} | {median} ({worst}) | {never} | "
                          f"{left['median']:.2g} ({left['worst']:.2g}) |", flush=True)


if __name__ == "__main__":
    main()
