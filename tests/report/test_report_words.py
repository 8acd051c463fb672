"""How a report calls rows, features and classes, and how sure it is of few held-out rows."""

import json
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from report_cases import WINE, summary_of
from scipy.stats import binomtest

import likewise as lw
from likewise.report import render, summarise
from likewise.report._figures import (
    _draw_learning,
    embedding_figures,
    features_figure,
    learning_figure,
)
from likewise.report._findings import findings
from likewise.report._held_out import split_rows
from likewise.report._held_out_errors import held_out_errors, within_chance
from likewise.report._names import short_names

QUICK = {"methods": ["Euclidean", "RCA"], "n_repeats": 1}


def test_ids_stand_in_place_of_row_numbers():
    ids = [f"S{row:04}" for row in range(178)]
    found = summarise(WINE.X, WINE.y, ids=ids, **QUICK)
    assert found["embedding"]["ids"] == [ids[row] for row in found["embedding"]["rows"]]
    changed = found["neighbors"]["gained"] + found["neighbors"]["lost"]
    assert changed
    for one in changed:
        assert all(item["id"] == ids[item["row"]] for item in [one["item"], *one["after"]])
    page = render(found)
    assert f'<span class="muted">{changed[0]["item"]["id"]}</span>' in page
    assert '<span class="muted">row ' not in page
    assert "<td>S0" in page
    assert '<th scope="col">id</th>' in page
    assert f">class {changed[0]['item']['label']}</span>" in page
    with pytest.raises(ValueError, match="ids has 2 entries, but there must be one for each"):
        summarise(WINE.X, WINE.y, ids=[1, 2], **QUICK)


def test_a_summary_of_an_older_version_has_a_page():
    old = json.loads(json.dumps(summary_of("labels")))
    old["errors"] = {when: old["errors"][when] for when in ("before", "after")}
    del old["embedding"]["ids"]
    for one in old["neighbors"]["gained"] + old["neighbors"]["lost"]:
        for item in [one["item"], *one["before"], *one["after"]]:
            del item["id"]
    assert '<span class="muted">row ' in render(old)


def test_errors_of_few_held_out_rows_come_with_intervals():
    before, after = np.arange(60) < 13, (np.arange(60) >= 5) & (np.arange(60) < 20)
    errors = held_out_errors(before, after, None)
    exact = binomtest(13, 60).proportion_ci(0.95)
    assert errors["before_interval"] == pytest.approx((exact.low, exact.high))
    assert errors["p_value"] == pytest.approx(binomtest(5, 12).pvalue)
    assert within_chance(errors)
    worse = held_out_errors(before, np.arange(60) < 40, None)
    assert not within_chance(worse)
    none = held_out_errors(before & False, before | True, np.zeros(60, dtype=int))
    assert (none["before_interval"][0], none["after_interval"][1]) == (0, 1)
    assert within_chance(none), "of one group nothing is known"
    grouped = held_out_errors(before, after, np.arange(60) // 2)
    assert grouped["before_interval"][1] > errors["before_interval"][1]


def test_a_difference_within_chance_is_no_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), np.arange(150) % 2
    found = summarise(X, y, **QUICK)
    found["errors"] = held_out_errors(np.arange(60) < 13, np.arange(60) < 15, None)
    page = render(found)
    assert "Euclidean → RCA; 95% intervals 12–34% and 15–38%: may be chance</span>" in page
    said = "which on so few rows may be chance: the answer rests on all rows"
    assert said in page
    found["errors"] = held_out_errors(np.arange(60) < 13, np.arange(60) < 40, None)
    page = render(found)
    assert said not in page
    assert "may be chance" not in page
    for change, warned in ((15, False), (40, True)):
        errors = held_out_errors(np.arange(60) < 13, np.arange(60) < change, None)
        metric = lw.Euclidean().fit(X)
        held = split_rows(X, y, np.arange(2), None, standardize=True, random_state=0)
        kinds = [
            one["kind"]
            for one in findings(held, X, ["a", "b", "c"], "RCA", metric, None, errors, 3)
        ]
        assert ("worse" in kinds) == warned


