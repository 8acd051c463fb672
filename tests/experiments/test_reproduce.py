"""From a declaration to files; interrupted runs continue to the same bytes."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from toy_experiments import run_toy, slow, toy

from likewise._runtime.journal import Journal
from likewise.experiments import EXPERIMENTS, Published, Size, Trial, markdown, reproduce

pytest.importorskip("matplotlib", reason="figures need Matplotlib")

RESULTS = ("toy.json", "toy.md", "toy-curves.svg", "toy-curves.png")
DELAY = 0.05
SCRIPT = Path(__file__).with_name("toy_experiments.py")


def read(folder):
    return {name: (folder / name).read_bytes() for name in RESULTS}


def start(folder, n_jobs):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(folder), str(DELAY), str(n_jobs)],
        stderr=subprocess.PIPE,
        text=True,
    )


def count_lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_until(holds):
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert holds()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    reproduce(slow(DELAY), output=folder)
    return read(folder)


def test_results_are_the_means_of_the_trials(tmp_path):
    found = reproduce(toy(), output=tmp_path)
    assert [file.name for file in found.files] == [*RESULTS, "toy-seconds.json"]
    results = json.loads((tmp_path / "toy.json").read_text())
    assert results == json.loads(json.dumps(found.results))
    for cell in results["cells"]:
        values = [run_toy(cell["dataset"], cell["method"], run)["error"] for run in range(4)]
        assert cell["mean"] == pytest.approx(np.mean(values), rel=1e-5)
        assert cell["standard_error"] == pytest.approx(np.std(values, ddof=1) / 2, rel=1e-5)
    assert (tmp_path / "toy.md").read_text() == markdown(results)
    assert [(cell["dataset"], cell["method"]) for cell in results["cells"]] == [
        (dataset, method) for dataset in ("a", "bb", "ccc") for method in ("x", "yy")
    ]


def test_the_quick_size_has_files_of_its_own(tmp_path):
    found = reproduce(toy(), quick=True, output=tmp_path)
    (figure,) = found.results["figures"]
    assert figure["name"] == "toy-quick-curves"
    assert (tmp_path / "toy-quick-curves.svg") in found.files
    assert [(len(cell["runs"]), cell["mark"]) for cell in found.results["cells"]] == [(2, None)]
    assert "not compared with the paper's" in found.verdict


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_killed_run_continues_to_the_same_bytes(tmp_path, undisturbed, n_jobs):
    journal = tmp_path / "toy.jsonl"
    process = start(tmp_path, n_jobs)
    wait_until(lambda: count_lines(journal) >= 6)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    done = count_lines(journal)
    assert done < 25, "it was over before it was killed"
    with journal.open("ab") as file:  # as if it had been killed within a write
        file.write(b'{"trial": "ccc / yy / 3", "resu')
    process = start(tmp_path, n_jobs)
    _, progress = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f"{done - 1} trials done before" in progress
    assert read(tmp_path) == undisturbed
    assert count_lines(journal) == 25


def test_results_do_not_depend_on_the_number_of_processes(tmp_path, undisturbed):
    reproduce(slow(DELAY), output=tmp_path, n_jobs=2)
    assert read(tmp_path) == undisturbed


def test_processes_end_with_the_one_that_started_them(tmp_path):
    process = start(tmp_path, 2)
    wait_until(lambda: count_lines(tmp_path / "toy.jsonl") >= 2)
    children = _children(process.pid)
    assert len(children) >= 2
    process.kill()
    process.wait(60)
    wait_until(lambda: not any(map(_is_running, children)))


def _children(pid):
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    if not listed.exists():
        pytest.skip("this system does not list the children of a process")
    return [int(child) for child in listed.read_text().split()]


def _is_running(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_finished_trials_are_not_run_again(tmp_path):
    reproduce(toy(), output=tmp_path)
    before = read(tmp_path)
    reproduce(toy(run=_fail), output=tmp_path)
    assert read(tmp_path) == before


def _fail(*arguments):
    raise AssertionError("it was run again")


def test_experiments_share_the_trials_of_one_journal(tmp_path):
    first = toy(name="first", journal="both", figures=())
    second = toy(journal="both")
    alone = reproduce(toy(), output=tmp_path / "alone")
    reproduce(first, output=tmp_path / "shared")
    found = reproduce(replace(second, run=_fail), output=tmp_path / "shared")
    assert read(tmp_path / "shared") == read(tmp_path / "alone")
    assert [file.name for file in found.files] == [file.name for file in alone.files]
    assert count_lines(tmp_path / "shared" / "both.jsonl") == 25
    assert not (tmp_path / "shared" / "toy.jsonl").exists()


def test_experiments_of_one_journal_run_the_same():
    journals = {}
    for experiment in EXPERIMENTS.values():
        journals.setdefault(experiment.journal or experiment.name, []).append(experiment)
    for first, *others in journals.values():
        for other in others:
            assert other.run is first.run
            assert other.full.options == first.full.options
            assert other.quick.options == first.quick.options


def test_a_larger_size_continues_a_smaller_one(tmp_path):
    few, more = (Size(("a", "bb"), ("x",), runs=runs) for runs in (2, 3))
    reproduce(toy(full=few, figures=()), output=tmp_path / "grown")
    reproduce(toy(full=more, figures=()), output=tmp_path / "grown")
    reproduce(toy(full=more, figures=()), output=tmp_path / "whole")
    grown, whole = (tmp_path / folder / "toy.json" for folder in ("grown", "whole"))
    assert grown.read_bytes() == whole.read_bytes()


def test_other_options_are_refused(tmp_path):
    reproduce(toy(), output=tmp_path)
    with pytest.raises(ValueError, match=r"toy\.jsonl' was begun with other .*delay was None and"):
        reproduce(slow(DELAY), output=tmp_path)


def test_a_failed_trial_keeps_the_others(tmp_path):
    with pytest.raises(ZeroDivisionError):
        reproduce(toy(run=_fail_after_two, figures=()), output=tmp_path)
    assert count_lines(tmp_path / "toy.jsonl") == 3
    assert not (tmp_path / "toy.json").exists()


def _fail_after_two(dataset, method, run):
    return run_toy(dataset, method, run) if dataset == "a" else 1 / 0


def test_progress_is_shown_on_request(tmp_path, capsys):
    reproduce(toy(figures=()), output=tmp_path / "shown", verbose=True)
    assert "toy: 24/24" in capsys.readouterr().err
    reproduce(toy(figures=()), output=tmp_path / "quiet")
    assert capsys.readouterr().err == ""


def test_an_unknown_name_is_answered_with_a_close_one():
    with pytest.raises(ValueError, match="no experiment 'pam-tabel1'; did you mean pam-table1"):
        reproduce("pam-tabel1")


def test_missing_data_are_named_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    monkeypatch.delenv("LIKEWISE_DATA_URL", raising=False)
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(
        ConnectionError, match=r"toy needs the data set 'webkb4_bow': .*LIKEWISE_DATA"
    ):
        reproduce(toy(data={"a": "webkb4_bow"}), output=tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"output is '.*file.x', but this folder cannot be made: Not"):
        reproduce(toy(), output=tmp_path / "file" / "x")


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "toy.jsonl").mkdir()
    with pytest.raises(OSError, match=r"toy\.jsonl' cannot be written: Is a directory"):
        reproduce(toy(), output=tmp_path)


def test_one_process_writes_at_a_time(tmp_path):
    with (
        Journal(tmp_path / "toy.jsonl", {}),
        pytest.raises(OSError, match="is being written by another process"),
    ):
        reproduce(toy(), output=tmp_path)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_declarations_are_consistent(experiment):
    names = {measure.name for measure in (*experiment.measures, *experiment.derived)}
    for size in (experiment.full, experiment.quick):
        cells = {*product(size.datasets, size.methods)} - size.absent
        runs = sum(size.runs_of.get(cell, size.runs_of.get(cell[0], size.runs)) for cell in cells)
        assert len(set(size.trials())) == runs > 0
        assert all(0 < n_runs < size.runs for n_runs in size.runs_of.values())
    places = {(p.dataset, p.method, p.measure) for p in experiment.published}
    assert len(places) == len(experiment.published)
    assert {measure for _, _, measure in places} <= names
    if not experiment.derived:
        assert {dataset for dataset, _, _ in places} <= set(experiment.full.datasets)
        assert {method for _, method, _ in places} <= set(experiment.full.methods)
    assert experiment.own_methods
    assert set(experiment.own_methods) <= set(experiment.full.methods)
    assert set(experiment.stand_ins) <= set(experiment.full.datasets)
    assert set(experiment.quick.datasets) <= set(experiment.full.datasets)


def test_trials_are_ordered_run_by_run():
    size = Size(("a", "b"), ("x", "y"), runs=2)
    assert list(size.trials())[:3] == [Trial(0, "a", "x"), Trial(0, "a", "y"), Trial(0, "b", "x")]


def test_standard_error_of_the_paper():
    assert Published("a", "x", "error", 1.0, 2.0, runs=4).standard_error == 1.0
    assert Published("a", "x", "error", 1.0).standard_error == 0.0
