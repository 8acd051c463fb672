"""Learners that each break one promise of the contract, and keep the others."""

import itertools

import numpy as np
import toys

import likewise as lw


class Rescaled(lw.Whitening):
    """Multiplies the map of `Whitening` by a factor, or by a matrix from the left."""

    def factor(self, X, y):
        return 1.0

    def fit(self, X, y=None):
        super().fit(X)
        with np.errstate(all="ignore"):
            factor = np.asarray(self.factor(np.asarray(X, dtype=np.float64), y))
            components = factor @ self.components_ if factor.ndim else factor * self.components_
            self.components_ = components.astype(self.components_.dtype)
        return self


class CountsFits(Rescaled):
    def factor(self, X, y):
        self.fits = getattr(self, "fits", 0) + 1
        return self.fits


class IgnoresSeed(Rescaled):
    _fits = itertools.count()

    def __init__(self, random_state=None):
        super().__init__()
        self.random_state = random_state

    def factor(self, X, y):
        return 1 + 1e-12 * next(self._fits)


class DependsOnThreads(Rescaled):
    def __init__(self, n_jobs=None):
        super().__init__()
        self.n_jobs = n_jobs

    def factor(self, X, y):
        return self.n_jobs or 1


class SavesAnotherModel(Rescaled):
    def save(self, path):
        type(self)().fit(np.eye(5)).save_as_is(path)

    def save_as_is(self, path):
        super().save(path)


class ForgetsRandomState(toys.RunningSpread):
    def save(self, path):
        model = type(self)(self.random_state)
        vars(model).update(vars(self), _random=np.random.RandomState(0))
        super(ForgetsRandomState, model).save(path)


class ForgetsBeforeFit(Rescaled):
    def fit(self, X, y=None):
        self.components_ = np.zeros((5, 5))
        return super().fit(X, y)


class PicklesHalfPrecision(Rescaled):
    def __getstate__(self):
        state = super().__getstate__()
        return {**state, "components_": state["components_"].astype(np.float16)}


class ClonesComponents(Rescaled):
    def __sklearn_clone__(self):
        copied = super().__sklearn_clone__()
        if hasattr(self, "components_"):
            copied.components_ = self.components_
        return copied


class ReportsNothing(toys.TripletToy):
    def _call_back(self, fitted):
        return False


class ReportsOneRow(toys.TripletToy):
    def _solve(self, solver, problem, start, fitted, **options):
        return super()._solve(solver, problem, start, lambda L: {"components_": L[:1]}, **options)


class ReportsInfinity(toys.TripletToy):
    def _solve(self, solver, problem, start, fitted, **options):
        def infinite(L):
            return {"components_": np.full_like(L, np.inf)}

        return super()._solve(solver, problem, start, infinite, **options)


class MapsUnseenSamplesToZero(Rescaled):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.seen_ = np.array(X, dtype=np.float64)
        return self

    def transform(self, X):
        seen = (np.asarray(X)[:, None] == self.seen_).all(axis=2).any(axis=1)
        return super().transform(X) * seen[:, None].astype(self.components_.dtype)


class CountsLetters(Rescaled):
    def factor(self, X, y):
        return len(str(np.asarray(y)[0]))


class IgnoresColumnNames(Rescaled):
    def fit(self, X, y=None):
        super().fit(np.asarray(X), y)
        self.feature_names_in_ = []
        return self


class RefitsDataFrames(Rescaled):
    def factor(self, X, y):
        return 2 if hasattr(self, "feature_names_in_") else 1


class DividesByNearestDistance(Rescaled):
    def factor(self, X, y):
        distance = np.linalg.norm(X[:, None] - X, axis=2)
        return 1 / distance[~np.eye(len(X), dtype=bool)].min()


class DividesByDeviation(Rescaled):
    def fit(self, X, y=None):
        super().fit(X)
        with np.errstate(all="ignore"):
            inverse = 1 / np.array(X, dtype=np.float64, order="C").std(axis=0)
        self.components_ = np.diag(inverse).astype(self.components_.dtype)
        return self


class CorrectsDegreesOfFreedom(Rescaled):
    def factor(self, X, y):
        n_samples, n_features = X.shape
        return np.sqrt((n_samples - n_features - 2) / n_samples)


class DropsSmallVariances(Rescaled):
    _scale_equivariant = False

    def factor(self, X, y):
        return float(X.var() > 1e-12)


class AcceptsOneClass(lw.RCA):
    def fit(self, X, y):
        return self.fit_chunks(X, np.zeros(len(X), dtype=int))


class ClipsNeighbors(lw.MetricKNN):
    def fit(self, X, y):
        self.n_neighbors = min(self.n_neighbors, len(X))
        return super().fit(X, y)


