"""Inner loops of batch learners: compiled against NumPy twins, and those against plain loops."""

import inspect
import math
from importlib.util import find_spec

import numpy as np
import pytest

from likewise import _loops
from likewise._loops import batch_reference

if find_spec("likewise._loops._native"):
    from likewise._loops import _native, batch_compiled

    INSTRUCTIONS = ["portable", "avx2", "avx512"]
else:
    INSTRUCTIONS = []

needs_native = pytest.mark.skipif(not INSTRUCTIONS, reason="the loops were not compiled")
KINDS = ["random", "sharp", "tied", "one other", "long"]


@pytest.fixture(params=INSTRUCTIONS)
def instructions(request):
    """Each set of instructions that this machine has."""
    if not _native.choose_instructions(request.param):
        _native.choose_instructions("best")
        pytest.skip(f"this machine has no {request.param}")
    yield request.param
    _native.choose_instructions("best")


def softmax_case(kind, gains):
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
        {"gains": gains},
    )


def sweep_case(d, scale=1.0):
    random = np.random.default_rng(d)
    V = random.normal(size=(40, d)) * scale
    V[7] = 0
    sign = np.where(np.arange(40) < 20, 1.0, -1.0)
    bounds = np.where(sign > 0, 0.5, 2.0) * d * scale**2
    return lambda: (
        (np.eye(d), V, sign, np.zeros(40), 1 / bounds),
        {"share": 0.4, "softness": 1.5},
    )


def near_case(kind, gains, back, slack=0.0):
    """Return arguments of which the screen is off by as much as `slack` allows."""
    (_, _, anchors, start, stop, columns), _ = softmax_case(kind, gains)()
    random = np.random.default_rng(1)
    n = len(columns)
    d = {"random": 1, "sharp": 8, "long": 21}.get(kind, 3)
    Z = random.normal(size=(n, d)) * {"sharp": 9.0, "long": 2.0}.get(kind, 1.0)
    if kind == "tied":
        Z = np.round(Z)
    D = np.square(Z[anchors, None] - Z).sum(axis=2)
    wrong = random.uniform(-slack / 2, slack / 2, D.shape) + random.normal(size=(len(D), 1))
    summed = random.normal(size=(n, 13))

    def arguments():
        screen = (D + wrong).astype(np.float32)
        screen[np.arange(len(anchors)), anchors] = -99  # a point is never its own neighbour
        rounding = 1e-6 * np.abs(screen).max()
        sums, returned = np.full((len(anchors), 13), np.nan), np.ones(Z.shape) if back else None
        where = anchors, start, stop, columns.copy()
        return (screen, slack + rounding, Z, summed, *where, sums, returned), {"gains": gains}

    return arguments


def energy_case(name, n_points, sizes, k, kind="random"):
    """Distances and radii: random, on a grid (many equal), all equal, or of very different size."""
    random = np.random.default_rng(len(sizes) + k)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def draw(*shape):
        values = random.exponential(size=shape)
        if kind == "grid":
            return np.round(3 * values)
        if kind == "equal":
            return np.ones(shape)
        return values**8 if kind == "uneven" else values

    distances = draw(n_points, start[-1])
    shape = (n_points, len(sizes), k) if name == "invader_hinges" else (k, start[-1])
    radii = draw(*shape)
    return lambda: ((distances, start, radii), {})


SIZES = [(1, 1), (2, 1, 3), (70, 0, 200, 65), (3,) * 40]


def margin_case(d, triplets, softness=0.0, top=0.7):
    random = np.random.default_rng(d)
    V = random.normal(size=(30, d))
    V[4] = 0
    n = 50
    plus, minus = random.integers(30, size=(2, n))
    minus[3] = plus[3]  # a matrix of zero
    X = np.einsum("ni,nj->nij", V[plus], V[plus])
    if triplets:
        X -= np.einsum("ni,nj->nij", V[minus], V[minus])
    sign = np.ones(n) if triplets else np.where(np.arange(n) % 2, 1.0, -1.0)
    multipliers = 0.05 * random.random(n)
    M = np.einsum("n,nij->ij", multipliers * sign, X)
    order, norms = random.permutation(n)[:40], (X**2).sum(axis=(1, 2))

    def fresh():
        return multipliers.copy(), np.zeros(n)

    return lambda: (
        (M.copy(), V, plus, minus if triplets else None, sign, norms, *fresh(), order),
        {"b": -0.5, "top": top, "softness": softness, "weight": 0.0 if triplets else 1.5},
    )


