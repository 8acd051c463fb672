"""Squared distances of pairs, radius search, and the Laplacian of weighted pairs."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.distances.compiled import laplacian_apply, pair_sqdist, radius_scan
else:
    from likewise._loops.distances.reference import laplacian_apply, pair_sqdist, radius_scan

__all__ = ["laplacian_apply", "pair_sqdist", "radius_scan"]
