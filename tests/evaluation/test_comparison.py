"""Methods side by side: same folds for all, failures as rows, and verdicts to be trusted."""

import contextlib
import json
import math
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise.batch import FDA, MMC, NCA, RCA, Euclidean, Whitening
from likewise.datasets import load
from likewise.evaluation import COMPARED_METHODS, compare, knn_error
from likewise.statistics import sign_flip_max_test, stratified_folds

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


@pytest.fixture(scope="module")
def wine_comparison():
    return compare(WINE.X, WINE.y)


def test_every_registered_method_has_a_row(wine_comparison):
    assert [row.name for row in wine_comparison.rows] == list(COMPARED_METHODS)
    assert {"Euclidean", "cosine", "Whitening", "RCA", "FDA"} <= set(COMPARED_METHODS)
    for row in wine_comparison.rows:
        assert row.failed is None
        assert len(row.errors) == len(row.eers) == 10
        assert row.error == pytest.approx(np.mean(row.errors), abs=1e-3)
        assert row.spread == pytest.approx(np.std(row.errors, ddof=1))
        assert row.eer == pytest.approx(np.mean(row.eers))
        assert 0 < row.fit_seconds < 10
        assert row.rank is None if row.name == "cosine" else 1 <= row.rank <= 13


@pytest.mark.parametrize("standardize", [True, False])
def test_errors_are_those_of_the_documented_protocol(standardize):
    result = compare(WINE.X, WINE.y, ["RCA"], n_neighbors=5, standardize=standardize)
    rng = np.random.default_rng(0)
    expected = []
    for _ in range(2):
        folds = stratified_folds(WINE.y, 5, random_state=rng)
        for fold in range(5):
            train, test = folds != fold, folds == fold
            scaler = StandardScaler(with_mean=standardize, with_std=standardize).fit(WINE.X[train])
            A, B = scaler.transform(WINE.X[train]), scaler.transform(WINE.X[test])
            model = RCA().fit(A, WINE.y[train])
            error = knn_error(A, WINE.y[train], B, WINE.y[test], metric=model, n_neighbors=5)
            expected.append(error.error)
    np.testing.assert_allclose(result.rows[0].errors, expected)
    assert ("standardised" in result.caption) == standardize
    assert ("raw" in result.caption) != standardize


def test_cosine_is_the_cosine_distance_after_standardisation():
    result = compare(WINE.X, WINE.y, ["cosine"], n_repeats=1)
    folds = stratified_folds(WINE.y, 5, random_state=np.random.default_rng(0))
    for fold, error in enumerate(result.rows[0].errors):
        train, test = folds != fold, folds == fold
        scaler = StandardScaler().fit(WINE.X[train])
        knn = KNeighborsClassifier(3, metric="cosine", algorithm="brute")
        knn.fit(scaler.transform(WINE.X[train]), WINE.y[train])
        # Ties are broken differently: one row at most.
        assert 1 - knn.score(scaler.transform(WINE.X[test]), WINE.y[test]) == pytest.approx(
            error, abs=1.1 / test.sum()
        )


def test_classifiers_predict_by_themselves():
    iris = load("iris")
    names = ["Euclidean", "PLML", "MultiMetricLMNN", "EnergyClassifier", "MetricKNN"]
    result = compare(iris.X, iris.y, names, n_repeats=1)
    euclidean, *classifiers = result.rows
    for row in classifiers:
        assert row.failed is None
        assert row.error < 0.1
        assert math.isnan(row.eer)
        assert row.rank is None
    assert classifiers[-1].errors == euclidean.errors, "the same vote"


def test_every_metric_can_take_part_by_name():
    iris = load("iris")
    names = ["pcml", "NCML", "LDML", "ComposedMetric"]
    result = compare(iris.X[::3], iris.y[::3], names, n_repeats=1)
    assert [row.name for row in result.rows] == ["PCML", "NCML", "LDML", "ComposedMetric"]
    assert [row.failed for row in result.rows] == [None] * 4


def test_the_scaler_sees_training_rows_only():
    Recorder.seen.clear()
    compare(WINE.X, WINE.y, {"recorder": Recorder()}, n_repeats=1)
    assert len(Recorder.seen) == 5
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
    assert Broken.tried == before + 1, "it is not tried on every fold"
    row = result.rows[1]
    assert row.failed == "RuntimeError: it fell apart"
    assert math.isnan(row.error)
    assert "broken failed: RuntimeError: it fell apart" in str(result)
    assert result.verdict == "Use Euclidean: no other method could be fitted."
    alone = compare(WINE.X, WINE.y, ["Euclidean"])
    assert alone.verdict == "Use Euclidean: there is no other metric to compare it with."
    assert result.outcome == "untested"
    nothing = compare(WINE.X, WINE.y, {"broken": Broken()})
    assert nothing.recommended is None
    assert nothing.verdict.startswith("No method could be fitted")
    with pytest.raises(ValueError, match="no method could be fitted"):
        nothing.best_estimator()


