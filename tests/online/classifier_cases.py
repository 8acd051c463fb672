"""The online classifiers under test, streams to learn from, and the comparison of two models."""

import numpy as np
import pytest

import likewise as lw

FIRST_ORDER = [
    ("Perceptron", {}),
    ("PA", {"variant": "PA"}),
    ("PA", {"variant": "PA-I", "C": 0.05}),
    ("PA", {"variant": "PA-II", "C": 0.3}),
]
SECOND_ORDER = [
    ("PAM", {"variant": "PAM"}),
    ("PAM", {"variant": "PAM-I", "C": 0.3}),
    ("PAM", {"variant": "PAM-II", "C": 0.3, "initial_variance": 0.2}),
    ("CW", {"eta": 0.7}),
    ("CW", {"eta": 0.95, "initial_variance": 3.0}),
    ("AROW", {"r": 0.4}),
    ("AROW", {"r": 5.0, "initial_variance": 2.0}),
    ("SecondOrderPerceptron", {"a": 2.5}),
]
LEARNERS = [
    *FIRST_ORDER,
    *((name, {**options, "covariance": "full"}) for name, options in SECOND_ORDER),
    *((name, {**options, "covariance": "diagonal"}) for name, options in SECOND_ORDER),
]
SKETCHED = [(name, {**options, "covariance": 3}) for name, options in SECOND_ORDER]
ALL_LEARNERS = [*LEARNERS, *SKETCHED, ("PAUM", {"positive_margin": 2.0, "negative_margin": 0.5})]
all_learners = pytest.mark.parametrize(("name", "options"), ALL_LEARNERS, ids=str)


def made(name, options, **more):
    return getattr(lw, name)(**options, **more)


def stream(n=150, d=6, n_classes=2, seed=0):
    """Samples of overlapping classes with correlated features, and one zero sample."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n_classes, d))[y] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 0.5
    X[5] = 0
    return X, y


def one_by_one(model, X, y, **options):
    for row, label in zip(X, y, strict=True):
        model.learn_one(row, label, **options)
    return model


def state_values(model):
    """The whole state as one vector: weights, covariance, then the three counters."""
    state = model._state
    parts = [state.weights, state.max_sqnorm, state.covariance.dense()]
    counts = [state.n_events, state.n_updates, state.mistakes]
    return np.concatenate([np.ravel(part) for part in (*parts, counts)])


def assert_same_model(found, expected, rtol=1e-10):
    a, b = state_values(found), state_values(expected)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.abs(b[:-3]).max()))
