"""Whitening, RCA and FDA of tensors: sums on the device, the same metric."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine

import likewise as lw

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from on_device import DEVICE, there  # noqa: E402

X, y = load_wine(return_X_y=True)


def tables():
    yield "wine", X
    yield "far from zero", X + 1e8
    yield "dependent features", np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(X))])
    yield "fewer rows than features", np.hstack([X[::6], np.sin(X[::6]), np.cos(X[::6])])
    yield "large", X * 1e120
    yield "float32", X.astype(np.float32)


@pytest.mark.parametrize("rows", [pytest.param(rows, id=name) for name, rows in tables()])
@pytest.mark.parametrize(
    "learner",
    [
        lw.Whitening(),
        lw.Whitening(3, shrinkage=None),
        lw.RCA(),
        lw.RCA(2, shrinkage=0.3),
        lw.FDA(),
        lw.FDA(1),
    ],
    ids=str,
)
def test_the_metric_is_that_of_arrays(learner, rows):
    labels = y if len(rows) == len(y) else y[::6]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = learner.fit(rows, labels).mahalanobis_matrix()
        found = learner.fit(there(rows), there(labels))
    assert found.components_.dtype == rows.dtype
    rtol = 1e-6 if rows.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(
        found.mahalanobis_matrix(), expected, rtol=rtol, atol=rtol * np.abs(expected).max()
    )


def test_pairs_and_chunks():
    rows, chunks = there(X), np.where(np.arange(len(X)) % 3, y, -1)
    for method, arguments in (
        ("fit_chunks", (chunks,)),
        ("fit_pairs", (np.column_stack([np.arange(100), np.arange(1, 101)]), np.ones(100, bool))),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(lw.RCA(), method)(X, *arguments).components_
            found = getattr(lw.RCA(), method)(rows, *arguments).components_
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_equal_rows_are_refused():
    with pytest.raises(ValueError, match="All rows of X are equal"):
        lw.Whitening().fit(torch.ones(5, 2, device=DEVICE))
