"""Any environment as a source of trajectories, and our systems as environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import lifeguard as lg
import lifeguard.gymnasium as lgym

MODES = list(AutoresetMode)


class Counter(gymnasium.Env):
    """Observes (episode, step) and pays what the step says; ends as it is told to."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,))
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, terminate=None, truncate=None):
        self.terminate, self.truncate = terminate, truncate
        self.episode, self.count = -1, 0

    def seen(self):
        return np.array([self.episode, self.count], dtype=np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.count = self.episode + 1, 0
        return self.seen(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.count += 1
        over = lambda limit: limit is not None and self.count >= limit
        return self.seen(), float(self.count), over(self.terminate), over(self.truncate), {}


def plain_policy():
    return lg.Policy(np.zeros((1, 2)), 0.5)


def sources(**ends):
    yield Counter(**ends)
    for mode in MODES:
        yield SyncVectorEnv([lambda: Counter(**ends)] * 3, autoreset_mode=mode)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    ("ends", "lengths", "end"),
    [
        ({"terminate": 4}, 4, "failed"),
        ({"truncate": 4}, 4, "cut short"),
        ({"truncate": 6}, 6, "finished"),
        ({"terminate": 6}, 6, "finished"),
        ({"terminate": 1}, 1, "failed"),
    ],
)
def test_no_step_is_dead_and_every_end_is_told(place, ends, lengths, end):
    envs = list(sources(**ends))[place]
    batch = lgym.collect(envs, plain_policy(), episodes=7, steps=6, failure_cost=9.0, seed=3)
    assert batch.count == 7 and batch.ends == [end] * 7
    np.testing.assert_array_equal(batch.lengths, lengths)
    for i in range(7):
        live = batch.features[i, :lengths]
        np.testing.assert_array_equal(live[:, 1], np.arange(lengths))  # steps of one episode, in order
        assert len(set(live[:, 0])) == 1
        np.testing.assert_array_equal(batch.costs[i, :lengths], -np.arange(1.0, lengths + 1))
        if end == "failed":
            np.testing.assert_array_equal(batch.costs[i, lengths:], 9.0)
        if end == "cut short":  # the last observation, not that of the next episode
            np.testing.assert_array_equal(batch.final_features[i], [live[0, 0], lengths])
    batch.validate()


def test_an_environment_that_goes_on_is_left_in_time():
    for place, envs in enumerate(sources(truncate=9)):
        batch = lgym.collect(envs, plain_policy(), episodes=5, steps=6, seed=1)
        assert batch.ends == ["finished"] * 5, place
        assert np.all(batch.features[:, :, 1] == np.arange(6)), place


def test_environments_without_an_end_are_reset():
    for place, envs in enumerate(sources()):
        batch = lgym.collect(envs, plain_policy(), episodes=7, steps=6, seed=1)
        assert batch.ends == ["finished"] * 7, place
        assert np.all(batch.features[:, :, 1] == np.arange(6)), place
        assert np.all(batch.features[:, :, 0] == batch.features[:, :1, 0]), place


def test_features_costs_and_actions_of_ones_own():
    batch = lgym.collect(
        Counter(truncate=5), lg.Policy(np.zeros((2, 1)), 0.1), 2, steps=5,
        features=lambda observations: observations[:, 1:] * 10,
        action=lambda actions: np.clip(actions[:, :1], -1, 1).astype(np.float32),
        cost=lambda rewards: rewards**2,
    )
    np.testing.assert_array_equal(batch.features[0, :, 0], [0, 10, 20, 30, 40])
    np.testing.assert_array_equal(batch.costs[0], [1, 4, 9, 16, 25])
    with pytest.raises(lg.InvalidInput, match="steps"):
        lgym.collect(Counter(), plain_policy(), 1)
    with pytest.raises(lg.InvalidInput, match="features"):
        lgym.collect(Counter(), lg.Policy(np.zeros((1, 3)), 0.1), 1, steps=3)
    with pytest.raises(lg.InvalidInput, match="action"):
        lgym.collect(gymnasium.make("CartPole-v1"), lg.Policy(np.zeros((1, 4)), 0.1), 1)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"envs": "Pendulum-v1"}, "envs"),
        ({"policy": np.zeros((1, 2))}, "policy"),
        ({"policy": lg.Policy(np.zeros((2, 2)), 0.1)}, "policy.actions"),
        ({"episodes": 0}, "episodes"),
        ({"episodes": 1.5}, "episodes"),
        ({"steps": 0}, "steps"),
        ({"steps": -2}, "steps"),
        ({"cost": lambda rewards: rewards[:0]}, "cost"),
        ({"failure_cost": np.nan}, "failure_cost"),
        ({"features": lambda observations: observations[:, :1]}, "features"),
        ({"envs": SyncVectorEnv([Counter] * 2), "autoreset_mode": "sometimes"}, "autoreset_mode"),
    ],
)
def test_what_cannot_be_collected_says_why(changed, field):
    given = {"envs": Counter(), "policy": plain_policy(), "episodes": 2, "steps": 5, **changed}
    with pytest.raises(lg.InvalidInput) as error:
        lgym.collect(**given)
    assert error.value.field == field


