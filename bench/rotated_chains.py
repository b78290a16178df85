#!/usr/bin/env python3
"""A fleet of chains of masses whose actuators are turned: bench/rotated_chains.py [SEED] > FILE.toml

Four masses on springs with four actuators, whose frame is rotated by up to 50 degrees and whose gain
is between a half and two: 32 gains, of which tasks differ in two numbers. Masses and springs vary by
three per cent. Negative damping makes the chains unstable.
"""
import math
import random
import sys

MASSES = 4
STEP_SECONDS = 0.05
DAMPING = -0.1
LARGEST_ANGLE = math.radians(50)

SIGNALS = f"""states = {[f"position {i + 1} [m]" for i in range(MASSES)] + [f"speed {i + 1} [m/s]" for i in range(MASSES)]}
actions = {[f"force {i + 1} [N]" for i in range(MASSES)]}
"""

HEAD = f"""# Chains of masses whose actuators are turned, made by bench/rotated_chains.py {{seed}}.
# docs/studies/knowledge.md has what a basis that is learnt gives on them.
[experiment]
name = "rot32"
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
start_low = {[-1.0] * MASSES + [-0.5] * MASSES}
start_high = {[1.0] * MASSES + [0.5] * MASSES}
state_weights = {[0.25] * MASSES + [0.025] * MASSES}
action_weights = {[0.0125] * MASSES}
action_low = {[-10.0] * MASSES}
action_high = {[10.0] * MASSES}
failure_bounds = {[20.0] * (2 * MASSES)}
failure_cost = 100.0
sigma = 0.3

[learner]
update = "empirical Bayes"

[projection]
p = 1e-6

[pg]
extra_trajectories = 0

[variants.fixed]
method = "learner"
set = ["learner.update=linearised"]
"""


def chain(draw):
    """A and B of one step: speeds first, then positions with the new speeds."""
    masses = [draw.uniform(0.97, 1.03) for _ in range(MASSES)]
    springs = [draw.uniform(0.97, 1.03) for _ in range(MASSES + 1)]
    angle = LARGEST_ANGLE * draw.uniform(-1, 1)
    gain = math.exp(draw.uniform(math.log(0.5), math.log(2)))
    cosine, sine = gain * math.cos(angle), gain * math.sin(angle)
    size = 2 * MASSES
    a = [[float(i == j) for j in range(size)] for i in range(size)]
    b = [[0.0] * MASSES for _ in range(size)]
    for i in range(MASSES):
        speed = a[MASSES + i]
        rate = STEP_SECONDS / masses[i]
        speed[MASSES + i] -= rate * DAMPING
        speed[i] -= rate * (springs[i] + springs[i + 1])
        if i > 0:
            speed[i - 1] += rate * springs[i]
        if i + 1 < MASSES:
            speed[i + 1] += rate * springs[i + 1]
        # Actuators work in pairs, each pair turned by the angle.
        partner = i + 1 if i % 2 == 0 else i - 1
        b[MASSES + i][i] = rate * cosine
        b[MASSES + i][partner] = rate * (-sine if i % 2 == 0 else sine)
        a[i] = [x + STEP_SECONDS * y for x, y in zip(a[i], speed)]
        b[i] = [STEP_SECONDS * y for y in b[MASSES + i]]
    return a, b


def table(matrix):
    return "[" + ", ".join("[" + ", ".join(f"{x:.9g}" for x in row) + "]" for row in matrix) + "]"


def fleet(seed, machines=40):
    draw = random.Random(seed)
    text = HEAD.format(seed=seed)
    for number in range(machines):
        a, b = chain(draw)
        text += f'\n[[machine]]\nname = "chain {number + 1}"\n[machine.model]\n{SIGNALS}a = {table(a)}\nb = {table(b)}\n'
    return text.replace("\'", '"')


if __name__ == "__main__":
    print(fleet(int(sys.argv[1]) if len(sys.argv) > 1 else 1), end="")
