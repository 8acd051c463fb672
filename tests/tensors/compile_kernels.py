"""Compiles every kernel for a GPU, without one, and writes what was made as JSON.

Started by `test_triton_compiles` in a process of its own, where Triton does not interpret.
"""

import json
import sys

from likewise._numerics import triton_pairs
from likewise.neighbors import _triton_radius
from likewise.objectives import triton_softmax

TILE = {"BLOCK_ROWS": 128, "BLOCK_COLS": 64, "CHUNK": 4096}
PAIR_POINTERS = {"rows_ptr": "*i64", "cols_ptr": "*i64", "out_ptr": "*fp64"}


def scan(depth, step):
    return (
        _triton_radius._scan_kernel,
        {
            **dict.fromkeys(("low_ptr", "high_ptr"), "*fp32"),
            **dict.fromkeys(("count_ptr", "found_ptr"), "*i64"),
            **dict.fromkeys(("n_tiles", "first", "capacity"), "i32"),
            "rows_ptr": "*fp16",
            "ends_ptr": "*i32",
        },
        {"DEPTH": depth, "DEPTH_STEP": step, **TILE},
        {"num_warps": 4, "num_stages": 3},
    )


def sqdist(dtype):
    return (
        triton_pairs._sqdist_kernel,
        {"Z_ptr": dtype, "points_ptr": dtype, **PAIR_POINTERS, "n_pairs": "i32"},
        {"FEATURES": 50, "PAIRS": 64},
        {"num_warps": 4, "enable_fp_fusion": False},
    )


def laplacian(dtype):
    return (
        triton_pairs._laplacian_kernel,
        {
            **dict.fromkeys(("starts_ptr", "others_ptr", "pairs_ptr"), "*i64"),
            **dict.fromkeys(("weights_ptr", "out_ptr"), "*fp64"),
            "Z_ptr": dtype,
            "n_features": "i32",
        },
        {"FEATURES": 64, "AT_ONCE": 8},
        {"num_warps": 1},
    )


def softmax():
    return (
        triton_softmax._softmax_kernel,
        {
            **dict.fromkeys(("products_ptr", "sqnorms_ptr", "probability_ptr"), "*fp64"),
            **dict.fromkeys(("anchors_ptr", "classes_ptr"), "*i64"),
            "n_samples": "i32",
        },
        {"BLOCK": 2048},
        {"num_warps": 8},
    )


KERNELS = {
    "scan, 64 features": scan(64, 64),
    "scan, 192 features": scan(192, 64),
    "sqdist, float32": sqdist("*fp32"),
    "sqdist, float64": sqdist("*fp64"),
    "laplacian, float32": laplacian("*fp32"),
    "laplacian, float64": laplacian("*fp64"),
    "softmax": softmax(),
}


def main(capability):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    made = {}
    for name, (kernel, types, constants, options) in KERNELS.items():
        signature = {argument: types.get(argument, "constexpr") for argument in kernel.arg_names}
        aligned = {
            (place,): [["tt.divisibility", 16]]
            for place, type_name in enumerate(signature.values())
            if type_name.startswith("*")
        }
        source = ASTSource(kernel, signature, constants, aligned)
        compiled = triton.compile(source, GPUTarget("cuda", capability, 32), options)
        made[name] = {
            "shared": compiled.metadata.shared,
            "cubin": len(compiled.asm["cubin"]),
            "ptx": compiled.asm["ptx"],
        }
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
