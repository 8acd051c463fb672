"""What the compiled loops of online classifiers refuse: wrong types, shapes, labels and rules."""

import numpy as np
import pytest
from loop_backends import _native, needs_native

from likewise._loops.classifiers.types import ClassifierRule, Kind

RULE = ClassifierRule(Kind.PA_I, 0.7, 1.0, 0.5)


CHECKED = {
    "dense_events": {
        "W": np.zeros((1, 3)),
        "precision": np.empty((0, 0)),
        "max_sqnorm": np.zeros(1),
        "X": np.zeros((2, 3)),
        "labels": np.array([0, 1]),
        "top2": False,
    },
    "csr_events": {
        "W": np.zeros((1, 3)),
        "precision": np.empty((0, 0)),
        "max_sqnorm": np.zeros(1),
        "values": np.ones(2),
        "features": np.array([0, 2], dtype=np.int32),
        "starts": np.array([0, 1, 2]),
        "width": 3,
        "labels": np.array([0, 1]),
        "top2": False,
    },
    "factor_events": {
        "W": np.zeros((1, 3)),
        "columns": np.zeros((1, 3, 8)),
        "diagonal": np.ones((1, 3)),
        "max_sqnorm": np.zeros(1),
        "X": np.zeros((2, 3)),
        "labels": np.array([0, 1]),
        "top2": False,
        "max_updates": 9,
    },
    "low_rank_events": {
        "W": np.zeros((1, 3)),
        "basis": np.zeros((1, 2, 3)),
        "spanned": np.zeros(1, dtype=np.int64),
        "sketch": np.zeros((1, 2, 2)),
        "used": np.zeros(1, dtype=np.int64),
        "columns": np.zeros((1, 2, 8)),
        "diagonal": np.ones((1, 2)),
        "trace": np.ones(1),
        "sums": np.zeros((1, 3)),
        "max_sqnorm": np.zeros(1),
        "X": np.zeros((2, 3)),
        "labels": np.array([0, 1]),
        "top2": False,
    },
    "block_events": {
        "w": np.zeros(3),
        "sigma": np.eye(3),
        "diagonal": np.ones(3),
        "X": np.zeros((2, 3)),
        "labels": np.array([0, 1]),
        "known_rows": np.array([1]),
        "known_products": np.zeros((1, 3)),
        "quadratic_forms": np.zeros(2),
        "gains": np.zeros((2, 3)),
        "gain_weights": np.zeros(2),
    },
}


SPOILED = [
    ("dense_events", TypeError, "W", np.zeros((1, 3), dtype=np.float32)),
    ("dense_events", TypeError, "X", np.zeros((3, 2)).T),
    ("dense_events", TypeError, "labels", np.array([0, 1], dtype=np.int32)),
    ("dense_events", ValueError, "labels", np.array([0, 2])),
    ("dense_events", ValueError, "labels", np.array([0])),
    ("dense_events", ValueError, "W", np.zeros((1, 2))),
    ("dense_events", ValueError, "precision", np.ones((1, 2))),
    ("dense_events", ValueError, "max_sqnorm", np.zeros(2)),
    ("dense_events", ValueError, "top2", True),
    ("csr_events", ValueError, "features", np.array([0, 3], dtype=np.int32)),
    ("csr_events", ValueError, "starts", np.array([1, 2, 3])),
    ("csr_events", ValueError, "starts", np.array([2, 1, 2])),
    ("csr_events", ValueError, "values", np.ones(3)),
    ("factor_events", ValueError, "columns", np.zeros((1, 3, 3))),
    ("factor_events", ValueError, "diagonal", np.ones((1, 2))),
    ("low_rank_events", ValueError, "basis", np.zeros((1, 2, 2))),
    ("low_rank_events", ValueError, "sketch", np.zeros((1, 2, 3))),
    ("low_rank_events", ValueError, "columns", np.zeros((1, 2, 2))),
    ("low_rank_events", ValueError, "diagonal", np.ones((1, 3))),
    ("low_rank_events", ValueError, "sums", np.zeros((1, 2))),
    ("low_rank_events", ValueError, "spanned", np.array([1])),
    ("low_rank_events", ValueError, "used", np.array([3])),
    ("low_rank_events", ValueError, "trace", np.ones(2)),
    ("block_events", ValueError, "sigma", np.eye(2)),
    ("block_events", ValueError, "known_products", np.zeros((2, 3))),
    ("block_events", ValueError, "quadratic_forms", np.zeros(1)),
]


@needs_native
@pytest.mark.parametrize(("name", "error", "argument", "value"), SPOILED)
def test_native_checks_for_itself(name, error, argument, value):
    scores = np.zeros(2) if name == "block_events" else np.zeros((2, 1))
    good = {**CHECKED[name], **RULE._asdict(), "scores": scores}
    getattr(_native, name)(**good)
    with pytest.raises(error):
        getattr(_native, name)(**{**good, argument: value})
    with pytest.raises(ValueError, match="kind"):
        getattr(_native, name)(**{**good, "kind": 8})


@needs_native
def test_native_learner_of_single_events_checks_for_itself():
    W, none, max_sqnorm, rule = np.ones((1, 2)), np.empty((0, 0)), np.zeros(1), RULE
    for error, arguments in [
        (TypeError, (W.astype(np.float32), none, max_sqnorm, False, *rule)),
        (ValueError, (W, np.ones((1, 3)), max_sqnorm, False, *rule)),
        (ValueError, (W, none, np.zeros(2), False, *rule)),
        (ValueError, (W, none, max_sqnorm, True, *rule)),
        (ValueError, (W, none, max_sqnorm, False, 8, *rule[1:])),
    ]:
        with pytest.raises(error):
            _native.EventLearner(*arguments)
    learn = _native.EventLearner(W, none, max_sqnorm, False, *rule).learn
    for error, arguments in [
        (TypeError, (np.ones((1, 2)), 1)),
        (TypeError, (np.ones(4)[::2], 1)),
        (ValueError, (np.ones(2), 2)),
        (ValueError, (np.ones(2), -1)),
    ]:
        with pytest.raises(error):
            learn(*arguments)
    assert (W == 1).all()
