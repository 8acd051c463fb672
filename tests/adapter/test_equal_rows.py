"""Equal rows are one item, which is not on both sides of a split."""

import numpy as np
import pytest

import likewise as lw
from likewise.adapter._items import equal_rows, items_of
from likewise.adapter._pairs import JudgedPairs
from likewise.adapter._triplets import JudgedTriplets
from likewise.constraints import Pairs, Triplets

N_ITEMS, N_COPIES, D = 60, 8, 10


def repeated_rows(rng):
    """Return random unit rows, and all of them again, several times."""
    rows = rng.normal(size=(N_ITEMS, D))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.tile(rows, (N_COPIES, 1))


def about_all_copies(index):
    """Repeat judgements of items for the rows of each copy."""
    return np.concatenate([index + copy * N_ITEMS for copy in range(N_COPIES)])


def random_tuples(rng, n, width):
    """Return different items in each row."""
    return np.argsort(rng.random((n, N_ITEMS)), axis=1)[:, :width]


def test_equal_rows_have_the_number_of_the_first():
    X = np.array([[9.0, 1], [2, 3], [0, 1], [2, 3], [2, 3], [-0.0, 1]])
    assert equal_rows(X).tolist() == [2, 1, 0, 1, 1, 0]
    assert items_of(X, np.arange(6), 6).tolist() == [0, 1, 2, 1, 1, 2]
    assert items_of(X[2:], np.array([2, 3, 4, 5]), 6).tolist() == [0, 1, 2, 3, 3, 2]


def test_splits_of_pairs_have_no_item_on_both_sides(rng):
    X, pairs = repeated_rows(rng), about_all_copies(random_tuples(rng, 75, 2))
    same = rng.random(len(pairs)) < 0.5
    rows = np.unique(pairs)
    judged = JudgedPairs(Pairs(pairs, same), items_of(X[rows], rows, len(X)), None)
    splits = list(judged._splits(rng))
    assert len(splits) >= 5
    for train, test in splits:
        assert not np.intersect1d(pairs[train] % N_ITEMS, pairs[test] % N_ITEMS).size


@pytest.mark.parametrize("by_query", [False, True], ids=["triplets", "lists"])
def test_splits_of_triplets_have_no_item_on_both_sides(rng, by_query):
    X, triplets = repeated_rows(rng), about_all_copies(random_tuples(rng, 200, 3))
    rows = np.unique(triplets)
    items = items_of(X[rows], rows, len(X))
    judged = JudgedTriplets(Triplets(triplets), items, None, by_query)
    held = triplets[:, 0] if by_query else triplets
    splits = list(judged._splits(rng))
    assert len(splits) >= 3
    for train, test in splits:
        assert not np.intersect1d(held[train] % N_ITEMS, held[test] % N_ITEMS).size
    assert len(judged) == (len(np.unique(held % N_ITEMS)) if by_query else len(triplets))


@pytest.mark.parametrize("kind", ["pairs", "triplets", "lists"])
def test_random_answers_about_repeated_rows_are_not_learned(kind):
    """Answers about an item would be confirmed by those about its copies."""
    n_adapted = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = repeated_rows(rng)
        adapter = lw.EmbeddingAdapter(random_state=seed)
        if kind == "pairs":
            every = np.stack(np.triu_indices(N_ITEMS, 1), axis=1)
            pairs, same = rng.permutation(every)[:300], rng.random(300) < 0.5
            adapter.fit_pairs(X, about_all_copies(pairs), np.tile(same, N_COPIES))
        elif kind == "triplets":
            triplets = random_tuples(rng, 300, 3)
            triplets[:, 1:].sort(axis=1)  # so that none is given in both orders
            adapter.fit_triplets(X, about_all_copies(triplets))
        else:
            lists = about_all_copies(
                np.column_stack([np.arange(N_ITEMS), random_tuples(rng, N_ITEMS, 9)])
            )
            lists = lists[[len(np.unique(row)) == 10 for row in lists]]
            adapter.fit_relevance(X, lists[:, 0], list(lists[:, 1:5]), list(lists[:, 5:]))
        n_adapted += adapter.chosen_ != "identity"
    assert n_adapted <= 1  # by chance
