"""Methods side by side: same splits for all, failures as rows, and verdicts to be trusted."""

import json
import math
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise.batch import FDA, RCA, Euclidean
from likewise.datasets import load
from likewise.evaluation import COMPARED_METHODS, compare, knn_error
from likewise.evaluation.results import MethodResult
from likewise.evaluation.verdict import corrected_t_test, give_verdict

WINE = load("wine")


class Broken(TransformerMixin, BaseEstimator):
    tried = 0

    def fit(self, X, y=None):
        Broken.tried += 1
        raise RuntimeError("it fell\napart")


class Recorder(Euclidean):
    """Keeps what it was fitted on."""

    seen = []

    def fit(self, X, y=None):
        Recorder.seen.append(X)
        return super().fit(X, y)


class Worried(Euclidean):
    def fit(self, X, y=None):
        warnings.warn("not quite there", UserWarning, stacklevel=2)
        return super().fit(X, y)


class Nose(TransformerMixin, BaseEstimator):
    """Projects to one random direction."""

    def fit(self, X, y=None):
        self.components_ = np.random.default_rng(0).normal(size=(1, X.shape[1]))
        return self

    def transform(self, X):
        return X @ self.components_.T


def test_every_registered_method_has_a_row():
    result = compare(WINE.X, WINE.y)
    assert [row.name for row in result.rows] == list(COMPARED_METHODS)
    assert {"Euclidean", "Whitening", "RCA", "FDA"} <= set(COMPARED_METHODS)
    for row in result.rows:
        assert row.failed is None
        assert len(row.errors) == len(row.eers) == 5
        assert row.error == pytest.approx(np.mean(row.errors))
        assert row.spread == pytest.approx(np.std(row.errors, ddof=1))
        assert row.eer == pytest.approx(np.mean(row.eers))
        assert 0 < row.fit_seconds < 10
        assert 1 <= row.rank <= 13


@pytest.mark.parametrize("standardize", [True, False])
def test_errors_are_those_of_the_documented_protocol(standardize):
    result = compare(WINE.X, WINE.y, ["RCA"], n_neighbors=5, standardize=standardize)
    splitter = StratifiedShuffleSplit(5, test_size=0.3, random_state=0)
    expected = []
    for train, test in splitter.split(WINE.X, WINE.y):
        scaler = StandardScaler(with_mean=standardize, with_std=standardize).fit(WINE.X[train])
        A, B = scaler.transform(WINE.X[train]), scaler.transform(WINE.X[test])
        model = RCA().fit(A, WINE.y[train])
        error = knn_error(A, WINE.y[train], B, WINE.y[test], metric=model, n_neighbors=5)
        expected.append(error.error)
    np.testing.assert_allclose(result.rows[0].errors, expected)
    assert ("standardised" in result.caption) == standardize
    assert ("raw" in result.caption) != standardize


def test_the_scaler_sees_training_rows_only():
    Recorder.seen.clear()
    compare(WINE.X, WINE.y, {"recorder": Recorder()}, n_splits=3)
    assert len(Recorder.seen) == 3
    for X in Recorder.seen:
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(X.std(axis=0), 1)


def test_labels_may_be_words_and_seeds_decide():
    words = np.array(WINE.classes, dtype=object)[WINE.y]
    first = compare(WINE.X, words, ["Euclidean"], random_state=3).rows[0]
    again = compare(WINE.X, WINE.y, ["Euclidean"], random_state=3).rows[0]
    other = compare(WINE.X, WINE.y, ["Euclidean"], random_state=4).rows[0]
    assert (first.errors, first.eers) == (again.errors, again.eers)
    assert first.eers != other.eers


def test_a_method_that_fails_is_a_row_that_says_so():
    before = Broken.tried
    result = compare(WINE.X, WINE.y, {"Euclidean": Euclidean(), "broken": Broken()})
    assert Broken.tried == before + 1, "it is not tried on every split"
    row = result.rows[1]
    assert row.failed == "RuntimeError: it fell apart"
    assert math.isnan(row.error)
    assert "broken     failed: RuntimeError: it fell apart" in str(result)
    assert result.verdict == "Use Euclidean: there is no learned metric to compare it with."
    nothing = compare(WINE.X, WINE.y, {"broken": Broken()})
    assert nothing.recommended is None
    assert nothing.verdict.startswith("No method could be fitted")


