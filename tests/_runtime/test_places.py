"""Places of blocks on workers: shares, and who moves when workers come and go."""

import math
from collections import Counter

import pytest

from likewise._runtime.blocks.places import assigned


@pytest.mark.parametrize("n_places", [0, 1, 4, 7, 40])
@pytest.mark.parametrize("threads", [{"a": 1}, {"b": 1, "a": 1}, {"a": 4, "b": 1, "c": 2}], ids=str)
def test_workers_have_as_many_places_per_thread(n_places, threads):
    workers = assigned(range(n_places), {}, threads)
    assert sorted(workers) == list(range(n_places))
    of_worker, total = Counter(workers.values()), sum(threads.values())
    for worker, n_threads in threads.items():
        assert of_worker[worker] <= math.ceil(n_places * n_threads / total)
    assert assigned(range(n_places), workers, threads) == workers


def test_neighbouring_places_are_at_different_workers():
    assert assigned(range(4), {}, {"b": 1, "a": 1}) == {0: "a", 1: "b", 2: "a", 3: "b"}


def test_places_stay():
    before = {0: "b", 1: "a", 2: "b", 3: "a"}
    assert assigned([1, 2], before, {"a": 1, "b": 1}) == before


def test_only_places_of_a_lost_worker_move():
    before = assigned(range(6), {}, {"a": 1, "b": 1, "c": 1})
    after = assigned(range(6), before, {"a": 1, "c": 1})
    moved = {place for place in before if before[place] != after[place]}
    assert moved == {place for place in before if before[place] == "b"}
    assert Counter(after.values()) == {"a": 3, "c": 3}


def test_a_new_worker_gets_its_share_and_no_other_place_moves():
    before = assigned(range(8), {}, {"m": 1, "n": 1})
    for new in ("a", "z"):
        after = assigned(range(8), before, {"m": 1, "n": 1, new: 1})
        moved = [place for place in before if before[place] != after[place]]
        assert [after[place] for place in moved] == [new, new]
