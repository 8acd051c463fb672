"""MCML and MMC: convex problems, which everybody should solve to the same value."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark


@benchmark("mcml", datasets=["iris", "standard-wine"], repeats=3, budget_s=120)
class MCML(Benchmark):
    """Fit MCML to its minimum (ours to optimality 1e-4; pyDML with its own settings).

    `divergence` is the objective: the sum over rows of the divergence from uniform on their class.
    """

    rivals = {
        OURS: Rival("with_likewise:mcml"),
        "pyDML MCML": Rival("with_pydml:mcml", "pydml"),
    }
    measures = ("warm_s", "cold_s", "peak_mb", "divergence")
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
    """Different pairs as far apart as alike pairs allow."""

    facts = ("cpu_s", "baseline_mb", "missing")
    targets = (
        *(Target(name, "warm_s", times=5) for name in ("iris", "standard-wine", "standard-digits")),
        Target("*", "missing", below=1e-4),  # else it would not be the same problem
    )
    diagonal = False

    def prepare(self, X, y, seed):
        from likewise.constraints import random_pairs

        X = X[:, X.std(axis=0) > 0]
        pairs, same = random_pairs(y, min(4000, len(X) ** 2 // 8), random_state=seed)
        told = (X[pairs[:, 0]] != X[pairs[:, 1]]).any(axis=1)
        return {"X": X, "pairs": pairs[told], "same": same[told]}

    def reference(self, arrays):
        """Return the objective at the optimum, up to 1e-7 of it, from our certificate."""
        import likewise

        model = likewise.MMC(diagonal=self.diagonal, shrinkage=0.0, tol=1e-7, max_iter=20_000)
        model.fit_pairs(arrays["X"], arrays["pairs"], arrays["same"])
        return model.objective_

    def score(self, result, arrays, reference):
        V = arrays["X"][arrays["pairs"][:, 0]] - arrays["X"][arrays["pairs"][:, 1]]
        squares = np.maximum(np.einsum("nd,de,ne->n", V, result["M"], V), 0)
        alike = squares[arrays["same"]].sum()
        if not np.isfinite(alike) or alike <= 0:
            raise WrongAnswerError("M keeps no alike pair apart, so that it has no scale")
        reached = np.sqrt(squares[~arrays["same"]] / alike).sum()  # scaled to the bound
        return {"missing": float(1 - reached / reference)}


@benchmark(
    "mmc-full", datasets=["iris", "standard-wine", "standard-digits"], repeats=3, budget_s=120
)
class FullMMC(MMC):
    """MMC with a full matrix, from 4000 pairs (fewer where there are not so many).

    `missing` is the share of the certified optimum that is not reached, M scaled to the bound.
    """

    rivals = {
        OURS: Rival("with_likewise:mmc"),
        "metric-learn MMC": Rival("with_metric_learn:mmc_pairs", "metric-learn"),
    }


@benchmark(
    "mmc-diagonal", datasets=["iris", "standard-wine", "standard-digits"], repeats=3, budget_s=120
)
class DiagonalMMC(MMC):
    """MMC with one weight a feature, from the same pairs.

    `missing` is the share of the certified optimum that is not reached, M scaled to the bound.
    """

    rivals = {
        OURS: Rival("with_likewise:mmc", options={"diagonal": True}),
        "metric-learn MMC": Rival(
            "with_metric_learn:mmc_pairs", "metric-learn", options={"diagonal": True}
        ),
    }
    diagonal = True
