"""The estimator: a map of embeddings, or the embeddings as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from likewise._metric_parameter import METRIC_RULE, fresh_metric, nested_fits
from likewise._runtime.progress import progress
from likewise._runtime.tensors import device_memory_errors
from likewise._runtime.threads import single_threaded_blas
from likewise._runtime.validation import (
    TableLike,
    at_least,
    boolean,
    either,
    n_jobs_rule,
    one_of,
)
from likewise.adapter._adapted_rows import AdaptedRows
from likewise.adapter._candidate import IDENTITY, Candidate, Side, Similarity
from likewise.adapter._checked_sources import (
    check_labelled_source,
    check_others,
    check_source,
    gather_items,
    others_in_memory,
)
from likewise.adapter._evidence import Evidence, no_evidence
from likewise.adapter._given_rows import check_squares
from likewise.adapter._labels import Labels
from likewise.adapter._learning_curve import LearningCurve
from likewise.adapter._pairs import JudgedPairs
from likewise.adapter._relevance import triplets_from_lists
from likewise.adapter._rows import RowPool
from likewise.adapter._sources import ArraySource, RowSource, source_in_memory
from likewise.adapter._triplets import JudgedTriplets
from likewise.adapter._verdict import MIN_JUDGEMENTS, describe_choice
from likewise.base import fitting
from likewise.base.estimate import NestedFit
from likewise.constraints import as_pairs, as_triplets

Judgements = Labels | JudgedPairs | JudgedTriplets

_CONFIDENCE = 0.95
_CURVE_SHARES = (0.125, 0.25, 0.5, 1.0)


class EmbeddingAdapter(AdaptedRows):
    r"""Adapts frozen embeddings to judgements where that is shown to help, and else keeps them.

    The map is :math:`z = W(x - \mu)`, scaled to length 1 where the rows are. Its metric
    :math:`W^\top W = I / s + w F^\top F` is the embedding's own plus w times a few learned
    directions F. Several families of directions and weights w are compared by cross-validation on
    items that they were not learned from, with the identity among them; a map is chosen only if its
    gain exceeds its standard error by a margin.

    Parameters
    ----------
    metric : metric learner or str, optional
        A metric of this library, or its name, whose components are a further family of directions.
        It must learn from the judgements that are given. By default only the families of the notes
        are compared, which are fast.
    normalize : {"auto", True, False}
        Whether vectors are compared by cosine, and the images scaled to length 1; otherwise by
        Euclidean distance. "auto" is True if all rows have the same length, up to 1 %, or 5 % if
        they are whole numbers, such as int8.
    side : {"both", "query"}
        What is mapped: all vectors, or only queries, which are then compared with vectors as they
        were. "query" needs rows that are normalised.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    random_state : int
        Decides the splits, and all other draws.
    verbose : int
        1 shows progress.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        W.
    mean_ : array of shape (n_features,)
        :math:`\mu`.
    normalize_ : bool
        Whether images are scaled to length 1.
    chosen_ : str
        The family of directions: "identity" for rows left as they are, "centred", "fda",
        "self-trained", "ridge", "20 clusters", "60 clusters" or "metric".
    weight_ : float
        w.
    gain_ : float
        By how much the measure named in `verdict_` is better than for rows as they are, on judged
        items that were held out; 0 for the identity.
    gain_interval_ : tuple of float
        Of the gain, with 95 % confidence, for all maps that were compared at once.
    verdict_ : str
        What was gained, in a sentence, with the standard errors that the choice asks for.
    n_needed_ : int or None
        About how many judgements would show the gain that is seen, where none was shown.
    cv_results_ : dict of arrays
        An entry for each map: `family`, `weight`, gains and standard errors by each criterion, and
        the `bound` that must be above 0.

    Notes
    -----
    *From labels*: discriminants with a heavily shrunk within-class scatter ("fda"); and, where
    there are unlabelled rows, discriminants after these have been assigned to classes, in turns
    ("self-trained"). *From pairs, triplets and lists*: ridge regression of the judgements on
    products of rows, beyond what their cosine explains ("ridge"), and discriminants of clusters of
    all rows under that metric.

    *The choice from labels* takes the largest of the lower bounds, gain less 1.5 standard errors,
    of two criteria, whichever is less: mean average precision, and the precision among rows that
    are as similar as the most similar 1 % of all. Ranks among the few held-out rows say little
    about ranks in a large collection; that share does. From other judgements it takes the gain less
    2 standard errors of the area under the ROC curve, or of the share of triplets in order. The
    weight is at most a 300th of the number of labelled rows, or a 500th of that of pairs or
    triplets. With fewer than 50 judgements the identity is kept.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> adapter = lw.EmbeddingAdapter(normalize=True).fit(X[:400], y[:400], unlabelled=X[400:1400])
    >>> adapter.chosen_, adapter.gain_ > 0
    ('fda', True)
    >>> adapter.transform(X[1400:]).shape
    (397, 64)
    """

    _rules: ClassVar = {
        "metric": METRIC_RULE,
        "normalize": either(one_of("auto"), boolean()),
        "side": one_of("both", "query"),
        "n_jobs": n_jobs_rule(),
        "random_state": at_least(0),
        "verbose": either(at_least(0), boolean()),
    }

    def __init__(
        self,
        metric: Any = None,
        *,
        normalize: Literal["auto"] | bool = "auto",
        side: Side = "both",
        n_jobs: int | None = None,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.normalize = normalize
        self.side = side
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fitting
    def fit(self, X: TableLike, y: ArrayLike, *, unlabelled: TableLike | None = None) -> Self:
        """Learn from labels; rows of one class are alike.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_samples, n_features)
            Labelled embeddings. float16 and small integers are computed in float32.
        y : array-like of shape (n_samples,)
            Their labels. No value means *unlabelled*.
        unlabelled : array-like or Dask collection, shape (n_unlabelled, n_features), optional
            Further embeddings, such as those of the collection to search. They carry much of the
            gain.

        Returns
        -------
        EmbeddingAdapter
            The fitted adapter.
        """
        source, codes, items = check_labelled_source(self, X, y, unlabelled)
        return self._adapt(source, Labels(codes, items, self._learner()), unlabelled)

    @fitting
    def fit_pairs(
        self,
        X: TableLike,
        pairs: ArrayLike,
        same: ArrayLike,
        *,
        unlabelled: TableLike | None = None,
    ) -> Self:
        """Learn from same and different pairs.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_samples, n_features)
            Embeddings. Rows in no pair help, too.
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers.
        same : array-like of bool of shape (n_pairs,)
            Whether the two rows of a pair are the same.
        unlabelled : array-like or Dask collection, shape (n_unlabelled, n_features), optional
            Further embeddings.

        Returns
        -------
        EmbeddingAdapter
            The fitted adapter.
        """
        source = check_source(self, X, unlabelled)
        judged = as_pairs(pairs, same, len(source))
        n_same = int(judged.same.sum())
        if not 0 < n_same < len(judged):
            raise ValueError(
                f"same has {n_same} same and {len(judged) - n_same} different pairs, but both "
                "kinds are needed."
            )
        items = gather_items(source, np.unique(judged.index))
        return self._adapt(source, JudgedPairs(judged, items, self._learner()), unlabelled)

    @fitting
    def fit_triplets(
        self, X: TableLike, triplets: ArrayLike, *, unlabelled: TableLike | None = None
    ) -> Self:
        """Learn from triplets: an anchor, a row more like it, and a row less like it.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_samples, n_features)
            Embeddings. Rows in no triplet help, too.
        triplets : array-like of int of shape (n_triplets, 3)
            Row numbers: anchor, positive, negative.
        unlabelled : array-like or Dask collection, shape (n_unlabelled, n_features), optional
            Further embeddings.

        Returns
        -------
        EmbeddingAdapter
            The fitted adapter.
        """
        source = check_source(self, X, unlabelled)
        judged = as_triplets(triplets, len(source))
        items = gather_items(source, np.unique(judged.index))
        return self._adapt(source, JudgedTriplets(judged, items, self._learner()), unlabelled)

    @fitting
    def fit_relevance(
        self,
        X: TableLike,
        queries: ArrayLike,
        relevant: Sequence[ArrayLike],
        irrelevant: Sequence[ArrayLike] | None = None,
        *,
        unlabelled: TableLike | None = None,
    ) -> Self:
        """Learn from the rows that are relevant, and irrelevant, to queries.

        Parameters
        ----------
        X : array-like, or Dask array or dataframe, of shape (n_samples, n_features)
            Embeddings of the queries and of what is searched.
        queries : array-like of int of shape (n_queries,)
            The row of each query.
        relevant : sequence of array-like of int
            For each query, the rows that are relevant.
        irrelevant : sequence of array-like of int, optional
            For each query, the rows that are not; by default ten rows drawn at random.
        unlabelled : array-like or Dask collection, shape (n_unlabelled, n_features), optional
            Further embeddings.

        Returns
        -------
        EmbeddingAdapter
            The fitted adapter.
        """
        source = check_source(self, X, unlabelled)
        rng = np.random.default_rng(self.random_state)
        judged = triplets_from_lists(queries, relevant, irrelevant, len(source), rng)
        items = gather_items(source, np.unique(judged.index))
        return self._adapt(
            source, JudgedTriplets(judged, items, self._learner(), by_query=True), unlabelled
        )

    def learning_curve(self) -> LearningCurve:
        """Return the gains from an eighth, a quarter, a half and all of the judgements.

        The adapter is fitted to parts of its judgements, drawn at random. It must have been fitted
        in this process: model files do not contain the data.

        Returns
        -------
        LearningCurve
        """
        check_is_fitted(self)
        if not hasattr(self, "_fitted_to"):
            raise ValueError(
                "This adapter was loaded from a file, or fitted to a Dask collection, and has no "
                "training data; fit it again, to rows in memory, for a learning curve."
            )
        given, judgements, given_others = self._fitted_to
        X, unlabelled = source_in_memory(given, "X"), None
        if given_others is not None:
            unlabelled = others_in_memory(given_others, X)
        sizes = [max(2, round(share * len(judgements))) for share in _CURVE_SHARES]
        found = []
        for n in sizes:
            rng = np.random.default_rng(self.random_state)
            part, rows = judgements.subset(n, rng)
            others, used = unlabelled, X
            if rows is not None:  # the other rows have no label any more
                left = np.delete(np.arange(len(X)), rows)
                others, used = X.part(left).followed_by(unlabelled), X.part(rows)
            with device_memory_errors(type(self).__name__):
                evidence, _ = self._compare(used, part, others, self.normalize_)
            found.append(_outcome(evidence, evidence.best()))
        families, gains, intervals = (np.array(column) for column in zip(*found, strict=True))
        return LearningCurve(np.array(sizes), gains, intervals, families, judgements.measure)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_fitted_to", None)
        return state

    def _nested_fits(self, n_pairs: int) -> list[NestedFit]:
        if not n_pairs:  # both halves of the rows three times, and all
            return nested_fits(self.metric, 6, rows=0.5) + nested_fits(self.metric)
        # Pairs with both items among four fifths of them, for five folds three times.
        folds = nested_fits(self.metric, 15, rows=0.8, pairs=0.64)
        return folds + nested_fits(self.metric)

    def _learner(self) -> Any:
        return None if self.metric is None else fresh_metric(self.metric)

    def _adapt(self, X: RowSource, judgements: Judgements, unlabelled: TableLike | None) -> Self:
        check_squares(X.largest(), X.dtype, "X")
        others = check_others(self, unlabelled, X)
        normalize = self._normalizes(X)
        evidence, pool = self._compare(X, judgements, others, normalize)
        best = evidence.best()
        candidate = Candidate.identity(X.shape[1])
        if best is not None:
            with single_threaded_blas():
                learned = judgements.learn(pool, self.n_jobs)
            by_key = {(c.family, c.weight): c for c in learned}
            candidate = by_key.get(evidence.keys[best], candidate)
            best = None if candidate.is_identity else best
        found = candidate.affine_map(self.side, normalize)
        self.components_, self.mean_ = found.W.astype(X.dtype), found.mean.astype(X.dtype)
        self.normalize_ = normalize
        self.weight_ = candidate.weight
        self.chosen_, self.gain_, self.gain_interval_ = _outcome(evidence, best)
        self.cv_results_ = evidence.table()
        self.n_needed_ = evidence.needed() if best is None else None
        margin = 0.0 if best is None else evidence.margin(best)
        self.verdict_ = describe_choice(
            judgements, self.chosen_, self.weight_, self.gain_, margin, self.n_needed_
        )
        vars(self).pop("_fitted_to", None)
        if isinstance(X, ArraySource) and (others is None or isinstance(others, ArraySource)):
            self._fitted_to = (X.given, judgements, None if others is None else others.given)
        return self

    def _compare(
        self, X: RowSource, judgements: Judgements, unlabelled: RowSource | None, normalize: bool
    ) -> tuple[Evidence, RowPool]:
        """Return what cross-validation says about the maps, and the rows they are learned from."""
        rng = np.random.default_rng(self.random_state)
        pool = RowPool(X, judgements.judged, unlabelled, rng)
        evidence = no_evidence(judgements.criteria, judgements.caution, len(judgements))
        if len(judgements) < MIN_JUDGEMENTS:
            return evidence, pool
        similarity = Similarity(normalize, self.side)
        title = type(self).__name__
        with single_threaded_blas(), progress(title, None, shown=bool(self.verbose)) as report:
            compared = judgements.evidence(pool, similarity, rng, self.n_jobs)
            for number, found in enumerate(compared, 1):
                evidence = found
                report(number)
        return evidence, pool

    def _normalizes(self, X: RowSource) -> bool:
        normalize = X.are_normalized() if self.normalize == "auto" else bool(self.normalize)
        if self.side == "query" and not normalize:
            raise ValueError(
                "side='query' needs rows of one length, compared by cosine, but the lengths of X "
                "differ: scale its rows to length 1, or set normalize=True."
            )
        return normalize


def _outcome(evidence: Evidence, best: int | None) -> tuple[str, float, tuple[float, float]]:
    """Return family, gain and interval of the map that is chosen."""
    if best is None:
        return IDENTITY, 0.0, (0.0, 0.0)
    family = evidence.keys[best][0]
    return family, float(evidence.gains[best, 0]), evidence.interval(best, _CONFIDENCE)
