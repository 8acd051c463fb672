"""Time and memory of error rates of a million pairs with bounds for pairs that share items."""

from __future__ import annotations

import numpy as np
import scipy.stats

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS

N_ITEMS, N_PAIRS, N_SMOKE_PAIRS = 20_000, 1_000_000, 20_000
ITEM_SHARE, SAME_SHARE = 0.2, 0.3


@benchmark("pair-rates", datasets=["scored-million"], repeats=5, threads=1, budget_s=120)
class PairRates(Benchmark):
    """A million scored pairs of 20,000 items, of which 30 % are same.

    Ours: the whole curve with a band, a threshold for a false match rate of 0.1 % and its interval.
    The row *bootstrap* has the rates at one threshold, with bounds from 1000 replicates. `bound`
    is the upper bound of the false match rate over the true one.
    """

    rivals = {
        OURS: Rival("with_likewise_pairs:scored_pairs"),
        "bootstrap": Rival(
            "with_likewise_pairs:scored_pairs", options={"bootstrap": True}, ours=True
        ),
    }
    facts = ("bound", "cpu_s", "peak_mb")
    targets = (
        Target("*", "warm_s", below=2),
        Target("*", "added_mb", below=500),
        Target("*", "warm_s", below=20, row="bootstrap"),
    )

    def prepare(self, X, y, seed):
        rng = np.random.default_rng(seed)
        n_pairs = N_SMOKE_PAIRS if len(X) == SMOKE_ROWS else N_PAIRS
        first = rng.integers(0, N_ITEMS, n_pairs)
        items = np.column_stack([first, (first + rng.integers(1, N_ITEMS, n_pairs)) % N_ITEMS])
        same = rng.random(n_pairs) < SAME_SHARE
        effects = rng.normal(size=N_ITEMS)[items].sum(axis=1)
        noise = rng.normal(size=n_pairs)
        scores = np.sqrt(ITEM_SHARE / 2) * effects + np.sqrt(1 - ITEM_SHARE) * noise
        cut = scipy.stats.norm.ppf(0.001)
        return {
            "distances": scores - 2 * same,
            "same": same,
            "items": items,
            "cut": np.asarray(cut),
        }

    def score(self, result, arrays, reference):
        fmr, upper = float(result["fmr"][0]), float(result["upper"][0])
        if not 0 <= fmr <= upper <= 1:
            raise WrongAnswerError("the bound must be above the rate, and both must be shares")
        return {"bound": upper / 0.001}
