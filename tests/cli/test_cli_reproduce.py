"""likewise reproduce."""

import pytest
from cli_runner import invoke

from likewise.experiments import EXPERIMENTS


def test_list_names_every_experiment_with_its_paper():
    shown = invoke("reproduce", "--list").stdout
    for experiment in EXPERIMENTS.values():
        assert experiment.name in shown
        assert experiment.place in " ".join(shown.split())


def test_an_unknown_name():
    done = invoke("reproduce", "pam-tabel1")
    assert done.exit_code == 2
    assert "there is no experiment 'pam-tabel1'; did you mean pam-table1" in done.stderr


def test_no_name():
    done = invoke("reproduce")
    assert done.exit_code == 2
    assert "name an experiment" in done.stderr


def test_missing_data(tmp_path, monkeypatch):
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    monkeypatch.delenv("LIKEWISE_DATA_URL", raising=False)
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", _refuse)
    done = invoke("reproduce", "pam-table1", "--output", tmp_path / "results")
    assert done.exit_code == 2
    assert "pam-table1 needs the data set 'bupa'" in done.stderr
    assert "LIKEWISE_DATA" in done.stderr
    assert done.stderr.count("\n") == 1


def _refuse(*arguments):
    raise ConnectionRefusedError("no network in tests")


@pytest.mark.parametrize("jobs", ["0", "-2"])
def test_a_wrong_number_of_processes(tmp_path, jobs):
    done = invoke("reproduce", "pam-table1", "--jobs", jobs, "--output", tmp_path)
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "--jobs must be a positive integer, or -1 for one process per core" in said
    assert f"but it is {jobs}." in said
