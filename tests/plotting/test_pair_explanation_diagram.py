"""The diagram of a pair: the bars are the contributions, and labels can be read."""

import itertools
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.plotting import pair_explanation_diagram


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def explained(n_features=14, share=0.9):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        rng.normal(size=(60, n_features)), columns=[f"measurement {i}" for i in range(n_features)]
    )
    model = lw.Whitening().fit(table)
    rows = table.iloc[0], table.iloc[1]
    threshold = None if share is None else share * model.explain_pair(*rows).distance
    return model.explain_pair(*rows, threshold=threshold)


@pytest.mark.parametrize("shown", [1, 5, 14, 20])
def test_bars_are_the_contributions_in_order(shown):
    found = explained()
    ax = pair_explanation_diagram(found, n_features=shown)
    order = found.largest_features(shown)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths[: len(order)], found.feature_contributions[order])
    assert sum(widths) == pytest.approx(found.squared_distance)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == found.feature_names[order[0]]
    assert (f"{14 - shown} other feature" in names[-1]) == (shown < 14)
    colours = {bar.get_width() < 0: bar.get_facecolor() for bar in ax.patches}
    if len(colours) == 2:
        assert colours[True] != colours[False]
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the largest is at the top"


@pytest.mark.parametrize("share", [0.9, 1.2])
def test_factors_stand_beside_their_bars_and_do_not_overlap(share):
    found = explained(share=share)
    ax = pair_explanation_diagram(found)
    ax.figure.canvas.draw()
    shown = found.factors[found.largest_features()]
    assert [text.get_text() for text in ax.texts] == [
        f"× {factor:.3g}".replace("-", "−") for factor in shown if not np.isnan(factor)
    ]
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not [1 for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)]
    inside = ax.get_window_extent()
    assert all(inside.contains(*corner) for box in boxes for corner in (box.p0, box.p1))
    assert ax.get_title() == found.summary


def test_without_a_threshold_there_are_no_factors():
    ax = pair_explanation_diagram(explained(share=None))
    assert not ax.texts
    assert "threshold" not in ax.get_title()


def test_given_axes_are_used_and_settings_stay():
    before = dict(plt.rcParams)
    _, ax = plt.subplots()
    assert pair_explanation_diagram(explained(), ax=ax) is ax
    assert dict(plt.rcParams) == before


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    found = explained()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "likewise\[plot\]"'):
        pair_explanation_diagram(found)


def test_bad_input():
    with pytest.raises(ValueError, match="n_features=0 is not allowed"):
        pair_explanation_diagram(explained(), n_features=0)
    with pytest.raises(ValueError, match="explanation is a float, but what explain_pair returns"):
        pair_explanation_diagram(1.0)
