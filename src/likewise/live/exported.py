"""The model that is exported."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from likewise._runtime.arrays import Array
from likewise.exceptions import GuaranteeError
from likewise.live.audit import AuditPairs
from likewise.live.view import ModelView
from likewise.pair_classifier import PairClassifier

__all__ = ["exported_model"]


def exported_model(X: Array, view: ModelView, audit: AuditPairs, target: str) -> Any:
    """Return the model with the threshold that is promised, or without one where none can be.

    Parameters
    ----------
    X : array of shape (n_items, n_features)
    view : ModelView
    audit : AuditPairs
    target : str

    Returns
    -------
    PairClassifier or online metric learner
        The former has the metric, and the threshold and promise from the audit stream.
    """
    learner = copy.deepcopy(view.learner)
    if not audit.both_kinds:
        return learner
    rows, numbered = np.unique(audit.pairs, return_inverse=True)
    classifier = PairClassifier(FrozenEstimator(learner), target=target)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the promise says what holds
            return classifier.fit_pairs(X[rows], numbered.reshape(-1, 2), audit.same)
    except (GuaranteeError, ValueError):  # as the report says, in a sentence
        return learner
