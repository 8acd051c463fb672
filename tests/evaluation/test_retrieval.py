"""Retrieval measures, against plain loops and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from retrieval_oracles import MEASURES, jackknife_variance, mean, values
from sklearn.metrics import average_precision_score, ndcg_score

import likewise as lw
from likewise import evaluation
from likewise.evaluation import mean_average_precision, ndcg, precision_at_k
from likewise.neighbors import map_rankings

KS = [(name, k) for name in MEASURES for k in (1, 3, 8, None) if k or name not in MEASURES[:2]]


def measure(name, *given, **options):
    return getattr(evaluation, name)(*given, **options)


def items(seed, *, integers=False):
    """A dozen rows of three classes; integers have many equal distances, and duplicates."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(12, 2)).astype(float) if integers else rng.normal(size=(12, 2))
    return X, np.array([0, 0, 1, 1, 1, 2, 0, 1, 2, 3, 0, 1])


def assert_same_values(found, expected):
    wanted = [np.nan if value is None else value for value in expected]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize(("name", "k"), KS)
def test_each_row_among_the_others(name, k, integers):
    X, y = items(3, integers=integers)
    gains = (y[:, None] == y).tolist()
    found = measure(name, X, y, k)
    expected = values(name, X, X, gains, k, itself=True)
    assert_same_values(found.per_query, expected)
    assert found.value == pytest.approx(mean(expected))
    assert found.n_queries == 11  # the only row of class 3 has no other
    without = [mean(values(name, X, X, gains, k, itself=True, without=j)) for j in range(12)]
    assert found.standard_error**2 == pytest.approx(jackknife_variance(without), rel=1e-9)


@pytest.mark.parametrize(("name", "k"), KS)
def test_a_corpus_with_lists_and_gains(name, k):
    X, _ = items(4)
    rng = np.random.default_rng(5)
    gains = rng.integers(0, 4, size=(5, 12)) * (rng.random((5, 12)) < 0.3)
    gains[2] = 0
    gains[3] = np.eye(12)[7]
    queries = rng.normal(size=(5, 2))
    found = measure(name, queries, k=k, corpus=X, relevant=sp.csr_array(gains))
    expected = values(name, queries, X, gains.tolist(), k, itself=False)
    assert_same_values(found.per_query, expected)
    of_queries = [mean(expected[:i] + expected[i + 1 :]) for i in range(5) if i != 2]
    of_corpus = [
        mean(values(name, queries, X, gains.tolist(), k, itself=False, without=j))
        for j in range(12)
    ]
    # The query without relevant rows is one of the sample, too: its absence changes nothing.
    of_queries.insert(2, mean(expected))
    variance = jackknife_variance(of_queries) + jackknife_variance(of_corpus)
    assert found.standard_error**2 == pytest.approx(variance, rel=1e-9)
    if name != "ndcg":
        lists = [np.flatnonzero(row) for row in gains]
        again = measure(name, queries, k=k, corpus=X, relevant=lists)
        np.testing.assert_array_equal(again.per_query, found.per_query)


@pytest.mark.parametrize("name", MEASURES)
def test_labels_and_lists_say_the_same(name):
    X, y = items(6)
    lists = [[j for j in range(12) if y[j] == y[i] and j != i] for i in range(12)]
    by_lists = measure(name, X, relevant=lists, k=3)
    by_labels = measure(name, X, y, k=3)
    np.testing.assert_array_equal(by_lists.per_query, by_labels.per_query)
    np.testing.assert_array_equal(by_lists.influence, by_labels.influence)
    words = np.array(["ab", "cd", "ef", "gh"])[y]
    np.testing.assert_array_equal(measure(name, X, words, k=3).per_query, by_labels.per_query)


def test_scikit_learn_agrees():
    rng = np.random.default_rng(0)
    X, corpus = rng.normal(size=(20, 4)), rng.normal(size=(60, 4))
    y, corpus_y = rng.integers(0, 3, 20), rng.integers(0, 3, 60)
    relevant = y[:, None] == corpus_y
    scores = -np.linalg.norm(X[:, None] - corpus, axis=2)
    precision = mean_average_precision(X, y, corpus=corpus, corpus_y=corpus_y).per_query
    expected = [average_precision_score(*row) for row in zip(relevant, scores, strict=True)]
    np.testing.assert_allclose(precision, expected, rtol=1e-12)
    gains = rng.integers(0, 5, size=(20, 60))
    for k in (None, 7):
        found = ndcg(X, k=k, corpus=corpus, relevant=sp.csr_array(gains))
        assert found.value == pytest.approx(ndcg_score(gains, scores, k=k))


def test_cosine_and_metric():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)) * rng.uniform(0.1, 9, size=(40, 1)), rng.integers(0, 2, 40)
    similarity = (X @ X.T) / np.outer(*2 * [np.linalg.norm(X, axis=1)])
    np.fill_diagonal(similarity, -2)
    nearest = np.argsort(-similarity, axis=1)[:, :5]
    found = precision_at_k(X, y, 5, distance="cosine")
    np.testing.assert_allclose(found.per_query, (y[nearest] == y[:, None]).mean(axis=1))
    metric = lw.RCA().fit(X, y)
    np.testing.assert_array_equal(
        precision_at_k(X, y, 5, metric=metric).per_query,
        precision_at_k(metric.transform(X), y, 5).per_query,
    )


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.float32])
def test_small_number_types(dtype):
    X, y = items(7, integers=True)
    for name in MEASURES:
        found, expected = (measure(name, rows, y, k=3) for rows in (X.astype(dtype), X))
        np.testing.assert_array_equal(found.per_query, expected.per_query)


