"""Frames of our systems as pictures, with NumPy alone."""

from __future__ import annotations

import math

import numpy as np

INK = (0.16, 0.20, 0.25)
BLUE = (0.0, 0.447, 0.698)
ORANGE = (0.835, 0.369, 0.0)
GREY = (0.78, 0.80, 0.83)


class Canvas:
    """A white picture of metres: what is drawn has soft edges of one pixel."""

    def __init__(self, width=480, height=320, metres=4.0, centre=(0.0, 0.0)):
        self.scale = width / metres
        self.pixels = np.ones((height, width, 3))
        y, x = np.mgrid[0:height, 0:width]
        self.x = (x + 0.5 - width / 2) / self.scale + centre[0]
        self.y = (height / 2 - y - 0.5) / self.scale + centre[1]

    def _paint(self, distance, colour):
        cover = np.clip(0.5 - distance * self.scale, 0, 1)[..., np.newaxis]
        self.pixels += cover * (np.array(colour) - self.pixels)

    def line(self, start, end, thickness, colour=INK):
        """A line with round ends."""
        (ax, ay), (bx, by) = start, end
        dx, dy = bx - ax, by - ay
        length = dx * dx + dy * dy
        along = 0.0 if length == 0 else np.clip(((self.x - ax) * dx + (self.y - ay) * dy) / length, 0, 1)
        self._paint(np.hypot(self.x - ax - along * dx, self.y - ay - along * dy) - thickness / 2, colour)

    def disc(self, centre, radius, colour=INK):
        """A filled circle."""
        self._paint(np.hypot(self.x - centre[0], self.y - centre[1]) - radius, colour)

    def box(self, centre, width, height, colour=INK):
        """A filled box."""
        dx = np.abs(self.x - centre[0]) - width / 2
        dy = np.abs(self.y - centre[1]) - height / 2
        outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0))
        self._paint(outside + np.minimum(np.maximum(dx, dy), 0), colour)

    def frame(self):
        """As bytes, height x width x 3."""
        return np.round(self.pixels * 255).astype(np.uint8)


def draw(task, state) -> np.ndarray:
    """The machine in this state: 320 x 480 x 3 bytes."""
    drawings = {"cart-pole": _cart_pole, "mass-spring": _mass_spring, "quadrotor": _quadrotor}
    about = task.system.description
    drawing = _pendulum if task.system.name == "gymnasium-pendulum" else drawings.get(about["drawing"], _signals)
    return drawing(task, about, np.nan_to_num(np.asarray(state, dtype=float)))


def _places(about, state, count):
    places = list(about["positions"])[:count]
    return [state[i] for i in places] if len(places) == count else state[:count]


def _cart_pole(task, about, state):
    x, angle = _places(about, state, 2)
    parameters = task.system.parameters
    length = parameters.get("pole_length_metres", 2 * parameters.get("half_length", 0.5))
    canvas = Canvas(metres=max(4.0, 4 * length), centre=(float(np.clip(x, -50, 50)), length / 2))
    canvas.box((x, -0.12), 1000, 0.01, GREY)
    canvas.box((0, -0.12), 0.02, 0.12, GREY)
    canvas.box((x, 0), 0.5, 0.22, INK)
    tip = (x + length * math.sin(angle), length * math.cos(angle))
    canvas.line((x, 0), tip, 0.07, ORANGE)
    canvas.disc((x, 0), 0.05, BLUE)
    return canvas.frame()


def _pendulum(task, about, state):
    length = task.system.parameters["length"]
    canvas = Canvas(metres=3.6 * length)
    tip = (-length * math.sin(state[0]), length * math.cos(state[0]))
    canvas.line((0, 0), tip, 0.2 * length, ORANGE)
    canvas.disc((0, 0), 0.06 * length, INK)
    return canvas.frame()


def _mass_spring(task, about, state):
    (x,) = _places(about, state, 1)
    goal = task.settings["goal"][0]
    canvas = Canvas(metres=6.0)
    canvas.box((goal, 0), 0.03, 1.4, GREY)
    wall, edge = -2.9, float(np.clip(x, -2.4, 2.6)) - 0.3
    canvas.box((wall, 0), 0.08, 1.6, INK)
    bends = 12
    points = [(wall + (edge - wall) * i / bends, 0.0 if i in (0, bends) else 0.18 * (-1) ** i) for i in range(bends + 1)]
    for start, end in zip(points, points[1:]):
        canvas.line(start, end, 0.03, BLUE)
    canvas.box((edge + 0.3, 0), 0.6, 0.6, ORANGE)
    return canvas.frame()


def _quadrotor(task, about, state):
    names = [name for name, _ in about["states"]]
    value = {name: state[i] for i, name in enumerate(names)}
    roll, pitch, yaw = (value.get(name, 0.0) for name in ("roll", "pitch", "yaw"))
    cr, sr, cp, sp, cy, sy = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch), math.cos(yaw), math.sin(yaw)
    turn = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    canvas = Canvas(metres=3.0)

    def seen(point):  # from the side and a little above
        x, y, z = turn @ point
        return (y - 0.35 * x, 0.9 * z + 0.3 * x)

    arms = [np.array(p, dtype=float) for p in ((1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0))]
    for arm in arms:
        canvas.line(seen(np.zeros(3)), seen(arm), 0.06, INK)
    for place, arm in enumerate(arms):
        ring = [seen(arm + 0.32 * np.array([math.cos(t), math.sin(t), 0.1])) for t in np.linspace(0, 2 * math.pi, 17)]
        for start, end in zip(ring, ring[1:]):
            canvas.line(start, end, 0.03, ORANGE if place == 0 else BLUE)
    canvas.disc(seen(np.zeros(3)), 0.12, INK)
    return canvas.frame()


def _signals(task, about, state):
    canvas = Canvas(metres=2.4)
    error = state - task.settings["goal"]
    canvas.box((0, 0), 2.2, 0.008, GREY)
    for i, e in enumerate(error):
        x = -1.1 + 2.2 * (i + 0.5) / len(error)
        height = 0.7 * math.tanh(e)
        canvas.box((x, height / 2), min(0.3, 1.4 / len(error)), abs(height) + 0.01, ORANGE if e < 0 else BLUE)
    return canvas.frame()
