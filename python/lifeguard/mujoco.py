"""Bodies of MuJoCo with changed gravity and body parts, as systems of ours.

    import lifeguard as lg, lifeguard.mujoco

    lifeguard.mujoco.register()                       # half-cheetah, half-cheetah-gravity, hopper-sizes, …
    body = lifeguard.mujoco.HalfCheetah(gravity_share=0.8, torso_share=1.2)
    task = body.task("light and long")
    batch = lg.rollout(task, lg.Policy(numpy.zeros((6, 18)), 0.5), trajectories=10, steps=1000, seed=1)

HalfCheetah, Hopper and Walker2d are the models of Gymnasium's v5 environments, read from its package, and
so are rewards, healthy states and starts. They are systems like any other (OwnSystem): learners of
every method, families, fleets, run files, `lifeguard check --replay` and reports take them. Needs the
packages mujoco (or mujoco-core) and gymnasium: `pip install lifeguard[mujoco]`.

A step is a function of the state and the action alone: the solver begins it without what it remembers
of the last one, so any batch is a pure function of task, policy, seed and range, on any number of
threads. (Gymnasium's environments warm-start the solver across steps; the difference is that of
its tolerance.) Results are those of one version of MuJoCo on one kind of processor.
"""

from __future__ import annotations

import functools
import json
import os
import threading
import warnings

import numpy as np

from ._core import Policy
from .errors import InvalidInput
from .own_system import OwnSystem

_LOWEST, _HIGHEST = 0.5, 1.5


def _imports():
    try:
        import gymnasium
        import mujoco
        import mujoco.rollout
    except ImportError as error:
        raise ImportError(f"{error}: the bodies need the packages mujoco and gymnasium: pip install lifeguard[mujoco]") from None
    return mujoco, os.path.join(os.path.dirname(gymnasium.__file__), "envs", "mujoco", "assets")


def _data(model):
    """New memory for a model, and what steps it."""
    mujoco, _ = _imports()
    return mujoco.MjData(model), mujoco.rollout.Rollout(nthread=0)


class _Compiled:
    """A model, which nobody writes to, so that all threads share it, and memory of it that nobody uses now.

    This is not memory of threads: those of C++ that ask Python are strangers to it, whose thread-local values end with
    every single call.
    """

    def __init__(self, model):
        self.model = model
        self.idle = []

    def rollout(self, *arguments, **keywords):
        """As mujoco.rollout's, by the calling thread."""
        try:
            data, rollout = memory = self.idle.pop()
        except IndexError:
            data, rollout = memory = _data(self.model)
        states, _ = rollout.rollout(self.model, data, *arguments, **keywords)
        self.idle.append(memory)
        return states


_compiling = threading.Lock()  # the filters of warnings belong to all threads


@functools.lru_cache(maxsize=256)
def _compiled(file: str, gravity: float, sizes: tuple) -> _Compiled:
    mujoco, assets = _imports()
    spec = mujoco.MjSpec.from_file(os.path.join(assets, file))
    spec.option.gravity = gravity * np.asarray(spec.option.gravity)
    for geom, share in sizes:
        part = spec.geom(geom)
        # Radius and half length; of a capsule between two points the radius.
        part.size = share * np.asarray(part.size)
    with _compiling, warnings.catch_warnings():  # of attributes in Gymnasium's files that MuJoCo will drop one day
        warnings.simplefilter("ignore", UserWarning)
        return _Compiled(spec.compile())


def _turn(quaternion) -> float:
    """How far this turns about the y axis, which is all that planar bodies do."""
    return 2 * float(np.arctan2(quaternion[2], quaternion[0]))


