"""What Python may hand over: shapes, strides, types, orders, read-only, empty, NaN, subclasses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lifeguard as lg

numbers = st.floats(-1e3, 1e3)
kinds = st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_])


class Subclass(np.ndarray):
    pass


def dressed(array, how):
    """The same numbers in another form."""
    if how == "fortran":
        return np.asfortranarray(array)
    if how == "strided":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if how == "reversed":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    if how == "read only":
        array = array.copy()
        array.flags.writeable = False
        return array
    if how == "subclass":
        return array.view(Subclass)
    if how == "swapped":
        return array.astype(array.dtype.newbyteorder())
    if how == "list":
        return array.tolist()
    return array


forms = st.sampled_from(["plain", "fortran", "strided", "reversed", "read only", "subclass", "swapped", "list"])


@settings(max_examples=200, deadline=None)
@given(st.data(), forms, kinds)
def test_batches_of_actions_are_those_of_numpy(data, form, kind):
    count, features, actions = (data.draw(st.integers(1, 5)) for _ in range(3))
    gains = data.draw(hnp.arrays(np.float64, (actions, features), elements=numbers))
    phi = data.draw(hnp.arrays(np.int8, (count, features), elements=st.integers(0, 100))).astype(kind)
    policy = lg.Policy(dressed(gains, form), 0.1)
    np.testing.assert_array_equal(policy.gains, gains)
    expected = np.array([[sum(k * float(x) for k, x in zip(row, p)) for row in gains] for p in phi])
    np.testing.assert_allclose(policy.mean(dressed(phi, form)), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(policy.mean(dressed(phi, form))[0], policy.mean(dressed(phi[0], form)))


@settings(max_examples=100, deadline=None)
@given(st.data(), forms)
def test_batches_from_arrays_hold_what_was_given(data, form):
    count, steps, features, actions = (data.draw(st.integers(1, 4)) for _ in range(4))
    draw = lambda *shape: data.draw(hnp.arrays(np.float64, shape, elements=numbers))
    phi, u, c = draw(count, steps, features), draw(count, steps, actions), draw(count, steps)
    lengths = data.draw(hnp.arrays(np.int64, count, elements=st.integers(0, steps)))
    batch = lg.Trajectories.from_arrays(
        dressed(phi, form), dressed(u, form), dressed(c, form), lengths, failure_cost=7.0
    )
    live = np.arange(steps) < lengths[:, None]
    np.testing.assert_array_equal(batch.features, np.where(live[..., None], phi, 0))
    np.testing.assert_array_equal(batch.actions, np.where(live[..., None], u, 0))
    np.testing.assert_array_equal(batch.costs, np.where(live, c, 7.0))
    np.testing.assert_array_equal(batch.lengths, lengths)
    assert batch.failed == np.sum(lengths < steps)
    batch.validate()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none(bad):
    with pytest.raises(lg.InvalidInput):
        lg.Policy([[bad]], 0.1)
    with pytest.raises(lg.InvalidInput):
        lg.Policy([[1.0]], bad)
    with pytest.raises(lg.InvalidInput):
        lg.SafeSet([[bad]], [1.0])
    batch = lg.Trajectories(1, 2, 1, 1)
    batch.features[0, 1, 0] = bad
    with pytest.raises(lg.InvalidInput, match="step 1"):
        batch.validate()


@pytest.mark.parametrize(
    "wrong", ["text", None, object(), 1 + 2j, [1 + 2j], ["a"], [[1.0], [1.0, 2.0]], np.array(["a"]), np.array([None]), {}, {1.0}]
)
def test_what_are_no_numbers_is_refused(wrong):
    with pytest.raises((TypeError, lg.InvalidInput)):
        lg.gain_box(wrong, [1.0])
    with pytest.raises((TypeError, lg.InvalidInput)):
        lg.Policy([[1.0]], 0.1).mean(wrong)


def test_wrong_shapes_are_refused():
    policy = lg.Policy(np.ones((2, 3)), 0.1)
    for shape in [(2,), (4,), (5, 2), (0,)]:
        with pytest.raises(lg.InvalidInput):
            policy.mean(np.zeros(shape))
    for shape in [(), (1, 1, 3)]:
        with pytest.raises(TypeError):
            policy.mean(np.zeros(shape))
    with pytest.raises(TypeError):
        lg.Policy(np.zeros(3), 0.1)
    with pytest.raises(lg.InvalidInput):
        lg.Trajectories.from_arrays(np.zeros((2, 3, 1)), np.zeros((2, 4, 1)), np.zeros((2, 3)))
    with pytest.raises(lg.InvalidInput):
        lg.Trajectories.from_arrays(np.zeros((2, 3, 1)), np.zeros((2, 3, 1)), np.zeros((2, 3)), [0, 9])


def test_whole_numbers_out_of_range_say_which(cart):
    policy = lg.Policy(cart.lqr_gains(), 1.0)
    for field, value in (("seed", -1), ("seed", 2**64), ("first_index", -1), ("seed", 10**5000)):
        with pytest.raises(lg.InvalidInput) as error:
            lg.rollout(cart, policy, **{field: value})
        assert error.value.field == field
    assert lg.rollout(cart, policy, seed=np.uint8(3)) == lg.rollout(cart, policy, seed=3)
    lg.rollout(cart, policy, seed=2**64 - 1)
    with pytest.raises(TypeError):
        lg.rollout(cart, policy, seed=1.0)
    for features, actions in ((0, 1), (-1, 1), (4, -1), (2**31 - 1, 2**31 - 1)):
        with pytest.raises(lg.InvalidInput, match="features|actions"):
            lg.Learner(features, actions)
    with pytest.raises(TypeError, match="default_rng"):
        policy.sample(np.zeros(4), 3)
    with pytest.raises(lg.InvalidInput, match="learner, pg"):
        lg.Learner(4, 1, "sac")


def test_empty_arrays():
    policy = lg.Policy(np.ones((2, 3)), 0.1)
    assert policy.mean(np.zeros((0, 3))).shape == (0, 2)
    with pytest.raises(lg.InvalidInput, match="count"):
        lg.Trajectories.from_arrays(np.zeros((0, 3, 2)), np.zeros((0, 3, 1)), np.zeros((0, 3)))
    for size in [(0, 3), (3, 0)]:
        with pytest.raises(lg.InvalidInput):
            lg.Policy(np.zeros(size), 0.1)
    with pytest.raises(lg.InvalidInput, match="corners"):
        lg.UncertainPlant([], [1.0], [1.0])
    with pytest.raises(lg.InvalidInput, match="best"):
        lg.gain_box_towards([], 1.5)


def test_views_are_of_the_batch_itself(cart):
    batch = lg.rollout(cart, lg.Policy(cart.lqr_gains(), 1.0))
    features = batch.features
    assert not features.flags.owndata
    features[2, 3, 1] = 4.0
    assert batch.features[2, 3, 1] == 4.0
    with pytest.raises(ValueError):
        batch.lengths[0] = 3
    kept = batch.costs
    expected = kept.copy()
    del batch, features
    np.testing.assert_array_equal(kept, expected)  # the view keeps the batch alive


def test_memory_is_written_again_only_in_the_same_shape(cart):
    policy = lg.Policy(cart.lqr_gains(), 1.0)
    batch = lg.rollout(cart, policy, seed=1)
    view = batch.costs
    assert lg.rollout(cart, policy, seed=2, out=batch) is batch
    np.testing.assert_array_equal(view, lg.rollout(cart, policy, seed=2).costs)
    with pytest.raises(lg.InvalidInput):
        lg.rollout(cart, policy, trajectories=51, out=batch)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**63), st.integers(1, 40), st.integers(1, 30))
def test_rollouts_are_pure_functions_of_their_seed(seed, split, steps):
    task = lg.Task("mass", lg.System("mass-spring"))
    policy = lg.Policy(task.lqr_gains(), 0.3)
    whole = lg.rollout(task, policy, trajectories=41, steps=steps, seed=seed)
    assert whole == lg.rollout(task, policy, trajectories=41, steps=steps, seed=seed, threads=2)
    first = lg.rollout(task, policy, trajectories=split, steps=steps, seed=seed)
    np.testing.assert_array_equal(whole.features[:split], first.features)
    rest = lg.rollout(task, policy, trajectories=41 - split, steps=steps, seed=seed, first_index=split) if split < 41 else None
    if rest is not None:
        np.testing.assert_array_equal(whole.costs[split:], rest.costs)


def test_one_step_is_that_of_the_rollout(cart):
    policy = lg.Policy(cart.lqr_gains(), 1.0)
    batch = lg.rollout(cart, policy, trajectories=3, steps=20)
    for i in range(3):
        for m in range(19):
            x, u = batch.features[i, m], batch.actions[i, m]
            np.testing.assert_array_equal(cart.step(x, u), batch.features[i, m + 1])
            limited = np.clip(u, *(cart.settings[k] for k in ("action_low", "action_high")))
            assert cart.cost(x, limited) == pytest.approx(batch.costs[i, m], rel=1e-15)