def test_a_method_that_warns_keeps_its_numbers():
    result = compare(WINE.X, WINE.y, {"worried": Worried()})
    assert result.rows[0].warned == "not quite there"
    assert result.rows[0].failed is None
    assert "worried warned: not quite there" in str(result)


def test_a_learned_metric_that_loses_is_told_so():
    result = compare(WINE.X, WINE.y, {"Euclidean": Euclidean(), "nose": Nose()})
    assert result.recommended == "Euclidean"
    assert "the best learned metric, nose, loses to it" in result.verdict
    assert "learning was not worth it" in result.verdict


def test_a_learned_metric_that_clearly_wins_is_recommended():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = np.c_[y + 0.1 * rng.normal(size=300), rng.normal(size=(300, 30))]
    result = compare(X, y, ["Euclidean", "FDA"])
    assert result.recommended == "FDA"
    assert result.verdict.startswith("Use FDA: it beats Euclidean")
    assert "so learning was worth it; it also tells pairs apart better" in result.verdict


def test_a_plain_dictionary_for_json():
    result = compare(WINE.X, WINE.y, {"Euclidean": Euclidean(), "broken": Broken()}, n_splits=1)
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["rows"][1]["error"] is None
    assert plain["rows"][0]["spread"] is None, "one split has no spread"
    assert plain["verdict"] == result.verdict
    assert plain["standardized"] is True


def test_progress_is_told_every_fit():
    told = []
    compare(
        WINE.X,
        WINE.y,
        ["Euclidean", "rca"],
        n_splits=2,
        progress=lambda done, total, what: told.append((done, total, what)),
    )
    assert told[0] == (0, 4, "Euclidean, split 1 of 2")
    assert told[-1] == (4, 4, "RCA, split 2 of 2")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_classes_with_one_test_row_have_no_pairs():
    rng = np.random.default_rng(0)
    result = compare(rng.normal(size=(8, 2)), np.repeat([0, 1], 4), ["Euclidean"], test_size=0.25)
    assert math.isnan(result.rows[0].eer)
    assert not math.isnan(result.rows[0].error)


