"""Text of users in messages is short and printable."""

import numpy as np
import pytest

import likewise as lw
from likewise._runtime.text import list_some, printable, quote, quote_path, reason
from likewise.evaluation import compare
from likewise.online import AROW

# ESC, BEL, the C1 control that begins a sequence as ESC [ does, a bidi override, a line separator.
CONTROLS = "\x1b[31m \x07 \x9b2J \u202e \u2028 \r"
BOOK = "x" * 300_000


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        (np.int64(3), "3"),
        (np.str_("a"), "'a'"),
        ("b", "'b'"),
        (np.True_, "True"),
        (2.5, "2.5"),
        (None, "None"),
        (["a\n"], r"['a\n']"),
        ("\x1b[31m\x9b\u202e", r"'\x1b[31m\x9b\u202e'"),
        ("Müller 東京", "'Müller 東京'"),
    ],
)
def test_quotes(value, quoted):
    assert quote(value) == quoted


def test_long_text_is_cut():
    assert quote(BOOK) == f"'{'x' * 40}'…'{'x' * 20}' (300000 characters)"
    assert quote("x" * 80) == f"'{'x' * 80}'"
    assert len(quote(np.arange(1000))) < 200
    assert len(quote({"a": BOOK})) < 200
    assert quote_path("folder/" + BOOK + ".csv").endswith(".csv' (300011 characters)")
    assert len(reason(ValueError(BOOK))) < 300
    assert reason(ValueError("first\nsecond")) == "first"
    assert reason(KeyError()) == "KeyError"
    assert len(list_some([BOOK] * 20)) < 1500


def test_what_cannot_be_seen_is_escaped():
    assert printable(CONTROLS) == r"\x1b[31m \x07 \x9b2J \u202e \u2028 \r"
    assert printable("Müller 東京 …") == "Müller 東京 …"
    assert printable("\udcff") == r"\udcff"
    assert list_some(["a", "\x1b"], 1) == "a, … (2 in all)"
    assert list_some(["a", "\x1b"]) == r"a, \x1b"


X = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize("text", [CONTROLS, BOOK], ids=["controls", "long"])
@pytest.mark.parametrize(
    "call",
    [
        lambda text: lw.RCA().fit(X, [text] * 6),
        lambda text: lw.RCA().fit([[text, 1]] * 6, [0, 1] * 3),
        lambda text: lw.RCA().fit(text, [0, 1] * 3),
        lambda text: lw.LMNN(n_neighbors=text).fit(X, [0, 1] * 3),
        lambda text: lw.LMNN(n_neighbors=[text]).fit(X, [0, 1] * 3),
        lambda text: lw.LMNN(n_neighbors=6).fit(X, [text, text, text, "a", "a", "a"]),
        lambda text: lw.MetricKNN(metric=text).fit(X, [0, 1] * 3),
        lambda text: AROW().partial_fit(X, [text] * 6),
        lambda text: AROW().partial_fit(X, ["a"] * 6, classes=[text, "b"]),
        lambda text: lw.RCA().fit_pairs(X, [[0, 1]], [text]),
        lambda text: compare(X, [text] * 6),
        lambda text: compare(X, [0, 1] * 3, [text]),
        lambda text: compare(X, [0, 1] * 3, text),
        lambda text: compare([[text, 1]] * 6, [0, 1] * 3),
        lambda text: lw.load(text),
        lambda text: lw.datasets.load(text),
        lambda text: lw.datasets.read_table(f"{text}.csv"),
        lambda text: lw.datasets.read_table(f"table.{text}"),
        lambda text: lw.RCA().fit(X, [0, 1] * 3).save(f"{text}/model"),
    ],
)
def test_errors_of_the_library(call, text):
    with pytest.raises((ValueError, OSError)) as caught:
        call(text)
    message = str(caught.value)
    assert message.isprintable(), message[:1000]
    assert len(message) < 1000


def test_warnings_of_the_library():
    y = [CONTROLS] * 2 + ["a"] * 4
    with pytest.warns(UserWarning, match="needs 4 rows in every class") as caught:
        lw.LMNN(n_neighbors=3).fit(np.random.default_rng(0).normal(size=(6, 2)), y)
    assert all(str(warning.message).isprintable() for warning in caught)
