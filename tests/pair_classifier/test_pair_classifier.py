"""PairClassifier: what the threshold is learned from, what it promises, and what it decides."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

import likewise as lw
from likewise.constraints import random_pairs
from likewise.statistics import choose_threshold


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:700], y[:700]


@pytest.fixture(scope="module")
def people():
    """60 subjects of 8 rows each."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 8)
    return 2 * rng.normal(size=(60, 5))[y] + rng.normal(size=(480, 5)), y


class Spy(lw.RCA):
    """A metric that remembers the rows and pairs it was learned from."""

    seen = []

    def fit(self, X, y):
        Spy.seen.append(np.array(X))
        return super().fit(X, y)

    def fit_pairs(self, X, pairs, same):
        Spy.seen.append(np.array(X)[np.unique(pairs)])
        return super().fit_pairs(X, pairs, same)


def rows_of(table):
    return {row.tobytes() for row in np.asarray(table)}


def test_the_threshold_is_that_of_the_held_out_pairs(digits):
    X, y = digits
    Spy.seen = []
    judge = lw.PairClassifier(Spy(), "fmr<=0.02").fit(X, y)
    (learned,) = Spy.seen
    held = np.array([row.tobytes() not in rows_of(learned) for row in X])
    assert judge.n_metric_items_ == len(learned) == len(X) - held.sum()
    assert abs(held.sum() - len(X) / 2) <= 1
    assert np.ptp(np.bincount(y[held]) / np.bincount(y)) < 0.05, "every class is halved"
    rows = np.flatnonzero(held)
    pairs = rows[np.stack(np.triu_indices(len(rows), 1), axis=1)]
    distances = judge.metric_.pair_distance(X[pairs[:, 0]], X[pairs[:, 1]])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    expected = choose_threshold(distances, same, "fmr<=0.02", items=pairs)
    assert judge.threshold_ == pytest.approx(expected.threshold)
    assert judge.threshold_interval_ == pytest.approx(expected.interval)
    assert judge.promise_.startswith(expected.promise)
    assert (judge.n_threshold_items_, judge.n_threshold_pairs_) == (len(rows), len(pairs))
    np.testing.assert_allclose([judge.fmr_, judge.fnmr_], [expected.fmr, expected.fnmr])


def test_subjects_are_split_as_a_whole(people):
    X, y = people
    Spy.seen = []
    judge = lw.PairClassifier(Spy(), "fmr<=0.1").fit(X, y, groups=y)
    held = np.array([row.tobytes() not in rows_of(Spy.seen[0]) for row in X])
    assert not set(y[held]) & set(y[~held])
    assert len(set(y[held])) == 30
    assert "over draws of subjects" in judge.promise_
    assert "classes of y" not in judge.promise_


def test_items_of_pairs_are_split_and_straddling_pairs_counted(digits):
    X, y = digits
    pairs, same = random_pairs(y, 6000, distinct=True, random_state=0)
    Spy.seen = []
    judge = lw.PairClassifier(Spy(), "fmr<=0.1", validation_fraction=0.4).fit_pairs(X, pairs, same)
    learned = np.array([row.tobytes() in rows_of(Spy.seen[0]) for row in X])
    n_learned = learned[pairs].all(axis=1).sum()
    assert judge.n_threshold_pairs_ + judge.n_dropped_pairs_ + n_learned == len(pairs)
    assert 0.3 < judge.n_dropped_pairs_ / len(pairs) < 0.6
    assert judge.n_threshold_items_ == pytest.approx(0.4 * len(X), abs=10)


