"""Judgements by triplets: an anchor is more like one row than like another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise.adapter._bilinear_ridge import ridge_directions
from likewise.adapter._candidate import Candidate, Similarity
from likewise.adapter._evidence import Evidence, Key, no_evidence
from likewise.adapter._learned import learned_directions
from likewise.adapter._lengths import unit_rows
from likewise.adapter._rows import PRODUCTS_PER_WEIGHT, CentredRows, RowPool, with_clusters
from likewise.constraints import Triplets
from likewise.statistics.pair_split import assign_units

_FOLDS = 3
_REPEATS = 5  # of the folds, where triplets straddle them and are lost
_MIN_TESTED = 40


@dataclass(frozen=True, eq=False)
class JudgedTriplets:
    """Triplets of rows of X: anchor, positive, negative.

    Attributes
    ----------
    triplets : Triplets
    metric : metric learner or None
        A further family of maps.
    queries : int array of shape (n_triplets,), optional
        The query of each triplet, where they come from lists of relevant rows. Queries are then
        held out, and count alike; the rows that they are compared with are those of any query, as
        they are in use.
    """

    triplets: Triplets
    metric: Any
    queries: IndexArray | None = None

    criteria: ClassVar[tuple[str, ...]] = ("ordered",)
    caution: ClassVar[float] = 2.0

    @property
    def noun(self) -> str:
        """What a judgement is."""
        return "triplet" if self.queries is None else "query"

    @property
    def measure(self) -> str:
        """What the gain is of."""
        if self.queries is None:
            return "share of triplets in the right order"
        return "share of relevant rows ahead of irrelevant ones"

    def __len__(self) -> int:
        if self.queries is None:
            return len(self.triplets)
        return len(np.unique(self.queries))

    @property
    def judged(self) -> IndexArray:
        """The rows in triplets."""
        return np.unique(self.triplets.index)

    def subset(self, n: int, rng: np.random.Generator) -> tuple[Self, None]:
        """Return n of the triplets, or those of n queries; all rows are kept."""
        if self.queries is None:
            chosen = np.sort(rng.permutation(len(self.triplets))[:n])
        else:
            drawn = rng.permutation(np.unique(self.queries))[:n]
            chosen = np.flatnonzero(np.isin(self.queries, drawn))
        return self._some(chosen), None

    def learn(self, pool: RowPool, n_jobs: int | None) -> list[Candidate]:
        """Return the maps that are learned from all triplets."""
        kept = self.judged
        centred = pool.centred(kept, n_jobs, everything=True)
        return self._candidates(kept, centred, pool, np.random.default_rng(0))

    def evidence(
        self, pool: RowPool, similarity: Similarity, rng: np.random.Generator, n_jobs: int | None
    ) -> Iterator[Evidence]:
        """Compare the maps on triplets of held-out items; the last yielded counts all."""
        index = self.triplets.index
        n_tested = np.zeros(len(index))
        ordered: dict[Key, FloatArray] = {}
        for train, test in self._splits(rng):
            part = self._some(np.flatnonzero(train))
            kept = np.setdiff1d(self.judged, index[test])
            kept = np.union1d(kept, part.judged)
            centred = pool.centred(kept, n_jobs, everything=False)
            learned = part._candidates(kept, centred, pool, rng)
            anchor, positive, negative = (pool.X[index[test, j]] for j in range(3))
            n_tested[test] += 1
            for c in [Candidate.identity(pool.X.shape[1]), *learned]:
                gap = similarity.of_pairs(c, anchor, positive) - similarity.of_pairs(
                    c, anchor, negative
                )
                total = ordered.setdefault((c.family, c.weight), np.zeros((len(index), 2)))
                total[test, 0] += np.where(gap == 0, 0.5, gap > 0)
                total[test, 1] += 1
            yield self._summary(ordered, n_tested)

    def _splits(self, rng: np.random.Generator) -> Iterator[tuple[BoolArray, BoolArray]]:
        index = self.triplets.index
        if min(len(self), len(self.judged)) < 2 * _FOLDS:
            return
        for _ in range(_REPEATS):
            if self.queries is None:
                edges = np.concatenate([index[:, [0, 1]], index[:, [0, 2]]])
                folds = assign_units(edges, np.full(_FOLDS, 1 / _FOLDS), rng)[index]
            else:
                of_query = rng.permutation(int(self.queries.max()) + 1) % _FOLDS
                folds = np.repeat(of_query[self.queries][:, None], 3, axis=1)
            for fold in range(_FOLDS):
                inside = folds == fold
                train, test = ~inside.any(axis=1), inside.all(axis=1)
                if train.any() and test.any():
                    yield train, test
            if (folds == folds[:, :1]).all():  # none was lost: all were tested
                return

    def _candidates(
        self,
        kept: IndexArray,
        centred: CentredRows,
        pool: RowPool,
        rng: np.random.Generator,
    ) -> list[Candidate]:
        index = np.searchsorted(kept, self.triplets.index)
        rows = unit_rows(centred.rows[: len(kept)].astype(np.float64))
        anchor, positive, negative = (rows[index[:, j]] for j in range(3))
        ones = np.ones(len(index))
        start = ridge_directions(
            anchor, positive - negative, ones, ones, centred.covariance, intercept=False
        )
        families = with_clusters(start, centred, rng)
        if self.metric is not None:
            families["metric"] = learned_directions(
                self.metric, "fit_triplets", (pool.X[kept], index), centred.covariance
            )
        return centred.candidates(families)

    def _summary(self, ordered: dict[Key, FloatArray], n_tested: FloatArray) -> Evidence:
        tested = n_tested > 0
        identity, *keys = ordered
        keys = [key for key in keys if (ordered[key][:, 1] == n_tested).all()]
        if not keys or tested.sum() < _MIN_TESTED:
            return no_evidence(self.criteria, self.caution, len(self))
        baseline = ordered[identity][tested, 0]
        gains, errors = [], []
        for key in keys:
            difference = (ordered[key][tested, 0] - baseline) / n_tested[tested]
            gain, error = self._mean(difference, tested)
            gains.append([gain])
            errors.append([error])
        return Evidence(
            keys,
            self.criteria,
            np.array(gains),
            np.array(errors),
            self.caution,
            len(self),
            max_weight=len(self.triplets) / PRODUCTS_PER_WEIGHT,
        )

    def _mean(self, values: FloatArray, tested: BoolArray) -> tuple[float, float]:
        """Return a mean over triplets, or over queries, with its standard error."""
        if self.queries is not None:
            codes = np.unique(self.queries[tested], return_inverse=True)[1]
            per_query = np.bincount(codes, values) / np.bincount(codes)
            n = len(per_query)
            return float(per_query.mean()), float(per_query.std(ddof=1) / np.sqrt(n))
        mean, m = float(values.mean()), len(values)
        influence = (values - mean) / m
        # Triplets that share a row are dependent. Each has three rows, so that its own square is
        # in the sum over rows three times.
        index = self.triplets.index[tested]
        sums = np.zeros(int(index.max()) + 1)
        for column in index.T:
            np.add.at(sums, column, influence)
        squares = float(influence @ influence)
        return mean, float(np.sqrt(max(squares, float(sums @ sums) - 2 * squares)))

    def _some(self, chosen: IndexArray) -> Self:
        queries = None if self.queries is None else self.queries[chosen]
        return type(self)(Triplets(self.triplets.index[chosen]), self.metric, queries)