def test_a_method_that_warns_keeps_its_numbers():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = compare(WINE.X, WINE.y, {"worried": Worried()})
    assert result.rows[0].warned == "not quite there"
    assert result.rows[0].n_warned == 10
    assert result.rows[0].failed is None
    assert str(result).count("not quite there") == 1
    assert "worried warned in 10 of 10 fits: not quite there" in str(result)


def informative(n_rows=300, noise=30):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 2
    return np.c_[y + 0.1 * rng.normal(size=n_rows), rng.normal(size=(n_rows, noise))], y


def test_a_learned_metric_that_clearly_wins_is_recommended():
    result = compare(*informative(), ["Euclidean", "FDA", "Whitening"])
    assert (result.outcome, result.recommended, result.leader) == ("use", "FDA", "FDA")
    assert result.verdict.startswith("Use FDA: it beats Euclidean by ")
    euclidean, fda, _ = result.rows
    assert result.difference == pytest.approx(euclidean.error - fda.error)
    assert result.difference == fda.difference
    assert result.interval == fda.interval
    low, high = result.interval
    assert 0 < low < result.difference < high
    assert f"at least {100 * low:.2g} and at most {100 * high:.2g}" in result.verdict
    assert result.needed_repeats is result.needed_rows is None
    assert repr(result.best_estimator()) == "FDA()"
    assert not hasattr(result.best_estimator(), "components_")


def test_the_verdict_is_that_of_the_test_on_the_rows_outcomes():
    """The losses are collected here row by row, and the test is applied to them."""
    X, y = informative(200)
    names = ["Euclidean", "FDA", "Whitening"]
    result = compare(X, y, names)
    rng = np.random.default_rng(0)
    folds = np.array([stratified_folds(y, random_state=rng) for _ in range(2)])
    wrong = np.zeros((2, 200, 3))
    for repeat, row in np.ndindex(2, 200):
        train = folds[repeat] != folds[repeat, row]
        scaler = StandardScaler().fit(X[train])
        A, b = scaler.transform(X[train]), scaler.transform(X[[row]])
        for j, metric in enumerate([Euclidean(), FDA(), Whitening()]):
            metric.fit(A, y[train])
            wrong[repeat, row, j] = knn_error(A, y[train], b, y[[row]], metric=metric).error
    test = sign_flip_max_test(wrong[..., :1] - wrong[..., 1:], folds)
    np.testing.assert_allclose([row.difference for row in result.rows[1:]], test.differences)
    np.testing.assert_allclose([row.interval for row in result.rows[1:]], test.intervals)


def test_a_metric_that_loses_is_not_recommended():
    result = compare(WINE.X, WINE.y, {"Euclidean": Euclidean(), "nose": Nose()})
    assert (result.outcome, result.recommended, result.leader) == ("use", "Euclidean", "nose")
    low, high = result.interval
    assert low < result.difference < high < -0.02
    assert result.verdict.startswith(
        "Use Euclidean: the best other metric, nose (Nose()), is behind it by "
    )
    assert f"(at least {-100 * high:.2g} and at most {-100 * low:.2g}, each" in result.verdict
    assert "No difference" not in result.verdict
    assert repr(result.best_estimator()) == "Euclidean()"


def test_undecided_names_repeats_or_rows():
    iris = load("iris")
    result = compare(iris.X, iris.y, ["Euclidean", "FDA"])
    assert result.outcome == "undecided"
    assert result.recommended is None
    assert result.verdict.startswith("Undecided: FDA is ahead of Euclidean by")
    assert result.verdict.endswith("would decide if the difference stays as seen.")
    assert result.needed_rows > 150
    assert repr(result.best_estimator()) == "FDA()", "the lowest error"


def test_what_was_tried_is_named():
    mine = {"Euclidean": Euclidean(), "mine": FDA(1), "NCA": NCA(regularization=0.02)}
    result = compare(*informative(), mine, n_repeats=1)
    assert [row.title for row in result.rows] == [
        "Euclidean",
        "mine (FDA(n_components=1))",
        "NCA(regularization=0.02)",
    ]
    assert result.to_dict()["rows"][2]["call"] == "NCA(regularization=0.02)"
    note = "Not with default parameters: mine (FDA(n_components=1)), NCA(regularization=0.02)."
    assert note in str(result)
    assert result.verdict.startswith("Use mine (FDA(n_components=1)): it beats Euclidean")


