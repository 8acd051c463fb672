"""The scorer inside scikit-learn's model selection."""

import pickle

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from likewise.batch import FDA, RCA
from likewise.constraints import random_pairs
from likewise.datasets import load
from likewise.evaluation import pair_scorer, verification_curve

IRIS = load("iris")


@pytest.mark.parametrize("measure", ["auc", "eer"])
def test_equals_the_curve_of_the_drawn_pairs(measure):
    model = RCA().fit(IRIS.X, IRIS.y)
    pairs = random_pairs(IRIS.y, 300, random_state=5)
    distance = model.pair_distance(IRIS.X[pairs.index[:, 0]], IRIS.X[pairs.index[:, 1]])
    curve = verification_curve(distance, pairs.same)
    score = pair_scorer(300, measure=measure, random_state=5)(model, IRIS.X, IRIS.y)
    assert score == pytest.approx(curve.auc if measure == "auc" else -curve.eer)


def test_a_grid_search_optimises_verification_through_a_pipeline():
    # The informative direction is weak and the loud ones are noise: few components verify badly.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = np.c_[rng.normal(size=200) * 10, y + 0.05 * rng.normal(size=200)]
    search = GridSearchCV(
        make_pipeline(StandardScaler(with_std=False), PCA(), RCA()),
        {"pca__n_components": [1, 2]},
        scoring=pair_scorer(1000),
        cv=StratifiedKFold(3),
    ).fit(X, y)
    assert search.best_params_ == {"pca__n_components": 2}
    assert search.best_score_ > 0.8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_greater_is_better_for_both_measures():
    sharp = FDA().fit(IRIS.X, IRIS.y)
    blunt = PCA(1).fit(np.random.default_rng(0).normal(size=IRIS.X.shape))
    for measure in ("auc", "eer"):
        score = pair_scorer(1000, measure=measure)
        assert score(sharp, IRIS.X, IRIS.y) > score(blunt, IRIS.X, IRIS.y)


def test_strings_as_labels_and_the_same_pairs_each_time():
    names = np.array(IRIS.classes)[IRIS.y]
    model = FDA().fit(IRIS.X, names)
    scorer = pair_scorer(100)
    assert scorer(model, IRIS.X, names) == scorer(model, IRIS.X, names)


def test_pickles():
    scorer = pair_scorer(100, measure="eer", random_state=3)
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_bad_parameters():
    with pytest.raises(ValueError, match="n_pairs=1 is not allowed"):
        pair_scorer(1)
    with pytest.raises(ValueError, match="measure='f1' is not allowed"):
        pair_scorer(measure="f1")
    knn = KNeighborsClassifier().fit(IRIS.X, IRIS.y)
    with pytest.raises(TypeError, match="KNeighborsClassifier has none"):
        pair_scorer()(knn, IRIS.X, IRIS.y)
