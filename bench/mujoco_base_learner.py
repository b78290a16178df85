#!/usr/bin/env python3
"""What eNAC needs where a policy has a hundred gains: bench/mujoco_base_learner.py [BODY] [ROUNDS]

One body learns alone (PG), with ten trajectories of 200 steps a round, from no gains at all. Each line changes one thing of the
base learner. Rewards are a step, with exploration noise while learning and without at the end.
"""
import sys

import numpy as np

import lifeguard as lg
import lifeguard.mujoco as bodies

STEPS, TRAJECTORIES = 200, 10
WHOLE = {"noise_shrinkage": "none"}
VARIANTS = {
    "as it is: shrunk for noise, 1.8 nats a step": (1.8, {}),
    "shrunk, 0.1 nats": (0.1, {}),
    "not shrunk, 0.1 nats": (0.1, WHOLE),
    "and discount 0.97": (0.1, {**WHOLE, "discount": 0.97}),
    "and no state baseline": (0.1, {**WHOLE, "state_baseline": False}),
}


def main():
    body = getattr(bodies, sys.argv[1] if len(sys.argv) > 1 else "HalfCheetah")()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    task = body.task(body.name)
    print(f"{body.name}: {task.actions * task.inputs} gains, {rounds} rounds of {TRAJECTORIES} trajectories of {STEPS} steps")
    print(f"{'':<46}{'first':>8}{'last 4':>8}{'final':>8}{'noise share':>13}")
    for name, (nats, base) in VARIANTS.items():
        learner = lg.Learner(task.inputs, task.actions, "pg", trust_region_per_step=nats, step_decay=0.0, base_learner=base)
        learner.add_task("body", sigma=0.5, anchor=np.zeros((task.actions, task.inputs)))
        rewards, shares = [], []
        for seed in range(rounds):
            batch = lg.rollout(task, learner.policy("body"), trajectories=TRAJECTORIES, steps=STEPS, seed=seed)
            shares.append(learner.observe("body", batch)["noise_share"])
            rewards.append(body.reward(batch.mean_cost()))
        still = learner.policy("body").without_noise()
        final = body.reward(lg.evaluate(task, still, trajectories=4, steps=STEPS, seed=rounds)["mean_cost"])
        print(f"{name:<46}{rewards[0]:8.2f}{np.mean(rewards[-4:]):8.2f}{final:8.2f}{np.median(shares):13.2f}", flush=True)


if __name__ == "__main__":
    main()
