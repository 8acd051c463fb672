"""Warnings about metrics of little use, and the error of a promise that cannot be kept."""

from __future__ import annotations

__all__ = ["DegenerateMetricWarning", "GuaranteeError", "OverfitWarning"]


class OverfitWarning(UserWarning):
    """There are too few constraints or samples for the degrees of freedom of the metric.

    From ten features on, a fit raises it for fewer than two pairs or triplets per feature, and for
    fewer support pairs or updates than half the features. `RCA` and `Whitening` raise it for fewer
    independent samples than features, `FDA` only without shrinkage, and `LMNN` and
    `MultiMetricLMNN` without `regularization` or early stopping for fewer than two per feature. Use
    more data, fewer features, for instance by PCA, `shrinkage` or `regularization`.
    """


class DegenerateMetricWarning(UserWarning):
    """Training pairs are decided at chance, or features hardly vary within classes.

    In the first case similar and dissimilar pairs are compared with `threshold_`, at the end of a
    fit, and in a stream after 1000 pairs and whenever their number has doubled. The distances may
    still be useful: choose a threshold for them on other pairs. In the second, features that vary
    far less than others, or between classes only, dominate the metric, or `RCA` gives them weight
    zero: remove those that the warning names.
    """


class GuaranteeError(ValueError):
    """An error rate cannot be promised with the confidence asked for, whatever the threshold.

    Attributes
    ----------
    needed_pairs, needed_items : int or None
        About how many pairs, and items in them, would do; None where more would not help.
    """

    def __init__(self, message: str, needed_pairs: int | None, needed_items: int | None) -> None:
        super().__init__(message, needed_pairs, needed_items)
        self.needed_pairs = needed_pairs
        self.needed_items = needed_items

    def __str__(self) -> str:
        return str(self.args[0])