def test_the_estimator_that_was_tried_gives_the_errors_of_the_table():
    seed = 3
    result = compare(WINE.X, WINE.y, ["MMC", "NCA"], n_repeats=1, random_state=seed)
    folds = stratified_folds(WINE.y, random_state=np.random.default_rng(seed))
    best = result.best_estimator()
    row = min(result.rows, key=lambda row: row.error)
    assert repr(best) == row.call
    train, test = folds != 0, folds == 0
    scaler = StandardScaler().fit(WINE.X[train])
    A, B = scaler.transform(WINE.X[train]), scaler.transform(WINE.X[test])
    best.fit(A, WINE.y[train])
    assert knn_error(A, WINE.y[train], B, WINE.y[test], metric=best).error == row.errors[0]
    assert eval(result.rows[0].call, {"MMC": MMC}).random_state == seed


def test_names_are_tried_with_default_parameters_where_possible():
    differing = {
        name: make().get_params()
        for name, make in COMPARED_METHODS.items()
        if name != "cosine" and repr(make().set_params(**seedless(make()))) != f"{name}()"
    }
    assert set(differing) == {"NCA", "POLA"}


def seedless(estimator):
    return {"random_state": None} if "random_state" in estimator.get_params() else {}


def test_rows_of_single_classes_stay_in_the_training_parts():
    Recorder.seen.clear()
    X = np.vstack([WINE.X, [[99.0] * 13, [-99.0] * 13]])
    y = [*WINE.y, 3, 4]
    result = compare(X, y, {"recorder": Recorder()}, n_repeats=1, standardize=False)
    for seen in Recorder.seen:
        assert (seen == 99).any()
        assert (seen == -99).any()
    assert (result.n_untested, result.untested_classes) == (2, ("3", "4"))
    note = (
        "Not tested, but kept in the training parts: 2 rows of classes that occur once only (3, 4)."
    )
    assert note in result.notes
    assert (
        result.rows[0].errors
        == compare(WINE.X, WINE.y, ["Euclidean"], n_repeats=1, standardize=False).rows[0].errors
    )


def test_small_classes_are_tested():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 2)
    result = compare(y[:, None] + 0.1 * rng.normal(size=(24, 1)), y, ["Euclidean"])
    assert result.n_untested == 0
    assert result.rows[0].error < 1


class GroupsSeen(Euclidean):
    """Checks that no group is in both parts: the group is the first feature."""

    def fit(self, X, y=None):
        self.groups_ = set(X[:, 0])
        return super().fit(X, y)

    def transform(self, X):
        assert set(X[:, 0]) in (self.groups_, set(X[:, 0]) - self.groups_)
        return super().transform(X)


def test_groups_are_kept_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 6)
    y = groups % 3
    voices = rng.normal(size=(30, 5))[groups] + 0.1 * rng.normal(size=(180, 5))
    X = np.c_[groups, voices]
    together = compare(
        X, y, {"seen": GroupsSeen()}, groups=[f"speaker {g}" for g in groups], standardize=False
    )
    assert together.rows[0].failed is None
    assert together.n_groups == 30
    assert "30 groups kept together" in together.caption
    apart = compare(voices, y, ["Euclidean"])
    kept = compare(voices, y, ["Euclidean"], groups=groups)
    assert apart.rows[0].error < 0.05 < 0.4 < kept.rows[0].error, "speakers say nothing of others"


def test_groups_are_the_unit_of_the_test():
    """Copies of a row are no further evidence."""
    X, y = informative(60, noise=8)
    once = compare(X, y, ["Euclidean", "FDA"])
    copies = compare(
        np.repeat(X, 4, axis=0),
        np.repeat(y, 4),
        ["Euclidean", "FDA"],
        groups=np.repeat(np.arange(60), 4),
    )
    width = [row.interval[1] - row.interval[0] for row in (once.rows[1], copies.rows[1])]
    assert width[1] > 0.7 * width[0]


