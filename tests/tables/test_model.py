"""TableModel: encoder and model in one, also from a file."""

import copy

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.base import AffineMap
from likewise.constraints import random_pairs
from likewise.datasets import load
from likewise.export import export, plans, read_numpy
from likewise.tables import TableEncoder, TableModel, judge_pairs
from likewise.testing import parametrize_with_contract

WINE = load("wine")
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(WINE.X[:, :5], columns=["a", "b", "c", "d", "e"]).assign(
    hue=np.where(RNG.random(178) < 0.8, WINE.y, RNG.integers(0, 3, 178))
)
FRAME["hue"] = FRAME["hue"].map({0: "pale", 1: "rosy", 2: "dark"})
FRAME.loc[::7, "b"] = np.nan
OPTIONS = {"encode": True, "impute": True}
PAIRS, SAME = random_pairs(WINE.y, 600, random_state=0)


@parametrize_with_contract([TableModel(lw.RCA())])
def test_contract(estimator, check):
    check(estimator)


def saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    return lw.load(tmp_path / "model.safetensors")


@pytest.mark.parametrize("standardize", [True, False])
def test_it_is_the_encoder_and_then_the_model(tmp_path, standardize):
    model = TableModel(lw.RCA(), **OPTIONS, standardize=standardize).fit(FRAME, WINE.y)
    rows = TableEncoder(True, True, standardize).fit_transform(FRAME)
    alone = lw.RCA().fit(rows, WINE.y)
    shuffled = FRAME[FRAME.columns[::-1]].assign(species="unknown")
    for found in (model, saved_and_loaded(model, tmp_path)):
        np.testing.assert_array_equal(found.encode_rows(FRAME), rows)
        np.testing.assert_array_equal(found.transform(shuffled), alone.transform(rows))
        np.testing.assert_array_equal(
            found.pair_distance(FRAME[:50], shuffled[50:100]),
            alone.pair_distance(rows[:50], rows[50:100]),
        )


def test_pairs_and_decisions(tmp_path):
    judge = lw.PairClassifier(lw.ITML(), target="eer")
    model = TableModel(judge, **OPTIONS).fit_pairs(FRAME, PAIRS, SAME)
    found = saved_and_loaded(model, tmp_path)
    rows = found.encode_rows(FRAME)
    left, right = FRAME.iloc[PAIRS[:, 0]], FRAME.iloc[PAIRS[:, 1]]
    A, B = rows[PAIRS[:, 0]], rows[PAIRS[:, 1]]
    inner = model.model_
    np.testing.assert_array_equal(found.predict_pairs(left, right), inner.predict_pairs(A, B))
    np.testing.assert_array_equal(
        found.predict_proba_pairs(left, right, prevalence=0.1),
        inner.predict_proba_pairs(A, B, prevalence=0.1),
    )
    judged = judge_pairs(found, FRAME, PAIRS, prevalence=0.1)
    np.testing.assert_array_equal(judged.distance, inner.pair_distance(A, B))
    np.testing.assert_array_equal(judged.same, judged.distance <= inner.threshold_)
    np.testing.assert_array_equal(
        judged.probability, inner.predict_proba_pairs(A, B, prevalence=0.1)[:, 1]
    )
    words = judge_pairs(found, FRAME, PAIRS, unsure=True).same
    np.testing.assert_array_equal(words, inner.predict_pairs(A, B, unsure=True))


def test_judgements_go_block_by_block(monkeypatch):
    model = lw.PairClassifier(lw.RCA()).fit(WINE.X, WINE.y)
    whole = judge_pairs(model, WINE.X, PAIRS)
    monkeypatch.setattr("likewise.tables._judgements._BLOCK_VALUES", 13 * 7)
    for name in ("distance", "same", "probability"):
        np.testing.assert_allclose(
            getattr(judge_pairs(model, WINE.X, PAIRS), name), getattr(whole, name), rtol=1e-12
        )


def test_a_metric_without_a_threshold_has_distances_only():
    judged = judge_pairs(lw.RCA().fit(WINE.X, WINE.y), WINE.X, PAIRS)
    assert judged.same is None
    assert judged.probability is None
    assert len(judged.distance) == 600


def test_classifiers_predict(tmp_path):
    model = TableModel(lw.MetricKNN(3, metric=lw.RCA()), **OPTIONS).fit(FRAME, WINE.y)
    found = saved_and_loaded(model, tmp_path)
    assert (found.predict(FRAME) == WINE.y).mean() > 0.85
    assert not hasattr(found, "pair_distance")
    assert not hasattr(TableModel(lw.LMNN()), "fit_pairs")


@pytest.mark.parametrize("learner", [lw.RCA(), lw.PairClassifier(lw.RCA())], ids=repr)
def test_the_affine_map_takes_columns_that_are_not_scaled(tmp_path, learner):
    model = TableModel(learner, **OPTIONS).fit(FRAME, WINE.y)
    unscaled = TableEncoder(True, True, standardize=False).fit_transform(FRAME)
    found = AffineMap.from_model(model).transform(unscaled)
    metric = getattr(model.model_, "metric_", model.model_)
    rows = model.encode_rows(FRAME)
    np.testing.assert_allclose(found, metric.transform(rows), rtol=1e-9, atol=1e-9)
    export(model, "numpy", tmp_path / "map.npz")
    np.testing.assert_allclose(
        read_numpy(tmp_path / "map.npz").transform(unscaled), found, rtol=1e-9, atol=1e-9
    )
    assert plans(model, 1000)[0].name == "re-index"


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = TableModel(lw.RCA(), **OPTIONS).fit(FRAME, WINE.y)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="y has one class"):
        model.fit(FRAME, np.zeros(178))
    np.testing.assert_array_equal(model.transform(FRAME), before.transform(FRAME))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"scale_": np.zeros(8)}, "TableEncoder"),
        ({"mean_": np.zeros(3)}, "TableEncoder"),
        ({"is_text_": np.zeros(3)}, "TableEncoder"),
        ({"categories_": ()}, "TableEncoder"),
        ({"medians_": np.zeros(2)}, "TableEncoder"),
        ({"feature_names_in_": np.array(["a"], dtype=object)}, "TableEncoder"),
        ({"encoder_": 3}, "TableModel"),
        ({"n_features_in_": 3}, "TableModel"),
    ],
)
def test_damaged_files(tmp_path, change, name):
    model = TableModel(lw.RCA(), **OPTIONS).fit(FRAME, WINE.y)
    vars(model.encoder_ if name == "TableEncoder" else model).update(change)
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=f"holds a {name} whose state is damaged"):
        lw.load(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: TableModel(3).fit(FRAME, WINE.y), "model=3 is not allowed"),
        (lambda: TableModel(lw.RCA()).fit(FRAME, WINE.y), "'hue' of X must hold numbers"),
        (
            lambda: judge_pairs(lw.RCA().fit(WINE.X, WINE.y), WINE.X, PAIRS, unsure=True),
            "unsure needs a PairClassifier, but the model is RCA",
        ),
        (
            lambda: judge_pairs(lw.PLML(n_metrics=2).fit(WINE.X, WINE.y), WINE.X, PAIRS),
            "PLML has no distance of pairs",
        ),
        (
            lambda: judge_pairs(lw.RCA().fit(WINE.X, WINE.y), WINE.X, [[0, 999]]),
            "pairs holds row number 999",
        ),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
