"""Safe lifelong policy search: many machines learn together, and every policy is proven safe.

    import lifeguard as lg

    task = lg.Task("my cart", lg.System("cart-pole"))
    learner = lg.Learner(task.inputs, task.actions)
    learner.add_task(task.name, lg.gain_box_towards(task.lqr_gains().ravel(), 1.5, 0.2), sigma=task.sigma)
    for seed in range(20):
        policy = learner.policy(task.name)
        learner.observe(task.name, lg.rollout(task, policy, seed=seed))
    assert learner.certificate().valid

`lifeguard.gymnasium` learns from any Gymnasium environment and makes environments of our systems.
`lifeguard.open_run` reads run files as data frames. Both need packages that are imported when they are
first asked for.
"""

import json as _json
import math as _math
from os import PathLike as _PathLike

from . import errors
from ._core import (
    BatchEnvironment,
    Certificate,
    ClosedLoop,
    Experiment,
    Family,
    Features,
    FleetRun,
    GainInequality,
    Learner,
    Policy,
    Random,
    RegretLedger,
    RoundLoss,
    SafeSet,
    System,
    Task,
    Trajectories,
    UncertainPlant,
    action_limits,
    barrier_rows,
    best_known_policy,
    check_run,
    closed_loop_for,
    evaluate,
    families,
    gain_box,
    gain_box_towards,
    half_space,
    inclusion,
    intersect,
    linearised_plant,
    make_closed_loop,
    mass_stability,
    method_settings,
    method_settings_text,
    methods,
    read_recording,
    record,
    register_system,
    resume_run,
    rollout,
    round_loss,
    start_run,
    state_paths,
    systems,
    true_cost,
    version as __version__,
)
from ._core import compare_json as _compare_json
from ._core import play_json as _play_json
from ._core import project_json as _project_json
from .errors import DamagedRunFile, InvalidInput, NotARunFile, RunFileBusy, RunFileError, RunFileExists
from .own_system import OwnSystem
from .runs import Run, open_run, report


def load(path: "str | _PathLike", overrides=(), **values) -> Experiment:
    """The experiment of a TOML file. Overrides are "key=value", or learner__k=4 for learner.k."""
    return _experiment(Experiment.load, path, _overrides(overrides, values))


def parse(toml: str, overrides=(), **values) -> Experiment:
    """The experiment of a TOML text; see load()."""
    return _experiment(Experiment.parse, toml, "text", _overrides(overrides, values))


def _overrides(given, values):
    given = [given] if isinstance(given, str) else list(given)
    return given + [f"{key.replace('__', '.')}={_json.dumps(_plain(value))}" for key, value in values.items()]


def _experiment(read, *arguments):
    try:
        return read(*arguments)
    except InvalidInput as error:  # overrides are the options of a command only there
        raise InvalidInput(error.field.removeprefix("--set: ").replace("--set", "overrides"), error.value, error.rule) from None


def _plain(value, finite=""):
    """As JSON can have it; NumPy's arrays and numbers as lists and numbers. `finite` names what must be so."""
    if isinstance(value, dict):
        return {key: _plain(entry, finite and f"{finite}.{key}".removeprefix("problem.")) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry, finite and f"{finite}[{place}]") for place, entry in enumerate(value)]
    if finite and isinstance(value, float) and not _math.isfinite(value):
        raise InvalidInput(finite, str(value), "must be finite")
    return value


def run(experiment: Experiment, path: "str | _PathLike", on_round=None) -> Run:
    """Plays an experiment into a new run file, as `lifeguard run` does, and opens it.

    `on_round` is called with a dictionary after every round; if it returns False the run stops, ready
    for resume_run(). Ctrl-C stops it as well, and raises KeyboardInterrupt.
    """
    start_run(experiment, path, on_round)
    return open_run(path)


def play(experiment: Experiment) -> dict:
    """Plays an experiment without a file; its summary."""
    return _json.loads(_play_json(experiment))


def compare(experiment: Experiment, folder: "str | _PathLike" = "", threads: int = 0) -> dict:
    """Runs every method of an experiment over its seeds, into a folder of run files if one is named."""
    return _json.loads(_compare_json(experiment, folder, threads))


def project(problem: dict, *, mode="exact", max_alternations=1000, objective_tolerance=1e-10, seconds=60.0) -> dict:
    """Projects knowledge (L, S) onto what is safe for all tasks, as `lifeguard project` does.

    `problem` has p, q, mu1, mu2, c_max (optional), L, and tasks: a list of {name, A, b, rows (optional),
    inequalities (optional), anchor (optional), s}. Arrays may be NumPy's. The result has status,
    objective, alternations, L and tasks with s, alpha, anchor, worst_row and margin; vectors are NumPy
    arrays.
    """
    import numpy as np

    text = _json.dumps(_plain(problem, "problem"))
    solution = _json.loads(_project_json(text, mode, max_alternations, objective_tolerance, seconds))
    solution["L"] = np.array(solution["L"])
    for task in solution["tasks"]:
        for key in ("s", "alpha", "anchor"):
            task[key] = np.array(task[key])
    return solution


def _fleet_policy(self, machine: str) -> dict:
    """What the machine shall play next, proven now and written down before it leaves."""
    return _json.loads(self.policy_json(machine))


def _fleet_observe(self, machine: str, recording: str, format: str = "jsonl", id: str = "") -> dict:
    """One round. From the text of a trajectory file (docs/trajectories.md); what became of it."""
    return _json.loads(self.observe_json(machine, recording, format, id))


FleetRun.policy = _fleet_policy
FleetRun.observe = _fleet_observe

__all__ = [name for name in globals() if not name.startswith("_")]
