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
    ``-5-wrong``: 5 % of the answers are wrong. The curves are FNMR at FMR 1 % on other items,
    measured every 25 judgements. The level to reach is, in each draw, where random choice ends.
    `ratio`: the judgements until active choice is there for the first time, divided by those until
    random choice is, each summed over draws; `ratio_low` and `ratio_high` are the limits of its
    95 % interval (bootstrap over draws). A draw in which the active choice is never there counts
    as all judgements (`unreached`: the share of such draws). `active_N` and `random_N` are mean
    FNMR after N judgements: where random choice hardly learns, `ratio` says little.
    """

    rivals = {OURS: Rival("with_likewise_live:chosen_pairs")}
    measures = ("ratio", "ratio_high")
    averaged = ("ratio", "ratio_low", "ratio_high")
    facts = (
        "ratio_low",
        "unreached",
        *(f"{choice}_{n}" for choice in ("active", "random") for n in SHOWN),
        "warm_s",
    )
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
        level = random[:, -1:]
        until = {"active": _first_at(active, level), "random": _first_at(random, level)}
        draws = np.random.default_rng(0).integers(shape[0], size=(10_000, shape[0]))
        ratios = _ratio(until["active"][draws].sum(axis=1), until["random"][draws].sum(axis=1))
        found = {
            f"{choice}_{n}": float(curves[:, min(n // STEP, shape[1] - 1)].mean())
            for choice, curves in (("active", active), ("random", random))
            for n in SHOWN
        }
        return {
            "ratio": float(_ratio(until["active"].sum(), until["random"].sum())),
            "ratio_low": float(np.quantile(ratios, 0.025)),
            "ratio_high": float(np.quantile(ratios, 0.975)),
            "unreached": float((active > level).all(axis=1).mean()),
            **found,
        }


def _first_at(curves, level):
    """Return the judgements after which each curve is at most at its level for the first time."""
    reached = curves <= level
    last = curves.shape[1] - 1
    return np.where(reached.any(axis=1), reached.argmax(axis=1), last) * STEP


def _ratio(active, random):
    """Return the ratio; where random choice never got better there is nothing to reach: 1."""
    return np.where(random > 0, active / np.maximum(random, 1), 1.0)


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


@benchmark("live-million", datasets=["gaussians-128"], repeats=3, threads=2, budget_s=300)
class LiveMillion(Benchmark):
    """``likewise serve`` on 1,000,000 items of 128 numbers, from its start to the first pairs.

    `ready_s`: until the first pair is answered, the file of vectors being in memory. `ready_cpu_s`:
    the processor time of the service until then. `next_ms`: the slowest of 200 further pairs, each
    judged before the next, while the neighbour graph is built. `memory_mb`: the most that the
    service had.
    """

    rivals = {OURS: Rival("with_likewise_live:many_items")}
    measures = ("ready_s", "ready_cpu_s", "next_ms", "memory_mb")
    facts = ("median_next_ms",)
    targets = (
        Target("gaussians-128", "ready_s", below=10),
        Target("gaussians-128", "next_ms", below=100),
        Target("gaussians-128", "memory_mb", below=3000),
    )
    warm_below_s = 0

    def prepare(self, X, y, seed):
        n_items = 2000 if len(X) == SMOKE_ROWS else 1_000_000
        return {"n_items": np.asarray(n_items), "seed": np.asarray(seed)}

    def score(self, result, arrays, reference):
        taken = result["taken"]
        if len(taken) != 200:
            raise WrongAnswerError("there must be 200 pairs")
        return {
            "ready_s": float(result["ready_s"]),
            "ready_cpu_s": float(result["ready_cpu_s"]),
            "next_ms": 1000 * float(taken.max()),
            "median_next_ms": 1000 * float(np.median(taken)),
            "memory_mb": float(result["memory_mb"]),
        }
