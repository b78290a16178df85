"""Gymnasium both ways: learn from any environment, and our systems as environments.

    import gymnasium, lifeguard.gymnasium

    envs = gymnasium.make_vec("Pendulum-v1", num_envs=8)
    batch = lifeguard.gymnasium.collect(envs, learner.policy("pendulum"), episodes=50)

    env = gymnasium.make("lifeguard/CartPole-v0", pole_mass=0.2)
    envs = gymnasium.make_vec("lifeguard/CartPole-v0", num_envs=1024)

Importing this module registers an environment for each built-in system: lifeguard/MassSpring-v0, lifeguard/CartPole-v0,
lifeguard/Quadrotor-v0, lifeguard/RigidQuadrotor-v0, lifeguard/FlyingQuadrotor-v0; lifeguard/Task-v0 for a task of any kind;
and lifeguard/GymnasiumPendulum-v0 and lifeguard/GymnasiumCartPole-v0, which are Gymnasium's own Pendulum-v1
and CartPole-v1 computed by us. The latter has one action whose sign says where to push.
"""

from __future__ import annotations

import math

try:
    import gymnasium
except ImportError as error:
    raise ImportError("environments need Gymnasium: pip install lifeguard[gymnasium]") from error
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ._core import BatchEnvironment, Policy, System, Task, Trajectories, systems
from .errors import InvalidInput

# Gymnasium's own tasks, whose episodes it ends at other numbers of steps than ours.
STEPS = {"GymnasiumPendulum": 200, "GymnasiumCartPole": 500}


def _environment_name(system: str) -> str:
    """CartPole for cart-pole."""
    return "".join(word.capitalize() for word in system.split("-"))


# All that is built in and Gymnasium's own; what users registered are tasks of lifeguard/Task-v0.
SYSTEMS = {
    _environment_name(system): system
    for system in systems()
    if not System(system).description["custom"] or _environment_name(system) in STEPS
}


# Environments as a source of trajectories.


