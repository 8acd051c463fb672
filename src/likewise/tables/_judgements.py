"""Pairs of rows of a table, judged by a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.row_numbers import check_row_numbers
from likewise._runtime.validation import TableLike
from likewise.tables._model import TableModel

_BLOCK_VALUES = 2**22  # of one side of the pairs at a time


@dataclass(frozen=True, eq=False)
class PairJudgements:
    """What a model says of pairs.

    Attributes
    ----------
    distance : array of shape (n_pairs,)
        Large is different.
    same : array of shape (n_pairs,) or None
        The decisions, or with `unsure` the words "same", "different" and "unsure"; None where the
        model has no threshold.
    probability : array of shape (n_pairs,) or None
        That a pair is *same*; None where the model has no probabilities.
    """

    distance: FloatArray
    same: Array | None
    probability: FloatArray | None


def judge_pairs(
    model: Any,
    X: TableLike,
    pairs: ArrayLike,
    *,
    unsure: bool = False,
    prevalence: float | None = None,
) -> PairJudgements:
    """Return distances, decisions and probabilities of pairs of rows, as far as the model has them.

    Parameters
    ----------
    model : fitted metric, PairClassifier or TableModel
        Decisions are those of its `predict_pairs`, and probabilities those of its
        `predict_proba_pairs`.
    X : array or table
        What the model accepts.
    pairs : array-like of shape (n_pairs, 2)
        Row numbers.
    unsure : bool, default=False
        Whether pairs within the confidence interval of the threshold are left undecided.
    prevalence : float, optional
        The share of same pairs among those asked about, for the probabilities.

    Returns
    -------
    PairJudgements

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.tables import judge_pairs
    >>> metric = lw.Euclidean().fit([[0.0, 0.0]])
    >>> judge_pairs(metric, [[0.0, 0.0], [3.0, 4.0]], [[0, 1]]).distance
    array([5.])
    """
    if isinstance(model, TableModel):
        rows, model = model.encode_rows(X), model.model_
    else:
        rows = np.asarray(X)
    if not hasattr(model, "pair_distance"):
        raise ValueError(
            f"{type(model).__name__} has no distance of pairs, but a metric or a PairClassifier is "
            "needed."
        )
    if unsure and not hasattr(model, "threshold_interval_"):
        raise ValueError(f"unsure needs a PairClassifier, but the model is {type(model).__name__}.")
    index = check_row_numbers(pairs, "pairs", 2, len(rows))
    decides = hasattr(model, "predict_pairs")
    weighs = hasattr(model, "predict_proba_pairs")
    distances, decisions, probabilities = [], [], []
    size = max(1, _BLOCK_VALUES // rows.shape[1])
    for start in range(0, len(index), size):
        A, B = (rows[index[start : start + size, side]] for side in (0, 1))
        distances.append(np.asarray(model.pair_distance(A, B), dtype=np.float64))
        if decides:
            decisions.append(model.predict_pairs(A, B, **({"unsure": True} if unsure else {})))
        if weighs:
            options = {} if prevalence is None else {"prevalence": prevalence}
            probabilities.append(model.predict_proba_pairs(A, B, **options)[:, 1])
    return PairJudgements(
        np.concatenate(distances),
        np.concatenate(decisions) if decides else None,
        np.concatenate(probabilities) if weighs else None,
    )
