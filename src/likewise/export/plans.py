"""Three ways to search under a learned metric, and what each costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from likewise._runtime.validation import at_least, check_parameters
from likewise.base import AffineMap
from likewise.export.shortlist import is_local

_FLOAT = 4  # bytes of a float32


@dataclass(frozen=True)
class Plan:
    """One way to search under a learned metric.

    Attributes
    ----------
    name : {"re-index", "query-only", "shortlist"}
    exact : bool
        Whether the order is that of the learned distance, up to ties in float32.
    stored_bytes : int
        What has to be written, for all vectors.
    once_flops : int
        Floating-point operations before the first search.
    query_flops : int
        Operations per query, in a search that compares with every vector.
    about : str
        What changes, in a sentence.
    """

    name: str
    exact: bool
    stored_bytes: int
    once_flops: int
    query_flops: int
    about: str


class Plans(tuple[Plan, ...]):
    """Plans that a model allows; printed as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        lines = [f"{'plan':<12}{'exact':<7}{'to write':>10}{'once':>14}{'per query':>14}"]
        for plan in self:
            exact = "yes" if plan.exact else "no"
            once, query = _flops(plan.once_flops), _flops(plan.query_flops)
            size = _size(plan.stored_bytes)
            lines.append(f"{plan.name:<12}{exact:<7}{size:>10}{once:>14}{query:>14}")
        return "\n".join([*lines, *(f"{plan.name}: {plan.about}" for plan in self)])

    __repr__ = __str__


def plans(
    model: Any, n_vectors: int, *, n_features: int | None = None, shortlist: int = 100
) -> Plans:
    """Return the plans that a model allows for so many stored vectors, with their costs.

    Parameters
    ----------
    model : fitted metric
        A linear metric allows all plans; a local one, such as `MultiMetricLMNN`, the shortlist;
        an adapter of queries only (``side="query"``) is the query-only plan.
    n_vectors : int
        Vectors in the index or table.
    n_features : int, optional
        Their length; by default that of the vectors the model was fitted on.
    shortlist : int, default=100
        Vectors that are reranked per query.

    Returns
    -------
    Plans
        A tuple of `Plan`.

    Examples
    --------
    >>> import numpy as np, likewise as lw
    >>> from likewise.export import plans
    >>> plans(lw.Euclidean().fit(np.eye(384)), n_vectors=100_000)
    plan        exact    to write          once     per query
    re-index    yes      146.5 MiB  29.5 Gflop    77.1 Mflop
    ...
    """
    rules = {"n_vectors": at_least(1), "shortlist": at_least(1)}
    check_parameters("plans", {"n_vectors": n_vectors, "shortlist": shortlist}, rules)
    if is_local(model):
        d = n_features or int(model.n_features_in_)
        return Plans([_shortlist(n_vectors, d, d, shortlist)])
    affine = AffineMap.from_model(model)
    m, d = affine.W.shape
    if n_features not in (None, d):
        raise ValueError(f"n_features is {n_features}, but the model maps vectors of {d}.")
    if affine.side == "query":
        return Plans([_queries_only(n_vectors, d)])
    map_all, map_one = 2 * n_vectors * m * d, 2 * m * d
    extra = (d + 1) * _FLOAT if affine.normalize else _FLOAT
    kept = "x/s and 1/s are stored" if affine.normalize else "one number is added to each vector"
    return Plans(
        [
            Plan(
                "re-index",
                exact=True,
                stored_bytes=n_vectors * m * _FLOAT,
                once_flops=map_all,
                query_flops=map_one + 2 * n_vectors * m,
                about=f"all vectors are mapped to {m} numbers and indexed again.",
            ),
            Plan(
                "query-only",
                exact=True,
                stored_bytes=n_vectors * extra,
                once_flops=map_all,
                query_flops=2 * map_one + 2 * n_vectors * (d + 1),
                about=f"the vectors stay; {kept}, and searched by inner product.",
            ),
            _shortlist(n_vectors, d, m, shortlist),
        ]
    )


def _queries_only(n_vectors: int, d: int) -> Plan:
    return Plan(
        "query-only",
        exact=True,
        stored_bytes=0,
        once_flops=0,
        query_flops=2 * d * d + 2 * n_vectors * d,
        about="the vectors and their index stay; only queries are mapped, and compared by cosine.",
    )


def _shortlist(n_vectors: int, d: int, m: int, shortlist: int) -> Plan:
    return Plan(
        "shortlist",
        exact=False,
        stored_bytes=0,
        once_flops=0,
        query_flops=2 * n_vectors * d + 2 * (shortlist + 1) * m * d,
        about=f"your index returns {shortlist} vectors, and the model reranks them; measure the "
        "recall by shortlist_recall.",
    )


def _flops(number: int) -> str:
    return _scaled(float(number), ("flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop"), 1000.0)


def _size(n_bytes: int) -> str:
    return _scaled(float(n_bytes), ("B", "KiB", "MiB", "GiB", "TiB"), 1024.0)


def _scaled(number: float, units: Sequence[str], step: float) -> str:
    if number == 0:
        return "none"
    power = min(int(math.log(number, step)), len(units) - 1)
    return f"{number / step**power:.1f} {units[power]}"
