"""Model files: the same answers after loading, and a sentence for whatever is wrong with a file."""

import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator

import likewise as lw
from likewise.base import Learner

X, Y = load_iris(return_X_y=True)
WORDS = np.array(["setosa", "versicolor", "virginica"])[Y]


class Holder(Learner):
    """A model whose state can be anything."""

    def __init__(self, given=None):
        self.given = given


def round_trip(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    return lw.load(tmp_path / "model.safetensors")


MODELS = [
    lw.Euclidean(),
    lw.Whitening(),
    lw.RCA(),
    lw.FDA(),
    lw.MetricKNN(n_neighbors=4),
    lw.MetricKNN(metric=lw.FDA(), n_jobs=1),
    lw.MetricKNN(metric=FrozenEstimator(lw.RCA().fit(X[::2], Y[::2]))),
    lw.PairClassifier(lw.RCA(), "fnmr<=0.5"),
    lw.PairClassifier(FrozenEstimator(lw.RCA().fit(X[::2], Y[::2]))),
    lw.PairClassifier("cosine"),
]


def answers(model, rows):
    if hasattr(model, "predict_pairs"):
        sides = rows[:-1], rows[1:]
        words = model.predict_pairs(*sides, unsure=True)
        return [model.predict_proba_pairs(*sides), model.pair_distance(*sides), words]
    if hasattr(model, "predict"):
        return [model.predict(rows), model.predict_proba(rows), *model.kneighbors(rows)]
    return [model.transform(rows), model.pair_distance(rows[:-1], rows[1:])]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_loaded_models_answer_bit_for_bit(model, dtype, tmp_path):
    rows = X.astype(dtype)
    model.fit(rows, WORDS)
    loaded = round_trip(model, tmp_path)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    for before, after in zip(answers(model, rows), answers(loaded, rows), strict=True):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)
    # Fitting the loaded one again is fitting the first again.
    for before, after in zip(
        answers(model.fit(rows, WORDS), rows), answers(loaded.fit(rows, WORDS), rows), strict=True
    ):
        np.testing.assert_array_equal(before, after)


def test_an_unfitted_model_keeps_its_parameters(tmp_path):
    loaded = round_trip(lw.MetricKNN(7, metric=lw.FDA(), n_jobs=2), tmp_path)
    assert repr(loaded) == repr(lw.MetricKNN(7, metric=lw.FDA(), n_jobs=2))
    assert not hasattr(loaded, "classes_")


def test_equal_models_are_equal_files(tmp_path):
    contents = set()
    for i in range(8):  # unordered, all would agree with probability 1/128
        lw.Whitening().fit(load_iris().data).save(tmp_path / f"{i}.safetensors")
        contents.add((tmp_path / f"{i}.safetensors").read_bytes())
    assert len(contents) == 1


def test_names_of_features_are_kept(tmp_path):
    table = pd.DataFrame(X, columns=["sepal length", "b", "ç", "d"])
    loaded = round_trip(lw.Whitening().fit(table), tmp_path)
    assert loaded.feature_names_in_.tolist() == list(table.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.transform(table[["b", "sepal length", "ç", "d"]])


def test_set_output_is_kept(tmp_path):
    loaded = round_trip(lw.Whitening().set_output(transform="pandas").fit(X), tmp_path)
    assert isinstance(loaded.transform(X), pd.DataFrame)


def same(a, b):
    """Equal in type, order, precision, memory order and every bit."""
    if isinstance(a, np.ndarray):
        assert type(b) is np.ndarray
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.flags.f_contiguous == b.flags.f_contiguous
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert type(a) is type(b)
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    else:
        assert type(a) is type(b)
        assert a == b or (a != a and b != b)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (np.ones(2), np.ones(2, "f")), ([1], (1,)), (1.0, np.float64(1))]
)
def test_same_can_fail(one, other):
    with pytest.raises(AssertionError):
        same(one, other)


STATES = [
    None,
    True,
    -3,
    10**30,
    1.5,
    -0.0,
    float("nan"),
    float("inf"),
    -float("inf"),
    "wörd",
    "",
    np.float64(2.5),
    np.float64("nan"),
    np.float32(0.1),
    np.int64(-7),
    np.bool_(True),
    np.str_("label"),
    (1, (2.0, "x"), []),
    [None, [True]],
    {"z": 1, "a": {"$array": "0"}, "$model": "os.system"},
    np.array(3.5),
    np.array([]),
    np.zeros((0, 3)),
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(5, dtype=np.uint8),
    np.array([True, False]),
    np.array([1.0, np.nan, np.inf]),
    np.arange(3, dtype=np.float16),
    np.array(["a", "bcd"]),
    np.array(["a", "bcd"], dtype="<U20"),
    np.array([["x"], ["yy"]], dtype=object),
    np.array([], dtype="<U3"),
]


@pytest.mark.parametrize("value", STATES, ids=repr)
def test_every_kind_of_state(value, tmp_path):
    model = Holder(value)
    model.seen_ = value
    loaded = round_trip(model, tmp_path)
    same(value, loaded.seen_)
    same(value, loaded.given)


def test_other_byte_orders_become_native(tmp_path):
    loaded = round_trip(Holder(np.arange(4, dtype=">i8")), tmp_path)
    np.testing.assert_array_equal(loaded.given, np.arange(4))


