"""A system of your own, written in Python."""

from __future__ import annotations

import numpy as np

from ._core import System, Task
from ._core import register_system as _register


class OwnSystem:
    """What a system of your own says; derive from it, or write a class that has the same.

        class Pendulum(OwnSystem):
            name = "pendulum"
            states = [("angle", "rad"), ("rate", "rad/s")]
            actions = [("torque", "N m")]
            parameters = {"length_metres": ("m", "length of the rod", "positive")}
            settings = {"dt_seconds": 0.02, "start_low": [-0.3, 0], "start_high": [0.3, 0],
                        "action_low": -2, "action_high": 2, "sigma": 0.2}
            length_metres = 1.0

            def step(self, x, u):
                angle, rate = x.T
                rate = rate + 0.02 * (9.81 / self.length_metres * np.sin(angle) + u[:, 0])
                return np.stack([angle + 0.02 * rate, rate], axis=1)

            def cost(self, x, u):
                return x[:, 0] ** 2 + 0.1 * x[:, 1] ** 2 + 0.01 * u[:, 0] ** 2

    Every method takes a batch: x is (n, states), u is (n, actions), already limited to what the
    settings allow. They must have no hidden state, so that a batch of trajectories stays a pure
    function of its seed. `states` and `actions` are lists of (name, unit), or how many there are.

    Optional: `failed(x)`, n truth values that end trajectories beside the failure bounds;
    `own_features = [(name, unit), …]` with `features(x)`, (n, features), which a policy sees instead of
    x - goal; `start(random)`, one start state from random.uniform(i, low, high) and random.normal(i),
    else starts are uniform in the box of the settings; `equilibrium_action(goal)`; `parameters`, a
    dictionary of name: (unit, meaning, rule) with the values as attributes and "positive",
    "not negative", "any" or (low, high) as rules; `settings`, those of its tasks; `meaning`, `drawing`,
    `positions` and `start_share`.
    """

    states: list = []
    actions: list = []

    def step(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The states one step later, (n, states)."""
        raise NotImplementedError

    def cost(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The costs of a step, n numbers."""
        raise NotImplementedError

    def system(self) -> System:
        """As any system of the library."""
        return System(self)

    def task(self, name: str, **settings) -> Task:
        """A task with this system."""
        return Task(name, System(self), **settings)

    def register(self, ranges=()) -> System:
        """Makes it known by its name, with a family in which these parameters vary: [(name, (low, high))].

        From then on configurations, run files and reports in this process treat it as a built-in one.
        """
        system = System(self)
        _register(system, list(ranges))
        return system
