"""The best scores of each query, from tiles of the scores of all points, in bounded memory."""

import numpy as np

from likewise._runtime.arrays import BoolArray, FloatingArray, IndexArray

# Where many points are equal, or each is nearer than the one before, all scores of a tile may be
# the best so far. They are reduced when this many are held for every one that is wanted, which is
# more than most data have.
_HELD_PER_BEST = 4


class BestScores:
    """Points with the best scores of each query of a block, from tiles that are added in turn.

    Those that are held include the `width` best so far: no point that was left out has a better
    score than the last of these. That is so whichever of equal scores are held.

    Parameters
    ----------
    n_queries, width : int
    """

    def __init__(self, n_queries: int, width: int) -> None:
        self._n_queries, self._width = n_queries, width
        self._most = _HELD_PER_BEST * width * n_queries
        self._held: list[tuple[IndexArray, IndexArray, FloatingArray]] = []
        self._n_held = 0
        self._least: FloatingArray = np.full(n_queries, -np.inf, dtype=np.float32)

    def add(
        self, scores: FloatingArray, first: int, least: FloatingArray, needed: BoolArray
    ) -> None:
        """Add a tile of scores.

        Parameters
        ----------
        scores : float32 array of shape (n_queries, n_columns)
            At least `width` columns.
        first : int
            The point of the first column.
        least : float32 array of shape (n_queries,)
            At most the width-th best score so far, this tile included: lower scores are left out.
            In the first tile, `width` scores of each query must reach it.
        needed : bool array of shape (n_queries, n_columns)
            Is overwritten.
        """
        np.greater_equal(scores, np.maximum(least, self._least)[:, None], out=needed)
        place = np.flatnonzero(needed)
        crowded = len(place) > self._most
        if crowded:
            del place  # it may take as much memory as what follows
            best = np.argpartition(scores, -self._width, axis=1)[:, -self._width :]
            place = (best + scores.shape[1] * np.arange(self._n_queries)[:, None]).ravel()
        query, column = np.divmod(place, scores.shape[1])
        self._held.append((query, first + column, scores.ravel()[place]))
        self._n_held += len(place)
        if crowded or self._n_held > self._most:
            points, best_scores = self.best()
            self._held = [
                (
                    np.repeat(np.arange(self._n_queries), self._width),
                    points.ravel(),
                    best_scores.ravel(),
                )
            ]
            self._n_held = points.size
            # Equal scores are not better: only greater ones are added from here on.
            self._least = np.nextafter(best_scores[:, -1], np.float32(np.inf))

    def best(self) -> tuple[IndexArray, FloatingArray]:
        """Return the points of the `width` best scores of each query, best first, and these."""
        query, point, score = (np.concatenate(part) for part in zip(*self._held, strict=True))
        ranked = np.lexsort((-score, query))
        start = np.searchsorted(query[ranked], np.arange(self._n_queries))
        chosen = ranked[start[:, None] + np.arange(self._width)]
        return point[chosen], score[chosen]