def test_what_no_environment_can_do():
    make = lambda **keywords: gymnasium.make_vec("lifeguard/CartPole-v0", num_envs=3, **keywords)
    for keywords in ({"render_mode": "human"}, {"autoreset_mode": "never"}, {"colour": 1}, {"pole_mass": -1}):
        with pytest.raises(lg.InvalidInput):
            make(**keywords)
    for env in (lgym.TaskEnv("cart-pole"), make()):
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(np.zeros((3, 1)))
    envs = make()
    envs.reset(seed=1)
    for shape in [(2, 1), (3, 2), (4, 1), ()]:
        with pytest.raises(lg.InvalidInput, match="actions"):
            envs.step(np.zeros(shape))
    assert gymnasium.make("lifeguard/CartPole-v0", mass=3.0).unwrapped.task.system.parameters["cart_mass_kilograms"] == 3


def test_a_learner_learns_pendulum():
    envs = gymnasium.make_vec("Pendulum-v1", num_envs=10)

    def upright(observations):
        return np.stack([np.arctan2(observations[:, 1], observations[:, 0]), observations[:, 2]], axis=1)

    learner = lg.Learner(2, 1)
    learner.add_task("pendulum", lg.gain_box([-20, -10], [20, 10]), sigma=0.5)
    for seed in range(3):
        batch = lgym.collect(envs, learner.policy("pendulum"), 20, steps=100, features=upright, seed=seed)
        record = learner.observe("pendulum", batch)
        assert record["status"] == "ok"
    assert learner.certificate().valid


def test_environments_are_named_after_their_systems():
    named = {
        "MassSpring": "mass-spring",
        "CartPole": "cart-pole",
        "Quadrotor": "quadrotor",
        "RigidQuadrotor": "rigid-quadrotor",
        "FlyingQuadrotor": "flying-quadrotor",
        "GymnasiumPendulum": "gymnasium-pendulum",
        "GymnasiumCartPole": "gymnasium-cart-pole",
    }
    assert named.items() <= lgym.SYSTEMS.items()  # saved programs know them by these names
    for name, system in lgym.SYSTEMS.items():
        assert gymnasium.spec(f"lifeguard/{name}-v0").kwargs["task"] == system
    built_in = {name for name in lg.systems() if not lg.System(name).description["custom"]}
    assert set(lgym.SYSTEMS.values()) == built_in | {"gymnasium-pendulum", "gymnasium-cart-pole"}


@pytest.mark.parametrize("name", list(lgym.SYSTEMS))
def test_our_systems_are_environments(name):
    env = gymnasium.make(f"lifeguard/{name}-v0", render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=False)
    env.reset(seed=1)
    frame = env.render()
    assert frame.shape == (320, 480, 3) and frame.dtype == np.uint8 and frame.std() > 5


def test_frames_move(cart):
    env = gymnasium.make("lifeguard/CartPole-v0", render_mode="rgb_array")
    env.reset(seed=1, options={"state": [0, 0, 0.3, 0]})
    right = env.render()
    env.reset(options={"state": [0, 0, -0.3, 0]})
    left = env.render()
    assert not np.array_equal(left, right)
    assert np.abs(left.astype(int) - right[:, ::-1].astype(int)).mean() < 1  # a mirror image


def test_an_environment_is_the_task_step_by_step(cart):
    env = gymnasium.make("lifeguard/CartPole-v0", pole_mass=0.2, sigma=0.5).unwrapped
    assert env.task.system.parameters["pole_mass_kilograms"] == 0.2 and env.task.sigma == 0.5
    with pytest.raises(lg.InvalidInput):
        gymnasium.make("lifeguard/CartPole-v0", colour=1)
    observation, _ = env.reset(seed=5)
    for action in np.linspace(-25, 25, 30):
        limited = np.clip([action], env.action_space.low, env.action_space.high)
        expected, cost = env.task.step(env.state, [action]), env.task.cost(env.state, limited)
        observation, reward, terminated, truncated, _ = env.step([action])
        np.testing.assert_array_equal(observation, expected)
        assert reward == pytest.approx(-cost, rel=1e-15)
        assert terminated == env.task.failed(expected)
        if terminated:
            break


