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
    batch = lg.rollout(task, lg.Policy(0.5 * task.lqr_gains(), task.sigma), trajectories=3, steps=40)
    env = lgym.TaskEnv(task, steps=0)
    for i in range(3):
        observation, _ = env.reset(options={"state": batch.features[i, 0] + task.settings["goal"]})
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
