"""What is shown of a pair: which differences are marked, and what is said of those that are not."""

import numpy as np
import pytest
from fastapi.testclient import TestClient
from running_service import TOKENS

from likewise.live import Engine, Items, create_app
from likewise.live.differences import mark_differences, shown_pair
from likewise.live.items import MAX_SHOWN


def test_of_what_differs_the_first_1500_words_are_compared():
    left, right = "a " * 5000, "a " * 5000 + "b"
    parts = mark_differences(left, right)
    assert "".join(part["text"] for part in parts[1]) == right
    assert [part["text"] for part in parts[1] if part["differs"]] == ["b"]
    words = [f"w{number}" for number in range(1600)]
    for place, marked in ((1490, True), (1510, False)):
        others = ["first", *words[1:place], "other", *words[place + 1 :], "last"]
        parts = mark_differences(" ".join(words), " ".join(others))[1]
        assert any("other" in part["text"] and part["differs"] for part in parts) == marked


def test_what_is_not_shown_or_not_compared_is_noted():
    def notes(left, right):
        items = Items([[0.0], [1.0]], kind="text", columns={"text": [left, right]})
        pair = shown_pair(items, "0", "1")
        return [pair[side].get("notes", []) for side in ("left", "right")]

    shown, other = "x" * MAX_SHOWN, "y" + "x" * (MAX_SHOWN - 1)
    cut = "Only the first 20,000 of 20,001 characters are shown; the rest"
    assert notes(shown, shown) == [[], []]
    assert notes(shown + "a", shown + "b") == [[f"{cut} differs."]] * 2
    assert notes(shown + "a", "short") == [[f"{cut} is not compared."], []]
    assert notes(shown + "a", other + "a") == [[f"{cut} is the same in both."]] * 2
    long = " ".join(f"w{number}" for number in range(1600))
    not_compared = (
        "Only 1500 words from the first difference on are compared: later ones that are not marked "
        "may differ, too."
    )
    assert notes(f"a {long} b", f"c {long} d") == [[not_compared]] * 2
    assert notes(f"a {long} b", f"c {long} b") == [[], []]


@pytest.mark.parametrize(
    ("n_columns", "differing", "note"),
    [
        (60, [59], None),
        (70, [69], "10 of 70 columns are not shown; none of them differs."),
        (128, range(5, 128), "68 of 128 columns are not shown; 63 of them differ."),
        (61, range(61), "1 of 61 columns is not shown; 1 of them differs."),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_cells_that_differ_come_before_those_that_are_not_shown(n_columns, differing, note, named):
    X = np.zeros((2, n_columns))
    X[1, list(differing)] = 1
    columns = {str(i): X[:, i].tolist() for i in range(n_columns)} if named else {}
    sides = shown_pair(Items(X, columns=columns), "0", "1")
    for side in (sides["left"], sides["right"]):
        cells = side["cells"]
        assert len(cells) == 60
        assert sum(cell["differs"] for cell in cells) == min(60, len(differing))
        assert side.get("notes") == (None if note is None else [note])
        if n_columns > 60:
            assert [cell["differs"] for cell in cells] == sorted(
                (cell["differs"] for cell in cells), reverse=True
            )
        else:
            assert [int(cell["name"]) for cell in cells] == list(range(60))


def test_long_cells_are_noted():
    long = "x" * MAX_SHOWN
    items = Items([[0.0], [1.0]], columns={"t": [long + "a", long + "b"], "s": ["", "y"]})
    (note,) = shown_pair(items, "0", "1")["right"]["notes"]
    assert note == "Only the first 20,000 of 20,001 characters of t are shown; the rest differs."


def test_notes_are_in_the_answer_of_the_service(tmp_path):
    with Engine(
        Items(np.eye(2, 70)), str(tmp_path / "log.sqlite"), annotators=list(TOKENS)
    ) as engine:
        app = create_app(engine, TOKENS, hosts={"127.0.0.1:8765"})
        with TestClient(app, base_url="http://127.0.0.1:8765") as client:
            client.headers["Authorization"] = f"Bearer {TOKENS['ann']}"
            pair = client.get("/next").json()
    for side in (pair["left"], pair["right"]):
        assert side["notes"] == ["10 of 70 columns are not shown; none of them differs."]
        assert side["cells"][0] == {"name": "0", "text": side["cells"][0]["text"], "differs": True}
