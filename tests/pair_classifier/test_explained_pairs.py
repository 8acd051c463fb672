"""Why PairClassifier decides a pair as it does."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import likewise as lw

X, Y = load_iris(return_X_y=True, as_frame=True)
EYE = np.vstack([np.zeros(4), np.eye(4)])


@pytest.mark.parametrize(
    "metric",
    [
        None,
        "euclidean",
        lw.RCA(),
        FrozenEstimator(lw.Whitening().fit(X.to_numpy())),
        make_pipeline(StandardScaler(), lw.RCA()),
        make_pipeline(StandardScaler(), PCA(2, whiten=True), lw.RCA()),
    ],
    ids=["default", "euclidean", "RCA", "frozen", "pipeline", "PCA before it"],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_explanation_is_of_the_distance_that_decides(metric):
    judge = lw.PairClassifier(metric).fit(X, Y)
    for first, second in ((0, 1), (3, 140)):
        found = judge.explain_pair(X.iloc[first], X.iloc[second])
        A, B = X.iloc[[first]], X.iloc[[second]]
        assert found.feature_names == tuple(X.columns)
        assert found.threshold == judge.threshold_
        assert found.distance == pytest.approx(judge.pair_distance(A, B)[0])
        assert found.same == judge.predict_pairs(A, B)[0]
        v = (A.to_numpy() - B.to_numpy())[0]
        # The columns of L are what the map adds where one feature is larger by 1.
        images = np.eye(4) if judge.metric_ is None else judge.metric_.transform(EYE)
        L = (images[-4:] - (images[0] if len(images) == 5 else 0)).T
        np.testing.assert_allclose(found.feature_contributions, v * (L.T @ L @ v))


@pytest.mark.parametrize(
    "metric",
    [
        "cosine",
        PCA(2, whiten=True),
        lw.DoubletSVM(kernel="rbf"),
        make_pipeline(lw.RCA(), Normalizer()),
    ],
    ids=["cosine", "PCA", "kernel", "length 1"],
)
def test_other_distances_say_that_they_cannot_be_explained(metric):
    judge = lw.PairClassifier(metric).fit(X, Y)
    with pytest.raises(AttributeError, match=r"metric=.* is not a linear metric of likewise, but"):
        judge.explain_pair(X.iloc[0], X.iloc[1])
