"""Rollouts of expensive simulators on many computers, with Ray.

    import ray, lifeguard as lg, lifeguard.ray

    ray.init(address="auto")
    tasks = {task.name: task for task in lg.Family.named("cart-pole").draw_many(seed=1, count=20)}
    requests = [(task, learner.policy(name), seed) for name, task in tasks.items()]
    for name, batch in zip(tasks, lifeguard.ray.rollout_all(requests, trajectories=50, steps=150)):
        learner.observe(name, batch)

Tasks and trajectories are spread over the nodes in small jobs, and a job is a pure function of task, policy, seed
and range of trajectories. So the batches are the same to the bit on one worker, on a thousand, and when jobs were
played again since a worker or a node died. Needs the package ray: `pip install lifeguard[ray]`.
"""

from __future__ import annotations

import math

import numpy as np

try:
    import ray
except ImportError as error:
    raise ImportError("a cluster needs Ray: pip install lifeguard[ray]") from error

from ._core import Trajectories
from ._core import rollout as _rollout
from .errors import InvalidInput

_LOST = (
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.ObjectLostError,
    ray.exceptions.LocalRayletDiedError,
)


def rollout(task, policy, *, trajectories: int = 50, steps: int = 150, seed: int = 0, first_index: int = 0, **more):
    """As lifeguard.rollout, with the trajectories spread over the nodes; `more` as in rollout_all()."""
    request = {"task": task, "policy": policy, "seed": seed, "first_index": first_index}
    return rollout_all([request], trajectories=trajectories, steps=steps, **more)[0]


def rollout_all(
    requests,
    *,
    trajectories: int = 50,
    steps: int = 150,
    chunk: int | None = None,
    simulate=None,
    retries: int = 20,
    **options,
) -> list[Trajectories]:
    """One batch for each request, in their order.

    requests  (task, policy, seed), or dictionaries {task, policy, seed, first_index}.
    chunk     trajectories of a job; without it, so many that every processor gets about four jobs.
              Batches do not depend on it.
    simulate  what plays a job: simulate(task, policy, trajectories=, steps=, seed=, first_index=) gives the
              Trajectories with these indices, and must be a pure function of its arguments. Tasks are
              whatever it takes. Without it, lifeguard.rollout.
    retries   how often a job is played again after the worker or the node that played it died. What
              `simulate` raises is not retried.
    options   of ray.remote: num_cpus=2, resources={"simulator": 1}, runtime_env=…
    """
    requests = [_named(request) for request in requests]
    for name, value, least in (("trajectories", trajectories, 1), ("steps", steps, 1), ("retries", retries, 0)):
        if value < least:
            raise InvalidInput(name, str(value), f"must be at least {least}")
    if chunk is None:
        processors = max(1.0, ray.cluster_resources().get("CPU", 1.0) / max(options.get("num_cpus", 1), 1e-3))
        chunk = math.ceil(len(requests) * trajectories / (4 * processors))
    if chunk < 1:
        raise InvalidInput("chunk", str(chunk), "must be at least 1")
    play = ray.remote(_play).options(**{"scheduling_strategy": "SPREAD", "max_retries": retries, **options})
    # A function of the extension cannot be sent; this one is found by its name.
    simulate = ray.put(_simulate if simulate in (None, _rollout) else simulate)
    jobs = []
    for request in requests:
        common = ray.put((request["task"], request["policy"]))
        for first in range(0, trajectories, chunk):
            settings = {
                "trajectories": min(chunk, trajectories - first), "steps": steps, "seed": request["seed"],
                "first_index": request["first_index"] + first,
            }  # fmt: skip
            jobs.append(_Job(play, (simulate, common, settings), retries))
    parts = [job.result() for job in jobs]
    each = math.ceil(trajectories / chunk)
    return [joined(parts[place * each : (place + 1) * each]) for place in range(len(requests))]


def joined(parts: list[Trajectories]) -> Trajectories:
    """Batches of one task one after the other, to the bit."""
    if len(parts) == 1:
        return parts[0]
    states = [part.__getstate__() for part in parts]
    shapes = [state[0] for state in states]
    if any(shape[1:] != shapes[0][1:] for shape in shapes):
        raise InvalidInput("parts", str(shapes), "must have the same steps, features and actions")
    arrays = [np.concatenate([state[i] for state in states]) for i in (1, 2, 3, 4, 6, 7)]
    ends = [end for state in states for end in state[5]]
    whole = Trajectories.__new__(Trajectories)
    count = sum(shape[0] for shape in shapes)
    whole.__setstate__(((count, *shapes[0][1:]), *arrays[:4], ends, *arrays[4:]))
    return whole


def _named(request):
    if isinstance(request, dict):
        return {"seed": 0, "first_index": 0, **request}
    task, policy, seed = request
    return {"task": task, "policy": policy, "seed": seed, "first_index": 0}


def _simulate(task, policy, **settings):
    return _rollout(task, policy, **settings)


def _play(simulate, common, settings):
    task, policy = common
    batch = simulate(task, policy, **settings)
    if len(batch) != settings["trajectories"]:
        raise InvalidInput("simulate", f"{len(batch)} trajectories", f"must give {settings['trajectories']}")
    return batch


class _Job:
    """A job on its way. Ray itself plays again what was under way when a worker or node died; what was
    done and lost with its node is played again here."""

    def __init__(self, play, arguments, retries):
        self._play, self._arguments, self._left = play, arguments, retries
        self._reference = play.remote(*arguments)

    def result(self):
        while True:
            try:
                return ray.get(self._reference)
            except _LOST:
                if self._left == 0:
                    raise
                self._left -= 1
                self._reference = self._play.remote(*self._arguments)
