"""How many environment steps, seconds and falls learning takes, beside Stable-Baselines3's PPO.

    python bench/python_learning.py [--steps 100000] [--seeds 3] [--tune-steps 50000]

Two tasks of Gymnasium's: CartPole-v1, and Pendulum-v1 started near upright and lost beyond 1 rad, since our
policies are linear and swinging up needs one that is not. Neither side has constraints. A method is judged
without noise on the same 20 start states; the improvement is that from doing nothing to the best cost that any
method of the run reached, and what counts is when 90 % of it is there.

Both methods are tuned alike: three trials each on a seed below 10000, the best of which (by the mean cost over
the curve) is played on seeds from 10000 on. Ours are the defaults, with one setting changed or another exploration
noise; PPO's are its authors' defaults, and the settings that RL Baselines3 Zoo publishes for Pendulum-v1 and for CartPole-v1. Seconds are of
processor time. Needs stable-baselines3, which is left out if it is not installed. OmniSafe, whose PPOLag and CPO
would be compared with constraints, pins packages that have no wheels for this Python any more.
"""

import argparse
import time

import gymnasium
import numpy as np

import lifeguard as lg
import lifeguard.gymnasium as lgym

STARTS = 20
TUNING_SEED, FIRST_SEED = 7, 10000


class NearUpright(gymnasium.Wrapper):
    """Pendulum-v1 that begins near upright and counts as fallen beyond 1 rad."""

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed, options={"x_init": 0.3, "y_init": 0.3})

    def step(self, action):
        observation, reward, _, truncated, info = self.env.step(action)
        fallen = bool(observation[0] < np.cos(1.0))
        return observation, reward, fallen, truncated, info


def angle_and_rate(observations):
    return np.stack([np.arctan2(observations[:, 1], observations[:, 0]), observations[:, 2]], axis=1)


def flat(observations):
    return np.asarray(observations, dtype=float)