def test_small_components_are_kept_whole():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    pairs = np.arange(400).reshape(-1, 2)
    same = np.arange(200) % 2 == 0
    X[pairs[same, 1]] = X[pairs[same, 0]] + 0.1 * rng.normal(size=(100, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge = lw.PairClassifier(lw.ITML()).fit_pairs(X, pairs, same)
    assert judge.n_dropped_pairs_ == 0
    assert judge.n_threshold_pairs_ == 100


@pytest.mark.parametrize(
    ("metric", "distance"),
    [
        (None, lambda A, B: np.linalg.norm(A - B, axis=1)),
        (lw.Euclidean(), lambda A, B: np.linalg.norm(A - B, axis=1)),
        (
            "Cosine",
            lambda A, B: np.linalg.norm(
                A / np.linalg.norm(A, axis=1)[:, None] - B / np.linalg.norm(B, axis=1)[:, None],
                axis=1,
            ),
        ),
    ],
)
def test_where_nothing_is_learned_all_items_are_for_the_threshold(digits, metric, distance):
    X, y = digits
    judge = lw.PairClassifier(metric).fit(X, y)
    assert (judge.n_metric_items_, judge.n_threshold_items_) == (0, len(X))
    np.testing.assert_allclose(judge.pair_distance(X[:50], X[50:100]), distance(X[:50], X[50:100]))
    pairs, same = random_pairs(y, 1000, distinct=True, random_state=0)
    again = lw.PairClassifier(metric).fit_pairs(X, pairs, same)
    assert (again.n_threshold_pairs_, again.n_dropped_pairs_) == (1000, 0)


def test_a_frozen_metric_is_used_as_it_is(digits):
    X, y = digits
    metric = lw.RCA().fit(X[:300], y[:300])
    before = metric.components_.copy()
    judge = lw.PairClassifier(FrozenEstimator(metric)).fit(X[300:], y[300:])
    assert judge.n_threshold_items_ == 400
    np.testing.assert_array_equal(metric.components_, before)
    np.testing.assert_allclose(
        judge.pair_distance(X[:9], X[9:18]), metric.pair_distance(X[:9], X[9:18])
    )
    taken = "The metric is taken as given: it must not have been learned from these items."
    assert judge.promise_.endswith(f"same pairs. {taken}"), "nothing is promised of the classes"
    with pytest.warns(UserWarning, match="metric=RCA is fitted already"):
        lw.PairClassifier(metric).fit(X, y)


def test_a_frozen_metric_that_is_not_fitted_is_named():
    judge = lw.PairClassifier(FrozenEstimator(lw.RCA()))
    X = np.random.default_rng(0).normal(size=(20, 3))
    for fit in (lambda: judge.fit(X, [0, 1] * 10), lambda: judge.fit_pairs(X, PAIRS, SAME)):
        with pytest.raises(NotFittedError, match="metric is a frozen RCA that is not fitted, but"):
            fit()
    assert not [name for name in vars(judge) if name.endswith("_")]


def test_a_name_is_the_metric_of_that_name(digits):
    X, y = digits
    by_name, by_class = (lw.PairClassifier(m).fit(X, y) for m in ("rca", lw.RCA()))
    assert by_name.threshold_ == by_class.threshold_
    assert isinstance(by_name.metric_, lw.RCA)


def test_refit_learns_the_metric_from_all_and_says_so(digits):
    X, y = digits
    judge = lw.PairClassifier(lw.RCA(), "fmr<=0.05").fit(X, y)
    again = lw.PairClassifier(lw.RCA(), "fmr<=0.05", refit=True).fit(X, y)
    assert judge.threshold_ == again.threshold_
    np.testing.assert_array_equal(again.metric_.components_, lw.RCA().fit(X, y).components_)
    assert "metric_ was then learned from all of them, and has no promise" in again.promise_
    pairs, same = random_pairs(y, 4000, distinct=True, random_state=0)
    by_pairs = lw.PairClassifier(lw.RCA(), refit=True).fit_pairs(X, pairs, same)
    expected = lw.RCA().fit_pairs(X, pairs, same).components_
    np.testing.assert_array_equal(by_pairs.metric_.components_, expected)


def test_decisions_are_by_the_threshold_and_may_be_unsure(digits):
    X, y = digits
    judge = lw.PairClassifier(lw.RCA(), "fmr<=0.05").fit(X, y)
    A, B = X[:350], X[350:]
    distances = judge.pair_distance(A, B)
    np.testing.assert_array_equal(judge.predict_pairs(A, B), distances <= judge.threshold_)
    words = judge.predict_pairs(A, B, unsure=True)
    low, high = judge.threshold_interval_
    unsure = (distances > low) & (distances < high)
    assert unsure.any()
    np.testing.assert_array_equal(words == "unsure", unsure)
    np.testing.assert_array_equal(words[~unsure] == "same", judge.predict_pairs(A, B)[~unsure])
    words = judge.predict_pairs(A, B, unsure=(0, np.inf))
    assert set(words) == {"unsure"}
    for wrong in ((2, 1), (1, np.nan), "x", 3.0):
        with pytest.raises(ValueError, match="is not allowed: True, False or two distances"):
            judge.predict_pairs(A, B, unsure=wrong)
    judge = lw.PairClassifier(target="accuracy").fit(X, y)
    with pytest.raises(ValueError, match="unsure=True needs threshold_interval_, which target="):
        judge.predict_pairs(A, B, unsure=True)


def test_scores_are_balanced_accuracies(digits):
    X, y = digits
    judge = lw.PairClassifier().fit(X, y)
    first, second = np.triu_indices(100, 1)
    found = judge.predict_pairs(X[first], X[second])
    same = y[first] == y[second]
    expected = (found[same].mean() + 1 - found[~same].mean()) / 2
    assert judge.score(X[:100], y[:100]) == pytest.approx(expected)
    pairs = np.column_stack([first, second])
    assert judge.score_pairs(X[:100], pairs, same) == pytest.approx(expected)
    with pytest.raises(ValueError, match="X has 100 rows but y has 99 labels"):
        judge.score(X[:100], y[:99])


def test_at_most_max_pairs_are_used(digits):
    X, y = digits
    judge = lw.PairClassifier(max_pairs=5000).fit(X, y)
    assert judge.n_threshold_pairs_ == 5000


def test_seeds_decide_the_split(digits):
    X, y = digits
    first, again, other = (
        lw.PairClassifier(lw.RCA(), random_state=seed).fit(X, y).threshold_ for seed in (1, 1, 2)
    )
    assert first == again != other
    lw.PairClassifier(lw.RCA(), random_state=None).fit(X, y)


@pytest.mark.parametrize("guarantee", ["exact", "bootstrap"])
def test_other_guarantees(people, guarantee):
    X, y = people
    judge = lw.PairClassifier(target="fmr<=0.1", guarantee=guarantee).fit(X, y, groups=y)
    how = {"exact": "exact, from disjoint pairs", "bootstrap": "bootstrap of subjects"}[guarantee]
    assert how in judge.promise_


def test_a_promise_that_cannot_be_kept_leaves_the_model_as_it_was(digits):
    X, y = digits
    judge = lw.PairClassifier(lw.RCA(), "fmr<=0.00001")
    with pytest.raises(
        lw.GuaranteeError, match=r"items: about \d+ such pairs of \d+ items"
    ) as caught:
        judge.fit(X, y)
    assert "validation_fraction=0.5 of all" in str(caught.value)
    assert caught.value.needed_items > 350
    assert not hasattr(judge, "threshold_")
    with pytest.raises(NotFittedError):
        judge.predict_pairs(X[:2], X[2:4])
    judge.set_params(target="fmr<=0.05").fit(X, y)
    threshold = judge.threshold_
    with pytest.raises(lw.GuaranteeError):
        judge.set_params(target="fmr<=0.00001").fit(X, y)
    assert judge.threshold_ == threshold


@pytest.mark.filterwarnings("ignore:Few subjects cause most")
def test_a_promised_rate_holds_on_new_subjects():
    """Over draws of subjects from one population, with the metric learned each time."""
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(6, 6))

    def draw(n_subjects):
        y = np.repeat(np.arange(n_subjects), 4)
        centres = rng.normal(size=(n_subjects, 6)) * [2, 2, 2, 0, 0, 0]
        return (centres[y] + rng.normal(size=(len(y), 6))) @ mixing, y

    X_new, y_new = draw(300)
    pairs = np.stack(np.triu_indices(len(y_new), 1), axis=1)
    pairs = pairs[y_new[pairs[:, 0]] != y_new[pairs[:, 1]]][::7]
    kept = 0
    for repeat in range(60):
        X, y = draw(60)
        judge = lw.PairClassifier(lw.RCA(), "fmr<=0.05", random_state=repeat)
        judge.fit(X, y, groups=y)
        accepted = judge.predict_pairs(X_new[pairs[:, 0]], X_new[pairs[:, 1]])
        kept += accepted.mean() <= 0.05
    assert kept >= 50, "95% of 60 are 57, less three and a half standard errors 51"


def test_parameters_do_not_change_in_clones(digits):
    judge = lw.PairClassifier(lw.ITML(), "recall>=0.9", refit=True, prevalence=0.3)
    assert repr(clone(judge)) == repr(judge)


PAIRS = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0], [6, 7], [7, 8]]
SAME = [1, 0, 1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({}, {"same": [1] * 8}, "same has 8 same and 0 different pairs"),
        ({}, {"same": [0] * 8}, "same has 0 same and 8 different pairs"),
        ({}, {"pairs": [[0, 0], *PAIRS[1:]]}, r"pairs\[0\] names row 0 twice"),
        ({}, {"pairs": [[0, 99], *PAIRS[1:]]}, "pairs holds row number 99, but X has rows 0 to 19"),
        ({}, {"groups": [1, 2]}, r"groups has shape \(2,\), but 20 items need shape \(20,\)"),
        ({}, {"X": np.zeros((20, 3))}, "distances are all equal to 0"),
        ({}, {"X": np.full((20, 3), np.nan)}, "contains NaN in 20 rows"),
        ({"metric": lw.LMNN()}, {}, "metric=LMNN.* does not learn from pairs, but fit_pairs needs"),
        (
            {"metric": lw.ITML()},
            {"pairs": PAIRS[:2], "same": [1, 0]},
            "of 3 items, too few to split",
        ),
        ({"metric": lw.ITML()}, {}, "at least one of each is needed: pairs straddle the split"),
        ({"metric": "no"}, {}, "metric='no' is not allowed: PairClassifier needs 'cosine' or"),
        ({"target": "fmr<=0"}, {}, "target='fmr<=0' is not allowed: the rate must be a number"),
        ({"target": "best"}, {}, "target='best' is not allowed: 'eer', 'accuracy'"),
        ({"target": "precision>=0.9"}, {}, "prevalence is missing, but target='precision>=0.9'"),
        ({"prevalence": 0}, {}, "prevalence=0 is not allowed"),
        ({"confidence": 95}, {}, "confidence=95 is not allowed"),
        ({"guarantee": "certain"}, {}, "guarantee='certain' is not allowed"),
        ({"validation_fraction": 1.0}, {}, "validation_fraction=1.0 is not allowed"),
        ({"refit": "yes"}, {}, "refit='yes' is not allowed"),
        ({"max_pairs": 1}, {}, "max_pairs=1 is not allowed"),
        ({"random_state": -1}, {}, "random_state=-1 is not allowed"),
    ],
)
def test_bad_input_is_named_and_nothing_is_half_fitted(parameters, arguments, message):
    X = np.random.default_rng(0).normal(size=(20, 3))
    judge = lw.PairClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        judge.fit_pairs(**{"X": X, "pairs": PAIRS, "same": SAME, **arguments})
    assert not [name for name in vars(judge) if name.endswith("_")]


@pytest.mark.parametrize(
    ("y", "groups", "message"),
    [
        ([0] * 12, None, "y has one class"),
        (list(range(12)), None, "0 same and 15 different pairs for the threshold"),
        ([0, 1] * 6, [0] * 6 + [1] * 6, "X has 2 subjects, but at least 4 are needed"),
        ([0, 1] * 6, [0] * 5, r"groups has shape \(5,\), but 12 items"),
        ([0] * 11 + [1], None, "pairs for the threshold|are of one class"),
        (list(range(12)), list(range(12)), "needed: their subjects have no two rows of the same"),
    ],
)
def test_too_few_labelled_rows_are_named(y, groups, message):
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(ValueError, match=message):
        lw.PairClassifier(lw.RCA()).fit(X, y, groups=groups)


def test_sides_of_different_length_are_named(digits):
    X, y = digits
    judge = lw.PairClassifier().fit(X, y)
    with pytest.raises(
        ValueError, match=r"A has 3 rows and B has 2, .* must have the same number of"
    ):
        judge.predict_pairs(X[:3], X[:2])
    with pytest.raises(ValueError, match="prevalence=2 is not allowed"):
        judge.predict_proba_pairs(X[:2], X[:2], prevalence=2)
