"""Small learners that exercise the base classes the way real ones do."""

import numpy as np

from likewise._runtime.validation import at_least, check_labelled, check_rows, positive
from likewise.base import MetricLearner, fitting
from likewise.constraints import as_triplets, triplets
from likewise.losses import SmoothedHinge
from likewise.solvers import lbfgs


class TripletObjective:
    """``Σ loss(1 + D(a, p) - D(a, n))`` over triplets, with D the squared distance under L."""

    def __init__(self, X, triplets, loss):
        anchor, positive, negative = triplets.index.T
        self.to_positive, self.to_negative = X[anchor] - X[positive], X[anchor] - X[negative]
        self.loss = loss

    def value_and_gradient(self, L):
        near, far = self.to_positive @ L.T, self.to_negative @ L.T
        violation = 1 + np.square(near).sum(axis=1) - np.square(far).sum(axis=1)
        weights = self.loss.derivative(violation)[:, None]
        gradient = 2 * (
            (weights * near).T @ self.to_positive - (weights * far).T @ self.to_negative
        )
        return float(self.loss.value(violation).sum()), gradient


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


class RunningSpread(MetricLearner):
    """Divides each feature by a running estimate of its spread: the smallest online learner.

    The random weights of the samples make it depend on a random state that a file must keep.
    """

    _needs_labels = False

    def __init__(self, random_state=None):
        self.random_state = random_state

    @fitting
    def fit(self, X, y=None):
        vars(self).pop("_weight", None)
        return self.partial_fit(X, y)

    def partial_fit(self, X, y=None):
        first = not hasattr(self, "_weight")
        X = check_rows(self, X, reset=first)
        if first:
            self._origin, self._sums, self._weight = X[0].astype(np.float64), 0.0, 0.0
            self._random = np.random.RandomState(self.random_state)
        weights = self._random.uniform(1, 2, size=len(X))
        self._sums = self._sums + weights @ (X - self._origin) ** 2
        self._weight += weights.sum()
        spread = np.sqrt(self._sums / self._weight)
        inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        return self._keep(np.diag(inverse), X.dtype)
