"""Retrieval: are the nearest items the relevant ones?"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from numpy.typing import ArrayLike

from likewise._runtime.validation import TableLike
from likewise.evaluation import _retrieval_measures as measures
from likewise.evaluation._retrieval_scoring import score_rankings
from likewise.evaluation.retrieval_score import RetrievalScore

Distance: TypeAlias = Literal["euclidean", "cosine"]


def precision_at_k(
    X: TableLike,
    y: ArrayLike | None = None,
    k: int = 10,
    *,
    corpus: TableLike | None = None,
    corpus_y: ArrayLike | None = None,
    relevant: Any = None,
    metric: Any = None,
    distance: Distance = "euclidean",
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> RetrievalScore:
    """Return the share of relevant rows among the k nearest.

    The mean over queries of (relevant rows among the k nearest) / k.

    Parameters
    ----------
    X : array-like of shape (n_queries, n_features)
        The queries. Without `corpus` each row is searched for among all others.
    y : array-like of shape (n_queries,), optional
        Labels: the relevant rows have the label of the query. Either `y` or `relevant` is needed.
    k : int, default=10
        How many nearest rows count.
    corpus : array-like of shape (n_corpus, n_features), optional
        The rows that are searched.
    corpus_y : array-like of shape (n_corpus,), optional
        Their labels.
    relevant : list of array-like of int, or sparse matrix, optional
        The rows of the corpus (or of X) that are relevant to each query; or a sparse matrix of
        shape (n_queries, n_corpus) whose entries are not zero there.
    metric : fitted transformer, optional
        Distances are taken after its `transform`; without one, between the rows as given.
    distance : {"euclidean", "cosine"}, default="euclidean"
        Equal distances are in the order of the rows.
    confidence : float, default=0.95
        Of the interval.
    n_jobs : int, optional
        Threads; all cores by default.

    Returns
    -------
    RetrievalScore
        Queries to which nothing is relevant are left out.

    Examples
    --------
    >>> from likewise.evaluation import precision_at_k
    >>> found = precision_at_k([[0.0], [1.0], [3.0], [4.5]], ["a", "a", "b", "a"], k=2)
    >>> found.per_query.round(2)
    array([0.5, 0.5, nan, 0.5])
    >>> precision_at_k([[0.0]], corpus=[[1.0], [2.0], [3.0]], relevant=[[0, 2]], k=2).value
    0.5
    """
    return score_rankings(
        "precision_at_k",
        measures.precision,
        (X, y, corpus, corpus_y, relevant),
        k=k,
        depth=k + 1,
        metric=metric,
        distance=distance,
        confidence=confidence,
        n_jobs=n_jobs,
    )


def recall_at_k(
    X: TableLike,
    y: ArrayLike | None = None,
    k: int = 10,
    *,
    corpus: TableLike | None = None,
    corpus_y: ArrayLike | None = None,
    relevant: Any = None,
    metric: Any = None,
    distance: Distance = "euclidean",
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> RetrievalScore:
    """Return the share of the relevant rows that is among the k nearest.

    The mean over queries of (relevant rows among the k nearest) / (relevant rows).

    Parameters
    ----------
    X : array-like of shape (n_queries, n_features)
        The queries.
    y : array-like of shape (n_queries,), optional
        Labels: the relevant rows have the label of the query.
    k : int, default=10
        How many nearest rows count.
    corpus, corpus_y, relevant : optional
        Where is searched, and what is relevant, as for `precision_at_k`.
    metric, distance, confidence, n_jobs : optional
        As for `precision_at_k`.

    Returns
    -------
    RetrievalScore
        Queries to which nothing is relevant are left out.

    Examples
    --------
    >>> from likewise.evaluation import recall_at_k
    >>> found = recall_at_k([[0.0], [1.0], [3.0], [4.5]], ["a", "a", "b", "a"], k=2)
    >>> found.per_query.round(2)
    array([0.5, 0.5, nan, 0.5])
    >>> recall_at_k([[0.0]], corpus=[[1.0], [2.0], [3.0]], relevant=[[0, 2]], k=2).value
    0.5
    """
    return score_rankings(
        "recall_at_k",
        measures.recall,
        (X, y, corpus, corpus_y, relevant),
        k=k,
        depth=k + 1,
        metric=metric,
        distance=distance,
        confidence=confidence,
        n_jobs=n_jobs,
    )


def mrr(
    X: TableLike,
    y: ArrayLike | None = None,
    k: int | None = None,
    *,
    corpus: TableLike | None = None,
    corpus_y: ArrayLike | None = None,
    relevant: Any = None,
    metric: Any = None,
    distance: Distance = "euclidean",
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> RetrievalScore:
    """Return the mean reciprocal rank: 1 / the rank of the nearest relevant row.

    Ranks count from 1. A query whose nearest relevant row is beyond k counts 0.

    Parameters
    ----------
    X : array-like of shape (n_queries, n_features)
        The queries.
    y : array-like of shape (n_queries,), optional
        Labels: the relevant rows have the label of the query.
    k : int, optional
        How many nearest rows count; all by default.
    corpus, corpus_y, relevant : optional
        Where is searched, and what is relevant, as for `precision_at_k`.
    metric, distance, confidence, n_jobs : optional
        As for `precision_at_k`.

    Returns
    -------
    RetrievalScore
        Queries to which nothing is relevant are left out.

    Examples
    --------
    >>> from likewise.evaluation import mrr
    >>> found = mrr([[0.0], [1.0], [3.0], [4.5]], ["a", "a", "b", "a"])
    >>> found.per_query.round(2)
    array([1. , 1. , nan, 0.5])
    >>> mrr([[0.0]], corpus=[[1.0], [2.0], [3.0]], relevant=[[0, 2]]).value
    1.0
    """
    return score_rankings(
        "mrr",
        measures.reciprocal_rank,
        (X, y, corpus, corpus_y, relevant),
        k=k,
        depth=None,
        metric=metric,
        distance=distance,
        confidence=confidence,
        n_jobs=n_jobs,
    )


def mean_average_precision(
    X: TableLike,
    y: ArrayLike | None = None,
    k: int | None = None,
    *,
    corpus: TableLike | None = None,
    corpus_y: ArrayLike | None = None,
    relevant: Any = None,
    metric: Any = None,
    distance: Distance = "euclidean",
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> RetrievalScore:
    """Return the mean average precision of rankings by distance.

    The average precision of a query is the mean, over its relevant rows, of the precision at their
    ranks. With a `k`, ranks beyond k count 0, and the divisor is at most k.

    Parameters
    ----------
    X : array-like of shape (n_queries, n_features)
        The queries.
    y : array-like of shape (n_queries,), optional
        Labels: the relevant rows have the label of the query.
    k : int, optional
        How many nearest rows count; all by default.
    corpus, corpus_y, relevant : optional
        Where is searched, and what is relevant, as for `precision_at_k`.
    metric, distance, confidence, n_jobs : optional
        As for `precision_at_k`.

    Returns
    -------
    RetrievalScore
        Queries to which nothing is relevant are left out.

    Examples
    --------
    >>> from likewise.evaluation import mean_average_precision
    >>> found = mean_average_precision([[0.0], [1.0], [3.0], [4.5]], ["a", "a", "b", "a"])
    >>> found.per_query.round(2)
    array([0.83, 0.83,  nan, 0.58])
    >>> mean_average_precision([[0.0]], corpus=[[1.0], [2.0], [3.0]], relevant=[[0, 2]]).value
    0.8333333333333333
    """
    return score_rankings(
        "mean_average_precision",
        measures.average_precision,
        (X, y, corpus, corpus_y, relevant),
        k=k,
        depth=None,
        metric=metric,
        distance=distance,
        confidence=confidence,
        n_jobs=n_jobs,
    )


def ndcg(
    X: TableLike,
    y: ArrayLike | None = None,
    k: int | None = None,
    *,
    corpus: TableLike | None = None,
    corpus_y: ArrayLike | None = None,
    relevant: Any = None,
    metric: Any = None,
    distance: Distance = "euclidean",
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> RetrievalScore:
    """Return the normalised discounted cumulative gain of rankings by distance.

    The sum of gain / log2(rank + 1) over the k nearest rows, divided by the largest sum that any
    ranking has. A relevant row has gain 1, or that of the matrix `relevant`.

    Parameters
    ----------
    X : array-like of shape (n_queries, n_features)
        The queries.
    y : array-like of shape (n_queries,), optional
        Labels: the relevant rows have the label of the query.
    k : int, optional
        How many nearest rows count; all by default.
    corpus, corpus_y, relevant : optional
        Where is searched, and what is relevant, as for `precision_at_k`; the entries of a sparse
        matrix are gains.
    metric, distance, confidence, n_jobs : optional
        As for `precision_at_k`.

    Returns
    -------
    RetrievalScore
        Queries to which nothing is relevant are left out.

    Examples
    --------
    >>> from likewise.evaluation import ndcg
    >>> found = ndcg([[0.0], [1.0], [3.0], [4.5]], ["a", "a", "b", "a"])
    >>> found.per_query.round(2)
    array([0.92, 0.92,  nan, 0.69])
    >>> ndcg([[0.0]], corpus=[[1.0], [2.0], [3.0]], relevant=[[0, 2]]).value
    0.9197207891481876
    """
    return score_rankings(
        "ndcg",
        measures.discounted_gain,
        (X, y, corpus, corpus_y, relevant),
        k=k,
        depth=None,
        metric=metric,
        distance=distance,
        confidence=confidence,
        n_jobs=n_jobs,
    )
