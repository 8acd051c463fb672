"""Small learners that exercise the base classes the way real ones do."""

import numpy as np

from likewise._runtime.validation import at_least, check_labelled, check_rows, positive
from likewise.base import MetricLearner, fitting
from likewise.constraints import as_triplets, triplets
from likewise.losses import SmoothedHinge
from likewise.objectives import TripletObjective
from likewise.solvers import lbfgs


class TripletToy(MetricLearner):
    """Triplets, a smoothed hinge and L-BFGS: all that an iterative learner passes through."""

    _rules = {"max_iter": at_least(1), "tol": positive()}
    _scale_equivariant = False

    def __init__(self, max_iter=50, tol=1e-6, verbose=0):
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    @fitting
    def fit(self, X, y):
        X, codes, _ = check_labelled(self, X, y)
        return self._learn(X, triplets(X, codes, 1, 2))

    @fitting
    def fit_triplets(self, X, triplets):
        X = check_rows(self, X, reset=True)
        return self._learn(X, as_triplets(triplets, len(X)))

    def objective(self, X, chosen):
        centred = X - X.mean(axis=0, dtype=np.float64)
        return TripletObjective(centred, chosen, SmoothedHinge(0.1))

    def _learn(self, X, chosen):
        found = self._solve(
            lbfgs,
            self.objective(X, chosen),
            np.eye(X.shape[1]),
            fitted=lambda L: {"components_": L},
            tol=self.tol,
        )
        return self._keep(found.x, X.dtype)


class RunningMean(MetricLearner):
    """Learns the scale of rows as they come: the smallest learner that can be resumed."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    @fitting
    def fit(self, X, y):
        vars(self).pop("_total", None)
        return self.partial_fit(X, y)

    def partial_fit(self, X, y):
        first = not hasattr(self, "_total")
        X = check_rows(self, X, reset=first)
        if first:
            self._total, self._count = np.zeros(X.shape[1]), 0
            self._random = np.random.RandomState(self.random_state)
        self._total = self._total + np.abs(X).sum(axis=0) + self._random.random_sample()
        self._count += len(X)
        return self._keep(np.diag(self._count / (self._total + 1)), X.dtype)
