"""One pass over the dual variables of constraints on a metric."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.sweeps.compiled import bregman_sweep, margin_sweep
else:
    from likewise._loops.sweeps.reference import bregman_sweep, margin_sweep

__all__ = ["bregman_sweep", "margin_sweep"]
