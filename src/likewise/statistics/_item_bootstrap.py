"""Error rates of resampled items."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray

N_REPLICATES = 1000


def bootstrap_rates(
    units: IndexArray,
    n_errors: IndexArray,
    random_state: int,
    n_replicates: int = N_REPLICATES,
) -> FloatArray:
    """Return the error rates of resampled units, one row for each replicate.

    Units are drawn with replacement. A pair counts as often as both of its units were drawn: the
    product of how often each was. A pair within a subject counts as often as the subject.

    Parameters
    ----------
    units : array of shape (n_pairs, 2)
        The units of the pairs, in the order in which they become errors.
    n_errors : array of int of shape (n_rates,)
        The rates wanted: those when the first `n_errors` of the pairs are errors.
    random_state : int
        Decides the draws.
    n_replicates : int
        Number of draws.

    Returns
    -------
    array of shape (n_replicates, n_rates)
    """
    rng = np.random.default_rng(random_state)
    present, codes = np.unique(units, return_inverse=True)
    first, second = codes.reshape(units.shape).T.astype(np.int32)
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    within = np.flatnonzero(first == second)
    # Sums over the pairs between one wanted number of errors and the next.
    stops = np.unique(np.append(n_errors[n_errors > 0], len(units)))
    starts = np.concatenate([[0], stops[:-1]])
    positions = np.searchsorted(stops, n_errors)
    rates = np.empty((n_replicates, len(n_errors)))
    weights, of_second = np.empty(len(units)), np.empty(len(units))
    for replicate in range(n_replicates):
        total = 0.0
        while not total:  # with few units, a draw may hold no pair
            draws = np.bincount(
                rng.integers(len(present), size=len(present)), minlength=len(present)
            )
            drawn = draws.astype(np.float64)
            np.take(drawn, first, out=weights, mode="clip")
            np.take(drawn, second, out=of_second, mode="clip")
            of_second[within] = 1.0
            weights *= of_second
            sums = np.cumsum(np.add.reduceat(weights, starts))
            total = sums[-1]
        rates[replicate] = np.where(n_errors > 0, sums[positions], 0.0) / total
    return rates
