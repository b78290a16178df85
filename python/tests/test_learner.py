"""The learner: what the README promises in ten lines, settings, errors, saving."""

import numpy as np
import pytest

import lifeguard as lg


def learn(learner, task, rounds, first=0):
    for seed in range(first, first + rounds):
        learner.observe(task.name, lg.rollout(task, learner.policy(task.name), seed=seed))


def test_learns_and_stays_safe(cart, box):
    learner = lg.Learner(cart.inputs, cart.actions)
    learner.add_task(cart.name, box, sigma=cart.sigma)
    first = lg.evaluate(cart, learner.policy(cart.name).without_noise())["mean_cost"]
    for seed in range(15):
        policy = learner.policy(cart.name)
        assert box.strictly_safe(policy.parameters)
        record = learner.observe(cart.name, lg.rollout(cart, policy, seed=seed))
        assert record["status"] == "ok"
        assert record["worst_margin"] > 0
    certificate = learner.certificate()
    assert certificate.valid and certificate.tasks[0]["safe"]
    assert box.violations(learner.policy(cart.name).parameters) == []
    assert lg.evaluate(cart, learner.policy(cart.name).without_noise())["mean_cost"] < first
    assert learner.rounds == learner.visits(cart.name) == 15
    assert cart.name in learner and "other" not in learner


def test_each_action_may_have_its_own_noise():
    learner = lg.Learner(3, 2)
    learner.add_task("one", sigma=0.3)
    learner.add_task("each", sigma=[0.1, 0.5])
    assert learner.policy("one").sigma == 0.3
    np.testing.assert_array_equal(learner.policy("each").sigma, [0.1, 0.5])
    generator = np.random.default_rng(1)
    features = np.ones((20000, 3))
    spread = learner.policy("each").sample(features, generator).std(axis=0)
    np.testing.assert_allclose(spread, [0.1, 0.5], rtol=0.05)
    with pytest.raises(lg.InvalidInput):
        learner.add_task("three", sigma=[0.1, 0.5, 0.2])


def test_a_basis_that_is_learnt(cart, box):
    learner = lg.Learner(cart.inputs, cart.actions, update="empirical Bayes")
    learner.add_task(cart.name, box, sigma=cart.sigma)
    learn(learner, cart, 10)
    assert learner.certificate().valid


def test_saved_learner_goes_on_to_the_same_bits(cart, box, tmp_path):
    learner = lg.Learner(cart.inputs, cart.actions, k=2)
    learner.add_task(cart.name, box, sigma=cart.sigma)
    learn(learner, cart, 3)
    learner.save(tmp_path / "learner.txt")
    again = lg.Learner.load(tmp_path / "learner.txt")
    learn(learner, cart, 3, first=3)
    learn(again, cart, 3, first=3)
    assert learner.dumps() == again.dumps()
    assert learner.policy(cart.name) == again.policy(cart.name)
    with pytest.raises(lg.InvalidInput):
        lg.Learner.loads("not a learner")


@pytest.mark.parametrize("method", ["pg", "pg-ella", "shared", "lpg-ftw"])
def test_baselines_learn_without_constraints(cart, method):
    learner = lg.Learner(cart.inputs, cart.actions, method)
    learner.add_task(cart.name, sigma=cart.sigma, anchor=0.5 * cart.lqr_gains())
    learn(learner, cart, 5)
    assert learner.rounds == 5
    with pytest.raises(lg.InvalidInput):
        learner.certificate()


def test_settings_are_those_of_configurations():
    tables = lg.method_settings("learner")
    assert set(tables) == {"learner", "projection", "base_learner"}
    learner = lg.Learner(4, 1, k=2, zeta=0.5, projection={"p": 0.1}, base_learner={"discount": 0.9})
    assert learner.settings["learner"]["k"] == 2
    assert learner.settings["projection"]["p"] == 0.1
    assert learner.settings["base_learner"]["discount"] == 0.9
    # Every default is accepted as what it is.
    flat = dict(tables["learner"], projection=tables["projection"], base_learner=tables["base_learner"])
    assert lg.Learner(4, 1, **flat).settings == tables


@pytest.mark.parametrize(
    ("settings", "field", "rule"),
    [
        ({"k": 5}, "learner.k", "at most 4"),
        ({"k": 1.0}, "learner.k", "integer"),
        ({"k": True}, "learner.k", "integer"),
        ({"zeta": -1}, "learner.zeta", "greater than 0"),
        ({"zeta": "big"}, "learner.zeta", "number"),
        ({"zeta": float("nan")}, "learner.zeta", "finite"),
        ({"update": "sideways"}, "learner.update", "linearised"),
        ({"cross_validate_k": 1}, "learner.cross_validate_k", "True or False"),
        ({"colour": 1}, "learner.colour", "unknown"),
        ({"projection": {"colour": 1}}, "projection.colour", "unknown"),
        ({"projection": 3}, "projection", "dictionary"),
        ({"projection": {"p": 2.0, "q": 1.0}}, "projection.p", "less than q"),
    ],
)
def test_wrong_settings_say_field_value_and_rule(settings, field, rule):
    with pytest.raises(lg.InvalidInput) as error:
        lg.Learner(4, 1, **settings)
    assert error.value.field == field
    assert rule in error.value.rule
    assert isinstance(error.value, ValueError)
    assert str(error.value) == f"{error.value.field} = {error.value.value}: {error.value.rule}"


