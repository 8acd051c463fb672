"""Compiles every kernel for a GPU, without one, and writes what was made as JSON.

Started by `test_triton_compiles` in a process of its own, where Triton does not interpret.
"""

import json
import sys

import torch

from likewise._numerics import triton_pairs
from likewise.neighbors import _triton_radius
from likewise.objectives import triton_hinges, triton_neighbours, triton_softmax

# Shared memory that one program may have, in bytes.
SHARED = {80: 163 * 1024, 90: 227 * 1024}
PAIR_POINTERS = {"rows_ptr": "*i64", "cols_ptr": "*i64", "out_ptr": "*fp64"}


SEARCH = {
    **dict.fromkeys(("low_ptr", "high_ptr", "screen_ptr", "widths_ptr"), "*fp32"),
    **dict.fromkeys(("count_ptr", "found_ptr", "tiles_ptr"), "*i64"),
    **dict.fromkeys(("n_blocks", "first", "capacity"), "i32"),
    "rows_ptr": "*fp16",
    "ends_ptr": "*i32",
}
NEIGHBOURS = {
    **dict.fromkeys(("sqnorms_ptr", "logsumexp_ptr", "probability_ptr"), "*fp32"),
    **dict.fromkeys(("sums_ptr", "totals_ptr"), "*fp32"),
    **dict.fromkeys(("n_samples", "n_padded", "first_chunk"), "i32"),
    **dict.fromkeys(("high_ptr", "low_ptr"), "*fp16"),
    "codes_ptr": "*i32",
    "unit": "fp32",
}


def search(kernel, depth, step, **constants):
    sizes = {"DEPTH": depth, "DEPTH_STEP": step, "BLOCK_ROWS": 128, "BLOCK_COLS": 64}
    return kernel, SEARCH, {**sizes, **constants}, {"num_warps": 4, "num_stages": 3}


def screen(depth, step):
    return search(_triton_radius._screen_kernel, depth, step, CHUNK=4096)


def candidates(depth, step):
    parts = _triton_radius._TILE_PARTS
    kernel, types, constants, options = search(
        _triton_radius._candidates_kernel, depth, step, PARTS=parts
    )
    constants["BLOCK_ROWS"] //= parts
    return kernel, types, constants, {**options, "num_warps": _triton_radius._CANDIDATE_WARPS}


def neighbours(kernel, tiles, capability, **constants):
    depth = {"FIRST": 128, "SECOND": 64, "CHUNK": 2048}
    triton_neighbours._INTERPRETED_SHARED = SHARED[capability]
    tile = triton_neighbours.fitting_tile(tiles, 192, torch.device("cpu"))
    options = {name: tile.pop(name) for name in ("num_warps", "num_stages")}
    return kernel, NEIGHBOURS, {**depth, **constants, **tile}, options


def sqdist(dtype):
    return (
        triton_pairs._sqdist_kernel,
        {"Z_ptr": dtype, "points_ptr": dtype, **PAIR_POINTERS, "n_pairs": "i32"},
        {"FEATURES": 50, "PAIRS": 64},
        {"num_warps": 4, "enable_fp_fusion": False},
    )


def sums(dtype):
    integers = ("rows_ptr", "starts_ptr", "stops_ptr", "places_ptr", "others_ptr")
    return (
        triton_pairs._sums_kernel,
        {
            **dict.fromkeys(integers, "*i64"),
            **dict.fromkeys(("weights_ptr", "out_ptr"), "*fp64"),
            "Z_ptr": dtype,
            "n_features": "i32",
        },
        {"FEATURES": 64, "AT_ONCE": 4},
        {"num_warps": 1},
    )


def hinges(smoothed):
    doubles = ("targets", "impostors", "weights", "numbers", "losses", "of_targets", "of_impostors")
    return (
        triton_hinges._losses_kernel,
        {
            **dict.fromkeys((f"{name}_ptr" for name in doubles), "*fp64"),
            **dict.fromkeys(("target_starts_ptr", "impostor_starts_ptr"), "*i64"),
        },
        {"TARGETS": 4, "AT_ONCE": 64, "SMOOTHED": smoothed},
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


def kernels(capability):
    """Return what is compiled, by name."""
    fused = triton_neighbours
    return {
        "screen, 64 features": screen(64, 64),
        "screen, 192 features": screen(192, 64),
        "candidates, 64 features": candidates(64, 64),
        "candidates, 192 features": candidates(192, 64),
        "sqdist, float32": sqdist("*fp32"),
        "sqdist, float64": sqdist("*fp64"),
        "sums, float32": sums("*fp32"),
        "sums, float64": sums("*fp64"),
        "hinges": hinges(False),
        "hinges, smoothed": hinges(True),
        "softmax": softmax(),
        "probabilities of neighbours": neighbours(
            fused._probability_kernel, fused._PROBABILITY_TILES, capability
        ),
        "sums of neighbours": neighbours(
            fused._sums_kernel, fused._SUM_TILES, capability, WEIGHT_SCALE=fused._WEIGHT_SCALE
        ),
    }


def main(capability):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    made = {}
    for name, (kernel, types, constants, options) in kernels(capability).items():
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
            "allowed": SHARED[capability],
            "cubin": len(compiled.asm["cubin"]),
            "ptx": compiled.asm["ptx"],
        }
    json.dump(made, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
