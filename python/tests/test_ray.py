"""Rollouts on many nodes are those of one, whatever dies."""

import threading
import time

import numpy as np
import pytest

import lifeguard as lg

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

import lifeguard.ray  # noqa: E402


def worker(cluster):
    return cluster.add_node(num_cpus=1, object_store_memory=80_000_000)


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one processor each, on this computer. The head plays nothing and only looks after them."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 80_000_000})
    nodes = [worker(cluster) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.wait_for_nodes()
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


def test_parts_are_joined_to_the_bit():
    task = lg.Task("cart", lg.System("cart-pole"))
    policy = lg.Policy(np.zeros((1, 4)), 5.0)  # some fall
    whole = lg.rollout(task, policy, trajectories=13, steps=80, seed=3)
    assert 0 < whole.failed
    parts = [lg.rollout(task, policy, trajectories=n, steps=80, seed=3, first_index=i) for i, n in ((0, 5), (5, 1), (6, 7))]
    assert lifeguard.ray.joined(parts) == whole
    cut = lg.rollout(task, policy, trajectories=2, steps=80, seed=3)
    cut.cut(0, 3)
    assert lifeguard.ray.joined([cut, parts[1]]).ends[:1] == cut.ends[:1]
    with pytest.raises(lg.InvalidInput, match="same steps"):
        lifeguard.ray.joined([whole, lg.rollout(task, policy, trajectories=2, steps=81)])


def test_batches_do_not_depend_on_workers_or_chunks(cluster):
    tasks = lg.Family.named("mass-spring").draw_many(5, 3)
    policy = lg.Policy([[-1.0, -0.5]], 0.5)
    expected = [lg.rollout(task, policy, trajectories=10, steps=30, seed=7 + i) for i, task in enumerate(tasks)]
    requests = [(task, policy, 7 + i) for i, task in enumerate(tasks)]
    for chunk in (None, 1, 4, 100):
        assert lifeguard.ray.rollout_all(requests, trajectories=10, steps=30, chunk=chunk) == expected
    later = lifeguard.ray.rollout(tasks[0], policy, trajectories=4, steps=30, seed=7, first_index=6, chunk=3)
    np.testing.assert_array_equal(later.features, expected[0].features[6:])


def test_one_node_and_three_give_the_same_bits(cluster):
    started, nodes = cluster
    tasks = lg.Family.named("mass-spring").draw_many(6, 4)
    requests = [(task, lg.Policy([[-1.0, -0.5]], 0.5), 11 + i) for i, task in enumerate(tasks)]
    batches = {}
    for count in (3, 1, 2):  # two are left for the other tests
        while len(nodes) < count:
            nodes.append(worker(started))
        while len(nodes) > count:
            started.remove_node(nodes.pop())
        started.wait_for_nodes()
        assert ray.cluster_resources()["CPU"] == count
        batches[count] = lifeguard.ray.rollout_all(requests, trajectories=10, steps=30)
    assert batches[1] == batches[3] == batches[2]


def test_what_the_simulator_raises_reaches_the_caller(cluster):
    def broken(task, policy, **settings):
        raise ValueError("the simulator is broken")

    with pytest.raises(ValueError, match="is broken"):
        lifeguard.ray.rollout(None, None, trajectories=2, steps=3, simulate=broken)

    def short(task, policy, trajectories, **settings):
        return lg.Trajectories(trajectories + 1, 3, 2, 1)

    with pytest.raises(lg.InvalidInput, match="simulate"):
        lifeguard.ray.rollout(None, None, trajectories=2, steps=3, simulate=short)


def test_a_node_that_dies_midway_costs_time_only(cluster):
    started, nodes = cluster
    task = lg.Family.named("mass-spring").draw_many(5, 1)[0]
    policy = lg.Policy([[-1.0, -0.5]], 0.5)

    def slow(task, policy, **settings):
        import os
        import time

        import lifeguard

        time.sleep(0.15)
        if settings["first_index"] == 9 and not os.path.exists(settings_file):
            open(settings_file, "w").close()
            os.kill(os.getpid(), 9)  # a worker that crashes, once
        return lifeguard.rollout(task, policy, **settings)

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        settings_file = folder + "/crashed"
        expected = lg.rollout(task, policy, trajectories=30, steps=20, seed=2)
        result = {}
        caller = threading.Thread(
            target=lambda: result.update(
                batch=lifeguard.ray.rollout(task, policy, trajectories=30, steps=20, seed=2, chunk=1, simulate=slow)
            )
        )
        caller.start()
        time.sleep(1.0)  # some jobs are done, one is under way on each node, most have not begun
        started.remove_node(nodes.pop(), allow_graceful=False)
        nodes.append(worker(started))
        caller.join(timeout=120)
        assert not caller.is_alive()
        import os

        assert os.path.exists(settings_file)
    assert result["batch"] == expected
