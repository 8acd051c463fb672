"""The diagram of average ranks: which methods are joined, and that names can be read."""

import itertools
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from likewise import plotting
from likewise.plotting import critical_difference
from likewise.statistics import average_ranks, holm_test, nemenyi_test

DEMSAR = ([3.143, 2.000, 2.893, 1.964], ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], 14)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def drawn_bars(ax):
    """The first and last rank that each bar reaches, in the order of the axis."""
    spans = [line.get_xdata() for line in ax.lines if line.get_gid() == "bar"]
    return sorted((min(span), max(span)) for span in spans)


def cliques(ranks, p_values, alpha):
    """Maximal sets of methods that do not differ, by trying all sets."""
    k = len(ranks)
    alike = [
        set(some)
        for size in range(2, k + 1)
        for some in itertools.combinations(range(k), size)
        if all(p_values[i, j] > alpha for i, j in itertools.combinations(some, 2))
    ]
    largest = [some for some in alike if not any(some < other for other in alike)]
    return sorted((min(ranks[list(some)]), max(ranks[list(some)])) for some in largest)


def test_demsar_figure():
    """At 0.1 C4.5 differs from C4.5+m and C4.5+m+cf; C4.5+cf belongs to both groups."""
    ax = critical_difference(*DEMSAR, alpha=0.1)
    np.testing.assert_allclose(drawn_bars(ax), [(1.964, 2.893), (2.893, 3.143)], atol=0.05)
    assert "critical difference 1.12, α = 0.1" in {text.get_text() for text in ax.texts}
    (difference,) = (line.get_xdata() for line in ax.lines if line.get_gid() == "difference")
    assert np.ptp(difference) == pytest.approx(1.12, abs=5e-3)
    one_bar = critical_difference(*DEMSAR, alpha=0.05)
    np.testing.assert_allclose(drawn_bars(one_bar), [(1.964, 3.143)], atol=0.05)


def test_the_old_name():
    with pytest.warns(FutureWarning, match="^critical_difference_diagram is now called"):
        ax = plotting.critical_difference_diagram(*DEMSAR, alpha=0.1)
    assert drawn_bars(ax) == drawn_bars(critical_difference(*DEMSAR, alpha=0.1))
    assert "critical_difference_diagram" not in plotting.__all__


@pytest.mark.parametrize("k", [2, 3, 6, 9])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("test", [nemenyi_test, holm_test])
def test_bars_join_the_maximal_sets_of_methods_that_do_not_differ(k, seed, test):
    rng = np.random.default_rng(seed)
    ranks = average_ranks(rng.normal(size=(15, k)) + rng.permutation(k) / 2)
    p_values = test(ranks, 15)
    given = None if test is nemenyi_test else p_values
    names = [f"m{i}" for i in range(k)]
    bars = drawn_bars(critical_difference(ranks, names, 15, p_values=given))
    expected = cliques(ranks, p_values, 0.05)
    assert len(bars) == len(expected)
    if bars:
        np.testing.assert_allclose(bars, expected, atol=0.02 * k)


@pytest.mark.parametrize("k", [2, 5, 14])
def test_names_and_numbers_do_not_overlap_and_stay_in_the_figure(k):
    rng = np.random.default_rng(k)
    ranks = average_ranks(rng.normal(size=(20, k)) + np.arange(k) / 4)
    names = [f"a method with a long name {i}" if i % 3 else f"LMNN {i}" for i in range(k)]
    ax = critical_difference(ranks, names, 20)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not [1 for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)]
    inside = ax.figure.bbox
    assert all(inside.contains(*corner) for box in boxes for corner in (box.p0, box.p1))
    assert {text.get_text() for text in ax.texts} >= set(names)


def test_bars_at_the_same_height_do_not_touch():
    ranks = [1.0, 1.5, 2.4, 2.9, 4.0, 5.2, 5.6, 7.0, 7.4]
    ax = critical_difference(ranks, list("abcdefghi"), 60)
    bars = [line for line in ax.lines if line.get_gid() == "bar"]
    assert len(bars) > 3
    for one, other in itertools.combinations(bars, 2):
        if one.get_ydata()[0] == other.get_ydata()[0]:
            first, second = sorted((one.get_xdata(), other.get_xdata()), key=min)
            assert max(first) < min(second)


def test_given_axes_are_used_and_settings_stay():
    before = dict(plt.rcParams)
    _, ax = plt.subplots()
    assert critical_difference(*DEMSAR, ax=ax) is ax
    assert dict(plt.rcParams) == before


def test_other_p_values_show_no_critical_difference():
    ranks, _, n_datasets = DEMSAR
    ax = critical_difference(*DEMSAR, p_values=holm_test(ranks, n_datasets))
    assert not [line for line in ax.lines if line.get_gid() == "difference"]


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "likewise\[plot\]"'):
        critical_difference(*DEMSAR)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"names": ["a"]}, "names has 1 entries, but there are 4 ranks"),
        ({"alpha": 0}, "alpha=0 is not allowed"),
        ({"n_datasets": 1}, "n_datasets=1 is not allowed"),
        ({"ranks": [1, 2, 3, 9]}, "average rank of each method"),
        ({"p_values": np.ones((2, 2))}, r"p_values has shape \(2, 2\)"),
        ({"p_values": holm_test(DEMSAR[0], 14, control=0)}, "a number for every pair"),
    ],
)
def test_bad_input(changes, sentence):
    arguments = dict(zip(("ranks", "names", "n_datasets"), DEMSAR, strict=True))
    with pytest.raises(ValueError, match=sentence):
        critical_difference(**arguments | changes)
