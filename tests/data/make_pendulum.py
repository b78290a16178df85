"""Writes pendulum_gymnasium.csv: Pendulum-v1 of Gymnasium, step by step, for examples/pendulum.hpp.

Needs the package gymnasium (PyPI). Run from anywhere; it writes beside itself.
"""

import pathlib
import random

import gymnasium
import numpy as np

generator = random.Random(7)
env = gymnasium.make("Pendulum-v1").unwrapped
rows = []
for episode in range(20):
    env.reset(seed=episode)
    env.state = np.array([generator.uniform(-7, 7), generator.uniform(-8, 8)])
    for _ in range(25):
        angle, speed = (float(v) for v in env.state)
        torque = generator.uniform(-3, 3)
        _, reward, _, _, _ = env.step(np.array([torque], dtype=np.float64))
        following = [float(v) for v in env.state]
        rows.append([angle, speed, torque, *following, -float(reward)])
path = pathlib.Path(__file__).with_name("pendulum_gymnasium.csv")
with path.open("w") as file:
    file.write(f"# gymnasium {gymnasium.__version__}: angle,speed,torque,next_angle,next_speed,cost\n")
    for row in rows:
        file.write(",".join(repr(v) for v in row) + "\n")