def test_a_class_in_one_group_only_is_not_tested():
    groups = np.r_[np.arange(178) // 5, [99, 99]]
    X = np.vstack([WINE.X, WINE.X[:2] + 50])
    result = compare(X, [*WINE.y, 7, 7], ["Euclidean"], groups=groups)
    assert result.n_untested == 2
    assert "where this splits no group: 2 rows of classes that occur in one group only (7)" in str(
        result
    )


@pytest.mark.parametrize(
    ("column", "noticed"),
    [
        (np.arange(178), True),
        (np.random.default_rng(0).permutation(178) + 5000, True),
        (np.delete(np.arange(250), slice(40, 112)), True),
        (10 * np.arange(178), True),
        (np.arange(178) // 2, False),
        (np.arange(178) + 0.5 * (np.arange(178) == 9), False),
        (np.random.default_rng(0).choice(10**6, 178, replace=False), False),
        (WINE.X[:, 12], False),
    ],
)
def test_row_numbers_are_noticed(column, noticed):
    frame = pd.DataFrame(WINE.X).assign(patient=column)
    for X, names, name in (
        (frame, None, "patient"),
        (frame.to_numpy(), None, "13"),
        (frame.to_numpy(), [*"abcdefghijklm", "case"], "case"),
    ):
        result = compare(X, WINE.y, ["Euclidean"], n_repeats=1, feature_names=names)
        assert result.id_columns == ((name,) if noticed else ())
        assert (f"Column {name} looks like row numbers" in str(result)) == noticed
        assert (
            "(--id or --drop on the command line; not in X in Python)" in str(result)
        ) == noticed


@pytest.fixture
def interruptible():
    """A shell that runs the tests in the background lets them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_a_fit_survives_ends_the_comparison():
    fitted = []

    class Interrupted(Euclidean):
        def fit(self, X, y=None):
            fitted.append(X)
            with contextlib.suppress(KeyboardInterrupt):  # as iterative fits do
                signal.raise_signal(signal.SIGINT)
            return super().fit(X, y)

    with pytest.raises(KeyboardInterrupt):
        compare(WINE.X, WINE.y, {"a": Interrupted(), "b": Interrupted()})
    assert len(fitted) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_comparison_runs_in_a_thread():
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(compare, WINE.X, WINE.y, ["Euclidean"]).result()
    assert result.rows[0].failed is None


def test_a_plain_dictionary_for_json():
    result = compare(WINE.X, WINE.y, {"Euclidean": Euclidean(), "broken": Broken()})
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["rows"][1]["error"] is None
    assert plain["rows"][0]["interval"] == [None, None]
    assert plain["outcome"] == "untested"
    assert plain["verdict"] == result.verdict
    assert plain["standardized"] is True


def test_progress_is_told_every_fit():
    told = []
    compare(
        WINE.X,
        WINE.y,
        ["Euclidean", "rca"],
        n_repeats=2,
        progress=lambda done, total, what: told.append((done, total, what)),
    )
    assert told[0] == (0, 20, "Euclidean, fold 1, repeat 1")
    assert told[-1] == (20, 20, "RCA, fold 5, repeat 2")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_classes_with_one_test_row_have_no_pairs():
    rng = np.random.default_rng(0)
    result = compare(rng.normal(size=(8, 2)), np.repeat([0, 1], 4), ["Euclidean"])
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
        ({"y": np.arange(178)}, "each of the 178 classes of y occurs in one row only, such as 0"),
        (
            {"y": np.r_[0, 0, 1, 1, np.arange(2, 176)]},
            "4 rows of classes that occur in two or more rows",
        ),
        ({"groups": WINE.y}, "each of the 3 classes of y occurs in one group only, such as 0"),
        ({"groups": np.arange(178) % 4}, "4 groups of classes that occur in two or more groups"),
        ({"groups": [1, 2]}, r"groups has shape \(2,\), .* one group for each of the 178 rows"),
        ({"groups": np.r_[np.nan, np.ones(177)]}, "groups contains NaN"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, but X has 13 columns"),
        ({"y": np.r_[np.nan, np.ones(177)]}, "y contains NaN"),
        ({"y": np.array([1, "a"] * 89, dtype=object)}, "y must hold labels of one kind"),
        ({"n_neighbors": 0}, "n_neighbors=0 is not allowed"),
        ({"n_neighbors": 500}, "n_neighbors is 500, but there are only 142 training rows"),
        ({"n_repeats": 0}, "n_repeats=0 is not allowed"),
        ({"n_pairs": 1}, "n_pairs=1 is not allowed"),
        ({"methods": ["FDB"]}, "there is no method 'FDB'; did you mean FDA"),
        ({"methods": ["zzzz"]}, "there is no method 'zzzz'; known are Euclidean"),
        ({"methods": []}, "methods is empty"),
        ({"methods": "FDA"}, "methods is the text 'FDA'"),
    ],
)
def test_bad_input(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare(**GOOD | change)


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
    result = compare(iris.X, iris.y, {"scaled": make_pipeline(StandardScaler(), FDA())})
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


def test_copies_are_counted_across_groups():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    X[1::2] = X[::2]
    X[0], X[1] = [0.0, 1.0], [-0.0, 1.0]
    pairs, others = np.arange(40) // 2, np.arange(40) % 10
    found = [compare(X, y, ["Euclidean"], groups=g).n_copies for g in (None, pairs, others)]
    assert found == [40, 0, 40]
    result = compare(X, y, ["Euclidean"])
    assert result.notes == (
        "40 of 40 rows are equal to another one. Copies in training and test parts make errors too "
        "low: remove them, or keep them together as groups.",
    )
    assert result.to_dict()["n_copies"] == 40
    assert not compare(X[::2], y[::2], ["Euclidean"]).notes
