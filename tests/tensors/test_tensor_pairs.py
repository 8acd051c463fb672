"""PairClassifier and the evaluation of pairs, of tensors."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise._runtime import tensors
from likewise.constraints import random_pairs
from likewise.evaluation import error_rates, pair_scorer, verification_curve
from likewise.statistics import choose_threshold

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from on_device import DEVICE, DEVICE_TO_SET, host, there  # noqa: E402

X, y = load_digits(return_X_y=True)
X, y = X[:900] / 16, y[:900]
T = there(X)
A, B = slice(0, 400), slice(400, 800)

METRICS = [
    None,
    "cosine",
    "RCA",
    lw.FDA(3),
    lw.ITML(max_iter=3, random_state=0),
    lw.EmbeddingAdapter(),
    FrozenEstimator(lw.FDA().fit(X, y)),
    PCA(8),
    make_pipeline(StandardScaler(), lw.RCA()),
]
QUIET = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::likewise.exceptions.OverfitWarning"
)


@QUIET
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: str(metric)[:30])
def test_threshold_and_scores_are_those_of_arrays(metric):
    expected = lw.PairClassifier(metric, max_pairs=20_000).fit(X, y)
    found = lw.PairClassifier(metric, max_pairs=20_000).fit(T, there(y))
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=1e-6)
    assert (found.fmr_, found.fnmr_) == pytest.approx((expected.fmr_, expected.fnmr_), abs=1e-3)
    assert type(found._centre) is np.ndarray
    for method, options in (
        ("pair_distance", {}),
        ("predict_pairs", {}),
        ("predict_proba_pairs", {"prevalence": 0.2}),
    ):
        scores = getattr(found, method)(T[A], T[B], **options)
        assert isinstance(scores, torch.Tensor)
        assert scores.device == T.device
        ours = getattr(expected, method)(X[A], X[B], **options)
        assert host(scores).dtype == ours.dtype
        if method != "predict_pairs":
            np.testing.assert_allclose(host(scores), ours, rtol=1e-5, atol=1e-5)
        else:
            assert (host(scores) != ours).mean() <= 0.005
    assert found.score(T, there(y)) == pytest.approx(expected.score(X, y), abs=1e-3)


@QUIET
def test_undecided_pairs_are_words():
    judge = lw.PairClassifier(lw.RCA(), "fmr<=0.05").fit(X, y)
    words = judge.predict_pairs(T[A], T[B], unsure=True)
    assert type(words) is np.ndarray
    np.testing.assert_array_equal(words, judge.predict_pairs(X[A], X[B], unsure=True))


@QUIET
@pytest.mark.parametrize(
    "metric", [None, lw.ITML(max_iter=3, random_state=0), lw.RCA(), lw.EmbeddingAdapter()]
)
def test_judged_pairs(metric):
    judged = random_pairs(y, 3000, distinct=True, random_state=0)
    pairs, same = there(judged.index), there(judged.same)
    expected = lw.PairClassifier(metric).fit_pairs(X, judged.index, judged.same)
    found = lw.PairClassifier(metric).fit_pairs(T, pairs, same)
    assert found.threshold_ == pytest.approx(expected.threshold_, rel=1e-6)
    assert found.score_pairs(T, pairs, same) == pytest.approx(
        expected.score_pairs(X, judged.index, judged.same), abs=1e-3
    )


@QUIET
@pytest.mark.parametrize("metric", [None, "cosine", "LMNN", lw.EmbeddingAdapter()])
def test_rows_stay_on_the_device(metric, monkeypatch):
    def guarded(method):
        def call(self, *args, **kwargs):
            assert self.ndim < 2 or self.numel() < T.numel() // 4
            return method(self, *args, **kwargs)

        return call

    for name in ("numpy", "cpu", "__array__", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, guarded(getattr(torch.Tensor, name)))
    if metric == "LMNN":
        metric = lw.LMNN(max_iter=5, tol=0.5)
    judge = lw.PairClassifier(metric, max_pairs=5000).fit(T, y)
    judge.pair_distance(T, T.flip(0))
    judge.predict_pairs(T, T.flip(0))
    judge.predict_proba_pairs(T, T.flip(0))


@QUIET
def test_arrays_come_back_as_arrays_from_the_device_that_is_set(monkeypatch):
    expected = lw.PairClassifier(lw.RCA()).fit(X, y)
    monkeypatch.setattr(tensors, "configured_device", lambda: DEVICE_TO_SET)
    monkeypatch.setattr(tensors, "_require_cuda", lambda torch, device: None)
    seen = []
    original = lw.PairClassifier._map
    monkeypatch.setattr(
        lw.PairClassifier, "_map", lambda self, rows: seen.append(rows) or original(self, rows)
    )
    judge = lw.PairClassifier(lw.RCA()).fit(X, y)
    for method in ("pair_distance", "predict_pairs", "predict_proba_pairs"):
        scores = getattr(judge, method)(X[A], X[B])
        assert type(scores) is np.ndarray
        np.testing.assert_allclose(scores, getattr(expected, method)(X[A], X[B]), atol=1e-9)
    assert all(isinstance(rows, torch.Tensor) for rows in seen[:1])
    assert judge.explain_pair(X[0], X[1]).distance == pytest.approx(
        expected.explain_pair(X[0], X[1]).distance
    )


@QUIET
@pytest.mark.parametrize("method", ["pair_distance", "predict_pairs", "predict_proba_pairs"])
def test_pairs_on_two_devices_are_refused(method):
    judge = lw.PairClassifier().fit(T, y)
    with pytest.raises(
        ValueError, match=f"A is no tensor and B is a tensor on {DEVICE}, but both must"
    ):
        getattr(judge, method)(X[A], T[B])
    with pytest.raises(ValueError, match="B contains NaN"):
        getattr(judge, method)(T[A], torch.full_like(T[A], torch.nan))
    with pytest.warns(UserWarning, match="A requires a gradient, which is not followed"):
        assert not getattr(judge, method)(T[A].clone().requires_grad_(), T[B]).requires_grad


def test_memory_that_does_not_suffice_leaves_the_classifier_as_it_was(monkeypatch):
    judge = lw.PairClassifier().fit(T, y)
    before = dict(vars(judge))

    def no_memory(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0.")

    monkeypatch.setattr("likewise.pair_classifier._decisions.row_norms", no_memory)
    for method, arguments in (("fit", (T, y)), ("pair_distance", (T, T))):
        with pytest.raises(MemoryError, match="PairClassifier ran out of the memory of the GPU"):
            getattr(judge, method)(*arguments)
    assert vars(judge) == before


def test_distances_are_evaluated_wherever_they_are():
    judged = random_pairs(y, 500, distinct=True, random_state=0)
    metric = lw.Euclidean().fit(T)
    distances = metric.pair_distance(T[judged.index[:, 0]], T[judged.index[:, 1]])
    on_host = (host(distances), judged.same)
    given = (distances, there(judged.same))
    items = there(judged.index)
    assert verification_curve(*given).auc == verification_curve(*on_host).auc
    ours = error_rates(*on_host, 0.5, items=judged.index)
    assert error_rates(*given, 0.5, items=items) == ours
    assert choose_threshold(*given).threshold == choose_threshold(*on_host).threshold
    score = pair_scorer(500)
    assert score(metric, T, y) == pytest.approx(score(lw.Euclidean().fit(X), X, y), abs=1e-3)
