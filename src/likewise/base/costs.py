"""What fits of each method cost: formulas for their operations and their memory.

Operations are counted as those of a matrix product that takes as long. Coefficients were fitted to
the processor time and memory of fits to labels (178 to 20,000 rows, 13 to 400 features; of LMNN,
NCA and the closed forms up to 300,000 rows and 784 features) and to 300 to 100,000 pairs. How many
iterations a fit needs depends on the data, and is not known before: seconds are uncertain by a
factor of 2 where this number hardly varied (`MEASURED_UNCERTAINTY`), and of 4 for other methods.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from likewise._runtime.threads import count_threads
from likewise.constraints._random_pairs import MAX_DEFAULT_PAIRS
from likewise.objectives.softmax_neighbours import softmax_bytes
from likewise.objectives.working_memory import (
    large_margin_data_bytes,
    large_margin_matrix_bytes,
    lbfgs_bytes,
)

UNCERTAINTY = 4.0
MEASURED_UNCERTAINTY = 2.0  # of methods of which all measured fits were within it
_BLOCK_BYTES = 1.5e8  # of a fit that reads blocks: one search, and the results that are held
_SEARCHES = 8  # of impostors, by LMNN
_SCREENED_FEATURES = 48  # from here on, searches leave most tiles early
_FARTHEST_ROWS, _FARTHEST_VALUES = 256, 1 << 20  # of a tile of a search for the farthest rows
_CHUNK_VALUES = 1 << 20  # of the differences that an online learner holds at a time
_DENSE_PAIRS = 2048  # up to here, ITML factorises the equations of a Newton step
_MINI_BATCH_ROWS = 50_000  # from here on, NCA takes mini-batches
_LDML_STEP = 4.0  # multiplications of a Newton step per pair and squared number of entries


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

    def iterations(self, usual: float) -> float:
        """Return the usual number of iterations, or `max_iter` if that is less."""
        most = getattr(self.learner, "max_iter", None)
        return usual if most is None else min(usual, most)

    @property
    def n_components(self) -> int:
        """Rows of L."""
        return getattr(self.learner, "n_components", None) or self.d

    @property
    def drawn(self) -> int:
        """Pairs that were given, or else that batch methods draw from labels."""
        return self.m or self._wanted or min(MAX_DEFAULT_PAIRS, 20 * self.c**2)

    @property
    def drawn_online(self) -> int:
        """Pairs that were given, or else that online methods draw from labels."""
        usual = min(MAX_DEFAULT_PAIRS, 40 * self.c * (self.c - 1), self.n * (self.n - 1) // 2)
        return self.m or self._wanted or max(1, usual)

    @property
    def linked(self) -> int:
        """Pairs that were given, or else of each row with neighbours."""
        n_neighbors: int = getattr(self.learner, "n_neighbors", 1)
        n_same: int = getattr(self.learner, "n_same", n_neighbors)
        n_different: int = getattr(self.learner, "n_different", n_same)
        return self.m or self.n * (n_same + n_different)

    @property
    def n_entries(self) -> int:
        """Free entries of M."""
        return self.d * (self.d + 1) // 2

    @property
    def eigenvalues(self) -> float:
        """What eigenvalues of a matrix of some hundred features grow with."""
        return float(self.d**2.5)

    @property
    def search(self) -> int:
        """Operations of a neighbour search among all rows, if there are labels."""
        return 0 if self.m else self.n**2 * self.d

    @property
    def sorting_search(self) -> int:
        """The same where the distances of each row are partly sorted, which takes longer."""
        return 0 if self.m else self.n**2 * (4 * self.d + 250)

    @property
    def _wanted(self) -> int:
        return getattr(self.learner, "n_pairs", None) or 0


@dataclass(frozen=True)
class Cost:
    """Formulas of one method: operations, how much slower than a product, and bytes.

    `optional` operations are those that only some fits need: the fewest seconds are without them,
    the most with all of them. `copies` of X in float64 come in addition to `n_bytes`. `kernel_pca`
    says that the formulas hold for the coordinates of kernel PCA, too, which the method learns from
    if it has a kernel.
    """

    operations: Callable[[Size], float]
    factor: float
    n_bytes: Callable[[Size], float] = lambda s: 0.0
    fixed: float = 0.015  # seconds of any fit
    copies: float = 3.0
    uncertainty: float = UNCERTAINTY
    optional: Callable[[Size], float] = lambda s: 0.0
    kernel_pca: bool = False


def _covariance(s: Size) -> float:
    return 2 * s.n * s.d**2 + 20 * s.d**3 + 400 * s.n * s.d


def _closed_form_bytes(s: Size, copies: int) -> float:
    """Copies of X in its own precision, and some matrices of its features."""
    return float(copies * s.itemsize * s.n * s.d + 120 * s.d**2)


def _lmnn(s: Size) -> float:
    """Exact searches in single precision, and steps over the rows and their pairs.

    With few rows per feature many metrics are nearly as good, and L-BFGS takes more steps. But as
    many features as rows separate the classes of any labels, and few steps are enough.
    """
    searches = _SEARCHES * s.search * (0.1 if s.d >= _SCREENED_FEATURES else 0.42)
    steps = s.iterations(40 if s.d >= s.n - 1 else 40 + 30 * s.d / math.sqrt(s.n))
    products = 0.7 * s.d**2 + 160 * s.d if s.itemsize == 4 else 2 * s.d**2 + 1100 * s.d
    return searches + steps * s.n * (60_000 + products)


def _lmnn_bytes(s: Size) -> float:
    pairs = 250.0 * s.n * (1 + (getattr(s.learner, "n_neighbors", None) or 3))  # about 14 per row
    n_metrics = s.c if type(s.learner).__name__ == "MultiMetricLMNN" else 1
    matrices = large_margin_matrix_bytes(s.n, s.d, s.n_components, n_metrics)
    if s.in_blocks:  # copies of the rows that the pairs of one block refer to
        return matrices + min(_BLOCK_BYTES + 2.5 * s.n * s.d * s.itemsize, 28.0 * s.n * s.d + pairs)
    return matrices + pairs + large_margin_data_bytes(s.n, s.d, s.itemsize, n_metrics)


def _nca(s: Size) -> float:
    """All rows with all others, and products of the rows with L, in every evaluation.

    Where few of the others are near enough to count, they are screened in single precision by a
    quarter of the operations. Whether they are is not known before, and about half is counted.
    """
    solver, k = getattr(s.learner, "solver", "auto"), s.n_components
    in_batches = solver == "adam" or (solver == "auto" and s.n >= _MINI_BATCH_ROWS)
    n_batches = -(-s.n // s.learner.batch_size) if in_batches else 1
    comparisons = s.n**2 * (k + min(s.d, 2 * k) + 20)
    return s.iterations(5 if in_batches else 30) * (comparisons + n_batches * 4 * s.n * s.d * k)


def _softmax_bytes(s: Size) -> float:
    fixed, tile = softmax_bytes(s.n, s.d)
    return float(fixed + count_threads(getattr(s.learner, "n_jobs", None)) * tile)


def _second_order(s: Size) -> float:
    """A product with the covariance Σ of each class per row."""
    return s.iterations(5) * s.n * max(1, s.c) * _covariance_entries(s)


def _covariance_entries(s: Size) -> float:
    """Entries of Σ, or as many as take as long as all that is done per row if they are few."""
    kind = s.learner._covariance_of(s.d)
    if kind == "full":
        return float(s.d**2)
    n_directions = 0 if kind == "diagonal" else kind
    return 2.4 * (s.d + 50) * (1 + n_directions)


def _covariance_bytes(s: Size) -> float:
    return 16.0 * max(1, s.c) * _covariance_entries(s)


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
    """The differences of the pairs: as they are, scaled, and for the visits of single pairs."""
    return 30.0 * s.linked * s.d


def _farthest_bytes(s: Size) -> float:
    """The tiles of a search for the nearest and farthest rows, if there are labels."""
    if s.m:
        return 0.0
    tile = min(_FARTHEST_ROWS * s.n, _FARTHEST_VALUES)
    return 20.0 * tile * count_threads(s.learner.n_jobs) + 8.0 * s.n * s.d


def _pcml(s: Size) -> float:
    """Visits of all pairs, and projections of M between them, which need its eigenvalues.

    Random pairs take more steps than those made from labels. But most of them are soon at rest, and
    are left out of later visits.
    """
    visits = 2600 * s.d + 16 * s.d**2 if not s.m else 900 * s.d + 6 * s.d**2
    steps = s.iterations(18 if s.m else 6)
    return 1.6 * s.sorting_search + steps * (s.linked * visits + 4000 * s.eigenvalues)


def _pcml_bytes(s: Size) -> float:
    """A Newton step is taken if it costs as little as visits: its pairs are few of all."""
    newton_step = 8 * s.n_entries * min(s.linked, 5 * math.sqrt(s.linked))
    return max(_farthest_bytes(s), _pair_bytes(s) + newton_step)


def _ldml(s: Size) -> float:
    """Steps of L-BFGS over the pairs, of which random ones need fewer than those of near rows."""
    steps = 0.6 if s.m else 1.0
    return 0.8 * s.sorting_search + steps * s.linked * (700_000 + 280 * s.d**2)


def _ldml_step(s: Size) -> float:
    """One Newton step, for pairs where L-BFGS did not reach the duality gap."""
    m = s.linked
    return _LDML_STEP * m * s.n_entries**2 if s.n_entries <= m else 1.5 * m**3


def _ldml_bytes(s: Size) -> float:
    return _pair_bytes(s) + 24.0 * s.linked * min(s.linked, s.n_entries)


def _pa_metric(s: Size) -> float:
    """Passes over the pairs; M is updated by a part of them, and sometimes projected."""
    m = s.drawn_online
    usual = max(2, -(-min(s.n * (s.n - 1) // 10, 50 * m) // m))
    return float(s.learner.max_iter or usual) * m * (20_000 + 18 * s.d**2)


def _online_bytes(s: Size) -> float:
    """The pairs in the order of a pass, the differences of some, and the classes of rows."""
    m = s.drawn_online
    return 16.0 * s.d * min(m, _CHUNK_VALUES // s.d + 1) + 24.0 * m + 16.0 * s.n + 32.0 * s.d**2


def _factorises(s: Size) -> bool:
    """Whether ITML solves the equations of a Newton step by a Cholesky factor."""
    return s.drawn <= min(_DENSE_PAIRS, 1.5 * s.d**2)


def _itml_bytes(s: Size) -> float:
    """Copies of the rows for the bounds, then those of the differences in a Newton step."""
    equations = 16.0 * s.drawn**2 if _factorises(s) else 0.0
    return max(24.0 * s.n * s.d, 48.0 * s.drawn * s.d + equations)


def _itml(s: Size) -> float:
    """Newton steps, whose equations are solved by a Cholesky factor or conjugate gradients."""
    m, pairs = s.drawn, s.drawn * s.d**2
    equations = 0.2 * m**3 + 1.5 * m**2 * s.d if _factorises(s) else 115 * pairs
    return s.iterations(10) * (20 * pairs + equations)


def _dissimilar_bytes(s: Size) -> float:
    """Copies of the rows, then two of the differences of the dissimilar half of the pairs."""
    return max(24.0 * s.n * s.d, 8.0 * s.drawn * s.d)


_closed_form = functools.partial(Cost, copies=0.0, uncertainty=MEASURED_UNCERTAINTY)
_measured = functools.partial(Cost, factor=1, uncertainty=MEASURED_UNCERTAINTY)

COSTS: Mapping[str, Cost] = MappingProxyType(
    {
        "Euclidean": Cost(lambda s: s.d**2, 1, fixed=0.005),
        "Whitening": _closed_form(_covariance, 1, lambda s: _closed_form_bytes(s, 1), fixed=0.0016),
        "RCA": _closed_form(_covariance, 1.3, lambda s: _closed_form_bytes(s, 2), fixed=0.0014),
        "FDA": _closed_form(_covariance, 1.5, lambda s: _closed_form_bytes(s, 1), fixed=0.0024),
        "LMNN": _measured(_lmnn, n_bytes=_lmnn_bytes, copies=0.0, kernel_pca=True),
        "MultiMetricLMNN": _measured(
            lambda s: (
                4 * s.search + s.iterations(300) * (5000 * s.n * s.d + 105 * max(1, s.c) * s.d**3)
            ),
            n_bytes=_lmnn_bytes,
            copies=0.0,
        ),
        "NCA": Cost(
            _nca,
            1,
            lambda s: _softmax_bytes(s) + lbfgs_bytes(s.n_components, s.d),
            fixed=0.005,
            copies=0.0,
        ),
        "MCML": Cost(
            lambda s: s.iterations(40) * (s.n**2 * s.d + s.d**3), 10, _softmax_bytes, copies=0.0
        ),
        "ITML": Cost(_itml, 1, _itml_bytes, copies=0.0),
        "MMC": _measured(
            lambda s: s.iterations(30) * (140 * s.drawn * s.d + 1160 * s.eigenvalues),
            n_bytes=_dissimilar_bytes,
            copies=0.0,
        ),
        "DMLEig": _measured(
            lambda s: s.iterations(80) * (120 * s.drawn * s.d + 3000 * s.eigenvalues),
            n_bytes=_dissimilar_bytes,
            copies=0.0,
        ),
        "DoubletSVM": Cost(
            lambda s: 12 * s.search + 11_000 * s.linked * s.d + 15_000 * s.eigenvalues,
            1,
            _pair_bytes,
            kernel_pca=True,
        ),
        "TripletSVM": _measured(
            lambda s: 2 * s.search + s.linked * (900_000 + 65 * s.d**2),
            n_bytes=_pair_bytes,
            kernel_pca=True,
        ),
        "PCML": _measured(_pcml, n_bytes=_pcml_bytes, copies=0.0),
        "NCML": Cost(
            lambda s: 126 * s.search + s.iterations(200) * 640 * s.linked * s.d,
            1,
            lambda s: max(_farthest_bytes(s), _pair_bytes(s)),
            kernel_pca=True,
        ),
        "LDML": Cost(
            _ldml,
            1,
            _ldml_bytes,
            fixed=0.005,
            copies=0.0,
            uncertainty=MEASURED_UNCERTAINTY,
            optional=_ldml_step,
        ),
        "ComposedMetric": Cost(
            lambda s: (
                20 * s.search + s.iterations(12) * (3700 * s.linked * s.d + 9700 * s.eigenvalues)
            ),
            1,
            _pair_bytes,
        ),
        "PAMetric": _measured(_pa_metric, n_bytes=_online_bytes, fixed=0.005, copies=0.0),
        "POLA": Cost(
            lambda s: s.iterations(10) * (700_000 * s.drawn_online + 122_000 * s.eigenvalues),
            1,
            _online_bytes,
            copies=0.0,
        ),
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
        "AROW": Cost(_second_order, 25, _covariance_bytes, fixed=0.004),
        "PAM": Cost(_second_order, 20, _covariance_bytes, fixed=0.004),
        "CW": Cost(_second_order, 25, _covariance_bytes, fixed=0.004),
        "SecondOrderPerceptron": Cost(_second_order, 15, _covariance_bytes, fixed=0.004),
        "PA": Cost(_first_order, 60, fixed=0.004),
        "PAUM": Cost(_first_order, 60, fixed=0.004),
        "Perceptron": Cost(_first_order, 60, fixed=0.004),
    }
)
