"""Judgements of pairs: the same, or different."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.adapter._bilinear_ridge import ridge_directions
from likewise.adapter._candidate import Candidate, Similarity
from likewise.adapter._evidence import Evidence, Key, no_evidence
from likewise.adapter._items import without_items
from likewise.adapter._learned import learned_directions
from likewise.adapter._lengths import in_double_precision, unit_rows
from likewise.adapter._rows import PRODUCTS_PER_WEIGHT, RowPool, with_clusters
from likewise.constraints import Pairs
from likewise.statistics import auc_test, place_pairs
from likewise.statistics.dyadic import codes_of_pairs
from likewise.statistics.pair_split import assign_units

_FOLDS = 5
_REPEATS = 3  # of the folds, where pairs straddle them and are lost
_MIN_OF_A_KIND = 20  # tested pairs, before an area counts


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Same and different pairs of rows of X.

    Attributes
    ----------
    pairs : Pairs
    items : int array of shape (n_rows,)
        Equal rows in pairs have equal numbers: they are held out together.
    metric : metric learner or None
        A further family of maps.
    """

    pairs: Pairs
    items: IndexArray
    metric: Any

    noun: ClassVar[str] = "pair"
    measure: ClassVar[str] = "area under the ROC curve"
    criteria: ClassVar[tuple[str, ...]] = ("auc",)
    caution: ClassVar[float] = 2.0

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def judged(self) -> IndexArray:
        """The rows in pairs."""
        return np.unique(self.pairs.index)

    def subset(self, n: int, rng: np.random.Generator) -> tuple[Self, None]:
        """Return n of the pairs; all rows are kept."""
        chosen = np.sort(rng.permutation(len(self.pairs))[:n])
        return type(self)(self._some(chosen), self.items, self.metric), None

    def learn(self, pool: RowPool, n_jobs: int | None) -> list[Candidate]:
        """Return the maps that are learned from all pairs."""
        rng = np.random.default_rng(0)
        return self._candidates(self.pairs, self.judged, pool, rng, n_jobs, everything=True)

    def evidence(
        self, pool: RowPool, similarity: Similarity, rng: np.random.Generator, n_jobs: int | None
    ) -> Iterator[Evidence]:
        """Compare the maps on pairs of held-out items; the last yielded counts all."""
        index = self.pairs.index
        tested: list[IndexArray] = []
        distances: list[dict[Key, FloatArray]] = []
        for train, test in self._splits(rng):
            kept = without_items(self.judged, self.items, index[test])
            learned = self._candidates(self._some(train), kept, pool, rng, n_jobs, everything=False)
            first, second = (pool.take(index[test, j]) for j in (0, 1))
            tested.append(test)
            distances.append(
                {
                    (c.family, c.weight): -similarity.of_pairs(c, first, second)
                    for c in [Candidate.identity(pool.n_features), *learned]
                }
            )
            yield self._summary(tested, distances)

    def _splits(self, rng: np.random.Generator) -> Iterator[tuple[IndexArray, IndexArray]]:
        units, same = self.items[self.pairs.index], self.pairs.same
        if len(np.unique(units)) < 2 * _FOLDS:
            return
        for _ in range(_REPEATS):
            folds = assign_units(units, np.full(_FOLDS, 1 / _FOLDS), rng)[units]
            for fold in range(_FOLDS):
                inside = folds == fold
                train, test = (
                    np.flatnonzero(~inside.any(axis=1)),
                    np.flatnonzero(inside.all(axis=1)),
                )
                if all(0 < same[part].sum() < len(part) for part in (train, test)):
                    yield train, test
            if (folds[:, 0] == folds[:, 1]).all():  # no pair was lost: all were tested
                return

    def _candidates(
        self,
        pairs: Pairs,
        kept: IndexArray,
        pool: RowPool,
        rng: np.random.Generator,
        n_jobs: int | None,
        *,
        everything: bool,
    ) -> list[Candidate]:
        centred = pool.centred(kept, n_jobs, everything=everything)
        index, same = np.searchsorted(kept, pairs.index), pairs.same
        rows = unit_rows(in_double_precision(centred.judged))
        # Both kinds count alike, however many there are of each.
        weights = np.where(same, 0.5 / same.sum(), 0.5 / (~same).sum()) * len(same)
        targets = np.where(same, 1.0, -1.0)
        first, second = rows[index[:, 0]], rows[index[:, 1]]
        start = ridge_directions(
            first, second, targets, weights, centred.covariance, intercept=True
        )
        families = with_clusters(start, centred, rng)
        if self.metric is not None:
            judgements = (pool.take(kept), index, same)
            families["metric"] = learned_directions(
                self.metric, "fit_pairs", judgements, centred.covariance
            )
        return centred.candidates(families)

    def _summary(
        self, tested: list[IndexArray], distances: list[dict[Key, FloatArray]]
    ) -> Evidence:
        units, same = self.items[self.pairs.index], self.pairs.same
        identity, *keys = distances[0]
        keys = [key for key in keys if all(key in fold for fold in distances)]
        once = np.unique(np.concatenate(tested))
        # A pair that is judged again, as it is or by its copies, counts once.
        n_rarer = min(
            len(np.unique(codes_of_pairs(units[once[same[once] == kind]])))
            for kind in (True, False)
        )
        if not keys or n_rarer < _MIN_OF_A_KIND:
            return no_evidence(self.criteria, self.caution, len(self))
        baseline, *placed = (
            place_pairs([fold[key] for fold in distances], tested, same)
            for key in [identity, *keys]
        )
        found = auc_test(baseline, placed, units)
        gains, errors = found.differences[:, None], np.sqrt(found.variances)[:, None]
        n = len(self)
        return Evidence(
            keys, self.criteria, gains, errors, self.caution, n, max_weight=n / PRODUCTS_PER_WEIGHT
        )

    def _some(self, chosen: IndexArray) -> Pairs:
        return Pairs(self.pairs.index[chosen], self.pairs.same[chosen])
