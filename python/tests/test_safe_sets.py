"""Safe sets, their builders, closed loops and certificates."""

import numpy as np
import pytest

import lifeguard as lg


def test_box_and_half_space():
    box = lg.gain_box([-1, -2], [1, np.inf], names=["a", "b"])
    assert box.rows == 3 and box.names == ["a upper limit", "a lower limit", "b lower limit"]
    assert box.strictly_safe([0, 0]) and not box.strictly_safe([2, 0])
    assert box.violations([2, 0]) and not box.violations([0, 0])
    assert "a upper limit" in box.why_not_safe([2, 0])
    assert box.margins([0.5, 0])["worst_row"] == "a upper limit"
    assert not box.bounded
    both = box & lg.half_space([1, 1], 0.5, "sum")
    assert both.rows == 4 and not both.strictly_safe([0.9, 0])
    assert both.with_slack_limit(10).slack_limit == 10
    assert lg.SafeSet(2).anchor() is not None
    with pytest.raises(lg.InvalidInput):
        lg.gain_box([0], [1]).strictly_safe([1, 2])
    with pytest.raises(lg.InvalidInput):
        lg.SafeSet([[0.0, 0.0]], [1.0])


def test_rows_mean_what_numpy_says():
    generator = np.random.default_rng(0)
    rows, limits = generator.normal(size=(5, 3)), generator.uniform(0.5, 1, 5)
    safe = lg.SafeSet(rows, limits)
    for alpha in generator.normal(size=(50, 3)) * 0.5:
        margins = limits - rows @ alpha
        assert safe.strictly_safe(alpha) == (margins.min() > 1e-12)
        assert safe.margins(alpha)["worst"] == pytest.approx(margins.min(), abs=1e-12)
        assert safe.margins(alpha)["worst"] <= margins.min() + 1e-15


def test_action_limits_are_exact(cart):
    low, high = -np.array([0.2, 0.5, 0.1, 0.5]), np.array([0.2, 0.5, 0.1, 0.5])
    safe = lg.action_limits(low, high, [-10.0], [10.0])
    gains = np.array([10.0, 2.0, 50.0, 4.0])
    largest = np.abs(gains) @ high
    assert safe.strictly_safe(gains * 9.99 / largest) and not safe.obeys(gains * 10.01 / largest)


def test_sets_from_toml_are_those_of_configurations(cart):
    safe = lg.SafeSet.from_toml("[lqr_box]\nreach = 1.5\nfrom = 0.2\n", cart)
    assert safe.rows == 8
    assert safe.strictly_safe(cart.lqr_gains().ravel())
    with pytest.raises(lg.InvalidInput):
        lg.SafeSet.from_toml("[lqr_bx]\nreach = 1.5\n", cart)


def test_closed_loop_of_given_corners():
    corners = [("slow", [[1.0, 0.1], [0.0, 0.95]], [[0.0], [0.1]]), ("fast", [[1.0, 0.1], [0.0, 0.9]], [[0.0], [0.12]])]
    plant = lg.UncertainPlant(corners, [2.0, 2.0], [5.0])
    loop = lg.make_closed_loop(plant, decay=0.995, start_low=[-0.3, -0.3], start_high=[0.3, 0.3])
    assert loop.findings() == []
    assert loop.largest_ratio(loop.anchor) < 1
    for gains in (np.zeros((1, 3)), np.zeros((2, 2)), np.zeros((0, 0))):
        with pytest.raises(lg.InvalidInput, match="gains"):
            loop.largest_ratio(gains)
    assert loop.guarantees([0.3, 0.3]) and not loop.guarantees([2.1, 0])
    safe = loop.safe_set()
    assert safe.strictly_safe(loop.anchor.ravel())
    # From the start box every corner stays within the limits.
    for _, a, b in corners:
        closed = np.array(a) + np.array(b) @ loop.anchor
        x = np.array([0.3, 0.3])
        for _ in range(300):
            assert np.all(np.abs(x) <= 2)
            x = closed @ x
    with pytest.raises(lg.InvalidInput, match="feasible"):
        lg.make_closed_loop(plant, decay=0.5, start_low=[-1.9, -1.9], start_high=[1.9, 1.9])


def test_closed_loop_of_a_built_in_machine_keeps_it_up():
    task = lg.Task("mass", lg.System("mass-spring"))
    plant = lg.linearised_plant(task, state_limits=[3.0, 6.0], action_limits=[20.0])
    loop = lg.make_closed_loop(plant, decay=0.999, start_low=[-0.2, -0.2], start_high=[0.2, 0.2])
    assert loop.findings() == [] and plant.statement == "linear"
    learner = lg.Learner(2, 1)
    learner.add_task("mass", loop.safe_set(), sigma=0.1, anchor=loop.anchor)
    record = learner.observe("mass", lg.rollout(task, learner.policy("mass")))
    assert record["status"] == "ok" and learner.certificate().tasks[0]["closed_loops"] == 1
