"""Coordinate ascent on the multipliers of a margin problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise import _loops
from likewise._loops.common import padded
from likewise._runtime.arrays import FloatArray, IndexArray
from likewise.solvers._protocols import Status
from likewise.solvers.margin._run import MarginRun

_FEWEST, _MOST = 4, 40  # sweeps between two looks at all constraints
_VISITS = 4.0  # of a constraint, on average, between two looks
_BAND = 0.25  # of its usual change: how far from mattering a slope still counts
_WORTH_IT = 0.5  # share of the interior-point method's work that may be spent in vain
_ROUNDS = 10  # between two guesses how long it will take
_NEWTON_STEPS = 25  # that the interior-point method takes, more or less
_SLOWER = 8.0  # a multiplication in a sweep against one in a product of large matrices


class CoordinateAscent:
    """Sweeps that make one multiplier after the other best, with M explicit.

    A visit costs d² multiplications however many constraints there are, so that a good start and
    the many multipliers that end at a bound come cheap. Those that rest at a bound are left out
    until a look at all constraints says that they might move. b follows as in the method of
    multipliers: the sum of all λh is charged for, and b moves until it is zero.

    Over a smaller cone than all symmetric matrices, M is the projection of ``A(λ)``: that plus a
    matrix Y, which is the best for λ. After every sweep with Y fixed, Y is made the best again.

    Parameters
    ----------
    run : MarginRun
        The problem, and the record of all steps.
    start : array of shape (n_constraints,), optional
        Multipliers to begin with.
    """

    # Whether M is A(λ) itself: many sweeps then go between two looks at all constraints.
    direct = False

    def __init__(self, run: MarginRun, start: FloatArray | None) -> None:
        self.run, self.problem, self.matrices = run, run.problem, run.problem.matrices
        C, loss = self.problem.C, self.problem.loss
        self.top = C * loss.max_derivative
        self.softness = float(loss.conjugate_curvature(np.ones(1))[0]) / C
        self.curvature = self.matrices.squared_norms()
        usual = float(np.median(self.curvature))
        self.weight = usual if self.matrices.has_intercept else 0.0
        d = self.matrices.differences.shape[1]
        # Padded to whole vectors, so that no row has to be copied.
        self.V = np.pad(self.matrices.differences, ((0, 0), (0, padded(d) - d)))
        everyone = np.arange(len(self.matrices))
        sides: tuple[IndexArray, IndexArray | None] = self.matrices.sides or (everyone, None)
        self.plus, self.minus = sides
        self.multipliers = np.zeros(len(everyone)) if start is None else np.minimum(start, self.top)
        self.slopes = np.zeros(len(everyone))
        self.b = 0.0
        self.random = np.random.RandomState(0)

    def take(self, *, affordable: float = np.inf) -> Status | None:
        """Sweep until the end, or (None) until that seems to need more multiplications."""
        n, d = len(self.matrices), len(self.run.M)
        work = 0.0
        self._even_out()
        M, q = self._look()
        self.slopes = self._slopes(q)
        active = np.arange(n)
        while True:
            sweeps = 1
            if self.direct:
                sweeps = int(np.clip(_VISITS * n / max(len(active), 1), _FEWEST, _MOST))
            self._sweep(M, active, sweeps)
            work += _SLOWER * sweeps * len(active) * float(d * d)
            self._even_out()
            M, q = self._look()
            before, self.slopes = self.slopes, self._slopes(q)
            ended = self.run.record(self.multipliers, M, q, self._bound(M))
            if ended is not None:
                return ended
            if work + self._still_needed(work) > affordable:
                return None
            change = float(np.sqrt(np.mean(np.square(self.slopes - before))))
            active = self._may_move((_BAND if self.direct else 1.0) * change)

    def _look(self) -> tuple[FloatArray, FloatArray]:
        """Return the M of the multipliers, and all ⟨M, X⟩."""
        face, q = self.run.point(self.multipliers)
        self.direct = face.basis is None
        return face.point, q

    def _bound(self, M: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
        """Return what makes the bound's matrix from multipliers, where that is not M."""
        return None

    def _still_needed(self, work: float) -> float:
        """Return the work to the end, if the gap goes on to fall as it did in the last rounds."""
        steps = len(self.run.primal)
        if steps >= self.run.max_iter // 2:
            return np.inf
        if steps % _ROUNDS:
            return 0.0
        now, then = (1 - self.run.dual[place] / self.run.primal[place] for place in (-1, -_ROUNDS))
        if now >= then:
            return np.inf
        rounds = _ROUNDS * np.log(now / self.run.tol) / np.log(then / now)
        return float(work / steps * rounds)

    def _sweep(self, M: FloatArray, active: IndexArray, times: int) -> None:
        wide = self._widened(M)
        for _ in range(times):
            self.b = _loops.margin_sweep(
                wide,
                self.V,
                self.plus,
                self.minus,
                self.matrices.sign,
                self.curvature,
                self.multipliers,
                self.slopes,
                active[self.random.permutation(len(active))],
                b=self.b,
                top=self.top,
                softness=self.softness,
                weight=self.weight,
            )

    def _widened(self, M: FloatArray) -> FloatArray:
        """Return M with as many rows and columns as the padded differences have."""
        lacking = self.V.shape[1] - len(M)
        return np.pad(M, ((0, lacking), (0, lacking)))

    def _slopes(self, q: FloatArray) -> FloatArray:
        """Return what the dual objective loses by a little more of each multiplier."""
        slopes = self.matrices.sign * (q + self.b) - 1 + self.softness * self.multipliers
        return np.asarray(slopes)

    def _may_move(self, band: float) -> IndexArray:
        """Return the constraints that are not at rest, or are nearly not."""
        rests = (self.multipliers <= 0) & (self.slopes > band)
        rests |= (self.multipliers >= self.top) & (self.slopes < -band)
        return np.flatnonzero(~rests)

    def _even_out(self) -> None:
        """Make ``Σ λh = 0`` by the multipliers between their bounds, where they can."""
        if not self.matrices.has_intercept:
            return
        excess = float(self.multipliers @ self.matrices.sign)
        heavy = (self.matrices.sign * excess > 0) & (self.multipliers > 0)
        between = heavy & (self.multipliers < self.top)
        takers = between if self.multipliers[between].sum() > abs(excess) else heavy
        total = float(self.multipliers[takers].sum())
        if total > 0:
            self.multipliers[takers] *= 1 - abs(excess) / total


def worth_spending(matrices: Any) -> float:
    """Return how many multiplications may be lost before the interior-point method takes over."""
    n, size = len(matrices), int(matrices.n_entries)
    smaller = min(n, size)
    return _WORTH_IT * _NEWTON_STEPS * (float(n) * size * smaller / 2 + smaller**3 / 6)
