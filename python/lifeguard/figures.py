"""Pictures of runs with matplotlib, in the colours of the report."""

from __future__ import annotations

import numpy as np

# The first of the report's palette, which the colour-blind can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0568a", "#b87f00", "#3a8fc4", "#5e3c99", "#56606c")


def plot(run, what="cost", ax=None):
    """Draws one quantity of a run over rounds; gives back the axes."""
    drawings = {"cost": _cost, "margins": _margins, "regret": _regret, "spectrum": _spectrum}
    if what not in drawings:
        raise ValueError(f"what = {what!r}: must be one of {', '.join(drawings)}")
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=(7, 4), layout="constrained").add_subplot()
    drawings[what](run, ax)
    ax.set_xlabel("round")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_costs(runs, ax=None):
    """Several runs in one picture, a line for each method with its mean over seeds and its range."""
    by_method = {}
    for run in runs:
        by_method.setdefault(run.header["method"], []).append(run._data["evaluations"])
    for place, (method, evaluations) in enumerate(by_method.items()):
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.figure(figsize=(7, 4), layout="constrained").add_subplot()
        rounds = np.asarray(evaluations[0]["round"])
        costs = np.array([np.interp(rounds, e["round"], e["mean_cost"]) for e in evaluations])
        colour = COLOURS[place % len(COLOURS)]
        ax.plot(rounds, costs.mean(axis=0), color=colour, label=method)
        if len(costs) > 1:
            ax.fill_between(rounds, costs.min(axis=0), costs.max(axis=0), color=colour, alpha=0.2, lw=0)
    ax.set(xlabel="round", ylabel="mean cost over the tasks")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _cost(run, ax):
    data = run._data["evaluations"]
    costs = np.array(data["costs"])
    ax.plot(data["round"], costs, color=COLOURS[0], alpha=0.25, lw=0.8)
    ax.plot(data["round"], data["mean_cost"], color=COLOURS[0], lw=1.8, label="mean over the tasks")
    ax.set_ylabel("cost without noise")
    ax.set_title(f"{run.header['name']}: {run.header['method']}")
    ax.legend(frameon=False)


def _margins(run, ax):
    data = run._data["evaluations"]
    margins = np.array(data["margins"])
    margins[~np.isfinite(margins)] = np.nan
    ax.plot(data["round"], margins, color=COLOURS[2], alpha=0.25, lw=0.8)
    if margins.size and not np.isnan(margins).all():
        ax.plot(data["round"], np.nanmin(margins, axis=1), color=COLOURS[2], lw=1.8, label="least of all tasks")
        ax.legend(frameon=False)
    ax.axhline(0, color=COLOURS[1], lw=1, ls="--")
    ax.set_ylabel("margin to the nearest constraint")
    ax.set_title("proven margins: below the dashed line nothing may be")


def _regret(run, ax):
    data = run._data["regrets"]
    ax.plot(data["round"], data["surrogate"], color=COLOURS[0], label="of the losses")
    ax.plot(data["round"], data["true_cost"], color=COLOURS[1], ls="--", label="of the true cost")
    ax.set_ylabel("regret")
    ax.legend(frameon=False)


def _spectrum(run, ax):
    data = run._data["certificates"]
    spectra = np.array(data["spectrum"])
    if spectra.size:
        ax.plot(data["round"], spectra, color=COLOURS[6], lw=0.9)
        ax.set_yscale("log")
    ax.set_ylabel("eigenvalues of L'L")
