"""Warnings about metrics that were learned but are of little use."""

from __future__ import annotations

__all__ = ["DegenerateMetricWarning", "OverfitWarning"]


class OverfitWarning(UserWarning):
    """There are too few constraints or samples for the degrees of freedom of the metric.

    From ten features on, a fit raises it for fewer than two pairs or triplets per feature, and for
    fewer support pairs or updates than half the features. `RCA` and `Whitening` raise it for fewer
    independent samples than features, `FDA` only without shrinkage. Use more data, fewer features,
    for instance by PCA, or `shrinkage`.
    """


class DegenerateMetricWarning(UserWarning):
    """Training pairs are decided at chance, or features without spread dominate the metric.

    In the first case similar and dissimilar pairs are compared with `threshold_`, at the end of a
    fit, and in a stream after 1000 pairs and whenever their number has doubled. The distances may
    still be useful: choose a threshold for them on other pairs. In the second, remove the features
    that the warning names.
    """
