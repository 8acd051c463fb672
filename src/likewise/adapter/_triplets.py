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
from likewise.adapter._items import without_items
from likewise.adapter._learned import learned_directions
from likewise.adapter._lengths import in_double_precision, unit_rows
from likewise.adapter._rows import PRODUCTS_PER_WEIGHT, RowPool, with_clusters
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
    items : int array of shape (n_rows,)
        Equal rows in triplets have equal numbers: they are held out together.
    metric : metric learner or None
        A further family of maps.
    by_query : bool
        Whether the triplets come from lists of rows that are relevant to queries, the anchors.
        Queries are then held out, and count alike; the rows that they are compared with are those
        of any query, as they are in use.
    """

    triplets: Triplets
    items: IndexArray
    metric: Any
    by_query: bool = False

    criteria: ClassVar[tuple[str, ...]] = ("ordered",)
    caution: ClassVar[float] = 2.0

    @property
    def noun(self) -> str:
        """What a judgement is."""
        return "query" if self.by_query else "triplet"

    @property
    def measure(self) -> str:
        """What the gain is of."""
        if self.by_query:
            return "share of relevant rows ahead of irrelevant ones"
        return "share of triplets in the right order"

    def __len__(self) -> int:
        return len(np.unique(self._queries)) if self.by_query else len(self.triplets)

    @property
    def judged(self) -> IndexArray:
        """The rows in triplets."""
        return np.unique(self.triplets.index)

    @property
    def _queries(self) -> IndexArray:
        """The query of each triplet; equal rows are one query."""
        return self.items[self.triplets.index[:, 0]]

    def subset(self, n: int, rng: np.random.Generator) -> tuple[Self, None]:
        """Return n of the triplets, or those of n queries; all rows are kept."""
        if self.by_query:
            drawn = rng.permutation(np.unique(self._queries))[:n]
            chosen = np.flatnonzero(np.isin(self._queries, drawn))
        else:
            chosen = np.sort(rng.permutation(len(self.triplets))[:n])
        return self._some(chosen), None

    def learn(self, pool: RowPool, n_jobs: int | None) -> list[Candidate]:
        """Return the maps that are learned from all triplets."""
        rng = np.random.default_rng(0)
        return self._candidates(self.judged, pool, rng, n_jobs, everything=True)

    def evidence(
        self, pool: RowPool, similarity: Similarity, rng: np.random.Generator, n_jobs: int | None
    ) -> Iterator[Evidence]:
        """Compare the maps on triplets of held-out items; the last yielded counts all."""
        index = self.triplets.index
        n_tested = np.zeros(len(index))
        ordered: dict[Key, FloatArray] = {}
        for train, test in self._splits(rng):
            part = self._some(np.flatnonzero(train))
            kept = without_items(self.judged, self.items, index[test])
            kept = np.union1d(kept, part.judged)
            learned = part._candidates(kept, pool, rng, n_jobs, everything=False)
            anchor, positive, negative = (pool.take(index[test, j]) for j in range(3))
            n_tested[test] += 1
            for c in [Candidate.identity(pool.n_features), *learned]:
                gap = similarity.of_pairs(c, anchor, positive) - similarity.of_pairs(
                    c, anchor, negative
                )
                total = ordered.setdefault((c.family, c.weight), np.zeros((len(index), 2)))
                total[test, 0] += np.where(gap == 0, 0.5, gap > 0)
                total[test, 1] += 1
            yield self._summary(ordered, n_tested)

    def _splits(self, rng: np.random.Generator) -> Iterator[tuple[BoolArray, BoolArray]]:
        units = self.items[self.triplets.index]
        if min(len(self), len(np.unique(units))) < 2 * _FOLDS:
            return
        for _ in range(_REPEATS):
            if self.by_query:
                queries, codes = np.unique(self._queries, return_inverse=True)
                of_query = rng.permutation(len(queries)) % _FOLDS
                folds = np.repeat(of_query[codes][:, None], 3, axis=1)
            else:
                edges = np.concatenate([units[:, [0, 1]], units[:, [0, 2]]])
                folds = assign_units(edges, np.full(_FOLDS, 1 / _FOLDS), rng)[units]
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
        pool: RowPool,
        rng: np.random.Generator,
        n_jobs: int | None,
        *,
        everything: bool,
    ) -> list[Candidate]:
        centred = pool.centred(kept, n_jobs, everything=everything)
        index = np.searchsorted(kept, self.triplets.index)
        rows = unit_rows(in_double_precision(centred.judged))
        anchor, positive, negative = (rows[index[:, j]] for j in range(3))
        ones = np.ones(len(index))
        start = ridge_directions(
            anchor, positive - negative, ones, ones, centred.covariance, intercept=False
        )
        families = with_clusters(start, centred, rng)
        if self.metric is not None:
            families["metric"] = learned_directions(
                self.metric, "fit_triplets", (pool.take(kept), index), centred.covariance
            )
        return centred.candidates(families)

    def _summary(self, ordered: dict[Key, FloatArray], n_tested: FloatArray) -> Evidence:
        tested = n_tested > 0
        identity, *keys = ordered
        keys = [key for key in keys if (ordered[key][:, 1] == n_tested).all()]
        # A triplet that is judged again, as it is or by its copies, counts once.
        n_distinct = len(np.unique(self.items[self.triplets.index[tested]], axis=0))
        if not keys or n_distinct < _MIN_TESTED:
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
        if self.by_query:
            codes = np.unique(self._queries[tested], return_inverse=True)[1]
            per_query = np.bincount(codes, values) / np.bincount(codes)
            n = len(per_query)
            return float(per_query.mean()), float(per_query.std(ddof=1) / np.sqrt(n))
        mean, m = float(values.mean()), len(values)
        influence = (values - mean) / m
        # Triplets that share an item are dependent. Each has three, so that its own square is in
        # the sum over items three times.
        units = self.items[self.triplets.index[tested]]
        sums = np.zeros(int(units.max()) + 1)
        for column in units.T:
            np.add.at(sums, column, influence)
        squares = float(influence @ influence)
        return mean, float(np.sqrt(max(squares, float(sums @ sums) - 2 * squares)))

    def _some(self, chosen: IndexArray) -> Self:
        some = Triplets(self.triplets.index[chosen])
        return type(self)(some, self.items, self.metric, self.by_query)