def collect(
    envs,
    policy,
    episodes: int,
    *,
    steps: int | None = None,
    features=None,
    action=None,
    cost=None,
    failure_cost: float = 0.0,
    noise_limit: float = math.inf,
    seed: int | None = None,
    autoreset_mode: AutoresetMode | str | None = None,
) -> Trajectories:
    """Plays a policy in an environment and gives the batch that a learner observes.

    envs      a gymnasium.Env or a vector environment, whatever its autoreset mode. Steps in which an
              environment only resets itself are not in the batch.
    policy    a lifeguard.Policy; its noise comes from `seed`.
    episodes  how many trajectories: the first that begin, so that short ones are not preferred.
    steps     of the task; without it the environment's own limit.
    features  of the observations of n copies, batched as vector environments batch them (a dictionary
              of arrays of n rows for a Dict space), to (n, features); without it observations are
              flattened as gymnasium.spaces.flatten does it.
    action    what the environment is given for the policy's actions, (n, actions) to n actions; without
              it they are limited to the environment's box. The batch has them as the policy said.
    cost      of rewards, n numbers to n numbers; the negative rewards without it.

    A trajectory that is terminated has failed: it is absorbed, and each further step costs
    `failure_cost`, which is 0, no reward, for an environment that ends by itself. One that is truncated
    has finished if it had all steps, and else was cut short: its last observation is kept, to value it
    from there.
    """
    if not isinstance(envs, (gymnasium.Env, VectorEnv)):
        raise InvalidInput("envs", repr(envs), "must be a gymnasium.Env or a vector environment, as gymnasium.make makes them")
    if not isinstance(policy, Policy):
        raise InvalidInput("policy", repr(policy), "must be a lifeguard.Policy")
    source = _VectorSource(envs, autoreset_mode) if isinstance(envs, VectorEnv) else _SingleSource(envs)
    _at_least_one("episodes", episodes)
    if steps is None:
        steps = source.limit()
        if steps is None:
            raise InvalidInput("steps", "None", "must be given where the environment has no limit of its own")
    _at_least_one("steps", steps)
    seen = features or _flattening(source.observation_space)
    act = action or _limited(source.action_space)
    paid = cost or np.negative
    generator = np.random.default_rng(seed)

    phi = np.zeros((episodes, steps, policy.features))
    played = np.zeros((episodes, steps, policy.actions))
    costs = np.zeros((episodes, steps))
    lengths = np.zeros(episodes, dtype=np.int64)
    ends = ["finished"] * episodes
    finals = np.zeros((episodes, policy.features))

    count = source.count
    episode = np.full(count, -1)  # which trajectory each copy plays; -1: nobody looks
    begun = done = 0
    observations = source.start(seed)
    fresh = np.ones(count, dtype=bool)
    while done < episodes:
        for i in np.flatnonzero(fresh):
            episode[i] = begun if begun < episodes else -1
            begun += begun < episodes
        now = _matrix("features", seen(observations), count, policy.features)
        commanded = policy.sample(now, generator, noise_limit)
        step = source.step(act(commanded))
        price = np.asarray(paid(step.rewards), dtype=float)
        if price.shape != (count,):
            raise InvalidInput("cost", f"of shape {price.shape}", f"must give a number for each of {count} rewards")
        after = None
        fresh = step.fresh
        for i in np.flatnonzero(episode >= 0):
            e, m = episode[i], lengths[episode[i]]
            if step.reset_only[i]:
                continue
            phi[e, m], played[e, m], costs[e, m] = now[i], commanded[i], price[i]
            lengths[e] += 1
            over = step.terminated[i] or step.truncated[i] or lengths[e] == steps
            if not over:
                continue
            if step.terminated[i] and lengths[e] < steps:
                ends[e] = "failed"
            elif lengths[e] < steps:
                if after is None:
                    after = _matrix("features", seen(step.reached), count, policy.features)
                ends[e] = "cut short"
                finals[e] = after[i]
            episode[i] = -1
            done += 1
            if not (step.terminated[i] or step.truncated[i]):
                source.abandon(i)
        observations = step.observations
        if done < episodes:
            idle = not (fresh.any() or (episode >= 0).any())
            again, observations = source.restart(observations, idle)
            fresh = fresh | again
    return Trajectories.from_arrays(phi, played, costs, lengths, ends, failure_cost, finals)


class _Step:
    """What one step of all copies gave."""

    def __init__(self, observations, reached, rewards, terminated, truncated, reset_only, fresh):
        self.observations = observations  # to act on next
        self.reached = reached  # by the actions, before anything was reset
        self.rewards = rewards
        self.terminated, self.truncated = terminated, truncated
        self.reset_only = reset_only  # nothing was played
        self.fresh = fresh  # a new episode begins with `observations`


class _SingleSource:
    """One environment as a vector of one."""

    count = 1

    def __init__(self, env):
        self.env = env
        self.action_space = env.action_space
        self.observation_space = env.observation_space
        self._over = False

    def limit(self):
        return _limit_of(self.env)

    def start(self, seed):
        observation, _ = self.env.reset(seed=seed)
        return _batched(self.observation_space, observation)

    def step(self, actions):
        observation, reward, terminated, truncated, _ = self.env.step(actions[0])
        self._over = terminated or truncated
        seen = _batched(self.observation_space, observation)
        no = np.zeros(1, dtype=bool)
        return _Step(seen, seen, np.array([reward], dtype=float), [terminated], [truncated], no, no)

    def abandon(self, _):
        self._over = True

    def restart(self, observations, _):
        if not self._over:
            return np.zeros(1, dtype=bool), observations
        self._over = False
        return np.ones(1, dtype=bool), _batched(self.observation_space, self.env.reset()[0])


