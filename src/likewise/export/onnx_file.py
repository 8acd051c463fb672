"""The map as an ONNX model: Gemm, and a division by the length if it normalises."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from likewise._runtime.writing import write_atomically
from likewise.base import AffineMap
from likewise.export._extras import require

# Newer ones, which the onnx package writes by default, are refused by current releases of
# onnxruntime.
IR_VERSION, OPSET = 10, 17
_LEAST_LENGTH = 1e-12  # an image of length 0 stays 0


def write_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model as an ONNX file with input ``x`` and output ``z``, both float32 matrices.

    The output are vectors: their Euclidean distance, not squared, is the learned distance.

    Parameters
    ----------
    model : fitted linear metric or AffineMap
    path : str or path
        The file; it appears whole or not at all.
    """
    affine = AffineMap.from_model(model)
    onnx = require("onnx", "onnx")
    helper, numpy_helper = require("onnx.helper", "onnx"), require("onnx.numpy_helper", "onnx")
    constants = {"W": affine.W, "b": affine.bias}
    mapped = "mapped" if affine.normalize else "z"
    nodes = [helper.make_node("Gemm", ["x", "W", "b"], [mapped], transB=1)]
    if affine.normalize:
        constants["least"] = np.array(_LEAST_LENGTH)
        nodes += [
            helper.make_node("ReduceL2", [mapped], ["length"], axes=[1], keepdims=1),
            helper.make_node("Max", ["length", "least"], ["divisor"]),
            helper.make_node("Div", [mapped, "divisor"], ["z"]),
        ]
    float32 = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "likewise",
        [helper.make_tensor_value_info("x", float32, ["n", affine.n_features_in])],
        [helper.make_tensor_value_info("z", float32, ["n", affine.n_components])],
        [numpy_helper.from_array(v.astype(np.float32), name) for name, v in constants.items()],
    )
    made = helper.make_model(
        graph,
        producer_name="likewise",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    onnx.checker.check_model(made)
    write_atomically(path, made.SerializeToString())
