"""Judgements by labels: rows of one class are alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from likewise._runtime.arrays import Array, BoolArray, FloatArray, IndexArray
from likewise._runtime.tensors import is_tensor
from likewise.adapter._candidate import Candidate, Similarity
from likewise.adapter._directions import discriminants, self_trained_discriminants
from likewise.adapter._evidence import Evidence, Key, no_evidence
from likewise.adapter._learned import learned_directions
from likewise.adapter._rows import RowPool

_REPEATS = 3
_MAX_HELD = 1000
# Held-out rows are few, so their ranks say nothing about ranks in a large collection. A row counts
# as found if it is more similar than all but a small share of the rows that are known: that of the
# 10 nearest, but at most 1 %, and no less than it takes to find enough of the held-out rows.
_NEAREST = 10
_MAX_DEPTH = 0.01
_ENOUGH_FOUND = 1500
_MIN_FOUND = 20  # in one repeat, before a precision counts
_ROWS_PER_WEIGHT = 300  # labelled rows that allow a weight of 1


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of all rows of X.

    Attributes
    ----------
    codes : int array of shape (n_rows,)
        Classes 0…c-1.
    items : int array of shape (n_rows,)
        Equal rows have equal numbers: they are held out together.
    metric : metric learner or None
        A further family of maps.
    """

    codes: IndexArray
    items: IndexArray
    metric: Any

    noun: ClassVar[str] = "labelled row"
    measure: ClassVar[str] = "precision among the most similar rows"
    criteria: ClassVar[tuple[str, ...]] = ("precision", "map")
    caution: ClassVar[float] = 1.5

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def judged(self) -> IndexArray:
        """The rows that are labelled: all."""
        return np.arange(len(self.codes))

    def subset(self, n: int, rng: np.random.Generator) -> tuple[Self, IndexArray]:
        """Return the labels of n rows, and which rows these are."""
        rows = np.sort(rng.permutation(len(self.codes))[:n])
        return type(self)(_consecutive(self.codes[rows]), self.items[rows], self.metric), rows

    def learn(self, pool: RowPool, n_jobs: int | None) -> list[Candidate]:
        """Return the maps that are learned from all rows."""
        return self._candidates(pool, self.judged, n_jobs, everything=True)

    def evidence(
        self, pool: RowPool, similarity: Similarity, rng: np.random.Generator, n_jobs: int | None
    ) -> Iterator[Evidence]:
        """Compare the maps on held-out halves of each class; the last yielded counts all."""
        outcomes: list[dict[Key, _Outcome]] = []
        # A zero row has the cosine 0 with all others: it is like none of them, and finds all.
        has_direction = pool.nonzero() if similarity.normalize else np.ones(len(self), bool)
        for held in self._halves(rng):
            kept = np.flatnonzero(~held)
            tested = rng.permutation(np.flatnonzero(held & has_direction))[:_MAX_HELD]
            if not len(tested):
                continue
            candidates = self._candidates(pool, kept, n_jobs, everything=False)
            reference, rows = pool.reference(kept, rng), pool.take(tested)
            n_compared = 2 * len(tested) ** 2  # in both halves
            share = max(_NEAREST / (len(self) + pool.n_others), _ENOUGH_FOUND / n_compared)
            depth = math.ceil(min(share, _MAX_DEPTH) * len(reference))
            identity = Candidate.identity(pool.n_features)
            outcomes.append(
                {
                    (c.family, c.weight): self._outcome(
                        similarity.of_all(c, rows, rows, reference),
                        tested,
                        depth,
                    )
                    for c in [identity, *candidates]
                }
            )
            yield self._summary(outcomes)

    def _halves(self, rng: np.random.Generator) -> Iterator[BoolArray]:
        """Yield what is held out: half of the items of each class, then the other half."""
        for _ in range(_REPEATS):
            _, first = np.unique(self.items, return_index=True)
            order = rng.permutation(len(first))
            order = order[np.argsort(self.codes[first][order], kind="stable")]
            half = np.empty(len(first), dtype=bool)
            half[order] = np.arange(len(order)) % 2 == 0
            number = np.searchsorted(self.items[first], self.items)
            held = half[number]
            if 0 < held.sum() < len(held):
                yield held
                yield ~held

    def _candidates(
        self, pool: RowPool, kept: IndexArray, n_jobs: int | None, *, everything: bool
    ) -> list[Candidate]:
        codes = _consecutive(self.codes[kept])
        n_classes = int(codes.max()) + 1
        centred = pool.centred(kept, n_jobs, everything=everything, codes=codes)
        families: dict[str, FloatArray | None] = {}
        if n_classes > 1:
            start = discriminants(centred.rows, n_classes, centred.covariance)
            families["fda"] = start
            if start is not None and pool.n_others:
                families["self-trained"] = self_trained_discriminants(
                    start, centred.rows, n_classes, centred.covariance
                )
            if self.metric is not None:
                families["metric"] = learned_directions(
                    self.metric, "fit", (pool.take(kept), codes), centred.covariance
                )
        return centred.candidates(families)

    def _outcome(self, similarities: list[Any], tested: IndexArray, depth: int) -> _Outcome:
        """Return what is found, given similarities of tested rows to each other and to others."""
        among, to_reference = similarities
        codes = self.codes[tested]
        if is_tensor(among):
            from likewise.adapter._torch_similarity import tensor_outcome

            return _Outcome(tested, *tensor_outcome(among, to_reference, codes, depth))
        np.fill_diagonal(among, -np.inf)
        alike = codes[:, None] == codes
        np.fill_diagonal(alike, False)
        least = np.partition(to_reference, -depth, axis=1)[:, -depth]
        found = among >= least[:, None]
        right = found & alike
        return _Outcome(
            tested,
            _average_precision(among, alike),
            (right.sum(axis=0) + right.sum(axis=1)).astype(np.float64),
            (found.sum(axis=0) + found.sum(axis=1)).astype(np.float64),
        )

    def _summary(self, outcomes: list[dict[Key, _Outcome]]) -> Evidence:
        identity, *keys = outcomes[0]
        keys = [key for key in keys if all(key in fold for fold in outcomes)]
        if not keys:
            return no_evidence(self.criteria, self.caution, len(self))
        baseline = [fold[identity] for fold in outcomes]
        compared = [_compare(baseline, [fold[key] for fold in outcomes]) for key in keys]
        gains, errors = (np.array(part) for part in zip(*compared, strict=True))
        n = len(self)
        return Evidence(
            keys, self.criteria, gains, errors, self.caution, n, max_weight=n / _ROWS_PER_WEIGHT
        )


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What one map did in one split, for each row that was tested.

    `right` and `found` count pairs that touch the row, as a query or as what was found.
    """

    rows: IndexArray
    average_precision: FloatArray
    right: FloatArray
    found: FloatArray

    def of_rows(self, rows: IndexArray) -> _Outcome:
        """Return the same for more rows, in ascending order; those not tested found nothing."""
        places = np.searchsorted(rows, self.rows)
        outcome = _Outcome(
            rows, np.full(len(rows), np.nan), np.zeros(len(rows)), np.zeros(len(rows))
        )
        outcome.average_precision[places] = self.average_precision
        outcome.right[places] = self.right
        outcome.found[places] = self.found
        return outcome


def _compare(
    baseline: list[_Outcome], outcomes: list[_Outcome]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return gains and standard errors of the precision and of the mean average precision."""
    rows = np.unique(np.concatenate([fold.rows for fold in baseline]))
    baseline, outcomes = ([fold.of_rows(rows) for fold in folds] for folds in (baseline, outcomes))
    precision = _precision_gain(baseline, outcomes)
    differences = np.array(
        [o.average_precision - b.average_precision for b, o in zip(baseline, outcomes, strict=True)]
    )
    seen = np.isfinite(differences).any(axis=0)
    n = int(seen.sum())
    if n < 2:
        return (precision[0], 0.0), (precision[1], np.inf)
    per_row = np.nanmean(differences[:, seen], axis=0)
    # Doubled: over fresh data, rows vary both as test and as training rows.
    error = np.sqrt(2 * per_row.var(ddof=1) / n)
    return (precision[0], float(per_row.mean())), (precision[1], float(error))