class _VectorSource:
    """A vector environment in any autoreset mode."""

    def __init__(self, envs, mode):
        self.envs = envs
        self.count = envs.num_envs
        self.action_space = envs.single_action_space
        self.observation_space = envs.single_observation_space
        mode = mode if mode is not None else envs.metadata.get("autoreset_mode")
        if mode is None:
            raise InvalidInput("autoreset_mode", "None", "must be given for an environment that does not say it")
        self.mode = _autoreset_mode(mode)
        self._over = np.zeros(self.count, dtype=bool)

    def limit(self):
        return _limit_of(self.envs)

    def start(self, seed):
        self._over[:] = False
        return self.envs.reset(seed=seed)[0]

    def step(self, actions):
        observations, rewards, terminated, truncated, infos = self.envs.step(actions)
        terminated, truncated = np.asarray(terminated, bool), np.asarray(truncated, bool)
        ended = terminated | truncated
        reached = observations
        no = np.zeros(self.count, dtype=bool)
        if self.mode is AutoresetMode.SAME_STEP:
            if ended.any():
                finals = {i: infos["final_obs"][i] for i in np.flatnonzero(ended)}
                reached = _with_rows(self.observation_space, observations, finals)
            reset_only, fresh = no, ended
        elif self.mode is AutoresetMode.NEXT_STEP:
            reset_only = fresh = self._over.copy()
            self._over = ended
        else:
            reset_only = fresh = no
            self._over = ended
        return _Step(observations, reached, rewards, terminated, truncated, reset_only, fresh)

    def abandon(self, i):
        # Only an environment that can be reset by itself begins anew; others go on unseen.
        if self.mode is AutoresetMode.DISABLED:
            self._over[i] = True

    def restart(self, observations, idle):
        if idle and not self._over.any():  # nobody looks at any: they may go on for ever
            return np.ones(self.count, dtype=bool), self.envs.reset()[0]
        if self.mode is not AutoresetMode.DISABLED or not self._over.any():
            return np.zeros(self.count, dtype=bool), observations
        mask, self._over = self._over, np.zeros(self.count, dtype=bool)
        return mask, self.envs.reset(options={"reset_mask": mask})[0]


def _at_least_one(name, value):
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInput(name, repr(value), "must be an integer, at least 1")


def _autoreset_mode(mode):
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(known.value) for known in AutoresetMode)
        raise InvalidInput("autoreset_mode", repr(mode), f"must be one of {known}") from None


def _limit_of(env):
    limit = getattr(env, "episode_steps", None) or getattr(env.unwrapped, "episode_steps", None)
    if limit:
        return limit
    spec = env.spec
    return spec.max_episode_steps if spec is not None else None


# Observations of Dict and Tuple spaces are batched part by part: dictionaries and tuples of arrays.


def _parts(space, value):
    """(name, space, part) of a Dict or Tuple space's value; None for any other space."""
    if isinstance(space, spaces.Dict):
        return [(name, part, value[name]) for name, part in space.spaces.items()]
    if isinstance(space, spaces.Tuple):
        return [(place, part, value[place]) for place, part in enumerate(space.spaces)]
    return None


def _rebuilt(space, parts):
    return dict(parts) if isinstance(space, spaces.Dict) else tuple(part for _, part in parts)


def _batched(space, observation):
    """One observation as a batch of one."""
    parts = _parts(space, observation)
    if parts is None:
        return np.asarray(observation)[np.newaxis]
    return _rebuilt(space, [(name, _batched(part, value)) for name, part, value in parts])


def _with_rows(space, batch, rows):
    """A copy of a batch with some rows replaced, {row: observation}."""
    parts = _parts(space, batch)
    if parts is None:
        changed = np.array(batch)
        for i, row in rows.items():
            changed[i] = row
        return changed
    return _rebuilt(
        space, [(name, _with_rows(part, value, {i: row[name] for i, row in rows.items()})) for name, part, value in parts]
    )


