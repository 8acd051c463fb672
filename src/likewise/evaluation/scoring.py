"""Scores for scikit-learn's model selection that measure verification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.tensors import is_tensor
from likewise._runtime.validation import at_least, check_parameters, one_of
from likewise.constraints import Pairs, random_pairs
from likewise.metric import row_norms
from likewise.statistics import VerificationCurve, verification_curve

DEFAULT_PAIRS = 10_000


@dataclass(frozen=True)
class PairScorer:
    """A scorer as scikit-learn calls it: ``scorer(estimator, X, y)``, greater is better.

    Made by `pair_scorer`.
    """

    n_pairs: int
    measure: Literal["auc", "eer"]
    random_state: int | None

    def __call__(self, estimator: Any, X: ArrayLike, y: ArrayLike) -> float:
        """Return how well a fitted estimator's distances verify pairs of the rows of `X`."""
        if not hasattr(estimator, "transform"):
            raise TypeError(
                f"pair_scorer needs an estimator with transform, such as a metric learner or a "
                f"pipeline that ends in one, but {type(estimator).__name__} has none."
            )
        pairs = random_pairs(y, self.n_pairs, random_state=self.random_state)
        curve = curve_of_pairs(_as_points(estimator.transform(X)), pairs)
        return curve.auc if self.measure == "auc" else -curve.eer


def pair_scorer(
    n_pairs: int = DEFAULT_PAIRS,
    *,
    measure: Literal["auc", "eer"] = "auc",
    random_state: int | None = 0,
) -> PairScorer:
    """Make a scorer by which GridSearchCV and cross_val_score optimise verification.

    It draws pairs of the held-out rows, half of them of one class, and asks how well the
    Euclidean distance after `transform` separates the two kinds. It serves metric learners,
    pipelines that end in one, and any other transformer. Held-out rows must have at least two
    classes: scikit-learn stratifies by itself for classifiers only, so give a metric learner
    ``cv=StratifiedKFold()``.

    Parameters
    ----------
    n_pairs : int, default=10000
        Pairs to draw, independently of each other: one may come twice.
    measure : {"auc", "eer"}, default="auc"
        Area under the ROC curve, or minus the equal error rate.
    random_state : int, optional
        Decides which pairs are drawn; the default makes all candidates face the same ones.

    Returns
    -------
    PairScorer
        A callable ``scorer(estimator, X, y)``; it can be pickled.

    Examples
    --------
    >>> from sklearn.model_selection import StratifiedKFold, cross_val_score
    >>> from likewise.batch import RCA
    >>> from likewise.datasets import load
    >>> from likewise.evaluation import pair_scorer
    >>> iris = load("iris")
    >>> scores = cross_val_score(
    ...     RCA(), iris.X, iris.y, scoring=pair_scorer(500), cv=StratifiedKFold()
    ... )
    >>> bool(scores.min() > 0.9)
    True
    """
    check_parameters(
        "pair_scorer",
        {"n_pairs": n_pairs, "measure": measure},
        {"n_pairs": at_least(2), "measure": one_of("auc", "eer")},
    )
    return PairScorer(int(n_pairs), measure, random_state)


def curve_of_pairs(points: Any, pairs: Pairs) -> VerificationCurve:
    """Return the verification curve of Euclidean distances between pairs of rows."""
    first, second = pairs.index.T
    return verification_curve(row_norms(points[first] - points[second]), pairs.same)


def _as_points(mapped: Any) -> Any:
    """Return mapped rows as an array, or as the tensor that they are."""
    return mapped if is_tensor(mapped) else np.asarray(mapped)
