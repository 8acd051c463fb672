"""Pairs in scikit-learn's model selection."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.constraints import random_pairs
from likewise.evaluation import PairSplit, PairTask
from likewise.statistics import GroupPairSplit

X, Y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
PAIRS, SAME = random_pairs(Y, 3000, distinct=True, random_state=0)


def test_cross_validation_scores_pairs_of_unseen_items():
    task = PairTask(lw.PairClassifier(lw.RCA()), X)
    splits = PairSplit(3)
    scoring = ["roc_auc", "balanced_accuracy", "neg_brier_score"]
    found = cross_validate(
        task, PAIRS, SAME, cv=splits, scoring=scoring, return_estimator=True, error_score="raise"
    )
    for fold, (train, test) in enumerate(splits.split(PAIRS)):
        judge = found["estimator"][fold].estimator_
        rows = np.unique(PAIRS[train])
        renumbered = np.searchsorted(rows, PAIRS[train])
        expected = lw.PairClassifier(lw.RCA()).fit_pairs(X[rows], renumbered, SAME[train])
        assert judge.threshold_ == expected.threshold_
        A, B = X[PAIRS[test, 0]], X[PAIRS[test, 1]]
        distance = expected.metric_.pair_distance(A, B)
        assert found["test_roc_auc"][fold] == pytest.approx(roc_auc_score(SAME[test], -distance))
        assert found["test_balanced_accuracy"][fold] == pytest.approx(
            balanced_accuracy_score(SAME[test], distance <= expected.threshold_)
        )
    assert (found["test_roc_auc"] > 0.8).all()


def test_scores_of_splits_that_share_items_cause_a_warning():
    task = PairTask(lw.RCA(), X)
    with pytest.warns(UserWarning, match=r"100% of the pairs have an item that was learned from"):
        cross_validate(task, PAIRS, SAME, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate(task, PAIRS, SAME, cv=PairSplit(3), return_train_score=True)


def test_scores_of_splits_that_share_subjects_cause_a_warning():
    person = np.arange(len(X)) // 3
    task = PairTask(lw.RCA(), X, groups=person)
    with pytest.warns(UserWarning, match=r"of the pairs have a subject that was learned from"):
        cross_validate(task, PAIRS, SAME, cv=PairSplit(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cross_validate(task, PAIRS, SAME, cv=GroupPairSplit(3, groups=person))


def test_a_grid_search_chooses_parameters_of_a_metric():
    task = PairTask(lw.ITML(max_iter=50), X)
    grid = {"estimator__slack_weight": [0.01, 1.0]}
    search = GridSearchCV(task, grid, cv=PairSplit(2), error_score="raise").fit(PAIRS, SAME)
    means = search.cv_results_["mean_test_score"]
    assert search.best_score_ == means.max()
    assert (
        search.best_estimator_.estimator_.slack_weight
        == (search.best_params_["estimator__slack_weight"])
    )


def test_the_table_is_shared_by_clones_and_the_estimator_is_not():
    groups = np.arange(len(X)) // 2
    task = PairTask(lw.RCA(), X, groups=groups)
    copied = clone(task)
    assert copied.X is task.X
    assert copied.groups is groups
    assert copied.estimator is not task.estimator
    assert not hasattr(copied, "estimator_")


def test_metrics_that_learn_nothing_and_sparse_tables():
    dense = PairTask(lw.Euclidean(), X).fit(PAIRS, SAME)
    sparse = PairTask(lw.Euclidean(), sp.csr_matrix(X)).fit(PAIRS, SAME)
    expected = -np.linalg.norm(X[PAIRS[:, 0]] - X[PAIRS[:, 1]], axis=1)
    np.testing.assert_allclose(dense.decision_function(PAIRS), expected)
    np.testing.assert_allclose(sparse.decision_function(PAIRS), expected)
    assert dense.score(PAIRS, SAME) == pytest.approx(roc_auc_score(SAME, expected))


def test_what_an_estimator_cannot_do_is_named():
    with pytest.raises(TypeError, match="estimator is a LMNN, but PairTask needs"):
        PairTask(lw.LMNN(), X).fit(PAIRS, SAME)
    task = PairTask(lw.RCA(), X).fit(PAIRS, SAME)
    for name, message in (
        ("predict", "RCA has no threshold to decide pairs by"),
        ("predict_proba", "RCA has no probabilities of pairs"),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(task, name)
        assert message in str(caught.value.__cause__)
        assert hasattr(PairTask(lw.PairClassifier(), X), name), "fitted or not"
    with pytest.raises(ValueError, match="pairs holds row number 999"):
        task.decision_function([[0, 999]])


def test_groups_go_to_a_fit_that_takes_them():
    groups = np.array([f"subject {i // 4}" for i in range(len(X))])
    splits = GroupPairSplit(2, groups=groups)
    train, _ = next(splits.split(PAIRS))
    task = PairTask(lw.PairClassifier(), X, groups=groups).fit(PAIRS[train], SAME[train])
    rows = np.unique(PAIRS[train])
    expected = lw.PairClassifier().fit_pairs(
        X[rows], np.searchsorted(rows, PAIRS[train]), SAME[train], groups=groups[rows]
    )
    assert task.estimator_.threshold_interval_ == expected.threshold_interval_
    without = PairTask(lw.PairClassifier(), X).fit(PAIRS[train], SAME[train])
    assert without.estimator_.threshold_interval_ != expected.threshold_interval_
    plain, grouped = (
        PairTask(lw.RCA(), X, groups=g).fit(PAIRS, SAME).estimator_ for g in (None, groups)
    )
    np.testing.assert_array_equal(plain.components_, grouped.components_)
    with pytest.raises(ValueError, match=r"groups has shape \(2,\), but 178 items"):
        PairTask(lw.RCA(), X, groups=[1, 2]).fit(PAIRS, SAME)


def test_a_transformer_without_pair_distance_counts_by_its_transform():
    scaler = StandardScaler().set_output(transform="pandas")
    task = PairTask(scaler, 3 * X).fit(PAIRS, SAME)
    expected = -np.linalg.norm(X[PAIRS[:, 0]] - X[PAIRS[:, 1]], axis=1)
    np.testing.assert_allclose(task.decision_function(PAIRS), expected)
