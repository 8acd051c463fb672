"""Why PairClassifier decides a pair as it does."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator

import likewise as lw

X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.mark.parametrize(
    "metric",
    [None, "euclidean", lw.RCA(), FrozenEstimator(lw.Whitening().fit(X.to_numpy()))],
    ids=["default", "euclidean", "RCA", "frozen"],
)
def test_the_explanation_is_of_the_distance_that_decides(metric):
    judge = lw.PairClassifier(metric).fit(X, Y)
    for first, second in ((0, 1), (3, 140)):
        found = judge.explain_pair(X.iloc[first], X.iloc[second])
        A, B = X.iloc[[first]], X.iloc[[second]]
        assert found.feature_names == tuple(X.columns)
        assert found.threshold == judge.threshold_
        assert found.distance == pytest.approx(judge.pair_distance(A, B)[0])
        assert found.same == judge.predict_pairs(A, B)[0]
        L = np.eye(4) if judge.metric_ is None else judge.metric_.components_
        v = (A.to_numpy() - B.to_numpy())[0]
        np.testing.assert_allclose(found.feature_contributions, v * (L.T @ L @ v))


@pytest.mark.parametrize(
    "metric",
    ["cosine", PCA(2, whiten=True), lw.DoubletSVM(kernel="rbf")],
    ids=["cosine", "PCA", "kernel"],
)
def test_other_distances_say_that_they_cannot_be_explained(metric):
    judge = lw.PairClassifier(metric).fit(X, Y)
    with pytest.raises(AttributeError, match=r"metric=.* is not a linear metric of likewise, but"):
        judge.explain_pair(X.iloc[0], X.iloc[1])
