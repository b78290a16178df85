"""Run files as data: rounds, evaluations and certificates as frames, figures, reports, logs."""

from __future__ import annotations

import json
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from . import _core, figures
from .errors import InvalidInput


def open_run(path: str | PathLike) -> "Run":
    """What a run file holds at this moment, also of a run that goes on."""
    return Run(path)


def report(*runs, path: str | PathLike | None = None, height: int = 900) -> "Report":
    """The report of some runs (paths or Run): shows itself in a notebook, or is written to `path`."""
    return Report([fspath(run.path) if isinstance(run, Run) else fspath(run) for run in runs], path, height)


class Run:
    """A run file, read as a whole when it is opened; read() takes over what was added since.

    rounds, evaluations, certificates, regrets are pandas frames, or polars' with
    frames="polars"; header, settings, tasks, safe_sets and policies are plain values.
    """

    def __init__(self, path: str | PathLike, frames: str = "pandas"):
        if frames not in ("pandas", "polars"):
            raise InvalidInput("frames", repr(frames), 'must be "pandas" or "polars"')
        self.path = Path(path)
        self._frames = frames
        self.read()

    def read(self) -> "Run":
        """Reads the file again."""
        self._data = _core.read_run(self.path)
        return self

    @property
    def header(self) -> dict:
        """Name, method, seed, how many rounds are done, whether it is finished."""
        return self._data["header"]

    @property
    def settings(self) -> dict:
        """Every setting as the run uses it, as text."""
        return self._data["settings"]

    @property
    def tasks(self) -> list:
        """The tasks."""
        return self._data["tasks"]

    @property
    def safe_sets(self) -> list:
        """The constraints, one set for each task."""
        return self._data["safe_sets"]

    @property
    def finished(self) -> bool:
        """Whether all rounds are played."""
        return self.header["finished"]

    @property
    def policies(self) -> np.ndarray:
        """The parameters of each task's policy now, one row each."""
        return self._data["policies"].T

    @property
    def first_policies(self) -> np.ndarray:
        """The parameters that tasks began with, one row each."""
        return self._data["first_policies"].T

    @property
    def certificate(self):
        """The certificate of the last round of a finished run; None if there is none."""
        text = self._data["certificate"]
        return _core.Certificate.from_json(text) if text else None

    @property
    def summary(self) -> dict:
        """What comparisons and people want to know of a run."""
        return json.loads(_core.summary_json(self.path))

    @property
    def rounds(self):
        """One row for each round: the task, what it cost, what the safeguard did, times."""
        return self._frame(self.columns("rounds"))

    @property
    def evaluations(self):
        """One row for each evaluated round: mean_cost, least_margin, and cost and margin of each task."""
        return self._frame(self.columns("evaluations"))

    @property
    def certificates(self):
        """One row for each certified round: fingerprint, margins of each task, the spectrum of L'L."""
        return self._frame(self.columns("certificates"))

    @property
    def regrets(self):
        """The regret up to and including some rounds."""
        return self._frame(self.columns("regrets"))

    def columns(self, table: str) -> dict:
        """The columns of "rounds", "evaluations", "certificates" or "regrets" as lists, by name."""
        if table not in ("rounds", "evaluations", "certificates", "regrets"):
            raise InvalidInput("table", repr(table), "must be rounds, evaluations, certificates or regrets")
        columns = dict(self._data[table])
        if table == "rounds":
            names = self._data["task_names"]
            columns["task_name"] = [names[task] for task in columns["task"]]
        elif table == "evaluations":
            costs, margins = columns.pop("costs"), columns.pop("margins")
            columns["least_margin"] = [float(np.min(m)) if len(m) else float("nan") for m in margins]
            self._spread(columns, "cost", costs)
            self._spread(columns, "margin", margins)
        elif table == "certificates":
            margins, spectrum = columns.pop("margins"), columns.pop("spectrum")
            columns.pop("worst_rows")
            self._spread(columns, "margin", margins)
            for i in range(max((len(s) for s in spectrum), default=0)):
                columns[f"eigenvalue {i}"] = [s[i] if i < len(s) else float("nan") for s in spectrum]
        return columns

    def policy(self, task: int | str) -> "_core.Policy":
        """The policy of a task now, with the exploration noise of the task."""
        place = self._place(task)
        found = self.tasks[place]
        return _core.Policy.from_parameters(self.policies[place], found.actions, found.sigma)

    def export_policy(self, task: int | str) -> dict:
        """A learnt policy for a controller, as `lifeguard export` writes it."""
        return json.loads(_core.export_policy_json(self.path, str(task)))

    def check(self, replay: bool = False) -> dict:
        """An independent look at the file; `findings` is empty if all holds."""
        return _core.check_run(self.path, replay)

    def figures(self, task: int | None = None) -> list["figures.Figure"]:
        """The figures of the report, as pictures that show themselves in a notebook.

        Those of single tasks show `task`, without it the one that came nearest to its constraints.
        """
        return figures.figures([self], task)

    def plot(self, what: str = "cost", ax=None, task: int | None = None, scale: str | None = None):
        """A figure of the report with matplotlib, by its name: "cost", "margins", "safe-region", …

        Gives back the axes. `scale` is "linear", "log_y" or "log_xy", where it makes sense.
        """
        return figures.plot([self], what, ax, task, scale)

    def report(self, path: str | PathLike | None = None, height: int = 900) -> "Report":
        """The report of this run; shows itself in a notebook."""
        return report(self, path=path, height=height)

    def to_csv(self, folder: str | PathLike) -> list[Path]:
        """rounds.csv, evaluations.csv, certificates.csv and regrets.csv in a folder, which is made."""
        from .logs import to_csv

        return to_csv(self, folder)

    def to_tensorboard(self, folder: str | PathLike) -> Path:
        """TensorBoard event files; see lifeguard.logs."""
        from .logs import to_tensorboard

        return to_tensorboard(self, folder)

    def to_wandb(self, **init):
        """A Weights & Biases run, made with wandb.init(**init); see lifeguard.logs."""
        from .logs import to_wandb

        return to_wandb(self, **init)

    def to_mlflow(self, **start):
        """An MLflow run, made with mlflow.start_run(**start); see lifeguard.logs."""
        from .logs import to_mlflow

        return to_mlflow(self, **start)

    def __repr__(self):
        head = self.header
        return f"<Run {head['name']}: {head['method']}, seed {head['seed']}, {head['rounds_done']} of {head['rounds']} rounds>"

    def _place(self, task):
        names = self._data["task_names"]
        if task in names:
            return names.index(task)
        if not isinstance(task, (int, np.integer)) or not 0 <= task < len(names):
            raise InvalidInput("task", repr(task), f"must be a task's name or its place below {len(names)}")
        return task

    def _spread(self, columns, what, rows):
        for i, name in enumerate(self._data["task_names"]):
            columns[f"{what} {name}"] = [row[i] if i < len(row) else float("nan") for row in rows]

    def _frame(self, columns):
        if self._frames == "polars":
            try:
                import polars
            except ImportError as error:
                raise ImportError("these frames need polars: pip install lifeguard[polars]") from error
            return polars.DataFrame(columns, strict=False)
        try:
            import pandas
        except ImportError as error:
            raise ImportError("frames need pandas: pip install lifeguard[pandas]") from error
        return pandas.DataFrame(columns).set_index("round")


class Report:
    """The page of some runs, one HTML text without network; a notebook shows it in a frame."""

    def __init__(self, runs, path=None, height=900):
        self.html = _core.report_html(runs)
        self.height = height
        if path is not None:
            self.save(path)

    def save(self, path: str | PathLike):
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        from html import escape

        return (
            f'<iframe srcdoc="{escape(self.html, quote=True)}" width="100%" height="{self.height}" '
            'style="border:0" sandbox="allow-scripts allow-downloads"></iframe>'
        )

    def __repr__(self):
        return f"<Report of {len(self.html)} bytes>"
