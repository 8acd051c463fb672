"""Information-theoretic metric learning: the same sweeps over the same pairs."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark

N_PAIRS = 2000
SWEEPS = 50


@benchmark(
    "itml",
    datasets=["standard-digits", "standard-letter-5000", "mnist-pca-164"],
    smoke=["standard-wine"],
    repeats=3,
    budget_s=120,
)
class ITML(Benchmark):
    """50 sweeps of cyclic Bregman projections over 2000 pairs with the same bounds and order.

    `difference` is the largest deviation of M from a NumPy loop of the formula, relative to M's
    largest entry; more than 1e-6 is a wrong answer.
    """

    rivals = {
        OURS: Rival("with_likewise:itml"),
        "metric-learn ITML": Rival("with_metric_learn:itml_pairs", "metric-learn"),
    }
    facts = ("cpu_s", "peak_mb", "pairs_per_s", "difference")
    targets = tuple(
        Target(dataset, "warm_s", times=20)
        for dataset in ("standard-digits", "standard-letter-5000", "mnist-pca-164")
    )

    def prepare(self, X, y, seed):
        from likewise.constraints import random_pairs

        pairs, same = random_pairs(y, N_PAIRS, random_state=seed)
        distance = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
        distinct = distance > 0
        return {
            "X": X,
            "pairs": pairs[distinct],
            "same": same[distinct],
            "bounds": np.percentile(distance[distinct], [5, 95]),
            "sweeps": np.asarray(SWEEPS),
        }

    def reference(self, arrays):
        """Return M after the same sweeps of a plain NumPy loop."""
        pairs, same = arrays["pairs"], arrays["same"]
        order = np.concatenate([np.flatnonzero(same), np.flatnonzero(~same)])
        V = arrays["X"][pairs[order, 0]] - arrays["X"][pairs[order, 1]]
        sign = np.where(same[order], 1.0, -1.0)
        slack = np.square(arrays["bounds"])[(sign < 0).astype(int)]
        dual = np.zeros(len(V))
        M = np.eye(V.shape[1])
        for _ in range(int(arrays["sweeps"])):
            for k, v in enumerate(V):
                w = M @ v
                alpha = min(dual[k], sign[k] * 0.5 * (1 / (v @ w) - 1 / slack[k]))
                dual[k] -= alpha
                slack[k] = 1 / (1 / slack[k] + sign[k] * alpha)
                M += sign[k] * alpha / (1 - sign[k] * alpha * (v @ w)) * np.outer(w, w)
        return M

    def score(self, result, arrays, reference):
        difference = float(np.abs(result["M"] - reference).max() / np.abs(reference).max())
        if not difference < 1e-6:
            raise WrongAnswerError(f"M differs by {difference:.1e} from the reference loop")
        return {"difference": difference}

    def rates(self, measured, arrays):
        return {"pairs_per_s": len(arrays["pairs"]) * SWEEPS / measured["warm_s"]}
