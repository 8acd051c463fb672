"""Which worker of a cluster has which block."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping


def assigned(
    places: Iterable[int], before: Mapping[int, str], threads: Mapping[str, int]
) -> dict[int, str]:
    """Return the worker of each place: as many places per thread everywhere.

    Places stay where they were `before`, unless their worker is gone or has more than its share.

    Parameters
    ----------
    places : iterable of int
    before : mapping from int to str
        Workers of places that were assigned earlier; they are assigned again.
    threads : mapping from str to int
        The number of threads of each worker; not empty.
    """
    wanted = sorted({*places, *before})
    total = sum(threads.values())
    shares = {w: math.ceil(len(wanted) * threads[w] / total) for w in sorted(threads)}
    held: dict[str, list[int]] = {worker: [] for worker in shares}
    moved = []
    for place in wanted:
        worker = before.get(place, "")
        if worker in held and len(held[worker]) < shares[worker]:
            held[worker].append(place)
        else:
            moved.append(place)
    for place in moved:
        free = [worker for worker, share in shares.items() if len(held[worker]) < share]
        least = min(free, key=lambda worker: (len(held[worker]) + 1) / threads[worker])
        held[least].append(place)
    return {place: worker for worker, of_worker in held.items() for place in of_worker}
