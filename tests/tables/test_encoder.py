"""TableEncoder: against scikit-learn's own encoders, and what it does with odd tables."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import likewise as lw
from likewise.datasets import read_columns
from likewise.tables import TableEncoder
from likewise.testing import parametrize_with_contract

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(3, 2, 40),
        "colour": RNG.choice(["red", "blue", "grün"], 40),
        "count": RNG.integers(0, 5, 40),
        "flag": RNG.random(40) < 0.5,
        "kind": RNG.choice(["x", "y"], 40),
    }
)
GAPS = FRAME.assign(size=FRAME["size"].where(RNG.random(40) < 0.8))
WORDS = ["colour", "kind"]


def reference(*, impute=False, standardize=True):
    """The same by scikit-learn, with the columns in the order of the table."""
    numbers = SimpleImputer(strategy="median") if impute else "passthrough"
    words = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    steps = make_column_transformer(
        (numbers, ["size"]), (words, ["colour"]), (numbers, ["count", "flag"]), (words, ["kind"])
    )
    return make_pipeline(steps, StandardScaler()) if standardize else steps


@parametrize_with_contract([TableEncoder()])
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("impute", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_against_scikit_learn(impute, standardize):
    frame = GAPS if impute else FRAME
    encoder = TableEncoder(True, impute, standardize)
    expected = reference(impute=impute, standardize=standardize).fit_transform(frame)
    expected = expected.astype(np.float64)
    np.testing.assert_allclose(encoder.fit_transform(frame), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(encoder.transform(frame), expected, rtol=1e-12, atol=1e-12)
    names = ["size", "colour=blue", "colour=grün", "colour=red", "count", "flag"]
    assert encoder.get_feature_names_out().tolist() == [*names, "kind=x", "kind=y"]


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        pl.from_pandas,
        lambda frame: {name: frame[name].tolist() for name in frame},
        lambda frame: frame.convert_dtypes(),
        lambda frame: frame.astype({"colour": "category"}),
        lambda frame: frame.astype(object),
        lambda frame: frame[frame.columns[::-1]].assign(more="text"),
    ],
    ids=["pandas", "polars", "mapping", "nullable", "categories", "objects", "another order"],
)
def test_kinds_of_tables(convert):
    encoder = TableEncoder(encode=True, impute=True).fit(GAPS)
    np.testing.assert_array_equal(encoder.transform(convert(GAPS)), encoder.transform(GAPS))


def test_a_file(tmp_path):
    GAPS.to_csv(tmp_path / "table.csv", index=False, sep=";", encoding="utf-16")
    raw = read_columns(tmp_path / "table.csv")
    frame = TableEncoder(True, True).fit_transform(GAPS.assign(flag=GAPS.flag.astype(float)))
    np.testing.assert_allclose(TableEncoder(True, True).fit_transform(raw), frame, rtol=1e-12)


def test_single_precision_is_kept():
    frame = FRAME[["size", "kind"]].astype({"size": np.float32})
    assert TableEncoder(encode=True).fit_transform(frame).dtype == np.float32
    assert TableEncoder(encode=True).fit_transform(FRAME).dtype == np.float64


def test_words_that_were_not_there_count_as_none():
    encoder = TableEncoder(encode=True, standardize=False).fit(FRAME)
    new = FRAME[:2].assign(colour=["violet", "red"])
    with pytest.warns(UserWarning, match="column 'colour' of X has 1 row with words .*'violet'"):
        found = encoder.transform(new)
    assert found[:, 1:4].tolist() == [[0, 0, 0], [0, 0, 1]]


def test_words_that_are_numbers_in_another_table():
    encoder = TableEncoder(encode=True, standardize=False).fit({"grade": ["1", "2", "a"]})
    assert encoder.transform({"grade": [2.0]}).tolist() == [[0, 1, 0]]


def test_an_empty_cell_of_a_word_counts_as_none():
    encoder = TableEncoder(encode=True, impute=True, standardize=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encoder.fit_transform({"a": ["x", None, "y", ""]}).tolist() == [
            [1, 0],
            [0, 0],
            [0, 1],
            [0, 0],
        ]


def test_new_gaps_become_the_median_that_was_learned():
    encoder = TableEncoder(impute=True, standardize=False).fit({"a": [1.0, 2.0, 10.0, None]})
    assert encoder.transform({"a": [None, 5.0]}).tolist() == [[2], [5]]


def test_dates_are_words():
    days = [datetime.date(2020, 1, 1), None, datetime.date(2021, 1, 1)]
    for column in (days, pd.to_datetime(pd.Series(days)), np.array(days, dtype="datetime64[D]")):
        encoder = TableEncoder(encode=True, impute=True).fit({"day": column})
        assert encoder.categories_[0].tolist()[0].startswith("2020-01-01")
        assert len(encoder.categories_[0]) == 2


@pytest.mark.parametrize(
    ("options", "table", "sentence"),
    [
        (
            {},
            FRAME,
            r"columns 'colour' and 'kind' of X must hold numbers, found '\w+' in row 1; "
            r"encode=True \(--encode\) .* \(--drop, or --id for names of the rows\)",
        ),
        ({}, {"a": [1, 2], "b": ["1", "x"]}, "column 'b' of X must hold numbers, found 'x' in row"),
        (
            {},
            {"a": [1, None], "b": [np.nan, 3], "c": [1, 2]},
            r"columns 'a' and 'b' of X have 2 empty cells or NaN, the first in row 2; impute=True",
        ),
        ({"encode": True}, {"a": ["x", None]}, "column 'a' of X has 1 empty cell or NaN"),
        ({"impute": True}, {"a": [1, np.inf]}, "column 'a' of X contains infinity in row 2"),
        ({"impute": True}, {"a": [None, None]}, "column 'a' of X has no value at all"),
        (
            {"encode": True, "max_categories": 2},
            {"a": ["x", "y", "z"]},
            r"column 'a' of X has 3 different words \('x', 'y', 'z'\), but at most "
            "max_categories=2",
        ),
        (
            {"encode": True, "max_categories": 2},
            {"a": ["x", "y", "z", "z"], "b": ["x", "x", "y", "y"], "c": list("klmn")},
            r"columns 'a' and 'c' of X have 3 and 4 different words \('x', 'y', 'z'\), but at most "
            r"max_categories=2 are encoded: .* \(--id\), .* \(--drop, or --text",
        ),
        ({}, {}, r"0 feature\(s\)"),
        ({}, {"a": []}, r"0 sample\(s\)"),
        ({}, {"a": [1], "b": [1, 2]}, "columns of different lengths"),
        ({}, pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns called 'a'"),
        ({}, [[1, 2], [3]], "rows of different lengths"),
        ({}, {"a": [1e200, 1.0]}, "values up to 1e\\+200"),
        ({"encode": 1}, {"a": [1]}, "encode=1 is not allowed"),
        ({"max_categories": 1}, {"a": [1]}, "max_categories=1 is not allowed"),
    ],
)
def test_bad_tables(options, table, sentence):
    with pytest.raises(ValueError, match=sentence) as raised:
        TableEncoder(**options).fit(table)
    assert "\n" not in str(raised.value)


def test_bad_tables_after_fitting():
    encoder = TableEncoder(encode=True).fit(FRAME)
    with pytest.raises(ValueError, match="has no column 'colour' and no 'kind', which the model"):
        encoder.transform(FRAME[["size", "count", "flag"]])
    with pytest.raises(ValueError, match=r"'size' of X must hold numbers, as when .* found 'big'"):
        encoder.transform(FRAME[:1].assign(size="big"))
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 5"):
        encoder.transform(np.zeros((1, 2)))
    with pytest.raises(TypeError, match="must be a string or a number, found"):
        encoder.transform(FRAME[:1].assign(kind=[[1, 2]]))


AGES = [str(20 + row % 50) for row in range(300)]


@pytest.mark.parametrize("encode", [False, True])
@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([*AGES[:7], "?", *AGES[8:]], r"numbers in 299 of 300 cells, but '\?' in row 8 is none: c"),
        ([*AGES[:7], "?", *AGES[8:-1], None], r"numbers in 298 of 299 cells, but '\?' in row 8"),
        (
            [*AGES[:-9], *["n/a"] * 9],
            "291 of 300 cells, but 9 are none, the first of them 'n/a' in",
        ),
        ([*"12345" * 20, "?"], r"numbers in 100 of 101 cells, but '\?' in row 101"),
        ([*"12345" * 20, "NA"], "numbers in 100 of 101 cells, but 'NA' in row 101"),
        ([f"22,{row:03}" for row in range(300)], "sign or separator, such as '22,000' in row 1:"),
        ([f"{row / 100}%" for row in range(300)], "sign or separator, such as '0.0%' in row 1:"),
        ([f"${row / 100:.2f}" for row in range(300)], r"separator, such as '\$0.00' in row 1:"),
        ([f"{row / 100} €" for row in range(300)], "separator, such as '0.0 €' in row 1:"),
        ([f"{row / 100}".replace(".", ",") for row in range(300)], "such as '0,0' in row 1:"),
        ([*AGES, "1'234.50"], r"""such as "1'234.50" in row 301: write"""),
    ],
)
def test_columns_that_should_be_numbers(encode, cells, sentence):
    """One stray cell would make a column of 0 and 1 of each number."""
    encoder = TableEncoder(encode, impute=True, max_categories=500)
    with pytest.raises(ValueError, match=sentence) as raised:
        encoder.fit({"age": cells, "colour": ["red"] * len(cells)})
    assert str(raised.value).startswith("column 'age' of X ")
    assert str(raised.value).endswith(", or leave out the column (--drop).")


@pytest.mark.parametrize(
    "cells",
    [
        [*"12345" * 20, "6B"],
        [*"123456789", "x"],
        ["1990-01-01", "1990-01-02"] * 10,
        ["1.2.3", "1.2.4"] * 10,
        [*AGES, *["unknown"] * 40],
    ],
    ids=lambda cells: cells[-1],
)
def test_codes_dates_and_words_are_no_numbers(cells):
    encoder = TableEncoder(encode=True).fit({"code": cells})
    assert len(encoder.get_feature_names_out()) == len(set(cells))


def test_an_error_leaves_the_encoder_as_it_was():
    encoder = TableEncoder().fit({"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match="must hold numbers"):
        encoder.fit({"b": ["x"]})
    assert encoder.feature_names_in_.tolist() == ["a"]


def test_files(tmp_path):
    encoder = TableEncoder(True, True).fit(GAPS)
    encoder.save(tmp_path / "encoder.safetensors")
    loaded = lw.load(tmp_path / "encoder.safetensors")
    np.testing.assert_array_equal(loaded.transform(GAPS), encoder.transform(GAPS))
    assert loaded.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
