"""Explanations of a distance: Shapley values by brute force, factors by setting them in."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import likewise as lw
from likewise.base import PairExplanation
from likewise.methods import METHODS

IRIS = load_iris(as_frame=True)
X, Y = IRIS.data, IRIS.target.to_numpy()
LINEAR = [name for name, method in METHODS.items() if method.kind in ("metric", "online metric")]


def shapley_values(worth, n_players):
    """The mean over all orders of what each player adds to those before it."""
    added = np.zeros(n_players)
    orders = list(itertools.permutations(range(n_players)))
    for order in orders:
        for place, player in enumerate(order):
            before = list(order[:place])
            added[player] += worth([*before, player]) - worth(before)
    return added / len(orders)


class GivenL(lw.Whitening):
    """Whitening whose `components_` were replaced."""


def given(L):
    model = GivenL().fit(np.random.default_rng(0).normal(size=(50, L.shape[1])))
    model.components_ = L
    return model


@pytest.mark.parametrize("d", range(1, 7))
@pytest.mark.parametrize("rank", [1, 3, 6])
def test_contributions_are_the_shapley_values_of_the_squared_distance(d, rank):
    rng = np.random.default_rng([d, rank])
    L, a, b = rng.normal(size=(rank, d)), rng.normal(size=d), rng.normal(size=d)
    model = given(L)

    def worth(features):
        mixed = b.copy()
        mixed[features] = a[features]
        return model.pair_distance(mixed[None], b[None])[0] ** 2

    found = model.explain_pair(a, b)
    np.testing.assert_allclose(found.feature_contributions, shapley_values(worth, d), atol=1e-12)
    np.testing.assert_allclose(found.difference, a - b)
    along = [(row @ (a - b)) ** 2 for row in L]
    np.testing.assert_allclose(found.direction_contributions, along)


@pytest.mark.parametrize("name", LINEAR)
def test_both_sums_are_the_squared_distance_for_every_linear_metric(name):
    model = METHODS[name].learner().fit(X, Y)
    found = model.explain_pair(X.iloc[3], X.iloc[140])
    squared = model.pair_distance(X.iloc[[3]], X.iloc[[140]])[0] ** 2
    assert isinstance(found, PairExplanation)
    assert found.squared_distance == pytest.approx(squared)
    assert found.distance**2 == pytest.approx(squared)
    assert found.feature_contributions.sum() == pytest.approx(squared)
    assert found.direction_contributions.sum() == pytest.approx(squared)
    assert found.feature_names == tuple(X.columns)
    assert found.threshold == getattr(model, "threshold_", None)


def test_a_contribution_can_be_negative():
    model = given(np.array([[1.0, -0.9]]))
    found = model.explain_pair([2.0, 1.0], [0.0, 0.0])
    assert found.feature_contributions[1] < 0
    assert found.distance < model.explain_pair([2.0, 0.0], [0.0, 0.0]).distance


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("share", [0.5, 0.9, 1.3])
def test_a_factor_reaches_the_threshold_and_none_means_that_no_factor_does(seed, share):
    rng = np.random.default_rng(seed)
    L, a, b = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)
    model = given(L)
    threshold = share * model.explain_pair(a, b).distance
    found = model.explain_pair(a, b, threshold=threshold)
    assert found.same == (share >= 1)
    grid = np.linspace(-60, 62, 400_001)
    for i, factor in enumerate(found.factors):
        fixed, moving = L @ np.where(np.arange(4) == i, 0, a - b), L[:, i] * (a - b)[i]
        distances = np.linalg.norm(fixed + grid[:, None] * moving, axis=1)
        if math.isnan(factor):
            assert distances.min() > threshold
            continue
        changed = b + (a - b) * np.where(np.arange(4) == i, factor, 1)
        assert model.pair_distance(changed[None], b[None])[0] == pytest.approx(threshold)
        crossings = grid[:-1][np.diff(distances > threshold)]
        assert np.abs(crossings - 1).min() == pytest.approx(abs(factor - 1), abs=1e-3)


def test_features_that_do_not_count_have_no_factor():
    model = given(np.array([[1.0, 0.0, 0.0]]))
    found = model.explain_pair([1.0, 5.0, 0.0], [0.0, 0.0, 0.0], threshold=2.0)
    np.testing.assert_array_equal(found.factors, [2.0, np.nan, np.nan])
    here = model.explain_pair([1.0, 5.0, 0.0], [0.0, 0.0, 0.0], threshold=1.0)
    np.testing.assert_array_equal(here.factors, [1.0, np.nan, np.nan])
    assert here.same


def test_equal_rows_can_be_explained():
    found = given(np.eye(2)).explain_pair([1.0, 2.0], [1.0, 2.0], threshold=1.0)
    assert (found.distance, found.same) == (0.0, True)
    assert np.isnan(found.factors).all()
    assert "distance 0, threshold 1: same" in repr(found)
    assert "none: no factor does." in repr(found)


def test_the_threshold_is_the_methods_own_unless_one_is_given():
    model = lw.DoubletSVM().fit(X, Y)
    rows = X.iloc[0], X.iloc[100]
    assert model.explain_pair(*rows).threshold == model.threshold_
    assert model.explain_pair(*rows, threshold=0.5).threshold == 0.5
    without = lw.RCA().fit(X, Y).explain_pair(*rows)
    assert without.threshold is without.factors is without.same is None
    assert "factor" not in repr(without)


def test_rows_may_be_vectors_lists_frames_and_sparse():
    plain = lw.Euclidean().fit(X.to_numpy())
    a, b = X.to_numpy()[[0, 100]]
    expected = plain.explain_pair(a, b).feature_contributions
    for form in (list, lambda v: v[None], lambda v: [list(v)], lambda v: sp.csr_array(v[None])):
        found = plain.explain_pair(form(a), form(b))
        np.testing.assert_allclose(found.feature_contributions, expected)
    assert found.feature_names == ("x0", "x1", "x2", "x3")
    named = lw.Euclidean().fit(X)
    for rows in ((X.iloc[0], X.iloc[100]), (X.iloc[[0]], X.iloc[[100]])):
        np.testing.assert_allclose(named.explain_pair(*rows).feature_contributions, expected)


def test_a_row_with_other_names_raises():
    model = lw.Euclidean().fit(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.explain_pair(X.iloc[0][::-1], X.iloc[1])


def test_float32_and_large_numbers():
    data = X.to_numpy(dtype=np.float32)
    model = lw.RCA().fit(data, Y)
    found = model.explain_pair(data[0], data[100])
    assert found.feature_contributions.dtype == np.float64
    assert found.distance == pytest.approx(
        model.pair_distance(data[:1], data[100:101])[0], rel=1e-5
    )
    far = given(np.eye(2)).explain_pair([1e140, 0.0], [0.0, 1e-140], threshold=1e139)
    assert far.factors[0] == pytest.approx(0.1)


def test_the_text_shows_the_largest_parts_and_sums_up_the_others():
    rng = np.random.default_rng(0)
    names = [f"a feature with a long name, number {i}" for i in range(30)]
    table = pd.DataFrame(rng.normal(size=(50, 30)), columns=names)
    found = lw.Whitening().fit(table).explain_pair(table.iloc[0], table.iloc[1], threshold=3.0)
    lines = repr(found).splitlines()
    order = np.argsort(-np.abs(found.feature_contributions))[:10]
    np.testing.assert_array_equal(found.largest_features(), order)
    parts = [float(line.split("%")[0].split()[-2]) for line in lines[2:13]]
    np.testing.assert_allclose(parts[:10], found.feature_contributions[order], rtol=1e-3)
    assert lines[12].startswith("20 other features")
    assert sum(parts) == pytest.approx(found.squared_distance, rel=1e-3)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"a": [1.0, 2.0]}, "2 features"),
        ({"a": X.to_numpy()[:2]}, "a has 2 rows, but one is needed"),
        ({"b": [1.0, np.nan, 2.0, 3.0]}, "Input b contains NaN"),
        ({"b": 3.0}, "b is 3.0|b has 0 dimensions"),
        ({"a": ["x"] * 4}, "a holds the text 'x'"),
        ({"threshold": -1.0}, "threshold=-1.0 is not allowed: explain_pair needs None or a finite"),
        ({"threshold": np.nan}, "threshold=nan is not allowed"),
        ({"threshold": "low"}, "threshold='low' is not allowed"),
    ],
)
def test_bad_input(arguments, sentence):
    model = lw.Euclidean().fit(X.to_numpy())
    good = {"a": X.to_numpy()[0], "b": X.to_numpy()[1]}
    with pytest.raises(ValueError, match=sentence):
        model.explain_pair(**good | arguments)


def test_kernel_local_and_unfitted_models_say_why_not():
    data = X.to_numpy()[::3], Y[::3]
    with pytest.raises(AttributeError, match=r"^A kernel model has no metric over the features"):
        lw.NCML(kernel="rbf").fit(*data).explain_pair(data[0][0], data[0][1])
    for local in (lw.PLML(), lw.MultiMetricLMNN()):
        with pytest.raises(AttributeError, match="has no single linear metric of its own"):
            local.fit(*data).explain_pair(data[0][0], data[0][1])
    with pytest.raises(NotFittedError):
        lw.RCA().explain_pair([1.0], [2.0])
