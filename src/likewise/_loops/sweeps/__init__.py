"""One pass over the dual variables of margin constraints on a metric."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.sweeps.compiled import margin_sweep
else:
    from likewise._loops.sweeps.reference import margin_sweep

__all__ = ["margin_sweep"]
