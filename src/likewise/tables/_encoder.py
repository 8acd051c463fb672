"""From columns of numbers and words to a matrix of numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from likewise._runtime.arrays import Array, FloatArray, FloatingArray
from likewise._runtime.invariants import require, require_array
from likewise._runtime.memory import require_memory
from likewise._runtime.sklearn_bases import TransformerMixin
from likewise._runtime.text import list_some, quote
from likewise._runtime.validation import (
    TableLike,
    at_least,
    boolean,
    check_finite,
    check_magnitude,
    pluralize,
    warn_user,
)
from likewise.base import Estimate, Learner
from likewise.base.learner import updating
from likewise.datasets._columns import first_word, gaps_of
from likewise.tables._columns import Columns, as_columns
from likewise.tables._number_text import why_not_numbers


class TableEncoder(TransformerMixin, Learner):
    """Turns a table of numbers and words, with gaps, into a matrix of numbers.

    Parameters
    ----------
    encode : bool, default=False
        Whether each column of text becomes one column of 0 and 1 for each of its words. Else a
        column of text raises an error. A column of which at least 90 % are numbers raises one in
        any case, unless it has few short codes, such as 1, 2 and 3B.
    impute : bool, default=False
        Whether an empty cell becomes the median of its column; in a column of text it becomes 0 in
        all columns of its words. Else an empty cell raises an error.
    standardize : bool, default=True
        Whether all resulting columns get mean 0 and variance 1.
    max_categories : int, default=100
        The most words that a column may have: names and free text are no categories.

    Attributes
    ----------
    feature_names_in_ : array of str
        Names of the columns; not there if `fit` got an array.
    n_features_in_ : int
        Number of columns.
    categories_ : tuple of arrays
        The words of each column in sorted order; empty for a column of numbers.
    is_text_ : array of bool
        Which columns are text.
    medians_ : array of float or None
        The median of each column, 0 for text; None without `impute`.
    mean_, scale_ : array of float
        Mean and standard deviation of the resulting columns; 0 and 1 without `standardize`.

    Notes
    -----
    A table is a DataFrame, a mapping of name to values, a `likewise.datasets.RawTable` or an array.
    After fitting, columns are found by name: their order does not matter, and further ones are
    ignored. A missing column raises an error. A word that was not there when the encoder was fitted
    becomes 0 in all columns of its words, with a warning.

    Examples
    --------
    >>> from likewise.tables import TableEncoder
    >>> table = {"size": [1.0, 2.0, None], "colour": ["red", "blue", "red"]}
    >>> encoder = TableEncoder(encode=True, impute=True, standardize=False).fit(table)
    >>> encoder.transform(table)
    array([[1. , 0. , 1. ],
           [2. , 1. , 0. ],
           [1.5, 0. , 1. ]])
    >>> encoder.get_feature_names_out()
    array(['size', 'colour=blue', 'colour=red'], dtype=object)
    """

    feature_names_in_: Array

    _rules: ClassVar = {
        "encode": boolean(),
        "impute": boolean(),
        "standardize": boolean(),
        "max_categories": at_least(2),
    }
    n_features_in_: int
    categories_: tuple[Array, ...]
    is_text_: Array
    medians_: FloatArray | None
    mean_: FloatArray
    scale_: FloatArray

    def __init__(
        self,
        encode: bool = False,
        impute: bool = False,
        standardize: bool = True,
        *,
        max_categories: int = 100,
    ) -> None:
        self.encode = encode
        self.impute = impute
        self.standardize = standardize
        self.max_categories = max_categories

    @updating
    def fit(self, X: TableLike, y: Any = None) -> Self:
        """Learn categories, medians, means and scales.

        Parameters
        ----------
        X : table
            DataFrame, mapping, `RawTable` or array.
        y : None
            Ignored.

        Returns
        -------
        TableEncoder
        """
        self._learn(X)
        return self

    @updating
    def fit_transform(self, X: TableLike, y: Any = None) -> FloatingArray:  # type: ignore[override]
        """Fit to a table and return it as numbers, as `fit` and `transform` would."""
        return self._scaled(self._learn(X))

    def transform(self, X: TableLike) -> FloatingArray:
        """Return a table as numbers.

        Parameters
        ----------
        X : table
            With the columns that the encoder was fitted with.

        Returns
        -------
        array of shape (n_rows, n_columns)
            float32 if all columns are, else float64.
        """
        check_is_fitted(self)
        columns = as_columns(X)
        names = self.__dict__.get("feature_names_in_")
        if columns.names is not None and names is not None:
            columns = columns.select(names.tolist())
        elif len(columns.cells) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns.cells)} features, but TableEncoder is expecting "
                f"{self.n_features_in_} features as input"
            )
        return self._scaled(self._numbers(columns))

    def estimate(self, X: TableLike, y: Any = None, *, n_pairs: int | None = None) -> Estimate:
        """Estimate the time and memory of a fit: two passes over the table."""
        n, d = np.shape(X) if hasattr(X, "shape") else (len(X), self.max_categories)
        return Estimate.of(1e-7 * n * d, 16.0 * n * d)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the resulting columns: ``column`` or ``column=word``."""
        check_is_fitted(self)
        names = self.__dict__.get("feature_names_in_")
        titles = [f"x{i}" for i in range(self.n_features_in_)] if names is None else names
        return np.array(
            [
                out
                for title, words, is_text in zip(
                    titles, self.categories_, self.is_text_, strict=True
                )
                for out in ([f"{title}={word}" for word in words] if is_text else [title])
            ],
            dtype=object,
        )

    def _learn(self, X: TableLike) -> FloatingArray:
        """Set the attributes; return the table as numbers that are not scaled yet."""
        self._check_parameters()
        columns = as_columns(X)
        shape = (columns.n_rows, len(columns.cells))
        for number, what in zip(shape[::-1], ("feature", "sample"), strict=True):
            if not number:
                raise ValueError(
                    f"{columns.where} has 0 {what}(s) (shape={shape}) while a minimum of 1 is "
                    "required."
                )
        self.__dict__.pop("feature_names_in_", None)
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        self.n_features_in_ = len(columns.cells)
        self.is_text_ = np.array([cells.dtype.kind == "O" for cells in columns.cells])
        self._check_text(columns)
        self.categories_ = tuple(map(_words, columns.cells))
        self._check_categories(columns)
        self.medians_ = _medians(columns) if self.impute else None
        numbers = self._numbers(columns)
        check_magnitude(numbers, columns.where)
        self.mean_, self.scale_ = np.zeros(numbers.shape[1]), np.ones(numbers.shape[1])
        if self.standardize:
            scaler = StandardScaler().fit(numbers)
            self.mean_, self.scale_ = (
                np.asarray(part, dtype=np.float64) for part in (scaler.mean_, scaler.scale_)
            )
        return numbers

    def _check_text(self, columns: Columns) -> None:
        """Raise an error for text that is not to be encoded, and for what should be numbers."""
        places = np.flatnonzero(self.is_text_)
        for place in places:
            if (why := why_not_numbers(columns.cells[place])) is not None:
                raise ValueError(
                    f"{_named(columns, [place])} of {columns.where} {why}, or leave out the column "
                    "(--drop)."
                )
        if self.encode or not len(places):
            return
        cells = columns.cells[places[0]]
        row = first_word(cells)
        raise ValueError(
            f"{_named(columns, places)} of {columns.where} must hold numbers, found "
            f"{quote(cells[row])} in row {row + 1}; encode=True (--encode) makes a column of 0 and "
            "1 of each of their words, or leave them out (--drop, or --id for names of the rows)."
        )

    def _check_categories(self, columns: Columns) -> None:
        counts = np.array([len(words) for words in self.categories_])
        places = np.flatnonzero(counts > self.max_categories).tolist()
        if places:
            words = list_some(map(quote, self.categories_[places[0]]), 3)
            found = " and ".join(str(counts[place]) for place in places)
            raise ValueError(
                f"{_named(columns, places)} of {columns.where} {_have(places)} {found} different "
                f"words ({words}), but at most max_categories={self.max_categories} are encoded: "
                "names of the rows are no features (--id), nor is free text (--drop, or --text of "
                "likewise report)."
            )

    def _numbers(self, columns: Columns) -> FloatingArray:
        """Return the matrix before it is scaled."""
        self._check_gaps(columns)
        widths = [len(words) if text else 1 for words, text in self._kinds()]
        dtype = np.result_type(
            np.float32, *(cells.dtype for cells in columns.cells if cells.dtype.kind == "f")
        )
        require_memory(columns.n_rows * sum(widths) * dtype.itemsize, "The encoded table")
        numbers = np.zeros((columns.n_rows, sum(widths)), dtype=dtype)
        starts = np.cumsum([0, *widths])
        for place, (words, text) in enumerate(self._kinds()):
            cells, start = columns.cells[place], starts[place]
            if text:
                self._mark(numbers[:, start : starts[place + 1]], columns, place, words)
                continue
            if cells.dtype.kind != "f":
                row = first_word(cells)
                raise ValueError(
                    f"{_named(columns, [place])} of {columns.where} must hold numbers, as when the "
                    f"model was fitted, found {quote(cells[row])} in row {row + 1}."
                )
            gaps = np.isnan(cells)
            numbers[:, start] = cells
            if self.medians_ is not None and gaps.any():
                numbers[gaps, start] = self.medians_[place]
        return numbers

    def _mark(self, out: FloatingArray, columns: Columns, place: int, words: Array) -> None:
        """Write 1 into the column of the word of each row; unknown words are warned of."""
        cells = _as_words(columns.cells[place])
        codes = {word: code for code, word in enumerate(words.tolist())}
        found = np.array([codes.get(cell, -1) for cell in cells])
        out[np.flatnonzero(found >= 0), found[found >= 0]] = 1
        unseen = [cell for cell, code in zip(cells, found, strict=True) if cell and code < 0]
        if unseen:
            warn_user(
                f"{_named(columns, [place])} of {columns.where} has "
                f"{pluralize(len(unseen), 'row')} with words that were not there when the model "
                f"was fitted ({list_some(map(quote, dict.fromkeys(unseen)), 5)}): they count as "
                "none of its words."
            )

    def _check_gaps(self, columns: Columns) -> None:
        """Raise an error for infinite values and, if they are not to be filled, empty cells."""
        if columns.names is None and not self.impute and not self.is_text_.any():
            check_finite(np.column_stack(columns.cells), "X")  # names row and column by number
        gaps = [gaps_of(cells) for cells in columns.cells]
        for place, cells in enumerate(columns.cells):
            if cells.dtype.kind == "f" and np.isinf(cells).any():
                row = int(np.isinf(cells).argmax())
                raise ValueError(
                    f"{_named(columns, [place])} of {columns.where} contains infinity in row "
                    f"{row + 1}; only finite numbers are allowed."
                )
        places = [place for place, empty in enumerate(gaps) if empty.any()]
        if places and not self.impute:
            total = sum(int(gaps[place].sum()) for place in places)
            raise ValueError(
                f"{_named(columns, places)} of {columns.where} {_have(places)} "
                f"{pluralize(total, 'empty cell')} or NaN, the first in row "
                f"{gaps[places[0]].argmax() + 1}; impute=True (--impute) fills them with the "
                "median of the column, or leave out the rows or (--drop) the columns."
            )

    def _kinds(self) -> list[tuple[Array, bool]]:
        return list(zip(self.categories_, self.is_text_.tolist(), strict=True))

    def _scaled(self, numbers: FloatingArray) -> FloatingArray:
        if self.standardize:
            numbers -= self.mean_.astype(numbers.dtype)
            numbers /= self.scale_.astype(numbers.dtype)
        return numbers

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self.encode
        tags.input_tags.allow_nan = self.impute
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_state(self) -> None:
        super()._check_state()
        if "categories_" not in vars(self):
            return
        d = self.n_features_in_
        require(isinstance(self.categories_, tuple) and len(self.categories_) == d)
        require(all(words.ndim == 1 and words.dtype == object for words in self.categories_))
        require_array(self.is_text_, d, kind="b")
        require(self.medians_ is None or self.medians_.shape == (d,))
        n_out = sum(len(words) if text else 1 for words, text in self._kinds())
        require_array(self.mean_, n_out)
        require_array(self.scale_, n_out)
        require(bool((self.scale_ > 0).all()))
        if "feature_names_in_" in vars(self):
            require(self.feature_names_in_.shape == (d,))


