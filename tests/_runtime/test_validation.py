"""Rules and array checks: what passes, and the sentence for what does not."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import likewise as lw
from likewise._runtime.validation import (
    at_least,
    between,
    check_finite,
    check_labelled,
    check_parameters,
    check_rows,
    either,
    has_method,
    n_jobs_rule,
    none,
    one_of,
    pluralize,
    positive,
    warn_user,
)

NOT_NUMBERS = ["1", None, [1], np.array([1]), object(), True, np.True_]


@pytest.mark.parametrize(
    ("rule", "good", "bad", "words"),
    [
        (
            at_least(2),
            [2, 3, 10**30, np.int64(2), np.uint8(200)],
            [1, -5, 2.0, np.float64(3), np.nan, *NOT_NUMBERS],
            "an integer of at least 2",
        ),
        (
            positive(),
            [1, 0.5, 1e-300, np.float32(2), np.int32(1)],
            [0, -1, -0.0, np.inf, np.nan, 1j, *NOT_NUMBERS],
            "a finite number above 0",
        ),
        (
            between(0, 1),
            [0, 1, 0.5, np.float64(1)],
            [-1e-9, 1.0001, np.nan, np.inf, *NOT_NUMBERS],
            "a number from 0 to 1",
        ),
        (one_of("PA", "PA-I"), ["PA", "PA-I"], ["pa", "", None, 1], "one of 'PA', 'PA-I'"),
        (none(), [None], [0, False, "", []], "None"),
        (
            n_jobs_rule(),
            [None, -1, 1, 64, np.int64(2)],
            [0, -2, 1.0, "all", True],
            "None or -1 for all cores, or an integer of at least 1",
        ),
        (
            has_method("transform", "a metric"),
            [lw.Euclidean()],
            [lw.Euclidean, None, "transform"],
            "a metric",
        ),
        (
            either(none(), at_least(1)),
            [None, 1],
            [0, "x"],
            "None or an integer of at least 1",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rules(rule, good, bad, words):
    for value in good:
        check_parameters("Method", {"name": value}, {"name": rule})
    for value in bad:
        with pytest.raises(ValueError) as caught:
            check_parameters("Method", {"name": value}, {"name": rule})
        plain = value.item() if isinstance(value, np.generic) else value
        assert str(caught.value) == f"name={plain!r} is not allowed: Method needs {words}."


def test_the_first_broken_rule_is_named_and_others_may_stand_beside():
    rules = {"a": at_least(1), "b": at_least(1)}
    with pytest.raises(ValueError, match=r"^b=0 is not allowed"):
        check_parameters("Method", {"c": -1, "a": 1, "b": 0}, rules)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ([[1.0, np.nan]], r"Input X contains NaN in 1 row \(first in row 0, column 1\); only fin"),
        ([[1, 2], [np.inf, 4], [5, -np.inf]], r"infinity in 2 rows \(first in row 1, column 0\)"),
        ([[1, np.inf], [np.nan, 4]], r"infinity in 2 rows \(first in row 0, column 1\)"),
        ([[np.inf, -np.inf]], r"infinity in 1 row \(first in row 0, column 0\)"),
    ],
)
def test_where_the_first_bad_value_stands(X, sentence):
    for dtype in (np.float64, np.float32):
        with pytest.raises(ValueError, match=sentence):
            check_finite(np.array(X, dtype=dtype), "X")


def test_bad_values_in_sparse_rows_are_counted():
    with pytest.raises(ValueError, match="Input A contains NaN in 1 stored value; only finite"):
        check_finite(sp.csr_array([[0.0, np.nan], [0.0, 1.0]]), "A")
    check_finite(sp.csr_array([[0.0, 1.0]]), "A")


def test_sums_that_overflow_are_not_bad_values():
    check_finite(np.full((3, 2), 1e308), "X")
    check_finite(np.array([[1e308, -1e308], [1e308, -1e308]]), "X")
    check_finite(np.full((1000, 2), np.finfo(np.float32).max, dtype=np.float32), "X")


ROWS = [[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 3.0]]
A = np.array(ROWS)


@pytest.mark.parametrize(
    "X",
    [
        ROWS,
        [tuple(row) for row in ROWS],
        A,
        np.asfortranarray(A),
        A.astype(int),
        A.astype(np.float16),
        A.astype(">f8"),
        A.astype(object),
        pd.DataFrame(A),
        pl.DataFrame(A),
    ],
    ids=lambda X: type(X).__name__,
)
def test_tables_of_every_kind(X):
    checked = check_rows(lw.Whitening(), X, reset=True)
    assert checked.dtype == np.float64
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, A)
    np.testing.assert_array_equal(check_labelled(lw.RCA(), X, [0, 0, 1, 1])[0], A)


def test_float32_is_kept():
    assert check_rows(lw.Whitening(), A.astype(np.float32), reset=True).dtype == np.float32


@pytest.mark.parametrize(
    ("X", "error", "sentence"),
    [
        (
            [1.0, 2.0],
            ValueError,
            r"X has 1 dimension, but a table of rows is needed \(Reshape your",
        ),
        (A[0], ValueError, "X has 1 dimension, but a table of rows is needed"),
        (pd.Series([1.0]), ValueError, "X has 1 dimension, but a table of rows is needed"),
        (A[None], ValueError, "X has 3 dimensions, but a table of rows is needed"),
        ([[[1.0]]], ValueError, "dim 3"),
        ([], ValueError, "X has 1 dimension, but a table of rows is needed"),
        (None, ValueError, "X is None, but a table of rows is needed"),
        (5.0, ValueError, "X is 5.0, but a table of rows is needed"),
        ("abc", ValueError, "X is 'abc', but a table of rows is needed"),
        (np.zeros((0, 2)), ValueError, "0 sample"),
        (np.zeros((4, 0)), ValueError, "0 feature"),
        (sp.csr_array(A), TypeError, "Sparse data was passed for X, but dense data is required"),
        (A.astype(complex), ValueError, "Complex data not supported"),
        ([["1", "x"]], ValueError, "X holds the text 'x', but only numbers are allowed"),
        (np.array([["u", "v"]]), ValueError, "X holds the text 'u', but only numbers are allowed"),
        (pd.DataFrame({"a": ["w"]}), ValueError, "X holds the text 'w', but only numbers are"),
        (
            pd.DataFrame({"a": [1.0, None]}),
            ValueError,
            r"NaN in 1 row \(first in row 1, column 0\)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_of_tables(X, error, sentence):
    with pytest.raises(error, match=sentence):
        check_rows(lw.Whitening(), X, reset=True)


def test_the_complaint_names_the_argument():
    metric = lw.Whitening().fit(A)
    with pytest.raises(ValueError, match="B has 1 dimension, but a table of rows is needed"):
        metric.pair_distance(A, A[0])
    with pytest.raises(ValueError, match="Input B contains NaN in 4 rows"):
        metric.pair_distance(A, A * np.nan)
    with pytest.raises(ValueError, match="A has 4 rows and B has 3, but both sides"):
        metric.pair_distance(A, A[1:])
    with pytest.raises(ValueError, match="X has 1 features, but Whitening is expecting 2"):
        metric.transform(A[:, :1])


def test_feature_names_are_compared():
    table = pd.DataFrame(A, columns=["a", "b"])
    metric = lw.Whitening().fit(table)
    with pytest.raises(ValueError, match="feature names should match"):
        metric.transform(table[["b", "a"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric.transform(table)


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (["b", "b", "a", "c"], ["a", "b", "c"], [1, 1, 0, 2]),
        ([5, -1, 5, 5], [-1, 5], [1, 0, 1, 1]),
        ([True, False, True, True], [False, True], [1, 0, 1, 1]),
        (pd.Series(["u", "v", "u", "u"]), ["u", "v"], [0, 1, 0, 0]),
        (pl.Series(["u", "v", "u", "u"]), ["u", "v"], [0, 1, 0, 0]),
        (pd.Categorical(["u", "v", "u", "u"]), ["u", "v"], [0, 1, 0, 0]),
        ([1.0, 2.0, 1.0, 1.0], [1.0, 2.0], [0, 1, 0, 0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_labels_become_codes(y, classes, codes):
    _, found, names = check_labelled(lw.RCA(), A, y)
    assert names.tolist() == classes
    assert found.tolist() == codes
    assert found.dtype == np.int64


@pytest.mark.parametrize("X", [A, ROWS, pd.DataFrame(A)], ids=["array", "list", "DataFrame"])
@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        ([0, 1, 1], "X has 4 rows but y has 3 labels; they must match"),
        (np.array([]), "X has 4 rows but y has 0 labels; they must match"),
        ([0, 1, 1, 0, 1], "X has 4 rows but y has 5 labels; they must match"),
        ([7, 7, 7, 7], r"y has one class \(7\), but RCA needs at least 2 different classes"),
        (["a"] * 4, r"y has one class \('a'\), but RCA needs at least 2 different classes"),
        ([1.0, 1.0, np.nan, 2.0], "Input y contains NaN"),
        ([0.5, 1.5, 0.5, 1.5], "Unknown label type: continuous"),
        (None, "requires y to be passed, but the target y is None"),
        (5, "y should be a 1d array"),
        ([[0, 1]] * 4, r"y should be a 1d array, got an array of shape \(4, 2\)"),
        (
            np.array(["a", 1, "a", 1], dtype=object),
            "y mixes labels of the types int and str, but they must be of one type",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_of_labels(X, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_labelled(lw.RCA(), X, y)


def test_one_class_is_enough_where_that_is_said():
    _, codes, classes = check_labelled(lw.MetricKNN(), A, ["a"] * 4, min_classes=1)
    assert classes.tolist() == ["a"]
    assert not codes.any()


def test_parameters_are_checked_before_the_data():
    with pytest.raises(ValueError, match="n_neighbors=0 is not allowed"):
        lw.MetricKNN(0).fit("nonsense", None)


def test_numbers_and_their_nouns():
    assert [pluralize(number, "row") for number in (0, 1, 2, np.int64(1))] == [
        "0 rows",
        "1 row",
        "2 rows",
        "1 row",
    ]


def test_warnings_point_at_the_users_line():
    with pytest.warns(UserWarning, match="both same") as caught:
        lw.RCA().fit_pairs(ROWS, [[0, 1], [1, 0], [1, 2]], [True, False, True])
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(RuntimeWarning, match="so") as caught:
        warn_user("so", RuntimeWarning)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(("width", "method"), [(2, "fit_pairs"), (3, "fit_triplets")])
def test_tuples_of_rows_are_given_by_row_numbers(width, method):
    """The sentence says how to convert them."""
    tuples = np.random.default_rng(0).normal(size=(5, width, 4))
    sentence = (
        rf"has 3 dimensions \(5, {width}, 4\), but tuples of rows are given by row numbers: "
        rf"{method} takes X = \w+\.reshape\(-1, 4\) and "
        rf"np\.arange\({5 * width}\)\.reshape\(-1, {width}\)\.$"
    )
    learner = lw.ComposedMetric("pairs" if width == 2 else "triplets")
    X, index = tuples.reshape(-1, 4), np.arange(5 * width).reshape(-1, width)
    same = [[True, False, True, False, True]] if width == 2 else []
    with pytest.raises(ValueError, match=f"^X {sentence}"):
        learner.fit(tuples, np.ones(5))
    with pytest.raises(ValueError, match=sentence):
        getattr(learner, method)(X, tuples, *same)
    getattr(learner, method)(X, index, *same)


@pytest.mark.parametrize("X", [np.full((4, 2), 1j), [[1.0, 2.0], [1j, 3.0]], sp.eye(3) * 1j])
def test_complex_numbers_are_refused_in_one_sentence(X):
    with pytest.raises(ValueError, match=r"Complex data not supported: X holds complex .*\.$"):
        lw.Euclidean().fit(X)
