"""Run files: the same bits as the command's, frames, figures, reports, logs."""

import sqlite3
import subprocess

import numpy as np
import pytest

import lifeguard as lg


def rows_of(path):
    """Every number that a run leaves behind but its times."""
    with sqlite3.connect(path) as database:
        names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        wanted = [n for n in names if n not in ("timings", "checksums")]
        return {name: database.execute(f"select * from {name}").fetchall() for name in wanted}


@pytest.mark.parametrize("config", ["safe-cart-pole.toml", "safe-quadrotor.toml"])
def test_runs_are_those_of_the_command_to_the_bit(tmp_path, configs, command, config):
    settings = ["experiment.rounds=8", "experiment.tasks=3"]
    subprocess.run(
        [command, "run", configs / config, "--out", tmp_path / "command.run", "--quiet"]
        + [part for setting in settings for part in ("--set", setting)],
        check=True, capture_output=True,
    )
    lg.run(lg.load(configs / config, settings), tmp_path / "python.run")
    ours, theirs = rows_of(tmp_path / "python.run"), rows_of(tmp_path / "command.run")
    assert ours.keys() == theirs.keys() and len(ours["rounds"]) == 8
    for table in ours:
        assert ours[table] == theirs[table], table
    # And each believes the other's file, played again to the bit.
    assert lg.check_run(tmp_path / "command.run", replay=True)["findings"] == []
    subprocess.run([command, "check", "--replay", tmp_path / "python.run"], check=True, capture_output=True)


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path, configs):
    experiment = lg.load(configs / "safe-cart-pole.toml", experiment__rounds=8, experiment__tasks=3)
    lg.run(experiment, tmp_path / "whole.run")
    told = []
    finished = lg.start_run(experiment, tmp_path / "parts.run", lambda r: told.append(r["round"]) or r["round"] < 3)
    assert not finished and told == [1, 2, 3]
    assert lg.resume_run(tmp_path / "parts.run")
    assert rows_of(tmp_path / "whole.run")["rounds"] == rows_of(tmp_path / "parts.run")["rounds"]
    with pytest.raises(lg.RunFileError):
        lg.start_run(experiment, tmp_path / "whole.run")


