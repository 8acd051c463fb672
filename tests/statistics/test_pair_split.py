"""No split of pairs leaks an item or a subject; components stay whole where they are small."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pair_oracles import all_pairs

from likewise.statistics import GroupPairSplit, PairSplit, leakage

pairs_of_items = st.integers(12, 40).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(1, n - 1)).map(
            lambda drawn: (drawn[0], (drawn[0] + drawn[1]) % n)
        ),
        min_size=30,
        max_size=200,
    )
)
parameters = st.fixed_dictionaries(
    {
        "n_splits": st.integers(2, 4),
        "test_size": st.none() | st.floats(0.2, 0.7),
        "random_state": st.integers(0, 10),
    }
)


def splits(splitter, pairs):
    """Return all splits, up to one that has no pairs on a side and says so."""
    found = []
    try:
        found.extend(splitter.split(pairs))
    except ValueError as error:
        if "too few" not in str(error):
            raise
    return found


@given(pairs_of_items, parameters)
@settings(deadline=None)
def test_no_item_is_on_both_sides(drawn, given_parameters):
    pairs = np.array(drawn)
    found = splits(PairSplit(**given_parameters), pairs)
    for train, test in found:
        assert not set(pairs[train].ravel()) & set(pairs[test].ravel())
        assert leakage(pairs[train], pairs[test]).n_pairs_with_shared == 0
        assert not set(train) & set(test)


@given(pairs_of_items, parameters, st.integers(0, 100))
@settings(deadline=None)
def test_no_subject_is_on_both_sides(drawn, given_parameters, seed):
    pairs = np.array(drawn)
    subject = np.random.default_rng(seed).integers(0, 15, pairs.max() + 1)
    found = splits(GroupPairSplit(groups=subject, **given_parameters), pairs)
    for train, test in found:
        assert not set(subject[pairs[train]].ravel()) & set(subject[pairs[test]].ravel())


def test_every_item_is_tested_once_by_folds():
    pairs = all_pairs(50)
    tested = [np.unique(pairs[test]) for _, test in PairSplit(5, random_state=3).split(pairs)]
    assert np.sort(np.concatenate(tested)).tolist() == list(range(50))
    for train, test in PairSplit(5).split(pairs):
        assert (len(train), len(test)) == (40 * 39 / 2, 10 * 9 / 2), "the others straddle"


def test_the_share_of_items_to_test_on():
    pairs = all_pairs(50)
    for _, test in PairSplit(3, test_size=0.3).split(pairs):
        assert len(np.unique(pairs[test])) == 15


def test_small_components_stay_whole_and_no_pair_is_dropped():
    centre = np.repeat(np.arange(0, 300, 3), 2)
    pairs = np.column_stack([centre, centre + np.tile([1, 2], 100)])
    sizes = []
    for train, test in PairSplit(5).split(pairs):
        assert len(train) + len(test) == len(pairs)
        sizes.append(len(test))
    assert sizes == [40] * 5


def test_a_component_of_a_fifth_of_the_pairs_is_split():
    # 100 small components and a clique: below 20% of the pairs all stay whole, from there none.
    small = np.arange(1000, 1400).reshape(-1, 2)
    for n_clique, whole in ((10, True), (11, False)):  # 45 and 55 of 245 and 255 pairs
        pairs = np.concatenate([all_pairs(n_clique), small])
        for train, test in PairSplit(4).split(pairs):
            assert (len(train) + len(test) == len(pairs)) == whole


def test_pairs_within_a_subject_are_never_dropped():
    subject = np.arange(100) // 5
    pairs = all_pairs(100)
    within = subject[pairs[:, 0]] == subject[pairs[:, 1]]
    for train, test in GroupPairSplit(4, groups=subject).split(pairs):
        assert within[train].sum() + within[test].sum() == within.sum()


def test_seeds_decide():
    pairs = all_pairs(20)
    first, again, other = (
        [test.tolist() for _, test in PairSplit(2, random_state=seed).split(pairs)]
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_groups_where_they_do_not_belong_cause_a_warning():
    pairs = all_pairs(20)
    with pytest.warns(UserWarning, match="PairSplit ignores groups"):
        list(PairSplit(2).split(pairs, groups=np.zeros(len(pairs))))
    with pytest.warns(UserWarning, match="ignores groups; give them to the constructor"):
        list(GroupPairSplit(2, groups=np.arange(20)).split(pairs, groups=np.zeros(len(pairs))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PairSplit(1).split(all_pairs(9)), "n_splits=1 is not allowed"),
        (lambda: PairSplit(test_size=1.0).split(all_pairs(9)), "test_size=1.0 is not allowed"),
        (lambda: PairSplit(5).split(all_pairs(9)), "of 9 items, too few to split into 5 parts"),
        (lambda: PairSplit(2).split([[0, 0]]), r"X\[0\] pairs item 0 with itself"),
        (lambda: PairSplit(2).split([[0, 1, 2]]), r"X has shape \(1, 3\)"),
        (
            lambda: GroupPairSplit(2, groups=[0, 1]).split([[0, 5]]),
            "X must be positions in groups",
        ),
        (
            lambda: PairSplit(2).split([[0, i] for i in range(1, 9)]),
            "X has too few pairs to split",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        list(make())


def test_leakage_counts_what_loops_count():
    rng = np.random.default_rng(0)
    train, test = rng.integers(0, 60, (40, 2)), rng.integers(0, 60, (50, 2))
    train, test = train[train[:, 0] != train[:, 1]], test[test[:, 0] != test[:, 1]]
    test[:3] = train[:3, ::-1]
    seen = set(train.ravel().tolist())
    shared = [[item in seen for item in pair] for pair in test.tolist()]
    found = leakage(train, test)
    assert found.n_shared_items == len(seen & set(test.ravel().tolist()))
    assert found.n_pairs_with_shared == sum(map(any, shared))
    assert found.n_pairs_all_shared == sum(map(all, shared))
    known = {frozenset(pair) for pair in train.tolist()}
    assert found.n_repeated_pairs == sum(frozenset(pair) in known for pair in test.tolist())
    assert found.affected_pairs == sum(map(any, shared)) / len(test)
    assert f"{found.n_shared_items} of {found.n_test_items} test items" in str(found)
    assert str(leakage([["a", "b"]], [["c", "d"]])).startswith("No item")


def test_leakage_of_ids_of_two_kinds_raises_an_error():
    with pytest.raises(ValueError, match="both must be integers or both text"):
        leakage([[0, 1]], [["0", "1"]])
