"""Tables from files, and the sentence for each that cannot be used."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from likewise.datasets import read_columns, read_pairs, read_table

FRAME = pd.DataFrame({"height": [1.5, 2.5], "width": [1, 2], "species": ["cat", "dog"]})


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".CSV"])
def test_frames(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    if suffix == ".parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    X, y, feature_names, _ = read_table(path, "species")
    np.testing.assert_array_equal(X, [[1.5, 1], [2.5, 2]])
    assert X.dtype == np.float64
    assert list(y) == ["cat", "dog"]
    assert feature_names == ("height", "width")


@pytest.mark.parametrize("usual", ["label", "Class", "TARGET", "y"])
def test_the_usual_names_of_a_label_column(tmp_path, usual):
    path = tmp_path / "table.csv"
    FRAME.rename(columns={"species": usual}).to_csv(path, index=False)
    assert list(read_table(path).y) == ["cat", "dog"]


def test_label_has_precedence_over_y(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("y,label\n1,a\n2,b\n")
    table = read_table(path)
    assert list(table.y) == ["a", "b"]
    assert table.feature_names == ("y",)


def test_single_precision_is_kept(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": np.ones(3, np.float32), "y": [0, 1, 0]}).to_parquet(path)
    assert read_table(path).X.dtype == np.float32


def test_empty_cells_are_nan_and_booleans_are_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,y\n1,True,0\n,False,1\n")
    np.testing.assert_array_equal(read_table(path).X, [[1, 1], [np.nan, 0]])


def test_nullable_columns(tmp_path):
    path = tmp_path / "table.parquet"
    columns = {"a": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], "boolean")}
    pd.DataFrame({**columns, "y": [0, 1]}).to_parquet(path)
    np.testing.assert_array_equal(read_table(path).X, [[1, 1], [np.nan, np.nan]])


def test_npz_and_npy(tmp_path):
    np.savez(tmp_path / "a.npz", X=[[1, 2], [3, 4]], kind=["c", "d"], feature_names=["p", "q"])
    X, y, feature_names, _ = read_table(tmp_path / "a.npz", "kind")
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["c", "d"]
    assert feature_names == ("p", "q")
    np.save(tmp_path / "b.npy", [[1.0, 0.0, 2.0], [3.0, 1.0, 4.0]])
    X, y, feature_names, _ = read_table(tmp_path / "b.npy", "1")
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [0, 1]
    assert feature_names == ("0", "2")


@pytest.mark.parametrize(
    ("content", "label", "sentence"),
    [
        ("", None, "is empty"),
        ("a,y\n", None, "is empty: it has no rows"),
        ("y\n1\n2\n", None, "no other column to measure distances with"),
        ("a,b\n1,2\n", None, "has no column called label, class, target, y: .* label: a, b"),
        ("a,species\n1,2\n", "specie", "has no column 'specie': did you mean 'species'"),
        ("a,b\n1,2\n", "zzz", "has no column 'zzz': a, b"),
        ("a,b,y\n1,red,0\n2,4,1\n", None, "column 'b' .* must hold numbers, found 'red' in row 1"),
        ("a,y\n1,0\n2,\n", None, "label column 'y' .* has 1 empty cell, the first in row 2"),
        ('a,y\n1,0\n2,"', None, "cannot be read as csv: EOF inside string"),
        ("a,y\n1,0\n2,3,4,5\n", None, "as csv: line 3 has 4 cells, but there are 2 columns$"),
        ("5.1,3.5,rose\n4.9,3.0,lily\n", None, "rose; its first line seems to be data"),
        ("5.1,3.5,rose\n4.9,3.0,lily\n", "kind", "rose; its first line seems to be data"),
        ("0,1,2\n4.9,3.0,lily\n", None, "is the label: 0, 1, 2$"),
        ("a,y\n1,dog\n2,None\n", None, "row 2; cells with NA, None or null count as empty"),
    ],
)
def test_bad_csv(tmp_path, content, label, sentence):
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence) as raised:
        read_table(path, label)
    assert "\n" not in str(raised.value)


def test_na_is_a_word_if_asked_for(tmp_path):
    path = tmp_path / "countries.csv"
    path.write_text("size,code,y\n1,NA,NA\n2,FR,None\n,,null\n")
    table = read_columns(path, "y", keep_na=True)
    assert table.y.tolist() == ["NA", "None", "null"]
    assert table.columns["code"].tolist() == ["NA", "FR", None]
    np.testing.assert_array_equal(table.columns["size"], [1, 2, np.nan])
    assert read_columns(path).columns["code"].tolist() == [None, "FR", None]
    with pytest.raises(ValueError, match=r"3 empty cells.* words \(--keep-na\)"):
        read_columns(path, "y")


@pytest.mark.parametrize(
    "content",
    [
        "a,b,kind\n1.5,2,x\n3,4.25,y\n",
        "\ufeffa,b,kind\r\n1.5,2,x\r\n3,4.25,y\r\n",
        "a;b;kind\n1,5;2;x\n3;4,25;y\n",
        'a;b;"kind"\n1.5;2;x\n3;4.25;y\n',
        '\ufeff"a";"b";"kind"\r\n1,5;2;x\r\n3;4,25;y\r\n',
        "a\tb\tkind\n1.5\t2\tx\n3\t4.25\ty\n",
    ],
)
def test_what_spreadsheets_write(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_text(content, newline="", encoding="utf-8")
    table = read_table(path, "kind")
    assert table.X.tolist() == [[1.5, 2.0], [3.0, 4.25]]
    assert table.y.tolist() == ["x", "y"]
    assert table.feature_names == ("a", "b")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_separators_and_encodings(tmp_path, encoding, separator):
    path = tmp_path / "table.csv"
    rows = [("a, cm", "b", "kind"), ("1", "2.5", "Müller"), ("3", "4", "Łoś|x;y")]
    text = "".join(separator.join(f'"{cell}"' for cell in row) + "\n" for row in rows)
    path.write_bytes(text.encode(encoding))
    table = read_table(path, "kind")
    assert table.feature_names == ("a, cm", "b")
    assert table.X.tolist() == [[1, 2.5], [3, 4]]
    assert table.y.tolist() == ["Müller", "Łoś|x;y"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_text_that_is_not_unicode_is_read_with_a_warning(tmp_path, encoding):
    path = tmp_path / "table.csv"
    name = "Müller" if encoding == "latin-1" else "10 €"
    path.write_text(f"a,b,kind\n1,2,{name}\n", encoding=encoding)
    with pytest.warns(UserWarning, match=r"table\.csv' is not UTF-8 text .* Windows-1252"):
        table = read_table(path, "kind")
    assert table.y.tolist() == [name]


def test_names_with_commas_between_tabs(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("height, cm\twidth, cm\tlabel\n1,5\t2\tx\n2\t3\ty\n")
    assert read_table(path).feature_names == ("height, cm", "width, cm")
    assert read_table(path).X.tolist() == [[1.5, 2], [2, 3]]


def test_a_stream_tells_its_format(tmp_path):
    for suffix in ("csv", "parquet", "npz", "npy"):
        path = tmp_path / f"table.{suffix}"
        match suffix:
            case "csv":
                path.write_text("a;kind\n1,5;1\n2;0\n")
            case "parquet":
                pd.DataFrame({"a": [1.5, 2.0], "kind": [1, 0]}).to_parquet(path)
            case "npz":
                np.savez(path, X=[[1.5], [2.0]], kind=[1, 0])
            case "npy":
                np.save(path, [[1.5, 1.0], [2.0, 0.0]])
        table = read_table(io.BytesIO(path.read_bytes()), "1" if suffix == "npy" else "kind")
        assert table.X.tolist() == [[1.5], [2.0]]
        assert table.y.tolist() == [1, 0]


def test_format_instead_of_a_suffix(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("a,y\n1,0\n2,1\n")
    with pytest.raises(ValueError, match=r"found '.txt'; or say \(--format\) what it is"):
        read_table(path)
    assert read_table(path, format="csv").X.tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="format is 'xls', but it must be one of csv, tsv"):
        read_table(path, format="xls")
    with pytest.raises(ValueError, match="the input cannot be read as parquet"):
        read_table(io.BytesIO(b"a,b"), format="parquet")
    with pytest.raises(ValueError, match="the input is empty"):
        read_table(io.BytesIO(b""))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a,b,y\n1,2,0\n3\n4,5,1\n", "line 3 has 1 cell, but there are 3 columns"),
        ('a,b,y\n"1\n",2,0\n3,4\n', "line 4 has 2 cells, but there are 3 columns"),
        ("a,y\n1,2,0\n3,4,1\n", "rows have more cells than its first line has names"),
    ],
)
def test_ragged_rows(tmp_path, content, sentence):
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence):
        read_table(path, "y")


def test_columns_as_they_are(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("name,size,colour,when\nA,1,red,2020-01-01\nB,,,2021-01-01\n")
    table = read_columns(path, ids="name", drop=["when"])
    assert len(table) == 2
    assert list(table) == ["size", "colour"]
    np.testing.assert_array_equal(table.columns["size"], [1, np.nan])
    assert table.columns["colour"].tolist() == ["red", None]
    assert table.ids.tolist() == ["A", "B"]
    with pytest.raises(ValueError, match=r"'name' of .* cannot be both label and ids"):
        read_columns(path, "name", ids="name")
    with pytest.raises(ValueError, match="has no column 'nam': did you mean 'name'"):
        read_columns(path, ids="nam")


def test_ids_in_npz(tmp_path):
    np.savez(tmp_path / "a.npz", X=[[1.0], [2.0]], sku=["p", "q"])
    assert read_columns(tmp_path / "a.npz", ids="sku").ids.tolist() == ["p", "q"]


def test_labels_of_a_long_table_have_one_type(tmp_path):
    # pandas reads in parts, and would make numbers of the labels of the first ones.
    path = tmp_path / "table.csv"
    labels = ["1", "2"] * 300_000 + ["x"]
    path.write_text("a,y\n" + "".join(f"{row},{label}\n" for row, label in enumerate(labels)))
    assert {type(label) for label in read_table(path).y} == {str}


def test_many_columns_are_not_all_listed(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(",".join(f"c{i}" for i in range(50)) + "\n" + ",".join("1" * 50) + "\n")
    with pytest.raises(ValueError, match=r"c6, c7, … \(50 in all\)"):
        read_table(path)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".npy", ".csv"])
def test_rubbish(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    path.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(ValueError, match=r"cannot be read|not a readable|not UTF-8"):
        read_table(path)


def test_bad_npz_and_npy(tmp_path):
    np.savez(tmp_path / "a.npz", y=[1])
    with pytest.raises(ValueError, match="must hold an array X, found y"):
        read_table(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", X=[1.0, 2.0], y=[1, 2])
    with pytest.raises(ValueError, match="X with two dimensions"):
        read_table(tmp_path / "a.npz")
    np.save(tmp_path / "b.npy", [1.0, 2.0])
    with pytest.raises(ValueError, match="two dimensions, found 1"):
        read_table(tmp_path / "b.npy", "0")
    np.save(tmp_path / "b.npy", [["a", "b"]])
    with pytest.raises(ValueError, match="must hold numbers, found <U1"):
        read_table(tmp_path / "b.npy", "0")


def test_missing_file_and_unknown_suffix(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*nowhere\.csv'"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(ValueError, match=r"must end in \.csv, .*, found '\.xls'"):
        read_table(tmp_path / "table.xls")


@pytest.mark.parametrize(("suffix", "absent"), [(".csv", "pandas"), (".parquet", "pyarrow")])
def test_without_the_extra(tmp_path, monkeypatch, suffix, absent):
    path = tmp_path / f"table{suffix}"
    path.write_text("a,y\n1,0\n")
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ImportError, match=r'pip install "likewise\[tables\]"'):
        read_table(path)


def test_a_column_that_only_numbers_the_rows_is_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "indexed.csv"
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "label": ["x", "y", "y"]}).to_csv(path)
    with pytest.raises(ValueError, match="column without a name that only numbers its rows"):
        read_table(path)


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".npy"])
def test_groups_and_columns_that_are_dropped(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    cells = np.array([[1.0, 7, 0, 3], [2, 8, 0, 4], [3, 9, 1, 4]])
    names = {"label": "kind", "groups": "who", "drop": ["b"]}
    match suffix:
        case ".csv":
            frame = pd.DataFrame(cells, columns=["a", "b", "kind", "who"])
            frame.assign(b="text", who=["x", "y", "y"]).to_csv(path, index=False)
        case ".npz":
            parts = {"kind": cells[:, 2], "who": np.array(["x", "y", "y"])}
            np.savez(path, X=cells[:, :2], feature_names=["a", "b"], **parts)
        case ".npy":
            np.save(path, cells)
            names = {"label": "2", "groups": "3", "drop": ["1"]}
    table = read_table(path, **names)
    assert table.X.tolist() == [[1], [2], [3]]
    assert table.y.tolist() == [0, 0, 1]
    assert len(table.feature_names) == 1
    assert table.groups.tolist() == ([3, 4, 4] if suffix == ".npy" else ["x", "y", "y"])
    label = names.pop("label")
    without = read_table(
        path, label, drop=[*names["drop"], *[names["groups"]] * (suffix == ".csv")]
    )
    assert without.groups is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"drop": ["aa"]}, "has no column 'aa': did you mean 'a'"),
        ({"groups": "zzz"}, "has no column 'zzz': a, b, kind, who"),
        ({"drop": ["kind"]}, "column 'kind' of .* cannot be both dropped and used"),
        ({"groups": "who", "drop": ["who"]}, "column 'who' of .* cannot be both dropped and used"),
        ({"groups": "who"}, "group column 'who' of .* has 1 empty cell, the first in row 2"),
    ],
)
def test_bad_columns(tmp_path, options, sentence):
    path = tmp_path / "table.csv"
    path.write_text("a,b,kind,who\n1,2,x,p\n3,4,y,\n")
    with pytest.raises(ValueError, match=sentence):
        read_table(path, "kind", **options)
    # A threshold for new classes splits classes as a whole.
    assert read_table(path, "kind", groups="kind", drop=["who"]).groups.tolist() == ["x", "y"]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "npz", "npy"])
def test_empty_files(tmp_path, suffix):
    path = tmp_path / f"empty.{suffix}"
    path.touch()
    with pytest.raises(ValueError, match=rf"empty\.{suffix}' is empty$"):
        read_table(path)


@pytest.mark.parametrize("separator", ["^", " ", ":"])
def test_separators_that_are_not_known(tmp_path, separator):
    path = tmp_path / "table.csv"
    path.write_text("a,b,y\n1,2,x\n3,4,z\n".replace(",", separator))
    sentence = "a single column: cells are separated by a comma, a semicolon, a tab or a bar"
    with pytest.raises(ValueError, match=sentence):
        read_table(path, "y")
    with pytest.raises(ValueError, match=sentence):
        read_table(path)
    path.write_text("left,right\n0,1\n".replace(",", separator))
    with pytest.raises(ValueError, match=sentence):
        read_pairs(path, 3, judged=False)