def test_an_exception_in_on_round_ends_the_run(tmp_path, configs):
    experiment = lg.load(configs / "safe-cart-pole.toml", experiment__rounds=8)

    def broken(_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        lg.start_run(experiment, tmp_path / "a.run", broken)


def test_frames(finished_run):
    rounds = finished_run.rounds
    assert list(rounds.index) == list(range(1, 13))
    assert (rounds["worst_margin"] > 0).all() and (rounds["unsafe"] == 0).all()
    assert set(rounds["task_name"]) == {task.name for task in finished_run.tasks}
    assert rounds["learn_seconds"].sum() > 0
    evaluations = finished_run.evaluations
    assert evaluations.index[0] == 0 and evaluations.index[-1] == 12
    costs = evaluations[[c for c in evaluations if c.startswith("cost ")]]
    np.testing.assert_allclose(costs.mean(axis=1), evaluations["mean_cost"])
    assert (finished_run.certificates["spectrum_holds"] == 1).all()
    assert finished_run.certificate.valid
    assert finished_run.summary["rounds"] == 12
    assert finished_run.policies.shape == (3, 4)
    for task, safe, alpha in zip(finished_run.tasks, finished_run.safe_sets, finished_run.policies):
        assert safe.strictly_safe(alpha)
        assert finished_run.policy(task.name).parameters.tolist() == alpha.tolist()
    exported = finished_run.export_policy(0)
    np.testing.assert_array_equal(np.array(exported["gains"]).ravel(), finished_run.policies[0])


def test_frames_of_polars(finished_run):
    polars = pytest.importorskip("polars")
    run = lg.Run(finished_run.path, frames="polars")
    for name in ("rounds", "evaluations", "certificates", "regrets"):
        theirs, ours = getattr(run, name), getattr(finished_run, name).reset_index()
        assert isinstance(theirs, polars.DataFrame) and set(theirs.columns) == set(ours.columns)
        for column, kind in theirs.schema.items():
            if kind.is_numeric():
                np.testing.assert_array_equal(theirs[column].to_numpy(), ours[column].to_numpy(), err_msg=column)
    assert run.rounds["task_name"].to_list() == list(finished_run.rounds["task_name"])
    with pytest.raises(lg.InvalidInput, match="frames"):
        lg.Run(finished_run.path, frames="dask")


def test_what_is_no_run_file_says_so(tmp_path):
    with pytest.raises(lg.NotARunFile):
        lg.open_run(tmp_path / "nowhere.run")
    (tmp_path / "text.run").write_text("no run")
    with pytest.raises(lg.RunFileError):
        lg.open_run(tmp_path / "text.run")


def test_report_and_figures(finished_run, tmp_path):
    page = finished_run.report(path=tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == page.html and "<iframe" in page._repr_html_()
    figures = finished_run.figures()
    assert figures and all(figure.svg.startswith("<svg") for figure in figures)
    figures[0].save(tmp_path / "figure.svg")


def numbers(values):
    return np.array(values, dtype=float)


def test_matplotlib_draws_what_the_page_does(finished_run):
    import json

    import matplotlib

    matplotlib.use("agg")
    from matplotlib import colors, pyplot

    page = json.loads(lg._core.report_json([finished_run.path]))
    charts = {(c["name"], c.get("task", -1)): c for c in page["experiments"][0]["charts"]}
    figures = finished_run.figures()
    assert {figure.name for figure in figures} == {name for name, _ in charts}
    for figure in figures:
        chart = charts[figure.name, figure.task]
        for scale in chart["scales"]:
            ax = figure.plot(scale=scale)
            ax.figure.canvas.draw()
            assert ax.get_title("left") == chart["title"]
            drawn = [line for line in ax.lines if line.get_xdata() is not None]
            places = len(chart.get("boxes", ()))
            for line, ours in zip(chart.get("lines", ()), drawn[places:]):
                assert ours.get_color() == page["palette"][line["colour"]]["light"]
                if "plane" in chart:
                    continue
                table = chart["tables"][line["table"]]
                expected = numbers(table["values"])[:, line["column"]]
                if scale != "linear":
                    expected[~(expected > 0)] = np.nan
                np.testing.assert_array_equal(ours.get_xdata(), table["rounds"], err_msg=figure.name)
                np.testing.assert_array_equal(ours.get_ydata(), expected, err_msg=figure.name)
            assert len(drawn) == sum(len(chart.get(part, ())) for part in ("boxes", "lines", "rules", "marks")) or scale != "linear"
            if "cells" in chart:
                (mesh,) = ax.collections
                np.testing.assert_array_equal(np.ravel(mesh.get_array()), numbers(chart["cells"]["values"]).ravel())
            if "region" in chart:
                (patch,) = ax.patches
                assert colors.to_hex(patch.get_edgecolor()) == page["palette"][chart["region"]["colour"]]["light"]
            pyplot.close(ax.figure)
    ax = pyplot.figure().add_subplot()
    assert finished_run.plot("cost", ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), finished_run.evaluations["mean_cost"])
    with pytest.raises(lg.InvalidInput, match="safe-region"):
        finished_run.plot("weather")
    with pytest.raises(lg.InvalidInput, match="scale"):
        finished_run.plot("cost", scale="round")


def test_several_runs_in_one_figure(tmp_path, configs):
    import matplotlib

    matplotlib.use("agg")
    experiment = lg.load(configs / "box-mass.toml", experiment__rounds=5, experiment__tasks=2)
    runs = [
        lg.run(experiment.only(method, seed), tmp_path / f"{method}-{seed}.run") for method in ("learner", "pg") for seed in (0, 1)
    ]
    ax = lg.figures.plot(runs, "cost")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["learner (2 seeds)", "pg (2 seeds)"]
    means = [np.mean([run.evaluations["mean_cost"] for run in runs[i : i + 2]], axis=0) for i in (0, 2)]
    for line, mean in zip(ax.lines, means):
        np.testing.assert_allclose(line.get_ydata(), mean, rtol=1e-12)
    assert len(ax.collections) == 2  # the intervals


def test_comparisons_and_runs_without_a_file(configs):
    experiment = lg.load(
        configs / "box-mass.toml", experiment__rounds=5, experiment__tasks=2, experiment__seeds=2,
        experiment__methods=["learner", "pg"],
    )
    summary = lg.play(experiment)
    assert summary["rounds"] == 5
    comparison = lg.compare(experiment)
    assert "learner" in str(comparison)
    with pytest.raises(lg.InvalidInput) as error:
        lg.load(configs / "box-mass.toml", experiment__rounds=-1)
    assert "rounds" in error.value.field
    assert error.value.field == "experiment.rounds"
    assert lg.load(configs / "box-mass.toml", experiment__rounds=np.int64(7)).rounds == 7
    tasks = experiment.draw()
    assert len(tasks) == 2
    for task, safe, first in tasks:
        assert safe.strictly_safe(first) and isinstance(task, lg.Task)


def test_fleets_from_toml(tmp_path):
    text = """
        [experiment]
        name = "carts"
        trajectories = 10
        steps = 50
        [fleet]
        system = "cart-pole"
        [[machine]]
        name = "alice"
        [[machine]]
        name = "bob"
        [machine.parameters]
        pole_mass_kilograms = 0.2
        [safe_set.lqr_box]
        reach = 1.5
        from = 0.2
    """
    fleet = lg.parse(text)
    assert [machine.name for machine in fleet.machines] == ["alice", "bob"]
    run = lg.FleetRun(fleet, tmp_path / "fleet.run")
    assert run.machines == ["alice", "bob"]
    alice = fleet.machines[0]
    issued = run.policy("alice")
    policy = lg.Policy(issued["gains"], issued["sigma"])
    text = lg.record(alice, policy, 10, 50, machine="alice", fingerprint=issued["policy"])
    observed = run.observe("alice", text, id="first")
    assert run.rounds_done == 1 and observed["round"] == 1
    assert run.observe("alice", text, id="first")["repeated"]  # a retry counts once
    assert run.rounds_done == 1
    with pytest.raises(lg.InvalidInput):
        run.policy("carol")
    assert lg.read_recording(text, alice, 50) == lg.rollout(alice, policy, 10, 50)
