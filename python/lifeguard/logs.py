"""Runs in the logs that people already read: TensorBoard, CSV, Weights & Biases, MLflow.

Each takes a run file, finished or live: what was exported of a live run is added to by exporting it
again with follow(), which waits for the rounds that are still to come.
"""

from __future__ import annotations

import csv
import math
import time
from os import PathLike
from pathlib import Path

import numpy as np

from .runs import Run

# Columns of a round that are numbers worth a curve, and what they are called.
ROUND_SCALARS = {
    "mean_cost": "round/observed cost",
    "step_kl": "round/step in nats",
    "noise_share": "round/noise share",
    "worst_margin": "safety/worst margin",
    "unsafe": "safety/unsafe policies",
    "falls": "safety/falls",
    "violations": "safety/left state limits",
    "saturations": "safety/saturated actions",
    "learn_seconds": "time/learning",
    "rollout_seconds": "time/rollout",
}


def scalars(run: Run, after: int = -1):
    """(name, round, value) of every number worth a curve in rounds after `after`, in order of rounds."""
    found = []
    rounds = run._data["rounds"]
    for column, name in ROUND_SCALARS.items():
        for round_, value in zip(rounds["round"], rounds.get(column, ())):
            found.append((name, round_, float(value)))
    evaluations = run._data["evaluations"]
    for round_, cost, margins in zip(evaluations["round"], evaluations["mean_cost"], evaluations["margins"]):
        found.append(("evaluation/mean cost", round_, float(cost)))
        finite = [m for m in margins if math.isfinite(m)]
        if finite:
            found.append(("evaluation/least margin", round_, float(min(finite))))
    regrets = run._data["regrets"]
    for round_, surrogate, true in zip(regrets["round"], regrets["surrogate"], regrets["true_cost"]):
        found.append(("regret/of the losses", round_, float(surrogate)))
        found.append(("regret/of the true cost", round_, float(true)))
    kept = [entry for entry in found if entry[1] > after and math.isfinite(entry[2])]
    return sorted(kept, key=lambda entry: entry[1])


def follow(path: str | PathLike, log, seconds: float = 1.0, timeout: float = math.inf) -> Run:
    """Calls log(name, round, value) for a run and for what is added to it, until it is finished."""
    run = Run(path)
    last = -1
    end = time.monotonic() + timeout
    while True:
        new = scalars(run, last)
        for name, round_, value in new:
            log(name, round_, value)
        last = max((round_ for _, round_, _ in new), default=last)
        if run.finished or time.monotonic() >= end:
            return run
        time.sleep(seconds)
        run.read()


def to_csv(run: Run, folder: str | PathLike) -> list[Path]:
    """rounds.csv, evaluations.csv, certificates.csv and regrets.csv in a folder, which is made."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in ("rounds", "evaluations", "certificates", "regrets"):
        columns = _without_vectors(run.columns(name))
        path = folder / f"{name}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values()))
        written.append(path)
    return written


def _without_vectors(columns):
    """A column of vectors as one column for each entry: "played 0", "played 1", …"""
    flat = {}
    for name, values in columns.items():
        if not values or not isinstance(values[0], np.ndarray):
            flat[name] = values
            continue
        for i in range(len(values[0])):
            flat[f"{name} {i}"] = [value[i] for value in values]
    return flat


def to_tensorboard(run: Run | str | PathLike, folder: str | PathLike, live: bool = False) -> Path:
    """Event files that `tensorboard --logdir` shows; with `live` until the run is finished."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise ImportError("event files need TensorBoard: pip install lifeguard[tensorboard]") from error
    run = run if isinstance(run, Run) else Run(run)
    writer = EventFileWriter(str(folder))

    def log(name, round_, value):
        summary = Summary(value=[Summary.Value(tag=name, simple_value=value)])
        writer.add_event(Event(wall_time=time.time(), step=round_, summary=summary))

    try:
        _export(run, log, live)
    finally:
        writer.close()
    return Path(folder)


def to_wandb(run: Run | str | PathLike, live: bool = False, **init):
    """Into a Weights & Biases run, made by their own client with wandb.init(**init)."""
    import wandb

    run = run if isinstance(run, Run) else Run(run)
    with wandb.init(name=run.path.stem, config=run.settings, **init) as target:
        _export(run, lambda name, round_, value: target.log({name: value, "round": round_}), live)
        return target


def to_mlflow(run: Run | str | PathLike, live: bool = False, **start):
    """Into an MLflow run, made by their own client with mlflow.start_run(**start)."""
    import mlflow

    run = run if isinstance(run, Run) else Run(run)
    with mlflow.start_run(run_name=run.path.stem, **start) as target:
        mlflow.log_params({key: value[:500] for key, value in run.settings.items()})
        _export(run, lambda name, round_, value: mlflow.log_metric(name, value, step=round_), live)
        return target


def _export(run, log, live):
    if live:
        follow(run.path, log)
        return
    for name, round_, value in scalars(run):
        log(name, round_, value)
