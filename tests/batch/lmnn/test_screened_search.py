"""A fit with screened impostor searches: the same bits as without, for any number of threads."""

import numpy as np
import pytest

import likewise as lw
from likewise import _loops


@pytest.mark.skipif(_loops.BACKEND != "native", reason="the NumPy twin compares all pairs")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_model_with_and_without_screen_for_any_number_of_threads(dtype, monkeypatch):
    from likewise._loops.distances import frames

    rng = np.random.default_rng(0)
    n, d = 1600, frames.screen_features
    y = np.arange(n) % 4
    X = rng.normal(size=(4, d))[y] + 2 * rng.normal(size=(n, d)) * 0.9 ** np.arange(d)
    X = (X @ np.linalg.qr(rng.normal(size=(d, d)))[0]).astype(dtype)
    rotated, principal_axes = [], frames._principal_axes

    def counted(*args):
        rotated.append(args)
        return principal_axes(*args)

    monkeypatch.setattr(frames, "_principal_axes", counted)
    models = [lw.LMNN(3, max_iter=4, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 5)]
    assert len(rotated) >= 6  # several searches in every fit
    rotated.clear()
    monkeypatch.setattr(frames, "screen_features", d + 1)
    models.append(lw.LMNN(3, max_iter=4, n_jobs=2).fit(X, y))
    assert not rotated
    for model in models[1:]:
        assert model.components_.tobytes() == models[0].components_.tobytes()
        assert model.duality_gap_ == models[0].duality_gap_