def _precision_gain(baseline: list[_Outcome], outcomes: list[_Outcome]) -> tuple[float, float]:
    influences, precisions = [], []
    for folds in (baseline, outcomes):
        right = np.sum([fold.right for fold in folds], axis=0)
        found = np.sum([fold.found for fold in folds], axis=0)
        if found.sum() / 2 < _MIN_FOUND * _REPEATS:
            return 0.0, np.inf
        precision = right.sum() / found.sum()
        precisions.append(precision)
        # A row is a query and a found row: its pairs are dependent.
        influences.append((right - precision * found) / (found.sum() / 2))
    difference = influences[1] - influences[0]
    return float(precisions[1] - precisions[0]), float(np.sqrt(difference @ difference))


def _average_precision(similarities: Array, alike: BoolArray) -> FloatArray:
    """Return the average precision of each row as a query; NaN if no row is like it."""
    order = np.argsort(-similarities, axis=1, kind="stable")[:, :-1]
    relevant = np.take_along_axis(alike, order, axis=1)
    ranks = np.arange(1, relevant.shape[1] + 1)
    precision = np.cumsum(relevant, axis=1) / ranks
    n_relevant = relevant.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray((precision * relevant).sum(axis=1) / n_relevant)


def _consecutive(codes: IndexArray) -> IndexArray:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
