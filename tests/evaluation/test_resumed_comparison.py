"""A comparison that was interrupted goes on to the same result; a first ranking on some rows."""

import dataclasses
import json
import sys

import numpy as np
import pytest

import likewise as lw
from likewise.datasets import load
from likewise.evaluation import COMPARED_METHODS, compare, first_ranking

WINE = load("wine")
DIGITS = load("digits")


class Stop(BaseException):
    """As Ctrl-C would."""


class Failing(lw.RCA):
    def fit(self, X, y):
        raise ValueError("never")


METHODS = {"Euclidean": lw.Euclidean(), "RCA": lw.RCA(), "never": Failing(), "FDA": lw.FDA()}


def without_seconds(comparison):
    rows = [dataclasses.replace(row, fit_seconds=0.0) for row in comparison.rows]
    return json.dumps(dataclasses.replace(comparison, rows=tuple(rows)).to_dict())


@pytest.mark.parametrize("stop_after", [0, 1, 7, 19])
def test_it_goes_on_to_the_same_result(tmp_path, stop_after):
    path = tmp_path / "fits.jsonl"

    def stop(done, total, what):
        if done == stop_after:
            raise Stop

    with pytest.raises(Stop):
        compare(WINE.X, WINE.y, METHODS, n_repeats=1, journal=path, progress=stop)
    lines = path.read_text().splitlines()
    # A method that failed is not tried again.
    assert len(lines) - 1 <= stop_after
    resumed = compare(WINE.X, WINE.y, METHODS, n_repeats=1, journal=path)
    assert without_seconds(resumed) == without_seconds(
        compare(WINE.X, WINE.y, METHODS, n_repeats=1)
    )
    assert len(path.read_text().splitlines()) == 1 + 5 * 3 + 1


def test_finished_fits_are_not_repeated(tmp_path, monkeypatch):
    path = tmp_path / "fits.jsonl"
    first = compare(WINE.X, WINE.y, METHODS, n_repeats=1, journal=path)

    def refuse(*args, **options):
        raise AssertionError("fitted again")

    monkeypatch.setattr("likewise.evaluation.comparison.try_method", refuse)
    again = compare(WINE.X, WINE.y, METHODS, n_repeats=1, journal=path)
    assert json.dumps(again.to_dict()) == json.dumps(first.to_dict())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"random_state": 1}, "data|random_state"),
        ({"n_neighbors": 5}, "n_neighbors was 3 and is 5"),
        ({"standardize": False}, "standardize was True and is False"),
        ({"methods": {"Euclidean": lw.Euclidean()}}, "RCA|entries|methods"),
        ({"X": WINE.X + 1}, "data was"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, change, what):
    path = tmp_path / "fits.jsonl"
    given = {"X": WINE.X, "y": WINE.y, "methods": METHODS, "n_repeats": 1, "journal": path}
    compare(**given)
    with pytest.raises(ValueError, match=f"other versions or settings: .*({what})"):
        compare(**given | change)


def test_the_ranking_is_by_error_on_some_rows():
    ranking = first_ranking(DIGITS.X, DIGITS.y, ["Euclidean", "RCA", "FDA"], max_rows=500)
    assert (ranking.n_samples, ranking.n_folds) == (1797, 5)
    assert 400 < ranking.n_rows <= 500
    errors = [row.error for row in ranking.rows]
    assert errors == sorted(errors)
    assert str(ranking).startswith(f"First ranking, on {ranking.n_rows} of 1797 rows and 5 of")
    for row in ranking.rows:
        assert f"{row.name} {row.error:.2%}" in str(ranking)


def test_all_rows_give_the_errors_of_compare():
    ranking = first_ranking(WINE.X, WINE.y, METHODS)
    expected = {row.name: row for row in compare(WINE.X, WINE.y, METHODS, n_repeats=1).rows}
    for row in ranking.rows:
        np.testing.assert_equal(row.error, expected[row.name].error)
        assert row.failed == expected[row.name].failed
    assert str(ranking).endswith("Failed: never.")


def test_classes_keep_their_share_also_where_rows_are_sorted(monkeypatch):
    seen = []
    order = np.argsort(DIGITS.y, kind="stable")
    monkeypatch.setattr(
        sys.modules["likewise.evaluation.first_ranking"],
        "check_problem",
        lambda X, y, *args, **options: seen.append(y) or 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        first_ranking(DIGITS.X[order], DIGITS.y[order], ["Euclidean"], max_rows=400)
    counts = np.bincount(seen[0])
    np.testing.assert_allclose(counts, np.bincount(DIGITS.y) * len(seen[0]) / 1797, atol=2)
    assert len(seen[0]) <= 400


def test_little_time_is_shared_among_all_methods(monkeypatch):
    # Shorter than any fit: a fast machine ends some of them within the least time.
    module = sys.modules["likewise.evaluation.first_ranking"]
    monkeypatch.setattr(module, "_LEAST_SECONDS", 1e-4)
    ranking = first_ranking(DIGITS.X, DIGITS.y, ["Euclidean", "LMNN", "NCA"], seconds=0.001)
    assert ranking.n_folds == 1
    assert [row.failed for row in ranking.rows] == [None] * 3
    assert set(ranking.stopped) <= {"LMNN", "NCA"}
    assert ranking.stopped
    assert "Stopped early: " in str(ranking)


def test_groups_are_kept_together():
    groups = np.arange(178) // 2
    ranking = first_ranking(WINE.X, WINE.y, ["Euclidean"], groups=groups, max_rows=60)
    assert ranking.n_rows <= 70
    assert ranking.n_rows % 2 == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_rows": 5}, "max_rows=5 is not allowed"),
        ({"seconds": 0}, "seconds=0 is not allowed"),
        ({"methods": ["LMN"]}, "there is no method 'LMN'"),
    ],
)
def test_bad_input(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        first_ranking(WINE.X, WINE.y, **options)


def test_the_default_methods_are_those_of_compare():
    ranking = first_ranking(WINE.X, WINE.y, max_rows=60, seconds=1)
    assert {row.name for row in ranking.rows} == set(COMPARED_METHODS)
