"""Steps per second of vector environments on one core, side by side in one run.

    python bench/python_environments.py [--envs 256] [--seconds 2]

Our cart-pole on vectors, the same task as single environments in Gymnasium's own vector, Gymnasium's
CartPole-v1 in its sync, async and hand-vectorised forms, and EnvPool's if it is installed. Every number
is steps of one environment, resets included, random actions drawn beforehand. Ratios matter; absolute
numbers depend on the machine.
"""

import argparse
import os
import time

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import lifeguard as lg
import lifeguard.gymnasium as lgym


def steps_per_second(envs, actions, seconds, count):
    envs.reset(seed=0)
    for i in range(20):
        envs.step(actions[i % len(actions)])
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for i in range(10):
            envs.step(actions[i % len(actions)])
        steps += 10 * count
    rate = steps / (time.perf_counter() - begin)
    envs.close()
    return rate


class EnvPoolAdapter:
    """EnvPool's environment with the calls that are used here."""

    def __init__(self, name, count):
        import envpool

        self.envs = envpool.make(name, env_type="gymnasium", num_envs=count, num_threads=1)

    def reset(self, seed=None):
        self.envs.reset()

    def step(self, actions):
        return self.envs.step(actions)

    def close(self):
        pass


def candidates(count):
    generator = np.random.default_rng(0)
    pushes = [generator.uniform(-10, 10, (count, 1)) for _ in range(32)]
    sides = [generator.integers(0, 2, count) for _ in range(32)]
    yield "lifeguard cart-pole on vectors", lambda: lgym.TaskVectorEnv(count, "cart-pole", steps=500), pushes
    yield (
        "the same task, Gymnasium sync",
        lambda: SyncVectorEnv([lambda: lgym.TaskEnv("cart-pole", steps=500)] * count),
        pushes,
    )
    yield "Gymnasium CartPole-v1 sync", lambda: SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * count), sides
    yield (
        "Gymnasium CartPole-v1 async, 8 processes",
        lambda: AsyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 8),
        [side[:8] for side in sides],
    )
    yield (
        "Gymnasium CartPole-v1 vectorised in NumPy",
        lambda: gymnasium.make_vec("CartPole-v1", num_envs=count, vectorization_mode="vector_entry_point"),
        sides,
    )
    yield "EnvPool CartPole-v1, 1 thread", lambda: EnvPoolAdapter("CartPole-v1", count), sides


def rollout_rate(seconds):
    """Whole rollouts under a linear policy, for comparison: nothing crosses the border in between."""
    task = lg.Task("cart", lg.System("cart-pole"))
    policy = lg.Policy(task.lqr_gains(), 1.0)
    batch = lg.rollout(task, policy, trajectories=1024, steps=500)
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        lg.rollout(task, policy, trajectories=1024, steps=500, out=batch)
        steps += 1024 * 500
    return steps / (time.perf_counter() - begin)


def round_overhead(rounds=300):
    """What Python adds to a round: everything but the rollout and the learner's own time."""
    task = lg.Task("cart", lg.System("cart-pole"))
    learner = lg.Learner(task.inputs, task.actions)
    learner.add_task("cart", lg.gain_box_towards(task.lqr_gains().ravel(), 1.5, 0.2), sigma=task.sigma)
    batch = lg.rollout(task, learner.policy("cart"))
    begin = time.perf_counter()
    for seed in range(rounds):
        lg.rollout(task, learner.policy("cart"), seed=seed, out=batch)
        learner.observe("cart", batch)
    whole = (time.perf_counter() - begin) / rounds
    # The same calls on the smallest batch are nearly nothing but the border.
    tiny = lg.rollout(task, learner.policy("cart"), trajectories=1, steps=1)
    begin = time.perf_counter()
    for seed in range(rounds):
        lg.rollout(task, learner.policy("cart"), trajectories=1, steps=1, seed=seed, out=tiny)
    border = (time.perf_counter() - begin) / rounds
    return whole, border


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    rates = {}
    for name, make, actions in candidates(arguments.envs):
        try:
            envs = make()
        except Exception as error:  # noqa: BLE001: what is not installed is said and left out
            print(f"{name:45} not measured: {error}")
            continue
        count = 8 if "8 processes" in name else arguments.envs
        rates[name] = steps_per_second(envs, actions, arguments.seconds, count)
        ours = rates["lifeguard cart-pole on vectors"]
        print(f"{name:45} {rates[name]:12,.0f} steps/s   ours is {ours / rates[name]:6.1f} times as fast", flush=True)
    print(f"{'lifeguard rollout of a linear policy':45} {rollout_rate(arguments.seconds):12,.0f} steps/s")
    whole, border = round_overhead()
    print(f"a round takes {1e6 * whole:.0f} us; crossing the border with a batch of one step {1e6 * border:.1f} us")


if __name__ == "__main__":
    main()