def test_a_refused_batch_changes_nothing(cart, box):
    learner = lg.Learner(cart.inputs, cart.actions)
    learner.add_task(cart.name, box, sigma=cart.sigma)
    learn(learner, cart, 1)
    before = learner.dumps()
    batch = lg.rollout(cart, learner.policy(cart.name))
    batch.costs[3, 5] = np.nan
    with pytest.raises(lg.InvalidInput, match="cost"):
        learner.observe(cart.name, batch)
    with pytest.raises(lg.InvalidInput):
        learner.observe("nobody", batch)
    other = lg.rollout(cart, lg.Policy(np.zeros((1, 4)), 5.0))
    with pytest.raises(lg.InvalidInput):
        learner.observe(cart.name, other)
    assert learner.dumps() == before


def test_a_set_without_policies_names_its_rows(cart):
    learner = lg.Learner(cart.inputs, cart.actions)
    empty = lg.half_space([1, 0, 0, 0], -1, "below") & lg.half_space([-1, 0, 0, 0], -1, "above")
    with pytest.raises(lg.InvalidInput, match="below"):
        learner.add_task("cart", empty, sigma=1.0)
    assert empty.feasibility()["contradicting_rows"] == ["below", "above"]


def test_policies_of_earlier_rounds_and_other_base_learners(cart, box):
    learner = lg.Learner(cart.inputs, cart.actions)
    learner.add_task("a", box, sigma=cart.sigma)
    learner.add_task("b", box, sigma=cart.sigma)
    old = learner.policy("a")
    learner.observe("b", lg.rollout(cart, learner.policy("b")))
    batch = lg.rollout(cart, old, seed=1)
    assert learner.observe("a", batch, played=old)["status"] == "ok"
    loss = lg.round_loss(lg.rollout(cart, learner.policy("b"), seed=2), learner.policy("b"), discount=0.99)
    assert learner.observe("b", loss)["status"] == "ok"
    assert loss.value(loss.target) == pytest.approx(loss.constant)
    ledger = lg.RegretLedger(cart.inputs, cart.actions)
    ledger.add_task(box)
    ledger.record(0, loss, loss.played)
    regret = ledger.regret()
    assert regret["rounds"] == 1 and regret["least"] <= regret["most"]


def test_projection_gives_safe_points():
    problem = {
        "p": 0.01, "q": 100.0, "mu1": 1.0, "mu2": 1.0, "L": np.eye(2),
        "tasks": [{"name": "a", "A": np.array([[1.0, 0.0]]), "b": np.array([1.0]), "s": np.array([2.0, 0.0])}],
    }
    solution = lg.project(problem)
    assert solution["status"] == "converged"
    assert solution["tasks"][0]["alpha"][0] <= 1
    assert solution["tasks"][0]["margin"] > 0
    problem["tasks"][0]["b"] = [np.nan]
    with pytest.raises(lg.InvalidInput) as error:
        lg.project(problem)
    assert error.value.field == "tasks[0].b[0]"
    problem["tasks"][0]["b"] = "high"
    with pytest.raises(lg.InvalidInput):
        lg.project(problem)


def test_many_tasks_at_once(cart, box):
    one, many = lg.Learner(4, 1), lg.Learner(4, 1)
    for i in range(5):
        one.add_task(f"cart {i}", box, sigma=1.0)
    many.add_tasks([(f"cart {i}", box, 1.0, None) for i in range(5)])
    assert one.dumps() == many.dumps()
    with pytest.raises(lg.InvalidInput):
        many.add_tasks([("new", box, 1.0, None), ("cart 0", box, 1.0, None)])
    assert many.tasks == 5


def test_action_limits_are_told_and_kept(cart, tmp_path):
    learner = lg.Learner(4, 1, update="empirical Bayes", base_learner={"critic": "auto"})

    def saved():
        learner.save(tmp_path / "state")
        return (tmp_path / "state").read_text()

    learner.add_task("a", sigma=0.3, anchor=0.6 * cart.lqr_gains(), action_low=[-10.0], action_high=[10.0])
    assert "action_high 10\n" in saved()
    learner.set_action_range("a", [-5.0], [5.0])
    assert "action_high 5\n" in saved()
    learner.set_action_range("a")
    assert "action_high" not in saved()
    with pytest.raises(lg.InvalidInput):
        learner.set_action_range("a", [1.0], [-1.0])
    with pytest.raises(lg.InvalidInput):
        learner.add_task("b", sigma=0.3, action_low=[1.0, 2.0], action_high=[3.0, 4.0])
    assert "b" not in learner