class AcceptsNaN(Rescaled):
    def fit(self, X, y=None):
        return super().fit(np.nan_to_num(X, posinf=0) if isinstance(X, np.ndarray) else X, y)


class GivesNoPlace(Rescaled):
    def fit(self, X, y=None):
        if not np.isfinite(np.asarray(X)).all():
            raise ValueError("X contains NaN or infinity.")
        return super().fit(X, y)


class NegativeDistance(Rescaled):
    def pair_distance(self, A, B):
        return -super().pair_distance(A, B)


class PositiveDistance(Rescaled):
    def pair_distance(self, A, B):
        return super().pair_distance(A, B) + 1e-10


class LeftToRight(Rescaled):
    def pair_distance(self, A, B):
        A, B = np.asarray(A), np.asarray(B)
        return super().pair_distance(A, B) * (1 + 1e-10 * (A[:, 0] > B[:, 0])).astype(A.dtype)


class DoubledDiagonal(Rescaled):
    def mahalanobis_matrix(self):
        matrix = super().mahalanobis_matrix()
        return matrix + np.diag(np.diag(matrix))


class SquaredMetric(Rescaled):
    def get_metric(self):
        metric = super().get_metric()
        return lambda a, b: metric(a, b) ** 2


class ColumnMajor(Rescaled):
    def fit(self, X, y=None):
        super().fit(X, y)
        self.components_ = np.asfortranarray(self.components_)
        return self


class AlwaysDouble(Rescaled):
    def fit(self, X, y=None):
        return super().fit(X.astype(np.float64) if isinstance(X, np.ndarray) else X, y)


class DependsOnOrigin(Rescaled):
    def factor(self, X, y):
        return np.abs(X).max()


class DependsOnUnits(Rescaled):
    def factor(self, X, y):
        return np.diag(1 + X.std() * np.arange(X.shape[1]))


_ITERATIVE = {"max_iter": 20}

# The check that each mutant fails, and the other checks that it cannot but fail as well.
MUTANTS = [
    ("check_refit_equals_fit", CountsFits(), ()),
    (
        "check_same_seed_same_bits",
        IgnoresSeed(),
        ("check_refit_equals_fit", "check_string_labels", "check_dataframe_input"),
    ),
    ("check_same_bits_for_any_n_jobs", DependsOnThreads(), ()),
    ("check_file_round_trip", SavesAnotherModel(), ()),
    ("check_resume_after_load", ForgetsRandomState(), ()),
    ("check_failed_refit_keeps_model", ForgetsBeforeFit(), ()),
    ("check_pickle_round_trip", PicklesHalfPrecision(), ()),
    ("check_clone_is_unfitted", ClonesComponents(), ()),
    ("check_callbacks_receive_models", ReportsNothing(**_ITERATIVE), ()),
    ("check_callbacks_receive_models", ReportsOneRow(**_ITERATIVE), ()),
    ("check_callbacks_receive_models", ReportsInfinity(**_ITERATIVE), ()),
    ("check_grid_search_in_pipeline", MapsUnseenSamplesToZero(), ()),
    ("check_string_labels", CountsLetters(), ()),
    ("check_dataframe_input", IgnoresColumnNames(), ()),
    ("check_dataframe_input", RefitsDataFrames(), ()),
    ("check_duplicate_samples", DividesByNearestDistance(), ()),
    ("check_constant_features", DividesByDeviation(), ()),
    ("check_more_features_than_samples", CorrectsDegreesOfFreedom(), ()),
    ("check_extreme_scales", DropsSmallVariances(), ()),
    ("check_one_class_raises", AcceptsOneClass(), ()),
    ("check_too_many_neighbors_raises", ClipsNeighbors(), ()),
    ("check_nonfinite_values_raise", GivesNoPlace(), ()),
    ("check_nonfinite_values_raise", AcceptsNaN(), ("check_failed_refit_keeps_model",)),
    ("check_metric_axioms", PositiveDistance(), ()),
    ("check_metric_axioms", LeftToRight(), ()),
    ("check_metric_axioms", NegativeDistance(), ("check_distance_forms_agree",)),
    ("check_distance_forms_agree", DoubledDiagonal(), ()),
    ("check_distance_forms_agree", SquaredMetric(), ()),
    ("check_components_shape", ColumnMajor(), ()),
    ("check_float32_preserved", AlwaysDouble(), ()),
    ("check_translation_invariance", DependsOnOrigin(), ()),
    ("check_scale_equivariance", DependsOnUnits(), ()),
]
HONEST = [
    Rescaled(),
    lw.RCA(),
    lw.MetricKNN(),
    toys.TripletToy(**_ITERATIVE),
    toys.RunningSpread(),
]
