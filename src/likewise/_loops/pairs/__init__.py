"""Online metric learning: one step per pair."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.pairs.compiled import (
        low_rank_psd_steps,
        pair_block_steps,
        pair_differences,
        pair_gram_steps,
        pair_psd_steps,
        pair_step,
        pair_steps,
        signed_rows,
        triangle_quadratics,
    )
else:
    from likewise._loops.pairs.reference import (
        low_rank_psd_steps,
        pair_block_steps,
        pair_differences,
        pair_gram_steps,
        pair_psd_steps,
        pair_step,
        pair_steps,
        signed_rows,
        triangle_quadratics,
    )

__all__ = [
    "low_rank_psd_steps",
    "pair_block_steps",
    "pair_differences",
    "pair_gram_steps",
    "pair_psd_steps",
    "pair_step",
    "pair_steps",
    "signed_rows",
    "triangle_quadratics",
]
