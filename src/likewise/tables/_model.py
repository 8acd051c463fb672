"""A model together with the encoding of the tables that it accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array
from likewise._runtime.invariants import require
from likewise._runtime.sklearn_bases import TransformerMixin
from likewise._runtime.validation import TableLike, at_least, boolean, has_method
from likewise.base import AffineMap, Estimate, Learner
from likewise.base.learner import updating
from likewise.tables._encoder import TableEncoder


def _offered(method: str) -> Callable[[TableModel], bool]:
    """Return a test whether the model, fitted or not, has a method."""
    return lambda self: hasattr(self.__dict__.get("model_", self.model), method)


class TableModel(TransformerMixin, Learner):
    """A model that accepts tables of numbers and words, with gaps.

    A `TableEncoder` turns a table into numbers, and the model is fitted to them. Both are saved in
    one file, so that the model that `likewise.load` returns accepts the same kind of table. It has
    the methods of its model that take rows.

    Parameters
    ----------
    model : estimator
        Unfitted: a metric, a `PairClassifier` or a classifier of this library.
    encode, impute, standardize : bool
        As of `TableEncoder`.
    max_categories : int, default=100
        As of `TableEncoder`.

    Attributes
    ----------
    encoder_ : TableEncoder
        Fitted.
    model_ : estimator
        Fitted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Their names; not there if `fit` got an array.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.tables import TableModel
    >>> table = {"size": [1, 2, None, 5], "colour": ["red", "red", "blue", "blue"]}
    >>> model = TableModel(lw.RCA(), encode=True, impute=True).fit(table, [0, 0, 1, 1])
    >>> model.save("model.safetensors")
    >>> mapped = lw.load("model.safetensors").transform({"colour": ["red"], "size": [3]})
    >>> mapped.shape
    (1, 3)
    """

    n_features_in_: int
    feature_names_in_: Array

    _rules: ClassVar = {
        "model": has_method("fit", "an estimator"),
        "encode": boolean(),
        "impute": boolean(),
        "standardize": boolean(),
        "max_categories": at_least(2),
    }
    encoder_: TableEncoder
    model_: Any

    def __init__(
        self,
        model: Any,
        *,
        encode: bool = False,
        impute: bool = False,
        standardize: bool = True,
        max_categories: int = 100,
    ) -> None:
        self.model = model
        self.encode = encode
        self.impute = impute
        self.standardize = standardize
        self.max_categories = max_categories

    @updating
    def fit(self, X: TableLike, y: ArrayLike | None = None, **options: Any) -> Self:
        """Fit encoder and model to labelled rows.

        Parameters
        ----------
        X : table
            DataFrame, mapping of name to values, `likewise.datasets.RawTable` or array.
        y : array-like of shape (n_rows,)
            Labels, where the model needs them.
        **options
            Further arguments of the model's `fit`, such as `groups`.

        Returns
        -------
        TableModel
        """
        return self._learn("fit", X, y, **options)

    @available_if(_offered("fit_pairs"))  # type: ignore[untyped-decorator]
    @updating
    def fit_pairs(self, X: TableLike, pairs: ArrayLike, same: ArrayLike, **options: Any) -> Self:
        """Fit encoder and model to judged pairs of rows.

        Parameters
        ----------
        X : table
            The rows that the pairs refer to.
        pairs : array-like of shape (n_pairs, 2)
            Row numbers.
        same : array-like of shape (n_pairs,)
            True for pairs that belong together.
        **options
            Further arguments of the model's `fit_pairs`.

        Returns
        -------
        TableModel
        """
        return self._learn("fit_pairs", X, pairs, same, **options)

    def estimate(
        self, X: TableLike, y: ArrayLike | None = None, *, n_pairs: int | None = None
    ) -> Estimate:
        """Estimate the time and memory of a fit of the model, after the table is encoded.

        Parameters
        ----------
        X : table
        y : array-like of shape (n_rows,), optional
            Labels, of which the number of classes counts.
        n_pairs : int, optional
            Pairs for `fit_pairs`, in place of labels.

        Returns
        -------
        Estimate
        """
        self._check_parameters()
        rows = self._new_encoder().fit_transform(X)
        found: Estimate = self.model.estimate(rows, y, n_pairs=n_pairs)
        return found

    def encode_rows(self, X: TableLike) -> Array:
        """Return the numbers that the model is given for a table.

        Parameters
        ----------
        X : table

        Returns
        -------
        array of shape (n_rows, n_columns)
            Their names are ``encoder_.get_feature_names_out()``.
        """
        check_is_fitted(self)
        return self.encoder_.transform(X)

    @available_if(_offered("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: TableLike) -> Array:
        """Map rows to where the Euclidean distance is the learned one.

        Parameters
        ----------
        X : table

        Returns
        -------
        array of shape (n_rows, n_components)
        """
        rows = self.encode_rows(X)
        return np.asarray(self.model_.transform(rows))

    @available_if(_offered("pair_distance"))  # type: ignore[untyped-decorator]
    def pair_distance(self, A: TableLike, B: TableLike) -> Array:
        """Return the distance of each row of `A` to the same row of `B`: large is different.

        Parameters
        ----------
        A, B : table
            The two sides of the pairs.

        Returns
        -------
        array of shape (n_pairs,)
        """
        first, second = self.encode_rows(A), self.encode_rows(B)
        return np.asarray(self.model_.pair_distance(first, second))

    @available_if(_offered("predict_pairs"))  # type: ignore[untyped-decorator]
    def predict_pairs(self, A: TableLike, B: TableLike, **options: Any) -> Array:
        """Return whether each row of `A` and the same row of `B` are *same*.

        Parameters
        ----------
        A, B : table
            The two sides of the pairs.
        **options
            Further arguments of the model's `predict_pairs`, such as `unsure`.

        Returns
        -------
        array of shape (n_pairs,)
        """
        first, second = self.encode_rows(A), self.encode_rows(B)
        return np.asarray(self.model_.predict_pairs(first, second, **options))

    @available_if(_offered("predict_proba_pairs"))  # type: ignore[untyped-decorator]
    def predict_proba_pairs(self, A: TableLike, B: TableLike, **options: Any) -> Array:
        """Return the probabilities that pairs are different and *same*.

        Parameters
        ----------
        A, B : table
            The two sides of the pairs.
        **options
            Further arguments of the model's `predict_proba_pairs`, such as `prevalence`.

        Returns
        -------
        array of shape (n_pairs, 2)
        """
        first, second = self.encode_rows(A), self.encode_rows(B)
        return np.asarray(self.model_.predict_proba_pairs(first, second, **options))

    @available_if(_offered("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: TableLike) -> Array:
        """Return the predicted label of each row, where the model is a classifier.

        Parameters
        ----------
        X : table

        Returns
        -------
        array of shape (n_rows,)
        """
        rows = self.encode_rows(X)
        return np.asarray(self.model_.predict(rows))

    def affine_map(self) -> AffineMap:
        """Return encoder and linear metric as one map of columns that are not scaled yet.

        Its input are the columns ``encoder_.get_feature_names_out()``: numbers as they are, and 0
        and 1 for words.

        Returns
        -------
        AffineMap
        """
        check_is_fitted(self)
        inner, encoder = AffineMap.from_model(self.model_), self.encoder_
        if inner.side == "query":
            raise ValueError(
                "the model maps queries only, but columns of a table are scaled for both sides: "
                "fit it to the vectors themselves."
            )
        return AffineMap(
            inner.W / encoder.scale_, encoder.mean_ + inner.mean * encoder.scale_, inner.normalize
        )

    def _new_encoder(self) -> TableEncoder:
        return TableEncoder(
            self.encode, self.impute, self.standardize, max_categories=self.max_categories
        )

    def _learn(self, method: str, X: TableLike, *args: Any, **options: Any) -> Self:
        self._check_parameters()
        encoder = self._new_encoder()
        rows = encoder.fit_transform(X)
        self.model_ = getattr(clone(self.model), method)(rows, *args, **options)
        self.encoder_ = encoder
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = encoder.n_features_in_
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def _check_state(self) -> None:
        super()._check_state()
        if "model_" in vars(self):
            require(isinstance(self.encoder_, TableEncoder) and "mean_" in vars(self.encoder_))
            require(self.model_.n_features_in_ == len(self.encoder_.mean_))
            require(self.n_features_in_ == self.encoder_.n_features_in_)
