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
NATIVE = Path(__file__).parents[2] / "src/likewise/_loops/native"
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


def parameters_of(declaration):
    """Return the type of each parameter in a C++ parameter or template argument list."""
    depth, parts = 0, [""]
    for letter in declaration:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


ARRAY_TYPES = r"Array<|Matrix|Vector|Indices|Counts|Cube|Features"
ARGUMENT = r'array\("\w+"\)|nb::arg\("\w+"\)|"\w+"_a'


def bound_arguments(text):
    """Yield name, parameter types and bound arguments of each binding in C++ text."""
    text = re.sub(r"//[^\n]*", "", text)
    arguments = rf"((?:,\s*(?:{ARGUMENT})[.\w()]*)+)"
    function = r'def\("?(\w*)(?:",\s*|::new_\()&(?:\w+::)*(\w+)(?:<T>)?\)?'
    for call in re.finditer(function + arguments, text):
        declared = re.search(rf"[\w>*]\s+{call[2]}\(([^;{{]*)\)\s*{{", text)
        if declared is None:  # of a header
            assert "array(" not in call[3]
            yield call[1], call[3].split(",")[1:], call[3]
        else:
            yield call[1], parameters_of(declared[1]), call[3]
    for call in re.finditer(r"def\(nb::init<([^()]+)>\(\)" + arguments, text):
        yield "init", parameters_of(call[1]), call[2]
    lambdas = r'def\("(\w+)",\s*\[\]\(([^)]*)\)\s*{(?:(?!\.def).)*?\n\s*}'
    for call in re.finditer(lambdas + arguments, text, re.DOTALL):
        yield call[1], parameters_of(call[2])[1:], call[3]


def unsafe_arguments(text):
    """Return the arrays that the bindings would convert, and how many arguments were checked."""
    unsafe, n_checked = [], 0
    for name, types, arguments in bound_arguments(text):
        bound = re.findall(rf"{ARGUMENT}", arguments)
        assert len(bound) == len(types), name
        n_checked += len(bound)
        for kind, argument in zip(types, bound, strict=True):
            is_array = re.search(ARRAY_TYPES, kind) is not None
            if is_array != argument.startswith("array("):
                unsafe.append(f"{name}: {argument}")
    return unsafe, n_checked


@pytest.mark.parametrize("path", sorted(NATIVE.glob("**/*.cpp")), ids=lambda p: p.parent.name)
def test_no_array_is_converted(path):
    """nanobind must refuse a wrong array, not copy it: what is written to a copy is lost."""
    text = path.read_text()
    unsafe, n_checked = unsafe_arguments(text)
    assert unsafe == []
    assert n_checked == len(re.findall(r'array\("|"_a\b|nb::arg\(', text)) > 0
    assert "return nb::arg(name).noconvert();" in (NATIVE / "bindings.hpp").read_text()


def test_an_array_that_would_be_converted_is_found():
    good = 'int f(Matrix W, double b) {}\n m.def("f", &f, array("W"), "b"_a);'
    assert unsafe_arguments(good) == ([], 2)
    for bad in ('"W"_a', 'nb::arg("W")'):
        assert unsafe_arguments(good.replace('array("W")', bad)) == ([f"f: {bad}"], 2)


@pytest.mark.parametrize(
    ("requested", "compiled_there", "expected"),
    [
        ("", True, "native"),
        ("", False, "numpy"),
        ("numpy", True, "numpy"),
        ("numpy", False, "numpy"),
        ("native", True, "native"),
    ],
)
def test_backend_choice(requested, compiled_there, expected):
    assert choose_backend(requested, compiled_there) == expected


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
