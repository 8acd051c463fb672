"""Tables of judged pairs: row numbers, ids, and what is wrong with them."""

import numpy as np
import pandas as pd
import pytest

from likewise.datasets import read_pairs, read_table


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "left,right,same\n0,2,true\n1,0,false\n",
        "Left;Right;Same\n0;2;1\n1;0;-1\n",
        "other,same,right,left\nx,yes,2,0\ny,NO,0,1\n",
        "left\tright\tsame\n0\t2\t1\n1\t0\t0\n",
    ],
)
def test_row_numbers_and_words_for_same(tmp_path, text):
    suffix = ".tsv" if "\t" in text else ".csv"
    pairs, same = read_pairs(written(tmp_path / f"pairs{suffix}", text), 3)
    assert pairs.tolist() == [[0, 2], [1, 0]]
    assert same.tolist() == [True, False]


def test_ids_are_numbers_or_text(tmp_path):
    path = written(tmp_path / "pairs.csv", "left,right,same\n70,9,1\n9,800,0\n")
    for ids in ([9, 70, 800], ["9", "70", "800"], np.array([9, 70, 800], dtype=object)):
        pairs, same = read_pairs(path, 3, ids)
        assert pairs.tolist() == [[1, 0], [0, 2]]
        assert same.tolist() == [True, False]
    frame = pd.DataFrame({"left": ["b", "c"], "right": ["a", "b"], "same": [True, False]})
    frame.to_parquet(tmp_path / "pairs.parquet")
    pairs, _ = read_pairs(tmp_path / "pairs.parquet", 3, ["a", "b", "c"])
    assert pairs.tolist() == [[1, 0], [2, 1]]


@pytest.mark.parametrize(
    ("text", "ids", "sentence"),
    [
        ("left,right\n0,1\n", None, "must have the columns left, right and same, .* no same"),
        ("left,right,same\n", None, "is empty: it has no pairs"),
        ("", None, "is empty"),
        ("left,right,same\n0,7,1\n", None, "column 'right' .* names row 7, but .* rows 0 to 2"),
        ("left,right,same\n-1,1,1\n", None, "names row -1"),
        ("left,right,same\na,b,1\n", None, r"must hold row numbers, found 'a'; .* \(--id\)"),
        ("left,right,same\n0,,1\n", None, "right column 'right' .* has 1 empty cell"),
        ("left,right,same\n0,1,maybe\n", None, "must hold true/false.* found 'maybe' in row 1"),
        ("left,right,same\na,x,1\ny,b,0\ny,b,0\n", ["a", "b", "c"], "and 'right' .* 2 ids .* x, y"),
        ("left,right,same\na,b,1\ny,b,0\ny,b,0\n", ["a", "b", "c"], "column 'left' .* 1 id .*: y"),
        ("left,right,same\na,b,1\nc,c,0\n", ["a", "b", "c"], "line 3 of .* pairs 'c' with itself"),
        ("left,right,same\na,b,1\n", ["a", "b", "b"], "two items have the id 'b'"),
    ],
)
def test_bad_tables(tmp_path, text, ids, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_pairs(written(tmp_path / "pairs.csv", text), 3, ids)


def test_other_files(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.csv, \.tsv, \.parquet, found '\.txt'"):
        read_pairs(written(tmp_path / "pairs.txt", "left,right,same\n"), 3)
    with pytest.raises(OSError, match=r"pairs\.csv"):
        read_pairs(tmp_path / "pairs.csv", 3)


def test_tables_without_labels(tmp_path):
    path = written(tmp_path / "table.csv", "a,class\n1,2\n3,4\n")
    assert read_table(path).feature_names == ("a",)
    found = read_table(path, labelled=False)
    assert found.y is None
    assert found.feature_names == ("a", "class")
    assert read_table(path, "a", labelled=False).y.tolist() == [1, 3]
    np.save(tmp_path / "table.npy", np.eye(3))
    assert read_table(tmp_path / "table.npy", labelled=False).X.shape == (3, 3)
    np.savez(tmp_path / "table.npz", X=np.eye(3))
    assert read_table(tmp_path / "table.npz", labelled=False).y is None
