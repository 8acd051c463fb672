"""The rows that a map is learned from: those of the judgements, and unlabelled ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.tensors import is_tensor
from likewise.adapter._blocked_rows import RowsInBlocks
from likewise.adapter._blocked_source import with_codes
from likewise.adapter._candidate import Candidate
from likewise.adapter._directions import GroupedRows, cluster_discriminants
from likewise.adapter._grouped_rows import RowsInMemory
from likewise.adapter._lengths import BLOCK_ROWS
from likewise.adapter._sources import ArraySource, RowSource

# Directions count from a tenth to three times as much as the embedding as it is. Clusters need not
# be classes: they count no more than the embedding.
_WEIGHTS = (0.1, 0.3, 1.0, 3.0)
_MAX_CLUSTER_WEIGHT = 1.0
# In cross-validation; the map that is kept is learned from all.
MAX_OTHERS = 20_000
_MAX_REFERENCE = 2000
_CLUSTERS = (20, 60)
PRODUCTS_PER_WEIGHT = 500  # judged pairs or triplets that allow a weight of 1


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Rows less their mean, those of the judgements first.

    Attributes
    ----------
    rows : GroupedRows
    judged : array or tensor of shape (n_judged, n_features)
        The rows of the judgements; none where they are labelled and in blocks.
    mean : array of shape (n_features,)
    covariance : array of shape (n_features, n_features)
    """

    rows: GroupedRows
    judged: Array
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

    Rows in blocks are gathered as far as cross-validation needs them: those of the judgements, and
    the sample of others. With labelled rows in blocks that are not gathered, only sums over blocks
    are, and the few rows that are compared.

    Parameters
    ----------
    X : RowSource of shape (n_rows, n_features)
    judged : int array
        The rows of X that judgements are about.
    unlabelled : RowSource of shape (n_unlabelled, n_features), optional
    rng : Generator
        Draws the sample of other rows.
    """

    def __init__(
        self,
        X: RowSource,
        judged: IndexArray,
        unlabelled: RowSource | None,
        rng: np.random.Generator,
    ) -> None:
        self._X = X
        left = np.ones(len(X), dtype=bool)
        left[judged] = False
        self._left = np.flatnonzero(left)
        nothing = np.empty((0, X.shape[1]), dtype=X.dtype)
        self._unlabelled = ArraySource(nothing) if unlabelled is None else unlabelled
        n = self.n_others
        # As numbers of other rows: a copy of the rows would be half of X where X has twice as many.
        self._sample = np.arange(n)
        if n > MAX_OTHERS:
            self._sample = np.sort(rng.choice(n, MAX_OTHERS, replace=False))
        if X.holds(judged):
            of_left, of_unlabelled = self._numbers(self._sample)
            X.gather(of_left)
            self._unlabelled.gather(of_unlabelled)

    @property
    def n_others(self) -> int:
        """The number of rows without a judgement."""
        return len(self._left) + len(self._unlabelled)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self._X.shape[1]

    def take(self, numbers: IndexArray) -> Array:
        """Return rows of X."""
        return self._X.take(numbers)

    def nonzero(self) -> BoolArray:
        """Return which rows of X are not zero."""
        return self._X.nonzero()

    def centred(
        self,
        kept: IndexArray,
        n_jobs: int | None,
        *,
        everything: bool,
        codes: IndexArray | None = None,
    ) -> CentredRows:
        """Return the rows `kept` of X and the others, or a sample of them, less their mean.

        `codes` are the classes of the rows that are kept, if they are labelled.
        """
        others = np.arange(self.n_others) if everything else self._sample
        of_left, of_unlabelled = self._numbers(others)
        X, unlabelled = self._X, self._unlabelled
        if not (X.holds(kept) and X.holds(of_left) and unlabelled.holds(of_unlabelled)):
            return self._centred_in_blocks(kept, codes, of_left, of_unlabelled, n_jobs)
        rows = X.empty(len(kept) + len(others))
        end = len(kept) + len(of_left)
        _gather(X, kept, rows[: len(kept)])
        _gather(X, of_left, rows[len(kept) : end])
        _gather(unlabelled, of_unlabelled, rows[end:])
        grouped, mean, covariance = _centred(rows, codes, n_jobs)
        return CentredRows(grouped, rows[: len(kept)], mean, covariance)

    def reference(self, kept: IndexArray, rng: np.random.Generator) -> Array:
        """Return rows that stand for what a query is compared with."""
        n = len(kept) + len(self._sample)
        chosen = rng.permutation(n)[:_MAX_REFERENCE]
        of_kept = chosen < len(kept)
        others = self._sample[chosen[~of_kept] - len(kept)]
        of_left = others < len(self._left)
        found = self._X.empty(len(chosen))
        n_kept = int(of_kept.sum())
        found[:n_kept] = self.take(kept[chosen[of_kept]])
        if of_left.any():
            places = n_kept + np.flatnonzero(of_left)
            found[places] = self.take(self._left[others[of_left]])
        if not of_left.all():
            places = n_kept + np.flatnonzero(~of_left)
            found[places] = self._unlabelled.take(others[~of_left] - len(self._left))
        return found

    def _numbers(self, others: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the numbers in X, and among the unlabelled rows, of other rows in order."""
        n_left = int(np.searchsorted(others, len(self._left)))
        return self._left[others[:n_left]], others[n_left:] - len(self._left)

    def _centred_in_blocks(
        self,
        kept: IndexArray,
        codes: IndexArray | None,
        of_left: IndexArray,
        of_unlabelled: IndexArray,
        n_jobs: int | None,
    ) -> CentredRows:
        """Return the same rows, which stay where they are, in the same order."""
        X, dtype = self._X, self._X.dtype
        chosen = np.full(len(X), -2)
        chosen[of_left] = -1
        parts, judged = [], np.empty((0, X.shape[1]), dtype=dtype)
        if X.holds(kept):
            judged = X.take(kept)
            parts.append(with_codes(ArraySource(judged).in_blocks(n_jobs), codes, dtype))
        else:
            chosen[kept] = codes
        if (chosen > -2).any():
            parts.append(with_codes(X.in_blocks(n_jobs), chosen, dtype))
        if len(of_unlabelled):
            free = np.full(len(self._unlabelled), -2)
            free[of_unlabelled] = -1
            parts.append(with_codes(self._unlabelled.in_blocks(n_jobs), free, dtype))
        rows, mean, covariance = RowsInBlocks.centred(tuple(parts))
        return CentredRows(rows, judged - mean.astype(dtype), mean, covariance)


def _centred(
    rows: Any, codes: IndexArray | None, n_jobs: int | None
) -> tuple[GroupedRows, FloatArray, FloatArray]:
    """Subtract the mean from rows; return them, the mean and the covariance."""
    if is_tensor(rows):
        from likewise.adapter._torch_grouped_rows import RowsOnDevice

        return RowsOnDevice.centred(rows, codes)
    return RowsInMemory.centred(rows, codes, n_jobs)


def _gather(source: RowSource, numbers: IndexArray, out: Array) -> None:
    """Copy rows of any memory layout, without a second copy of all of them."""
    for start in range(0, len(numbers), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        out[part] = source.take(numbers[part])


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
