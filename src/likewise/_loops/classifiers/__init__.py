"""Online classification: one step per labelled row."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.classifiers.compiled import (
        block_events,
        csr_events,
        dense_events,
        event_learner,
        factor_events,
        low_rank_events,
    )
else:
    from likewise._loops.classifiers.reference import (
        block_events,
        csr_events,
        dense_events,
        event_learner,
        factor_events,
        low_rank_events,
    )

__all__ = [
    "block_events",
    "csr_events",
    "dense_events",
    "event_learner",
    "factor_events",
    "low_rank_events",
]