def test_a_random_state_goes_on_where_it_was(tmp_path):
    random = np.random.RandomState(5)
    random.random_sample(1001)
    random.standard_normal()  # leaves the second of two normal numbers behind
    loaded = round_trip(Holder(random), tmp_path)
    expected = [random.standard_normal(3), random.randint(0, 99, 7), random.random_sample(700)]
    same(
        expected,
        [
            loaded.given.standard_normal(3),
            loaded.given.randint(0, 99, 7),
            loaded.given.random_sample(700),
        ],
    )


def test_loaded_arrays_can_be_learned_into(tmp_path):
    loaded = round_trip(Holder(np.zeros(3)), tmp_path)
    loaded.given += 1
    np.testing.assert_array_equal(loaded.given, np.ones(3))


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (len, "Holder.given is a builtin_function_or_method, which a model file cannot hold"),
        (lambda x: x, "Holder.given is a function, which a model file cannot hold"),
        ({1: 2}, "Holder.given is a dict, which"),
        ([0, {3}], r"Holder.given\[1\] is a set, which"),
        ({"a": np.array([object()])}, "Holder.given.a is an array of object values, but a model"),
        (np.array([1j]), "an array of complex128 values"),
        (np.array([1.0], dtype=np.longdouble), "values, but a model file holds numbers and words"),
        (np.random.default_rng(0), "Holder.given is a Generator, which"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_a_file_cannot_hold(value, sentence, tmp_path):
    with pytest.raises(TypeError, match=sentence):
        Holder(value).save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    lw.FDA().fit(X, Y).save(path)
    before = path.read_bytes()

    def disk_full(*args):
        raise OSError("No space left on device")

    for step in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, disk_full)
            with pytest.raises(OSError, match="No space left"):
                lw.Whitening().fit(X).save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_the_file(tmp_path):
    """As any file that a program writes: what the umask leaves, not what a temporary file has."""
    plain, path = tmp_path / "plain", tmp_path / "model.safetensors"
    plain.write_text("")
    lw.Euclidean().fit(X).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    lw.Euclidean().fit(X).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert isinstance(lw.load(tmp_path / "file"), lw.Euclidean)


def test_places_that_do_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder '.*nowhere' to write in"):
        lw.Euclidean().save(tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError, match="is a folder, but a file is to be written"):
        lw.Euclidean().save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*absent'"):
        lw.load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError, match="is a folder, but a model is read from a file"):
        lw.load(tmp_path)


def test_the_newest_class_of_a_name_counts(tmp_path):
    class Passing(Learner):
        pass

    old = Passing()

    class Passing(Learner):
        pass

    with pytest.raises(TypeError, match="is a Passing, which a model file cannot hold"):
        old.save(tmp_path / "m")
    assert type(round_trip(Passing(), tmp_path)) is Passing


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    lw.Euclidean().fit([[1.0, 2.0]]).save(pipe)
    reader.join(timeout=10)
    assert pipe.is_fifo()
    (tmp_path / "copy").write_bytes(received[0])
    assert isinstance(lw.load(tmp_path / "copy"), lw.Euclidean)


def test_paths_of_any_kind(tmp_path):
    for path in (tmp_path / "a", str(tmp_path / "b"), os.fsencode(tmp_path / "c\xe9")):
        lw.Euclidean().fit([[1.0, 2.0]]).save(path)
        assert isinstance(lw.load(path), lw.Euclidean)


@pytest.mark.parametrize("length", [200, 245, 246, 250, 255])
def test_names_as_long_as_the_system_allows(length, tmp_path):
    path = tmp_path / ("m" * length)
    for _ in range(2):
        lw.Euclidean().fit([[1.0, 2.0]]).save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert isinstance(lw.load(path), lw.Euclidean)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_an_overwritten_file_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"")
    path.chmod(mode)
    lw.Euclidean().fit([[1.0, 2.0]]).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_the_unfinished_file_of_a_killed_save_is_removed_by_the_next(tmp_path):
    program = f"""
import os, signal, time
import likewise as lw

def killed(descriptor):
    os.kill(os.getpid(), signal.SIGKILL)

os.fsync = killed
lw.Euclidean().fit([[1.0, 2.0]]).save({str(tmp_path / "m")!r})
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60)
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 1  # which is not the target
    assert not (tmp_path / "m").exists()
    lw.Euclidean().fit([[1.0, 2.0]]).save(tmp_path / "other")
    assert list(tmp_path.iterdir()) == [tmp_path / "other"]


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_a_save_does_not_disturb_another_one(tmp_path, monkeypatch):
    """The file that another process is still writing stays; here the other one is ourselves."""
    sync, inner = os.fsync, []

    def saving_in_between(descriptor):
        if not inner:
            inner.append(True)
            lw.Euclidean().fit([[1.0, 2.0]]).save(tmp_path / "second")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", saving_in_between)
    lw.FDA().fit(X, Y).save(tmp_path / "first")
    assert isinstance(lw.load(tmp_path / "first"), lw.FDA)
    assert isinstance(lw.load(tmp_path / "second"), lw.Euclidean)
    assert len(list(tmp_path.iterdir())) == 2
