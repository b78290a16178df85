#!/usr/bin/env python3
"""Writes fuzz/learner_state_corpus: states of learners of every kind, out of tiny runs.

    fuzz/learner_states.py [build/release/cli/lifeguard]

To be run when the format of a state changes; the test FuzzCorpus says when.
"""
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz/learner_state_corpus"

TINY = """
[experiment]
name = "tiny"
rounds = 4
tasks = 2
trajectories = 4
steps = 10
[evaluation]
start_states = 2
[family]
base = "mass-spring"
"""
BOX = "[safe_set]\nslack_limit = 100\n[safe_set.lqr_box]\nreach = 0.5\n"
CLOSED_LOOP = """
[family.settings]
action_weights = 0.05
sigma = 0.25
noise_limit = 0.5
[safe_set.closed_loop]
tolerance = { mass_kilograms = 0.1 }
decay = 0.995
start_share = 0.7
state_limits = [8.0, 10.0]
"""


def state(command, config, *sets):
    """The stored state of a run, as its ledger's part and its learner's."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tiny.toml"
        file.write_text(config)
        run = Path(folder) / "tiny.run"
        overrides = [word for text in sets for word in ("--set", text)]
        subprocess.run([command, "run", file, "-o", run, "--quiet", *overrides], check=True)
        (blob,) = sqlite3.connect(run).execute("SELECT state FROM checkpoint").fetchone()
    text = bytes(blob).decode()
    ledger = text.find("format lifeguard regret")
    begins = ("format lifeguard learner", "learner ")
    learner = min(text.index("\n" + word) + 1 for word in begins if "\n" + word in text)
    return text[ledger:learner], text[learner:]


def main():
    command = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/cli/lifeguard"

    def write(name, text):
        (CORPUS / name).write_text(text)

    box = TINY + BOX
    linearised = 'learner.update="linearised"'
    ledger, learner = state(command, box, linearised)
    write("regret", ledger)
    write("linearised", learner)
    write("alternating", state(command, box, 'learner.update="alternating"')[1])
    write("empirical_bayes", state(command, box, 'learner.update="empirical Bayes"')[1])
    rotors = TINY.replace("mass-spring", "quadrotor").replace("steps = 10", "steps = 60")
    write("coupled_actions", state(command, rotors, "experiment.trajectories=8", "experiment.tasks=1")[1])
    write("leader", state(command, box, 'learner.update="leader"')[1])
    write("no_projection", state(command, box, 'projection.mode="none"')[1])
    write("no_constraints", state(command, TINY)[1])
    free = state(command, TINY, linearised)[1]
    lines = {"rounds ": "rounds 0", "tasks ": "tasks 0", "basis ": "basis 2 2 1 0 0 1",
             "coefficients ": "coefficients 2 0", "anchors ": "anchors 2 0"}
    empty = []
    for line in free[: free.index("\ntask ")].splitlines():
        empty.append(next((new for old, new in lines.items() if line.startswith(old)), line))
    write("no_tasks", "\n".join(empty) + "\n")
    ledger, learner = state(command, TINY + CLOSED_LOOP, "experiment.tasks=1")
    write("closed_loop_regret", ledger)
    write("closed_loop", learner)
    for method in ("pg", "pg-ella", "shared", "lpg-ftw"):
        text = state(command, box, f'experiment.method="{method}"')[1]
        # The tasks that the target adds to a learner before it reads a state.
        write(method, text.replace("mass-spring 0", "one").replace("mass-spring 1", "two"))


if __name__ == "__main__":
    main()
