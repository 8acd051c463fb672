"""The registry of loops, their twins, the choice between them, and what all bindings have."""

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from loop_backends import INSTRUCTIONS

from likewise import _loops
from likewise._loops.backend import choose_backend

LOOPS_DIR = Path(_loops.__file__).parent
FAMILIES = sorted({family.__name__ for family in _loops.LOOPS.values()})


@pytest.mark.parametrize("name", _loops.LOOPS)
def test_every_loop_has_a_twin(name):
    family = _loops.LOOPS[name].__name__
    chosen = getattr(_loops, name)
    assert chosen is getattr(_loops.LOOPS[name], name)
    assert chosen.__name__ == name
    twin = inspect.signature(getattr(import_module(f"{family}.reference"), name))
    assert inspect.signature(chosen) == twin
    if INSTRUCTIONS:
        compiled = import_module(f"{family}.compiled")
        assert inspect.signature(getattr(compiled, name)) == twin


@pytest.mark.parametrize("family", FAMILIES)
def test_registry_has_every_loop(family):
    reference = import_module(f"{family}.reference")
    public = {
        name
        for name, value in vars(reference).items()
        if inspect.isfunction(value) and value.__module__ == reference.__name__ and name[0] != "_"
    }
    assert public == {n for n, package in _loops.LOOPS.items() if package.__name__ == family}


def test_registry_has_every_family():
    packages = {path.parent.name for path in LOOPS_DIR.glob("*/reference.py")}
    assert {family.rsplit(".", 1)[1] for family in FAMILIES} == packages
    assert sum(len(family.__all__) for family in set(_loops.LOOPS.values())) == len(_loops.LOOPS)


def test_no_array_is_converted():
    """nanobind must refuse a wrong array, not copy it: what is written to a copy is lost."""
    text = "".join(module.read_text() for module in sorted(LOOPS_DIR.glob("native/**/*.cpp")))
    arguments = re.findall(r'nb::arg\("(\w+)"\)(\.noconvert\(\))?', text)
    assert len(arguments) > 10
    assert [name for name, kept in arguments if not kept] == []
    plain = set(re.findall(r'"(\w+)"_a', text))  # everything else is a number, a word or an object
    assert plain == {
        *("scale", "limit", "panelled", "instructions", "panel", "begin", "end"),
        *("row", "column", "found", "blocks", "n", "pairs", "margin", "width"),
        *("b", "variant", "C", "slack", "tolerance", "max_updates", "count"),
        *("label", "top2", "kind", "size", "positive", "negative", "R", "bias", "top"),
        *("gains", "share", "softness", "weight"),
    }


@pytest.mark.parametrize(
    ("wish", "compiled_there", "expected"),
    [
        ("", True, "native"),
        ("", False, "numpy"),
        ("numpy", True, "numpy"),
        ("numpy", False, "numpy"),
        ("native", True, "native"),
    ],
)
def test_backend_choice(wish, compiled_there, expected):
    assert choose_backend(wish, compiled_there) == expected


def test_backend_that_cannot_be():
    with pytest.raises(ValueError, match=r"LIKEWISE_LOOPS must be .* not 'fast'"):
        choose_backend("fast", True)
    with pytest.raises(ImportError, match="no compiled"):
        choose_backend("native", False)


def test_environment_forces_the_twins():
    code = "from likewise import _loops; print(_loops.BACKEND, _loops.radius_scan.__module__)"
    env = {**os.environ, "LIKEWISE_LOOPS": "numpy"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["numpy", "likewise._loops.distances.reference"]


def test_native_without_the_compiled_module_is_an_error():
    """A broken build must not pass its tests on the twins."""
    code = (
        "import importlib.util as util; find = util.find_spec;"
        "util.find_spec = lambda name: None if name.endswith('_native') else find(name);"
        "import likewise._loops"
    )
    env = {**os.environ, "LIKEWISE_LOOPS": "native"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode != 0
    assert "has no compiled loops" in done.stderr