@pytest.mark.parametrize("name", list(lgym.SYSTEMS.values()))
def test_environments_compute_the_bits_of_rollouts(name):
    task = lg.Task(name, lg.System(name))
    gains = np.ones((1, task.inputs)) if name.startswith("gymnasium") else 0.5 * task.lqr_gains()
    policy = lg.Policy(gains, task.sigma)
    batch = lg.rollout(task, policy, trajectories=3, steps=40)
    starts = [path[0] for path in lg.state_paths(task, policy, trajectories=3, steps=40)]
    env = lgym.TaskEnv(task, steps=0)
    for i in range(3):
        observation, _ = env.reset(options={"state": starts[i] + task.settings["goal"]})
        for m in range(batch.lengths[i]):
            np.testing.assert_array_equal(observation, batch.features[i, m])
            observation, reward, terminated, _, _ = env.step(batch.actions[i, m])
            assert -reward == batch.costs[i, m]
            assert terminated == (m + 1 == batch.lengths[i] < 40)


@pytest.mark.parametrize("mode", MODES)
def test_vector_environments_are_those_of_gymnasium(mode):
    ours = gymnasium.make_vec("lifeguard/CartPole-v0", num_envs=5, steps=20, autoreset_mode=mode)
    singles = SyncVectorEnv([lambda: lgym.TaskEnv("cart-pole", steps=20)] * 5, autoreset_mode=mode)
    np.testing.assert_array_equal(ours.reset(seed=7)[0], singles.reset(seed=7)[0])
    generator = np.random.default_rng(0)
    for step in range(70):
        actions = generator.uniform(-20, 20, (5, 1))
        a, b = ours.step(actions), singles.step(actions)
        for x, y in zip(a[:4], b[:4]):
            np.testing.assert_array_equal(x, y, err_msg=str(step))
        ended = a[2] | a[3]
        if mode is AutoresetMode.SAME_STEP and ended.any():
            for i in np.flatnonzero(ended):
                np.testing.assert_array_equal(a[4]["final_obs"][i], b[4]["final_obs"][i])
        if mode is AutoresetMode.DISABLED and ended.any():
            np.testing.assert_array_equal(
                ours.reset(options={"reset_mask": ended})[0], singles.reset(options={"reset_mask": ended})[0]
            )


@pytest.mark.parametrize(
    ("ours", "theirs", "action"),
    [
        ("GymnasiumPendulum", "Pendulum-v1", lambda u: np.array(2 * u, dtype=np.float32)),
        ("GymnasiumCartPole", "CartPole-v1", lambda u: int(u[0] > 0)),
    ],
)
def test_gymnasiums_tasks_are_gymnasiums(ours, theirs, action):
    env, reference = gymnasium.make(f"lifeguard/{ours}-v0"), gymnasium.make(theirs)
    generator = np.random.default_rng(1)
    ends = []
    for episode in range(20):
        env.reset(seed=episode)
        reference.reset(seed=episode)
        reference.unwrapped.state = env.unwrapped.state
        for step in range(600):
            u = generator.uniform(-1, 1, 1)
            # Below 1 pushes to the left as 0 does; the pendulum has twice the torque.
            seen, reward, *over = env.step(2 * u if "Pendulum" in ours else u)[:4]
            expected, paid, *ended = reference.step(action(u))[:4]
            np.testing.assert_allclose(seen, expected, rtol=1e-5, atol=1e-5)
            assert reward == pytest.approx(paid, rel=1e-5, abs=1e-6) and over == ended
            if any(over):
                ends.append((step + 1, over.index(True)))
                break
    assert len(ends) == 20
    assert set(ends) == {(200, 1)} if "Pendulum" in ours else {end for _, end in ends} == {0}
    low, high = env.unwrapped.task.settings["action_low"], env.unwrapped.task.settings["action_high"]
    np.testing.assert_array_equal([low, high], [[-2], [2]] if "Pendulum" in ours else [[-1], [1]])