def _flattening(space):
    """What makes a matrix of a batch of observations: numbers as they are, choices as one of n."""
    if isinstance(space, (spaces.Box, spaces.MultiBinary)):
        return lambda batch: np.asarray(batch, dtype=float).reshape(len(batch), -1)
    if isinstance(space, spaces.Discrete):
        return lambda batch: np.eye(space.n)[np.asarray(batch) - space.start]
    if isinstance(space, spaces.MultiDiscrete):
        sizes, starts = space.nvec.ravel(), space.start.ravel()

        def choices(batch):
            places = np.asarray(batch).reshape(len(batch), -1) - starts
            return np.concatenate([np.eye(n)[places[:, i]] for i, n in enumerate(sizes)], axis=1)

        return choices
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        names = list(space.spaces) if isinstance(space, spaces.Dict) else range(len(space.spaces))
        flat = {name: _flattening(space[name]) for name in names}
        return lambda batch: np.concatenate([flat[name](batch[name]) for name in names], axis=1)
    raise InvalidInput("features", "None", f"must be given for the observation space {space}")


def _matrix(name, values, rows, columns):
    # A copy: environments may write their next observations into the same memory.
    array = np.array(values, dtype=float)
    if array.shape != (rows, columns):
        raise InvalidInput(name, f"of shape {array.shape}", f"must have the shape {(rows, columns)}, as the policy's gains")
    return array


def _limited(space):
    if not isinstance(space, spaces.Box):
        raise InvalidInput("action", "None", f"must be given for the action space {space}")

    size = math.prod(space.shape)

    def limited(actions):
        if actions.shape[1] != size:
            raise InvalidInput("policy.actions", str(actions.shape[1]), f"must be {size} for the action space {space}")
        shaped = actions.reshape((len(actions), *space.shape))
        return np.clip(shaped, space.low, space.high).astype(space.dtype)

    return limited


# Our systems as environments.


def task_of(system: str | System | Task, **changes) -> Task:
    """A task from a system's name, a system or a task, with parameters and settings changed.

    Parameters may be named without their units, pole_mass for pole_mass_kilograms, and those of the first of
    a machine's parts without it: mass of a cart-pole is that of the cart.
    """
    if isinstance(system, Task):
        task = system
    else:
        system = System(system) if isinstance(system, str) else system
        task = Task(system.name, system)
    names = list(task.system.parameters)
    parameters, settings = {}, {}
    for name, value in changes.items():
        if name in task.settings:
            settings[name] = value
            continue
        first = task.system.name.partition("-")[0]
        found = next((places for start in (name, f"{first}_{name}")
                      if (places := [p for p in names if p == start] or [p for p in names if p.startswith(start + "_")])), [])
        if len(found) != 1:
            known = ", ".join(names + list(task.settings))
            raise InvalidInput(name, repr(value), f"must be a parameter of {task.system.name} or a setting of its task: {known}")
        parameters[found[0]] = value
    if parameters:
        task = task.with_parameters(**parameters)
    return task.with_settings(**settings) if settings else task


def _spaces(task):
    inputs = task.inputs
    observation = spaces.Box(-np.inf, np.inf, (inputs,), np.float64)
    action = spaces.Box(task.settings["action_low"], task.settings["action_high"], dtype=np.float64)
    return observation, action