TASKS = {
    "CartPole-v1": {
        "make": lambda: gymnasium.make("CartPole-v1"),
        "features": flat, "size": 4, "steps": 500, "failure_cost": 0.0,
        "action": lambda actions: (actions[:, 0] > 0).astype(np.int64),
        "nothing": lambda _: 0,
        # A push has a sign only, so the noise says nothing there: K and sigma may have any common scale.
        "trials": ({"sigma": 0.3}, {"sigma": 0.3, "trust_region_per_step": 0.6}, {"sigma": 0.3, "base_learner": {"discount": 0.99}}),
    },
    "Pendulum-v1, near upright": {
        "make": lambda: NearUpright(gymnasium.make("Pendulum-v1")),
        "features": angle_and_rate, "size": 2, "steps": 200, "failure_cost": 10.0,
        "action": lambda actions: np.clip(actions, -2, 2).astype(np.float32),
        "nothing": lambda _: np.zeros(1, np.float32),
        "trials": ({"sigma": 0.3}, {"sigma": 0.5}, {"sigma": 1.0}),
    },
}
PPO_TRIALS = (
    {},
    {"n_envs": 4, "n_steps": 1024, "gamma": 0.9, "learning_rate": 1e-3, "use_sde": True, "sde_sample_freq": 4},
    {"n_envs": 8, "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "n_epochs": 20, "learning_rate": 1e-3},
)


def judged(task, act):
    """The mean cost of a step over the same start states, failures included."""
    env, total = task["make"](), 0.0
    for seed in range(STARTS):
        observation, _ = env.reset(seed=1000 + seed)
        for step in range(task["steps"]):
            observation, reward, terminated, truncated, _ = env.step(act(observation))
            total -= reward
            if terminated:
                total += task["failure_cost"] * (task["steps"] - step - 1)
            if terminated or truncated:
                break
    return total / STARTS / task["steps"]


class Clock:
    """Processor time that stands still while policies are judged."""

    def __init__(self):
        self.spent, self.start = 0.0, time.process_time()

    def judge(self, task, act):
        self.spent += time.process_time() - self.start
        cost = judged(task, act)
        self.start = time.process_time()
        return cost

    def seconds(self):
        return self.spent + time.process_time() - self.start


def learn_with_lifeguard(task, steps, seed, settings):
    """[(environment steps, cost)] after each round, how often it fell, and seconds."""
    envs = gymnasium.vector.SyncVectorEnv([task["make"]] * 10)
    settings = dict(settings)
    sigma = settings.pop("sigma")
    learner = lg.Learner(task["size"], 1, **settings)
    learner.add_task("task", sigma=sigma)

    def act(observation):
        phi = task["features"](np.asarray(observation)[np.newaxis])
        return task["action"](learner.policy("task").mean(phi))[0]

    clock = Clock()
    curve, used, falls = [(0, clock.judge(task, act))], 0, 0
    while used < steps:
        batch = lgym.collect(
            envs, learner.policy("task"), 20, steps=task["steps"], features=task["features"], action=task["action"],
            failure_cost=task["failure_cost"], seed=seed * 100000 + len(curve),
        )
        learner.observe("task", batch)
        used += int(batch.lengths.sum())
        falls += batch.failed
        curve.append((used, clock.judge(task, act)))
    return curve, falls, clock.seconds()


def learn_with_ppo(task, steps, seed, settings):
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    clock = Clock()

    class Watch(BaseCallback):
        def __init__(self):
            super().__init__()
            self.curve, self.falls, self.next = [], 0, 0

        def _on_step(self):
            ends = zip(self.locals["dones"], self.locals["infos"])
            self.falls += sum(bool(done) and not info.get("TimeLimit.truncated", False) for done, info in ends)
            if self.num_timesteps >= self.next:
                self.next += 5000
                cost = clock.judge(task, lambda o: self.model.predict(o, deterministic=True)[0])
                self.curve.append((self.num_timesteps, cost))
            return True

    settings = dict(settings)
    if isinstance(task["make"]().action_space, gymnasium.spaces.Discrete):  # has no such noise
        settings = {name: value for name, value in settings.items() if "sde" not in name}
    envs = make_vec_env(task["make"], n_envs=settings.pop("n_envs", 1), seed=seed)
    watch = Watch()
    PPO("MlpPolicy", envs, seed=seed, device="cpu", **settings).learn(steps, callback=watch)
    return watch.curve, watch.falls, clock.seconds()


def steps_to(curve, level):
    return next((used for used, cost in curve if cost <= level), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tune-steps", type=int, default=50000)
    arguments = parser.parse_args()
    for name, task in TASKS.items():
        print(f"== {name}", flush=True)
        methods = {"lifeguard": (learn_with_lifeguard, task["trials"]), "PPO": (learn_with_ppo, PPO_TRIALS)}
        nothing = judged(task, task["nothing"])
        found = {}
        for method, (learn, trials) in methods.items():
            means = []
            try:
                for trial in trials:
                    curve, _, _ = learn(task, arguments.tune_steps, TUNING_SEED, trial)
                    means.append(np.mean([cost for _, cost in curve]))
                    print(f"   tuning {method}, {trial}: mean cost {means[-1]:.5f}, at the end {curve[-1][1]:.5f}", flush=True)
            except ImportError as error:
                print(f"{method:10} not measured: {error}")
                continue
            best = trials[int(np.argmin(means))]
            print(f"   {method} plays with {best}", flush=True)
            for seed in range(FIRST_SEED, FIRST_SEED + arguments.seeds):
                found[method, seed] = learn(task, arguments.steps, seed, best)
        best = min(cost for curve, _, _ in found.values() for _, cost in curve)
        level = nothing - 0.9 * (nothing - best)
        for (method, seed), (curve, falls, seconds) in found.items():
            used = steps_to(curve, level)
            reached = "never" if used is None else f"after {used:,} steps"
            print(f"{method:10} seed {seed}: 90 % {reached}, {falls} falls and {seconds:.0f} s in {curve[-1][0]:,} steps, "
                  f"cost {curve[-1][1]:.5f} (nothing {nothing:.4f}, best {best:.5f})", flush=True)


if __name__ == "__main__":
    main()
