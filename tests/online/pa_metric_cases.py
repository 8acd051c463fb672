"""Pairs to learn from, and the comparison of two PAMetric models."""

import pickle

import numpy as np
import pytest

from likewise.constraints import random_pairs

PSD = ["end", "each", 3]
FEATURES = [3, 45]  # below and above the crossover to the eigenbasis for psd="each"


def data(d=3, n=40, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) / d**0.5 * 1.5).astype(dtype)
    pairs, same = random_pairs(rng.integers(0, 3, n), 120, random_state=seed)
    return X, pairs, same


def bits(model):
    """Return everything that a model has learned, to the last bit.

    What a fit warned of is for the notebook, and is not learned.
    """
    parts = []
    skipped = {"_components_cache", "_fit_warnings", *model.get_params(deep=False)}
    for name, value in sorted(vars(model).items()):
        if name not in skipped:
            parts.append((name, pickle.dumps(value)))
    return parts


def assert_same_model(one, other, rtol=1e-10):
    scale = np.abs(other._state.dense()).max()
    np.testing.assert_allclose(
        one._state.dense(), other._state.dense(), rtol=rtol, atol=rtol * scale
    )
    assert one.b_ == pytest.approx(other.b_, rel=rtol, abs=rtol)
    assert one.cumulative_loss_ == pytest.approx(other.cumulative_loss_, rel=rtol)
    assert (one.n_events_, one.n_updates_, one.mistakes_) == (
        other.n_events_,
        other.n_updates_,
        other.mistakes_,
    )
