"""What the README and docs/python.md show runs."""

import ast
import importlib.resources
import importlib.util
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


@pytest.mark.parametrize("first_words", ["import lifeguard as lg", "lg.Learner(", "from lifeguard import OwnSystem"])
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


def docstrings_script():
    spec = importlib.util.spec_from_file_location("docstrings", TOP / "python" / "docstrings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(text):
    return " ".join((text or "").split())


def bound_names():
    """(name in Python, name in C++, object) of everything that the bindings have."""
    other = {"Policy": "GaussianPolicy", "Experiment": "ExperimentConfig", "Random": "CounterRandom"}
    for name, value in vars(lg._core).items():
        if name.startswith("_"):
            continue
        yield name, other.get(name, name), value
        for member, bound in vars(value).items() if isinstance(value, type) else ():
            if not member.startswith("_"):
                yield f"{name}.{member}", f"{other.get(name, name)}::{member}", bound


# What differs from C++, or has its comment together with others there.
BY_HAND = set(
    """Policy.gains Trajectories.count Trajectories.failed Trajectories.mean_cost Trajectories.validate Random
    Task.states evaluate GainInequality.name SafeSet.parameters SafeSet.limits UncertainPlant.states
    UncertainPlant.state_limits UncertainPlant.action_limits Certificate.fingerprint RoundLoss.value
    Learner.settings Learner.add_tasks Learner.save Learner.load start_run read_recording""".split()
)


def test_docstrings_are_the_sentences_of_the_headers():
    script = docstrings_script()
    texts = script.read_headers(sorted((TOP / "lifeguard").rglob("*.hpp")))
    by_hand, alike = set(), 0
    for name, described, value in bound_names():
        if described not in texts:
            continue
        if plain(script.first_sentence(texts[described])) in plain(value.__doc__):
            alike += 1
        else:
            by_hand.add(name)
    assert by_hand <= BY_HAND
    assert alike > 80
    # And whatever the bindings take from a header is in a docstring.
    said = " ".join(plain(value.__doc__) for _, _, value in bound_names())
    said += " ".join(plain(value.__init__.__doc__) for _, _, value in bound_names() if isinstance(value, type))
    for path in (TOP / "python" / "bindings").glob("*.cpp"):
        for whole, name in re.findall(r"\b(doc|first)\(\s*\"([^\"]+)\"", path.read_text(encoding="utf-8")):
            text = texts[name] if whole == "doc" else script.first_sentence(texts[name])
            assert plain(text) in said, f"{path.name}: {name}"


def test_comments_are_found_in_headers():
    header = '''
    namespace lifeguard {
    /// Of a class: throws InvalidInput.
    /// Formulas stay:
    ///   a = b;
    ///  - and so do
    ///    entries.
    class Thing : public Other {
     public:
      /// Made from GaussianPolicy::gains.
      Thing(int a,
            int b);
      /// First.
      int value() const { return value_; }
      /// Second. And more.
      template <class T>
      int value(const T& t) const;
      int none() const;
      double size = 1;  // behind
      /// Not of what follows an empty line.

      int far() const;

     private:
      enum class Kind { one, two };
    };
    /// Of a function
    /// over two lines.
    inline double twice(double x) {
      /// not of a declaration
      return 2 * x;
    }
    }  // namespace lifeguard
    '''
    script = docstrings_script()
    assert dict(script.described(header)) == {
        "Thing": "Of a class: raises InvalidInput. Formulas stay:\n  a = b;\n- and so do entries.",
        "Thing::Thing": "Made from Policy.gains.",
        "Thing::value": "First.",
        "Thing::value#2": "Second. And more.",
        "Thing::size": "behind",
        "twice": "Of a function over two lines.",
    }
    assert script.first_sentence("K (e.g. of LQR). Then more.") == "K (e.g. of LQR)."


def test_types_are_described():
    files = importlib.resources.files("lifeguard")
    assert (files / "py.typed").is_file()
    stub = ast.parse((files / "_core.pyi").read_text(encoding="utf-8"))
    described = {node.name for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    used = {node.name for node in ast.parse((files / "__init__.py").read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom) and node.module == "_core" for node in node.names}
    assert used - described <= {"version"}
