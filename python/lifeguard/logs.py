"""Runs in the logs that people already read: TensorBoard, CSV, Weights & Biases, MLflow.

Each takes a run file, finished or live: with `live` it looks every so many `seconds` for what was added,
until the run is finished or `timeout` seconds have passed. Weights & Biases and MLflow are reached by
their own clients, as these are set up: WANDB_MODE=offline, MLFLOW_TRACKING_URI.
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

    def log_all(round_, values):
        for name, value in values.items():
            log(name, round_, value)

    run = Run(path)
    _export(run, log_all, True, seconds, timeout)
    return run


def to_csv(
    run: Run | str | PathLike, folder: str | PathLike, live: bool = False, seconds: float = 1.0, timeout: float = math.inf
) -> list[Path]:
    """rounds.csv, evaluations.csv, certificates.csv and regrets.csv in a folder, which is made.

    While a live run goes on, the files are replaced by longer ones: whoever reads them sees whole ones.
    """
    run = _opened(run)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.csv" for name in ("rounds", "evaluations", "certificates", "regrets")}
    for _ in _states(run, live, seconds, timeout):
        for name, path in paths.items():
            columns = _without_vectors(run.columns(name))
            unfinished = path.with_suffix(".csv.new")
            with unfinished.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(zip(*columns.values()))
            unfinished.replace(path)
    return list(paths.values())


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


def to_tensorboard(
    run: Run | str | PathLike, folder: str | PathLike, live: bool = False, seconds: float = 1.0, timeout: float = math.inf
) -> Path:
    """Event files that `tensorboard --logdir` shows."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise ImportError("event files need TensorBoard: pip install lifeguard[tensorboard]") from error
    run = _opened(run)
    writer = EventFileWriter(str(folder))

    def log(round_, values):
        summary = Summary(value=[Summary.Value(tag=name, simple_value=value) for name, value in values.items()])
        writer.add_event(Event(wall_time=time.time(), step=round_, summary=summary))

    try:
        _export(run, log, live, seconds, timeout, writer.flush)
    finally:
        writer.close()
    return Path(folder)


def to_wandb(run: Run | str | PathLike, live: bool = False, seconds: float = 1.0, timeout: float = math.inf, **init):
    """Into a Weights & Biases run, made by their own client with wandb.init(**init); gives it back.

    Curves are over "round".
    """
    try:
        import wandb
    except ImportError as error:
        raise ImportError("Weights & Biases needs its client: pip install lifeguard[wandb]") from error
    run = _opened(run)
    with wandb.init(**{"name": run.path.stem, "config": run.settings, **init}) as target:
        target.define_metric("round")
        target.define_metric("*", step_metric="round")
        _export(run, lambda round_, values: target.log({**values, "round": round_}), live, seconds, timeout)
    return target


def to_mlflow(run: Run | str | PathLike, live: bool = False, seconds: float = 1.0, timeout: float = math.inf, **start):
    """Into an MLflow run, made by their own client with mlflow.start_run(**start); gives it back."""
    try:
        import mlflow
    except ImportError as error:
        raise ImportError("MLflow needs its client: pip install lifeguard[mlflow]") from error
    run = _opened(run)
    with mlflow.start_run(**{"run_name": run.path.stem, **start}) as target:
        mlflow.log_params({key: value[:500] for key, value in run.settings.items()})
        _export(run, lambda round_, values: mlflow.log_metrics(values, step=round_), live, seconds, timeout)
    return target


def _opened(run):
    return run if isinstance(run, Run) else Run(run)


def _states(run, live, seconds, timeout):
    """Once for what a run holds now, and again after each reading of a live one, up to its end."""
    end = time.monotonic() + timeout
    yield
    while live and not run.finished and time.monotonic() < end:
        time.sleep(min(seconds, max(0.0, end - time.monotonic())))
        run.read()
        yield


def _new_rounds(run, told):
    """(round, {name: value}) of what was not told before; `told` has the last round of each name."""
    rounds = {}
    for name, round_, value in scalars(run):
        if round_ > told.get(name, -1):
            rounds.setdefault(round_, {})[name] = value
    for round_, values in sorted(rounds.items()):
        told.update(dict.fromkeys(values, round_))
        yield round_, values


def _export(run, log, live, seconds, timeout, flush=lambda: None):
    told = {}
    for _ in _states(run, live, seconds, timeout):
        for round_, values in _new_rounds(run, told):
            log(round_, values)
        flush()
