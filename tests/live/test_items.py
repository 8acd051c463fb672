"""Items from tables, JSON lines, arrays and folders of images, and what is wrong with them."""

import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from likewise.live import Items, read_items
from likewise.live._images import content_type
from likewise.live.differences import shown_pair
from likewise.live.items import MAX_SHOWN

FRAME = pd.DataFrame({"id": ["a", "b", "c"], "name": ["x", "y", None], "size": [1.0, 2.0, None]})


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_tables(tmp_path, suffix):
    path = tmp_path / f"items{suffix}"
    match suffix:
        case ".csv":
            FRAME.to_csv(path, index=False)
        case ".tsv":
            FRAME.to_csv(path, index=False, sep="\t")
        case ".parquet":
            FRAME.to_parquet(path)
        case ".jsonl":
            FRAME.to_json(path, orient="records", lines=True)
    items = read_items(path)
    assert items.ids == ["a", "b", "c"]
    np.testing.assert_allclose(items.vectors, [[-1], [1], [0]])
    assert items.shown(2) == {"id": "c", "kind": "row", "cells": {"name": "", "size": ""}}
    assert items.row_of("b") == 1


def test_vectors_from_a_column_or_a_file(tmp_path):
    rows = [{"text": "tea", "v": [1, 2]}, {"text": "coffee", "v": [3, 4]}]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    items = read_items(path, vectors="v")
    assert items.vectors.tolist() == [[1, 2], [3, 4]]
    assert items.shown(1) == {"id": "1", "kind": "text", "text": "coffee", "length": 6}
    np.save(tmp_path / "v.npy", [[5.0], [6.0]])
    assert read_items(path, vectors=str(tmp_path / "v.npy")).vectors.tolist() == [[5], [6]]
    np.save(tmp_path / "w.npy", [[5.0], [6.0], [7.0]])
    with pytest.raises(ValueError, match=r"has 3 vectors, but .* has 2 items"):
        read_items(path, vectors=str(tmp_path / "w.npy"))
    with pytest.raises(ValueError, match=r"is neither a column of .* nor an .npy file"):
        read_items(path, vectors="w")
    with pytest.raises(ValueError, match="no numeric column that varies"):
        read_items(path)


def test_arrays(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(6).reshape(3, 2))
    items = read_items(tmp_path / "X.npy")
    assert items.shown(2)["cells"] == {"0": "4", "1": "5"}
    assert [items.id_of(row) for row in range(3)] == ["0", "1", "2"]
    for bad in ("3", "-1", "+1", "01", "１", "", "9" * 5000):
        with pytest.raises(KeyError):
            items.row_of(bad)


def test_a_text_of_ten_megabytes_is_shown_in_part():
    items = Items([[0.0], [1.0]], kind="text", columns={"text": ["x" * 10_000_000, "short"]})
    shown = items.shown(0)
    assert (len(shown["text"]), shown["length"]) == (MAX_SHOWN, 10_000_000)


def test_images_that_do_not_decode_are_left_out_and_named(tmp_path):
    for number in range(3):
        Image.new("RGB", (20, 10), (80 * number, 0, 0)).save(tmp_path / f"{number}.png")
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff nonsense")
    noise = np.random.default_rng(0).integers(256, size=(30, 30), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:400])
    (tmp_path / "notes.txt").write_text("not an image")
    items = read_items(tmp_path)
    assert items.ids == ["0.png", "1.png", "2.png"]
    assert items.vectors.shape == (3, 256)
    assert items.notices == ["2 images could not be decoded and are left out: broken.jpg, cut.png."]
    np.save(tmp_path / "v.npy", np.arange(10.0).reshape(5, 2))
    with_vectors = read_items(tmp_path, vectors=str(tmp_path / "v.npy"))
    assert with_vectors.vectors[:, 0].tolist() == [0, 2, 4]
    np.save(tmp_path / "w.npy", np.arange(6.0).reshape(3, 2))
    with pytest.raises(ValueError, match=r"has 3 vectors, but .* has 5 images"):
        read_items(tmp_path, vectors=str(tmp_path / "w.npy"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]],), "there is 1 item, but two are needed: an item alone has no counterpart"),
        (([1.0, 2.0],), "one vector per item is needed"),
        (([[1.0], [np.nan]],), "the vector of row 1 has NaN"),
        (([[1.0], [1e20]],), "the vector of row 1 has .* huge"),
        (([[1.0], [2.0]], ["a", "a"]), "1 id repeats another one, such as 'a', but ids"),
        (([[1.0], [2.0]], ["a"]), "there are 1 ids, but 2 vectors"),
        (([[1.0], [2.0]], ["a", "b\x00"]), "is not allowed: 1 to 512 characters"),
        (([[1.0], [2.0]], ["a", ""]), "the id '' is not allowed"),
    ],
)
def test_bad_items(arguments, message):
    with pytest.raises(ValueError, match=message):
        Items(*arguments)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"x": 1}\nnot json\n', "line 2 of .* is not JSON"),
        ("a.jsonl", "[1]\n", "line 1 of .* must be an object"),
        ("a.csv", "id,x\na,1\n,2\n", "column 'id' of .* has empty cells, the first in row 2"),
        ("a.jsonl", '{"x": 1}\n{"t": "\\ud800"}\n', r"line 2 of .* half of a char.*'.ud800'"),
        ("a.csv", "id,x\na,1\na,2\n", "1 id repeats another one"),
        ("a.csv", "id,x\na,1\na,2\na,3\n", "2 ids repeat another one"),
        ("a.csv", "id,x\na,1\n", "there is 1 item, but two are needed"),
        ("a.csv", "id,x\n", "there are 0 items, but two are needed"),
        ("a.jsonl", '{"x": "\xe9"}\n', "line 1 of .* is not UTF-8, but JSON lines must be"),
        ("a.xlsx", "", "must be a folder of images or end in"),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match=message):
        read_items(path)


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("one", "'one' in row 2"),
        ("[1, 2", "'.1, 2' in row 2"),
        ('{"a": 1}', "'{.*}' in row 2"),
        ("[1, null]", "'.1, null.' in row 2"),
        ("[1]", "1 number in row 2, but 2 in row 1"),
        (None, "an empty cell in row 2"),
    ],
)
def test_cells_that_are_no_vectors(tmp_path, cell, found):
    pd.DataFrame({"v": ["[1, 2]", cell], "x": 1}).to_csv(tmp_path / "a.csv", index=False)
    message = rf"column 'v' of .* must hold lists of equally many numbers, found {found}\."
    with pytest.raises(ValueError, match=message):
        read_items(tmp_path / "a.csv", vectors="v")


