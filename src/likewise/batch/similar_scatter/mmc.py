"""Mahalanobis metric for clustering."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from likewise._runtime.arrays import Array
from likewise._runtime.validation import boolean
from likewise.batch.similar_scatter.learner import SimilarScatterLearner
from likewise.batch.similar_scatter.simplex import maximise_on_simplex
from likewise.batch.similar_scatter.spectrahedron import maximise_on_spectrahedron
from likewise.constraints import Pairs
from likewise.metric import canonical_form
from likewise.objectives import DissimilarPairs, SumOfDistances, WeightedFeatures


class MMC(SimilarScatterLearner):
    r"""MMC: maximise the summed distances of dissimilar pairs, with similar pairs kept close.

    Mahalanobis metric for clustering learns from similar and dissimilar pairs, or from labels
    through sampled pairs. Use it for clustering with side information. Its constraint adds up
    all similar pairs, so it suits classes of a single cluster.

    .. math:: \max_{M \succeq 0} \sum_{\text{dissimilar}} \sqrt{v^\top M v}
              \quad\text{such that}\quad \sum_{\text{similar}} v^\top M v \le 1

    over the differences v of pairs. The problem is concave; `duality_gap_` certifies the result.

    Parameters
    ----------
    diagonal : bool
        Learn one weight per feature instead of a full matrix.
    shrinkage : float
        Shrink the scatter A of similar pairs towards a multiple of the identity: 0 is none, 1 is
        all the way. With 0, M is zero in directions in which no similar pair differs, where the
        maximum would be infinite.
    n_pairs : int, optional
        Number of pairs that `fit` samples, half of them similar; None is 20 c² for c classes,
        at most 100 000.
    max_iter : int
        Maximum number of solver iterations.
    tol : float
        Stop when `duality_gap_` is at most this.
    random_state : int, RandomState or None
        Seeds the sampling of pairs.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        L, eigenvalues of M descending.
    objective_ : float
        The sum of the distances of dissimilar pairs.
    duality_gap_ : float
        The maximum exceeds `objective_` by at most this factor of it.
    n_iter_, converged_, history_ : int, bool, dict
        Whether and when the solver converged, and ``history_["objective"]`` per iteration.

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell, Distance metric learning with application to
    clustering with side-information, NIPS 15, 2003.

    Examples
    --------
    >>> import likewise as lw
    >>> X = [[0.0, 0.0], [0.0, 4.0], [3.0, 1.0], [3.5, 3.0]]
    >>> mmc = lw.MMC().fit_pairs(X, [[0, 1], [2, 3], [0, 2], [1, 3]], [True, True, False, False])
    >>> mmc.pair_distance([[0.0, 0.0], [0.0, 0.0]], [[0.0, 4.0], [4.0, 0.0]]).round(2)
    array([0.44, 8.73])
    """

    _rules: ClassVar = {
        **SimilarScatterLearner._rules,
        "diagonal": boolean(),
    }

    def __init__(
        self,
        *,
        diagonal: bool = False,
        shrinkage: float = 1e-3,
        n_pairs: int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.diagonal = diagonal
        self.shrinkage = shrinkage
        self.n_pairs = n_pairs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, X: Array, pairs: Pairs, random: np.random.RandomState) -> Self:
        rows, scale = self._centred_and_scaled(X, pairs)
        if self.diagonal:
            inverse_scales = self._diagonal_whitener(rows, pairs)
            return self._maximise(
                maximise_on_simplex,
                WeightedFeatures.of(rows * inverse_scales, pairs),
                np.ones(X.shape[1]),
                lambda weights: _sorted_diagonal(np.sqrt(weights) * inverse_scales / scale),
                X.dtype,
            )
        whitener = self._whitener(rows, pairs)
        return self._maximise(
            maximise_on_spectrahedron,
            DissimilarPairs.of(rows @ whitener, pairs, SumOfDistances()),
            np.eye(X.shape[1]),
            lambda F: canonical_form(F @ whitener) / scale,
            X.dtype,
        )


def _sorted_diagonal(lengths: Array) -> Array:
    """Return the canonical L of a diagonal M: one row per feature, the longest first."""
    order = np.argsort(-lengths, kind="stable")
    return np.asarray(np.diag(lengths)[order])
