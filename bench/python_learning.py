"""How many environment steps, seconds and falls learning takes, beside Stable-Baselines3's PPO.

    python bench/python_learning.py [--steps 300000] [--seeds 3]

Two tasks in Gymnasium's own interface: our cart-pole (lifeguard/CartPole-v0), and Pendulum-v1 started near
upright, where a linear policy can do it. A method is judged without noise on the same 20 start states;
the improvement is that from doing nothing to the best cost that any method of the run reached, and what
counts is when 90 % of it is there. PPO has its authors' defaults. Needs stable-baselines3, which is left
out if it is not installed.
"""

import argparse
import time

import gymnasium
import numpy as np

import lifeguard as lg
import lifeguard.gymnasium as lgym

STARTS = 20


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
    return observations


TASKS = {
    "cart-pole": {
        "make": lambda: gymnasium.make("lifeguard/CartPole-v0"),
        "features": flat, "size": 4, "sigma": 1.0, "steps": 150, "failure_cost": 5.0,
    },
    "pendulum, near upright": {
        "make": lambda: NearUpright(gymnasium.make("Pendulum-v1")),
        "features": angle_and_rate, "size": 2, "sigma": 0.5, "steps": 200, "failure_cost": 10.0,
    },
}


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


def learn_with_lifeguard(task, steps, seed):
    """(environment steps, cost) after each round, and how often it fell."""
    envs = gymnasium.vector.SyncVectorEnv([task["make"]] * 10)
    space = envs.single_action_space
    learner = lg.Learner(task["size"], 1)
    learner.add_task("task", sigma=task["sigma"])

    def act(observation):
        phi = task["features"](np.asarray(observation)[np.newaxis])
        return np.clip(learner.policy("task").mean(phi)[0], space.low, space.high).astype(space.dtype)

    curve, used, falls = [(0, judged(task, act))], 0, 0
    while used < steps:
        batch = lgym.collect(
            envs, learner.policy("task"), 20, steps=task["steps"], features=task["features"],
            failure_cost=task["failure_cost"], seed=seed * 100000 + len(curve),
        )
        learner.observe("task", batch)
        used += int(batch.lengths.sum())
        falls += batch.failed
        curve.append((used, judged(task, act)))
    return curve, falls


def learn_with_ppo(task, steps, seed):
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Watch(BaseCallback):
        def __init__(self):
            super().__init__()
            self.curve, self.falls, self.next = [], 0, 0

        def _on_step(self):
            self.falls += sum(bool(d) and not i.get("TimeLimit.truncated", False) for d, i in zip(self.locals["dones"], self.locals["infos"]))
            if self.num_timesteps >= self.next:
                self.next += 10000
                model = self.model
                self.curve.append((self.num_timesteps, judged(task, lambda o: model.predict(o, deterministic=True)[0])))
            return True

    watch = Watch()
    PPO("MlpPolicy", task["make"](), seed=seed, device="cpu").learn(steps, callback=watch)
    return watch.curve, watch.falls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300000)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    methods = {"lifeguard": learn_with_lifeguard, "PPO (Stable-Baselines3)": learn_with_ppo}
    for name, task in TASKS.items():
        print(f"== {name}")
        nothing = judged(task, lambda o, env=task["make"](): np.zeros(env.action_space.shape, env.action_space.dtype))
        found = {}
        for method, learn in methods.items():
            for seed in range(arguments.seeds):
                begin = time.process_time()
                try:
                    curve, falls = learn(task, arguments.steps, seed)
                except ImportError as error:
                    print(f"{method:25} not measured: {error}")
                    break
                found[method, seed] = (curve, falls, time.process_time() - begin)
        best = min(cost for curve, _, _ in found.values() for _, cost in curve)
        for (method, seed), (curve, falls, seconds) in found.items():
            level = nothing - 0.9 * (nothing - best)
            reached = next((f"{used:8,}" for used, cost in curve if cost <= level), "   never")
            print(f"{method:25} seed {seed}: 90 % after {reached} steps, {falls:5} falls, cost {curve[-1][1]:.5f} "
                  f"(nothing {nothing:.4f}, best {best:.5f}), {seconds:.0f} s of processor time for {curve[-1][0]:,} steps", flush=True)


if __name__ == "__main__":
    main()
