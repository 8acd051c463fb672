"""Importing the library is cheap and brings nothing optional."""

import json
import subprocess
import sys

import pytest

OPTIONAL = ("matplotlib", "pandas", "polars", "pyarrow", "click", "rich", "jinja2", "torch", "dask")


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def optional_parts_loaded_by(module: str) -> set[str]:
    loaded = json.loads(run(f"import json, sys, {module}; print(json.dumps(list(sys.modules)))"))
    return {name.split(".")[0] for name in loaded} & set(OPTIONAL)


@pytest.mark.parametrize("module", ["likewise", "likewise.evaluation", "likewise.datasets"])
def test_nothing_optional_is_imported(module):
    # What scikit-learn imports for itself is not ours to choose.
    theirs = optional_parts_loaded_by("sklearn.pipeline")
    assert optional_parts_loaded_by(module) <= theirs


def test_import_takes_less_than_three_tenths_of_a_second_beyond_scikit_learn():
    code = (
        "import time, sklearn.base, sklearn.utils.validation; start = time.perf_counter(); "
        "import likewise; print(time.perf_counter() - start)"
    )
    assert min(float(run(code)) for _ in range(3)) < 0.3
