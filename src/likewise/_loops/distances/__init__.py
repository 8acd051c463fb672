"""Squared distances of pairs, radius search, and the Laplacian of weighted pairs."""

from likewise._loops.backend import BACKEND

if BACKEND == "native":
    from likewise._loops.distances.compiled import (
        incidence,
        laplacian_apply,
        laplacian_slices,
        pack_rows,
        pair_sqdist,
        radius_scan,
        scan_packed,
        smallest_of_groups,
    )
else:
    from likewise._loops.distances.reference import (
        incidence,
        laplacian_apply,
        laplacian_slices,
        pack_rows,
        pair_sqdist,
        radius_scan,
        scan_packed,
        smallest_of_groups,
    )

__all__ = [
    "incidence",
    "laplacian_apply",
    "laplacian_slices",
    "pack_rows",
    "pair_sqdist",
    "radius_scan",
    "scan_packed",
    "smallest_of_groups",
]
