#!/usr/bin/env python3
"""How near an adversary brings machines to their limits at the edge of their closed-loop sets.

    venv/bin/pip install numpy scipy cma
    venv/bin/python bench/closed_loop_adversary.py build/release/cli/lifeguard          # 2 minutes
    venv/bin/python bench/closed_loop_adversary.py build/release/cli/lifeguard --quick  # below one

For each configs/examples/safe-*.toml: a run, its policies moved to the edge of their sets along
their own gains and along random directions, and proven by `lifeguard project`. Then the start, the
machine's parameters within their tolerance and the whole sequence of clipped noise are searched
that bring it nearest to a limit on a state or an action:

    random    at random
    CMA-ES    as many rollouts
    gradient  backwards through the nonlinear machine; all goes to the ends that it points to
    both      CMA-ES from what the gradient found
    varying   the gradient, for a machine whose parameters change from step to step

Distances are parts of the limit: 0 touches it, 1 is the goal. Starts are in the box of starts, or
in the whole guaranteed region. The machines are written down here anew from docs/systems.md and
compared with `lifeguard simulate` first; random steps of theirs must lie in the exported
inclusions. Exit code 1 if anything crosses, with a file that reproduces it.
"""

import argparse
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings

import numpy as np
from scipy.optimize import linprog

warnings.filterwarnings("ignore", message="Could not import matplotlib")
import cma

ROOT = pathlib.Path(__file__).parent.parent
ROUNDING = 1e-9  # what the simulation here may be off by, in parts of a limit


# --- The machines: arrays have states, actions or parameters first, then any shape. ---


class Mass:
    name, states, actions = "mass-spring", 2, 1
    positions, velocities = [0], [1]
    dt, most = 0.05, 20.0  # seconds, and what the actuator has
    horizon = 250
    parameters = ["spring_newtons_per_metre", "damping_newton_seconds_per_metre", "mass_kilograms"]

    @staticmethod
    def accelerations(p, x, u):
        spring, damping, mass = p
        return [(u[0] - spring * x[0] - damping * x[1]) / mass]


class CartPole:
    name, states, actions = "cart-pole", 4, 1
    positions, velocities = [0, 2], [1, 3]
    dt, most = 0.02, 20.0
    horizon = 300
    parameters = [
        "cart_mass_kilograms",
        "pole_mass_kilograms",
        "pole_length_metres",
        "damping_newton_seconds_per_metre",
    ]

    @staticmethod
    def accelerations(p, x, u):
        cart, pole, length, damping = p
        half, gravity = length / 2, 9.81
        sine, cosine = np.sin(x[2]), np.cos(x[2])
        # [[total, m h cos], [cos, 4/3 h]] (x'', theta'') = (push, g sin)
        total = cart + pole
        push = u[0] - damping * x[1] + pole * half * x[3] ** 2 * sine
        determinant = total * 4 / 3 * half - pole * half * cosine**2
        return [
            (push * 4 / 3 * half - pole * half * cosine * gravity * sine) / determinant,
            (total * gravity * sine - cosine * push) / determinant,
        ]


class Quadrotor:
    name, states, actions = "quadrotor", 6, 4
    positions, velocities = [0, 1, 2], [3, 4, 5]
    dt, most = 0.01, 1.0
    horizon = 200
    parameters = [
        "inertia_x_kilogram_metres2",
        "inertia_y_kilogram_metres2",
        "inertia_z_kilogram_metres2",
        "arm_metres",
    ]

    @staticmethod
    def accelerations(p, x, u):
        ixx, iyy, izz, arm = p
        thrust, drag, rotor = 3.13e-5, 7.5e-7, 6e-5
        hover = np.sqrt(0.65 * 9.81 / (4 * thrust))
        o1, o2, o3, o4 = (hover * (1 + u[i]) for i in range(4))
        residual = o2 + o4 - o1 - o3
        s1, s2, s3, s4 = o1 * o1, o2 * o2, o3 * o3, o4 * o4
        return [
            (x[4] * x[5] * (iyy - izz) - rotor * x[4] * residual + arm * thrust * (s4 - s2)) / ixx,
            (x[3] * x[5] * (izz - ixx) + rotor * x[3] * residual + arm * thrust * (s1 - s3)) / iyy,
            (x[3] * x[4] * (ixx - iyy) + drag * (s2 + s4 - s1 - s3)) / izz,
        ]


