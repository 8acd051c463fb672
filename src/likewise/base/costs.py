"""What fits of each method cost: formulas for their operations and their memory.

Operations are counted as those of a matrix product that takes as long. Coefficients were fitted to
the processor time of fits to labels (178 to 20,000 rows, 13 to 256 features; of LMNN, NCA and the
closed forms up to 60,000 rows and 784 features) and to 2000 to 30,000 pairs. How many iterations a
fit needs depends on the data, and is not known before: seconds are uncertain by a factor of 2 where
this number hardly varied (`_MEASURED_UNCERTAINTY`), and of 4 for other methods.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from likewise._runtime.threads import count_threads
from likewise.objectives.softmax_neighbours import softmax_bytes
from likewise.objectives.working_memory import large_margin_data_bytes, large_margin_matrix_bytes

UNCERTAINTY = 4.0
_MEASURED_UNCERTAINTY = 2.0  # of methods of which all measured fits were within it
_BLOCK_BYTES = 1.5e8  # of a fit that reads blocks: one search, and the results that are held
_MAX_PAIRS = 100_000  # that fits from labels draw
_SEARCHES = 8  # of impostors, by LMNN
_SCREENED_FEATURES = 48  # from here on, searches leave most tiles early
_DENSE_PAIRS = 2048  # up to here, ITML factorises the equations of a Newton step
_MINI_BATCH_ROWS = 50_000  # from here on, NCA takes mini-batches


@dataclass(frozen=True)
class Size:
    """The size of a problem: rows, features, classes, given pairs (or 0), and the learner.

    `itemsize` is that of the numbers of X, and `in_blocks` says whether X is read in blocks.
    """

    n: int
    d: int
    c: int
    m: int
    learner: Any
    itemsize: int = 8
    in_blocks: bool = False

    def iterations(self, usual: int) -> int:
        """Return the usual number of iterations, or `max_iter` if that is less."""
        most = getattr(self.learner, "max_iter", None)
        return usual if most is None else min(usual, most)

    @property
    def n_components(self) -> int:
        """Rows of L."""
        return getattr(self.learner, "n_components", None) or self.d

    @property
    def drawn(self) -> int:
        """Pairs that were given, or else that are drawn from labels."""
        return self.m or min(_MAX_PAIRS, 20 * self.c * (self.c - 1))

    @property
    def linked(self) -> int:
        """Pairs that were given, or else of each row with a few neighbours."""
        return self.m or 3 * self.n

    @property
    def eigenvalues(self) -> float:
        """What eigenvalues of a matrix of some hundred features grow with."""
        return float(self.d**2.5)

    @property
    def search(self) -> int:
        """Operations of a neighbour search among all rows, if there are labels."""
        return 0 if self.m else self.n**2 * self.d


@dataclass(frozen=True)
class Cost:
    """Formulas of one method: operations, how much slower than a product, and bytes.

    `copies` of X in float64 come in addition to `n_bytes`.
    """

    operations: Callable[[Size], float]
    factor: float
    n_bytes: Callable[[Size], float] = lambda s: 0.0
    fixed: float = 0.015  # seconds of any fit
    copies: float = 3.0
    uncertainty: float = UNCERTAINTY


def _covariance(s: Size) -> float:
    return 2 * s.n * s.d**2 + 20 * s.d**3 + 400 * s.n * s.d


def _lmnn(s: Size) -> float:
    """Exact searches in single precision, and steps over the rows and their pairs."""
    searches = _SEARCHES * s.search * (0.12 if s.d >= _SCREENED_FEATURES else 0.46)
    single = 0.23 if s.itemsize == 4 else 1.0
    return searches + single * s.iterations(70) * s.n * s.d * (6 * s.d + 2500)


def _lmnn_bytes(s: Size) -> float:
    pairs = 250.0 * s.n * (1 + (getattr(s.learner, "n_neighbors", None) or 3))  # about 14 per row
    n_metrics = s.c if type(s.learner).__name__ == "MultiMetricLMNN" else 1
    matrices = large_margin_matrix_bytes(s.n, s.d, s.n_components, n_metrics)
    if s.in_blocks:  # copies of the rows that the pairs of one block refer to
        return matrices + min(_BLOCK_BYTES + 2.5 * s.n * s.d * s.itemsize, 28.0 * s.n * s.d + pairs)
    return matrices + pairs + large_margin_data_bytes(s.n, s.d, s.itemsize, n_metrics)


def _nca(s: Size) -> float:
    """All rows with all others, in every iteration or epoch."""
    in_batches = getattr(s.learner, "solver", "") != "lbfgs" and s.n >= _MINI_BATCH_ROWS
    k = s.n_components
    return s.iterations(5 if in_batches else 30) * s.n**2 * (2 * k + 2 * min(s.d, 2 * k) + 40)


def _nca_bytes(s: Size) -> float:
    fixed, tile = softmax_bytes(s.n, s.d)
    return float(fixed + count_threads(getattr(s.learner, "n_jobs", None)) * tile)


def _second_order(s: Size) -> float:
    return s.iterations(5) * s.n * max(1, s.c) * s.d**2


def _first_order(s: Size) -> float:
    return s.iterations(5) * s.n * max(1, s.c) * (s.d + 50)


def _threshold_pairs(s: Size) -> float:
    """Pairs for the threshold: of all rows, or of some of them if a metric is learned."""
    rows = s.n * (s.learner.validation_fraction if s.learner._nested_fits(s.m) else 1)
    return s.m or min(float(s.learner.max_pairs), rows**2 / 2)


def _held_out(s: Size) -> float:
    return min(s.n / 2, 1000.0)


def _adapted(s: Size) -> float:
    """Six folds: covariance and discriminants, and ten maps compared on the rows held out."""
    return 30 * (s.n * s.d**2 + 20 * s.d**3) + 255 * _held_out(s) ** 2 * (s.d + 500)


def _pair_bytes(s: Size) -> float:
    return 24.0 * s.linked * s.d


def _factorises(s: Size) -> bool:
    """Whether ITML solves the equations of a Newton step by a Cholesky factor."""
    return s.drawn <= min(_DENSE_PAIRS, 1.5 * s.d**2)


def _itml_bytes(s: Size) -> float:
    return 16.0 * s.drawn * (s.drawn if _factorises(s) else s.d)


def _itml(s: Size) -> float:
    """Newton steps, whose equations are solved by a Cholesky factor or conjugate gradients."""
    pairs = s.drawn * s.d**2
    equations = 0.2 * s.drawn**3 if _factorises(s) else 120 * pairs
    return s.iterations(10) * (46 * pairs + equations)


_closed_form = functools.partial(Cost, copies=0.0, uncertainty=_MEASURED_UNCERTAINTY)
_measured = functools.partial(Cost, factor=1, uncertainty=_MEASURED_UNCERTAINTY)

COSTS: Mapping[str, Cost] = MappingProxyType(
    {
        "Euclidean": Cost(lambda s: s.d**2, 1, fixed=0.005),
        "Whitening": _closed_form(_covariance, 1, fixed=0.0016, copies=1.0),
        "RCA": _closed_form(_covariance, 1.4, fixed=0.0020, copies=2.0),
        "FDA": _closed_form(_covariance, 1.5, fixed=0.0024, copies=1.0),
        "LMNN": _measured(_lmnn, n_bytes=_lmnn_bytes, copies=0.0),
        "MultiMetricLMNN": _measured(
            lambda s: (
                4 * s.search + s.iterations(300) * (5000 * s.n * s.d + 105 * max(1, s.c) * s.d**3)
            ),
            n_bytes=_lmnn_bytes,
            copies=0.0,
        ),
        "NCA": _measured(_nca, n_bytes=_nca_bytes, fixed=0.005, copies=0.0),
        "MCML": Cost(
            lambda s: s.iterations(40) * (s.n**2 * s.d + s.d**3), 10, _nca_bytes, copies=0.0
        ),
        "ITML": Cost(_itml, 1, _itml_bytes),
        "MMC": _measured(
            lambda s: s.iterations(30) * (160 * s.drawn * s.d + 1160 * s.eigenvalues),
            n_bytes=lambda s: 16.0 * s.drawn * s.d,
        ),
        "DMLEig": _measured(
            lambda s: s.iterations(80) * (120 * s.drawn * s.d + 3000 * s.eigenvalues),
            n_bytes=lambda s: 16.0 * s.drawn * s.d,
        ),
        "DoubletSVM": Cost(
            lambda s: 12 * s.search + 11_000 * s.linked * s.d + 15_000 * s.eigenvalues,
            1,
            _pair_bytes,
        ),
        "TripletSVM": _measured(
            lambda s: 2 * s.search + s.linked * (600_000 + 14 * s.d**2), n_bytes=_pair_bytes
        ),
        "PCML": _measured(
            lambda s: (
                14 * s.search + s.iterations(12) * (2300 * s.linked * s.d + 11_000 * s.eigenvalues)
            ),
            n_bytes=_pair_bytes,
        ),
        "NCML": Cost(
            lambda s: 126 * s.search + s.iterations(200) * 640 * s.linked * s.d, 1, _pair_bytes
        ),
        "LDML": Cost(
            lambda s: 29 * s.search + 108_000 * s.linked * s.d,
            1,
            lambda s: 16.0 * s.linked * s.d * (s.d + 1),
        ),
        "ComposedMetric": Cost(
            lambda s: (
                20 * s.search + s.iterations(12) * (3700 * s.linked * s.d + 9700 * s.eigenvalues)
            ),
            1,
            _pair_bytes,
        ),
        "PAMetric": _measured(lambda s: s.drawn * s.d * (110_000 + 600 * s.d)),
        "POLA": Cost(lambda s: s.iterations(10) * (700_000 * s.drawn + 122_000 * s.eigenvalues), 1),
        "PLML": _measured(
            lambda s: 2 * s.search + s.iterations(30) * 47_000 * s.n * s.d,
            n_bytes=lambda s: 400.0 * s.n * s.d,
        ),
        "EnergyClassifier": _measured(
            lambda s: s.search, n_bytes=lambda s: 200.0 * s.n, copies=2.0
        ),
        "EmbeddingAdapter": _measured(
            _adapted,
            n_bytes=lambda s: 8.0 * s.n * s.d + 64.0 * s.d**2 + 64.0 * _held_out(s) ** 2,
            fixed=0.02,
        ),
        "MetricKNN": Cost(lambda s: s.n * s.d, 10, fixed=0.005),
        "PairClassifier": Cost(_threshold_pairs, 400_000, lambda s: 150 * _threshold_pairs(s)),
        "AROW": Cost(_second_order, 25, fixed=0.004),
        "PAM": Cost(_second_order, 20, fixed=0.004),
        "CW": Cost(_second_order, 25, fixed=0.004),
        "SecondOrderPerceptron": Cost(_second_order, 15, fixed=0.004),
        "PA": Cost(_first_order, 60, fixed=0.004),
        "PAUM": Cost(_first_order, 60, fixed=0.004),
        "Perceptron": Cost(_first_order, 60, fixed=0.004),
    }
)