def test_far_from_zero_and_duplicates_rank_by_row():
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 5)), 3, axis=0) + 1e6
    sqdist = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(sqdist, np.inf)
    expected = np.argsort(sqdist, axis=1, kind="stable")[:, :-1]
    for depth in (None, 4):
        found = np.concatenate(
            map_rankings(lambda rows, order: order, X, X, exclude_self=True, depth=depth)
        )
        np.testing.assert_array_equal(found[:, :depth], expected[:, :depth])
        np.testing.assert_array_equal(np.sort(found), np.sort(expected))


def test_the_result_does_not_depend_on_threads_or_blocks(monkeypatch):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 4, 300)
    found = [ndcg(X, y, 20, n_jobs=n_jobs) for n_jobs in (1, 3)]
    assert found[0].interval == found[1].interval
    monkeypatch.setattr("likewise.neighbors._nearest._BLOCK_VALUES", 1000)
    small = ndcg(X, y, 20)
    np.testing.assert_array_equal(small.per_query, found[0].per_query)
    np.testing.assert_allclose(small.influence, found[0].influence, rtol=1e-9, atol=1e-15)


def test_the_interval_covers_the_value_of_all_items():
    """200 draws of 60 items: the share of intervals that miss is that of a 90 % interval."""
    rng = np.random.default_rng(0)

    def draw(n):
        y = rng.integers(0, 3, n)
        return np.eye(3)[y] * 1.5 + rng.normal(size=(n, 3)), y

    truth = np.mean([precision_at_k(*draw(60), 5).value for _ in range(1500)])
    scores = [precision_at_k(*draw(60), 5, confidence=0.9) for _ in range(200)]
    missed = np.mean([not s.interval[0] <= truth <= s.interval[1] for s in scores])
    assert missed <= 0.14
    spread = np.std([s.value for s in scores])
    assert 0.9 * spread <= np.mean([s.standard_error for s in scores]) <= 1.6 * spread


def test_values_without_spread_still_have_an_interval():
    X, y = np.array([[0.0], [0.1], [5.0], [5.1]]), [0, 0, 1, 1]
    found = precision_at_k(X, y, 1)
    assert found.value == 1
    # If a query has the value 1 with this probability, four of four have it with 0.025.
    assert found.interval == pytest.approx((0.025**0.25, 1.0))
    apart = precision_at_k([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], [0, 1, 2] * 2, 1)
    assert apart.interval == pytest.approx((0.0, 1 - 0.025 ** (1 / 6)))


def test_difference_is_paired():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.integers(0, 2, 80)
    X[:, 0] += 3 * y
    noisy = X * [1, 4, 4, 4]
    better, worse = precision_at_k(X, y, 5), precision_at_k(noisy, y, 5)
    gain, (low, high) = better.difference(worse)
    assert gain == pytest.approx(better.value - worse.value)
    assert 0 < low < gain < high
    assert better.difference(better) == (0, (0, 0))
    with pytest.raises(ValueError, match="other is a score of 70 items, but this one is of 80"):
        better.difference(precision_at_k(X[:70], y[:70], 5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "y or relevant says which rows are relevant, but neither is given"),
        ({"y": [0, 0, 1], "relevant": [[1], [0], []]}, "but both are given"),
        ({"y": [0, 0]}, r"y has shape \(2,\), but 3 rows need shape \(3,\)"),
        ({"y": [0, 1, np.nan]}, "y contains NaN"),
        ({"y": [0, 1, 2]}, "needs a query to which a row is relevant, but there is none"),
        ({"y": [0, 0, 1], "k": 0}, "k=0 is not allowed"),
        ({"y": [0, 0, 1], "k": 3}, "k is 3, but there are 2 other rows"),
        ({"y": [0, 0, 1], "distance": "dot"}, "distance='dot' is not allowed"),
        ({"y": [0, 0, 1], "confidence": 95}, "confidence=95 is not allowed"),
        ({"y": [0, 0, 1], "metric": 3}, "metric=3 is not allowed"),
        ({"y": [0, 0, 1], "distance": "cosine"}, "row 0 of X is zero and has no direction"),
        ({"y": [0, 0, 1], "corpus": [[1.0, 2.0]]}, "corpus is given, but corpus_y is not"),
        ({"y": [0, 0, 1], "corpus_y": [1]}, "corpus_y is given, but corpus is not"),
        ({"y": [0, 0, 1], "corpus": [[1.0]], "corpus_y": [1]}, "X has 2 features and corpus 1"),
        ({"y": list("aab"), "corpus": [[1.0, 1]], "corpus_y": [1]}, "text is never equal"),
        ({"relevant": [[1], [0]]}, "relevant has 2 lists, but there are 3 queries"),
        ({"relevant": [[1], [3], []]}, r"relevant\[1\] holds row number 3, but .* rows 0 to 2"),
        ({"relevant": [[1, 1], [0], []]}, r"relevant\[0\] holds a row number twice"),
        ({"relevant": [[1.5], [0], []]}, r"relevant\[0\] holds float64 values"),
        ({"relevant": 5}, "relevant is a int, but a list of row numbers per query"),
        ({"relevant": sp.eye_array(2)}, r"relevant has shape \(2, 2\), but"),
        ({"relevant": -sp.eye_array(3)}, "relevant must hold finite gains of at least 0"),
        ({"relevant": [[1], [0], []], "corpus_y": [1]}, "corpus_y is given, but relevant says"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        precision_at_k([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], **{"k": 1} | options)


@pytest.mark.parametrize("X", [[[0.0], [np.nan]], np.zeros((0, 2)), [1.0, 2.0]])
def test_bad_rows(X):
    with pytest.raises(ValueError, match=r"^(Input )?X (has shape|contains NaN)"):
        precision_at_k(X, [0] * len(X), 1)
