"""The rows that a map is learned from: those of the judgements, and unlabelled ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise._numerics.products import product_over_rows
from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise.adapter._candidate import Candidate
from likewise.adapter._directions import cluster_discriminants
from likewise.adapter._lengths import BLOCK_ROWS

# Directions count from a tenth to three times as much as the embedding as it is. Clusters need not
# be classes: they count no more than the embedding.
_WEIGHTS = (0.1, 0.3, 1.0, 3.0)
_MAX_CLUSTER_WEIGHT = 1.0
# In cross-validation; the map that is kept is learned from all.
_MAX_OTHERS = 20_000
_MAX_REFERENCE = 2000
_CLUSTERS = (20, 60)
PRODUCTS_PER_WEIGHT = 500  # judged pairs or triplets that allow a weight of 1


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows less their mean, those of the judgements first.

    Attributes
    ----------
    rows : array of shape (n_rows, n_features)
    mean : array of shape (n_features,)
    covariance : array of shape (n_features, n_features)
    """

    rows: Array
    mean: FloatArray
    covariance: FloatArray

    def candidates(self, families: dict[str, FloatArray | None]) -> list[Candidate]:
        """Return the maps to choose from: rows centred, and each family with each weight."""
        d, scale = len(self.mean), float(np.trace(self.covariance))
        if not scale > 0:
            return []
        none = np.empty((0, d))
        found = [Candidate("centred", 0.0, self.mean, scale, none)]
        for family, F in families.items():
            if F is not None:
                most = _MAX_CLUSTER_WEIGHT if family.endswith("clusters") else _WEIGHTS[-1]
                weights = [w for w in _WEIGHTS if w <= most]
                found += [Candidate(family, w, self.mean, scale, F) for w in weights]
        return found


class RowPool:
    """The rows with judgements, and all others.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    judged : int array
        The rows of X that judgements are about.
    unlabelled : array of shape (n_unlabelled, n_features), optional
    rng : Generator
        Draws the sample of other rows.
    """

    def __init__(
        self, X: Array, judged: IndexArray, unlabelled: Array | None, rng: np.random.Generator
    ) -> None:
        self.X = X
        left = np.ones(len(X), dtype=bool)
        left[judged] = False
        self._left = np.flatnonzero(left)
        self._unlabelled = X[:0] if unlabelled is None else unlabelled
        n = self.n_others
        # As numbers of other rows: a copy of the rows would be half of X where X has twice as many.
        self._sample = np.arange(n)
        if n > _MAX_OTHERS:
            self._sample = np.sort(rng.choice(n, _MAX_OTHERS, replace=False))

    @property
    def n_others(self) -> int:
        """The number of rows without a judgement."""
        return len(self._left) + len(self._unlabelled)

    def centred(self, kept: IndexArray, n_jobs: int | None, *, everything: bool) -> CentredRows:
        """Return the rows `kept` of X and the others, or a sample of them, less their mean."""
        others = np.arange(self.n_others) if everything else self._sample
        rows = np.empty((len(kept) + len(others), self.X.shape[1]), dtype=self.X.dtype)
        n_left = int(np.searchsorted(others, len(self._left)))
        end = len(kept) + n_left
        _gather(self.X, kept, rows[: len(kept)])
        _gather(self.X, self._left[others[:n_left]], rows[len(kept) : end])
        _gather(self._unlabelled, others[n_left:] - len(self._left), rows[end:])
        mean = rows.mean(axis=0, dtype=np.float64)
        rows -= mean.astype(rows.dtype)
        covariance = product_over_rows(rows, rows, n_jobs) / len(rows)
        return CentredRows(rows, mean, covariance)

    def reference(self, kept: IndexArray, rng: np.random.Generator) -> Array:
        """Return rows that stand for what a query is compared with."""
        n = len(kept) + len(self._sample)
        chosen = rng.permutation(n)[:_MAX_REFERENCE]
        of_kept = chosen < len(kept)
        others = self._sample[chosen[~of_kept] - len(kept)]
        of_left = others < len(self._left)
        found = np.empty((len(chosen), self.X.shape[1]), dtype=self.X.dtype)
        n_kept = int(of_kept.sum())
        found[:n_kept] = self.X[kept[chosen[of_kept]]]
        found[n_kept:][of_left] = self.X[self._left[others[of_left]]]
        found[n_kept:][~of_left] = self._unlabelled[others[~of_left] - len(self._left)]
        return found


def _gather(source: Array, numbers: IndexArray, out: Array) -> None:
    """Copy rows of any memory layout, without a second copy of all of them."""
    for start in range(0, len(numbers), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        out[part] = source[numbers[part]]


def with_clusters(
    start: FloatArray | None, centred: CentredRows, rng: np.random.Generator
) -> dict[str, FloatArray | None]:
    """Return directions learned from judgements, and those of clusters of all rows under them."""
    families = {"ridge": start}
    if start is not None:
        for n_clusters in _CLUSTERS:
            families[f"{n_clusters} clusters"] = cluster_discriminants(
                start, centred.rows, centred.covariance, n_clusters, rng
            )
    return families