@functools.lru_cache(maxsize=16)
def _stick_figure(file: str) -> list:
    """What the page needs to draw a planar body from its joints' positions: each part's place in the one
    that carries it, how its joints move it, and its capsules; x and z in metres. As the model is: a body with
    other sizes has other capsules only, see _lines()."""
    mujoco, assets = _imports()
    model = _compiled(file, 1.0, ()).model
    spec = mujoco.MjSpec.from_file(os.path.join(assets, file))
    xz = [0, 2]
    parts = []
    for body in range(1, model.nbody):
        joints = []
        for joint in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
            at = int(model.jnt_qposadr[joint])
            moved = {"signal": at, "zero": float(model.qpos0[at])}
            if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE:
                moved["along"] = model.jnt_axis[joint][xz].tolist()
            else:
                moved |= {"turns": float(model.jnt_axis[joint][1]), "around": model.jnt_pos[joint][xz].tolist()}
            joints.append(moved)
        capsules = []
        for geom in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]):
            axis = np.zeros(9)
            mujoco.mju_quat2Mat(axis, model.geom_quat[geom])
            radius, half_length = model.geom_size[geom][:2]
            name = model.geom(geom).name
            capsules.append({
                "name": name, "middle": model.geom_pos[geom][xz], "radius": radius,
                "half": half_length * axis.reshape(3, 3)[xz, 2],  # a capsule lies along its z axis
                "between_two_points": bool(np.isfinite(spec.geom(name).fromto[0])),
            })  # fmt: skip
        parts.append({
            "carrier": int(model.body_parentid[body]) - 1, "at": model.body_pos[body][xz].tolist(),
            "turn": _turn(model.body_quat[body]), "joints": joints, "capsules": capsules,
        })  # fmt: skip
    return parts


def _lines(capsules: list, shares: dict) -> list:
    """The middle lines of capsules with their radius, [x1, z1, x2, z2, radius], in the sizes that _compiled() gives them."""
    lines = []
    for capsule in capsules:
        share = shares.get(capsule["name"], 1.0)
        half = capsule["half"] * (1.0 if capsule["between_two_points"] else share)
        ends = [capsule["middle"] - half, capsule["middle"] + half]
        lines.append([*(float(x) for end in ends for x in end), float(share * capsule["radius"])])
    return lines