CASES = (
    [("softmax_rows", softmax_case(kind, gains)) for kind in KINDS for gains in (True, False)]
    + [("bregman_sweep", sweep_case(d)) for d in (1, 2, 8, 13, 40, 70, 140)]
    + [("bregman_sweep", sweep_case(5, scale)) for scale in (1e-100, 1e100)]
    + [("margin_sweep", margin_case(d, t)) for d in (1, 3, 8, 19, 40) for t in (False, True)]
    + [("margin_sweep", margin_case(4, t, 0.3, math.inf)) for t in (False, True)]
    + [
        ("near_softmax", near_case(kind, gains, back))
        for kind in KINDS
        for gains in (True, False)
        for back in (True, False)
    ]
    + [("near_softmax", near_case("long", True, True, slack)) for slack in (1.0, 1000.0)]
    + [
        (name, energy_case(name, n_points, sizes, k, kind))
        for name in ("invader_hinges", "invaded_hinges")
        for n_points, k in ((0, 1), (4, 1), (5, 3))
        for sizes in SIZES
        for kind in ("random", "grid", "equal", "uneven")
    ]
)


def outcome(loop, case):
    """Return everything that a loop says and leaves behind."""
    args, options = case()
    found = loop(*args, **options)
    said = found if isinstance(found, tuple) else [] if found is None else [found]
    return [np.asarray(part, dtype=np.float64) for part in (*said, *args) if part is not None]


@pytest.mark.parametrize("name", _loops.BATCH_NAMES)
def test_every_kernel_has_a_twin(name):
    assert getattr(_loops, name).__name__ == name
    twin = inspect.signature(getattr(batch_reference, name))
    assert inspect.signature(getattr(_loops, name)) == twin
    if INSTRUCTIONS:
        assert inspect.signature(getattr(batch_compiled, name)) == twin


def test_batch_names_lists_every_loop():
    public = {
        name
        for name, value in vars(batch_reference).items()
        if inspect.isfunction(value) and value.__module__ == batch_reference.__name__
    }
    assert public == set(_loops.BATCH_NAMES)


@needs_native
@pytest.mark.parametrize(("name", "case"), CASES, ids=lambda value: getattr(value, "real", value))
def test_native_matches_reference(name, case, instructions):
    found = outcome(getattr(batch_compiled, name), case)
    expected = outcome(getattr(batch_reference, name), case)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.nanmax(np.abs(b), initial=0))


@pytest.mark.parametrize("gains", [True, False])
def test_softmax_is_that_of_a_loop(gains):
    (products, sqnorm, anchors, start, stop, columns), _ = softmax_case("random", gains)()
    given = products.copy()
    found = batch_reference.softmax_rows(
        products, sqnorm, anchors, start, stop, columns, gains=gains
    )
    for r, i in enumerate(anchors):
        distance = [sqnorm[i] + sqnorm[j] - 2 * given[r, j] for j in range(len(sqnorm))]
        total = math.fsum(math.exp(-D) for j, D in enumerate(distance) if j != i)
        assert found.log_sums[r] == pytest.approx(math.log(total), rel=1e-12)
        p = [0 if j == i else math.exp(-D) / total for j, D in enumerate(distance)]
        own = sum(p[start[r] : stop[r]])
        assert found.own_shares[r] == pytest.approx(own, rel=1e-12)
        for j in range(len(sqnorm)):
            same = start[r] <= j < stop[r]
            expected = p[j] * (same - own) if gains else p[j]
            assert products[r, j] == pytest.approx(expected, rel=1e-10, abs=1e-17)
    np.testing.assert_allclose(columns, products.sum(axis=0), atol=1e-14)


