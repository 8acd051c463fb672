"""The registry of methods: one source for the tables of README, documentation and command line.

A new method adds one entry here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from likewise._runtime.parameter_text import parse_parameter
from likewise._runtime.text import quote
from likewise._runtime.validation import Rule

Kind: TypeAlias = Literal[
    "metric", "online metric", "adapter", "classifier", "pair classifier", "online classifier"
]

_STREAM_OF_PAIRS = "pairs or labels, batch or stream"
_STREAM_OF_ROWS = "labels, batch or stream"


@dataclass(frozen=True)
class Method:
    """One public estimator, as the tables describe it.

    Attributes
    ----------
    name : str
        Name of the class.
    kind : {"metric", "online metric", "adapter", "classifier", "pair classifier", \
            "online classifier"}
        What it learns, and how.
    supervision : str
        What it learns from.
    summary : str
        What it optimises, in one line.
    paper : str
        Authors and year.
    compared_with : mapping of str to value, optional
        Parameters in `likewise.evaluation.compare` where they are not the defaults; None if it
        takes part there only if it is named.
    """

    name: str
    kind: Kind
    supervision: str
    summary: str
    paper: str = ""
    compared_with: Mapping[str, Any] | None = None

    @property
    def learner(self) -> type:
        """The class itself, imported on first use."""
        learner: type = getattr(import_module("likewise"), self.name)
        return learner

    @property
    def learns_from_pairs(self) -> bool:
        """Whether it has `fit_pairs`."""
        return "pairs" in self.supervision

    def for_comparison(self, random_state: int = 0) -> Any:
        """Return an unfitted estimator with the parameters and the seed that `compare` uses."""
        estimator = self.learner(**(self.compared_with or {}))
        seeded = "random_state" in estimator.get_params()
        return estimator.set_params(random_state=random_state) if seeded else estimator


_ALL = (
    Method(
        "Euclidean",
        "metric",
        "none",
        "The Euclidean distance: the baseline.",
        compared_with={},
    ),
    Method(
        "Whitening",
        "metric",
        "unlabelled data",
        "The Mahalanobis distance: inverse covariance of the data.",
        "Mahalanobis 1936",
        {},
    ),
    Method(
        "RCA",
        "metric",
        "labels, pairs or chunks",
        "Inverse of the average within-class (within-chunk) covariance.",
        "Bar-Hillel et al. 2005",
        {},
    ),
    Method(
        "FDA",
        "metric",
        "labels",
        "Directions that maximise between-class relative to within-class scatter.",
        "Fisher 1936",
        {},
    ),
    Method(
        "LMNN",
        "metric",
        "labels or triplets",
        "Pulls target neighbours closer and pushes impostors beyond a margin; convex in M.",
        "Weinberger and Saul 2009",
        {},
    ),
    Method(
        "NCA",
        "metric",
        "labels",
        "Maximises the expected leave-one-out accuracy of a soft nearest-neighbour rule.",
        "Goldberger et al. 2005",
        {"regularization": 0.01, "tol": 3e-4},
    ),
    Method(
        "ITML",
        "metric",
        "labels or pairs",
        "Minimises the LogDet divergence to a prior metric under bounds on pair distances.",
        "Davis et al. 2007",
        {},
    ),
    Method(
        "MCML",
        "metric",
        "labels",
        "Collapses each class: minimises a KL divergence of soft neighbours; convex.",
        "Globerson and Roweis 2006",
        {},
    ),
    Method(
        "MMC",
        "metric",
        "labels or pairs",
        "Maximises the sum of distances of dissimilar pairs; similar pairs are bounded.",
        "Xing et al. 2003",
        {},
    ),
    Method(
        "DMLEig",
        "metric",
        "labels or pairs",
        "Maximises the smallest distance of dissimilar pairs, by eigenvalue optimisation.",
        "Ying and Li 2012",
        {},
    ),
    Method(
        "DoubletSVM",
        "metric",
        "labels or pairs",
        "A support vector machine that classifies pairs as similar or dissimilar.",
        "Wang et al. 2015",
        {},
    ),
    Method(
        "TripletSVM",
        "metric",
        "labels or triplets",
        "A support vector machine on triplets: the positive closer by a margin.",
        "Wang et al. 2015",
        {},
    ),
    Method(
        "PCML",
        "metric",
        "labels or pairs",
        "Doublet-SVM with M constrained to be positive semidefinite.",
        "Zuo et al. 2017",
    ),
    Method(
        "NCML",
        "metric",
        "labels or pairs",
        "Doublet-SVM with M a nonnegative combination of outer products; kernelised.",
        "Zuo et al. 2017",
    ),
    Method(
        "LDML",
        "metric",
        "labels or pairs",
        "Logistic regression of pair similarity on the squared distance.",
        "Guillaumin et al. 2009",
    ),
    Method(
        "ComposedMetric",
        "metric",
        "labels, pairs or triplets",
        "Constraints × loss × cone of your choice: the framework of the SVM methods.",
        "Wang et al. 2015",
    ),
    Method(
        "PAMetric",
        "online metric",
        _STREAM_OF_PAIRS,
        "Passive-aggressive updates of M and a threshold, pair by pair.",
        "Pérez-Suay et al. 2013",
        {},
    ),
    Method(
        "POLA",
        "online metric",
        _STREAM_OF_PAIRS,
        "Passive-aggressive updates, each projected onto the PSD cone; kernelised.",
        "Shalev-Shwartz et al. 2004",
        {"relaxation": 10.0, "max_iter": 2},
    ),
    Method(
        "PLML",
        "classifier",
        "labels",
        "Smoothly varying local metrics: combinations of a few basis metrics.",
        "Wang et al. 2012",
    ),
    Method(
        "MultiMetricLMNN",
        "classifier",
        "labels",
        "LMNN with one metric per class or cluster, learned jointly.",
        "Weinberger and Saul 2009",
    ),
    Method(
        "EmbeddingAdapter",
        "adapter",
        "labels, pairs, triplets or lists",
        "Adapts frozen embeddings where that is shown to help, and else keeps them.",
    ),
    Method(
        "EnergyClassifier",
        "classifier",
        "labels",
        "Predicts the label with the lowest LMNN energy.",
        "Weinberger and Saul 2009",
    ),
    Method(
        "MetricKNN",
        "classifier",
        "labels",
        "k nearest neighbours under any metric; ties are broken by reducing k.",
        "Cover and Hart 1967",
    ),
    Method(
        "PairClassifier",
        "pair classifier",
        "labels or pairs",
        "Decides same or different by a threshold on any metric, with a promised error rate.",
        "Korn and Graubard 1998",
    ),
    Method(
        "AROW",
        "online classifier",
        _STREAM_OF_ROWS,
        "Second-order updates, robust to label noise: the first to try.",
        "Crammer et al. 2009",
    ),
    Method(
        "PAM",
        "online classifier",
        _STREAM_OF_ROWS,
        "Passive-aggressive updates under the Mahalanobis metric of the data.",
        "Nguyen et al. 2011",
    ),
    Method(
        "CW",
        "online classifier",
        _STREAM_OF_ROWS,
        "Confidence-weighted: each sample right with a given probability.",
        "Dredze et al. 2008",
    ),
    Method(
        "PA",
        "online classifier",
        _STREAM_OF_ROWS,
        "Passive-aggressive: the smallest change that satisfies the margin.",
        "Crammer et al. 2006",
    ),
    Method(
        "SecondOrderPerceptron",
        "online classifier",
        _STREAM_OF_ROWS,
        "A perceptron on data whitened by earlier mistakes.",
        "Cesa-Bianchi et al. 2005",
    ),
    Method(
        "PAUM",
        "online classifier",
        _STREAM_OF_ROWS,
        "A perceptron with uneven margins, for imbalanced classes.",
        "Li et al. 2002",
    ),
    Method(
        "Perceptron",
        "online classifier",
        _STREAM_OF_ROWS,
        "Adds every misclassified sample to the weights: the baseline.",
        "Rosenblatt 1958",
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _ALL})


def make_learner(name: str, settings: Mapping[str, str] | None = None) -> Any:
    """Return an unfitted learner by its name, with parameters that are given as text.

    Parameters
    ----------
    name : str
        One of `METHODS`, in any case.
    settings : mapping of str to str, optional
        Values are read as what the parameter allows: a number, True or False, None, or a word.

    Returns
    -------
    estimator

    Examples
    --------
    >>> from likewise.methods import make_learner
    >>> make_learner("lmnn", {"n_neighbors": "5", "n_components": "None", "init": "identity"})
    LMNN(init='identity', n_neighbors=5)
    """
    known = {method.casefold(): method for method in METHODS}
    if name.casefold() not in known:
        close = difflib.get_close_matches(name.casefold(), known, n=1, cutoff=0.5)
        hint = f"did you mean {known[close[0]]}? " if close else ""
        raise ValueError(f"there is no method {quote(name)}; {hint}known are {', '.join(METHODS)}.")
    learner = METHODS[known[name.casefold()]].learner()
    allowed = learner.get_params(deep=False)
    if unknown := [key for key in settings or {} if key not in allowed]:
        raise ValueError(
            f"{type(learner).__name__} has no parameter {quote(unknown[0])}; it has "
            f"{', '.join(allowed)}."
        )
    rules: Mapping[str, Rule] = learner._rules
    values = {
        key: parse_parameter(type(learner).__name__, key, text, rules.get(key))
        for key, text in (settings or {}).items()
    }
    return learner.set_params(**values)


def _cosine(random_state: int = 0) -> Any:
    """Return what makes the Euclidean distance that of the cosine: rows of length 1."""
    from sklearn.preprocessing import Normalizer

    return Normalizer()


COMPARABLE: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "Euclidean": METHODS["Euclidean"].for_comparison,
        "cosine": _cosine,
        **{
            method.name: method.for_comparison
            for method in METHODS.values()
            if method.kind not in ("adapter", "pair classifier", "online classifier")
        },
    }
)

COMPARED_METHODS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        name: make
        for name, make in COMPARABLE.items()
        if name not in METHODS or METHODS[name].compared_with is not None
    }
)

COMPARED_ON_PAIRS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        name: make
        for name, make in COMPARABLE.items()
        if name in ("Euclidean", "cosine", "Whitening")
        or (METHODS[name].kind in ("metric", "online metric") and METHODS[name].learns_from_pairs)
    }
)