def _named(columns: Columns, places: Any) -> str:
    """Write ``column 'a'`` or ``columns 'a' and 'b'``."""
    names = [quote(columns.titles[place]) for place in places]
    listed = list_some(names) if len(names) > 8 else " and ".join(names)
    return f"column{'s' if len(names) > 1 else ''} {listed}"


def _have(places: list[int]) -> str:
    return "have" if len(places) > 1 else "has"


def _words(cells: Array) -> Array:
    """Return the different words in sorted order; none of a column of numbers."""
    found = {cell for cell in cells if cell is not None} if cells.dtype.kind == "O" else set()
    return np.array(sorted(found), dtype=object)


def _as_words(cells: Array) -> list[str | None]:
    """Return words; numbers, in a column that was text when fitted, as people write them."""
    if cells.dtype.kind == "O":
        return list(cells)
    return [
        None if np.isnan(cell) else str(int(cell)) if cell.is_integer() else repr(cell)
        for cell in cells.tolist()
    ]


def _medians(columns: Columns) -> FloatArray:
    medians = np.zeros(len(columns.cells))
    for place, cells in enumerate(columns.cells):
        if cells.dtype.kind == "f":
            present = cells[~np.isnan(cells)]
            if not len(present):
                raise ValueError(
                    f"{_named(columns, [place])} of {columns.where} has no value at all, and so no "
                    "median: leave it out (--drop)."
                )
            medians[place] = np.median(present)
    return medians
