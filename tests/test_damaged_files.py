"""Model files that are damaged, forged or hostile: an error, and nothing is executed."""

import inspect
import json
import os
import struct
import subprocess
import sys
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from sklearn.base import BaseEstimator
from test_files import WORDS, X, answers

import likewise as lw
from likewise import _files


def forge(path, header, arrays=None, *, fingerprint=None):
    """Write what a stranger could: any header, with a checksum that fits."""
    arrays = arrays or {}
    text = header if isinstance(header, str) else json.dumps(header)
    metadata = {
        "likewise": text,
        "fingerprint": fingerprint or _files._fingerprint(text, arrays),
    }
    path.write_bytes(safetensors.numpy.save(arrays, metadata))
    return path


def header_of(content, **changes):
    return {"format": _files.FORMAT, "versions": {}, "model": content} | changes


def a_model(name="Whitening", parameters=None, state=None):
    return {"$model": name, "parameters": parameters or {}, "state": state or {}}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    lw.MetricKNN(1, metric=lw.Whitening()).fit(X[::30], WORDS[::30]).save(path)
    return path


def test_every_flipped_byte_is_noticed_or_harmless(saved):
    model, content = lw.load(saved), saved.read_bytes()
    expected = answers(model, X)
    noticed = 0
    for place in range(len(content)):
        saved.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            loaded = lw.load(saved)
        except ValueError:
            noticed += 1
        else:
            for before, after in zip(expected, answers(loaded, X), strict=True):
                np.testing.assert_array_equal(before, after)
    assert noticed > 0.98 * len(content)


def test_a_flipped_bit_in_an_array_is_a_checksum_error(saved):
    content = bytearray(saved.read_bytes())
    content[-3] ^= 4
    saved.write_bytes(content)
    with pytest.raises(ValueError, match="was changed after it was saved: its checksum does not"):
        lw.load(saved)


def test_truncated_files(saved):
    content = saved.read_bytes()
    for length in [*range(0, len(content), 97), len(content) - 1]:
        saved.write_bytes(content[:length])
        with pytest.raises(ValueError, match="is not a whole safetensors file"):
            lw.load(saved)


def test_files_of_other_kinds(tmp_path):
    path = tmp_path / "other"
    path.write_text("a,b\n1,2\n" * 100)
    with pytest.raises(ValueError, match="is not a whole safetensors file"):
        lw.load(path)
    path.write_bytes(safetensors.numpy.save({"weight": np.zeros(3)}))
    with pytest.raises(ValueError, match="is a safetensors file, but not one saved by likewise"):
        lw.load(path)


def raw(path, tensors, body):
    """A safetensors file byte by byte: the library itself would refuse to write some of these."""
    text = json.dumps(header_of(a_model()))
    metadata = {"likewise": text, "fingerprint": "0"}
    head = json.dumps({"__metadata__": metadata} | tensors).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + body)
    return path


@pytest.mark.parametrize(
    ("tensor", "body", "sentence"),
    [
        (("BF16", [2], [0, 4]), b"1234", "holds BF16 arrays, which no model does"),
        (("F64", [2**62, 2**62], [0, 8]), b"12345678", "is not a whole safetensors file"),
        (("F64", [10**12], [0, 8 * 10**12]), b"", "is not a whole safetensors file"),
        (("F64", [0, 2**62], [0, 0]), b"", "unreadable likewise header"),
        (("F64", [1] * 200, [0, 8]), b"12345678", "unreadable likewise header"),
    ],
)
def test_absurd_declared_sizes(tensor, body, sentence, tmp_path):
    kind, shape, offsets = tensor
    tensors = {"0": {"dtype": kind, "shape": shape, "data_offsets": offsets}}
    with pytest.raises(ValueError, match=sentence):
        lw.load(raw(tmp_path / "m", tensors, body))


def test_a_file_larger_than_memory_is_refused(saved, monkeypatch):
    monkeypatch.setattr("likewise._runtime.memory.free_memory", lambda: 100)
    monkeypatch.setattr("likewise._runtime.memory.UNCHECKED_BYTES", 0)
    with pytest.raises(MemoryError, match=r"Loading .* needs about"):
        lw.load(saved)


@pytest.mark.parametrize("width", [2**18 + 1, 2**30, 2**45, 10**400, -1])
def test_words_of_absurd_width_are_refused(width, tmp_path):
    words = {"$words": ["a"], "shape": [1], "width": width}
    with pytest.raises(ValueError, match="holds damaged words"):
        lw.load(forge(tmp_path / "m", header_of(a_model(state={"x_": words}))))


def test_a_few_bytes_do_not_ask_for_much_memory(tmp_path):
    """One long word and many empty ones: a table of all at the same width."""
    words = {"$words": ["a" * 5000] + [""] * 50_000, "shape": [50_001], "width": 5000}
    path = forge(tmp_path / "m", header_of(a_model(state={"x_": words})))
    tracemalloc.start()
    with pytest.raises(ValueError, match="holds damaged words"):
        lw.load(path)
    assert tracemalloc.get_traced_memory()[1] < 100 * path.stat().st_size
    tracemalloc.stop()
    model = lw.Euclidean()
    model.x_ = np.array(words["$words"])
    with pytest.raises(ValueError, match=r"Euclidean.x_ holds words of too different lengths"):
        model.save(path)