class Compound(gymnasium.Env):
    """Observations of parts, which say the episode and the step."""

    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

    def __init__(self, kind, length=4):
        wheel = {"place": gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64), "gear": gymnasium.spaces.Discrete(3, start=1)}
        if kind == "dict":
            self.observation_space = gymnasium.spaces.Dict({"wheel": gymnasium.spaces.Dict(wheel), "lamps": gymnasium.spaces.MultiBinary(2)})
        else:
            self.observation_space = gymnasium.spaces.Tuple([wheel["place"], gymnasium.spaces.MultiDiscrete([2, 3]), wheel["gear"]])
        self.kind, self.length, self.episode = kind, length, -1

    def seen(self):
        place, gear = np.array([self.episode, self.count], dtype=np.float64), 1 + self.count % 3
        if self.kind == "dict":
            return {"wheel": {"place": place, "gear": gear}, "lamps": np.array([1, self.count % 2], dtype=np.int8)}
        return (place, np.array([self.count % 2, self.count % 3]), gear)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.count = self.episode + 1, 0
        return self.seen(), {}

    def step(self, action):
        self.count += 1
        return self.seen(), 0.0, False, self.count >= self.length, {}


@pytest.mark.parametrize("kind", ["dict", "tuple"])
@pytest.mark.parametrize("place", range(4))
def test_observations_of_parts_are_flattened_as_gymnasium_does(kind, place):
    one = Compound(kind)
    size = gymnasium.spaces.flatdim(one.observation_space)
    envs = one if place == 3 else SyncVectorEnv([lambda: Compound(kind)] * 3, autoreset_mode=MODES[place])
    batch = lgym.collect(envs, lg.Policy(np.zeros((1, size)), 0.5), episodes=5, steps=6, seed=3)
    assert batch.ends == ["cut short"] * 5
    one.episode = one.count = 7
    where = list(gymnasium.spaces.flatten(one.observation_space, one.seen())).index(7)  # of the episode's number
    for i in range(5):
        for m in range(4):
            one.episode, one.count = batch.features[i, 0, where], m
            np.testing.assert_array_equal(batch.features[i, m], gymnasium.spaces.flatten(one.observation_space, one.seen()))
        one.count = 4
        np.testing.assert_array_equal(batch.final_features[i], gymnasium.spaces.flatten(one.observation_space, one.seen()))


def test_features_of_ones_own_get_the_parts():
    told = []

    def features(observations):
        told.append(observations)
        return observations["wheel"]["place"][:, 1:]

    for envs, count in ((Compound("dict"), 1), (SyncVectorEnv([lambda: Compound("dict")] * 3, autoreset_mode=AutoresetMode.SAME_STEP), 3)):
        batch = lgym.collect(envs, lg.Policy(np.zeros((1, 1)), 0.5), episodes=4, steps=4, features=features, seed=1)
        np.testing.assert_array_equal(batch.features[:, :, 0], [range(4)] * 4)
        assert told[-1]["lamps"].shape == (count, 2) and told[-1]["wheel"]["gear"].shape == (count,)
    text = gymnasium.spaces.Text(3)
    env = Compound("dict")
    env.observation_space = text
    with pytest.raises(lg.InvalidInput, match="features"):
        lgym.collect(env, lg.Policy(np.zeros((1, 1)), 0.5), 1, steps=3)


def test_environments_that_write_into_the_same_memory():
    """SyncVectorEnv with copy=False and observations in doubles, which need no conversion."""
    make = [lambda: lgym.TaskEnv("cart-pole", steps=9)] * 3
    policy = lg.Policy(np.full((1, 4), 0.1), 0.5)
    batches = [
        lgym.collect(SyncVectorEnv(make, copy=copy), policy, episodes=6, steps=9, seed=5) for copy in (True, False)
    ]
    assert batches[0] == batches[1]


def test_collected_batches_teach_as_our_own_do(cart, box):
    envs = gymnasium.make_vec("lifeguard/Task-v0", num_envs=16, task=cart)
    learner = lg.Learner(cart.inputs, cart.actions)
    learner.add_task("cart", box, sigma=cart.sigma)
    failure = cart.settings["failure_cost"]
    for seed in range(5):
        batch = lgym.collect(envs, learner.policy("cart"), 50, failure_cost=failure, seed=seed)
        assert batch.steps == 150
        assert learner.observe("cart", batch)["status"] == "ok"


def test_systems_of_ones_own_are_environments():
    from test_own_system import Pendulum

    env = gymnasium.make("lifeguard/Task-v0", task=Pendulum().task("mine"), steps=30)
    check_env(env.unwrapped, skip_render_check=True)
    envs = gymnasium.make_vec("lifeguard/Task-v0", num_envs=20, task=Pendulum().task("mine"))
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (20, 2)
    assert np.all(envs.step(np.zeros((20, 1)))[1] <= 0)
