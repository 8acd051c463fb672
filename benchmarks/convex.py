"""MCML and MMC: convex problems, so that all packages should reach the same objective."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark


@benchmark("mcml", datasets=["iris", "standard-wine"], repeats=3, budget_s=120)
class MCML(Benchmark):
    """Fit MCML to its minimum (ours to an optimality of 1e-4; pyDML with its own settings).

    `divergence` is the objective: the sum over rows of the Kullback-Leibler divergence from the
    uniform distribution on their class.
    """

    rivals = {
        OURS: Rival("with_likewise:mcml"),
        "pyDML MCML": Rival("with_pydml:mcml", "pydml"),
    }
    measures = ("warm_s", "cold_s", "added_mb", "divergence")
    targets = (
        *(Target(name, "warm_s", times=5) for name in ("iris", "standard-wine")),
        Target("*", "divergence", times=1),
    )

    def prepare(self, X, y, seed):
        return {"X": X, "y": np.unique(y, return_inverse=True)[1], "tol": np.asarray(1e-4)}

    def score(self, result, arrays, reference):
        L, X, y = result["L"], arrays["X"], arrays["y"]
        if not np.isfinite(L).all():
            raise WrongAnswerError("L is not finite")
        Z = X @ L.T
        D = np.square(Z[:, None] - Z).sum(axis=2)
        np.fill_diagonal(D, np.inf)
        least = D.min(axis=1)
        spread = np.log(np.exp(least[:, None] - D).sum(axis=1)) - least
        np.fill_diagonal(D, 0.0)
        own = (y[:, None] == y).sum(axis=1) - 1
        near = (D * (y[:, None] == y)).sum(axis=1) / own
        return {"divergence": float((near + spread - np.log(own)).sum())}


class MMC(Benchmark):
    """MMC: maximise the distances of different pairs under a bound on those of same pairs."""

    facts = ("cpu_s", "peak_mb", "missing")
    targets = (
        *(Target(name, "warm_s", times=5) for name in ("iris", "standard-wine", "standard-digits")),
        Target("*", "missing", below=1e-4),  # else the times are not comparable
    )
    diagonal = False

    def prepare(self, X, y, seed):
        from likewise.constraints import random_pairs

        X = X[:, X.std(axis=0) > 0]
        pairs, same = random_pairs(y, min(4000, len(X) ** 2 // 8), random_state=seed)
        distinct = (X[pairs[:, 0]] != X[pairs[:, 1]]).any(axis=1)
        return {"X": X, "pairs": pairs[distinct], "same": same[distinct]}

    def reference(self, arrays):
        """Return the optimal objective, certified to a relative gap of 1e-7."""
        import likewise

        model = likewise.MMC(diagonal=self.diagonal, shrinkage=0.0, tol=1e-7, max_iter=20_000)
        model.fit_pairs(arrays["X"], arrays["pairs"], arrays["same"])
        return model.objective_

    def score(self, result, arrays, reference):
        V = arrays["X"][arrays["pairs"][:, 0]] - arrays["X"][arrays["pairs"][:, 1]]
        sqdist = np.maximum(np.einsum("nd,de,ne->n", V, result["M"], V), 0)
        same_sum = sqdist[arrays["same"]].sum()
        if not np.isfinite(same_sum) or same_sum <= 0:
            raise WrongAnswerError("all distances of same pairs are 0, so that M has no scale")
        reached = np.sqrt(sqdist[~arrays["same"]] / same_sum).sum()  # scaled to the bound
        return {"missing": float(1 - reached / reference)}


@benchmark(
    "mmc-full", datasets=["iris", "standard-wine", "standard-digits"], repeats=3, budget_s=120
)
class FullMMC(MMC):
    """MMC with a full matrix, from 4000 pairs (fewer on small data).

    `missing` is the relative distance to the certified optimum, with M scaled to the bound.
    """

    rivals = {
        OURS: Rival("with_likewise:mmc"),
        "metric-learn MMC": Rival("with_metric_learn:mmc_pairs", "metric-learn"),
    }


@benchmark(
    "mmc-diagonal", datasets=["iris", "standard-wine", "standard-digits"], repeats=3, budget_s=120
)
class DiagonalMMC(MMC):
    """MMC with one weight per feature, from the same pairs.

    `missing` is the relative distance to the certified optimum, with M scaled to the bound.
    """

    rivals = {
        OURS: Rival("with_likewise:mmc", options={"diagonal": True}),
        "metric-learn MMC": Rival(
            "with_metric_learn:mmc_pairs", "metric-learn", options={"diagonal": True}
        ),
    }
    diagonal = True
