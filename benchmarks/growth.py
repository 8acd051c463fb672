"""How fits grow with rows, features and pairs, for the page *How large is too large*.

``python tools/draw_growth.py`` draws the stored results.
"""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS
from benchmarks.growth_data import (
    N_FEATURES,
    N_PAIRS,
    ROWS,
    features_name,
    pairs_name,
    rows_name,
)
from likewise.constraints import random_pairs

ON_CLUSTER = "likewise, two workers"


def fits(name: str) -> Rival:
    return Rival("with_likewise_growth:fit", options={"name": name}, ours=True)


def fits_on_dask(name: str) -> Rival:
    return Rival("with_likewise_growth:fit_on_dask", options={"name": name}, ours=True)


def fits_pairs(name: str) -> Rival:
    return Rival("with_likewise_growth:fit_pairs", options={"name": name}, ours=True)


class GrowthOfFits(Benchmark):
    """Fits at the defaults; `fit_s` is the time of a fit alone, without the start of workers."""

    measures = ("fit_s",)
    facts = ("rows", "features", "pairs", "added_mb")
    warm_below_s = 0.0  # rivals repeat short fits

    def prepare(self, X, y, seed):
        return {"X": X, "y": y}

    def score(self, result, arrays, reference):
        if not np.isfinite(result["L"]).all():
            raise WrongAnswerError("L is not finite")
        n, d = arrays["X"].shape
        m = len(arrays["pairs"]) if "pairs" in arrays else 0
        return {"fit_s": float(result["fit_s"]), "rows": n, "features": d, "pairs": m}


@benchmark("growth-rows-rca", datasets=[*map(rows_name, ROWS)], repeats=1)
class RCAOverRows(GrowthOfFits):
    """RCA of images of MNIST on 50 principal axes, by the number of rows, in single precision.

    Two workers of one thread hold the rows. `fit_s` is the time of a fit alone.
    """

    rivals = {OURS: fits("RCA"), ON_CLUSTER: fits_on_dask("RCA")}


@benchmark("growth-rows-lmnn", datasets=[*map(rows_name, ROWS[:5])], repeats=1, budget_s=300)
class LMNNOverRows(GrowthOfFits):
    """LMNN, by the number of rows, as in `growth-rows-rca`."""

    rivals = {OURS: fits("LMNN"), ON_CLUSTER: fits_on_dask("LMNN")}


@benchmark("growth-rows-nca", datasets=[*map(rows_name, ROWS[:5])], repeats=1, budget_s=300)
class NCAOverRows(GrowthOfFits):
    """NCA, by the number of rows, as in `growth-rows-rca`, in one process."""

    rivals = {OURS: fits("NCA")}


@benchmark("growth-features", datasets=[*map(features_name, N_FEATURES)], repeats=1)
class FitsOverFeatures(GrowthOfFits):
    """Fits to 2000 images of MNIST on some of their principal axes, by the number of axes.

    The row `likewise` is LMNN. ITML draws 1800 pairs from the labels.
    """

    rivals = {OURS: fits("LMNN")} | {
        f"likewise, {name}": fits(name) for name in ("NCA", "PCML", "ITML", "RCA")
    }


@benchmark("growth-pairs", datasets=[*map(pairs_name, N_PAIRS)], repeats=1)
class FitsOverPairs(GrowthOfFits):
    """Fits to random pairs of 20,000 images of MNIST on 50 principal axes, half of them similar.

    By the number of pairs. The row `likewise` is ITML.
    """

    rivals = {OURS: fits_pairs("ITML")} | {
        f"likewise, {name}": fits_pairs(name) for name in ("PCML", "LDML", "MMC", "PAMetric")
    }

    def prepare(self, X, y, seed):
        if len(X) == SMOKE_ROWS:
            pairs, same = random_pairs(y, 2 * SMOKE_ROWS, random_state=seed)
        else:
            pairs, same = y[:, :2], y[:, 2].astype(bool)
        return {"X": X, "pairs": pairs, "same": same}
