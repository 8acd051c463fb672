"""Pipelines of scikit-learn as one affine map."""

import numpy as np
import pytest
from exported import QUERY_SIDE, labelled
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import likewise as lw
from likewise.base import AffineMap
from likewise.tables import TableModel

X, Y = labelled()
X = X.astype(np.float64) * np.arange(1, 9) + 3


@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(), lw.RCA()),
        (StandardScaler(with_mean=False), lw.FDA()),
        (StandardScaler(with_std=False), PCA(4), lw.FDA()),
        (RobustScaler(), PCA(5, whiten=True), lw.RCA()),
        (MinMaxScaler(), MaxAbsScaler(), "passthrough", lw.Whitening()),
        (TruncatedSVD(4), StandardScaler(), lw.FDA()),
        (StandardScaler(), lw.RCA(), Normalizer()),
        (Normalizer(), lw.Euclidean()),
        (StandardScaler(), lw.EmbeddingAdapter(normalize=True)),
    ],
    ids=lambda steps: "-".join(type(step).__name__ for step in steps),
)
def test_one_map_is_the_pipeline(steps):
    pipeline = make_pipeline(*steps).fit(X, Y)
    affine = AffineMap.from_model(pipeline)
    np.testing.assert_allclose(affine.transform(X), pipeline.transform(X), rtol=1e-8, atol=1e-8)


def test_a_table_model():
    model = TableModel(lw.FDA()).fit(X, Y)
    np.testing.assert_allclose(AffineMap.from_model(model).transform(X), model.transform(X))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((QuantileTransformer(n_quantiles=5), lw.RCA()), "step of the pipeline is QuantileTransf"),
        ((Normalizer("l1"), lw.RCA()), "is Normalizer, but only .* Normalizer with norm l2"),
        ((MinMaxScaler(clip=True), lw.RCA()), "MinMaxScaler without clip"),
        ((Normalizer(), lw.RCA()), "scaled to length 1 before a further map"),
        ((Normalizer(), lw.RCA(), Normalizer()), "scaled to length 1 before a further map"),
        ((Normalizer(), PCA(3)), "scaled to length 1 before a further map"),
    ],
)
def test_what_is_not_affine(steps, message):
    pipeline = make_pipeline(*steps).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        AffineMap.from_model(pipeline)


def test_maps_that_cannot_be_joined():
    eye = AffineMap(np.eye(8), np.zeros(8), normalize=False)
    with pytest.raises(
        ValueError, match="following maps vectors of 3 numbers, but the images have"
    ):
        eye.then(AffineMap(np.eye(3), np.zeros(3), normalize=False))
    with pytest.raises(ValueError, match="a map of queries only cannot be joined"):
        eye.then(QUERY_SIDE)
    flat = AffineMap([[1.0, 0.0], [0.0, 0.0]], np.zeros(2), normalize=False)
    with pytest.raises(ValueError, match=r"not of the form W\(x - mean\)"):
        flat.then(AffineMap(np.eye(2), [0.0, 1.0], normalize=False))
