#!/usr/bin/env python3
"""A fleet of chains of masses whose actuators are turned: bench/rotated_chains.py [SEED [MASSES]] > FILE.toml

Four masses on springs with four actuators, whose frame is rotated by up to 50 degrees and whose gain
is between a half and two: 32 gains, of which tasks differ in two numbers. Masses and springs vary by
three per cent. Negative damping makes the chains unstable. Six masses have 72 gains.
"""
import math
import random
import sys

STEP_SECONDS = 0.05
DAMPING = -0.1
LARGEST_ANGLE = math.radians(50)


def signals(masses):
    return f"""states = {[f"position {i + 1} [m]" for i in range(masses)] + [f"speed {i + 1} [m/s]" for i in range(masses)]}
actions = {[f"force {i + 1} [N]" for i in range(masses)]}
"""


def head(seed, masses):
    return f"""# Chains of masses whose actuators are turned, made by bench/rotated_chains.py {seed} {masses}.
# docs/studies/knowledge.md has what a basis that is learnt gives on them.
[experiment]
name = "rot{2 * masses * masses}"
steps = 150
rounds = 800
trajectories = 8
methods = ["learner", "fixed", "pg", "pg-ella", "shared"]

[evaluation]
start_states = 30

[fleet]
system = "linear"

[fleet.settings]
dt_seconds = {STEP_SECONDS}
start_low = {[-1.0] * masses + [-0.5] * masses}
start_high = {[1.0] * masses + [0.5] * masses}
state_weights = {[0.25] * masses + [0.025] * masses}
action_weights = {[0.0125] * masses}
action_low = {[-10.0] * masses}
action_high = {[10.0] * masses}
failure_bounds = {[20.0] * (2 * masses)}
failure_cost = 100.0
sigma = 0.3

[pg]
extra_trajectories = 0

[variants.fixed]
method = "learner"
set = ["learner.update=linearised"]
"""


def chain(draw, count):
    """A and B of one step: speeds first, then positions with the new speeds."""
    masses = [draw.uniform(0.97, 1.03) for _ in range(count)]
    springs = [draw.uniform(0.97, 1.03) for _ in range(count + 1)]
    angle = LARGEST_ANGLE * draw.uniform(-1, 1)
    gain = math.exp(draw.uniform(math.log(0.5), math.log(2)))
    cosine, sine = gain * math.cos(angle), gain * math.sin(angle)
    size = 2 * count
    a = [[float(i == j) for j in range(size)] for i in range(size)]
    b = [[0.0] * count for _ in range(size)]
    for i in range(count):
        speed = a[count + i]
        rate = STEP_SECONDS / masses[i]
        speed[count + i] -= rate * DAMPING
        speed[i] -= rate * (springs[i] + springs[i + 1])
        if i > 0:
            speed[i - 1] += rate * springs[i]
        if i + 1 < count:
            speed[i + 1] += rate * springs[i + 1]
        # Actuators work in pairs, each pair turned by the angle.
        partner = i + 1 if i % 2 == 0 else i - 1
        b[count + i][i] = rate * cosine
        b[count + i][partner] = rate * (-sine if i % 2 == 0 else sine)
        a[i] = [x + STEP_SECONDS * y for x, y in zip(a[i], speed)]
        b[i] = [STEP_SECONDS * y for y in b[count + i]]
    return a, b


def table(matrix):
    return "[" + ", ".join("[" + ", ".join(f"{x:.9g}" for x in row) + "]" for row in matrix) + "]"


def fleet(seed, machines=40, masses=4):
    draw = random.Random(seed)
    text = head(seed, masses)
    for number in range(machines):
        a, b = chain(draw, masses)
        text += f'\n[[machine]]\nname = "chain {number + 1}"\n[machine.model]\n{signals(masses)}a = {table(a)}\nb = {table(b)}\n'
    return text.replace("\'", '"')


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    print(fleet(numbers[0] if numbers else 1, masses=numbers[1] if len(numbers) > 1 else 4), end="")