@pytest.mark.filterwarnings("error")
def test_cells_and_ids_of_a_text_table_are_as_written(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,zip,word,price,none\n007,01123,NA,1.50,\n7,01124,null,3,\nNA,0,None,,\n")
    items = read_items(path)
    assert items.ids == ["007", "7", "NA"]
    assert items.shown(0)["cells"] == {"zip": "01123", "word": "NA", "price": "1.50", "none": ""}
    assert [items.shown(row)["cells"]["word"] for row in (1, 2)] == ["null", "None"]
    np.testing.assert_allclose(items.vectors[:, 1], [-1, 1, 0])
    as_text = read_items(path, text_column="word", drop=["zip"])
    assert [as_text.shown(row)["text"] for row in range(3)] == ["NA", "null", "None"]
    assert as_text.vectors.shape == (3, 1)
    path.write_text("a,b;a;a\n1,5;02;x\n2,5;2;y\n")
    assert read_items(path).shown(0)["cells"] == {"a,b": "1,5", "a": "02", "a.1": "x"}


def test_a_column_may_be_id_and_text_and_vector(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('name,x,text\nAssam,1,"[1, 2]"\nCeylon,2,"[3, 4]"\n')
    items = read_items(path, id_column="name", text_column="name")
    assert (items.ids, items.shown(1)["text"]) == (["Assam", "Ceylon"], "Ceylon")
    items = read_items(path, vectors="text", text_column="text")
    assert (items.shown(0)["text"], items.vectors[1].tolist()) == ("[1, 2]", [3, 4])
    items = read_items(path, vectors="text")
    assert items.shown(0) == {"id": "0", "kind": "row", "cells": {"name": "Assam", "x": "1"}}
    for role in ("id_column", "text_column", "vectors"):
        with pytest.raises(ValueError, match=f"{role}='name' is not allowed: drop says to leave"):
            read_items(path, **{role: "name"}, drop=["name"])


@pytest.mark.parametrize(
    "name",
    [
        "Screenshot at 9.41\u202fAM.png",
        "a\xa0b",
        "می\u200cخواهم",
        "👩\u200d👩\u200d👧.png",
        "naïve",
        "\u200eא",
    ],
    ids=ascii,
)
def test_ids_may_have_any_spaces_and_joiners(name):
    assert Items([[0.0], [1.0]], ["a", name]).row_of(name) == 1


@pytest.mark.parametrize(
    "bad", ["\n", "\x1b", "\x7f", "\x85", "\u2028", "\u202e", "\u2066", "\ud800"]
)
def test_ids_without_control_characters(bad):
    with pytest.raises(ValueError, match="is not allowed: 1 to 512 characters are needed, without"):
        Items([[0.0], [1.0]], ["a", f"b{bad}c"])


def test_images_are_turned_as_browsers_show_them(tmp_path):
    pixels = np.zeros((20, 40), dtype=np.uint8)
    pixels[:, 20:] = 255
    image, exif = Image.fromarray(pixels), Image.Exif()
    image.rotate(90, expand=True).save(tmp_path / "a.png")
    exif[0x0112] = 8  # to be turned by 90° to the left
    image.save(tmp_path / "b.png", exif=exif)
    items = read_items(tmp_path)
    np.testing.assert_array_equal(*items.vectors)


@pytest.mark.parametrize("n_good", [0, 1])
def test_a_folder_of_broken_images(tmp_path, n_good):
    for number in range(n_good):
        Image.new("L", (9, 9)).save(tmp_path / f"{number}.png")
    (tmp_path / "x.jpg").write_bytes(b"nonsense")
    message = rf"1 image of {n_good + 1} in .* could not be decoded \(x\.jpg\), but two that can"
    with pytest.raises(ValueError, match=message):
        read_items(tmp_path)


@pytest.mark.parametrize("name", ["folder", "a.npy"])
@pytest.mark.parametrize(
    "columns", [{"id_column": "key"}, {"text_column": "name"}, {"drop": ["size"]}]
)
def test_columns_of_what_has_none(tmp_path, name, columns):
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "a.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"is not allowed: .*, and only tables have columns"):
        read_items(tmp_path / name, **columns)


def test_the_content_of_an_image_decides_and_not_its_name(tmp_path):
    image = Image.new("RGB", (20, 10))
    image.save(tmp_path / "a.png")
    image.save(tmp_path / "b.png", "JPEG")
    image.save(tmp_path / "c.png", "TIFF")
    image.save(tmp_path / "d.jpg", "MPO", save_all=True, append_images=[image])
    items = read_items(tmp_path)
    assert items.ids == ["a.png", "b.png", "d.jpg"]
    assert items.notices == ["1 image could not be decoded and is left out: c.png."]
    types = [content_type(items.image_path(row)) for row in range(3)]
    assert types == ["image/png", "image/jpeg", "image/jpeg"]
    assert content_type(tmp_path / "c.png") is None
    assert content_type(tmp_path / "gone.png") is None


def test_long_fractions_are_shown_with_six_digits():
    items = Items([[0.0], [1.0]], columns={"x": [0.1234567890123, 12.5], "n": [12345678901234, 2]})
    assert items.shown(0)["cells"] == {"x": "0.123457", "n": "12345678901234"}
    assert items.shown(1)["cells"] == {"x": "12.5", "n": "2"}


def test_numbers_are_shown_with_all_digits_before_the_point():
    x = [4006381333931.0, 4006381333931.25, -3.0, 1234567.123456789, 1.5e-9, 1e300, np.float32(2)]
    items = Items(np.arange(7.0)[:, None], columns={"x": x})
    assert [items.shown(row)["cells"]["x"] for row in range(7)] == [
        "4006381333931",
        "4006381333931.25",
        "-3",
        "1234567.123457",
        "1.5e-09",
        "1e+300",
        "2",
    ]
    vectors = Items([[4006381.0], [0.1]])
    assert [vectors.shown(row)["cells"]["0"] for row in range(2)] == ["4006381", "0.1"]


def test_integers_beside_an_empty_cell_are_shown_and_compared_by_all_digits(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,ean,price\na,4006381333931,1\nb,4006381333948,2\nc,,2\n")
    items = read_items(path)
    pair = shown_pair(items, "a", "b")
    assert pair["left"]["cells"][0] == {"name": "ean", "text": "4006381333931", "differs": True}
    assert pair["right"]["cells"][0] == {"name": "ean", "text": "4006381333948", "differs": True}
    assert shown_pair(items, "b", "c")["right"]["cells"] == [
        {"name": "ean", "text": "", "differs": True},
        {"name": "price", "text": "2", "differs": False},
    ]


def test_cells_differ_by_what_is_not_shown_of_them():
    long = "x" * MAX_SHOWN
    columns = {"n": [1.00000000001, 1.00000000002], "t": [long + "a", long + "b"], "s": [0.0, -0.0]}
    items = Items([[0.0], [1.0]], columns=columns)
    cells = shown_pair(items, "0", "1")["left"]["cells"]
    assert [(cell["name"], cell["differs"]) for cell in cells] == [
        ("n", True),
        ("t", True),
        ("s", False),
    ]


def test_gaps_and_lists_of_a_parquet_table_are_shown(tmp_path):
    frame = pd.DataFrame(
        {
            "number": pd.array([1, None, 3], dtype="Int64"),
            "name": pd.array(["x", None, "z"], dtype="string"),
            "day": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "tags": [["a", "b"], None, ["a"]],
        }
    )
    frame.to_parquet(tmp_path / "items.parquet")
    items = read_items(tmp_path / "items.parquet")
    assert items.shown(1)["cells"] == dict.fromkeys(frame.columns, "")
    assert items.shown(0)["cells"]["tags"] == "['a', 'b']"
    cells = shown_pair(items, "0", "2")["right"]["cells"]
    assert [cell["text"] for cell in cells] == ["3", "z", "2024-01-03 00:00:00", "['a']"]
    assert all(cell["differs"] for cell in cells)
    as_text = read_items(tmp_path / "items.parquet", text_column="number")
    assert [as_text.shown(row)["text"] for row in range(3)] == ["1", "", "3"]


def test_missing_columns_and_empty_folders(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="has no column 'key'; it has id, name, size"):
        read_items(tmp_path / "a.csv", id_column="key")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no images"):
        read_items(tmp_path / "empty")
