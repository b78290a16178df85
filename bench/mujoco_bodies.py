#!/usr/bin/env python3
"""What a rollout of a MuJoCo body costs beside the physics alone: bench/mujoco_bodies.py

Processor time of lifeguard.rollout with 16 trajectories on one thread, and of mujoco.rollout with the same states and
actions, a control step at a time.
"""
import time

import numpy as np

import lifeguard as lg
import lifeguard.mujoco as bodies


def physics_seconds(body, batch, states):
    """The same control steps, each from the state it began in."""
    model = body.model
    data, rollout = bodies._data(model)
    width = model.nq + model.nv
    work = []
    for m in range(int(batch.lengths.max())):
        live = np.flatnonzero(batch.lengths > m)
        first = np.zeros((len(live), 1 + width))
        first[:, 1:] = [states[i][m, :width] for i in live]
        held = np.repeat(np.clip(batch.actions[live, m], -1, 1)[:, np.newaxis], body.frame_skip, axis=1)
        work.append((first, held, np.zeros((len(live), model.nv))))
    begin = time.process_time()
    for first, held, warm in work:
        rollout.rollout(model, data, first, held, initial_warmstart=warm)
    return time.process_time() - begin


def main():
    print(f"{'body':<14}{'us a step':>12}{'physics':>12}{'ratio':>8}")
    for kind in bodies.BODIES:
        body = kind()
        task = body.task(body.name)
        policy = lg.Policy(np.zeros((task.actions, task.inputs)), 0.3)
        settings = {"trajectories": 16, "steps": 150, "seed": 1}
        batch = lg.rollout(task, policy, **settings)
        states = lg.state_paths(task, policy, **settings)
        ratios = []
        for _ in range(3):
            begin = time.process_time()
            lg.rollout(task, policy, **settings)
            whole = time.process_time() - begin
            alone = physics_seconds(body, batch, states)
            ratios.append((whole, alone))
        whole, alone = min(ratios)
        steps = int(batch.lengths.sum())
        print(f"{body.name:<14}{1e6 * whole / steps:12.1f}{1e6 * alone / steps:12.1f}{whole / alone:8.2f}")


if __name__ == "__main__":
    main()
