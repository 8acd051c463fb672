"""The loops that NumPy has no single call for.

Each has a NumPy twin in `reference`, which defines it, and a compiled form. One of the two is
chosen here, once: the compiled one where it was built, unless ``LIKEWISE_LOOPS=numpy`` asks
for the twins. Every name in `NAMES` (loops over whole arrays), `BATCH_NAMES` (the inner loops of
batch learners), `STREAM_NAMES` (pairs, event by event) and `CLASSIFIER_NAMES` (labelled rows, event
by event) is a function of this module.
"""

import os
from importlib.util import find_spec

from likewise._loops.batch_common import NEGLIGIBLE, Softmax
from likewise._loops.classifier_common import ClassifierRule
from likewise._loops.common import TooManyPairs
from likewise._loops.stream_common import LowRankMetric, StepRule, Steps

NAMES = ("group_hinges", "laplacian_apply", "pair_sqdist", "radius_scan")
BATCH_NAMES = (
    "bregman_sweep",
    "invaded_hinges",
    "invader_hinges",
    "margin_sweep",
    "near_softmax",
    "softmax_rows",
)
STREAM_NAMES = (
    "low_rank_psd_steps",
    "pair_block_steps",
    "pair_differences",
    "pair_gram_steps",
    "pair_psd_steps",
    "pair_step",
    "pair_steps",
    "signed_rows",
    "triangle_quadratics",
)
CLASSIFIER_NAMES = (
    "block_events",
    "csr_events",
    "dense_events",
    "event_learner",
    "factor_events",
    "low_rank_events",
)


def choose_backend(wish: str, compiled: bool) -> str:
    """Return ``"native"`` or ``"numpy"``: what is wished for, else the fastest there is."""
    if wish not in ("", "native", "numpy"):
        raise ValueError(f"LIKEWISE_LOOPS must be 'native', 'numpy' or empty, not {wish!r}.")
    if wish == "native" and not compiled:
        raise ImportError(
            "LIKEWISE_LOOPS is 'native', but this installation of likewise has no compiled "
            "loops; reinstall it where there is a C++ compiler, or leave the variable empty."
        )
    return wish or ("native" if compiled else "numpy")


BACKEND = choose_backend(
    os.environ.get("LIKEWISE_LOOPS", ""), find_spec("likewise._loops._native") is not None
)

if BACKEND == "native":
    from likewise._loops.batch_compiled import (
        bregman_sweep,
        invaded_hinges,
        invader_hinges,
        margin_sweep,
        near_softmax,
        softmax_rows,
    )
    from likewise._loops.classifier_compiled import (
        block_events,
        csr_events,
        dense_events,
        event_learner,
        factor_events,
        low_rank_events,
    )
    from likewise._loops.compiled import group_hinges, laplacian_apply, pair_sqdist, radius_scan
    from likewise._loops.stream_compiled import (
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
    from likewise._loops.batch_reference import (
        bregman_sweep,
        invaded_hinges,
        invader_hinges,
        margin_sweep,
        near_softmax,
        softmax_rows,
    )
    from likewise._loops.classifier_reference import (
        block_events,
        csr_events,
        dense_events,
        event_learner,
        factor_events,
        low_rank_events,
    )
    from likewise._loops.reference import group_hinges, laplacian_apply, pair_sqdist, radius_scan
    from likewise._loops.stream_reference import (
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
    "BACKEND",
    "BATCH_NAMES",
    "CLASSIFIER_NAMES",
    "NAMES",
    "NEGLIGIBLE",
    "STREAM_NAMES",
    "ClassifierRule",
    "LowRankMetric",
    "Softmax",
    "StepRule",
    "Steps",
    "TooManyPairs",
    "block_events",
    "bregman_sweep",
    "choose_backend",
    "csr_events",
    "dense_events",
    "event_learner",
    "factor_events",
    "group_hinges",
    "invaded_hinges",
    "invader_hinges",
    "laplacian_apply",
    "low_rank_events",
    "low_rank_psd_steps",
    "margin_sweep",
    "near_softmax",
    "pair_block_steps",
    "pair_differences",
    "pair_gram_steps",
    "pair_psd_steps",
    "pair_sqdist",
    "pair_step",
    "pair_steps",
    "radius_scan",
    "signed_rows",
    "softmax_rows",
    "triangle_quadratics",
]
