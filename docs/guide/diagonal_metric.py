"""A metric learner of one's own."""

import numpy as np

from likewise._runtime.validation import positive
from likewise.base import MetricLearner, check_labelled, fitting
from likewise.metric import canonical_form


class DiagonalMetric(MetricLearner):
    """Weigh each feature by ``spread ** -power``, its standard deviation within classes.

    Parameters
    ----------
    power : float
        How strongly the spread counts: 1 makes all features equally wide within classes.
    """

    _rules = {"power": positive()}

    def __init__(self, power=1.0):
        self.power = power

    @fitting
    def fit(self, X, y):
        """Learn from labels."""
        X, codes, classes = check_labelled(self, X, y)
        centred = X.astype(np.float64)
        for code in range(len(classes)):
            centred[codes == code] -= centred[codes == code].mean(axis=0)
        spread = np.sqrt(np.mean(centred**2, axis=0))
        varies = spread > 1e-14 * np.abs(X).max(axis=0)
        weights = np.zeros_like(spread)
        weights[varies] = spread[varies] ** -self.power
        return self._keep(canonical_form(np.diag(weights)), X.dtype)
