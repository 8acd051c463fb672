"""Data sets by name: where they are looked for, and what is said when they cannot be had."""

import importlib.util
import os
import socket
import urllib.error
import zipfile
from pathlib import Path

import numpy as np
import pytest

from likewise.datasets import Dataset, load, names
from likewise.datasets._download import is_intact, known_files

needs_data = pytest.mark.skipif(
    not os.environ.get("LIKEWISE_DATA"), reason="LIKEWISE_DATA names no folder of data sets"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder, an empty cache and no mirror."""
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LIKEWISE_DATA_URL", raising=False)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [
        ("digits", (1797, 64), 10),
        ("iris", (150, 4), 3),
        ("wine", (178, 13), 3),
        ("breast_cancer", (569, 30), 2),
    ],
)
def test_what_scikit_learn_ships(name, shape, n_classes):
    found = load(name)
    assert isinstance(found, Dataset)
    assert found.X.shape == shape
    assert len(found.classes) == n_classes
    assert len(found.feature_names) == shape[1]
    assert "scikit-learn" in found.source
    np.testing.assert_array_equal(np.unique(found.y), np.arange(n_classes))


def test_a_file_in_the_data_folder(folder):
    np.savez(
        folder / "small.npz",
        X=np.array([[0, 255], [1, 2]], dtype=np.uint8),
        y=np.array([0, 1], dtype=np.int16),
        X_test=np.array([[3, 4]], dtype=np.uint8),
        y_test=np.array([1], dtype=np.int16),
        classes=["no", "yes"],
        vocab=["a", "b"],
    )
    found = load("small")
    assert found.X.dtype == np.float32, "bytes would wrap around when subtracted"
    np.testing.assert_array_equal(found.X, [[0, 255], [1, 2]])
    np.testing.assert_array_equal(found.X_test, [[3, 4]])
    assert (found.y_test, found.y.dtype) == ([1], np.int64)
    assert found.classes == ("no", "yes")
    assert found.feature_names == ("a", "b")
    assert str(folder) in found.source
    assert "small" in names(local=True)
    found.X[0, 0] = 7  # the caller's own array


def test_other_arrays_are_kept_as_they_are(folder):
    arrays = {"X_int": np.array([[3], [4]], np.int8), "vocab": np.array(["a", "b"])}
    np.savez(folder / "more.npz", X=[[0.0], [1.0]], y=[0, 1], classes=["no", "yes"], **arrays)
    found = load("more")
    assert found.feature_names is None, "two words do not name one column"
    assert set(found.extra) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found.extra[name], array, strict=True)
    assert load("iris").extra == {}


def test_pairs_in_place_of_labels(folder):
    np.savez(folder / "judged.npz", X=[[0.0], [1.0]], pairs=[[0, 1]], same=[True], right=[0, 1])
    found = load("judged")
    assert found.y is None
    assert set(found.extra) == {"pairs", "same", "right"}


def test_long_integers_do_not_lose_digits(folder):
    np.savez(folder / "long.npz", X=np.array([[2**40 + 1]]), y=[0])
    assert load("long").X[0, 0] == 2**40 + 1


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": [[1.0]]}, "must hold the arrays X and y, found X"),
        ({"X": [[1.0]], "y": [0, 1]}, r"label for each row of X, found shapes \(1, 1\) and \(2"),
        ({"X": [1.0], "y": [0]}, r"X with two dimensions, found shape \(1,\)"),
        ({"X": [["a"]], "y": [0]}, "must hold numbers in X, found <U1"),
        ({"X": [[1.0]], "y": [0], "X_test": [[1.0]]}, "must hold the arrays X_test and y_test"),
        ({"X": np.array([[None]]), "y": [0]}, "holds Python objects"),
        ({"X": [[1.0]], "pairs": [[0, 0]]}, "must hold the arrays X and y, found X, pairs"),
        ({"pairs": [[0, 0]], "same": [True]}, "must hold the array X, found pairs, same"),
        ({"X": [[1.0]], "pairs": [[0, 0]], "same": []}, r"found shapes \(1, 2\) and \(0,\)"),
        ({"X": [[1.0]], "pairs": 1, "same": True}, r"found shapes \(\) and \(\)"),
    ],
)
def test_a_file_that_is_not_a_data_set(folder, arrays, sentence):
    np.savez(folder / "wrong.npz", **arrays)
    with pytest.raises(ValueError, match=sentence):
        load("wrong")


def test_a_damaged_file_is_noticed(folder):
    path = folder / "damaged.npz"
    np.savez(path, X=np.arange(1000.0).reshape(-1, 1), y=np.zeros(1000, dtype=int))
    content = bytearray(path.read_bytes())
    content[2000] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a readable NPZ file: Bad CRC-32"):
        load("damaged")
    path.write_bytes(content[:-30])
    with pytest.raises(ValueError, match="not a readable NPZ file"):
        load("damaged")


def test_a_small_file_cannot_claim_a_terabyte(folder):
    path = folder / "bomb.npz"
    with zipfile.ZipFile(path, "w") as archive, archive.open("X.npy", "w") as member:
        np.lib.format.write_array_header_1_0(
            member, {"shape": (2**20, 2**20), "fortran_order": False, "descr": "<f8"}
        )
    with pytest.raises(ValueError, match="claims to be an array of 8796093022208 bytes"):
        load("bomb")


def test_an_unknown_name_gets_close_matches(folder):
    with pytest.raises(ValueError, match="there is no data set 'digit'; did you mean digits"):
        load("digit")
    with pytest.raises(ValueError, match="likewise datasets lists all names"):
        load("qqqqqqqq")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "", "."])
def test_a_name_cannot_leave_the_folder(folder, name):
    np.savez(folder.parent / "secret.npz", X=[[1.0]], y=[0])
    with pytest.raises(ValueError, match="there is no data set"):
        load(name)


def test_a_known_name_that_nobody_serves_says_what_to_do(folder):
    with pytest.raises(ConnectionError, match=r"put bupa\.npz in the folder that LIKEWISE"):
        load("bupa")


def test_names_are_sorted_and_tell_here_from_elsewhere(folder):
    assert names(local=True) == ["breast_cancer", "digits", "iris", "wine"]
    assert names() == sorted(names())
    assert {"mnist", "letter", "digits"} <= set(names())


@needs_data
@pytest.mark.parametrize("name", ["letter", "20news_bow", "satimage", "ecoli"])
def test_real_files(name):
    found = load(name)
    assert found.X.dtype == np.float32
    assert np.isfinite(found.X).all()
    assert len(found.X) == len(found.y)
    if found.classes:
        assert found.y.max() == len(found.classes) - 1


@needs_data
def test_extra_arrays_of_the_real_files():
    crx = load("crx")
    assert crx.extra["X_int"].shape == (653, 15)
    assert crx.feature_names is not None
    assert "feature_names" not in crx.extra
    ten = load("cardiotocography").extra["y_class10"]
    assert (ten.shape, len(np.unique(ten))) == ((2126,), 10)


@needs_data
@pytest.mark.parametrize(("name", "n_pairs"), [("er_dblp_acm", 12363), ("er_amazon_google", 11460)])
def test_pairs_of_the_real_files(name, n_pairs):
    found = load(name)
    assert found.y is None
    assert set(found.extra) == {"pairs", "same", "split", "right", "text"}
    assert found.extra["pairs"].shape == (n_pairs, 2)
    left, right = found.extra["pairs"].T
    assert not found.extra["right"][left].any()
    assert found.extra["right"][right].all()
    assert len(found.extra["text"].tobytes().decode().split("\n")) == len(found.X)


@needs_data
def test_checksums_are_those_of_the_real_files():
    folder = Path(os.environ["LIKEWISE_DATA"])
    assert len(known_files()) > 30
    for name in ("iris", "glass", "mnist"):
        assert is_intact(folder / f"{name}.npz", known_files()[name])


class _Bunch:
    def __init__(self, n_rows, n_features):
        self.data = np.zeros((n_rows, n_features))
        self.target = np.resize(np.array(["b", "a", "c"], dtype=object), n_rows)
        self.feature_names = [f"f{i}" for i in range(n_features)]


def test_openml_is_asked_when_there_is_no_mirror(folder, monkeypatch):
    asked = {}

    def fetch(**arguments):
        asked.update(arguments)
        return _Bunch(70000, 784)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    found = load("mnist")
    assert asked["data_id"] == 554
    assert asked["parser"] == ("auto" if importlib.util.find_spec("pandas") else "liac-arff")
    assert asked["data_home"].startswith(str(folder.parent / "cache"))
    assert (len(found.X), len(found.X_test)) == (60000, 10000)
    assert found.classes == ("a", "b", "c")
    np.testing.assert_array_equal(found.y[:3], [1, 0, 2])
    np.testing.assert_array_equal(np.r_[found.y, found.y_test], np.resize([1, 0, 2], 70000))


def test_openml_with_another_shape_is_refused(folder, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: _Bunch(10, 3))
    with pytest.raises(ValueError, match=r"has shape \(10, 3\), not the \(214, 9\) of 'glass'"):
        load("glass")


def test_openml_out_of_reach_says_what_to_do(folder, monkeypatch):
    timeouts = []

    def refuse(**_):
        timeouts.append(socket.getdefaulttimeout())
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    with pytest.raises(ConnectionError, match=r"no route to host.*put glass\.npz in the folder"):
        load("glass")
    assert timeouts == [30.0]
    assert socket.getdefaulttimeout() is None