class TaskEnv(gymnasium.Env):
    """A task as an environment: observations are what a policy sees, rewards are negative costs.

    A state that fails the task terminates the episode, `steps` truncate it (0: never).
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}

    def __init__(self, task="cart-pole", *, steps: int = 150, render_mode=None, **changes):
        if render_mode not in (None, "rgb_array"):
            raise InvalidInput("render_mode", repr(render_mode), 'must be None or "rgb_array"')
        self.task = task_of(task, **changes)
        self.episode_steps = steps
        self.render_mode = render_mode
        self.metadata = dict(self.metadata, render_fps=max(1, round(1 / self.task.settings["dt_seconds"])))
        self.observation_space, self.action_space = _spaces(self.task)
        self._batch = BatchEnvironment(self.task, 1, steps)
        self._begun = False

    @property
    def state(self) -> np.ndarray:
        """The state, absolute."""
        return self._batch.states[0]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None or not self._begun:
            self._begun = True
            drawn = [int(self.np_random.integers(2**63))]
            observations = self._batch.reset(drawn)
        else:
            observations = self._batch.reset()
        if options and "state" in options:
            self._batch.set_state(0, np.asarray(options["state"], dtype=float))
            observations = self.task.input(self.state)[np.newaxis]
        return observations[0], {}

    def step(self, action):
        if not self._begun:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        observations, costs, terminated, truncated, _ = self._batch.step(
            np.asarray(action, dtype=float).reshape(1, -1), 2
        )
        return observations[0], -float(costs[0]), bool(terminated[0]), bool(truncated[0]), {}

    def render(self):
        if self.render_mode is None:
            return None
        from .drawing import draw

        return draw(self.task, self.state)


class TaskVectorEnv(VectorEnv):
    """Many copies of a task on the processor's vectors: a step of all of them is one call."""

    def __init__(
        self,
        num_envs: int = 1,
        task="cart-pole",
        *,
        steps: int = 150,
        render_mode=None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **changes,
    ):
        self.task = task_of(task, **changes)
        self.episode_steps = steps
        self.num_envs = num_envs
        if render_mode not in (None, "rgb_array"):
            raise InvalidInput("render_mode", repr(render_mode), 'must be None or "rgb_array"')
        self.render_mode = render_mode
        mode = _autoreset_mode(autoreset_mode)
        self.metadata = dict(TaskEnv.metadata, autoreset_mode=mode)
        self._mode = {AutoresetMode.NEXT_STEP: 0, AutoresetMode.SAME_STEP: 1, AutoresetMode.DISABLED: 2}[mode]
        self.single_observation_space, self.single_action_space = _spaces(self.task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._batch = BatchEnvironment(self.task, num_envs, steps)
        self._begun = False

    @property
    def states(self) -> np.ndarray:
        """The states, absolute, one row for each copy."""
        return self._batch.states

    def reset(self, *, seed=None, options=None):
        mask = None if not options else options.get("reset_mask")
        if mask is not None:
            mask = [bool(m) for m in mask]
        if seed is None and not self._begun:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + i for i in range(self.num_envs)]
        # The same episodes as of single environments with these seeds.
        drawn = None
        if seed is not None:
            drawn = [int(gymnasium.utils.seeding.np_random(s)[0].integers(2**63)) for s in seed]
        self._begun = True
        return self._batch.reset(drawn, mask), {}

    def step(self, actions):
        if not self._begun:
            raise gymnasium.error.ResetNeeded("call reset() before the first step()")
        actions = np.asarray(actions, dtype=float)
        observations, costs, terminated, truncated, final = self._batch.step(
            actions.reshape(len(actions), -1) if actions.ndim else actions.reshape(1, 1), self._mode
        )
        infos = {}
        if final is not None:
            ended = terminated | truncated
            kept = np.empty(self.num_envs, dtype=object)
            for i in np.flatnonzero(ended):
                kept[i] = final[i]
            infos = {"final_obs": kept, "_final_obs": ended, "final_info": {}, "_final_info": ended}
        return observations, -costs, terminated, truncated, infos

    def render(self):
        if self.render_mode is None:
            return None
        from .drawing import draw

        return tuple(draw(self.task, state) for state in self.states)


def register_environments():
    """Registers lifeguard/CartPole-v0 and the others; importing this module does it."""
    for name, system in SYSTEMS.items():
        _register(f"lifeguard/{name}-v0", {"task": system, "steps": STEPS.get(name, 150)})
    _register("lifeguard/Task-v0", {})


def _register(name, kwargs):
    if name in gymnasium.registry:
        return
    gymnasium.register(
        name,
        entry_point="lifeguard.gymnasium:TaskEnv",
        vector_entry_point="lifeguard.gymnasium:TaskVectorEnv",
        kwargs=kwargs,
    )


register_environments()
