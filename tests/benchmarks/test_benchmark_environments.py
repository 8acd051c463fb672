"""The rivals' environments: made once, each able to fit."""

import subprocess
import sys

import numpy as np
import pytest
from benchmarks import data, environments
from benchmarks.__main__ import CHECKS
from benchmarks.base import Rival
from benchmarks.environments import ENVIRONMENTS, Environment, is_made, make
from benchmarks.process import call


def test_every_requirement_is_pinned_and_every_environment_checked():
    for environment in ENVIRONMENTS.values():
        assert all("==" in line for line in environment.requirements + environment.build_first)
    assert CHECKS.keys() == ENVIRONMENTS.keys()


@pytest.fixture
def installs(monkeypatch, tmp_path):
    """Environments in a folder of the test's own; what pip is asked for, which it only pretends."""
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    real_run, asked = subprocess.run, []

    def run_without_pip(command, **options):
        if "venv" in command:
            return real_run([*command, "--without-pip"], **options)
        asked.append(command[-1])
        fails = "import sys; sys.exit('ERROR: no such release')" if "absent" in command[-1] else ""
        return real_run([sys.executable, "-c", fails], **options)

    monkeypatch.setattr(environments.subprocess, "run", run_without_pip)
    return asked


def test_an_environment_is_made_once_and_again_when_its_list_changes(installs, monkeypatch):
    stubs = {"stub_only/part.py": ""}
    monkeypatch.setitem(ENVIRONMENTS, "small", Environment(("first==1",), stubs=stubs))
    assert make("small").startswith("made in")
    assert make("small") == "already made"
    monkeypatch.setitem(
        ENVIRONMENTS, "small", Environment(("second==1",), build_first=("tool==1",), stubs=stubs)
    )
    assert not is_made("small")
    assert make("small").startswith("made in")
    assert installs == ["first==1", "tool==1", "second==1"]
    assert list(environments.ROOT.glob("small/lib/python*/site-packages/stub_only/part.py"))


def test_an_environment_that_fails_is_a_sentence(installs, monkeypatch):
    monkeypatch.setitem(ENVIRONMENTS, "broken", Environment(("absent==0",)))
    assert make("broken") == "failed: ERROR: no such release"
    assert not is_made("broken")


@pytest.mark.parametrize(
    ("name", "function"), [(name, function) for name in CHECKS for function in CHECKS[name]]
)
def test_every_environment_can_fit(name, function, tmp_path):
    if not is_made(name):
        pytest.skip(f"no environment {name}: python -m benchmarks environments {name}")
    X, y = data.load("iris", smoke=True)
    np.savez(tmp_path / "arrays.npz", X=X, y=y)
    measured, result = call(Rival(function, name), tmp_path / "arrays.npz", threads=2, budget_s=120)
    assert result
    for array in result.values():
        assert array.shape[-1] == 4
        assert np.isfinite(array).all()
    assert measured["warm_s"] > 0
    assert measured["peak_mb"] >= measured["baseline_mb"] > 0
