#!/usr/bin/env python3
"""Kill -9 anywhere in a fleet's walk, and go on: the same bits as if nothing had happened.

    kills.py LIFEGUARD [KILLS]
"""
import json, os, pathlib, random, subprocess, sys, time

from machine import Mass, results, run, work_in_empty_folder

lifeguard = pathlib.Path(sys.argv[1]).resolve()
kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
work_in_empty_folder()
STEPS = 40
ROUNDS = 12
chance = random.Random(4)
killed = 0


def fleet_text(rounds_before):
    """The fleet changes on the way: limits after four rounds, a machine after eight."""
    text = run(lifeguard, "init", "mass-spring").replace("steps = 150", f"steps = {STEPS}")
    if rounds_before >= 4:
        text = text.replace("state_limits = [8.0, 10.0]", "state_limits = [7.5, 9.5]")
    if rounds_before >= 8:
        text += '\n[[machine]]\nname = "third"\n'
    return text


def call(interrupted, *command):
    """Until it succeeds; killed after a random time each time but the last."""
    global killed
    while True:
        process = subprocess.Popen([str(lifeguard), *command], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        if interrupted and killed < kills and chance.random() < 0.9:
            time.sleep(chance.uniform(0, 0.12))
            if process.poll() is None:
                process.kill()
                process.communicate()
                killed += 1
                continue
        out, error = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"{command}: {process.returncode}\n{out}{error}")
        return json.loads(out)


def walk(folder, interrupted):
    os.mkdir(folder)
    fleet = f"{folder}/fleet.toml"
    machines = {name: Mass(2.75, seed=i) for i, name in enumerate(["first", "second", "third"])}
    for number in range(1, ROUNDS + 1):
        pathlib.Path(fleet).write_text(fleet_text(number - 1))
        name = ["first", "second", "third"][number % (3 if number > 8 else 2)]
        policy = call(interrupted, "policy", fleet, "--machine", name)
        file = f"{folder}/flight-{number}.csv"
        machines[name].record_csv(file, policy, STEPS, 6)
        answer = call(interrupted, "observe", fleet, "--machine", name, file, "--id", f"{number}",
                      "--json")
        assert answer["round"] == number, answer


walk("whole", False)
attempts = 0
while killed < kills:
    attempts += 1
    walk(f"killed-{attempts}", True)
    assert results(f"killed-{attempts}/fleet.run") == results("whole/fleet.run"), attempts
run(lifeguard, "check", *[f"killed-{i}/fleet.run" for i in range(1, attempts + 1)])
print(f"killed {killed} times in {attempts} walks: the same bits")
