"""Figures of a metric draw what independent computations give."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise import plotting

WINE = lw.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
Y = WINE.y
METRIC = lw.RCA().fit(X, Y)


def drawn_points(ax):
    """Points by label."""
    return {c.get_label(): np.asarray(c.get_offsets()) for c in ax.collections}


@pytest.mark.parametrize("shape", [(40, 5), (6, 30), (9, 9)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_embedding_is_pca_after_the_metric(shape, offset):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=shape) @ np.diag(np.arange(1, shape[1] + 1)) + offset
    y = np.arange(shape[0]) % 3
    metric = lw.Euclidean().fit(rows)
    ax = plotting.embedding(rows, y, metric=metric)
    pca = PCA(2).fit(rows)
    expected = pca.transform(rows)
    found = np.empty_like(expected)
    for code in range(3):
        found[y == code] = drawn_points(ax)[str(code)]
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-6 * np.ptp(expected))
    assert ax.get_title() == f"{pca.explained_variance_ratio_.sum():.0%} of the variance"


def test_embedding_shows_the_most_frequent_classes_and_the_others_in_grey():
    rng = np.random.default_rng(1)
    y = np.repeat([f"class {i}" for i in range(20)], np.arange(1, 21))
    rows = rng.normal(size=(len(y), 3))
    ax = plotting.embedding(rows, y, max_classes=5)
    found = drawn_points(ax)
    assert set(found) == {f"class {i}" for i in range(15, 20)} | {"15 other classes"}
    assert sum(map(len, found.values())) == len(y)
    looks = {
        (tuple(c.get_facecolor()[0]), len(c.get_paths()[0].vertices)) for c in ax.collections[1:]
    }
    assert len(looks) == 5
    one = plotting.embedding(rows, y, max_classes=19)
    assert "1 other class" in drawn_points(one)


def test_embedding_without_labels_and_of_one_feature():
    ax = plotting.embedding(np.arange(5.0)[:, None])
    np.testing.assert_allclose(np.ptp(ax.collections[0].get_offsets(), axis=0), [4, 0])
    assert ax.get_legend() is None
    same = plotting.embedding(np.ones((4, 3)))
    np.testing.assert_array_equal(same.collections[0].get_offsets(), np.zeros((4, 2)))


@pytest.mark.parametrize("name", ["$a$", r"$\frac{", "a\nb", "<script>", "x" * 100])
def test_labels_are_drawn_as_they_are(name):
    ax = plotting.embedding(np.eye(3), [name, "b", "c"])
    ax.figure.canvas.draw()
    (first, *_) = [
        t for t in ax.get_legend().get_texts() if t.get_text().replace("\\$", "$") not in ("b", "c")
    ]
    shown = first.get_text().replace(r"\$", "$")
    assert shown == name or len(shown) < len(name) or r"\n" in shown


def test_spectrum_is_the_eigenvalues_of_m():
    L = METRIC.components_
    ax = plotting.spectrum(METRIC)
    expected = np.linalg.eigvalsh(L.T @ L)[::-1]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), expected)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(1, 14))
    low_rank = np.diag([3.0, 2.0, 1e-5, 0.0])
    ax = plotting.spectrum(low_rank)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [9, 4, 1e-10])
    assert ax.lines[1].get_xdata() == [2.5, 2.5], "the effective dimension is 2"
    np.testing.assert_array_equal(ax.lines[2].get_xdata(), [4], "the eigenvalue that is zero")
    flat = plotting.spectrum(np.diag([3.0, 2.9, 0.0]))
    assert flat.get_ylim() > (0, 9.5), "the first point is whole"
    assert ax.get_title() == "2 of 4 directions matter"


@pytest.mark.parametrize(
    "holder",
    [
        lambda: make_pipeline(StandardScaler(), lw.RCA()).fit(WINE.X, Y),
        lambda: lw.MetricKNN(metric=lw.RCA()).fit(X, Y),
        lambda: METRIC.components_.tolist(),
    ],
    ids=["pipeline", "classifier", "matrix"],
)
def test_metrics_inside_others_are_found(holder):
    expected = plotting.spectrum(METRIC).lines[0].get_ydata()
    np.testing.assert_allclose(plotting.spectrum(holder()).lines[0].get_ydata(), expected)


def test_feature_weights_are_the_mean_contributions_of_random_pairs():
    """Against explain_pair on all pairs of a few rows."""
    rows = X[:25]
    total = np.zeros(13)
    for a in rows:
        for b in rows:
            total += METRIC.explain_pair(a, b).feature_contributions
    expected = total / total.sum()
    ax = plotting.feature_weights(METRIC, rows, feature_names=WINE.feature_names)
    order = np.argsort(-np.abs(expected))
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], expected[order])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == WINE.feature_names[order[0]]
    colors = {bar.get_width() < 0: bar.get_facecolor() for bar in ax.patches}
    assert len(set(colors.values())) == len(colors)


def test_feature_weights_without_rows_are_the_diagonal_of_m():
    M = METRIC.mahalanobis_matrix()
    shares = np.sort(np.diag(M) / np.trace(M))[::-1]
    ax = plotting.feature_weights(METRIC, n_features=4)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths[:4], shares[:4])
    assert widths[4] == pytest.approx(shares[4:].sum())
    assert ax.get_yticklabels()[-1].get_text() == "9 other features"
    nothing = plotting.feature_weights(np.zeros((1, 3)))
    assert [bar.get_width() for bar in nothing.patches] == [0, 0, 0]


def ellipse_points(patch, n=60):
    """Points on an ellipse, from its own description."""
    t = np.linspace(0, 2 * np.pi, n)
    angle = np.radians(patch.angle)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    flat = np.stack([patch.width / 2 * np.cos(t), patch.height / 2 * np.sin(t)])
    return np.asarray(patch.center) + (turn @ flat).T


@pytest.mark.parametrize("features", [(0, 1), (6, 2)])
def test_points_of_an_ellipse_are_equally_far_from_the_centre(features):
    ax = plotting.ellipses(METRIC, X, Y, features=features, radius=2.5)
    assert len(ax.patches) == 3
    for code, patch in enumerate(ax.patches):
        centre = X[code == Y].mean(axis=0)
        np.testing.assert_allclose(patch.center, centre[list(features)])
        moved = np.tile(centre, (60, 1))
        moved[:, list(features)] = ellipse_points(patch)
        distances = METRIC.pair_distance(moved, np.tile(centre, (60, 1)))
        np.testing.assert_allclose(distances, 2.5)


def test_ellipses_show_all_rows_in_given_axes():
    flowers = lw.datasets.load("iris")
    points = flowers.X[:, [0, 2]]
    _, axes = plt.subplots(2, 2)
    for ax in axes.flat:
        plotting.ellipses(np.eye(2), points, flowers.y, ax=ax)
        (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        assert low < points[:, 0].min() < points[:, 0].max() < high
        assert bottom < points[:, 1].min() < points[:, 1].max() < top


def test_the_default_radius_is_the_median_distance():
    ax = plotting.ellipses(METRIC, X, Y)
    away = X[:, :2] - np.array([X[label == Y, :2].mean(axis=0) for label in Y])
    flat = np.zeros_like(X)
    flat[:, :2] = away
    median = np.median(METRIC.pair_distance(flat, np.zeros_like(X)))
    assert ax.get_title() == f"distance {median:.3g} from the centre"
    assert len(plotting.ellipses(METRIC, X).patches) == 1


def test_each_class_has_its_own_ellipse_under_local_metrics():
    local = lw.MultiMetricLMNN().fit(X, Y)
    ax = plotting.ellipses(local, X, Y, radius=1.0)
    for L, patch in zip(local.components_, ax.patches, strict=True):
        away = ellipse_points(patch) - np.asarray(patch.center)
        np.testing.assert_allclose(np.linalg.norm(away @ L[:, :2].T, axis=1), 1.0)


def test_a_direction_that_does_not_count_has_no_end():
    ax = plotting.ellipses([[1.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]])
    (patch,) = ax.patches
    assert min(patch.width, patch.height) == pytest.approx(1.0)
    assert max(patch.width, patch.height) > 50
    assert np.ptp(ax.get_xlim()) < 3, "the axis shows the data"


@pytest.mark.parametrize("name", ["LMNN", "TripletSVM", "ITML", "NCA", "MCML"])
def test_convergence_draws_the_history(name):
    model = getattr(lw, name)().fit(X, Y)
    for against in ("time", "iterations"):
        ax = plotting.convergence(model, against=against)
        history = model.history_
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), history["objective"])
        assert (np.diff(ax.lines[0].get_xdata()) >= 0).all()
    assert ax.lines[0].get_xdata()[-1] == history.get("n_iter", [model.n_iter_])[-1]
    if name in ("NCA", "MCML"):
        assert len(ax.lines) == 1
        return
    bound = ax.lines[1].get_ydata()
    gap = (min(history["objective"]) - bound[-1]) / min(history["objective"])
    assert gap == pytest.approx(model.duality_gap_, rel=1e-6, abs=1e-9)
    assert (bound <= history["objective"].min() * (1 + 1e-12)).all()


def test_time_of_convergence_is_the_time_of_the_fit_and_not_in_the_file(tmp_path):
    import time

    start = time.perf_counter()
    model = lw.LMNN().fit(X, Y)
    whole = time.perf_counter() - start
    seconds = plotting.convergence(model).lines[0].get_xdata()
    assert 0 == seconds[0] < seconds[-1] <= whole
    model.save(tmp_path / "m.safetensors")
    loaded = plotting.convergence(lw.load(tmp_path / "m.safetensors"))
    assert loaded.get_xlabel() == "iteration"
    np.testing.assert_array_equal(loaded.lines[0].get_xdata(), model.history_["n_iter"])


FIGURES = {
    "embedding": lambda **kw: plotting.embedding(X, Y, **kw),
    "spectrum": lambda **kw: plotting.spectrum(METRIC, **kw),
    "feature_weights": lambda **kw: plotting.feature_weights(METRIC, **kw),
    "ellipses": lambda **kw: plotting.ellipses(METRIC, X, Y, **kw),
    "convergence": lambda **kw: plotting.convergence(lw.NCA(max_iter=3, tol=1).fit(X, Y), **kw),
}


@pytest.mark.parametrize("name", FIGURES)
def test_given_axes_are_used_and_settings_stay(name):
    before = dict(plt.rcParams)
    _, ax = plt.subplots()
    assert FIGURES[name](ax=ax) is ax
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize("name", FIGURES)
def test_without_matplotlib_the_extra_is_named(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "likewise\[plot\]"'):
        FIGURES[name]()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: plotting.embedding([1.0, 2.0]), r"X has shape \(2,\)"),
        (lambda: plotting.embedding([["a"]]), "X holds 'a', but only real numbers"),
        (lambda: plotting.embedding([[np.nan, 1.0]]), "X contains NaN"),
        (lambda: plotting.embedding(X, Y[:3]), r"y has shape \(3,\)"),
        (lambda: plotting.embedding(X, metric=lw.RCA), "metric=.* is not allowed"),
        (lambda: plotting.embedding(X, max_classes=0), "max_classes=0 is not allowed"),
        (lambda: plotting.spectrum(lw.RCA()), r"metric is RCA\(\), but spectrum needs a fitted"),
        (lambda: plotting.spectrum(3), "metric is 3, but spectrum needs a fitted linear"),
        (lambda: plotting.spectrum([[np.nan]]), "metric contains NaN"),
        (lambda: plotting.spectrum([1.0]), r"metric has shape \(1,\)"),
        (lambda: plotting.spectrum(lw.PLML().fit(X, Y)), "spectrum needs a fitted linear metric"),
        (lambda: plotting.feature_weights(METRIC, n_features=0), "n_features=0 is not allowed"),
        (lambda: plotting.feature_weights(METRIC, X[:, :3]), r"X has shape \(178, 3\)"),
        (lambda: plotting.feature_weights(METRIC, feature_names=["a"]), "feature_names has 1"),
        (lambda: plotting.ellipses(METRIC, X, Y, features=(0, 0)), "two different columns"),
        (lambda: plotting.ellipses(METRIC, X, Y, features=(0, 13)), "features holds column 13"),
        (lambda: plotting.ellipses(METRIC, X, Y, radius=0), "radius=0 is not allowed"),
        (lambda: plotting.ellipses(METRIC, X[:, :2]), "X has 2 features"),
        (lambda: plotting.ellipses(METRIC, X, Y[:2]), "X has 178 rows but y has 2 labels"),
        (lambda: plotting.convergence(METRIC), r"model is RCA\(\), but convergence needs"),
        (lambda: plotting.convergence(METRIC, against="x"), "against='x' is not allowed"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert str(caught.value).count(".") >= 1
    assert "\n" not in str(caught.value)
