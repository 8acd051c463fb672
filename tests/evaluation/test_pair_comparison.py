"""Methods side by side on pairs: no item on both sides, and the verdict is that of the test."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import likewise as lw
from likewise.constraints import random_pairs
from likewise.datasets import load
from likewise.evaluation import compare_pairs
from likewise.methods import COMPARED_ON_PAIRS, METHODS
from likewise.statistics import GroupPairSplit, PairSplit, auc_test, place_pairs

WINE = load("wine")
PAIRS, SAME = random_pairs(WINE.y, 2000, random_state=0)


class Recorder(lw.RCA):
    """Keeps what it was fitted on and asked about."""

    seen = []

    def fit_pairs(self, X, pairs, same):
        Recorder.seen.append({"X": X, "pairs": pairs, "same": same})
        return super().fit_pairs(X, pairs, same)

    def pair_distance(self, A, B):
        Recorder.seen[-1]["tested"] = np.concatenate([A, B])
        return super().pair_distance(A, B)


class Broken(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        raise RuntimeError("it fell\napart")


class Wild(lw.Euclidean):
    def pair_distance(self, A, B):
        return super().pair_distance(A, B) * np.nan


class Worried(lw.Euclidean):
    def fit(self, X, y=None):
        warnings.warn("not quite there", UserWarning, stacklevel=2)
        return super().fit(X, y)


class LastFeature(lw.Euclidean):
    def pair_distance(self, A, B):
        return abs(A[:, -1] - B[:, -1])


def test_the_registry_knows_who_learns_from_pairs():
    metrics = [m for m in METHODS.values() if m.kind in ("metric", "online metric")]
    with_fit_pairs = {m.name for m in metrics if hasattr(m.learner, "fit_pairs")}
    assert set(COMPARED_ON_PAIRS) == with_fit_pairs | {"Euclidean", "cosine", "Whitening"}
    assert with_fit_pairs == {m.name for m in metrics if m.learns_from_pairs}


def test_every_method_has_a_row_with_intervals():
    some = np.random.default_rng(0).choice(len(PAIRS), 600, replace=False)
    result = compare_pairs(WINE.X, PAIRS[some], SAME[some], n_repeats=1)
    assert [row.name for row in result.rows] == list(COMPARED_ON_PAIRS)
    for row in result.rows:
        assert row.failed is None, row
        assert row.auc_interval[0] < row.auc < row.auc_interval[1]
        assert row.eer_interval[0] < row.eer < row.eer_interval[1]
        assert row.fit_seconds > 0
        assert row.rank is None if row.name == "cosine" else 1 <= row.rank <= 13
        assert row.loss == 1 - row.auc
    assert "600 same" not in result.caption
    assert f"{SAME[some].sum()} same and {(~SAME[some]).sum()} different" in result.caption


@pytest.mark.parametrize("grouped", [False, True])
def test_rates_and_verdict_are_those_of_the_documented_protocol(grouped):
    groups = np.arange(178) // 2 if grouped else None
    result = compare_pairs(
        WINE.X,
        PAIRS,
        SAME,
        ["RCA", "ITML"],
        groups=groups,
        n_repeats=2,
        random_state=5,
    )
    distances = {"Euclidean": [], "cosine": [], "RCA": [], "ITML": []}
    tested, areas = [], []
    for repeat in range(2):
        splitter = PairSplit(3, random_state=5 + repeat)
        if grouped:
            splitter = GroupPairSplit(3, groups=groups, random_state=5 + repeat)
        for train, test in splitter.split(PAIRS):
            items = np.unique(PAIRS[train])
            scaler = StandardScaler().fit(WINE.X[items])
            X = scaler.transform(WINE.X)
            row_of = {item: row for row, item in enumerate(items)}
            index = [[row_of[i], row_of[j]] for i, j in PAIRS[train]]
            A, B = X[PAIRS[test, 0]], X[PAIRS[test, 1]]
            models = {
                "Euclidean": lw.Euclidean().fit(X[items]),
                "cosine": make_pipeline(Normalizer(), lw.Euclidean()).fit(X[items]),
                "RCA": lw.RCA().fit_pairs(X[items], index, SAME[train]),
                "ITML": lw.ITML(random_state=5).fit_pairs(X[items], index, SAME[train]),
            }
            for name, model in models.items():
                images = [model.transform(side) for side in (A, B)]
                distances[name].append(np.linalg.norm(images[0] - images[1], axis=1))
            tested.append(test)
            areas.append(roc_auc_score(SAME[test], -distances["RCA"][-1]))
    assert [row.name for row in result.rows] == list(distances)
    rca = result.rows[2]
    weights = [SAME[test].sum() for test in tested]
    assert rca.auc == pytest.approx(np.average(areas, weights=weights))
    placed = [place_pairs(d, tested, SAME) for d in distances.values()]
    units = PAIRS if groups is None else groups[PAIRS]
    test = auc_test(placed[0], placed[1:], units)
    found = np.array([row.interval for row in result.rows[1:]])
    np.testing.assert_allclose(found, test.intervals, rtol=1e-6)
    assert result.n_tested == len(np.unique(np.concatenate(tested)))
    assert rca.eer == pytest.approx(placed[2].eer().value)
    least = min((~SAME[test]).sum() for test in tested)
    assert (least >= 100) != grouped, "with groups, too few different pairs in a split for 1 %"
    expected = math.nan if grouped else placed[2].fnmr_at(0.01).value
    assert rca.fnmr[0] == pytest.approx(expected, nan_ok=True)
    assert math.isnan(rca.fnmr[1]), "too few for 0.1 %"


def test_no_item_and_no_subject_is_on_both_sides():
    for groups in (None, np.arange(178) // 3):
        Recorder.seen.clear()
        compare_pairs(
            WINE.X, PAIRS, SAME, {"recorder": Recorder()}, groups=groups, standardize=False
        )
        assert len(Recorder.seen) == 9
        subject = np.arange(178) if groups is None else groups
        row_of = {row.tobytes(): i for i, row in enumerate(WINE.X)}
        for seen in Recorder.seen:
            train = {subject[row_of[row.tobytes()]] for row in seen["X"]}
            test = {subject[row_of[row.tobytes()]] for row in seen["tested"]}
            assert not train & test
            assert set(np.unique(seen["pairs"])) == set(range(len(seen["X"])))


def test_the_scaler_sees_training_items_only():
    Recorder.seen.clear()
    compare_pairs(WINE.X, PAIRS, SAME, {"recorder": Recorder()}, n_repeats=1)
    for seen in Recorder.seen:
        np.testing.assert_allclose(seen["X"].mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(seen["X"].std(axis=0), 1)


def test_a_clear_winner_is_recommended_and_nothing_is_gained_by_a_copy():
    result = compare_pairs(WINE.X, PAIRS, SAME, ["ITML", "Whitening"])
    assert (result.outcome, result.recommended, result.leader) == ("use", "ITML", "ITML")
    euclidean, _, itml, _ = result.rows
    assert result.difference == pytest.approx(itml.auc - euclidean.auc)
    assert 0 < result.interval[0] < result.difference < result.interval[1]
    assert result.verdict.startswith("Use ITML: it beats Euclidean by ")
    assert result.verdict.endswith(f"{itml.auc:.2%} against {euclidean.auc:.2%} AUC.")
    assert repr(result.best_estimator()) == "ITML(random_state=0)"
    copies = {"cosine": lw.Euclidean(), "copy": lw.Euclidean()}
    same = compare_pairs(WINE.X, PAIRS, SAME, copies)
    assert same.outcome == "no difference"
    assert same.recommended == "Euclidean"


def test_the_baseline_is_recommended_where_all_others_lose():
    losing = {"cosine": LastFeature(), "noise": LastFeature()}
    X = np.c_[WINE.X[:, :12], np.random.default_rng(0).normal(size=178)]
    result = compare_pairs(X, PAIRS, SAME, losing)
    assert (result.outcome, result.recommended) == ("use", "Euclidean")
    assert result.verdict.startswith("Use Euclidean: the best other metric, ")
    assert result.interval[1] < 0


def test_undecided_says_how_many_items_would_decide():
    rng = np.random.default_rng(1)
    some = rng.choice(len(PAIRS), 150, replace=False)
    result = compare_pairs(WINE.X, PAIRS[some], SAME[some], ["Euclidean", "Whitening", "cosine"])
    assert result.outcome == "undecided"
    assert result.recommended is None
    assert result.needed_items > result.n_items / 2
    assert " items would decide if the difference stays as seen." in result.verdict
    assert "repeat" not in result.verdict


def test_with_groups_the_verdict_and_the_notes_count_subjects():
    some = np.random.default_rng(1).choice(len(PAIRS), 150, replace=False)
    names = ["Euclidean", "Whitening", "cosine"]
    groups = np.arange(178) // 2
    result = compare_pairs(WINE.X, PAIRS[some], SAME[some], names, groups=groups)
    few = replace(result.rows[1], degrees_of_freedom=5.0)
    for n_groups, unit in ((None, "items"), (30, "subjects")):
        notes = str(replace(result, rows=(result.rows[0], few), n_groups=n_groups))
        assert f"Some differences rest on fewer than 8 {unit}: their bounds" in notes
    assert result.outcome == "undecided"
    assert " subjects would decide if the difference stays as seen." in result.verdict


def test_the_baselines_always_take_part():
    for methods in (["RCA"], ["rca", "COSINE"], {"RCA": lw.RCA()}):
        result = compare_pairs(WINE.X, PAIRS, SAME, methods, n_repeats=1)
        assert [row.name for row in result.rows] == ["Euclidean", "cosine", "RCA"]
        assert result.outcome != "untested"
        assert math.isfinite(result.rows[2].difference)


def test_without_the_baseline_there_is_no_test():
    failing = {"Euclidean": Broken(), "cosine": Broken(), "RCA": lw.RCA()}
    result = compare_pairs(WINE.X, PAIRS, SAME, failing, n_repeats=1)
    assert result.outcome == "untested"
    assert result.verdict.startswith("Use RCA: its AUC, ")
    assert "is the largest here; without Euclidean" in result.verdict
    others = {"cosine": Broken()}
    alone = compare_pairs(WINE.X, PAIRS, SAME, others, n_repeats=1)
    assert alone.verdict.startswith("Use Euclidean: ")
    assert alone.outcome == "untested"


def test_methods_that_fail_or_warn_are_rows_that_say_so():
    methods = {
        "Euclidean": lw.Euclidean(),
        "broken": Broken(),
        "wild": Wild(),
        "worried": Worried(),
    }
    result = compare_pairs(WINE.X, PAIRS, SAME, methods, n_repeats=1)
    assert result.rows[2].failed == "RuntimeError: it fell apart"
    assert "distances contains NaN" in result.rows[3].failed
    assert math.isnan(result.rows[3].auc)
    assert (result.rows[4].warned, result.rows[4].n_warned) == ("not quite there", 3)
    text = str(result)
    assert "broken failed: RuntimeError: it fell apart" in text
    assert "worried warned in 3 of 3 fits: not quite there" in text


def test_the_result_can_be_stored_and_read():
    table = pd.DataFrame(WINE.X, columns=[f"c{i}" for i in range(13)])
    table["number"] = np.arange(178)
    result = compare_pairs(table, PAIRS, SAME, ["Euclidean", "RCA"], n_repeats=1)
    stored = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert stored["rows"][1]["auc_interval"] == list(result.rows[1].auc_interval)
    assert stored["rows"][1]["fnmr"][1] is None
    assert stored["verdict"] == result.verdict
    assert stored["id_columns"] == ["number"]
    assert "Column number looks like row numbers" in str(result)
    assert "pairs were never tested" in str(result)
    lines = str(result).splitlines()
    assert lines[0].split()[:4] == ["metric", "AUC", "%", "EER"]
    assert lines[1].startswith("Euclidean")


def test_seeds_decide_and_progress_is_told():
    told = []
    first = compare_pairs(
        WINE.X, PAIRS, SAME, ["Euclidean", "rca"], progress=lambda *step: told.append(step)
    )
    again = compare_pairs(WINE.X, PAIRS, SAME, ["Euclidean", "RCA"])
    other = compare_pairs(WINE.X, PAIRS, SAME, ["Euclidean", "RCA"], random_state=9)
    assert [row.auc for row in first.rows] == [row.auc for row in again.rows]
    assert first.rows[0].auc != other.rows[0].auc
    assert told[0] == (0, 27, "Euclidean, fold 1, repeat 1")
    assert told[-1] == (27, 27, "RCA, fold 3, repeat 3")


GOOD = {"X": WINE.X, "pairs": PAIRS, "same": SAME, "methods": ["Euclidean"]}
FEW = np.flatnonzero(SAME)[:1].tolist() + np.flatnonzero(~SAME)[:20].tolist()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"same": SAME | True}, "same has 2000 same and 0 different pairs, but at least one of"),
        ({"same": SAME & False}, "same has 0 same and 2000 different pairs"),
        ({"same": SAME[:5]}, r"same has shape \(5,\), but 2000 pairs need shape \(2000,\)"),
        ({"same": np.full(2000, np.nan)}, "same holds nan"),
        ({"pairs": np.where(PAIRS[7, 1] == PAIRS, PAIRS[7, 0], PAIRS)}, "twice, but its rows must"),
        ({"pairs": PAIRS + 100}, "pairs holds row number"),
        ({"pairs": PAIRS[:, :1]}, r"pairs has shape \(2000, 1\)"),
        ({"pairs": PAIRS.astype(float)}, "row numbers must be integers"),
        ({"pairs": PAIRS[:2], "same": [True, False]}, "items, too few to split|too few pairs"),
        ({"pairs": PAIRS[FEW], "same": SAME[FEW]}, "too few"),
        ({"X": WINE.X * np.nan}, "X contains NaN"),
        ({"X": sp.csr_array(WINE.X)}, "X is sparse"),
        ({"groups": [1, 2]}, r"groups has shape \(2,\), but 178 items need shape \(178,\)"),
        ({"groups": np.zeros(178)}, "1 subject, too few to split into 3 parts"),
        ({"groups": np.full(178, np.nan)}, "groups must be finite"),
        ({"n_repeats": 0}, "n_repeats=0 is not allowed: compare_pairs needs"),
        ({"random_state": -1}, "random_state=-1 is not allowed"),
        ({"standardize": "yes"}, "standardize='yes' is not allowed"),
        ({"methods": ["FDA"]}, "FDA does not learn from pairs, but compare_pairs needs methods"),
        ({"methods": ["zzz"]}, "there is no method 'zzz'"),
        ({"methods": "RCA"}, "methods is the text 'RCA'"),
        ({"methods": []}, "methods is empty"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, but X has 13 columns"),
    ],
)
def test_bad_input(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare_pairs(**GOOD | change)
