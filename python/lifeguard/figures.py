"""The figures of the report with matplotlib: the same charts, from the same numbers, in the same colours."""

from __future__ import annotations

import functools
import json
import math
from os import fspath

import numpy as np

from . import _core
from .errors import InvalidInput

BAND_OPACITY = 0.18
SCALES = {"linear": ("linear", "linear"), "log_y": ("linear", "log"), "log_xy": ("log", "log")}
MARKS = {"dot": {"marker": "o"}, "ring": {"marker": "o", "mfc": "white", "mew": 2}, "cross": {"marker": "x", "mew": 2.4}}
SIDES = {"right": (8, 0, "left", "center"), "left": (-8, 0, "right", "center"),
         "above": (0, 8, "center", "bottom"), "below": (0, -8, "center", "top")}


class Figure:
    """A figure of the report: `svg`, and plot() for matplotlib.

    `chart` is what the page draws, docs/report.md; `note` says what it means.
    """

    def __init__(self, experiment, name, method, task, title, svg, chart):
        self.experiment, self.name, self.method, self.task = experiment, name, method, task
        self.title, self.svg = title, svg
        self.chart = json.loads(chart)
        self.note = self.chart["note"]

    def save(self, path):
        """Writes the SVG."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def plot(self, ax=None, scale: str | None = None):
        """Draws it with matplotlib; gives back the axes. `scale` is one of chart["scales"], else the first."""
        return _drawn(self.chart, ax, scale)

    def _repr_svg_(self):
        return self.svg

    def __repr__(self):
        return f"<Figure {self.name}: {self.title}>"


def figures(runs, task: int | None = None) -> list[Figure]:
    """The figures of some runs together (paths or Run), as their report has them.

    Those of single tasks show `task`, without it the one that came nearest to its constraints.
    """
    found = [Figure(*parts) for parts in _core.figures([fspath(getattr(run, "path", run)) for run in runs], task)]
    if task is not None and not any(figure.task == task for figure in found):
        raise InvalidInput("task", str(task), "must be the place of a task of these runs")
    return found


def plot(runs, what: str = "cost", ax=None, task: int | None = None, scale: str | None = None):
    """Draws one figure of the report of some runs, by its name, with matplotlib; gives back the axes.

    Where several methods have the figure it is that of the first.
    """
    found = figures(runs, task)
    for figure in found:
        if figure.name == what:
            return figure.plot(ax, scale)
    raise InvalidInput("what", repr(what), "must be a figure of these runs: " + ", ".join(dict.fromkeys(f.name for f in found)))


def _drawn(chart, ax, scale):
    scale = scale or chart["scales"][0]
    if scale not in chart["scales"]:
        raise InvalidInput("scale", repr(scale), "must be one of " + ", ".join(chart["scales"]))
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install lifeguard[figures]") from error
        ax = plt.figure(figsize=(6.5, 4.2), layout="constrained").add_subplot()
    ax.set_title(chart["title"], loc="left", fontweight="bold", fontsize="medium")
    if "cells" in chart:
        _draw_cells(chart, ax)
    else:
        _draw_axes(chart, ax, *SCALES[scale])
    return ax


def _draw_axes(chart, ax, x_scale, y_scale):
    plane = chart.get("plane")
    ax.set(xscale=x_scale, yscale=y_scale)
    ax.grid(axis="y", color="#e3e6ea")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    region = chart.get("region")
    if region and region["polygon"]:
        colour = _colour(region)
        from matplotlib.colors import to_rgba

        ax.fill(*np.transpose(region["polygon"]), fc=to_rgba(colour, BAND_OPACITY), ec=colour, lw=1.8, label=region["legend"])
    for box in chart.get("boxes", ()):
        sides = [_numbers(side) for side in box["sides"]]
        points = np.concatenate([np.concatenate([side, [[np.nan] * 2]]) for side in sides]) if sides else np.zeros((0, 2))
        ax.plot(*points.T, **_style(box))
    lines = [(line, *_points(line, x_scale, y_scale)) for line in chart.get("lines", ())]
    lowest = min((y[y > 0].min() for _, _, y in lines if (y > 0).any()), default=0)
    for line, x, y in lines:
        if "band" not in line:
            continue
        low, high = (np.where(np.isfinite(end), end, y) for end in _numbers(line["band"]).T)
        if (low < high).any():
            low = np.maximum(low, lowest) if y_scale == "log" else low
            drawn = np.isfinite(y)
            ax.fill_between(x[drawn], low[drawn], high[drawn], color=_colour(line), alpha=BAND_OPACITY, lw=0)
    for line, x, y in lines:
        # A point that is alone is a dot.
        there = np.isfinite(y)
        beside = np.append(False, there[:-1]) | np.append(there[1:], False)
        alone = np.flatnonzero(there & ~beside).tolist()
        ax.plot(x, y, marker="o" if alone else "", ms=line["width"], markevery=alone, **_style(line))
    for rule in chart.get("rules", ()):
        if y_scale == "log" and rule["value"] <= 0:
            continue
        ax.axhline(rule["value"], zorder=1.9, **_style(rule))
        if "label" in rule:
            ax.annotate(rule["label"], (1, rule["value"]), (-2, 4), xycoords=ax.get_yaxis_transform(),
                        textcoords="offset points", ha="right", fontweight="bold", fontsize="small")
    for mark in chart.get("marks", ()):
        at = _numbers(mark["at"])[[plane["across"], plane["up"]]]
        ax.plot(*at, ls="none", ms=6, color=_colour(mark), label=mark.get("legend", "_"), **MARKS[mark["shape"]])
        if "label" in mark:
            x, y, ha, va = SIDES[mark["side"]]
            ax.annotate(mark["label"], at, (x, y), textcoords="offset points", ha=ha, va=va, fontsize="small", annotation_clip=True)
    if plane:
        across, up = plane["across"], plane["up"]
        ax.set(xlabel=plane["axes"][across], ylabel=plane["axes"][up], xlim=plane["view"][across], ylim=plane["view"][up])
    else:
        ax.margins(x=0)
        ax.set(xlabel=chart.get("x", ""), ylabel=chart.get("y", ""))
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.18), borderaxespad=0, ncols=2, fontsize="small")


def _draw_cells(chart, ax):
    from matplotlib.colors import LinearSegmentedColormap

    cells = chart["cells"]
    values = np.nan_to_num(_numbers(cells["values"]))
    largest = np.abs(values).max(initial=0) or 1
    colours = LinearSegmentedColormap.from_list("cells", [_palette()[cells["below"]], "white", _palette()[cells["above"]]])
    mesh = ax.pcolormesh(values, cmap=colours, vmin=-largest, vmax=largest, edgecolors="#e3e6ea", lw=0.5)
    ax.invert_yaxis()
    rows, columns = cells["rows"], cells["columns"]
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    every = math.ceil(len(columns) / 20)
    ax.set_xticks(np.arange(0, len(columns), every) + 0.5, columns[::every])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(chart.get("x", ""))
    ax.figure.colorbar(mesh, ax=ax)


def _points(line, x_scale, y_scale):
    """x and y of a line, with gaps where a point cannot be drawn."""
    x, y = _numbers(line["points"]).reshape(-1, 2).T
    drawn = np.isfinite(x) & np.isfinite(y)
    with np.errstate(invalid="ignore"):
        drawn &= (x > 0) | (x_scale == "linear")
        drawn &= (y > 0) | (y_scale == "linear")
    return np.where(np.isfinite(x), x, np.nan), np.where(drawn, y, np.nan)


def _numbers(values):
    return np.array(values, dtype=float)  # None, which is no number in JSON, becomes NaN


@functools.cache
def _palette():
    return {name: colours["light"] for name, colours in json.loads(_core.palette_json()).items()}


def _colour(part):
    return _palette()[part["colour"]]


def _style(part):
    """How matplotlib draws a line of the page."""
    dash = [float(length) for length in part.get("dash", "").replace(",", " ").split()]
    return {
        "color": _colour(part),
        "lw": part["width"],
        "alpha": part.get("opacity", 1),
        "ls": (0, [max(length, 0.1) / part["width"] for length in dash]) if dash else "-",
        "dash_capstyle": "round",
        "solid_capstyle": "round",
        "label": part.get("legend", "_"),
    }
