"""The pairs of a threshold within `max_memory`."""

import tracemalloc

import numpy as np
import pytest

import likewise as lw

LABELS = np.arange(3000) % 20
ROWS = np.random.default_rng(0).normal(size=(3000, 5)) + LABELS[:, None]


@pytest.mark.parametrize("max_pairs", [100_000, 1_000_000])
def test_too_many_pairs_are_said_before_they_are_drawn(max_pairs):
    classifier = lw.PairClassifier(max_pairs=max_pairs)
    with (
        lw.config_context(max_memory="16MiB"),
        pytest.raises(MemoryError, match=f"with {max_pairs} pairs of 3000 rows needs about .* set"),
    ):
        classifier.fit(ROWS, LABELS)


def test_what_is_allowed_suffices():
    lw.PairClassifier(max_pairs=100).fit(ROWS[:100], LABELS[:100])  # imports what it needs
    tracemalloc.start()
    try:
        with lw.config_context(max_memory="40MB"):
            lw.PairClassifier(max_pairs=200_000).fit(ROWS, LABELS)
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()
