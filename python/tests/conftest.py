"""What the tests of the Python package share."""

import shutil
from pathlib import Path

import pytest

import lifeguard as lg

TOP = Path(__file__).resolve().parents[2]


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
