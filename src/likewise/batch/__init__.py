"""Metrics learned from a whole data set at once: one class per file."""

from typing import TYPE_CHECKING

from likewise._runtime.lazy import lazy_package

if TYPE_CHECKING:
    from likewise.batch.composed_metric import ComposedMetric
    from likewise.batch.doublet_svm import DoubletSVM
    from likewise.batch.euclidean import Euclidean
    from likewise.batch.fda import FDA
    from likewise.batch.itml import ITML
    from likewise.batch.ldml import LDML
    from likewise.batch.lmnn import LMNN, MultiMetricLMNN
    from likewise.batch.mcml import MCML
    from likewise.batch.nca import NCA
    from likewise.batch.ncml import NCML
    from likewise.batch.pcml import PCML
    from likewise.batch.plml import PLML
    from likewise.batch.rca import RCA
    from likewise.batch.similar_scatter import MMC, DMLEig
    from likewise.batch.triplet_svm import TripletSVM
    from likewise.batch.whitening import Whitening
else:
    __getattr__, __dir__ = lazy_package(
        __name__,
        {
            "composed_metric": ["ComposedMetric"],
            "doublet_svm": ["DoubletSVM"],
            "euclidean": ["Euclidean"],
            "fda": ["FDA"],
            "itml": ["ITML"],
            "ldml": ["LDML"],
            "lmnn": ["LMNN", "MultiMetricLMNN"],
            "mcml": ["MCML"],
            "nca": ["NCA"],
            "ncml": ["NCML"],
            "pcml": ["PCML"],
            "plml": ["PLML"],
            "rca": ["RCA"],
            "similar_scatter": ["MMC", "DMLEig"],
            "triplet_svm": ["TripletSVM"],
            "whitening": ["Whitening"],
        },
    )

__all__ = [
    "FDA",
    "ITML",
    "LDML",
    "LMNN",
    "MCML",
    "MMC",
    "NCA",
    "NCML",
    "PCML",
    "PLML",
    "RCA",
    "ComposedMetric",
    "DMLEig",
    "DoubletSVM",
    "Euclidean",
    "MultiMetricLMNN",
    "TripletSVM",
    "Whitening",
]