GOOD = {"X": WINE.X, "y": WINE.y}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"X": WINE.X * np.nan}, "X contains NaN in 178 rows"),
        ({"X": WINE.X[:, 0]}, r"X has shape \(178,\), but it must have rows and columns"),
        ({"X": WINE.X[:, :0]}, r"X has shape \(178, 0\)"),
        ({"X": np.full((178, 2), "a")}, "X must be a matrix of numbers"),
        ({"y": WINE.y[:5]}, r"y has shape \(5,\), .* each of the 178 rows"),
        ({"y": WINE.y * 0}, "y has one class only, 0, but at least two"),
        ({"y": np.arange(178)}, "178 of 178 classes with one row only, such as 0"),
        ({"y": np.r_[np.nan, np.ones(177)]}, "y contains NaN"),
        ({"y": np.array([1, "a"] * 89, dtype=object)}, "y must hold labels of one kind"),
        ({"y": np.repeat(np.arange(89), 2)}, "each part needs at least one row for each of the 89"),
        ({"n_neighbors": 0}, "n_neighbors=0 is not allowed"),
        ({"n_neighbors": 500}, "n_neighbors is 500, but there are only 124 training rows"),
        ({"n_splits": 0}, "n_splits=0 is not allowed"),
        ({"n_pairs": 1}, "n_pairs=1 is not allowed"),
        ({"test_size": 1.0}, "test_size=1.0 is not allowed: compare needs a number"),
        ({"methods": ["FDB"]}, "there is no method 'FDB'; did you mean FDA"),
        ({"methods": ["zzzz"]}, "there is no method 'zzzz'; known are Euclidean"),
        ({"methods": []}, "methods is empty"),
        ({"methods": "FDA"}, "methods is the text 'FDA'"),
    ],
)
def test_bad_input(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare(**GOOD | change)


def test_the_corrected_test_is_students_when_training_sets_do_not_overlap():
    differences = np.array([0.1, 0.3, -0.05, 0.2])
    # n_test / n_train = 0 takes the correction away.
    assert corrected_t_test(differences, 10**12, 100) == pytest.approx(
        stats.ttest_1samp(differences, 0).pvalue
    )


def test_the_corrected_test_by_its_formula():
    differences = np.array([0.02, 0.03, 0.01, 0.02, 0.04])
    t = differences.mean() / np.sqrt((1 / 5 + 30 / 70) * differences.var(ddof=1))
    expected = 2 * stats.t.sf(t, 4)
    assert corrected_t_test(differences, 70, 30) == pytest.approx(expected)
    assert expected > 5 * stats.ttest_1samp(differences, 0).pvalue


def test_agreement_by_rounding_is_no_proof():
    assert corrected_t_test([0.1, 0.1], 14, 10) > 0.05
    assert corrected_t_test([0.0, 0.0, 0.0], 70, 30) == 1.0
    assert corrected_t_test([0.5], 70, 30) == 1.0


def test_chance_is_rarely_taken_for_skill():
    """Metrics that differ by luck only are recommended about as seldom as the level promises."""
    rng = np.random.default_rng(0)
    n_recommended = 0
    for _ in range(400):
        # The scatter that overlapping training rows share, and that of each split.
        rows = [
            MethodResult(name, errors.mean(), errors=tuple(errors))
            for name in ("Euclidean", "A", "B", "C")
            for errors in [0.1 + 0.01 * rng.normal() * 0.6**0.5 + 0.01 * rng.normal(size=5)]
        ]
        verdict = give_verdict(rows, n_neighbors=3, n_train=700, n_test=300)
        n_recommended += verdict.recommended != "Euclidean"
    assert n_recommended / 400 < 0.05


def row(name, errors):
    return MethodResult(name, float(np.mean(errors)), errors=tuple(errors))


@pytest.mark.parametrize(
    ("rows", "recommended", "words"),
    [
        ([], None, "No method could be fitted"),
        ([row("Euclidean", [0.1, 0.2])], "Euclidean", "there is no learned metric"),
        ([row("A", [0.1]), row("B", [0.2])], "A", "not known whether learning was worth it"),
        ([row("Euclidean", [0.1]), row("A", [0.0])], "Euclidean", "one split cannot tell"),
        ([row("Euclidean", [0.1, 0.2]), row("A", [0.2, 0.1])], "Euclidean", "only equals it"),
        ([row("Euclidean", [0.1, 0.1]), row("A", [0.2, 0.1])], "Euclidean", "loses to it"),
        ([row("Euclidean", [0.1, 0.3]), row("A", [0.1, 0.2])], "Euclidean", "is not shown to be"),
        ([row("Euclidean", [0.5, 0.51] * 5), row("A", [0.1] * 10)], "A", "it beats Euclidean"),
    ],
)
def test_verdicts(rows, recommended, words):
    verdict = give_verdict(rows, n_neighbors=3, n_train=700, n_test=300)
    assert verdict.recommended == recommended
    assert words in verdict.sentence
    assert verdict.sentence.endswith(".")


def test_importing_evaluation_loads_nothing_optional():
    # scikit-learn loads some of them by itself where they are installed: what counts is the rest.
    code = (
        "import sys, sklearn.model_selection, sklearn.preprocessing; before = set(sys.modules);"
        "import likewise.evaluation; loaded = set(sys.modules) - before;"
        "print(sorted({'matplotlib', 'pandas', 'pyarrow', 'click', 'rich'} & loaded))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_pipeline_is_compared_without_a_rank():
    iris = load("iris")
    result = compare(iris.X, iris.y, {"scaled": make_pipeline(StandardScaler(), FDA())}, n_splits=2)
    assert result.rows[0].failed is None
    assert result.rows[0].rank is None
    assert "–" in str(result)


@pytest.mark.parametrize(
    ("X", "methods", "sentence"),
    [
        (sp.csr_array(np.eye(4)), None, "X is sparse, but compare needs a dense table"),
        (np.eye(4), [FDA()], r"methods holds FDA\(\), but it must be names, or a dict"),
    ],
)
def test_more_bad_input(X, methods, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare(X, [0, 0, 1, 1], methods)
