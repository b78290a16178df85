"""What the tests of the Python package share."""

import shutil
from pathlib import Path

import pytest

import lifeguard as lg

TOP = Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--skip-nothing", action="store_true", help="a test that would be skipped fails")


def fail_instead_of_skip(report, config):
    if report.skipped and config.getoption("skip_nothing"):
        report.outcome = "failed"
        report.longrepr = f"would be skipped: {report.longrepr[2]}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    fail_instead_of_skip((yield).get_result(), item.config)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    fail_instead_of_skip((yield).get_result(), collector.config)


@pytest.fixture
def configs():
    return TOP / "configs" / "examples"


@pytest.fixture
def command():
    """The lifeguard command of the same build, or of the path."""
    built = TOP / "build" / "release" / "cli" / "lifeguard"
    found = str(built) if built.exists() else shutil.which("lifeguard")
    if found is None:
        pytest.skip("there is no lifeguard command to compare with")
    return found


@pytest.fixture
def cart():
    return lg.Task("cart", lg.System("cart-pole"))


@pytest.fixture
def box(cart):
    """Gains around those of LQR."""
    return lg.gain_box_towards(cart.lqr_gains().ravel(), 1.5, 0.2)


@pytest.fixture
def finished_run(tmp_path, configs):
    experiment = lg.load(configs / "safe-cart-pole.toml", experiment__rounds=12, experiment__tasks=3)
    return lg.run(experiment, tmp_path / "cart.run")
