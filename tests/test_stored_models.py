"""Model files of earlier releases load, and the models give the answers that they gave then."""

import importlib
import inspect
import json
import pkgutil
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors

import likewise as lw
from likewise import _files
from likewise.base import Learner

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "store_models.py"))
STORED = sorted(TOOL["FOLDER"].glob("*/*.safetensors"))
ids = [f"{path.parent.name}-{path.stem}" for path in STORED]
# The state is read exactly; only products and sums of other machines differ.
RTOL = 1e-9


def answers_of(path):
    stored = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    rows = stored["rows"] if isinstance(stored["rows"], dict) else np.array(stored["rows"])
    return stored["answers"], TOOL["answers"](lw.load(path), rows, stored["labels"])


def assert_same_answers(found, stored):
    assert set(found) >= set(stored)
    assert stored
    for name, values in stored.items():
        expected = np.array(values)
        if expected.dtype.kind == "f":
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found[name], expected, RTOL, RTOL * scale, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], expected, err_msg=name)


@pytest.mark.parametrize("path", STORED, ids=ids)
def test_a_stored_model_gives_the_answers_that_it_gave(path):
    stored, found = answers_of(path)
    assert_same_answers(found, stored)


def public_estimators():
    modules = [
        importlib.import_module(f"likewise.{module.name}")
        for module in pkgutil.iter_modules(lw.__path__)
        if not module.name.startswith("_") and module.name not in ("cli", "base")
    ]
    named = [
        getattr(module, name)
        for module in [lw, *modules]
        for name in getattr(module, "__all__", ())
    ]
    return {cls.__name__ for cls in named if inspect.isclass(cls) and issubclass(cls, Learner)}


def names_in(content, key):
    """Return the names that a header gives under `key`, at any depth."""
    found = set()
    if isinstance(content, dict):
        if isinstance(content.get(key), str):
            found.add(content[key])
        content = list(content.values())
    if isinstance(content, list):
        found = found.union(*(names_in(item, key) for item in content))
    return found


def metadata_of(path):
    with safetensors.safe_open(path, framework="numpy") as file:
        return file.metadata()


def test_every_public_class_has_a_stored_model():
    assert len(public_estimators()) >= 33
    stored = {type(lw.load(path)).__name__ for path in STORED}
    missing = public_estimators() - stored
    assert not missing, f"add {sorted(missing)} to tools/store_models.py, and run it"


def test_every_kind_of_state_has_a_stored_model():
    stored = set().union(
        *(names_in(json.loads(metadata_of(path)["likewise"]), "$record") for path in STORED)
    )
    ours = {name for name, cls in _files._RECORDS.items() if cls.__module__.startswith("likewise.")}
    assert len(ours) >= 13
    assert not ours - stored


def test_the_stored_files_are_whole_and_small():
    assert {path.stem for path in TOOL["FOLDER"].glob("*/*.json")} == {path.stem for path in STORED}
    files = [*STORED, *(path.with_suffix(".json") for path in STORED)]
    assert sum(path.stat().st_size for path in files) < 1_000_000 * len({p.parent for p in STORED})


def test_another_answer_is_found():
    stored, found = answers_of(TOOL["FOLDER"] / "0.2" / "RCA.safetensors")
    found["transform"][2][1] += 1e-6
    with pytest.raises(AssertionError, match="transform"):
        assert_same_answers(found, stored)
    with pytest.raises(AssertionError):
        assert_same_answers({}, stored)


@pytest.mark.parametrize("name", ["PAMetric", "PLML", "TableModel"])
def test_the_same_case_gives_the_same_model(name, tmp_path):
    contents = []
    for _ in range(2):
        TOOL["store"](name, tmp_path)
        text = (tmp_path / f"{name}.json").read_bytes()
        # Not the bytes: safetensors writes the entries of its header in any order.
        contents.append((text, metadata_of(tmp_path / f"{name}.safetensors")["fingerprint"]))
    assert contents[0] == contents[1]


def test_what_is_stored_is_not_written_again(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "0.2"
    shutil.copytree(TOOL["FOLDER"] / "0.2", folder)
    (folder / "FDA.json").unlink()
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    main = TOOL["main"]
    monkeypatch.setitem(main.__globals__, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.argv", ["store_models.py", "0.2"])
    main()
    after = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert {name for name in after if after[name] != before.get(name)} == {
        "FDA.json",
        "FDA.safetensors",
    }
    assert capsys.readouterr().out.split() == [str(folder / "FDA.safetensors")]
