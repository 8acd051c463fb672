"""Each check of the contract catches an estimator that breaks just that promise."""

import itertools

import numpy as np
import pytest
import toys

import likewise as lw
from likewise.base import MetricLearner, fitting
from likewise.testing import LEARNER_CHECKS, METRIC_CHECKS
from likewise.testing._assertions import assert_raises_clear_error

_calls = itertools.count(1)


class Honest(lw.Whitening):
    """Breaks nothing: what the broken ones are made of."""


class RemembersFits(Honest):
    def fit(self, X, y=None):
        self.fits = getattr(self, "fits", 0) + 1
        super().fit(X)
        return self._keep(self.fits * self.components_, X.dtype)


class ForgetsItsSeed(Honest):
    def __init__(self, random_state=None):
        super().__init__()
        self.random_state = random_state

    def fit(self, X, y=None):
        super().fit(X)
        return self._keep(next(_calls) * self.components_, self.components_.dtype)


class DependsOnThreads(Honest):
    def __init__(self, n_jobs=None):
        super().__init__()
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        super().fit(X)
        return self._keep((self.n_jobs or 1) * self.components_, X.dtype)


class LosesDigits(Honest):
    def __getstate__(self):
        return {**vars(self), "components_": self.components_.astype(np.float16)}


class SavesNothing(Honest):
    def save(self, path):
        Honest().fit(np.eye(5)).save(path)


class ResumesAfresh(toys.RunningMean):
    def save(self, path):
        kept = type(self)().fit(np.ones((1, self.n_features_in_)), [0])
        kept.components_ = self.components_
        super(toys.RunningMean, kept).save(path)


class ForgetsFirst(Honest):
    def fit(self, X, y=None):
        self.components_ = np.zeros((5, 5))
        return super().fit(X)


class ClonesWhatItLearned(Honest):
    def __sklearn_clone__(self):
        return self


class HandsOutOneRow(toys.TripletToy):
    def _solve(self, solver, problem, start, fitted, **options):
        return super()._solve(solver, problem, start, lambda L: {"components_": L[:1]}, **options)


class CountsLetters(Honest):
    def fit(self, X, y=None):
        super().fit(X)
        return self._keep(len(str(np.asarray(y)[0])) * self.components_, self.components_.dtype)


class ForgetsColumns(Honest):
    def fit(self, X, y=None):
        super().fit(np.asarray(X))
        self.feature_names_in_ = []
        return self


class MapsToNothing(Honest):
    def fit(self, X, y=None):
        super().fit(X)
        return self._keep(0 * self.components_, self.components_.dtype)


class InvertsTheCovariance(MetricLearner):
    """Textbook code: nothing is done about empty directions or extreme scales."""

    _needs_labels = False

    @fitting
    def fit(self, X, y=None):
        from likewise._runtime.validation import check_rows

        X = check_rows(self, X, reset=True)
        with np.errstate(all="ignore"):
            values, vectors = np.linalg.eigh(np.cov(X, rowvar=False) + 1e-300)
            return self._keep((vectors / np.sqrt(values)).T, X.dtype)


class TakesOneClass(lw.RCA):
    def fit(self, X, y):
        return self.fit_chunks(X, np.zeros(len(X), dtype=int))


class TakesAnyNeighbors(lw.MetricKNN):
    def fit(self, X, y):
        self.n_neighbors = min(self.n_neighbors, len(X))
        return super().fit(X, y)


class TakesNaN(Honest):
    def fit(self, X, y=None):
        return super().fit(np.nan_to_num(np.asarray(X), posinf=0))


class NegativeDistance(Honest):
    def pair_distance(self, A, B):
        return -super().pair_distance(A, B)


class SquaredDistance(Honest):
    def pair_distance(self, A, B):
        return super().pair_distance(A, B) ** 2


class TurnedInMemory(Honest):
    def fit(self, X, y=None):
        super().fit(X)
        self.components_ = np.asfortranarray(self.components_)
        return self


class AlwaysDouble(Honest):
    def fit(self, X, y=None):
        return super().fit(np.asarray(X, dtype=np.float64))


class KnowsTheOrigin(Honest):
    def fit(self, X, y=None):
        super().fit(X)
        return self._keep(np.abs(np.asarray(X)).max() * self.components_, X.dtype)


class HasAUnit(Honest):
    def fit(self, X, y=None):
        super().fit(X)
        scale = np.abs(np.asarray(X)).max()
        return self._keep(np.diag(1 + scale * np.arange(X.shape[1])), X.dtype)


BROKEN = {
    "check_refit_equals_fit": RemembersFits(),
    "check_same_seed_same_bits": ForgetsItsSeed(),
    "check_same_bits_for_any_n_jobs": DependsOnThreads(),
    "check_file_round_trip": SavesNothing(),
    "check_resume_after_load": ResumesAfresh(),
    "check_failed_refit_keeps_model": ForgetsFirst(),
    "check_pickle_round_trip": LosesDigits(),
    "check_clone_is_unfitted": ClonesWhatItLearned(),
    "check_callbacks_receive_models": HandsOutOneRow(max_iter=500, tol=1e-3),
    "check_string_labels": CountsLetters(),
    "check_dataframe_input": ForgetsColumns(),
    "check_grid_search_in_pipeline": MapsToNothing(),
    "check_duplicate_samples": MapsToNothing(),
    "check_constant_features": InvertsTheCovariance(),
    "check_more_features_than_samples": InvertsTheCovariance(),
    "check_extreme_scales": MapsToNothing(),
    "check_one_class_raises": TakesOneClass(),
    "check_too_many_neighbors_raises": TakesAnyNeighbors(),
    "check_nonfinite_values_raise": TakesNaN(),
    "check_metric_axioms": NegativeDistance(),
    "check_distance_forms_agree": SquaredDistance(),
    "check_components_shape": TurnedInMemory(),
    "check_float32_preserved": AlwaysDouble(),
    "check_translation_invariance": KnowsTheOrigin(),
    "check_scale_equivariance": HasAUnit(),
}
CHECKS = {check.__name__: check for check in LEARNER_CHECKS + METRIC_CHECKS}


def test_every_check_has_someone_who_breaks_it():
    assert set(BROKEN) == set(CHECKS)


@pytest.mark.parametrize("name", BROKEN)
def test_check_fails(name):
    with pytest.raises((AssertionError, ValueError)):
        CHECKS[name](BROKEN[name])


@pytest.mark.parametrize("name", BROKEN)
def test_check_passes_for_an_honest_learner(name):
    CHECKS[name](Honest())


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (None, "no ValueError was raised"),
        ("k is too large.", "missing from the message"),
        ("n_neighbors is\ntoo large.", "more than one line"),
        ("n_neighbors is too large", "full stop"),
    ],
)
def test_assert_raises_clear_error_fails(message, complaint):
    def call():
        if message:
            raise ValueError(message)

    with pytest.raises(AssertionError, match=complaint):
        assert_raises_clear_error(call, "n_neighbors")


def test_assert_raises_clear_error_passes():
    def call():
        raise ValueError("n_neighbors=0 is not allowed.")

    assert_raises_clear_error(call, "n_neighbors")
