"""What the README and docs/python.md show runs."""

import ast
import importlib.resources
import re
from pathlib import Path

import pytest

import lifeguard as lg

TOP = Path(__file__).resolve().parents[2]


def blocks(path):
    return re.findall(r"^```python\n(.*?)^```", (TOP / path).read_text(encoding="utf-8"), flags=re.M | re.S)


def test_the_readme_shows_what_runs():
    (block,) = blocks("README.md")
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("first_words", ["import lifeguard as lg", "lg.Learner(", "from lifeguard"])
def test_the_guide_shows_what_runs(first_words):
    (block,) = [b for b in blocks("docs/python.md") if b.startswith(first_words)]
    block = block.replace("Tank().register()", "'tank' in lg.systems() or Tank().register()")
    exec(compile(block, "docs/python.md", "exec"), {"lg": lg})


def test_every_public_name_has_a_docstring():
    for name in lg.__all__:
        value = getattr(lg, name)
        if callable(value):
            assert (value.__doc__ or "").strip(), name
    assert "zeta" in lg.Learner.__doc__  # the settings, from the same description as TOML


def test_types_are_described():
    files = importlib.resources.files("lifeguard")
    assert (files / "py.typed").is_file()
    stub = ast.parse((files / "_core.pyi").read_text(encoding="utf-8"))
    described = {node.name for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    used = {node.name for node in ast.parse((files / "__init__.py").read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom) and node.module == "_core" for node in node.names}
    assert used - described <= {"version"}