def step(machine, p, x, u):
    """Semi-implicit Euler."""
    accelerations = machine.accelerations(p, x, u)
    after = np.empty(x.shape, np.result_type(x, *accelerations))
    for acceleration, i, j in zip(accelerations, machine.positions, machine.velocities):
        after[j] = x[j] + machine.dt * acceleration
        after[i] = x[i] + machine.dt * after[j]
    return after


def slopes(machine, p, x, u):
    """The derivatives of a step by states, actions and parameters, by complex steps.
    Entry [j] is that of all states by the j-th input."""
    h = 1e-30
    shape = np.broadcast_shapes(x[0].shape, u[0].shape, p[0].shape)
    inputs = [np.broadcast_to(v, shape) for v in (*x, *u, *p)]
    results = []
    for j in range(len(inputs)):
        moved = list(inputs)
        moved[j] = inputs[j] + 1j * h
        n, m = machine.states, machine.actions
        after = step(machine, moved[n + m :], np.array(moved[:n]), moved[n : n + m])
        results.append(after.imag / h)
    return np.array(results)


# --- What the command knows. ---


def lifeguard(command, *arguments, text=None, codes=(0,)):
    done = subprocess.run(
        [command, *arguments], input=text, capture_output=True, text=True, cwd=ROOT
    )
    if done.returncode not in codes:
        sys.exit(f"lifeguard {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def parameters_of(machine, task):
    return np.array([task["parameters"][name] for name in machine.parameters])


def compare_simulation(command, machine, folder):
    """`lifeguard simulate` prints nine digits: a step must equal its own as far as these tell."""
    file = folder / f"{machine.name}.csv"
    simulated = json.loads(
        lifeguard(
            command,
            "simulate",
            machine.name,
            "--tasks",
            "5",
            "--trajectories",
            "5",
            "--csv",
            str(file),
            "--json",
        )
    )
    rows = list(csv.reader(io.StringIO(file.read_text())))
    table = np.array(rows[1:], dtype=float)
    n = machine.states
    half_digit = lambda v: 0.5 * 10.0 ** (np.floor(np.log10(np.maximum(np.abs(v), 1e-300))) - 8)
    worst, difference = 0.0, 0.0
    for t, task in enumerate(simulated["tasks"]):
        p = parameters_of(machine, task)[:, None]
        for trajectory in range(5):
            part = table[(table[:, 0] == t) & (table[:, 1] == trajectory)]
            x, after = part[:-1, 4 : 4 + n].T, part[1:, 4 : 4 + n].T
            u = np.clip(part[:-1, 4 + n :].T, -machine.most, machine.most)
            away = np.abs(step(machine, p, x, u) - after)
            printed = np.concatenate([half_digit(x), half_digit(u)])
            allowed = half_digit(after) + np.einsum(
                "jis,js->is", np.abs(slopes(machine, p, x, u))[: len(printed)], printed
            )
            worst = max(worst, np.max(away / (1.001 * allowed + 1e-14)))
            difference = max(difference, np.max(away / np.abs(after).max(0)))
    print(
        f"{machine.name}: {len(table)} simulated steps, largest difference {difference:.1e} "
        "of the state, "
        f"{worst:.2f} of what rounding to nine digits explains"
    )
    if not worst <= 1:
        sys.exit("this is another machine than that of lifeguard simulate")


class Policies:
    """Policies at the edge of their sets, and all that bounds their machines. Arrays end with
    the policy and 1, where candidates come."""

    def __init__(self, machine, exports, known, tolerance, gains, labels):
        loops = [e["closed_loop"] for e in exports]
        first = loops[0]
        self.machine, self.labels, self.count = machine, labels, len(labels)
        self.gains = np.array(gains).transpose(1, 2, 0)[..., None]  # m, n, policy, 1
        self.norm = np.array([l["p"] for l in loops])  # P
        self.root = np.linalg.inv(np.linalg.cholesky(self.norm)).transpose(0, 2, 1)  # x = root y
        column = lambda values: np.array(values, dtype=float).T[..., None]
        self.start_low = column([l["start_low"] for l in loops])
        self.start_high = column([l["start_high"] for l in loops])
        self.noise = column([l["noise_limits"] for l in loops])
        spread = tolerance * np.abs(known)
        self.low, self.high = column(known - spread), column(known + spread)
        assert exports[0]["action_high"] == [machine.most] * machine.actions
        # Limits: states, then combinations of actions.
        limits = [np.inf if v is None else v for v in first["state_limits"]]
        self.states = [i for i, v in enumerate(limits) if np.isfinite(v)]
        self.state_limits = np.array(limits)[self.states][:, None, None]
        self.directions = np.array([a["direction"] for a in first["action_limits"]])
        self.action_limits = np.array([a["limit"] for a in first["action_limits"]])[:, None, None]
        names = [s["name"] for s in exports[0]["inputs"]]
        self.limit_names = [names[i] for i in self.states] + [
            a["name"] for a in first["action_limits"]
        ]
        for loop in loops:
            assert loop["state_limits"] == first["state_limits"]
            assert loop["action_limits"] == first["action_limits"]

    def act(self, x, noise):
        return np.einsum("mnp,nps->mps", self.gains[..., 0], x) + noise

    def start_towards(self, direction, region):
        """The start that is farthest in a direction."""
        if region == "box":
            return np.where(direction >= 0, self.start_high, self.start_low)
        y = np.einsum("pij,ips->jps", self.root, direction)
        y /= np.maximum(np.linalg.norm(y, axis=0), 1e-300)
        return np.einsum("pij,jps->ips", self.root, y)

    def start_of(self, z, region):
        """Any numbers as a start."""
        if region == "box":
            middle, radius = (self.start_high + self.start_low) / 2, (
                self.start_high - self.start_low
            ) / 2
            return middle + radius * np.clip(z, -1, 1)
        return np.einsum("pij,jps->ips", self.root, z / np.maximum(1, np.linalg.norm(z, axis=0)))


def rollout(policies, p, x, noise, keep=False):
    """The largest part of each limit that is reached, and the largest x'Px after the start; with
    `keep` also states and actions. p is constant, or one for each step."""
    machine, steps = policies.machine, len(noise)
    reach_x = np.zeros((len(policies.states), *x.shape[1:]))
    reach_u = np.zeros((len(policies.directions), *x.shape[1:]))
    level = np.zeros(x.shape[1:])
    kept = []
    for k in range(steps):
        np.maximum(reach_x, np.abs(x[policies.states]), out=reach_x)
        u = policies.act(x, noise[k])
        np.maximum(reach_u, np.abs(np.einsum("fm,mps->fps", policies.directions, u)), out=reach_u)
        if keep:
            kept.append((x, u))
        u = np.clip(u, -machine.most, machine.most)
        x = step(machine, p[k] if p.ndim == 4 else p, x, u)
        if k % 5 == 0:
            y = np.einsum("pij,jps->ips", policies.norm, x)
            np.maximum(level, np.einsum("ips,ips->ps", x, y), out=level)
    np.maximum(reach_x, np.abs(x[policies.states]), out=reach_x)
    reach = np.concatenate([reach_x / policies.state_limits, reach_u / policies.action_limits])
    reach, level = (np.where(np.isnan(v), np.inf, v) for v in (reach, level))
    return (reach, level, kept) if keep else (reach, level)


class Best:
    """The scenario of each policy that comes nearest to one of some limits, or crosses any."""

    def __init__(self, policies, limits):
        self.limits = np.array(limits)
        self.reach = np.zeros(policies.count)
        self.limit = np.zeros(policies.count, dtype=int)
        self.level = np.zeros(policies.count)
        self.scenario = [None] * policies.count
        self.rollouts = 0

    def take(self, reach, level, p, x, noise):
        """How near each candidate came."""
        self.rollouts += reach.shape[2]
        self.level = np.maximum(self.level, level.max(1))
        near = reach[self.limits].max(0)
        all_of_them = np.maximum(reach.max(0), level)
        near = np.where(all_of_them > 1 + ROUNDING, all_of_them, near)
        for i, s in enumerate(near.argmax(1)):
            if near[i, s] <= self.reach[i]:
                continue
            self.reach[i] = near[i, s]
            crossing = near[i, s] > 1 + ROUNDING
            limits = np.arange(len(reach)) if crossing else self.limits
            self.limit[i] = limits[reach[limits, i, s].argmax()]
            self.scenario[i] = (p[..., i, s].copy(), x[:, i, s].copy(), noise[:, :, i, s].copy())
        return near


# --- The searches. ---


def random_search(policies, region, limits, rollouts, size, random):
    """Ends of everything more often than the inside; noise that switches at random."""
    machine, best = policies.machine, Best(policies, limits)
    n, m, steps = machine.states, machine.actions, machine.horizon
    while best.rollouts < rollouts:
        shape = (policies.count, size)
        z = random.standard_normal((n, *shape)) * 3
        x = policies.start_of(z, region)
        share = np.clip(random.uniform(-1.5, 1.5, (len(policies.low), *shape)), -1, 1)
        p = (policies.low + policies.high) / 2 + (policies.high - policies.low) / 2 * share
        flips = random.random((steps, m, *shape)) < 10 ** random.uniform(-3, 0, (1, 1, *shape))
        noise = policies.noise * np.where(np.cumsum(flips, 0) % 2 == 0, 1.0, -1.0)
        noise *= np.where(random.random((1, m, *shape)) < 0.5, 1.0, -1.0)
        reach, level = rollout(policies, p, x, noise)
        best.take(reach, level, p, x, noise)
    return best


def closed_loops(policies, p):
    """A and B of the linear closed loop at the goal; parameters are (q, policy, candidate)."""
    machine = policies.machine
    n, m = machine.states, machine.actions
    shape = p.shape[1:]
    d = slopes(machine, p, np.zeros((n, *shape)), np.zeros((m, *shape)))
    b = d[n : n + m]  # [action, state, policy, candidate]
    a = d[:n] + np.einsum("mips,mjps->jips", b, np.broadcast_to(policies.gains, (m, n, *shape)))
    return a.transpose(2, 3, 1, 0), b.transpose(2, 3, 1, 0)  # (policy, candidate, state, input)


def linear_worst_times(policies, functionals, p, region):
    """The step at which the linear machine with its worst start and noise comes farthest."""
    a, b = closed_loops(policies, p)
    c = functionals.transpose(1, 2, 0)[..., None].copy()
    at = a.transpose(0, 1, 3, 2)
    shape = p.shape[1:]
    shaken, farthest, when = np.zeros(shape), np.full(shape, -1.0), np.zeros(shape, dtype=int)
    limit = policies.noise.transpose(1, 2, 0)
    for k in range(policies.machine.horizon):
        direction = c[..., 0].transpose(2, 0, 1)
        start = np.einsum("ips,ips->ps", direction, policies.start_towards(direction, region))
        better = start + shaken > farthest
        farthest = np.where(better, start + shaken, farthest)
        when = np.where(better, k, when)
        shaken = shaken + (np.abs((b.transpose(0, 1, 3, 2) @ c)[..., 0]) * limit).sum(-1)
        c = at @ c
    return when


def gradient_search(policies, region, limits, corners, iterations, random, varying=False):
    """For every limit, from the machine as it is known and from corners of its tolerance: the
    gradient of what is reached at one step by start, parameters and noise; all go to the ends it
    points to."""
    machine, best = policies.machine, Best(policies, limits)
    n, m, steps = machine.states, machine.actions, machine.horizon
    count, f = policies.count, len(limits)
    size = f * corners
    shape = (count, size)
    which = np.array(limits)[np.arange(size) % f]
    # What each candidate pushes: a state, or actions through the gains and their noise.
    functionals, direct = np.zeros((n, *shape)), np.zeros((m, *shape))
    for s in range(size):
        if which[s] < len(policies.states):
            functionals[policies.states[which[s]], :, s] = 1
        else:
            w = policies.directions[which[s] - len(policies.states)]
            functionals[:, :, s] = np.einsum("m,mnp->np", w, policies.gains[..., 0])
            direct[:, :, s] = w[:, None]
    corner = random.integers(0, 2, (len(policies.low), count, size))
    p = np.where(corner == 1, policies.high, policies.low)
    p[:, :, :f] = (policies.low + policies.high) / 2
    when = linear_worst_times(policies, functionals, p, region)
    x0 = np.zeros((n, *shape))
    noise = np.zeros((steps, m, *shape))
    for iteration in range(iterations + 1):
        reach, level, kept = rollout(policies, p, x0, noise, keep=True)
        best.take(reach, level, p, x0, noise)
        if iteration == iterations:
            break
        if iteration > 1 and not varying:
            when = linear_worst_times(policies, functionals, p, region)
        costate = np.zeros((n, *shape))
        pulls = np.zeros((steps, len(p) if not varying else p.shape[-3], *shape))
        for k in range(min(steps - 1, int(when.max())), -1, -1):
            x, u = kept[k]
            now = when == k
            d = slopes(machine, p[k] if p.ndim == 4 else p, x, u)
            by_input = np.einsum("jips,ips->jps", d, costate)
            noise[k] = policies.noise * np.sign(np.where(now, direct, by_input[n : n + m]))
            pulls[k] = by_input[n + m :]
            costate = (
                by_input[:n]
                + np.einsum("mnp,mps->nps", policies.gains[..., 0], by_input[n : n + m])
                + np.where(now, functionals, 0)
            )
        x0 = policies.start_towards(costate, region)
        p = np.where((pulls if varying else pulls.sum(0)) >= 0, policies.high, policies.low)
    return best


def largest_step(policies, noisy, starts, iterations, random):
    """The largest factor by which |x|_P grows in one step from the edge of the region (without
    noise: from anywhere in it), for each policy: power iterations on start, parameters, noise."""
    machine = policies.machine
    n, m = machine.states, machine.actions
    shape = (policies.count, starts)
    radius = (
        np.ones(shape)
        if noisy
        else np.where(np.arange(starts) % 2 == 0, 1.0, random.uniform(0.01, 1, shape))
    )
    x = radius * policies.start_towards(random.standard_normal((n, *shape)), "region")
    p = np.where(random.random((len(policies.low), *shape)) < 0.5, policies.low, policies.high)
    noise = policies.noise * (1 if noisy else 0) * np.sign(random.standard_normal((m, *shape)))
    largest = np.zeros(policies.count)
    for _ in range(iterations):
        u = policies.act(x, noise)
        after = step(machine, p, x, u)
        costate = np.einsum("pij,jps->ips", policies.norm, after)
        growth = np.sqrt(np.einsum("ips,ips->ps", after, costate)) / radius
        largest = np.maximum(largest, growth.max(1))
        by_input = np.einsum("jips,ips->jps", slopes(machine, p, x, u), costate)
        by_state = by_input[:n] + np.einsum(
            "mnp,mps->nps", policies.gains[..., 0], by_input[n : n + m]
        )
        x = radius * policies.start_towards(by_state, "region")
        p = np.where(by_input[n + m :] >= 0, policies.high, policies.low)
        if noisy:
            noise = policies.noise * np.sign(by_input[n : n + m])
    return largest


def cma_search(policies, region, limits, generations, size, seed, begin=None):
    """Over the start, the parameters, and noise that is clip(base + what pushes the linear machine
    in a direction until a step + a broken line): the base is what the search begins with, or
    nothing."""
    machine, best = policies.machine, Best(policies, limits)
    n, m, q, steps = machine.states, machine.actions, len(policies.low), machine.horizon
    knots = 8
    dimension = n + q + n + 1 + m * knots
    middle, radius = (policies.low + policies.high) / 2, (policies.high - policies.low) / 2
    # Noise k steps before the end that moves each state most, each of mean square 1.
    a, b = closed_loops(policies, middle)
    responses, power = [], b[:, 0]
    for _ in range(steps):
        responses.append(power)  # A^k B
        power = a[:, 0] @ power
    responses = np.array(responses)  # step, policy, state, action
    responses /= np.sqrt((responses**2).mean((0, 3), keepdims=True)) + 1e-300
    base = np.zeros((steps, m, policies.count, 1))
    strategies = []
    for i in range(policies.count):
        z = np.zeros(dimension)
        if begin is not None:
            p, x, noise = begin.scenario[i]
            base[:, :, i, 0] = noise / policies.noise[:, i, 0]
            if region == "box":
                half = (policies.start_high - policies.start_low)[:, i, 0] / 2
                z[:n] = (x - (policies.start_high + policies.start_low)[:, i, 0] / 2) / half
            else:
                z[:n] = np.linalg.solve(policies.root[i], x)
            z[n : n + q] = (p - middle[:, i, 0]) / radius[:, i, 0]
        strategies.append(
            cma.CMAEvolutionStrategy(
                z,
                0.2 if begin is not None else 0.7,
                {"popsize": size, "seed": seed + i + 1, "verbose": -9, "verb_log": 0},
            )
        )
    time_of = np.arange(steps)
    for _ in range(generations):
        asked = [s.ask() for s in strategies]
        z = np.array(asked).transpose(2, 0, 1)  # dimension, policy, candidate
        x = policies.start_of(z[:n], region)
        p = middle + radius * np.clip(z[n : n + q], -1, 1)
        end = np.round(steps * (0.5 + 0.5 * np.tanh(z[n + q + n]))).astype(int)
        pushed = np.einsum("tpim,ips->tmps", responses, z[n + q : n + q + n], optimize=True)
        back = end[None] - 1 - time_of[:, None, None]
        pushed = (
            np.take_along_axis(pushed, np.clip(back, 0, None)[:, None], 0) * (back >= 0)[:, None]
        )
        lines = z[n + q + n + 1 :].reshape(m, knots, *z.shape[1:])
        where = time_of * (knots - 1) / (steps - 1)
        left = np.minimum(where.astype(int), knots - 2)
        part = (where - left)[None, :, None, None]
        line = (lines[:, left] * (1 - part) + lines[:, left + 1] * part).transpose(1, 0, 2, 3)
        noise = policies.noise * np.clip(
            base + 5 * (pushed + line) if begin is None else base + 2 * (pushed + line), -1, 1
        )
        reach, level = rollout(policies, p, x, noise)
        near = best.take(reach, level, p, x, noise)
        for i, s in enumerate(strategies):
            s.tell(asked[i], list(-near[i]))
    return best


# --- The edge of the sets. ---


def largest_ratio(inequalities, gains):
    """The square of the largest part of its limit that an inequality reaches."""
    stacked = np.vstack([np.eye(gains.shape[1]), gains])
    worst = 0.0
    for theta, root in inequalities:
        half = root @ (stacked.T @ theta @ stacked) @ root.T
        worst = max(worst, np.linalg.eigvalsh((half + half.T) / 2)[-1])
    return worst


def edge(export, direction, ratio=1.0):
    """The gains farthest in a direction with no inequality beyond this part of its limit."""
    gains = np.array(export["gains"])
    inequalities = [
        (np.array(i["theta"]), np.linalg.inv(np.linalg.cholesky(np.array(i["limit"]))))
        for i in export["closed_loop"]["inequalities"]
    ]
    inside = lambda way: largest_ratio(inequalities, gains + way * direction) < ratio**2 * (
        1 - 1e-9
    )
    assert largest_ratio(inequalities, gains) < 1, "the exported policy is not inside"
    if not inside(0):  # learning has brought it to the edge
        return gains
    low, high = 0.0, 1e-6
    while inside(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return gains + low * direction


def certify(command, exports, gains, labels):
    """The same gains, proven by the command: safe as they are, none moved."""
    d = gains[0].size
    tasks = []
    for export, k, label in zip(exports, gains, labels):
        anchor = np.array(export["gains"])
        tasks.append(
            {
                "name": label,
                "A": [],
                "b": [],
                "anchor": anchor.ravel().tolist(),
                "inequalities": export["closed_loop"]["inequalities"],
                "s": (k - anchor).ravel().tolist(),
            }
        )
    problem = {"p": 0.25, "q": 4, "mu1": 1, "mu2": 1, "L": np.eye(d).tolist(), "tasks": tasks}
    answer = json.loads(lifeguard(command, "project", "-", text=json.dumps(problem)))
    if answer["status"] != "converged" or answer["objective"] != 0:
        sys.exit("a policy at the edge is not proven: " + answer["status"])
    margins = [t["margin"] for t in answer["tasks"]]
    return [np.array(t["alpha"]).reshape(gains[0].shape) for t in answer["tasks"]], max(margins)


def inclusion_misses(machine, exports, known, tolerance, samples, random):
    """Random steps of the nonlinear machines within their limits that no step of the exported
    inclusion equals, by linear programs: weights of the corners and what the channels add."""
    misses = 0
    for export, parameters in zip(exports, known):
        loop = export["closed_loop"]
        norm = np.linalg.inv(np.linalg.cholesky(np.array(loop["p"]))).T
        n, m = machine.states, machine.actions
        spreads = np.array(loop["spreads"]).reshape(n, -1)
        f, h = np.array(loop["state_factors"]).reshape(-1, n), np.array(
            loop["action_factors"]
        ).reshape(-1, m)
        channels, corners = spreads.shape[1], len(loop["corners"])
        for _ in range(samples):
            y = random.standard_normal(n)
            x = norm @ (y / np.linalg.norm(y))
            share = np.sign(random.standard_normal(len(parameters))) * (random.random() < 0.7)
            p = parameters * (
                1 + tolerance * np.where(share == 0, random.uniform(-1, 1, len(share)), share)
            )
            u = random.uniform(-1, 1, m)
            for a in loop["action_limits"]:
                u /= max(1.0, abs(np.dot(a["direction"], u)) / a["limit"])
            u *= random.choice([1.0, random.random()])
            if m == 1:
                u *= loop["action_limits"][0]["limit"]
            after = step(machine, p[:, None], x[:, None], u[:, None])[:, 0]
            reach = np.abs(f @ x + h @ u)
            columns = np.array(
                [np.array(c["a"]) @ x + np.array(c["b"]) @ u for c in loop["corners"]]
            ).T
            scale = np.abs(after).max()
            matrix = np.block(
                [
                    [columns / scale, spreads / scale],
                    [np.ones((1, corners)), np.zeros((1, channels))],
                ]
            )
            answer = linprog(
                np.zeros(corners + channels),
                A_eq=matrix,
                b_eq=np.append(after / scale, 1),
                bounds=[(0, None)] * corners + [(-r - 1e-9, r + 1e-9) for r in reach],
            )
            misses += answer.status != 0
    return misses


def attack(policies, region, limits, options, random):
    """All searches; pairs of a name and what they found."""
    found = {}
    size = 24
    found["CMA-ES"] = cma_search(policies, region, limits, options.generations, size, options.seed)
    found["random"] = random_search(
        policies, region, limits, found["CMA-ES"].rollouts, size, random
    )
    found["gradient"] = gradient_search(policies, region, limits, options.corners, 5, random)
    found["both"] = cma_search(
        policies,
        region,
        limits,
        options.generations,
        size,
        options.seed + 1000,
        begin=found["gradient"],
    )
    found["varying"] = gradient_search(
        policies, region, limits, options.corners, 5, random, varying=True
    )
    return found


def report_crossing(policies, i, best, name, region):
    p, x, noise = best.scenario[i]
    file = pathlib.Path(f"crossing-{policies.machine.name}-{i}.json")
    file.write_text(
        json.dumps(
            {
                "machine": policies.machine.name,
                "policy": policies.labels[i],
                "gains": policies.gains[..., i, 0].tolist(),
                "parameters": p.tolist(),
                "start": x.tolist(),
                "noise": noise.tolist(),
                "limit": policies.limit_names[best.limit[i]],
                "reach": best.reach[i],
            }
        )
    )
    print(
        f"CROSSED: {policies.labels[i]}, {policies.limit_names[best.limit[i]]} at "
        f"{best.reach[i]:.9f} of its "
        f"limit ({name}, start in the {region}); written to {file}"
    )


def first_crossings(exports, known, tolerance, policies, directions, random):
    """The part of its limit that the worst inequality must reach, beyond 1, until the gradient
    finds a crossing from the whole region; infinity if not even at 4."""
    left = np.arange(policies.count)
    found = np.full(policies.count, np.inf)
    everything = range(len(policies.limit_names))
    for ratio in 1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0:
        outside = Policies(
            policies.machine,
            [exports[i] for i in left],
            known[left],
            tolerance,
            [edge(exports[i], directions[i], ratio) for i in left],
            [policies.labels[i] for i in left],
        )
        crossed = gradient_search(outside, "region", everything, 2, 2, random).reach > 1 + ROUNDING
        found[left[crossed]] = ratio
        left = left[~crossed]
        if len(left) == 0:
            break
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", type=lambda p: str(pathlib.Path(p).resolve()), help="lifeguard")
    parser.add_argument("--quick", action="store_true", help="fewer policies and shorter searches")
    parser.add_argument("--systems", default="mass,cart-pole,quadrotor")
    parser.add_argument("--rounds", type=int, default=50, help="of the runs")
    parser.add_argument(
        "--directions",
        type=int,
        default=4,
        help="for each task: to larger and to smaller gains, the rest random",
    )
    parser.add_argument("--generations", type=int, default=60)
    parser.add_argument("--corners", type=int, default=4, help="machines the gradient begins with")
    parser.add_argument("--seed", type=int, default=1, help="of runs and searches")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.directions, options.generations, options.corners = 20, 3, 25, 3
    np.seterr(over="ignore", invalid="ignore")  # far beyond the edge machines diverge
    crossed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for system, machine in ("mass", Mass), ("cart-pole", CartPole), ("quadrotor", Quadrotor):
            if system in options.systems.split(","):
                crossed += examine(options, system, machine, folder)
    print("\nnone crosses" if crossed == 0 else f"\n{crossed} crossings")
    return 1 if crossed else 0


def examine(options, system, machine, folder):
    begin = time.process_time()
    random = np.random.default_rng(options.seed)
    command = options.command
    config = f"configs/examples/safe-{system}.toml"
    tolerance = tomllib.loads((ROOT / config).read_text())["safe_set"]["closed_loop"]["tolerance"]
    compare_simulation(command, machine, folder)
    run = str(folder / f"{system}.run")
    lifeguard(
        command,
        "run",
        config,
        "-o",
        run,
        "--seed",
        str(options.seed),
        "--quiet",
        "--set",
        f"experiment.rounds={options.rounds}",
    )
    machines = json.loads(
        lifeguard(
            command,
            "simulate",
            machine.name,
            "--seed",
            str(options.seed),
            "--json",
            "--trajectories",
            "1",
            "--steps",
            "1",
        )
    )["tasks"]
    tasks = range(3 if options.quick else 10)
    policy_of = [
        json.loads(lifeguard(command, "policy", run, "--task", str(t), "--json")) for t in tasks
    ]
    known = np.array([parameters_of(machine, machines[t]) for t in tasks])
    samples = 10 if options.quick else 40
    misses = inclusion_misses(machine, policy_of, known, tolerance, samples, random)
    print(
        f"{system}: {misses} of {samples * len(known)} random steps outside the exported inclusions"
    )
    exports, directions, labels, places = [], [], [], []
    for t in tasks:
        gains = np.array(policy_of[t]["gains"])
        # In the units of the norm, so that no state's gains are preferred by their size.
        scale = np.linalg.cholesky(np.array(policy_of[t]["closed_loop"]["p"])).T
        for i in range(options.directions):
            direction = (
                gains
                if i == 0
                else -gains if i == 1 else random.standard_normal(gains.shape) @ scale
            )
            way, back = (
                np.linalg.norm(edge(policy_of[t], d) - gains) for d in (direction, -direction)
            )
            if (
                i > 1 and way < 1e-3 * back
            ):  # learning has brought it to this edge: to the other one
                direction = -direction
            exports.append(policy_of[t])
            directions.append(direction)
            labels.append(
                f"{policy_of[t]['task']}, "
                + (
                    "larger gains"
                    if i == 0
                    else "smaller gains" if i == 1 else f"random direction {i - 1}"
                )
            )
            places.append(t)
    edges = [edge(export, direction) for export, direction in zip(exports, directions)]
    edges, margin = certify(command, exports, edges, labels)
    policies = Policies(machine, exports, known[places], tolerance, edges, labels)
    print(
        f"{system}: {len(labels)} policies at the edge, all proven; margins at most {margin:.1e} "
        f"({time.process_time() - begin:.0f} s)"
    )
    crossed = misses
    decay = policy_of[0]["closed_loop"]["decay"]
    for noisy, proven, text in (False, decay, "without noise"), (
        True,
        1.0,
        "with noise, from the edge",
    ):
        largest = largest_step(policies, noisy, 64, 30, random)
        print(
            f"{system}: |x|_P after a step {text}: at most {largest.max():.6f} "
            "of that before (median of the "
            f"policies {np.median(largest):.6f}), proven {proven:g}"
        )
        crossed += np.count_nonzero(~(largest <= proven * (1 + ROUNDING)))
    print(
        f"{'limits, start in the':<22}{'search':<10}{'nearest':>9}{'median':>9}"
        "   the nearest, and its policy"
    )
    of_states = range(len(policies.states))
    of_actions = range(len(policies.states), len(policies.limit_names))
    # From the whole region policies at the edge may touch limits on actions with their first one.
    for kind, region, limits in (
        ("states", "box", of_states),
        ("actions", "box", of_actions),
        ("states", "region", of_states),
    ):
        found = attack(policies, region, limits, options, random)
        for name in "random", "CMA-ES", "gradient", "both", "varying":
            best = found[name]
            i = best.reach.argmax()
            print(
                f"{kind + ', ' + region:<22}{name:<10}{1 - best.reach[i]:>9.4f}"
                f"{1 - np.median(best.reach):>9.4f}   "
                f"{policies.limit_names[best.limit[i]]}, {labels[i]}; "
                f"largest x'Px {best.level.max():.4f}"
            )
            for j in np.flatnonzero(best.reach > 1 + ROUNDING):
                crossed += 1
                report_crossing(policies, j, best, name, region)
        print(
            f"  ({found['CMA-ES'].rollouts} rollouts of {machine.horizon} steps a policy "
            "by CMA-ES and at random; "
            f"{time.process_time() - begin:.0f} s)",
            flush=True,
        )
    found = np.sort(
        first_crossings(exports, known[places], tolerance, policies, directions, random)
    )
    print(
        f"{system}: beyond the edge the gradient crosses once an inequality is at "
        f"{found[0]:g} of its limit (first), "
        f"{found[len(found) // 2]:g} (median), {found[-1]:g} (last policy)"
        f" ({time.process_time() - begin:.0f} s)\n",
        flush=True,
    )
    return crossed


if __name__ == "__main__":
    sys.exit(main())
