"""Errors of LMNN and its relatives on the data of its paper's Table 1."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark

VOTES, PASSES, ENERGY = "LMNN, 3-NN", "LMNN of 3 passes, 3-NN", "LMNN, energy"
METRICS = "LMNN, one metric per class, 3-NN"


class LMNNErrors(Benchmark):
    measures = ("error",)
    averaged = ("error",)
    facts = ("error_se", "final_s", "warm_s", "peak_mb")
    warm_below_s = 0
    rivals = {
        OURS: Rival("with_likewise:lmnn_energy_chosen"),
        ENERGY: Rival("with_likewise:lmnn_energy", ours=True),
        VOTES: Rival("with_likewise:lmnn_votes", ours=True),
        PASSES: Rival("with_likewise:lmnn_votes", options={"n_passes": 3}, ours=True),
        METRICS: Rival("with_likewise:multi_metric_votes", ours=True),
        "Euclidean, 3-NN": Rival("with_likewise:euclidean_votes"),
    }

    def split(self, n_rows, seed):
        """Return the training rows and the test rows."""
        order = np.random.default_rng(seed).permutation(n_rows)
        return np.split(order, [7 * n_rows // 10])

    def held(self, n_rows):
        """Return which of the training rows are held out to choose settings."""
        return np.arange(n_rows) >= 4 * n_rows // 5

    def prepare(self, X, y, seed):
        train, test = self.split(len(X), seed)
        _, y = np.unique(y, return_inverse=True)
        arrays = {"X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test]}
        return {**arrays, "held": self.held(len(train))}

    def score(self, result, arrays, reference):
        labels, y_test = result["labels"], arrays["y_test"]
        if labels.shape != y_test.shape:
            raise WrongAnswerError("the number of labels is not that of the test rows")
        error = float(np.mean(labels != y_test))
        standard_error = (error * (1 - error) / len(y_test)) ** 0.5
        final = {"final_s": float(result["final_s"])} if "final_s" in result else {}
        return {"error": error, "error_se": standard_error, **final}

    def rates(self, measured, arrays):
        return {"final_s": measured.get("final_s", measured["warm_s"])}


@benchmark("lmnn-errors-letter", datasets=["letter"], seeds=range(5), repeats=1, budget_s=300)
class LMNNErrorsOnLetter(LMNNErrors):
    """Errors on 30 % of letter, means over 5 splits; Table 1 of LMNN's paper has means over 10.

    Ours is the energy rule with settings chosen on a fifth of the training rows: 1 or 3 passes,
    targets by Euclidean or learned distances, with or without the rows inside the point's own
    margin. All others have their default settings, k = 3, but the metrics per class use early
    stopping on a fifth of the training rows. `final s` is the time to fit and predict with the
    chosen settings. The paper's errors: 4.68 % Euclidean, 3.60 % LMNN,
    2.80 % several passes, 3.06 % several metrics, 2.67 % energy.
    """

    targets = (
        Target("*", "error", below=0.0280),
        Target("*", "error", below=0.0360, row=VOTES),
        Target("*", "final_s", below=10),
    )


@benchmark("lmnn-errors-isolet", datasets=["isolet-172"], repeats=1, budget_s=600)
class LMNNErrorsOnIsolet(LMNNErrors):
    """Errors on isolet's test part, the fifth group of speakers.

    As in `lmnn-errors-letter`, but the held-out rows are those of the fourth group, since rows of
    one speaker are dependent. The paper's errors: 8.60 % Euclidean, 4.36 % LMNN, 4.30 % several
    passes, 4.04 % several metrics, 3.40 % energy.
    """

    targets = (
        Target("*", "error", below=0.0350),
        Target("*", "error", below=0.0440, row=VOTES),
        Target("*", "error", below=0.0410, row=METRICS),
    )

    def split(self, n_rows, seed):
        return np.split(np.arange(n_rows), [n_rows - n_rows // 5])

    def held(self, n_rows):
        return np.arange(n_rows) >= 3 * n_rows // 4