@pytest.mark.parametrize("slack", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize("gains", [True, False])
def test_those_that_a_screen_keeps_say_what_all_say(gains, slack):
    args, _ = near_case("long", gains, True, slack)()
    _, _, Z, summed, anchors, start, stop, columns, sums, returned = args
    weights, all_columns = Z[anchors] @ Z.T, columns.copy()
    expected = batch_reference.softmax_rows(
        weights, (Z * Z).sum(axis=1), anchors, start, stop, all_columns, gains=gains
    )
    found = batch_reference.near_softmax(*args, gains=gains)
    np.testing.assert_allclose(found.log_sums, expected.log_sums, rtol=1e-11)
    np.testing.assert_allclose(found.own_shares, expected.own_shares, rtol=1e-11)
    for near, whole in (
        (columns, all_columns),
        (sums, weights @ summed),
        (returned - 1, weights.T @ Z[anchors]),
    ):
        np.testing.assert_allclose(near, whole, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("triplets", [False, True])
def test_a_margin_sweep_makes_each_multiplier_best_in_turn(triplets):
    """The dual objective, along one multiplier, has its maximum at the value that it gets."""
    args, options = margin_case(3, triplets, softness=0.2)()
    M, V, plus, minus, sign, _, multipliers, _, order = args
    first = multipliers.copy()
    X = np.einsum("ni,nj->nij", V[plus], V[plus])
    if triplets:
        X = X - np.einsum("ni,nj->nij", V[minus], V[minus])

    def dual(values):
        A = np.einsum("n,nij->ij", values * sign, X)
        even = (values - first) @ sign
        charged = options["b"] * even + options["weight"] * even**2 / 2
        return values.sum() - 0.1 * (values**2).sum() - (A**2).sum() / 2 - charged

    b = batch_reference.margin_sweep(*args[:-1], order[:1], **options)
    k = order[0]
    for other in np.linspace(0, options["top"], 101):
        moved = multipliers.copy()
        moved[k] = other
        assert dual(moved) <= dual(multipliers) + 1e-12
    np.testing.assert_allclose(M, np.einsum("n,nij->ij", multipliers * sign, X), atol=1e-12)
    expected = options["b"] + options["weight"] * float((multipliers - first) @ sign)
    assert b == pytest.approx(expected)


@needs_native
def test_the_exponential_is_exact_to_the_last_digits(instructions):
    exponents = -np.linspace(0, 39.99, 4001)
    # Anchor 0 is at distance -x of point 1 + k; one point at distance 0 is the largest.
    sqnorm = np.concatenate([[0.0, 0.0], -exponents])
    n = len(sqnorm)
    products, anchor = np.zeros((1, n)), np.zeros(1, np.int64)
    found = batch_compiled.softmax_rows(
        products, sqnorm, anchor, anchor, np.array([n]), np.zeros(n), gains=False
    )
    total = math.fsum(np.exp(exponents)) + 1
    assert found.log_sums[0] == pytest.approx(math.log(total), rel=1e-14)
    np.testing.assert_allclose(products[0, 2:], np.exp(exponents) / total, rtol=2e-15)
    assert np.count_nonzero(products) == n - 1


@needs_native
@pytest.mark.parametrize("far", [41.0, 1e5, 1e308])
def test_what_is_negligible_is_nothing(instructions, far):
    sqnorm = np.array([0.0, 1.0] + [1 + far] * 200)
    products, anchor = np.zeros((1, 202)), np.zeros(1, np.int64)
    found = batch_compiled.softmax_rows(
        products, sqnorm, anchor, anchor, np.array([2]), np.zeros(202), gains=False
    )
    assert found.own_shares[0] == 1
    np.testing.assert_array_equal(np.flatnonzero(products), [1])


@needs_native
def test_bad_shapes_are_refused():
    anchors, floats = np.zeros(2, np.int64), np.zeros(2)
    with pytest.raises(ValueError, match="one value a column"):
        batch_compiled.softmax_rows(
            np.zeros((2, 3)), floats, anchors, anchors, anchors + 1, np.zeros(3), gains=True
        )
    with pytest.raises(IndexError, match="An anchor must lie in its class"):
        batch_compiled.softmax_rows(
            np.zeros((2, 3)), np.zeros(3), anchors, anchors, anchors, np.zeros(3), gains=True
        )
    screen = np.zeros((2, 3), np.float32)

    def near(*, screen=screen, rows=3, width=4, own_stop=anchors + 1, returned=None):
        points, summed, columns = np.zeros((rows, 2)), np.zeros((3, 4)), np.zeros(3)
        where, sums = (anchors, anchors, own_stop, columns), np.zeros((2, width))
        batch_compiled.near_softmax(screen, 0.0, points, summed, *where, sums, returned, gains=True)

    with pytest.raises(ValueError, match="points, summed and columns must have one row a column"):
        near(rows=2)
    with pytest.raises(ValueError, match="sums must have a row a row of screen"):
        near(width=3)
    with pytest.raises(ValueError, match="returned must have the shape of points"):
        near(returned=np.zeros((3, 3)))
    with pytest.raises(IndexError, match="An anchor must lie in its class"):
        near(own_stop=anchors)
    with pytest.raises(TypeError):
        near(screen=screen.astype(np.float64))
    with pytest.raises(ValueError, match="M must be square"):
        batch_compiled.bregman_sweep(
            np.eye(3), np.zeros((2, 2)), floats, floats, floats, share=0.5, softness=1.0
        )
    distances, start = np.ones((2, 3)), np.array([0, 1, 3])
    for wrong in ([0, 1, 2], [1, 1, 3], [0, 4, 3]):
        for loop, radii in (
            (batch_compiled.invader_hinges, np.ones((2, 2, 1))),
            (batch_compiled.invaded_hinges, np.ones((1, 3))),
        ):
            loop(distances, start, radii)
            with pytest.raises(ValueError, match="rise from 0 to the number of columns"):
                loop(distances, np.array(wrong), radii)
    for radii in (np.ones((1, 2, 1)), np.ones((2, 3, 1)), np.ones((2, 2, 0))):
        with pytest.raises(ValueError, match="radii must have a row a row"):
            batch_compiled.invader_hinges(distances, start, radii)
    with pytest.raises(ValueError, match="radii must have a column a column"):
        batch_compiled.invaded_hinges(distances, start, np.ones((1, 2)))
    args, options = margin_case(3, True)()
    with pytest.raises(IndexError, match="order must have numbers of constraints"):
        batch_compiled.margin_sweep(*args[:-1], np.array([50]), **options)
    with pytest.raises(IndexError, match="plus and minus must be row numbers"):
        batch_compiled.margin_sweep(*args[:3], args[3] + 30, *args[4:], **options)
    with pytest.raises(ValueError, match="one value a constraint"):
        batch_compiled.margin_sweep(*args[:5], floats, *args[6:], **options)