class Body(OwnSystem):
    """What HalfCheetah, Hopper and Walker2d have in common.

    The state is MuJoCo's positions and velocities, and the forward speed over the last step. A policy
    sees the observations of Gymnasium, less `means` and divided by `scales`, and a 1: these numbers are
    part of the body and never change, so a certificate about gains is about what is played. raw_gains() gives the
    same policy for observations as they are.

    A step costs `reward_ceiling` minus Gymnasium's reward, of which the part for moving is that of the step
    before (its speed is a state). A fall ends a trajectory, and each step after it costs as much as one
    without any reward.

    `gravity_share` is a multiple of 9.81 m/s², and so is each of the body parts' sizes: 1 is the model as it is.
    """

    file = ""
    frame_skip = 1
    joints: list = []
    motors: list = []
    parts: dict = {}  # name of the parameter: names of the geoms
    means: list = []
    scales: list = []
    reward_ceiling = 0.0
    reward_alive = 0.0
    action_price = 0.0
    start_noise = 0.0
    start_noise_is_normal = False
    velocity_limit = np.inf
    healthy_height = (-np.inf, np.inf)
    healthy_pitch = np.inf
    step_seconds = 0.0
    start_share = 0.0
    gravity_share = 1.0

    def __init__(self, **parameters):
        for name, value in parameters.items():
            if name not in self.parameters:
                raise InvalidInput(name, repr(value), f"must be one of {', '.join(self.parameters)}")
            setattr(self, name, float(value))

    def __init_subclass__(cls):
        super().__init_subclass__()
        if not cls.joints:
            return
        positions = [(f"{name} position", unit) for name, unit in cls.joints]
        velocities = [(f"{name} velocity", f"{unit}/s") for name, unit in cls.joints]
        cls.states = [*positions, *velocities, ("forward speed", "m/s")]
        cls.actions = [(name, "1") for name in cls.motors]
        cls.own_features = [(name, "1") for name, _ in (*positions[1:], *velocities)] + [("one", "1")]
        cls.parameters = {"gravity_share": ("1", "gravity, as a multiple of 9.81 m/s²", (_LOWEST, _HIGHEST))}
        for part in cls.parts:
            meaning = f"size of the {part.removesuffix('_share').replace('_', ' ')}, as a multiple of the model's"
            cls.parameters[part] = ("1", meaning, (_LOWEST, _HIGHEST))
            setattr(cls, part, 1.0)
        count = len(cls.states)
        cls.settings = {
            "dt_seconds": cls.step_seconds, "start_low": [0.0] * count, "start_high": [0.0] * count,
            "action_low": -1.0, "action_high": 1.0, "sigma": 0.5, "failure_cost": cls.reward_ceiling,
        }  # fmt: skip

    @property
    def drawing(self) -> str:
        """The stick figure that reports draw, in the sizes of this body."""
        # Asked of every copy with another parameter, so no model is compiled for it.
        shares = dict(self._sizes())
        parts = [
            {**{key: part[key] for key in ("carrier", "at", "turn", "joints")}, "lines": _lines(part["capsules"], shares)}
            for part in _stick_figure(self.file)
        ]
        return "stick figure " + json.dumps(parts)

    @property
    def positions(self) -> list:
        """The states that the figure is drawn from."""
        return list(range(len(self.joints)))

    @property
    def model(self):
        """MuJoCo's model of this body. Not to be changed."""
        return self._compiled().model

    def _compiled(self) -> _Compiled:
        return _compiled(self.file, self.gravity_share, self._sizes())

    def _sizes(self) -> tuple:
        """The multiple of each geom that has one."""
        return tuple((geom, getattr(self, part)) for part, geoms in self.parts.items() for geom in geoms)

    def start(self, random):
        model = self.model
        noise = [random.uniform(i, -self.start_noise, self.start_noise) for i in range(model.nq)]
        for i in range(model.nq, model.nq + model.nv):
            if self.start_noise_is_normal:
                noise.append(self.start_noise * random.normal(i))
            else:
                noise.append(random.uniform(i, -self.start_noise, self.start_noise))
        still = np.concatenate([model.qpos0, np.zeros(model.nv)])
        return np.concatenate([still + noise, [0.0]])

    def step(self, x, u):
        compiled = self._compiled()
        model = compiled.model
        rows, width = len(x), model.nq + model.nv
        first = np.zeros((rows, 1 + width))  # the time, which no body depends on
        first[:, 1:] = x[:, :width]
        held = np.repeat(u[:, np.newaxis], self.frame_skip, axis=1)
        states = compiled.rollout(first, held, initial_warmstart=np.zeros((rows, model.nv)))
        last = states[:, -1, 1:]
        speed = (last[:, 0] - x[:, 0]) / self.step_seconds
        return np.concatenate([last, speed[:, np.newaxis]], axis=1)

    def cost(self, x, u):
        reward = x[:, -1] + self.reward_alive - self.action_price * np.sum(u * u, axis=1)
        return self.reward_ceiling - reward

    def failed(self, x):
        low, high = self.healthy_height
        healthy = (x[:, 1] > low) & (x[:, 1] < high) & (np.abs(x[:, 2]) < self.healthy_pitch)
        return ~healthy

    def features(self, x):
        return np.concatenate([(self.observations(x) - self.means) / self.scales, np.ones((len(x), 1))], axis=1)

    def observations(self, x):
        """What Gymnasium's environment shows of these states."""
        joints = len(self.joints)
        velocities = np.clip(x[:, joints : 2 * joints], -self.velocity_limit, self.velocity_limit)
        return np.concatenate([x[:, 1:joints], velocities], axis=1)

    def reward(self, cost):
        """The reward for a cost, or the mean reward for a mean cost: of whole trajectories, falls included."""
        return self.reward_ceiling - cost

    def raw_gains(self, policy: Policy | np.ndarray) -> np.ndarray:
        """(actions, observations + 1) gains of the same policy on observations as they are, and 1."""
        gains = policy.gains if isinstance(policy, Policy) else np.asarray(policy, dtype=float)
        raw = np.array(gains, copy=True)
        raw[:, :-1] = gains[:, :-1] / self.scales
        raw[:, -1] = gains[:, -1] - raw[:, :-1] @ np.asarray(self.means, dtype=float)
        return raw


class HalfCheetah(Body):
    """Two legs and a torso that runs; it never fails. 17 observations, 6 actions."""

    name = "half-cheetah"
    meaning = "MuJoCo's half cheetah, which runs in a plane"
    file = "half_cheetah.xml"
    frame_skip = 5
    step_seconds = 0.05
    joints = [("x", "m"), ("height", "m"), ("pitch", "rad")] + [
        (f"{end} {part}", "rad") for end in ("back", "front") for part in ("thigh", "shin", "foot")
    ]
    motors = [f"{end} {part}" for end in ("back", "front") for part in ("thigh", "shin", "foot")]
    parts = {
        "torso_share": ("torso",), "thigh_share": ("fthigh",), "shin_share": ("fshin",), "foot_share": ("ffoot",),
    }  # fmt: skip
    means = [0.0] * 17
    scales = [0.1, 0.25] + [0.25] * 6 + [1.0, 1.0, 2.0] + [5.0] * 6
    reward_ceiling = 10.0
    action_price = 0.1
    start_noise = 0.1
    start_noise_is_normal = True


