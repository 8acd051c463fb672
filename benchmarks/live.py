"""Judgements one at a time: whether the choice of pairs pays, and what a service can take."""

from __future__ import annotations

import numpy as np

from benchmarks.base import OURS, Benchmark, Rival, Target, WrongAnswerError, benchmark
from benchmarks.data import SMOKE_ROWS

N_SEEDS = 20
STEP = 25  # judgements between two points of a curve
# Items to be judged, others to measure on, and judgements.
SIZES = {4096: (200, 200, 500), 384: (2000, 600, 500)}
SHOWN = range(0, 501, 100)
CHOICE_DATA = ("judged-faces", "judged-texts")


@benchmark(
    "live-choice",
    datasets=[name + wrong for name in CHOICE_DATA for wrong in ("", "-5-wrong")],
    repeats=1,
    threads=1,
    budget_s=3600,
)
class ActiveChoice(Benchmark):
    """Pairs near the threshold against random pairs: faces (pixels) and texts (embeddings).

    A simulated annotator judges pairs of one part of the items by their classes, in 20 draws;
    ``-5-wrong``: 5 % of the answers are wrong. The curves are FNMR at FMR 1 % on other items.
    `ratio`: the number of active judgements after which FNMR is for the first time what all
    random ones reach (measured every 25), as a share of them; `ratio_high` is the upper limit of
    the 95 % interval of the mean over draws. `active_N` and `random_N` are mean FNMR after N
    judgements.
    """

    rivals = {OURS: Rival("with_likewise_live:chosen_pairs")}
    measures = ("ratio", "ratio_high")
    averaged = ("ratio", "ratio_high")
    facts = (*(f"{choice}_{n}" for choice in ("active", "random") for n in SHOWN), "warm_s")
    targets = tuple(Target(name, "ratio", below=0.6) for name in CHOICE_DATA)
    warm_below_s = 0

    def prepare(self, X, y, seed):
        smoke = len(X) == SMOKE_ROWS
        wrong = 0.0 if smoke else y[0, 1] / 100
        labels = y if smoke else y[:, 0]
        n_judged, n_unseen, n_judgements = (20, 20, 50) if smoke else SIZES[X.shape[1]]
        order = [np.random.default_rng([seed, draw]).permutation(len(X)) for draw in range(N_SEEDS)]
        order = np.array(order[: 1 if smoke else N_SEEDS])
        if X.shape[1] == 4096:
            X = X - X.mean(axis=0)
            X = X @ np.linalg.svd(X, full_matrices=False)[2][:100].T
        return {
            "X": X,
            "y": labels,
            "judged": order[:, :n_judged],
            "unseen": order[:, n_judged : n_judged + n_unseen],
            "n_judgements": np.asarray(n_judgements),
            "step": np.asarray(STEP),
            "wrong_share": np.asarray(wrong),
        }

    def score(self, result, arrays, reference):
        active, random = result["active"], result["random"]
        shape = len(arrays["judged"]), int(arrays["n_judgements"]) // STEP + 1
        if active.shape != shape or random.shape != shape:
            raise WrongAnswerError("there must be a curve for each draw")
        reached = active <= random[:, -1:]
        first = np.where(reached.any(axis=1), reached.argmax(axis=1), shape[1] - 1)
        ratios = first * STEP / float(arrays["n_judgements"])
        draws = np.random.default_rng(0).choice(ratios, (10_000, len(ratios))).mean(axis=1)
        found = {
            f"{choice}_{n}": float(curves[:, min(n // STEP, shape[1] - 1)].mean())
            for choice, curves in (("active", active), ("random", random))
            for n in SHOWN
        }
        return {
            "ratio": float(ratios.mean()),
            "ratio_high": float(np.quantile(draws, 0.975)),
            **found,
        }


@benchmark("live-load", datasets=["gaussians-128"], repeats=3, threads=2, budget_s=180)
class LiveLoad(Benchmark):
    """20 clients send 500 judgements a second to ``likewise serve``, for 60 seconds.

    One process, SQLite, every answer after a sync of the disk; clients and service share two cores.
    `p99_ms`: the 99 % quantile of the time to an answer. `unanswered`: the share of the 30,000
    judgements that were not sent in time since answers were late. `lost`: acknowledged, but not in
    the log.
    """

    rivals = {OURS: Rival("with_likewise_live:service", options={"n_clients": 20})}
    measures = ("p99_ms", "unanswered", "lost")
    facts = ("median_ms", "answered_per_s")
    targets = (
        Target("gaussians-128", "p99_ms", below=100),
        Target("gaussians-128", "unanswered", below=0.01),
        Target("gaussians-128", "lost", below=0.5),
    )
    warm_below_s = 0

    def prepare(self, X, y, seed):
        smoke = len(X) == SMOKE_ROWS
        rate, duration = (60, 1) if smoke else (500, 60)
        return {"X": X, "y": y, "rate": np.asarray(rate), "duration": np.asarray(duration)}

    def score(self, result, arrays, reference):
        taken, sent = result["taken"], float(arrays["rate"] * arrays["duration"])
        return {
            "p99_ms": 1000 * float(np.quantile(taken, 0.99)),
            "median_ms": 1000 * float(np.median(taken)),
            "unanswered": max(0.0, 1 - len(taken) / sent),
            "answered_per_s": len(taken) / float(result["elapsed"]),
            "lost": float(len(taken) - int(result["n_stored"])),
        }
