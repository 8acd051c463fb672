"""An affine map with an optional normalisation: what every linear model is, once it is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from likewise._numerics.centring import centred
from likewise._runtime.arrays import Array, FloatArray
from likewise._runtime.tensors import is_tensor
from likewise._runtime.text import quote
from likewise._runtime.validation import TableLike, as_float_array, boolean, check_finite
from likewise.base._pipeline_steps import parts_of_step
from likewise.base.metric_learner import MetricLearner
from likewise.base.voting import NeighborVoter
from likewise.metric import or_one, row_norms

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class AffineMap:
    """The map z = W(x - mean), scaled to length 1 if `normalize` is true.

    The learned distance is the Euclidean distance of the images.

    Parameters
    ----------
    W : array-like of shape (n_components, n_features)
        The linear part.
    mean : array-like of shape (n_features,)
        Subtracted from every vector first.
    normalize : bool
        Whether images are divided by their length. An image of length 0 stays 0.
    side : {"both", "query"}, default="both"
        What is mapped: all vectors, or queries only, whose images are compared by cosine with
        vectors as they are.

    Examples
    --------
    >>> from likewise.base import AffineMap
    >>> AffineMap([[3.0, 0.0], [0.0, 4.0]], mean=[1.0, 0.0], normalize=True).transform([[2.0, 1.0]])
    array([[0.6, 0.8]])
    """

    W: Array
    mean: Array
    normalize: bool
    side: Literal["both", "query"] = "both"

    def __post_init__(self) -> None:
        W, mean = as_float_array(self.W, "W"), as_float_array(self.mean, "mean")
        if W.ndim != 2 or 0 in W.shape:
            raise ValueError(f"W has shape {W.shape}, but it must have rows and columns.")
        if mean.shape != W.shape[1:]:
            raise ValueError(
                f"mean has shape {mean.shape}, but W with {W.shape[1]} columns needs shape "
                f"({W.shape[1]},)."
            )
        if not boolean().holds(self.normalize):
            raise ValueError(
                f"normalize is {quote(self.normalize)}, but only True or False is allowed."
            )
        if self.side not in ("both", "query"):
            raise ValueError(f"side is {quote(self.side)}, but it must be 'both' or 'query'.")
        if self.side == "query" and not (self.normalize and W.shape[0] == W.shape[1]):
            raise ValueError(
                "side is 'query', but then normalize must be True and W square: images are "
                "compared by cosine with vectors as they are."
            )
        check_finite(W, "W")
        check_finite(mean[None], "mean")
        object.__setattr__(self, "W", W)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "normalize", bool(self.normalize))

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """Return the map of a fitted model.

        Parameters
        ----------
        model : fitted metric learner, AffineMap, or an object with a method `affine_map`
            A fitted `MetricKNN` or `EnergyClassifier` stands for its metric. A fitted pipeline of
            scikit-learn may have affine steps before it (`StandardScaler`, `MinMaxScaler`,
            `MaxAbsScaler`, `RobustScaler`, `PCA`, `TruncatedSVD`), and `Normalizer` where no other
            step follows that changes directions.

        Returns
        -------
        AffineMap

        Examples
        --------
        >>> import likewise as lw
        >>> from likewise.base import AffineMap
        >>> AffineMap.from_model(lw.Euclidean().fit([[0.0, 1.0]])).W
        array([[1., 0.],
               [0., 1.]])
        """
        if isinstance(model, cls):
            return model
        if hasattr(model, "affine_map"):
            found: Self = model.affine_map()
            return found
        if hasattr(model, "metric_"):  # a classifier that searches under a metric
            if model.metric_ is None:
                d = model.n_features_in_
                return cls(np.eye(d), np.zeros(d), normalize=False)
            return cls.from_model(model.metric_)
        if hasattr(model, "named_steps"):  # a pipeline of scikit-learn
            return cls._of_pipeline(model)
        if isinstance(model, NeighborVoter):
            raise ValueError(
                f"{type(model).__name__} has no single linear map to export: search with the "
                "vectors as they are, and rerank what is found by the model."
            )
        if not isinstance(model, MetricLearner):
            raise ValueError(
                f"model is a {type(model).__name__}, but a fitted linear metric is needed."
            )
        check_is_fitted(model)
        if not model._linear:
            raise ValueError(
                f"{type(model).__name__} was fitted with a kernel and has no linear map to export: "
                "fit it without one."
            )
        L = model.components_
        return cls(L, np.zeros(L.shape[1]), normalize=False)

    @classmethod
    def _of_pipeline(cls, pipeline: Any) -> Self:
        check_is_fitted(pipeline)
        d = int(pipeline.n_features_in_)
        found = cls(np.eye(d), np.zeros(d), normalize=False)
        for _, step in pipeline.steps:
            if step in (None, "passthrough"):
                continue
            parts = parts_of_step(step, found.n_components)
            found = found.then(cls.from_model(step) if parts is None else cls(*parts))
        return found

    def then(self, following: AffineMap) -> Self:
        """Return this map and another one after it, as one map.

        Parameters
        ----------
        following : AffineMap
            Of the images of this one.

        Returns
        -------
        AffineMap
        """
        if following.n_features_in != self.n_components:
            raise ValueError(
                f"following maps vectors of {following.n_features_in} numbers, but the images have "
                f"{self.n_components}."
            )
        if "query" in (self.side, following.side):
            raise ValueError("a map of queries only cannot be joined with another one.")
        if self.normalize and not _commutes_with_scaling(following):
            raise ValueError(
                "images are scaled to length 1 before a further map, which no single affine map "
                "does: scale the vectors themselves to length 1, and leave out that step."
            )
        W = following.W @ self.W
        shift = following.W @ following.mean
        back = np.linalg.lstsq(W, shift, rcond=None)[0]
        if np.abs(W @ back - shift).max() > _ROUNDING * max(1.0, np.abs(shift).max()):
            raise ValueError(
                "the two maps together are not of the form W(x - mean): they add a constant that "
                "is the image of no vector."
            )
        return type(self)(W, self.mean + back, self.normalize or following.normalize)

    @property
    def stored_map(self) -> AffineMap:
        """The map of stored vectors: this one or, with ``side="query"``, scaling to length 1."""
        if self.side == "both":
            return self
        return AffineMap(np.eye(self.n_features_in), np.zeros(self.n_features_in), normalize=True)

    @property
    def n_features_in(self) -> int:
        """Length of the vectors that are mapped."""
        return int(self.W.shape[1])

    @property
    def n_components(self) -> int:
        """Length of their images."""
        return int(self.W.shape[0])

    @property
    def bias(self) -> FloatArray:
        """The vector b of the form z = Wx + b, which is -W·mean."""
        return np.asarray(-(self.W @ self.mean) + 0.0)

    def transform(self, X: TableLike) -> Array:
        """Map rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Of any number type: float16, float32 and integers of up to 16 bits are mapped in
            float32, all others in float64.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        return np.asarray(self.map_checked(self.check_vectors(X)))

    def map_checked(self, rows: Any) -> Any:
        """Map rows of float32 or float64 that fit the map: an array, or a tensor on its device."""
        if is_tensor(rows):
            from likewise._numerics.torch_products import map_tensor

            mapped = map_tensor(centred(rows, self.mean), self.W)
        else:
            W, mean = (part.astype(rows.dtype) for part in (self.W, self.mean))
            mapped = (rows - mean) @ W.T
        if self.normalize:
            mapped /= or_one(row_norms(mapped))[:, None]
        return mapped

    def check_vectors(self, X: TableLike, name: str = "X") -> Array:
        """Return vectors as float32 or float64; raise an error if they do not fit the map."""
        rows = np.asarray(X)
        if rows.dtype.kind in "biuf":  # without a copy in float64 of what is smaller
            rows = rows.astype(np.result_type(rows.dtype, np.float32), copy=False)
        else:
            rows = as_float_array(rows, name)
        if rows.ndim != 2:
            raise ValueError(f"{name} has shape {rows.shape}, but a matrix is needed.")
        if rows.shape[1] != self.n_features_in:
            raise ValueError(
                f"{name} has vectors of {rows.shape[1]} numbers, but the model maps vectors of "
                f"{self.n_features_in}."
            )
        check_finite(rows, name)
        return rows


def _commutes_with_scaling(following: AffineMap) -> bool:
    """Return whether a map after a scaling to length 1 may as well come before it."""
    if following.mean.any():
        return False
    gram = following.W.T @ following.W
    return following.normalize or bool(np.abs(gram - np.eye(len(gram))).max() <= _ROUNDING)
