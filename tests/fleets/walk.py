#!/usr/bin/env python3
"""The whole walk of somebody who brings machines, with a machine in another process:

    walk.py LIFEGUARD

init, validate, 20 rounds by policy and observe, check, report, a machine retired and one added, and
the C header compiled and compared with the JSON.
"""
import json, os, pathlib, subprocess, sys, time

from machine import Mass, run, work_in_empty_folder

lifeguard = pathlib.Path(sys.argv[1]).resolve()
work_in_empty_folder()
STEPS = 60

run(lifeguard, "init", "mass-spring", "-o", "fleet.toml")
fleet = pathlib.Path("fleet.toml")
fleet.write_text(fleet.read_text().replace("steps = 150", f"steps = {STEPS}"))
understood = run(lifeguard, "validate", "fleet.toml")
assert "closed loop" in understood and "force 0.25 N, at most 0.5 N" in understood, understood
assert json.loads(run(lifeguard, "validate", "fleet.toml", "--json"))["usable"]

# Who asks first makes the run file; whoever asks meanwhile waits for it.
run(lifeguard, "init", "cart-pole", "-o", "carts.toml")
asked = []
for _ in range(6):
    asked.append(subprocess.Popen([lifeguard, "policy", "carts.toml", "--machine", "first"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    time.sleep(0.05)
told = [process.communicate() for process in asked]
assert all(process.returncode == 0 for process in asked), told
assert len({answer for answer, _ in told}) == 1, told

machines = {"first": Mass(2.75, seed=1), "second": Mass(2.6, seed=2), "third": Mass(2.9, seed=3)}


def fly_round(number, name):
    policy = json.loads(run(lifeguard, "policy", "fleet.toml", "--machine", name))
    file = f"flights-{number}.{'csv' if number % 2 else 'jsonl'}"
    record = machines[name].record_csv if number % 2 else machines[name].record_jsonl
    record(file, policy, STEPS, 12)
    if number == 1:  # without room nothing is learnt, and who asked shall ask again
        full = subprocess.run(
            ["bash", "-c", 'ulimit -f 60; "$@"', "bash", lifeguard, "observe", "fleet.toml",
             "--machine", name, file, "--id", file], capture_output=True, text=True)
        assert full.returncode == 5 and "do the same again" in full.stderr, full
        assert "resume" not in full.stderr, full
    answer = json.loads(run(lifeguard, "observe", "fleet.toml", "--machine", name, file,
                            "--id", file, "--json"))
    assert answer["round"] == number and not answer["repeated"], answer
    assert answer["falls"] == answer["violations"] == answer["saturations"] == 0, answer
    again = json.loads(run(lifeguard, "observe", "fleet.toml", "--machine", name, file,
                           "--id", file, "--json"))
    assert again["repeated"] and again["mean_cost"] == answer["mean_cost"], again
    return answer["mean_cost"]


# A name that is given is one.
for option in ("--id", "--policy"):
    for name in ("", 201 * "x"):
        run(lifeguard, "observe", "fleet.toml", "--machine", "first", "none.csv", option, name, code=2)

costs = [fly_round(number, "first" if number % 2 else "second") for number in range(1, 21)]
assert sum(costs[-6:]) < 0.9 * sum(costs[:6]), costs
assert "all holds" in run(lifeguard, "check", "fleet.run")
run(lifeguard, "report", "fleet.run", "-o", "report.html")
assert "first" in pathlib.Path("report.html").read_text()
info = run(lifeguard, "info", "fleet.run")
assert "20" in info and "position [m], speed [m/s]" in info and "force [N]" in info, info

# A machine goes and one comes; what was learnt stays, and helps the new one.
text = fleet.read_text()
text = text.replace('name = "first"\n', 'name = "first"\nretired = true\n')
fleet.write_text(text + '\n[[machine]]\nname = "third"\nnotes = "replaces the first"\n')
assert "retired" in run(lifeguard, "validate", "fleet.toml")
newcomer = fly_round(21, "third")
assert newcomer < costs[0], (newcomer, costs[0])
run(lifeguard, "policy", "fleet.toml", "--machine", "first", code=2)
assert "all holds" in run(lifeguard, "check", "fleet.run")

# The header computes what the JSON says, and keeps the limits.
policy = json.loads(run(lifeguard, "policy", "fleet.toml", "--machine", "third",
                        "--c-header", "third.h", "--json"))
pathlib.Path("main.c").write_text("""
#include <stdio.h>
#include "third.h"
int main(void) {
  double x[2];
  while (scanf("%lf %lf", &x[0], &x[1]) == 2) {
    double u[1];
    if (!third_act(x, u)) { puts("refused"); continue; }
    printf("%.17g\\n", u[0]);
  }
  return 0;
}
""")
run(os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "main.c",
    "-o", "main", "-lm")
points = [(0.1 * i - 1.5, 0.7 - 0.13 * i) for i in range(30)] + [(1e9, 1e9), (-1e9, 0.0)]
answers = subprocess.run(["./main"], input="\n".join(f"{a!r} {b!r}" for a, b in points) + "\nnan 0\n",
                         capture_output=True, text=True, check=True).stdout.split()
for (a, b), answer in zip(points, answers):
    u = sum(k * (v - g) for k, v, g in zip(policy["gains"][0], (a, b), policy["goal"]))
    u = min(policy["action_high"][0], max(policy["action_low"][0], u))
    assert abs(float(answer) - u) <= 1e-12 * (1 + abs(u)), (a, b, answer, u)
assert answers[len(points)] == "refused", answers[len(points):]
print("the walk went through")
