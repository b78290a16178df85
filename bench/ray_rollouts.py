#!/usr/bin/env python3
"""How well slow simulators fill the workers of a Ray cluster: bench/ray_rollouts.py [WORKERS ...]

The simulator takes 50 ms for each step of its batch, as one outside of this computer would: it waits. So the
workers may be more than the processors. Efficiency is the simulators' time over that of all workers while
the rollouts lasted; workers have started before.
"""
import sys
import time

import ray
from ray.cluster_utils import Cluster

import lifeguard as lg
import lifeguard.ray

STEP_SECONDS = 0.05
STEPS = 20
TRAJECTORIES = 40
CHUNK = 5


def slow(task, policy, **settings):
    import time

    import lifeguard

    time.sleep(STEP_SECONDS * settings["steps"])
    return lifeguard.rollout(task, policy, **settings)


def main():
    workers = [int(word) for word in sys.argv[1:]] or [2, 4, 8]
    tasks = lg.Family.named("mass-spring").draw_many(1, 8)
    policy = lg.Policy([[-1.0, -0.5]], 0.5)
    requests = [(task, policy, place) for place, task in enumerate(tasks)]
    expected = [lg.rollout(task, policy, trajectories=TRAJECTORIES, steps=STEPS, seed=place) for task, policy, place in requests]
    jobs = len(requests) * TRAJECTORIES // CHUNK
    print(f"{jobs} jobs of {STEPS * STEP_SECONDS} s: a simulator of {1000 * STEP_SECONDS:.0f} ms a step of its batch")
    print(f"{'workers':>8}{'seconds':>10}{'efficiency':>12}")
    for count in workers:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 80_000_000})
        for _ in range(2):
            cluster.add_node(num_cpus=count / 2, object_store_memory=80_000_000)
        ray.init(address=cluster.address, log_to_driver=False)
        cluster.wait_for_nodes()
        for _ in range(2):  # starts the workers
            lifeguard.ray.rollout_all(requests, trajectories=count, steps=8, chunk=1, simulate=slow)
        begin = time.perf_counter()
        batches = lifeguard.ray.rollout_all(requests, trajectories=TRAJECTORIES, steps=STEPS, chunk=CHUNK, simulate=slow)
        seconds = time.perf_counter() - begin
        assert batches == expected
        print(f"{count:8d}{seconds:10.2f}{jobs * STEPS * STEP_SECONDS / (count * seconds):12.1%}", flush=True)
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
