"""Softmax over distances: compiled against NumPy twins, and those against plain loops."""

import math

import numpy as np
import pytest
from loop_backends import INSTRUCTIONS, needs_native

from likewise._loops.softmax import reference

if INSTRUCTIONS:
    from likewise._loops.softmax import compiled

KINDS = ["random", "sharp", "tied", "one other", "long"]


def softmax_case(kind, probability_gradient):
    """Return fresh arguments on each call, because the loop changes them."""
    random = np.random.default_rng(0)
    n = {"one other": 2, "long": 707}.get(kind, 61)
    Z = random.normal(size=(n, 3)) * {"sharp": 9.0, "long": 4.0}.get(kind, 1.0)
    if kind == "tied":
        Z = np.round(Z)
    anchors = np.sort(random.permutation(n)[: max(1, n // 2)])
    edges = np.array([0, n // 3, n // 2 + 1, n])
    own = np.searchsorted(edges, anchors, side="right")
    return lambda: (
        (Z[anchors] @ Z.T, (Z * Z).sum(axis=1), anchors, edges[own - 1], edges[own], np.zeros(n)),
        {"probability_gradient": probability_gradient},
    )


def near_case(kind, probability_gradient, back, error_bound=0.0):
    """Return arguments whose approximate distances are wrong by up to `error_bound`."""
    (_, _, anchors, start, stop, column_sums), _ = softmax_case(kind, probability_gradient)()
    random = np.random.default_rng(1)
    n = len(column_sums)
    d = {"random": 1, "sharp": 8, "long": 21}.get(kind, 3)
    Z = random.normal(size=(n, d)) * {"sharp": 9.0, "long": 2.0}.get(kind, 1.0)
    if kind == "tied":
        Z = np.round(Z)
    D = np.square(Z[anchors, None] - Z).sum(axis=2)
    wrong = random.uniform(-error_bound / 2, error_bound / 2, D.shape) + random.normal(
        size=(len(D), 1)
    )
    summands = random.normal(size=(n, 13))

    def arguments():
        approx_sqdist = (D + wrong).astype(np.float32)
        approx_sqdist[np.arange(len(anchors)), anchors] = -99  # no point is its own neighbour
        rounding = 1e-6 * np.abs(approx_sqdist).max()
        weighted_sums, anchor_sums = (
            np.full((len(anchors), 13), np.nan),
            np.ones(Z.shape) if back else None,
        )
        where = anchors, start, stop, column_sums.copy()
        return (
            approx_sqdist,
            error_bound + rounding,
            Z,
            summands,
            *where,
            weighted_sums,
            anchor_sums,
        ), {"probability_gradient": probability_gradient}

    return arguments


CASES = (
    [
        ("softmax_rows", softmax_case(kind, probability_gradient))
        for kind in KINDS
        for probability_gradient in (True, False)
    ]
    + [
        ("near_softmax", near_case(kind, probability_gradient, back))
        for kind in KINDS
        for probability_gradient in (True, False)
        for back in (True, False)
    ]
    + [
        ("near_softmax", near_case("long", True, True, error_bound))
        for error_bound in (1.0, 1000.0)
    ]
)


def outcome(loop, case):
    """Return everything that a loop returns and changes."""
    args, options = case()
    found = loop(*args, **options)
    said = found if isinstance(found, tuple) else [] if found is None else [found]
    return [np.asarray(part, dtype=np.float64) for part in (*said, *args) if part is not None]


@needs_native
@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda value: getattr(value, "real", value))
def test_native_matches_reference(name, case, instructions):
    found = outcome(getattr(compiled, name), case)
    expected = outcome(getattr(reference, name), case)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.nanmax(np.abs(b), initial=0))


@pytest.mark.parametrize("probability_gradient", [True, False])
def test_softmax_is_that_of_a_loop(probability_gradient):
    (products, sqnorm, anchors, start, stop, column_sums), _ = softmax_case(
        "random", probability_gradient
    )()
    given = products.copy()
    found = reference.softmax_rows(
        products,
        sqnorm,
        anchors,
        start,
        stop,
        column_sums,
        probability_gradient=probability_gradient,
    )
    for r, i in enumerate(anchors):
        distance = [sqnorm[i] + sqnorm[j] - 2 * given[r, j] for j in range(len(sqnorm))]
        total = math.fsum(math.exp(-D) for j, D in enumerate(distance) if j != i)
        assert found.log_sums[r] == pytest.approx(math.log(total), rel=1e-12)
        p = [0 if j == i else math.exp(-D) / total for j, D in enumerate(distance)]
        own = sum(p[start[r] : stop[r]])
        assert found.same_class_probability[r] == pytest.approx(own, rel=1e-12)
        for j in range(len(sqnorm)):
            same = start[r] <= j < stop[r]
            expected = p[j] * (same - own) if probability_gradient else p[j]
            assert products[r, j] == pytest.approx(expected, rel=1e-10, abs=1e-17)
    np.testing.assert_allclose(column_sums, products.sum(axis=0), atol=1e-14)


@pytest.mark.parametrize("error_bound", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize("probability_gradient", [True, False])
def test_skipping_negligible_points_changes_nothing(probability_gradient, error_bound):
    args, _ = near_case("long", probability_gradient, True, error_bound)()
    _, _, Z, summands, anchors, start, stop, column_sums, weighted_sums, anchor_sums = args
    weights, all_columns = Z[anchors] @ Z.T, column_sums.copy()
    expected = reference.softmax_rows(
        weights,
        (Z * Z).sum(axis=1),
        anchors,
        start,
        stop,
        all_columns,
        probability_gradient=probability_gradient,
    )
    found = reference.near_softmax(*args, probability_gradient=probability_gradient)
    np.testing.assert_allclose(found.log_sums, expected.log_sums, rtol=1e-11)
    np.testing.assert_allclose(
        found.same_class_probability, expected.same_class_probability, rtol=1e-11
    )
    for near, whole in (
        (column_sums, all_columns),
        (weighted_sums, weights @ summands),
        (anchor_sums - 1, weights.T @ Z[anchors]),
    ):
        np.testing.assert_allclose(near, whole, rtol=1e-11, atol=1e-12)


@needs_native
def test_the_exponential_is_exact_to_the_last_digits(instructions):
    exponents = -np.linspace(0, 39.99, 4001)
    # Anchor 0 is at distance -x of point 1 + k; one point at distance 0 is the largest.
    sqnorm = np.concatenate([[0.0, 0.0], -exponents])
    n = len(sqnorm)
    products, anchor = np.zeros((1, n)), np.zeros(1, np.int64)
    found = compiled.softmax_rows(
        products, sqnorm, anchor, anchor, np.array([n]), np.zeros(n), probability_gradient=False
    )
    total = math.fsum(np.exp(exponents)) + 1
    assert found.log_sums[0] == pytest.approx(math.log(total), rel=1e-14)
    np.testing.assert_allclose(products[0, 2:], np.exp(exponents) / total, rtol=2e-15)
    assert np.count_nonzero(products) == n - 1


@needs_native
@pytest.mark.parametrize("far", [41.0, 1e5, 1e308])
def test_negligible_probabilities_are_zero(instructions, far):
    sqnorm = np.array([0.0, 1.0] + [1 + far] * 200)
    products, anchor = np.zeros((1, 202)), np.zeros(1, np.int64)
    found = compiled.softmax_rows(
        products, sqnorm, anchor, anchor, np.array([2]), np.zeros(202), probability_gradient=False
    )
    assert found.same_class_probability[0] == 1
    np.testing.assert_array_equal(np.flatnonzero(products), [1])


@needs_native
def test_bad_shapes_are_refused():
    anchors = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="one value per column"):
        compiled.softmax_rows(
            np.zeros((2, 3)),
            np.zeros(2),
            anchors,
            anchors,
            anchors + 1,
            np.zeros(3),
            probability_gradient=True,
        )
    with pytest.raises(IndexError, match="An anchor must lie in its class"):
        compiled.softmax_rows(
            np.zeros((2, 3)),
            np.zeros(3),
            anchors,
            anchors,
            anchors,
            np.zeros(3),
            probability_gradient=True,
        )
    approx_sqdist = np.zeros((2, 3), np.float32)

    def near(
        *, approx_sqdist=approx_sqdist, rows=3, width=4, class_stop=anchors + 1, anchor_sums=None
    ):
        points, summands, column_sums = np.zeros((rows, 2)), np.zeros((3, 4)), np.zeros(3)
        where, weighted_sums = (anchors, anchors, class_stop, column_sums), np.zeros((2, width))
        compiled.near_softmax(
            approx_sqdist,
            0.0,
            points,
            summands,
            *where,
            weighted_sums,
            anchor_sums,
            probability_gradient=True,
        )

    with pytest.raises(
        ValueError, match="points, summands and column_sums must have one row per column"
    ):
        near(rows=2)
    with pytest.raises(
        ValueError, match="weighted_sums must have one row per row of approx_sqdist"
    ):
        near(width=3)
    with pytest.raises(ValueError, match="anchor_sums must have the shape of points"):
        near(anchor_sums=np.zeros((3, 3)))
    with pytest.raises(IndexError, match="An anchor must lie in its class"):
        near(class_stop=anchors)
    with pytest.raises(TypeError):
        near(approx_sqdist=approx_sqdist.astype(np.float64))
