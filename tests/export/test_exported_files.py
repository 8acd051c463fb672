"""Files: numpy, onnx and sentence-transformers, each read by its target."""

import json
import os

import numpy as np
import pytest
import safetensors.numpy
from exported import MAPS, assert_same_images, images, learned, vectors

from likewise.base import AffineMap
from likewise.export import (
    TARGETS,
    export,
    read_numpy,
    write_numpy,
    write_onnx,
    write_sentence_transformers,
)

MODELS = {**MAPS, "learner": learned()}


@pytest.mark.parametrize("name", MODELS)
def test_numpy(name, tmp_path):
    write_numpy(MODELS[name], tmp_path / "map.npz")
    again, affine = read_numpy(tmp_path / "map.npz"), AffineMap.from_model(MODELS[name])
    np.testing.assert_array_equal(again.W, affine.W)
    np.testing.assert_array_equal(again.mean, affine.mean)
    assert again.normalize is affine.normalize


@pytest.mark.parametrize("content", [b"", b"rubbish", None])
def test_numpy_of_another_kind(content, tmp_path):
    path = tmp_path / "map.npz"
    if content is None:
        np.savez(path, W=np.eye(2))
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a \.npz file with arrays W, mean and normalize"):
        read_numpy(path)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_numpy(tmp_path / "nowhere.npz")


@pytest.mark.parametrize("name", MODELS)
def test_onnx_runs_in_onnxruntime(name, tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx writes the file: likewise[export]")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime runs the file: likewise[test]")
    path = tmp_path / "map.onnx"
    write_onnx(MODELS[name], path)
    made = onnx.load(path)
    assert (made.ir_version, made.opset_import[0].version) == (10, 17)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    X = vectors(50)
    (found,) = session.run(["z"], {"x": X})
    assert_same_images(found, images(MODELS[name], X))
    assert_same_images(found, MODELS[name].transform(X))
    if name == "normalised":
        mean = MAPS[name].mean[None].astype(np.float32)
        zero = AffineMap(MAPS[name].W, mean[0], normalize=True)
        write_onnx(zero, path)
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        assert np.isfinite(session.run(["z"], {"x": mean})[0]).all()


@pytest.mark.parametrize("name", MODELS)
def test_sentence_transformers_format(name, tmp_path):
    """What `Dense.load` and `Normalize.load` read, computed by NumPy as torch would."""
    folder = tmp_path / "adapted"
    write_sentence_transformers(MODELS[name], folder)
    X = vectors(20)
    modules = json.loads((folder / "modules.json").read_text())
    assert [module["idx"] for module in modules] == list(range(len(modules)))
    for module in modules:
        config = json.loads((folder / module["path"] / "config.json").read_text())
        if module["type"] == "sentence_transformers.models.Dense":
            weights = safetensors.numpy.load_file(folder / module["path"] / "model.safetensors")
            assert weights["linear.weight"].shape == (config["out_features"], config["in_features"])
            assert config["activation_function"] == "torch.nn.modules.linear.Identity"
            assert config["bias"] is True
            X = X @ weights["linear.weight"].T + weights["linear.bias"]
        else:
            assert module["type"] == "sentence_transformers.models.Normalize"
            X = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert_same_images(X, images(MODELS[name], vectors(20)))


@pytest.mark.parametrize("name", MODELS)
def test_sentence_transformers_loads_it(name, tmp_path):
    torch = pytest.importorskip("torch", reason="sentence-transformers needs torch")
    library = pytest.importorskip(
        "sentence_transformers", reason="sentence-transformers is not installed"
    )
    write_sentence_transformers(MODELS[name], tmp_path / "adapted")
    encoder = library.SentenceTransformer(str(tmp_path / "adapted"), device="cpu")
    X = vectors(20)
    found = encoder({"sentence_embedding": torch.tensor(X)})["sentence_embedding"]
    assert_same_images(found.detach().numpy(), images(MODELS[name], X))


def test_a_folder_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError, match="exists, but a new folder is to be written"):
        write_sentence_transformers(MAPS["plain"], tmp_path / "there")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        write_sentence_transformers(MAPS["plain"], tmp_path / "a" / "b")

    def fail(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr("likewise.export.sentence_transformers_folder._write_json", fail)
    with pytest.raises(OSError, match="the disk is full"):
        write_sentence_transformers(MAPS["plain"], tmp_path / "new")
    assert os.listdir(tmp_path) == ["there"]


def test_every_target_writes_by_name(tmp_path):
    for name, target in TARGETS.items():
        if name in ("onnx", "faiss"):
            pytest.importorskip(name, reason=f"{name} is part of likewise[export]")
        path = tmp_path / name
        export(MAPS["plain"], name, path, **({"table": "items"} if name == "pgvector" else {}))
        assert path.exists()
        assert "squared" in target.distance
    with pytest.raises(ValueError, match="to is 'excel', but it must be one of numpy, onnx, faiss"):
        export(MAPS["plain"], "excel", tmp_path / "x")


@pytest.mark.parametrize(
    ("to", "options", "message"),
    [
        ("pgvector", {}, "export to pgvector needs the option table, but it is not given."),
        ("onnx", {"table": "x"}, "export to onnx has no option 'table'; its options are: none."),
        ("faiss", {"table": "x"}, "export to faiss has no option 'table'; its .*: vectors."),
        (
            "pgvector",
            {"table": "x", "rows": 1},
            "export to pgvector has no option 'rows'; its options are: table",
        ),
    ],
)
def test_options_of_another_target_are_named(to, options, message, tmp_path):
    with pytest.raises(TypeError, match=f"^{message}"):
        export(MAPS["plain"], to, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "module"), [("onnx", "onnx"), ("faiss", "faiss")])
def test_a_missing_package_is_named(name, module, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ImportError, match=rf'needs {module}, .* pip install "likewise\[export\]"'):
        export(MAPS["plain"], name, tmp_path / "out")
    assert not (tmp_path / "out").exists()
