"""Online classifiers on streams of labelled rows, against peers and a plain NumPy loop."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.rivals import with_numpy


class LabelledStream(Benchmark):
    """One pass of an online learner over a stream of rows of two classes."""

    learner = "PA"
    options: dict[str, float] = {"C": 1.0}
    covariance = "none"
    batch = 20_000
    facts = ("cpu_s", "peak_mb", "rows_per_s", "active_share")

    def prepare(self, X, y, seed):
        order = np.random.default_rng(seed).permutation(len(X))
        return {
            "X": np.ascontiguousarray(X[order], dtype=np.float64),
            "y": np.where(y[order] % 2 == 1, 1.0, -1.0),
            "learner": np.asarray(self.learner),
            "covariance": np.asarray(self.covariance),
            "batch": np.asarray(self.batch),
        } | {name: np.asarray(value) for name, value in self.options.items()}

    def reference(self, arrays):
        return with_numpy.labelled_stream(threads=1)(arrays)

    def score(self, result, arrays, reference):
        w = reference["w"]
        error = np.abs(result["w"] - w).max() / np.abs(w).max()
        if not error < 1e-8:
            raise WrongAnswerError(f"w differs by {error:.1e} from the reference loop")
        return {"active_share": float(reference["n_updates"]) / len(arrays["y"])}

    def rates(self, measured, arrays):
        return {"rows_per_s": len(arrays["y"]) / measured["warm_s"]}


@benchmark("classify-pa", datasets=["classes-60"], threads=1)
class PassiveAggressive(LabelledStream):
    """PA-I in batches of 20000 rows."""

    rivals = {
        OURS: Rival("with_likewise:labelled_stream"),
        "scikit-learn, SGD pa1": Rival("with_sklearn:passive_aggressive"),
        "NumPy, one by one": Rival("with_numpy:labelled_stream"),
    }
    targets = (Target("classes-60", "warm_s", times=3),)


@benchmark("classify-pa-river", datasets=["classes-60"], threads=1, repeats=3)
class PassiveAggressiveInBatches(LabelledStream):
    """PA-I: ours in batches, river one row at a time.

    The dicts that river takes are built before its warm call.
    """

    rivals = {
        OURS: Rival("with_likewise:labelled_stream"),
        "river": Rival("with_river:passive_aggressive", "river"),
    }
    targets = (Target("classes-60", "warm_s", times=100),)


@benchmark("classify-one-by-one", datasets=["classes-60"], threads=1)
class OneByOne(LabelledStream):
    """PA-I, one row at a time: `learn_one`."""

    rivals = {
        OURS: Rival("with_likewise:labelled_stream", options={"one_by_one": True}),
        "NumPy, one by one": Rival("with_numpy:labelled_stream"),
    }
    targets = (Target("classes-60", "warm_s", times=1),)


@benchmark("classify-one-by-one-river", datasets=["classes-60"], threads=1, repeats=3)
class OneByOneRiver(LabelledStream):
    """PA-I, one row at a time, for both."""

    rivals = {
        OURS: Rival("with_likewise:labelled_stream", options={"one_by_one": True}),
        "river": Rival("with_river:passive_aggressive", "river"),
    }
    targets = (Target("classes-60", "warm_s", times=5),)


FULL = {
    OURS: Rival("with_likewise:labelled_stream"),
    "NumPy, one by one": Rival("with_numpy:labelled_stream"),
}
FULL_TARGETS = (
    Target("classes-60", "warm_s", times=7),
    Target("mnist-784", "warm_s", times=25),
)


@benchmark("classify-pam", datasets=["classes-60", "mnist-784"], threads=1, repeats=3)
class FullPAM(LabelledStream):
    """PAM-I with a full covariance, in batches."""

    learner, options, covariance = "PAM", {"C": 1.0}, "full"
    rivals, targets = FULL, FULL_TARGETS


@benchmark("classify-arow", datasets=["classes-60", "mnist-784"], threads=1, repeats=3)
class FullAROW(LabelledStream):
    """AROW with a full covariance, in batches."""

    learner, options, covariance = "AROW", {"r": 1.0}, "full"
    rivals, targets = FULL, FULL_TARGETS


@benchmark("classify-cw", datasets=["classes-60", "mnist-784"], threads=1, repeats=3)
class FullCW(LabelledStream):
    """CW with a full covariance, in batches."""

    learner, options, covariance = "CW", {"eta": 0.9}, "full"
    rivals, targets = FULL, FULL_TARGETS


@benchmark("classify-words", datasets=["20news-words"], threads=1, repeats=3)
class Words(LabelledStream):
    """AROW with a diagonal covariance on sparse rows: 20 newsgroups in two classes."""

    learner, options, covariance = "AROW", {"r": 1.0}, "diagonal"
    rivals = FULL
    targets = (Target("20news-words", "warm_s", times=20),)

    def prepare(self, X, y, seed):
        import scipy.sparse as sp

        arrays = dict(super().prepare(X, y, seed))
        rows = sp.csr_matrix(arrays.pop("X"))
        return arrays | {
            "values": rows.data,
            "features": rows.indices,
            "starts": rows.indptr,
            "width": np.asarray(rows.shape[1]),
        }
