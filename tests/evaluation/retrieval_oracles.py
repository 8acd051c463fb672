"""The retrieval measures by plain loops over queries, ranks and items, as they are defined."""

import math

MEASURES = ["precision_at_k", "recall_at_k", "mrr", "mean_average_precision", "ndcg"]


def ranking(query, points, skip=()):
    """Row numbers by squared distance, equal ones in their order."""
    sqdist = [
        (sum((float(a) - float(b)) ** 2 for a, b in zip(query, point, strict=True)), j)
        for j, point in enumerate(points)
        if j not in skip
    ]
    return [j for _, j in sorted(sqdist)]


def of_ranking(name, gains, k):
    """The measure of one ranking, from the gains in its order; None if nothing is relevant."""
    hits = [gain > 0 for gain in gains]
    if not any(hits):
        return None
    most = len(gains) if k is None else k
    if name == "precision_at_k":
        return sum(hits[:k]) / k
    if name == "recall_at_k":
        return sum(hits[:k]) / sum(hits)
    if name == "mrr":
        first = hits.index(True) + 1
        return 1 / first if first <= most else 0.0
    if name == "mean_average_precision":
        total = 0.0
        for rank, hit in enumerate(hits[:most], start=1):
            if hit:
                total += sum(hits[:rank]) / rank
        return total / min(sum(hits), most)
    return _sum_of_gains(gains, most) / _sum_of_gains(sorted(gains, reverse=True), most)


def _sum_of_gains(gains, most):
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:most], start=1))


def values(name, queries, points, gains, k, *, itself, without=None):
    """The measure of each query; `without` is left out of the corpus, and of the queries too."""
    found = []
    for i, query in enumerate(queries):
        if itself and i == without:
            continue
        skip = {without, i} if itself else {without}
        order = ranking(query, points, skip)
        found.append(of_ranking(name, [gains[i][j] for j in order], k))
    return found


def mean(found):
    counted = [value for value in found if value is not None]
    return sum(counted) / len(counted) if counted else None


def jackknife_variance(means):
    counted = [value for value in means if value is not None]
    n, centre = len(counted), mean(counted)
    return (n - 1) / n * sum((value - centre) ** 2 for value in counted)
