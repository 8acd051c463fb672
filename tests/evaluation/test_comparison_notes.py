"""What a comparison says of odd data: leaking columns, classes that cannot be tested, labels."""

import warnings

import numpy as np
import pandas as pd
import pytest

from likewise.batch import Euclidean
from likewise.constraints import random_pairs
from likewise.datasets import load
from likewise.evaluation import compare, compare_pairs

WINE = load("wine")


def test_columns_that_give_the_class_are_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(WINE.X).assign(stock=WINE.y + 0.01 * rng.random(178), fixed=1.0)
    names = [*"abcdefghijklm", "code", "fixed"]
    for X, given, name in ((frame, None, "stock"), (frame.to_numpy(), names, "code")):
        result = compare(X, WINE.y, ["Euclidean"], n_repeats=1, feature_names=given)
        assert result.leaking_columns == (name,)
        assert f"Column {name} alone tells all 3 classes apart without an error" in str(result)
        assert "(--drop on the command line; not in X in Python)" in str(result)
    frame.loc[7, "stock"] = 2.0
    assert compare(frame, WINE.y, ["Euclidean"], n_repeats=1).leaking_columns == ()
    many = np.tile(WINE.X, (4, 1)), np.tile(WINE.y, 4)  # more rows than are sorted first
    assert compare(*many, ["Euclidean"], n_repeats=1).leaking_columns == ()


@pytest.mark.parametrize(
    ("warned", "named"),
    [
        ("constant: column 1. Remove", "constant: column b. Remove"),
        ("constant: columns 0, 2. Remove", "constant: columns a, c. Remove"),
        ("columns 0, 1, 2 more", "columns a, b, 2 more"),
        ("column 12 is odd", "column 12 is odd"),
        ("columns 1 (0.5), 2 (0.1)", "columns 1 (0.5), 2 (0.1)"),
    ],
)
def test_warnings_name_columns(warned, named):
    class Numbering(Euclidean):
        def fit(self, X, y=None):
            warnings.warn(warned, UserWarning, stacklevel=2)
            return super().fit(X, y)

    X, methods = WINE.X[:, :3], {"mine": Numbering()}
    for names, expected in ((None, warned), (["a", "b", "c"], named)):
        result = compare(X, WINE.y, methods, n_repeats=1, feature_names=names)
        assert result.rows[0].warned == expected
        index, same = random_pairs(WINE.y, 200, random_state=0)
        result = compare_pairs(X, index, same, methods, n_repeats=1, feature_names=names)
        assert result.rows[-1].warned == expected


def test_only_one_class_that_can_be_tested_is_an_error():
    X = np.random.default_rng(0).normal(size=(40, 3))
    once = np.array(["x"] * 39 + ["y"])
    with pytest.raises(
        ValueError, match=r"^only class 'x' of y can be tested, .* \('y'\) occurs on"
    ):
        compare(X, once, ["Euclidean", "RCA"])
    groups = np.arange(40) // 2
    grouped = np.array(["x"] * 38 + ["y"] * 2)
    with pytest.raises(ValueError, match=r"\('y'\) occurs in one group only, but at least two"):
        compare(X, grouped, ["Euclidean", "RCA"], groups=groups)
    twice = compare(X, grouped, ["Euclidean"], n_repeats=1)
    assert (twice.n_untested, twice.largest_class) == (0, ("x", 38))
    note = "38 of 40 tested rows are of class x: always to answer x has an error of 5.00%."
    assert note in twice.notes
    assert not any("tested rows" in note for note in compare(WINE.X, WINE.y, ["Euclidean"]).notes)


def test_labels_that_differ_by_spaces_or_case_are_named():
    labels = np.array(["Acme", "Acme ", "Bolt"])[WINE.y]
    labels[0] = labels[1] = " acme"
    result = compare(WINE.X, labels, ["Euclidean"], n_repeats=1)
    assert result.similar_labels == ((" acme", "Acme", "Acme "),)
    assert "differ by spaces or case only (' acme', 'Acme', 'Acme ')" in str(result)
    assert compare(WINE.X, WINE.y, ["Euclidean"], n_repeats=1).similar_labels == ()
