"""Figures of results draw what independent computations give."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import det_curve, roc_auc_score, roc_curve
from sklearn.neighbors import NearestNeighbors

import likewise as lw
from likewise import plotting
from likewise.evaluation import neighbor_changes, verification_curve

RNG = np.random.default_rng(0)
SAME = np.arange(400) % 2 == 0
DISTANCE = RNG.normal(size=400) ** 2 + ~SAME
ITEMS = RNG.choice(60, size=(400, 2))
ITEMS[:, 1] += 60
CURVE = verification_curve(DISTANCE, SAME)
WITH_BAND = verification_curve(DISTANCE, SAME, items=ITEMS, confidence=0.95)
WINE = lw.datasets.load("wine")
PARTS = (WINE.X[::2], WINE.y[::2], WINE.X[1::2], WINE.y[1::2])
FDA = lw.FDA().fit(*PARTS[:2])
CHANGES = neighbor_changes(*PARTS, metric=FDA, n_neighbors=4)


def test_roc_is_that_of_scikit_learn():
    ax = plotting.roc(CURVE)
    fmr, tmr, _ = roc_curve(SAME, -DISTANCE, drop_intermediate=False)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), fmr)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), tmr)
    assert ax.get_title() == f"AUC {roc_auc_score(SAME, -DISTANCE):.3f}"
    assert not ax.patches


@pytest.mark.parametrize("figure", [plotting.roc, plotting.det])
def test_the_band_holds_the_limits_and_the_curve(figure):
    ax = figure({"mine": WITH_BAND, "other": CURVE})
    (polygon,) = ax.patches
    corners = polygon.get_xy()
    band = WITH_BAND.band
    if figure is plotting.roc:
        limits = np.concatenate(
            [
                np.column_stack([band.fmr_upper, 1 - band.fnmr_upper]),
                np.column_stack([band.fmr_lower, 1 - band.fnmr_lower]),
            ]
        )
        assert polygon.get_path().contains_points(limits, radius=1e-6).all()
        assert limits.min(axis=0) == pytest.approx(corners.min(axis=0))
        assert limits.max(axis=0) == pytest.approx(corners.max(axis=0))
    middle = WITH_BAND.fmr.searchsorted(0.3)
    point = WITH_BAND.fmr[middle], 1 - WITH_BAND.fnmr[middle]
    if figure is plotting.det:
        point = norm.ppf([point[0], 1 - point[1]])
    assert polygon.get_path().contains_point(point)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [label.split(",")[0] for label in labels] == ["mine", "other"]
    first, second = ax.lines[:1] + [line for line in ax.lines if "other" in line.get_label()]
    assert first.get_linestyle() != second.get_linestyle(), "not by colour alone"


@pytest.mark.parametrize("figure", [plotting.roc, plotting.det])
def test_the_band_does_not_cross_itself(figure):
    """Both its sides rise on ROC axes and fall on DET axes, also where the limits do not."""
    band = WITH_BAND.band
    assert (np.diff(band.fmr_upper) < 0).any() or (np.diff(band.fnmr_upper) > 0).any()
    corners = figure(WITH_BAND).patches[0].get_xy()[:-1]
    farthest = int(np.abs(corners - corners[0]).sum(axis=1).argmax())
    direction = [1, 1] if figure is plotting.roc else [1, -1]
    there, back = corners[: farthest + 1] * direction, corners[farthest:][::-1] * direction
    assert (np.diff(there, axis=0) >= 0).all()
    assert (np.diff(back, axis=0) >= 0).all()


def test_det_is_that_of_scikit_learn_on_normal_axes():
    ax = plotting.det(CURVE)
    fmr, fnmr, _ = det_curve(SAME, -DISTANCE)
    inside = (fmr > 0) & (fmr < 1) & (fnmr > 0) & (fnmr < 1)
    drawn = {tuple(point) for point in ax.lines[0].get_xydata().round(9)}
    expected = norm.ppf(np.column_stack([fmr, fnmr])[inside]).round(9)
    assert {tuple(point) for point in expected} <= drawn
    rates = norm.cdf(ax.lines[0].get_xydata())
    assert rates[:, 0] == pytest.approx(CURVE.fmr[(CURVE.fmr > 0) & (CURVE.fmr < 1)][: len(rates)])
    np.testing.assert_allclose(norm.cdf(ax.lines[1].get_xydata()[0]), CURVE.eer)
    ticks = dict(zip(ax.get_xticks(), [t.get_text() for t in ax.get_xticklabels()], strict=True))
    for place, name in ticks.items():
        assert norm.cdf(place) == pytest.approx(float(name.rstrip("%")) / 100)


def test_det_of_perfect_separation_has_no_curve():
    ax = plotting.det(verification_curve([0.1, 0.2, 0.3, 0.4], [True, True, False, False]))
    assert not len(ax.lines[0].get_xdata())
    assert ax.get_title() == "EER 0.00%"


def test_histograms_count_every_pair_once():
    ax = plotting.pair_histogram(DISTANCE, SAME, threshold=1.2, n_bins=17)
    steps = {p.get_label(): p.get_data() for p in ax.patches if "pairs" in p.get_label()}
    for name, kind in (("same pairs", SAME), ("different pairs", ~SAME)):
        values, edges, _ = steps[name]
        assert len(values) == 17
        for value, low, high in zip(values, edges[:-1], edges[1:], strict=True):
            last = high == edges[-1]
            inside = (low <= DISTANCE) & ((high > DISTANCE) | last & (high >= DISTANCE))
            assert value == pytest.approx((inside & kind).sum() / kind.sum())
        assert values.sum() == pytest.approx(1)
    (line,) = ax.lines
    assert line.get_xdata() == [1.2, 1.2]
    fmr, fnmr = (DISTANCE[~SAME] <= 1.2).mean(), (DISTANCE[SAME] > 1.2).mean()
    assert ax.get_title() == f"FMR {fmr:.2%}, FNMR {fnmr:.2%}"
    hatched = [p.get_hatch() for p in ax.patches if p.get_label() == "different pairs"]
    assert hatched == ["////"], "not by colour alone"


def test_histogram_without_threshold_and_of_equal_distances():
    ax = plotting.pair_histogram([0.0, 0.0], [True, False])
    assert not ax.lines
    assert ax.patches[0].get_data().values.sum() == 1


def test_learning_curve_draws_means_and_deviations():
    errors = RNG.random((3, 5))
    ax = plotting.learning_curve([10, 20, 40], {"a": errors, "b": errors[:, 0]})
    np.testing.assert_allclose(ax.lines[0].get_ydata(), errors.mean(axis=1))
    np.testing.assert_allclose(ax.lines[1].get_ydata(), errors[:, 0])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [10, 20, 40])
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    for size, row in zip([10, 20, 40], errors, strict=True):
        at = corners[corners[:, 0] == size, 1]
        assert at.min() == pytest.approx(row.mean() - row.std())
        assert at.max() == pytest.approx(row.mean() + row.std())
    assert ax.lines[0].get_marker() != ax.lines[1].get_marker()


def test_changed_neighbours_are_those_of_scikit_learn():
    X, y, X_new, y_new = PARTS
    plain = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(X_new)[1]
    mapped = NearestNeighbors(n_neighbors=4).fit(FDA.transform(X))
    learned = mapped.kneighbors(FDA.transform(X_new))[1]
    np.testing.assert_array_equal(CHANGES.before, plain)
    np.testing.assert_array_equal(CHANGES.after, learned)
    table, replaced = np.zeros((5, 5), dtype=int), []
    for row, label in enumerate(y_new):
        table[(y[plain[row]] == label).sum(), (y[learned[row]] == label).sum()] += 1
        replaced.append(len(set(learned[row]) - set(plain[row])) / 4)
    np.testing.assert_array_equal(CHANGES.counts, table)
    np.testing.assert_allclose(CHANGES.replaced, replaced)
    ax = plotting.neighbors_changed(CHANGES)
    drawn = {tuple(text.xy): int(text.get_text()) for text in ax.texts}
    assert drawn == {(i, j): table[i, j] for i in range(5) for j in range(5) if table[i, j]}
    gained = sum(number for (i, j), number in drawn.items() if j > i)
    lost = sum(number for (i, j), number in drawn.items() if j < i)
    assert ax.get_title().startswith(f"{gained} rows gain")
    assert f" {lost} lose" in ax.get_title()
    colors = {np.sign(p.get_y() - p.get_x()): p.get_facecolor()[:3] for p in ax.patches}
    assert len(set(colors.values())) == len(colors)


def test_largest_changes_come_first():
    change = CHANGES.right_after - CHANGES.right_before
    gained = CHANGES.largest(10)
    assert (np.diff(change[gained]) <= 0).all()
    assert change[gained].min() >= np.sort(change)[-10]
    assert set(CHANGES.largest(1000)) == set(np.flatnonzero(change > 0))
    assert set(CHANGES.largest(1000, gained=False)) == set(np.flatnonzero(change < 0))


FIGURES = {
    "roc": lambda **kw: plotting.roc(CURVE, **kw),
    "det": lambda **kw: plotting.det(CURVE, **kw),
    "pair_histogram": lambda **kw: plotting.pair_histogram(DISTANCE, SAME, **kw),
    "learning_curve": lambda **kw: plotting.learning_curve([1, 2], [0.2, 0.1], **kw),
    "neighbors_changed": lambda **kw: plotting.neighbors_changed(CHANGES, **kw),
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
        (lambda: plotting.roc(3), "curves is 3, but roc needs what verification_curve returns"),
        (lambda: plotting.det({}), "curves is {}, but det needs"),
        (lambda: plotting.det({"a": 1}), r"curves\['a'\] is a int, but det needs"),
        (lambda: plotting.pair_histogram([1.0], [True]), "different"),
        (lambda: plotting.pair_histogram([1.0, np.nan], [True, False]), "NaN"),
        (lambda: plotting.pair_histogram(DISTANCE, SAME, n_bins=0), "n_bins=0 is not allowed"),
        (lambda: plotting.pair_histogram(DISTANCE, SAME, threshold=-1), "threshold=-1 is not"),
        (lambda: plotting.learning_curve([], []), r"sizes has shape \(0,\)"),
        (lambda: plotting.learning_curve([2, 1], [0, 0]), "sizes must be positive and ascending"),
        (lambda: plotting.learning_curve([1, 2], [0.1]), r"errors has shape \(1,\)"),
        (lambda: plotting.learning_curve([1], {"a": [np.nan]}), r"errors\['a'\] holds NaN"),
        (lambda: plotting.learning_curve([1], {}), "errors is empty"),
        (lambda: plotting.neighbors_changed(None), "changes is None, but what neighbor_changes"),
        (lambda: neighbor_changes(*PARTS, metric=FDA, n_neighbors=0), "n_neighbors=0 is not"),
        (lambda: neighbor_changes(*PARTS, metric=FDA, n_neighbors=90), "there are 89 training"),
        (lambda: neighbor_changes(*PARTS, metric=3), "metric=3 is not allowed"),
        (lambda: neighbor_changes(*PARTS[:3], [1], metric=FDA), "X_test and y_test have shapes"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
