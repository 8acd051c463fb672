"""The unit of squared distance: one rule for ``scale="auto"`` of all learners with a margin."""

from __future__ import annotations

import numpy as np

from likewise._runtime.arrays import Array


def unit_sqdist(similar: Array, every: Array | None = None) -> float:
    """Return the squared distance that ``scale="auto"`` makes 1: the median of similar pairs.

    A margin of 1 fixes a unit of squared distance. With ``scale="auto"`` a learner multiplies X by
    ``1/√unit_sqdist`` first, so that its result does not depend on the units of X.

    Parameters
    ----------
    similar : array of shape (n_similar,)
        Squared distances of the similar pairs. If more than half are 0, the median is that of the
        others.
    every : array of shape (n_pairs,), optional
        Squared distances of all pairs, used instead if those of the similar pairs are all 0.

    Returns
    -------
    float
        1 if all distances are 0.

    Examples
    --------
    >>> import numpy as np
    >>> unit_sqdist(np.array([1.0, 4.0, 9.0]))
    4.0
    """
    for squared in (similar, every):
        if squared is not None and squared.any():
            return float(np.median(squared)) or float(np.median(squared[squared > 0]))
    return 1.0
