"""Importing the library is cheap, brings nothing optional, and gives every public name."""

import ast
import functools
import importlib
import json
import pkgutil
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import likewise as lw
from likewise._runtime.lazy import lazy_package

OPTIONAL = (
    *("matplotlib", "pandas", "polars", "pyarrow", "click", "rich", "jinja2", "torch", "dask"),
    *("onnx", "faiss", "psycopg"),
)
LAZY_PACKAGES = ["likewise", "likewise.batch", "likewise.batch.lmnn", "likewise.online"]
SUBMODULES = {
    module.name
    for module in pkgutil.iter_modules(lw.__path__)
    if not module.name.startswith("_") and module.name != "cli"
}


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


@functools.cache
def modules_after(statement: str) -> set[str]:
    return set(json.loads(run(f"{statement}; import json, sys; print(json.dumps([*sys.modules]))")))


def optional_parts_loaded_by(module: str) -> set[str]:
    return {name.split(".")[0] for name in modules_after(f"import {module}")} & set(OPTIONAL)


@pytest.mark.parametrize(
    "module",
    [
        *("likewise", "likewise.evaluation", "likewise.export", "likewise.datasets"),
        *("likewise.testing", "likewise.neighbors", "likewise.objectives", "likewise.knn"),
    ],
)
def test_nothing_optional_is_imported(module):
    # What scikit-learn imports for itself is not ours to choose.
    theirs = optional_parts_loaded_by("sklearn.pipeline")
    assert optional_parts_loaded_by(module) <= theirs


@pytest.mark.parametrize(
    "module",
    [
        *("_runtime.blocks.rows", "_runtime.blocks.validation", "batch._scatter"),
        *("batch.lmnn.blocked", "batch.lmnn.blocked_search", "batch.lmnn.blocked_targets"),
        *("batch.lmnn.near_rows", "objectives.blocked"),
    ],
)
def test_tasks_of_a_cluster_do_not_import_scikit_learn(module):
    """Every worker would wait for it, more than a second, while it runs the first tasks."""
    assert "sklearn" not in modules_after(f"import likewise.{module}")


def test_a_fit_of_arrays_loads_neither_torch_nor_dask():
    code = (
        "import likewise as lw; lw.MetricKNN(1, metric=lw.LMNN(1)).fit("
        "[[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]).predict([[2.0]])"
    )
    assert not {"torch", "dask", "likewise.objectives.torch_large_margin"} & modules_after(code)


def test_one_learner_imports_little_beyond_scikit_learn():
    loaded = modules_after("from likewise import LMNN") - modules_after("import sklearn.neighbors")
    others = {".".join(name.split(".")[:2]) for name in loaded if not name.startswith("likewise")}
    assert others <= {
        "numpy._typing",
        "numpy.typing",
        "safetensors",
        "safetensors._safetensors_rust",
        "safetensors.numpy",
        "sklearn.frozen",
        "threadpoolctl",
    }
    assert not {name for name in loaded if name.startswith(("likewise.online", "likewise.eval"))}
    assert {name for name in loaded if name.startswith("likewise.batch.lmnn")}
    assert "likewise.batch.itml" not in loaded


def test_import_takes_less_than_three_tenths_of_a_second_beyond_scikit_learn():
    code = (
        "import time, sklearn.neighbors; start = time.process_time(); "
        "from likewise import LMNN; print(time.process_time() - start)"
    )
    assert min(float(run(code)) for _ in range(3)) < 0.3


@pytest.mark.slow
def test_import_takes_at_most_a_tenth_more_cpu_time_than_scikit_learn():
    def cpu_seconds(statement: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(statement)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    statements = ("import sklearn.neighbors", "from likewise import LMNN")
    for statement in statements:
        run(statement)
    rounds = [[cpu_seconds(statement) for statement in statements] for _ in range(15)]
    theirs, ours = (statistics.median(seconds) for seconds in zip(*rounds, strict=True))
    assert ours <= 1.1 * theirs


def test_submodules_need_no_import_of_their_own():
    names = sorted(SUBMODULES)
    found = run(f"import likewise as lw\nfor name in {names}: print(getattr(lw, name).__name__)")
    assert found.split() == [f"likewise.{name}" for name in names]


def test_tab_completion_shows_submodules_and_classes_that_are_not_imported():
    assert set(dir(lw)) == set(lw.__all__) | SUBMODULES
    assert set(dir(lw.batch)) == set(lw.batch.__all__)


@pytest.mark.parametrize("package", LAZY_PACKAGES)
def test_star_import(package):
    public = importlib.import_module(package).__all__
    found = run(
        f"before = set(globals())\nfrom {package} import *\nprint(*set(globals()) - before)"
    )
    assert set(found.split()) - {"before"} == set(public)


@pytest.mark.parametrize("package", LAZY_PACKAGES)
def test_type_checkers_see_what_is_imported_on_use(package):
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    seen = {
        alias.asname or alias.name: statement.module
        for statement in block.body
        for alias in statement.names
    }
    assert set(seen) == set(dir(module))
    for name, origin in seen.items():
        assert getattr(importlib.import_module(origin), name) is getattr(module, name)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'likewise' has no attribute 'LMN'") as caught:
        lw.LMN  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("LMN", lw)
    assert not hasattr(lw, "_nothing")
    with pytest.raises(ImportError, match="cannot import name 'LMN' from 'likewise'"):
        from likewise import LMN  # noqa: F401


def test_a_lazy_name_becomes_an_attribute(monkeypatch):
    monkeypatch.delattr(json, "JSONDecoder")
    get, _ = lazy_package("json", {"decoder": ["JSONDecoder"]})
    assert get("JSONDecoder") is json.JSONDecoder