@pytest.mark.parametrize(
    ("outcome", "recommended", "tag"),
    [
        ("use", "RCA", "A METRIC TO USE"),
        ("use", "Euclidean", "EUCLIDEAN IS BEST"),
        ("no difference", "Euclidean", "NO DIFFERENCE THAT MATTERS"),
        ("undecided", None, "TOO CLOSE TO CALL"),
    ],
)
def test_the_tag_says_what_the_answer_does(outcome, recommended, tag):
    answer = {"outcome": outcome, "recommended": recommended, "sentence": "It is so."}
    page = render(summary_of("pairs") | {"answer": answer})
    assert f'<span class="tag">{tag}</span>It is so.' in page


def test_where_learning_hurts_the_report_says_so():
    X = np.c_[WINE.X, WINE.y]  # constant within classes: RCA gives it no weight
    X[:, :13] = np.random.default_rng(0).normal(size=(178, 13))
    X[:, 13] *= 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = summarise(X, WINE.y, standardize=False, **QUICK)
    assert (found["answer"]["outcome"], found["answer"]["recommended"]) == ("use", "Euclidean")
    assert found["shown"]["name"] == "RCA"
    assert "EUCLIDEAN IS BEST" in render(found)


def test_long_names_stay_different_in_figures():
    features = [f"a rather long column name of number {i}" for i in range(30)]
    assert len(set(short_names(features))) == 30
    assert max(map(len, short_names(features))) <= 24
    middle = [f"{'a' * 40}{i}{'b' * 40}" for i in range(120)]
    assert len(set(short_names(middle))) == 120
    assert max(map(len, short_names(middle))) <= 24
    assert short_names(["short", "short", "b"]) == ["short", "short", "b"]
    drawn = draw_names(features_figure({"shares": np.ones(30) / 30, "names": features}))
    assert len({text for text in drawn if "…" in text}) == 20
    labels = np.array([f"the class of things with the number {i}" for i in range(3)])[WINE.y]
    legend = draw_names(embedding_figures(summarise(WINE.X, labels, **QUICK)["embedding"])[0])
    assert len({text for text in legend if "…" in text}) == 3


def draw_names(figure):
    return re.findall(r"<text[^>]*>([^<]*)</text>", str(figure.svg))


def test_the_learning_curve_has_a_band_where_draws_differ():
    found = {
        "sizes": [10, 20, 40],
        "errors": {
            "Euclidean": [[0.5, 0.3], [0.4, 0.2], [0.2]],
            "RCA": [[0.4, 0.1], [0.2, 0.1], [0.1]],
        },
        "unit": "training rows",
        "measure": "3-NN test error",
        "n_draws": 2,
        "n_tested": 60,
    }
    _, ax = plt.subplots()
    means = {"Euclidean": [0.4, 0.3, 0.2], "RCA": [0.25, 0.15, 0.1]}
    _draw_learning(ax, found, means)
    assert [line.get_xdata().max() for line in ax.lines] == [40, 40]
    bands = [band.get_paths()[0].vertices for band in ax.collections]
    assert [band[:, 0].max() for band in bands] == [20, 20]
    assert ax.get_ylim()[1] > 0.5
    assert [band[:, 1].max() for band in bands] == pytest.approx([0.4, 0.5])
    plt.close()
    figure = learning_figure(found)
    assert figure.table.rows[0] == ["10", "40.00% ± 10.00%", "25.00% ± 15.00%"]
    assert figure.table.rows[-1] == ["40", "20.00%", "10.00%"]
    assert "standard deviation (the band) of 2 draws of each smaller size" in figure.caption
    found["errors"] = {"RCA": [[0.4], [0.2], [0.1]]}
    assert learning_figure(found | {"n_draws": 1}).table.rows[0] == ["10", "40.00%"]