class Hopper(Body):
    """One leg that hops, and falls. 11 observations, 3 actions."""

    name = "hopper"
    meaning = "MuJoCo's hopper, one leg that hops in a plane"
    file = "hopper.xml"
    frame_skip = 4
    step_seconds = 0.008
    joints = [("x", "m"), ("height", "m"), ("pitch", "rad"), ("thigh", "rad"), ("leg", "rad"), ("foot", "rad")]
    motors = ["thigh", "leg", "foot"]
    parts = {
        "torso_share": ("torso_geom",), "thigh_share": ("thigh_geom",), "leg_share": ("leg_geom",),
        "foot_share": ("foot_geom",),
    }  # fmt: skip
    means = [1.25] + [0.0] * 10
    scales = [0.1, 0.1, 0.1, 0.1, 0.2, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    reward_ceiling = 5.0
    reward_alive = 1.0
    action_price = 1e-3
    start_noise = 5e-3
    velocity_limit = 10.0
    healthy_height = (0.7, np.inf)
    healthy_pitch = 0.2

    def failed(self, x):
        return super().failed(x) | (np.abs(x[:, 2:12]) >= 100).any(axis=1)


class Walker2d(Body):
    """Two legs that walk, and fall. 17 observations, 6 actions."""

    name = "walker2d"
    meaning = "MuJoCo's walker, two legs that walk in a plane"
    file = "walker2d_v5.xml"
    frame_skip = 4
    step_seconds = 0.008
    joints = [("x", "m"), ("height", "m"), ("pitch", "rad")] + [
        (f"{side} {part}", "rad") for side in ("right", "left") for part in ("thigh", "leg", "foot")
    ]
    motors = [f"{side} {part}" for side in ("right", "left") for part in ("thigh", "leg", "foot")]
    parts = {
        "torso_share": ("torso_geom",), "thigh_share": ("thigh_geom", "thigh_left_geom"),
        "leg_share": ("leg_geom", "leg_left_geom"), "foot_share": ("foot_geom", "foot_left_geom"),
    }  # fmt: skip
    means = [1.25] + [0.0] * 16
    scales = [0.1, 0.25] + [0.25] * 6 + [1.0, 1.0] + [4.0] * 7
    reward_ceiling = 6.0
    reward_alive = 1.0
    action_price = 1e-3
    start_noise = 5e-3
    velocity_limit = 10.0
    healthy_height = (0.8, 2.0)
    healthy_pitch = 1.0


BODIES = (HalfCheetah, Hopper, Walker2d)


def _family(body, kind, ranges):
    """A system of this body with a family of its own, importable so that tasks can be pickled."""
    name = body.__name__ + kind.capitalize()
    inside = {"name": f"{body.name}-{kind}", "ranges": ranges, "__module__": __name__, "__doc__": body.__doc__}
    globals()[name] = type(name, (body,), inside)
    return globals()[name]


# Every body with gravity, and with the sizes of four body parts, of 0.5 to 1.5.
FAMILIES = {}
for _body in BODIES:
    for _kind, _varied in (("gravity", ["gravity_share"]), ("sizes", list(_body.parts))):
        _made = _family(_body, _kind, [(parameter, (_LOWEST, _HIGHEST)) for parameter in _varied])
        FAMILIES[_made.name] = _made


def register() -> list[str]:
    """Makes all bodies and families known to configurations, fleets and run files in this process; their names.

    The bodies themselves, "half-cheetah", "hopper" and "walker2d", are for machines that have names and parameters of
    their own; as families nothing varies in them unless [family.parameters] says so.
    """
    from ._core import systems

    known = {body.name: body for body in BODIES} | FAMILIES
    for name, body in known.items():
        if name not in systems():
            body().register(getattr(body, "ranges", ()))
    return list(known)
