"""Steps per second of vector environments on one core, side by side in one run.

    python bench/python_environments.py [--envs 256] [--seconds 2]

Our cart-pole on vectors, the same task as single environments in Gymnasium's own vector, Gymnasium's
CartPole-v1 in its sync, async and hand-vectorised forms, and EnvPool's if it is installed. Every number
is steps of one environment, resets included, random actions drawn beforehand, per second of the processor's
time, so that what else the machine does does not count; only of several processes it is time on the clock.
Ratios matter; absolute numbers depend on the machine.
"""

import argparse
import os
import time

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import lifeguard as lg
import lifeguard.gymnasium as lgym


def steps_per_second(envs, actions, seconds, count, clock=time.process_time):
    envs.reset(seed=0)
    for i in range(20):
        envs.step(actions[i % len(actions)])
    steps, begin, start = 0, time.perf_counter(), clock()
    while time.perf_counter() - begin < seconds:
        for i in range(20):
            envs.step(actions[i % len(actions)])
        steps += 20 * count
    rate = steps / (clock() - start)
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
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        lg.rollout(task, policy, trajectories=1024, steps=500, out=batch)
        best = min(best, time.perf_counter() - start)
    return 1024 * 500 / best


def best_of(call, count=300):
    best = float("inf")
    for seed in range(count):
        start = time.perf_counter()
        call(seed)
        best = min(best, time.perf_counter() - start)
    return best


def round_overhead():
    """A round as Python plays it, and what its three calls take on a batch of one step."""
    task = lg.Task("cart", lg.System("cart-pole"))
    learner = lg.Learner(task.inputs, task.actions)
    learner.add_task("cart", lg.gain_box_towards(task.lqr_gains().ravel(), 1.5, 0.2), sigma=task.sigma)
    batch = lg.rollout(task, learner.policy("cart"))
    tiny = lg.rollout(task, learner.policy("cart"), trajectories=1, steps=1)

    def play(seed):
        lg.rollout(task, learner.policy("cart"), seed=seed, out=batch)
        learner.observe("cart", batch)

    def cross(seed):
        lg.rollout(task, learner.policy("cart"), trajectories=1, steps=1, seed=seed, out=tiny)

    return best_of(play), best_of(cross)


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
        several = "processes" in name
        rates[name] = steps_per_second(
            envs, actions, arguments.seconds, 8 if several else arguments.envs,
            time.perf_counter if several else time.process_time,
        )
        ours = rates["lifeguard cart-pole on vectors"]
        print(f"{name:45} {rates[name]:12,.0f} steps/s   ours is {ours / rates[name]:6.1f} times as fast", flush=True)
    print(f"{'lifeguard rollout of a linear policy':45} {rollout_rate(arguments.seconds):12,.0f} steps/s")
    whole, border = round_overhead()
    print(f"a round takes {1e6 * whole:.0f} us; policy() and rollout() of one step {1e6 * border:.1f} us")


if __name__ == "__main__":
    main()
