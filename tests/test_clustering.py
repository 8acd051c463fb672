"""Clusters from decisions about pairs: components, constraints, and the cost by brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw


def partitions(n):
    """All ways to divide n items into clusters, as labels in the order of appearance."""
    labels = [[0]]
    for _ in range(n - 1):
        labels = [[*some, new] for some in labels for new in range(max(some) + 2)]
    return labels


def cost_of(labels, pairs, chances):
    """The expected number of wrong pairs, pair by pair."""
    total = 0.0
    for (i, j), p in zip(pairs, chances, strict=True):
        total += 1 - p if labels[i] == labels[j] else p
    return total


def allowed(labels, must, cannot):
    return all(labels[i] == labels[j] for i, j in must) and all(
        labels[i] != labels[j] for i, j in cannot
    )


def random_problem(seed, n, kind):
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.8]
    if kind == "decisions":
        return pairs, rng.random(len(pairs)) < 0.6
    return pairs, rng.random(len(pairs))


def sets(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 80), st.integers(0, 10**6))
def test_without_refinement_clusters_are_the_components_of_accepted_pairs(n, m, seed):
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, n, (m, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    chances = rng.random(len(pairs))
    must = pairs[rng.random(len(pairs)) < 0.1]
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(pairs[chances > 0.5].tolist())
    graph.add_edges_from(must.tolist())
    found = lw.cluster_pairs(n, pairs, chances, must=must, refine=False)
    # A pair within or between groups of must-links counts with the others between these groups.
    groups = np.empty(n, dtype=int)
    joined = nx.Graph()
    joined.add_nodes_from(range(n))
    joined.add_edges_from(must.tolist())
    for number, members in enumerate(nx.connected_components(joined)):
        groups[list(members)] = number
    weights = {}
    for (i, j), p in zip(pairs.tolist(), chances, strict=True):
        key = frozenset((groups[i], groups[j]))
        weights[key] = weights.get(key, 0) + 2 * p - 1
    of_groups = nx.Graph()
    of_groups.add_nodes_from(groups)
    of_groups.add_edges_from(tuple(key) for key, w in weights.items() if w > 0 and len(key) == 2)
    expected = {
        frozenset(np.flatnonzero(np.isin(groups, list(members))).tolist())
        for members in nx.connected_components(of_groups)
    }
    assert sets(found.labels) == expected
    if not len(must):
        assert expected == set(map(frozenset, nx.connected_components(graph)))
    assert found.n_clusters == len(expected)


@pytest.mark.parametrize("kind", ["decisions", "probabilities"])
@pytest.mark.parametrize("n", [2, 4, 6, 7])
def test_the_refined_cost_is_between_the_optimum_and_that_of_components(n, kind):
    everything = partitions(n)
    costs = []
    for seed in range(30):
        pairs, chances = random_problem([seed, n], n, kind)
        found = lw.cluster_pairs(n, pairs, chances)
        first = lw.cluster_pairs(n, pairs, chances, refine=False)
        assert found.cost == pytest.approx(cost_of(found.labels, pairs, chances))
        best = min(cost_of(labels, pairs, chances) for labels in everything)
        assert best - 1e-9 <= found.cost <= first.cost + 1e-9
        costs.append([found.cost, best])
    total, least = np.sum(costs, axis=0)
    assert total <= 1.05 * least, "on random decisions, where nothing but the optimum is any good"


@pytest.mark.parametrize("kind", ["decisions", "probabilities"])
@pytest.mark.parametrize("refine", [True, False])
def test_constraints_are_kept_and_the_refined_cost_is_rarely_above_the_optimum(kind, refine):
    everything = partitions(6)
    optimal = tried = 0
    for seed in range(80):
        pairs, chances = random_problem(seed, 6, kind)
        rng = np.random.default_rng([seed, 1])
        some = list(itertools.combinations(range(6), 2))
        must = [some[i] for i in rng.choice(15, 1, replace=False)]
        cannot = [some[i] for i in rng.choice(15, 3, replace=False)]
        possible = [labels for labels in everything if allowed(labels, must, cannot)]
        if not possible:
            with pytest.raises(ValueError, match="must joins them"):
                lw.cluster_pairs(6, pairs, chances, must=must, cannot=cannot)
            continue
        found = lw.cluster_pairs(6, pairs, chances, must=must, cannot=cannot, refine=refine)
        assert allowed(found.labels, must, cannot)
        best = min(cost_of(labels, pairs, chances) for labels in possible)
        assert found.cost == pytest.approx(cost_of(found.labels, pairs, chances))
        assert found.cost >= best - 1e-9
        optimal += found.cost <= best + 1e-9
        tried += 1
    assert tried >= 50
    assert optimal >= 0.9 * tried or not refine


@pytest.mark.parametrize("seed", range(20))
def test_cannot_links_divide_components_no_more_than_they_have_to(seed):
    """Clusters are connected by accepted pairs, and two that could be joined are not left apart."""
    rng = np.random.default_rng(seed)
    pairs = np.array([p for p in itertools.combinations(range(30), 2) if rng.random() < 0.15])
    chances = np.where(rng.random(len(pairs)) < 0.7, rng.uniform(0.5, 1, len(pairs)), 0.2)
    cannot = np.unique(np.sort(rng.choice(30, (12, 2)), axis=1), axis=0)
    cannot = cannot[cannot[:, 0] < cannot[:, 1]]
    labels = lw.cluster_pairs(30, pairs, chances, cannot=cannot, refine=False).labels
    assert not (labels[cannot[:, 0]] == labels[cannot[:, 1]]).any()
    graph = nx.Graph()
    graph.add_nodes_from(range(30))
    graph.add_edges_from(pairs[chances > 0.5].tolist())
    clusters = sets(labels)
    forbidden = {frozenset(labels[pair].tolist()) for pair in cannot}
    banned = set(map(frozenset, cannot.tolist()))
    for cluster in clusters:
        assert nx.is_connected(graph.subgraph(cluster))
    for i, j in graph.edges:
        linked = frozenset((labels[i], labels[j]))
        assert len(linked) == 1 or linked in forbidden or frozenset((i, j)) in banned


def test_one_false_match_does_not_join_two_entities():
    left, right = range(6), range(6, 12)
    inside = [*itertools.combinations(left, 2), *itertools.combinations(right, 2)]
    across = list(itertools.product(left, right))
    same = [True] * len(inside) + [pair == (5, 6) for pair in across]
    found = lw.cluster_pairs(12, inside + across, same)
    np.testing.assert_array_equal(found.labels, [0] * 6 + [1] * 6)
    assert found.cost == 1
    whole = lw.cluster_pairs(12, inside + across, same, refine=False)
    assert (whole.n_clusters, whole.cost) == (1, 35)


def test_the_result_does_not_depend_on_the_order_of_pairs():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 200, (2000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    chances = rng.random(len(pairs)) ** 2
    first = lw.cluster_pairs(200, pairs, chances)
    order = rng.permutation(len(pairs))
    again = lw.cluster_pairs(200, pairs[order][:, ::-1], chances[order])
    np.testing.assert_array_equal(first.labels, again.labels)
    assert first.cost == pytest.approx(again.cost)
    assert len(set(first.labels.tolist())) == first.n_clusters
    seen = list(dict.fromkeys(first.labels.tolist()))
    assert seen == sorted(seen), "numbered in the order of appearance"


def test_repeated_and_undecided_pairs():
    pairs = [[0, 1], [1, 0], [0, 1], [1, 2]]
    np.testing.assert_array_equal(lw.cluster_pairs(3, pairs, [1, 0, 0, 0.5]).labels, [0, 1, 2])
    np.testing.assert_array_equal(lw.cluster_pairs(3, pairs, [1, 1, 0, 0.5]).labels, [0, 0, 1])


def test_a_long_chain_takes_few_rounds():
    """100 000 links of ascending weight, with one conflict: rounds must not grow with the chain."""
    n = 100_000
    pairs = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    chances = np.linspace(0.6, 1, n - 1)
    found = lw.cluster_pairs(n, [*pairs, [0, n - 1]], [*chances, 0.0])
    assert found.n_clusters == 2
    assert found.cost == pytest.approx((1 - chances).sum() + 2 * chances.min() - 1, abs=0.02)


def test_nothing_to_join():
    for pairs in ([], np.empty((0, 2), dtype=int)):
        found = lw.cluster_pairs(3, pairs, [])
        np.testing.assert_array_equal(found.labels, [0, 1, 2])
        assert (found.cost, found.n_clusters) == (0, 3)
    np.testing.assert_array_equal(lw.cluster_pairs(3, [], [], must=[[2, 0]]).labels, [0, 1, 0])


GOOD = {"n_items": 4, "pairs": [[0, 1], [1, 2]], "decisions": [True, False]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_items": -1}, "n_items=-1 is not allowed: cluster_pairs needs an integer of at least"),
        ({"n_items": 0}, "n_items=0 is not allowed"),
        ({"n_items": 2.5}, "n_items=2.5 is not allowed"),
        ({"refine": 3}, "refine=3 is not allowed"),
        ({"pairs": [[0, 1], [1, 4]]}, "pairs holds item 4, but n_items=4 allows 0 to 3"),
        ({"pairs": [[0, 1], [1, -1]]}, "pairs holds item -1"),
        ({"pairs": [[0, 1], [2, 2]]}, r"pairs\[1\] pairs item 2 with itself"),
        ({"pairs": [[0, 1, 2], [0, 1, 2]]}, r"pairs has shape \(2, 3\), but \(n, 2\) is needed"),
        ({"pairs": [0, 1]}, r"pairs has shape \(2,\)"),
        ({"pairs": [[0.0, 1.0], [1.0, 2.0]]}, "pairs holds float64 values"),
        ({"decisions": [True]}, r"decisions has shape \(1,\), but 2 pairs need shape \(2,\)"),
        ({"decisions": [0.5, np.nan]}, "decisions holds nan, but only True/False or prob"),
        ({"decisions": [0.5, 1.2]}, r"decisions holds 1\.2, .* from 0 to 1 are allowed"),
        ({"decisions": [1, -1]}, r"decisions holds -1\.0"),
        ({"decisions": ["yes", "no"]}, "decisions holds 'yes', but only real numbers"),
        ({"must": [[0, 9]]}, "must holds item 9"),
        ({"cannot": [[3, 3]]}, r"cannot\[0\] pairs item 3 with itself"),
        (
            {"must": [[0, 1], [1, 2]], "cannot": [[0, 3], [2, 0]]},
            r"^cannot\[1\] keeps items 2 and 0 apart, but must joins them, directly or through",
        ),
    ],
)
def test_bad_input(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        lw.cluster_pairs(**GOOD | change)