def test_very_many_arrays_are_refused_at_once(tmp_path):
    empty = {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}
    path = raw(tmp_path / "m", {str(number): empty for number in range(100_000)}, b"")
    begin = time.perf_counter()
    with pytest.raises(ValueError, match="holds 100000 arrays, but a model has at most 10000"):
        lw.load(path)
    assert time.perf_counter() - begin < 5
    model = lw.Euclidean()
    model.x_ = [np.zeros(0)] * 10_001
    with pytest.raises(ValueError, match="has 10001 arrays, but a file holds 10000"):
        model.save(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe or device, but a model is read from a file"):
        lw.load(tmp_path / "pipe")


def fields_of(model, name):
    """Return where the named record stands in a saved header."""

    def find(content):
        if isinstance(content, dict):
            if content.get("$record") == name:
                return content["fields"]
            content = list(content.values())
        if isinstance(content, list):
            for inner in content:
                if (found := find(inner)) is not None:
                    return found
        return None

    return find(model)


RECORDS = {
    "SketchedCovariance": lw.AROW(covariance=2),
    "FactoredCovariance": lw.AROW(),
    "DiagonalCovariance": lw.AROW(covariance="diagonal"),
    "ClassifierState": lw.PA(),
    "PairState": lw.PAMetric(random_state=0),
    "ComponentsCache": lw.PAMetric(random_state=0),
    "History": lw.PAMetric(record_every=9, random_state=0),
    "KernelState": lw.POLA(kernel="rbf", max_iter=1, random_state=0),
    "KernelBasis": lw.POLA(kernel="rbf", max_iter=1, random_state=0),
    "KernelSpace": lw.LMNN(1, kernel="rbf", max_iter=2),
    "Mixture": lw.PLML(n_metrics=2, max_iter=2, random_state=0),
    "Calibration": lw.PairClassifier(),
}


def test_all_records_are_damaged_here():
    ours = {
        name
        for name, record in _files._RECORDS.items()
        if record.__module__.startswith("likewise.")
    }
    assert set(RECORDS) | {"EigenbasisMatrix"} == ours


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", RECORDS)
def test_every_state_class_checks_its_fields(name, tmp_path):
    """Each field is replaced by what no model has; a file that is only signed again is read."""
    model = RECORDS[name].fit(X[::3], WORDS[::3])
    arrays = {}
    content = _files._encode(model, name, arrays)
    assert lw.load(forge(tmp_path / "m", header_of(content), arrays)).get_params()
    fields = fields_of(content, name)
    for field, value in list(fields.items()):
        is_array = isinstance(value, dict) and "$array" in str(value)
        damage = ["text", -7, 10**400, None, {"$array": "damaged"}]
        if value is None:
            damage.remove(None)
        if isinstance(value, float):
            damage.remove(-7)
        if not is_array:
            damage.append({"$float": "nan"})
        for wrong in damage:
            fields[field] = wrong
            damaged = arrays | {"damaged": np.full((3, 1, 2), np.nan)}
            with pytest.raises(ValueError, match="damaged"):
                lw.load(forge(tmp_path / "m", header_of(content), damaged))
        fields[field] = value


@pytest.mark.parametrize(("rank", "capacity"), [(2, 2), (5, 4), (0, 0), (3, 4)])
def test_a_sketch_that_would_never_be_reduced_is_refused(rank, capacity, tmp_path):
    """`partial_fit` of such a model would not end."""
    model = lw.AROW(covariance=2).fit(X[::3], WORDS[::3])
    sketch = model._state.covariance
    sketch.rank = rank
    for name in ("basis", "diagonal"):
        setattr(sketch, name, getattr(sketch, name)[:, :capacity])
    sketch.rows = sketch.rows[:, :capacity, :capacity]
    sketch.columns = sketch.columns[:, :capacity]
    model.save(tmp_path / "m")
    with pytest.raises(ValueError, match="holds a damaged SketchedCovariance"):
        lw.load(tmp_path / "m")


RANDOM = {
    "bit_generator": "MT19937",
    "state": {"$dict": {"key": {"$array": "0"}, "pos": 5}},
    "has_gauss": 0,
    "gauss": 0.0,
}


def random_state(**changes):
    inner = RANDOM["state"]["$dict"] | {k: v for k, v in changes.items() if k in ("key", "pos")}
    outer = RANDOM | {k: v for k, v in changes.items() if k not in ("key", "pos")}
    return {"$random_state": {"$dict": outer | {"state": {"$dict": inner}}}}


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("not json", "unreadable likewise header"),
        ("[" * 100_000 + "]" * 100_000, "unreadable likewise header"),
        ("[]", "unreadable likewise header"),
        ({}, "unreadable likewise header"),
        ({"format": 1, "versions": {}}, "unreadable likewise header"),
        (header_of(a_model(), format=99), "is of format 99, but this release reads 1"),
        (header_of(5), "holds no model where one should be, but 5"),
        (header_of({"$dict": {}}), "holds no model where one should be"),
        (header_of(a_model("os.system")), "holds a 'os.system', which is not known here"),
        (header_of(a_model("builtins.eval")), "holds a 'builtins.eval', which is not known here"),
        (header_of(a_model(parameters={"bad": 1})), "holds 'bad', which Whitening does not have"),
        (header_of(a_model(state={"transform": 1})), "holds 'transform', which Whitening does"),
        (header_of(a_model(state={"__class__": 1})), "holds '__class__', which Whitening"),
        (header_of(a_model(state={"_n_features_out": 1})), "'_n_features_out', which Whitening"),
        (header_of(a_model(state={"_rules": 1})), "holds '_rules', which Whitening"),
        (header_of(a_model(state={"x_": {"$array": "7"}})), "something that likewise does not"),
        (header_of(a_model(state={"x_": {"$pickle": "gASV"}})), "something that likewise does not"),
        (header_of(a_model(state={"x_": {"$float": "__import__"}})), "something that likewise"),
        (header_of(a_model(state={"x_": {"$scalar": 5}})), "something that likewise does not"),
        (header_of(a_model(state={"x_": {"$frozen": 5}})), "holds no model where one should be"),
        (
            header_of(a_model(state={"x_": {"$words": [1], "shape": [1], "width": 3}})),
            "damaged words",
        ),
        (
            header_of(a_model(state={"x_": {"$words": ["abc"], "shape": [1], "width": 1}})),
            "damaged words",
        ),
        (
            header_of(a_model(state={"x_": {"$words": ["a"], "shape": [9], "width": 1}})),
            "unreadable likewise header",
        ),
        (header_of(a_model(state={"x_": random_state(pos=10**6)})), "damaged random state"),
        (header_of(a_model(state={"x_": random_state(pos=-1)})), "damaged random state"),
        (header_of(a_model(state={"x_": random_state(key=[1, 2])})), "damaged random state"),
        (header_of(a_model(state={"x_": random_state(has_gauss=9)})), "damaged random state"),
        (header_of(a_model(state={"x_": {"$random_state": 3}})), "damaged random state"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_hostile_headers(header, sentence, tmp_path):
    arrays = {"0": np.zeros(624, dtype=np.uint32)}
    with pytest.raises(ValueError, match=sentence):
        lw.load(forge(tmp_path / "model.safetensors", header, arrays))


def test_the_forged_random_state_is_only_refused_for_its_damage(tmp_path):
    arrays = {"0": np.zeros(624, dtype=np.uint32)}
    path = forge(tmp_path / "m", header_of(a_model(state={"x_": random_state()})), arrays)
    assert lw.load(path).x_.get_state()[2] == 5


@pytest.mark.parametrize("depth", [50, 200, 300, 450, 600, 900])
def test_nesting_of_any_depth_is_read_or_refused(depth, tmp_path):
    nested = 1
    for _ in range(depth):
        nested = [nested]
    path = forge(tmp_path / "m", header_of(a_model(state={"x_": nested})))
    if depth < 100:
        assert isinstance(lw.load(path), lw.Whitening)
    else:  # how deep Python can go depends on who called
        with suppress(ValueError):
            lw.load(path)


def test_a_wrong_checksum_is_noticed_before_the_header_is_read(tmp_path):
    path = forge(tmp_path / "m", "not even json", fingerprint="0" * 64)
    with pytest.raises(ValueError, match="its checksum does not match"):
        lw.load(path)


def test_loading_runs_nothing_from_the_file(saved):
    """Neither pickle's machinery nor eval, exec or an import by name is reached."""
    program = """
import sys
import time
import tracemalloc
import likewise as lw
from likewise import *
import numpy, pickle, builtins, importlib
def forbidden(*args, **kwargs):
    raise SystemExit("executed")
pickle.loads = pickle.load = pickle.Unpickler = forbidden
builtins.eval = builtins.exec = importlib.import_module = forbidden
model = lw.load(sys.argv[1])
print(type(model).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, saved], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "MetricKNN", done.stderr
    assert "pickle" not in Path(_files.__file__).read_text(encoding="utf-8")


def test_a_new_process_knows_every_learner(saved):
    """Learners are imported on first use, and so before a file is read."""
    program = "import sys, likewise as lw; print(type(lw.load(sys.argv[1])).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program, saved], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "MetricKNN", done.stderr
    assert all(
        _files._CLASSES[name] is learner
        for name in lw.__all__
        if inspect.isclass(learner := getattr(lw, name)) and issubclass(learner, BaseEstimator)
    )


def test_describe(saved):
    about = _files.describe(saved)
    assert about["class"] == "MetricKNN"
    assert about["parameters"]["n_neighbors"] == 1
    assert set(about["versions"]) == {"likewise", "numpy", "scikit-learn"}
    assert about["state"]["classes_"] == [3]
