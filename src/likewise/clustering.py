"""From decisions about pairs to entities: every item gets a cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from likewise._runtime.arrays import BoolArray, FloatArray, IndexArray
from likewise._runtime.row_numbers import as_integers
from likewise._runtime.text import quote
from likewise._runtime.validation import as_float_array, at_least, boolean, check_parameters

_LEAST_GAIN = 1e-9  # of a move: less may be rounding, which could go on forever
_SMALL = 50  # items of a component that is refined from two starts


@dataclass(frozen=True, eq=False)
class PairClusters:
    """The clusters that `cluster_pairs` found.

    Attributes
    ----------
    labels : int array of shape (n_items,)
        The cluster of each item, numbered 0, 1, … in the order of their first items.
    cost : float
        The expected number of pairs on which the clusters are wrong: the sum of 1 - p over pairs
        within a cluster and of p over pairs between clusters.
    """

    labels: IndexArray
    cost: float

    @property
    def n_clusters(self) -> int:
        """The number of clusters; an item that is like no other is a cluster of its own."""
        return int(self.labels.max()) + 1


def cluster_pairs(
    n_items: int,
    pairs: ArrayLike,
    decisions: ArrayLike,
    *,
    must: ArrayLike | None = None,
    cannot: ArrayLike | None = None,
    refine: bool = True,
) -> PairClusters:
    """Turn same/different decisions about pairs of items into clusters of items.

    Decisions need not be consistent: a and b may be *same*, b and c too, but a and c *different*.
    First, items that accepted pairs join directly or through others form a cluster, as far as
    `cannot` allows: where it does not, accepted pairs are joined from the most to the least
    certain. One false match is enough to join two entities in this way. Therefore each cluster
    that holds a rejected pair is then refined by correlation clustering: greedily, strongest first,
    clusters are joined as long as the sum of the weights between them is positive (a pair has the
    weight 2p - 1), and items are moved to the cluster, or out of it, where they reduce the cost.
    The result never costs more than the first step, and depends on nothing but the input.

    Pairs that are not given say nothing. A pair that is given twice counts twice.

    Parameters
    ----------
    n_items : int
        Number of items.
    pairs : array-like of int of shape (n_pairs, 2)
        Item numbers from 0.
    decisions : array-like of shape (n_pairs,)
        True for *same* and False for *different*, or the probability p of *same*. Above one half a
        pair is accepted, below rejected.
    must, cannot : array-like of int of shape (n, 2), optional
        Pairs of items that are known to belong to one cluster, or not to.
    refine : bool, default=True
        Whether the second step is done.

    Returns
    -------
    PairClusters

    Examples
    --------
    One wrong decision, about items 2 and 3, links two entities; two rejected pairs outvote it.

    >>> import likewise as lw
    >>> pairs = [[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [1, 3], [2, 4]]
    >>> same = [True, True, True, True, True, False, False]
    >>> lw.cluster_pairs(5, pairs, same).labels
    array([0, 0, 0, 1, 1])
    >>> lw.cluster_pairs(5, pairs, same, refine=False).labels
    array([0, 0, 0, 0, 0])
    >>> lw.cluster_pairs(5, pairs, same, must=[[2, 3]], cannot=[[0, 1]]).labels
    array([0, 1, 0, 0, 2])
    """
    check_parameters(
        "cluster_pairs",
        {"n_items": n_items, "refine": refine},
        {"n_items": at_least(1), "refine": boolean()},
    )
    index = _check_links(pairs, "pairs", n_items)
    chances = _check_decisions(decisions, len(index))
    joined = _check_links(must, "must", n_items)
    apart = _check_links(cannot, "cannot", n_items)
    units = _components(n_items, *joined.T)
    _check_consistent(units, apart)
    n_units = int(units.max()) + 1
    judged = _Graph.of(n_units, units[index.T], 2 * chances - 1)
    # The penalty of a cannot-link exceeds the sum of all weights.
    barrier = np.full(len(apart), -1 - np.abs(judged.weights).sum())
    forbidden = _Graph.of(n_units, units[apart.T], barrier)
    labels = _first_clusters(judged, forbidden)
    if refine:
        labels = _refine(judged.joined_with(forbidden), labels)
    labels = _in_order_of_appearance(labels[units])
    together = labels[index[:, 0]] == labels[index[:, 1]]
    return PairClusters(labels, float(np.where(together, 1 - chances, chances).sum()))


@dataclass(frozen=True, eq=False)
class _Graph:
    """Nodes 0 … n - 1, and weights of pairs of nodes: positive for joining them, else negative."""

    n_nodes: int
    first: IndexArray
    second: IndexArray
    weights: FloatArray

    @classmethod
    def of(cls, n_nodes: int, edges: IndexArray, weights: FloatArray) -> _Graph:
        """Add up the weights of each pair of nodes; loops are left out."""
        left, right = edges
        first, second = np.minimum(left, right), np.maximum(left, right)
        proper = first != second
        keys, weights = first[proper] * n_nodes + second[proper], weights[proper]
        order = np.argsort(keys, kind="stable")  # fast where most are in order already
        keys, weights = keys[order], weights[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        keys = keys[starts]
        sums = np.add.reduceat(weights, starts) if len(starts) else weights
        return cls(n_nodes, keys // n_nodes, keys % n_nodes, sums)

    @property
    def edges(self) -> IndexArray:
        return np.stack([self.first, self.second])

    def joined_with(self, other: _Graph) -> _Graph:
        edges = np.concatenate([self.edges, other.edges], axis=1)
        return self.of(self.n_nodes, edges, np.concatenate([self.weights, other.weights]))

    def where(self, chosen: BoolArray) -> _Graph:
        return _Graph(self.n_nodes, self.first[chosen], self.second[chosen], self.weights[chosen])

    def inside(self, labels: IndexArray) -> BoolArray:
        """Return which edges have both ends in one cluster."""
        within: BoolArray = labels[self.first] == labels[self.second]
        return within

    def among(self, nodes: IndexArray) -> _Graph:
        """Return the graph of some nodes, ascending, which are numbered anew."""
        places = np.full(self.n_nodes, -1)
        places[nodes] = np.arange(len(nodes))
        first, second = places[self.first], places[self.second]
        kept = (first >= 0) & (second >= 0)
        return _Graph(len(nodes), first[kept], second[kept], self.weights[kept])

    def quotient(self, labels: IndexArray) -> _Graph:
        """Return the graph of clusters, which are labelled 0, 1, …"""
        return self.of(int(labels.max()) + 1, labels[self.edges], self.weights)

    def costs(self, labels: IndexArray, parts: IndexArray) -> FloatArray:
        """Return what the decisions cost that `labels` contradict, for each part of the nodes."""
        contradicted = self.inside(labels) == (self.weights < 0)
        costs = np.where(contradicted, np.abs(self.weights), 0.0)
        return _sums(parts[self.first], costs, int(parts.max()) + 1)


def _first_clusters(judged: _Graph, forbidden: _Graph) -> IndexArray:
    """Return the components of accepted pairs, divided where they hold forbidden pairs."""
    accepted = judged.where(judged.weights > 0)
    labels = _components(judged.n_nodes, accepted.first, accepted.second)
    violated = np.unique(labels[forbidden.first[forbidden.inside(labels)]])
    if len(violated):
        nodes = np.flatnonzero(np.isin(labels, violated))
        parts = _contract(accepted.joined_with(forbidden).among(nodes))
        labels[nodes] = judged.n_nodes + parts
    return _in_order_of_appearance(labels)


def _refine(graph: _Graph, labels: IndexArray) -> IndexArray:
    """Return clusters that cost at most as much, found by joining nodes anew and moving them."""
    accepted = graph.where(graph.weights > 0)
    components = _components(graph.n_nodes, accepted.first, accepted.second)
    # No other component can be improved: its decisions agree with each other.
    rejected = graph.where(graph.weights < 0)
    in_conflict = np.unique(components[rejected.first[rejected.inside(components)]])
    nodes = np.flatnonzero(np.isin(components, in_conflict))
    if not len(nodes):
        return labels
    # Clusters that nothing accepted joins are better apart: components are separate problems.
    part = graph.among(nodes)
    parts = _in_order_of_appearance(components[nodes])
    part = part.where(part.inside(parts))
    best = _in_order_of_appearance(labels[nodes])
    joined = _improve(part, _contract(part))
    # A second start, which in large components would take long: the clusters of the first step.
    small = np.bincount(parts)[parts] <= _SMALL
    divided = _improve(part, _in_order_of_appearance(np.where(small, best, part.n_nodes + joined)))
    for found in (joined, divided):
        better = part.costs(found, parts) < part.costs(best, parts) - _LEAST_GAIN
        best = _in_order_of_appearance(np.where(better[parts], part.n_nodes + found, best))
    labels = labels.copy()
    labels[nodes] = graph.n_nodes + best
    return labels


def _improve(graph: _Graph, labels: IndexArray) -> IndexArray:
    """Move nodes and join clusters until neither reduces the cost."""
    while True:
        labels = _in_order_of_appearance(_move_nodes(graph, labels))
        merged = _contract(graph.quotient(labels))
        if merged.max() == labels.max():
            return labels
        labels = merged[labels]


def _contract(graph: _Graph) -> IndexArray:
    """Join clusters, at first single nodes, of the largest positive weight, until there are none.

    In each round all pairs of clusters are joined that are each other's best partners. Weights are
    compared to two digits and ties are decided by chance, with a fixed seed: with exact or ordered
    comparisons a chain of nodes could take as many rounds as it has nodes.
    """
    rng = np.random.default_rng(0)
    labels = np.arange(graph.n_nodes)
    while (positive := graph.where(graph.weights > 0)).weights.size:
        m = len(positive.weights)
        order = np.lexsort((rng.permutation(m), -np.round(positive.weights, 2)))
        rank = np.empty(m, dtype=np.int64)
        rank[order] = np.arange(m)
        best = np.full(graph.n_nodes, m)
        np.minimum.at(best, positive.first, rank)
        np.minimum.at(best, positive.second, rank)
        mutual = (best[positive.first] == rank) & (best[positive.second] == rank)
        target = np.arange(graph.n_nodes)
        target[positive.second[mutual]] = positive.first[mutual]
        _, target = np.unique(target, return_inverse=True)
        labels = target[labels]
        graph = graph.quotient(target)
    return labels


def _move_nodes(graph: _Graph, labels: IndexArray) -> IndexArray:
    """Move single nodes to other clusters, or out of all, as long as this reduces the cost."""
    labels = labels.copy()
    ends = np.concatenate([graph.edges, graph.edges[::-1]], axis=1)
    shape = (graph.n_nodes, graph.n_nodes)
    neighbours = sp.csr_array((np.tile(graph.weights, 2), tuple(ends)), shape=shape)
    start, index, weights = neighbours.indptr, neighbours.indices, neighbours.data
    sizes = np.bincount(labels, minlength=graph.n_nodes)
    unused = np.flatnonzero(sizes == 0).tolist()
    while len(candidates := _nodes_to_move(neighbours, labels)):
        for node in candidates.tolist():
            around = slice(start[node], start[node + 1])
            clusters, places = np.unique(labels[index[around]], return_inverse=True)
            sums = _sums(places, weights[around], len(clusters))
            own = labels[node]
            stay = sums[clusters == own].sum()
            sums[clusters == own] = -np.inf
            best = int(sums.argmax())
            if max(sums[best], 0.0) - stay <= _LEAST_GAIN:
                continue  # earlier moves have changed its neighbours
            target = clusters[best] if sums[best] > 0 else unused.pop()
            labels[node] = target
            sizes[own] -= 1
            sizes[target] += 1
            if sizes[own] == 0:
                unused.append(int(own))
    return labels


def _nodes_to_move(neighbours: sp.csr_array, labels: IndexArray) -> IndexArray:
    """Return the nodes that would reduce the cost in another cluster, the largest gain first."""
    n_nodes = len(labels)
    members = sp.csr_array((np.ones(n_nodes), labels, np.arange(n_nodes + 1)), (n_nodes, n_nodes))
    sums = (neighbours @ members).tocoo()
    node, cluster = sums.coords
    own = cluster == labels[node]
    stay, best = np.zeros(n_nodes), np.zeros(n_nodes)
    stay[node[own]] = sums.data[own]
    np.maximum.at(best, node[~own], sums.data[~own])
    gains = best - stay
    order = np.argsort(-gains, kind="stable")
    return order[gains[order] > _LEAST_GAIN]


def _components(n_nodes: int, first: IndexArray, second: IndexArray) -> IndexArray:
    links = sp.coo_array((np.ones(len(first), dtype=bool), (first, second)), (n_nodes, n_nodes))
    return connected_components(links, directed=False)[1].astype(np.int64)


def _sums(places: IndexArray, weights: FloatArray, length: int) -> FloatArray:
    return np.bincount(places, weights, minlength=length).astype(np.float64, copy=False)


def _in_order_of_appearance(labels: IndexArray) -> IndexArray:
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def _check_links(given: ArrayLike | None, name: str, n_items: int) -> IndexArray:
    links = as_integers([] if given is None else given, name)
    if links.shape in ((0,), (1, 0)):
        links = links.reshape(0, 2)
    if links.ndim != 2 or links.shape[1] != 2:
        raise ValueError(f"{name} has shape {links.shape}, but (n, 2) is needed.")
    outside = (links < 0) | (links >= n_items)
    if outside.any():
        raise ValueError(
            f"{name} holds item {links[outside][0]}, but n_items={n_items} allows 0 to "
            f"{n_items - 1}."
        )
    loops = np.flatnonzero(links[:, 0] == links[:, 1])
    if len(loops):
        raise ValueError(
            f"{name}[{loops[0]}] pairs item {links[loops[0], 0]} with itself, but two different "
            "items are needed."
        )
    return links


def _check_decisions(decisions: ArrayLike, n_pairs: int) -> FloatArray:
    chances = as_float_array(decisions, "decisions")
    if chances.shape != (n_pairs,):
        raise ValueError(
            f"decisions has shape {chances.shape}, but {n_pairs} pairs need shape ({n_pairs},)."
        )
    wrong = ~((chances >= 0) & (chances <= 1))  # NaN is wrong, too
    if wrong.any():
        raise ValueError(
            f"decisions holds {quote(chances[wrong][0])}, but only True/False or probabilities "
            "from 0 to 1 are allowed."
        )
    return chances


def _check_consistent(units: IndexArray, cannot: IndexArray) -> None:
    contradicted = np.flatnonzero(units[cannot[:, 0]] == units[cannot[:, 1]])
    if len(contradicted):
        left, right = cannot[contradicted[0]].tolist()
        raise ValueError(
            f"cannot[{contradicted[0]}] keeps items {left} and {right} apart, but must joins them, "
            "directly or through others."
        )
