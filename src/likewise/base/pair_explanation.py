"""Why two rows are far apart: their squared distance, split over directions and features."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from likewise._runtime.arrays import Array, FloatArray, IndexArray
from likewise._runtime.tensors import to_numpy
from likewise._runtime.text import printable
from likewise._runtime.validation import pluralize

_SHOWN = 10
_MAX_NAME = 24
_FACTOR_NOTE = (
    "Factor: on this feature's difference alone, to reach the threshold; none: no factor does."
)


@dataclass(frozen=True, eq=False, repr=False)
class PairExplanation:
    r"""The squared distance of two rows as a sum; made by `explain_pair`.

    With v the difference of the rows and :math:`M = L^\top L`, the squared distance
    :math:`v^\top M v` is the sum of :math:`(Lv)_k^2` over the learned directions, the rows of L. It
    is also the sum of :math:`\varphi_i = v_i (Mv)_i` over the features. :math:`\varphi_i` is the
    Shapley value of feature i in the game in which a set of features is worth the squared distance
    of rows that differ in these features only. It is negative where the feature, correlated with
    others under M, brings the rows closer together than the others alone would.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the features, from the table that the metric was fitted on; else x0, x1, …
    difference : array of shape (n_features,)
        v: the first row less the second.
    squared_distance : float
        The sum that is split.
    feature_contributions : array of shape (n_features,)
        :math:`\varphi`, the part of each feature; some may be negative.
    direction_contributions : array of shape (n_components,)
        The part of each direction, in the order of the rows of `components_`.
    threshold : float or None
        Distance up to which rows count as *same*.
    factors : array of shape (n_features,), or None
        By which factor the difference of one feature, all others unchanged, would have to be
        multiplied for the distance to be the threshold; the one closest to 1 if there are two.
        Negative factors swap the two rows' order in this feature. NaN where no factor is enough.
        None without a threshold.
    """

    feature_names: tuple[str, ...]
    difference: FloatArray
    squared_distance: float
    feature_contributions: FloatArray
    direction_contributions: FloatArray
    threshold: float | None = None
    factors: FloatArray | None = None

    @property
    def distance(self) -> float:
        """The distance, as `pair_distance` returns it."""
        return math.sqrt(self.squared_distance)

    @property
    def same(self) -> bool | None:
        """Whether the distance is at most the threshold; None without one."""
        return None if self.threshold is None else self.distance <= self.threshold

    @property
    def summary(self) -> str:
        """The distance and what follows from the threshold, in one line."""
        if self.threshold is None:
            return f"distance {self.distance:.4g}"
        decision = "same" if self.same else "different"
        return f"distance {self.distance:.4g}, threshold {self.threshold:.4g}: {decision}"

    def largest_features(self, n_features: int = _SHOWN) -> IndexArray:
        """Return the numbers of the features that contribute most, by magnitude."""
        order = np.argsort(-np.abs(self.feature_contributions), kind="stable")
        return order[:n_features].astype(np.int64)

    def __repr__(self) -> str:
        return "\n".join([self.summary, *self._feature_lines(), *self._notes()])

    def _feature_lines(self) -> Iterator[str]:
        shown = self.largest_features()
        names = [short_name(self.feature_names[i]) for i in shown]
        rest = len(self.feature_names) - len(shown)
        rest_name = pluralize(rest, "other feature")
        width = max(len("feature"), *map(len, names), len(rest_name) if rest else 0)
        heading = f"{'feature':{width}}  difference  contribution   share"
        yield heading if self.factors is None else f"{heading}  factor"
        for i, name in zip(shown, names, strict=True):
            part = self.feature_contributions[i]
            line = f"{name:{width}}  {self.difference[i]:10.4g}  {self._cells(part)}"
            yield line if self.factors is None else f"{line}  {_factor(self.factors[i]):>6}"
        if rest:
            part = self.squared_distance - self.feature_contributions[shown].sum()
            yield f"{rest_name:{width}}  {'':10}  {self._cells(part)}"

    def _cells(self, part: float) -> str:
        share = part / self.squared_distance if self.squared_distance else 0.0
        return f"{part:12.4g}  {share:6.1%}"

    def _notes(self) -> Iterator[str]:
        parts = [f"{part:.4g}" for part in self.direction_contributions[:_SHOWN]]
        more = ", …" if len(self.direction_contributions) > _SHOWN else ""
        yield f"over directions: {', '.join(parts)}{more}"
        yield "Contributions add up to the squared distance; negative ones reduce it."
        if self.factors is not None:
            yield _FACTOR_NOTE


def check_row(row: Any, name: str, check: Callable[[Any, str], Any]) -> FloatArray:
    """Return a vector, or the only row of a table, as a float64 vector; `check` checks a table."""
    if hasattr(row, "to_frame") and hasattr(row, "index"):  # a row of a pandas DataFrame
        row = row.to_frame().T
    elif not hasattr(row, "columns") and not sp.issparse(row):
        row = np.asarray(to_numpy(row))
        row = row[None] if row.ndim == 1 else row
    table = to_numpy(check(row, name))
    if table.shape[0] != 1:
        raise ValueError(f"{name} has {table.shape[0]} rows, but one is needed.")
    dense = table.toarray() if hasattr(table, "toarray") else table
    return np.asarray(dense[0], dtype=np.float64)


def explained_names(estimator: Any) -> list[str]:
    """Return the names of the features that an estimator was fitted on; else x0, x1, …"""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def explain_difference(
    components: Array, difference: FloatArray, names: Sequence[str], threshold: float | None
) -> PairExplanation:
    """Split the squared length of ``components @ difference``."""
    L = np.asarray(components, dtype=np.float64)
    mapped = L @ difference
    of_features = difference * (mapped @ L)
    squared_distance = float(mapped @ mapped)
    factors = None
    if threshold is not None:
        curvatures = difference**2 * (L**2).sum(axis=0)
        factors = 1 + _smallest_steps(curvatures, of_features, squared_distance - threshold**2)
    return PairExplanation(
        tuple(names),
        difference,
        squared_distance,
        of_features,
        mapped**2,
        threshold,
        factors,
    )


def _smallest_steps(curvatures: FloatArray, slopes: FloatArray, excess: float) -> FloatArray:
    """Return for each feature the root s of least magnitude of ``q s² + 2 φ s + excess = 0``.

    With the difference of feature i multiplied by 1 + s, the squared distance grows by
    ``q s² + 2 φ s``, where ``q = v_i² M_ii``. NaN where there is no root.
    """
    # The equation may be divided by any number; squares of squared distances could overflow.
    scale = max(float(curvatures.max(initial=0.0)), abs(excess)) or 1.0
    curvatures, slopes, excess = curvatures / scale, slopes / scale, excess / scale
    discriminants = slopes**2 - curvatures * excess
    usable = (curvatures > 0) & (discriminants >= 0)
    # This form of the roots has no difference of almost equal numbers.
    signs = np.where(slopes < 0, -1.0, 1.0)
    divisors = slopes + signs * np.sqrt(np.where(usable, discriminants, 0.0))
    steps = np.full_like(slopes, np.nan)
    np.divide(-excess, divisors, out=steps, where=usable & (divisors != 0))
    if excess == 0:
        steps[usable] = 0.0  # already there
    return steps


def short_name(name: str) -> str:
    """Return a name that fits in a line: without control characters, its end cut off."""
    visible = printable(name)
    return visible if len(visible) <= _MAX_NAME else f"{visible[: _MAX_NAME - 1]}…"


def _factor(factor: float) -> str:
    return "none" if math.isnan(factor) else f"{factor:.3g}"
