"""Steps per second of vector environments on one core, side by side in one run.

    python bench/python_environments.py [--envs 256] [--seconds 2]

Two tasks that all can do: Gymnasium's Pendulum-v1 and CartPole-v1. Ours compute the same steps
(lifeguard/GymnasiumPendulum-v0 and lifeguard/GymnasiumCartPole-v0, which python/tests compare with
Gymnasium's step by step); beside them are Gymnasium's sync and async vector environments as
gymnasium.make_vec makes them, its cart-pole vectorised by hand in NumPy, and EnvPool's with one thread,
if it is installed. Our own cart-pole, with a continuous force, runs on the processor's vectors.

Every number is steps of one environment, resets included, random actions drawn beforehand, per second of
processor time, that of all processes and threads together, so that what else the machine does does not
count. Ratios matter; absolute numbers depend on the machine.
"""

import argparse
import os
import time

import gymnasium
import numpy as np

import lifeguard as lg
import lifeguard.gymnasium  # noqa: F401: registers our environments


def processor_seconds(processes):
    """Of this process, and of others that go on: fields 14 and 15 of /proc/PID/stat."""
    total = time.process_time()
    for process in processes:
        with open(f"/proc/{process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def steps_per_second(envs, actions, seconds, count):
    processes = getattr(envs.unwrapped, "processes", [])
    envs.reset(seed=0) if not hasattr(envs, "env_id") else envs.reset()
    for i in range(20):
        envs.step(actions[i % len(actions)])
    steps, start = 0, processor_seconds(processes)
    while (used := processor_seconds(processes) - start) < seconds:
        for i in range(20):
            envs.step(actions[i % len(actions)])
        steps += 20 * count
    envs.close()
    return steps / used


def envpool_environment(name, count):
    import envpool

    return envpool.make(name, env_type="gymnasium", num_envs=count, num_threads=1)


def candidates(count):
    """(task, name, how it is made, actions, number of environments) of each; ours is the first of its task."""
    generator = np.random.default_rng(0)
    torques = [generator.uniform(-2, 2, (count, 1)).astype(np.float32) for _ in range(32)]
    pushes = [generator.uniform(-1, 1, (count, 1)) for _ in range(32)]
    sides = [(push[:, 0] > 0).astype(np.int64) for push in pushes]

    def vector(name, mode, size=count):
        return lambda: gymnasium.make_vec(name, num_envs=size, vectorization_mode=mode)

    task = "Pendulum-v1"
    yield task, "lifeguard", vector("lifeguard/GymnasiumPendulum-v0", "vector_entry_point"), torques, count
    yield task, "Gymnasium sync", vector(task, "sync"), torques, count
    yield task, "Gymnasium async, 8 processes", vector(task, "async", 8), [t[:8] for t in torques], 8
    yield task, "EnvPool, 1 thread", lambda: envpool_environment("Pendulum-v1", count), torques, count
    task = "CartPole-v1"
    yield task, "lifeguard", vector("lifeguard/GymnasiumCartPole-v0", "vector_entry_point"), pushes, count
    yield task, "Gymnasium sync", vector(task, "sync"), sides, count
    yield task, "Gymnasium async, 8 processes", vector(task, "async", 8), [s[:8] for s in sides], 8
    yield task, "Gymnasium vectorised in NumPy", vector(task, "vector_entry_point"), sides, count
    yield task, "EnvPool, 1 thread", lambda: envpool_environment("CartPole-v1", count), [s.astype(np.int32) for s in sides], count
    task = "lifeguard/CartPole-v0"
    forces = [10 * push for push in pushes]
    yield task, "lifeguard", vector(task, "vector_entry_point"), forces, count
    yield task, "the same in Gymnasium sync", vector(task, "sync"), forces, count


def rollout_rate(seconds):
    """Whole rollouts under a linear policy, for comparison: nothing crosses the border in between."""
    task = lg.Task("cart", lg.System("cart-pole"))
    policy = lg.Policy(task.lqr_gains(), 1.0)
    batch = lg.rollout(task, policy, trajectories=1024, steps=500)
    calls, start = 0, time.process_time()
    while (used := time.process_time() - start) < seconds:
        lg.rollout(task, policy, trajectories=1024, steps=500, out=batch)
        calls += 1
    return calls * 1024 * 500 / used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    ours = {}
    for task, name, make, actions, count in candidates(arguments.envs):
        try:
            envs = make()
        except Exception as error:  # noqa: BLE001: what is not installed is said and left out
            print(f"{task:22} {name:30} not measured: {error}")
            continue
        rate = steps_per_second(envs, actions, arguments.seconds, count)
        ours.setdefault(task, rate)
        print(f"{task:22} {name:30} {rate:12,.0f} steps/s   ours is {ours[task] / rate:6.1f} times as fast", flush=True)
    print(f"{'lifeguard rollouts of a linear policy':53} {rollout_rate(arguments.seconds):12,.0f} steps/s")


if __name__ == "__main__":
    main()
