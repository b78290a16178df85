"""Runs in other logs, finished ones and such that are being written; each is read back."""

import json
import struct
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import lifeguard as lg
from lifeguard import logs

ROUNDS = 12


@contextmanager
def run_in(folder, configs, live):
    """The path of a finished run, or of one whose rounds are being played."""
    path = folder / "cart.run"
    experiment = lg.load(configs / "safe-cart-pole.toml", experiment__rounds=ROUNDS, experiment__tasks=3)
    seen = threading.Event()  # the reader has had a first look

    def slowly(told):
        if live and told["round"] == 3:
            seen.wait(30)
        return True

    thread = threading.Thread(target=lg.start_run, args=(experiment, path, slowly, 0.0))
    thread.start()
    if live:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                if lg.open_run(path).header["rounds_done"] >= 2:
                    break
            except lg.RunFileError:
                pass
            time.sleep(0.01)
        assert not lg.open_run(path).finished
        threading.Timer(0.2, seen.set).start()
    else:
        thread.join()
    try:
        yield path
    finally:
        seen.set()
        thread.join()


@pytest.fixture(params=[False, True], ids=["finished", "live"])
def live(request):
    return request.param


def expected_costs(path):
    evaluations = lg.open_run(path).columns("evaluations")
    return dict(zip(evaluations["round"], evaluations["mean_cost"]))


def test_tensorboard(tmp_path, configs, live):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with run_in(tmp_path, configs, live) as path:
        logs.to_tensorboard(path, tmp_path / "events", live=live, seconds=0.05, timeout=30)
    events = accumulator.EventAccumulator(str(tmp_path / "events")).Reload()
    read = {event.step: event.value for event in events.Scalars("evaluation/mean cost")}
    expected = expected_costs(path)
    assert read.keys() == expected.keys() and max(read) == ROUNDS
    np.testing.assert_allclose(list(read.values()), list(expected.values()), rtol=1e-6)
    for name in ("safety/falls", "safety/worst margin", "round/observed cost"):
        assert [event.step for event in events.Scalars(name)] == list(range(1, ROUNDS + 1)), name  # each once


def test_csv(tmp_path, configs, live):
    pandas = pytest.importorskip("pandas")
    with run_in(tmp_path, configs, live) as path:
        written = logs.to_csv(path, tmp_path / "csv", live=live, seconds=0.05, timeout=30)
    assert sorted(p.name for p in (tmp_path / "csv").iterdir()) == sorted(p.name for p in written)
    run = lg.open_run(path)
    read = pandas.read_csv(tmp_path / "csv" / "evaluations.csv", index_col="round")
    pandas.testing.assert_frame_equal(read, run.evaluations, rtol=1e-14)
    rounds = pandas.read_csv(tmp_path / "csv" / "rounds.csv", index_col="round")
    assert len(rounds) == ROUNDS
    played = rounds[[f"played {i}" for i in range(4)]]
    np.testing.assert_allclose(played, np.stack(run.rounds["played"]), rtol=1e-15)


def test_wandb(tmp_path, configs, live, monkeypatch):
    """In offline mode: into a file that their `wandb sync` would send."""
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.chdir(tmp_path)
    with run_in(tmp_path, configs, live) as path:
        target = logs.to_wandb(path, live=live, seconds=0.05, timeout=30, project="lifeguard-tests", dir=str(tmp_path))
    assert target.name == "cart"
    (file,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    end = time.monotonic() + 60  # their own process writes the file, and may be behind
    history, settings, complete = wandb_records(file)
    while not complete and time.monotonic() < end:
        time.sleep(0.1)
        history, settings, complete = wandb_records(file)
    expected = expected_costs(path)
    costs = {row["round"]: row["evaluation/mean cost"] for row in history if "evaluation/mean cost" in row}
    assert costs == pytest.approx(expected)
    assert [row["round"] for row in history if "safety/falls" in row] == list(range(1, ROUNDS + 1))
    assert settings["experiment.rounds"] == str(ROUNDS)


def wandb_records(path):
    """The logged rows, the settings, and whether it has its end, of their file: a header of seven bytes, then a log as LevelDB writes it."""
    from wandb.proto import wandb_internal_pb2

    data = path.read_bytes()
    assert data.startswith(b":W&B")
    at, parts, history, settings, complete = 7, b"", [], {}, False
    while at + 7 <= len(data):
        left = 32768 - at % 32768  # of the block; what no header fits into is padding
        if left < 7:
            at += left
            continue
        size, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        parts += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind not in (1, 4):  # a whole record, or the last part of one
            continue
        record, parts = wandb_internal_pb2.Record.FromString(parts), b""
        complete = complete or record.HasField("exit")
        history += [{(i.key or "/".join(i.nested_key)): json.loads(i.value_json) for i in record.history.item}]
        for config in (record.run.config, record.config):
            settings.update({i.key or ".".join(i.nested_key): json.loads(i.value_json) for i in config.update})
    return [row for row in history if row], settings, complete


def test_mlflow(tmp_path, configs, live, monkeypatch):
    """Into a folder, and read back by their client."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with run_in(tmp_path, configs, live) as path:
        target = logs.to_mlflow(path, live=live, seconds=0.05, timeout=30)
    client = mlflow.MlflowClient()
    read = {m.step: m.value for m in client.get_metric_history(target.info.run_id, "evaluation/mean cost")}
    assert read == pytest.approx(expected_costs(path))
    steps = [m.step for m in client.get_metric_history(target.info.run_id, "safety/falls")]
    assert steps == list(range(1, ROUNDS + 1))
    found = client.get_run(target.info.run_id)
    assert found.info.run_name == "cart" and found.info.status == "FINISHED"
    assert found.data.params["experiment.rounds"] == str(ROUNDS)


def test_follow(tmp_path, configs, live):
    told = []
    with run_in(tmp_path, configs, live) as path:
        run = logs.follow(path, lambda *entry: told.append(entry), seconds=0.05, timeout=30)
    assert run.finished
    assert ("safety/falls", ROUNDS, float(run.rounds["falls"].iloc[-1])) in told
    assert len(told) == len(set(told)) and [t[1] for t in told] == sorted(t[1] for t in told)


def test_what_is_not_finished_is_left_in_time(tmp_path, configs):
    experiment = lg.load(configs / "safe-cart-pole.toml", experiment__rounds=9, experiment__tasks=3)
    lg.start_run(experiment, tmp_path / "a.run", lambda told: told["round"] < 4)
    told = []
    run = logs.follow(tmp_path / "a.run", lambda *entry: told.append(entry), seconds=0.01, timeout=0.05)
    assert not run.finished and max(t[1] for t in told) == 4
    run.to_csv(tmp_path / "csv")
    assert len((tmp_path / "csv" / "rounds.csv").read_text().splitlines()) == 5
