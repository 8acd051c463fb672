"""EnergyClassifier against the formula of the paper in plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator

import likewise as lw
from likewise import _loops
from likewise.objectives.label_energies import BLOCK_VALUES, label_energies


def hinge(value):
    return max(0.0, value)


def loop_energy(D, targets, codes, to_targets, label, push, margin, D_from=None, *, impostors=True):
    """Return the three sums of Eq. 15 for one point with squared distances D."""
    D_from = D if D_from is None else D_from
    total = 0.0
    for j in targets:
        total += (1 - push) * D[j]
        for row, code in enumerate(codes):
            if impostors and code != label:
                total += push * hinge(margin + D[j] - D[row])
    for i, code in enumerate(codes):
        if code != label:
            for own in to_targets[i]:
                total += push * hinge(margin + own - D_from[i])
    return total


@settings(max_examples=80, deadline=None)
@given(
    n_classes=st.integers(2, 4),
    k=st.integers(1, 3),
    grid=st.booleans(),
    several=st.booleans(),
    impostors=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_every_label_against_the_formula(n_classes, k, grid, several, impostors, seed):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, n_classes, 8)
    codes = np.sort(np.concatenate([np.arange(n_classes), drawn]))
    sizes = np.bincount(codes)
    draw = (lambda *shape: rng.integers(0, 4, shape) * 1.0) if grid else rng.exponential
    D, to_targets = draw(*(5, len(codes))) if grid else draw(size=(5, len(codes))), None
    to_targets = draw(len(codes), k) if grid else draw(size=(len(codes), k))
    D_from = [rng.exponential(size=D.shape) for _ in range(n_classes)]
    targets = np.array(
        [
            [
                np.resize(rng.permutation(np.flatnonzero(codes == c)), k)  # repeats what counts not
                for c in range(n_classes)
            ]
            for _ in D
        ]
    )
    push, margin = 0.3, 1.5
    found = label_energies(
        D,
        targets,
        np.searchsorted(codes, np.arange(n_classes + 1)),
        to_targets,
        push=push,
        margin=margin,
        impostors=impostors,
        from_rows=D_from.__getitem__ if several else None,
    )
    expected = [
        [
            loop_energy(
                D[t],
                targets[t, label, : sizes[label]],
                codes,
                [own[: sizes[code] - 1] for own, code in zip(to_targets, codes, strict=True)],
                label,
                push,
                margin,
                D_from[label][t] if several else None,
                impostors=impostors,
            )
            for label in range(n_classes)
        ]
        for t in range(len(D))
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def data(seed=0, n=60, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 4)) + 1.5 * rng.normal(size=(3, 4))[y]
    return X.astype(dtype), np.array(["a", "b", "c"])[y]


@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")
@pytest.mark.parametrize("impostors", [True, False])
@pytest.mark.parametrize("targets", ["euclidean", "learned"])
@pytest.mark.parametrize("small", [False, True], ids=["large classes", "small classes"])
@pytest.mark.parametrize("metric", [lw.Whitening(), lw.LMNN(2)])
def test_energies_against_loops(targets, metric, small, impostors):
    X, y = data()
    if small:
        y[[10, 20, 30]] = ["d", "e", "e"]
    T, _ = data(1, 7)
    k, push = 2, 0.4
    model = lw.EnergyClassifier(
        metric, n_neighbors=k, push=push, targets=targets, impostors=impostors
    ).fit(X, y)
    Z, Q = model.metric_.transform(X), model.metric_.transform(T)
    rows, queries = (X, T) if targets == "euclidean" else (Z, Q)

    def nearest_of(point, members):
        return sorted(members, key=lambda j: (np.square(rows[j] - point).sum(), j))[:k]

    def sqdist(a, b):
        return np.square(a - b).sum()

    own = [
        nearest_of(rows[i], [j for j in range(len(X)) if y[j] == y[i] and j != i])
        for i in range(len(X))
    ]
    to_targets = [[sqdist(Z[i], Z[j]) for j in own[i]] for i in range(len(X))]
    unit = 1.0 if isinstance(metric, lw.LMNN) else np.median(np.concatenate(to_targets))
    codes = np.searchsorted(model.classes_, y)
    expected = [
        [
            loop_energy(
                [sqdist(q, z) / unit for z in Z],
                nearest_of(point, np.flatnonzero(codes == label).tolist()),
                codes,
                [np.divide(one, unit) for one in to_targets],
                label,
                push,
                1.0,
                impostors=impostors,
            )
            for label in range(len(model.classes_))
        ]
        for point, q in zip(queries, Q, strict=True)
    ]
    np.testing.assert_allclose(model.energies(T), expected, rtol=1e-9)
    assert model.predict(T).tolist() == model.classes_[np.argmin(expected, axis=1)].tolist()


def test_parameters_default_to_those_of_the_metric():
    X, y = data()
    model = lw.EnergyClassifier(lw.LMNN(2, push=0.3, margin=2.0)).fit(X, y)
    same = lw.EnergyClassifier(
        FrozenEstimator(model.metric_), n_neighbors=2, push=0.3, margin=2.0
    ).fit(X, y)
    other = lw.EnergyClassifier(FrozenEstimator(model.metric_), push=0.9).fit(X, y)
    np.testing.assert_array_equal(model.energies(X), same.energies(X))
    assert np.abs(model.energies(X) - other.energies(X)).max() > 0.1


def test_far_from_the_origin_and_any_number_of_threads():
    X, y = data(n=300)
    near = lw.EnergyClassifier(lw.Whitening(), n_jobs=1).fit(X, y)
    far = lw.EnergyClassifier(lw.Whitening(), n_jobs=3).fit(X + 1e6, y)
    np.testing.assert_allclose(far.energies(X + 1e6), near.energies(X), rtol=1e-6)
    two = lw.EnergyClassifier(lw.Whitening(), n_jobs=2).fit(X, y)
    assert two.energies(X).tobytes() == near.energies(X).tobytes()


def test_many_blocks_for_any_number_of_threads():
    X, y = data(n=3000)
    one, three = (lw.EnergyClassifier(lw.RCA(), n_jobs=n).fit(X, y) for n in (1, 3))
    assert len(X) ** 2 > 2 * BLOCK_VALUES
    assert one.energies(X).tobytes() == three.energies(X).tobytes()


def test_single_precision():
    X, y = data(dtype=np.float32)
    found = lw.EnergyClassifier(lw.RCA()).fit(X, y).energies(X)
    expected = lw.EnergyClassifier(lw.RCA()).fit(X.astype(np.float64), y).energies(X)
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_weights_reach_the_metric():
    X, y = load_wine(return_X_y=True)
    weights = np.random.default_rng(0).random(len(X))
    expected = lw.LMNN().fit(X, y, anchor_weight=weights).components_
    model = lw.EnergyClassifier().fit(X, y, anchor_weight=weights)
    np.testing.assert_array_equal(model.metric_.components_, expected)
    with config_context(enable_metadata_routing=True):
        metric = lw.LMNN().set_fit_request(anchor_weight=True)
        routed = lw.EnergyClassifier(metric).fit(X, y, anchor_weight=weights)
        np.testing.assert_array_equal(routed.metric_.components_, expected)
        with pytest.raises(UnsetMetadataPassedError, match="anchor_weight"):
            lw.EnergyClassifier().fit(X, y, anchor_weight=weights)


def test_wine():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert lw.EnergyClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.95


def test_more_neighbours_than_rows():
    X, y = data()
    with pytest.raises(ValueError, match=r"n_neighbors=11 is not allowed: X has 11 rows"):
        lw.EnergyClassifier(n_neighbors=11).fit(X[:11], y[:11])


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_neighbors": 0},
        {"push": 1.5},
        {"margin": 0},
        {"targets": "start"},
        {"metric": 3},
        {"impostors": "no"},
    ],
)
def test_bad_parameters(wrong):
    X, y = data()
    with pytest.raises(ValueError, match=next(iter(wrong))):
        lw.EnergyClassifier(**wrong).fit(X, y)


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e300])
def test_the_hinges_of_distances_that_are_not_finite_stay_in_memory(value):
    """Infinite distances of far queries and NaN of forged files: any result, but no crash."""
    random = np.random.default_rng(0)
    starts = np.array([0, 4, 10])
    sqdist, sqradii = random.random((50, 10)), random.random((50, 2, 3))
    sqdist[::2, ::3], sqradii[::3, 1, 2], sqradii[1] = value, value, value
    found = _loops.anchor_hinges(sqdist, starts, sqradii)
    whole = np.isfinite(sqdist).all(axis=1) & np.isfinite(sqradii).all(axis=(1, 2))
    expected = [
        [
            sum(
                max(radius - distance, 0)
                for radius in radii[label]
                for row, distance in enumerate(distances)
                if not starts[label] <= row < starts[label + 1]
            )
            for label in range(2)
        ]
        for distances, radii in zip(sqdist[whole], sqradii[whole], strict=True)
    ]
    np.testing.assert_allclose(found[whole], expected, rtol=1e-9)


@pytest.mark.parametrize("power", [-320, -200, 160, 300])
def test_features_out_of_range_are_refused_by_fit(power):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"X holds .* can be learned from: scale X\.$"):
        lw.EnergyClassifier(n_neighbors=1).fit(X * float(f"1e{power}"), y)
