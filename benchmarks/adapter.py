"""Whether adapted embeddings are ever worse than the embeddings themselves."""

from __future__ import annotations

import numpy as np

from benchmarks.adapter_data import KINDS, adapter_datasets, collections_of_embeddings
from benchmarks.base import OURS, Benchmark, Rival, Target, benchmark
from benchmarks.data import SMOKE_ROWS

N_REPEATS, N_SMOKE_REPEATS = 20, 1
_FIRST_DRAW = 100  # earlier ones served to develop the rule of choice
_N_NEAREST = 20  # of which one makes a near pair with a row
_BLOCK = 1000
_LEAST_PRECISION = {
    "20news-minilm-labels-100": 0.695,
    "20news-minilm-labels-300": 0.73,
    "20news-minilm-labels-1000": 0.742,
    "20news-minilm-labels-3000": 0.76,
    "20news-minilm-near-300": 0.70,
    "20news-minilm-near-1000": 0.71,
    "20news-minilm-near-3000": 0.72,
    "20news-minilm-random-1000": 0.695,
}


def judge(X, train, label, kind, n, rng):
    """Return the rows of n judgements of the training rows, and what is said of them."""
    rows = np.flatnonzero(train)
    if kind == "labels":
        chosen = rng.permutation(rows)[:n]
        return chosen[:, None], label[chosen]
    first = rng.choice(rows, 3 * n)
    if kind == "near":
        similarity = X[first] @ X[rows].T
        similarity[first[:, None] == rows] = -np.inf
        near = np.argpartition(-similarity, _N_NEAREST, axis=1)[:, :_N_NEAREST]
        second = rows[near[np.arange(len(first)), rng.integers(_N_NEAREST, size=len(first))]]
    else:
        second = rng.choice(rows, 3 * n)
    pairs = np.column_stack([first, second])[first != second]
    _, distinct = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    pairs = pairs[np.sort(distinct)][:n]
    return pairs, label[pairs[:, 0]] == label[pairs[:, 1]]


def precision_of_nearest(Z, label, k):
    """Return the share of the row's class among its k nearest others by cosine."""
    right = 0
    for start in range(0, len(Z), _BLOCK):
        similarity = Z[start : start + _BLOCK] @ Z.T
        own = np.arange(len(similarity))
        similarity[own, start + own] = -np.inf
        near = np.argpartition(-similarity, k, axis=1)[:, :k]
        right += int((label[near] == label[start : start + _BLOCK, None]).sum())
    return right / (len(Z) * k)


def precision_of_matches(Z, pairs):
    """Return the mean average precision of finding the matches of left items on the right."""
    left, right = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
    found = Z[left] @ Z[right].T
    relevant = np.zeros(found.shape, dtype=bool)
    matches = pairs[pairs[:, 2] == 1]
    relevant[np.searchsorted(left, matches[:, 0]), np.searchsorted(right, matches[:, 1])] = True
    found, relevant = found[relevant.any(axis=1)], relevant[relevant.any(axis=1)]
    ordered = np.take_along_axis(relevant, np.argsort(-found, axis=1), axis=1)
    precision = np.cumsum(ordered, axis=1) / np.arange(1, ordered.shape[1] + 1)
    return float(((precision * ordered).sum(axis=1) / ordered.sum(axis=1)).mean())


def scaled(Z):
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(lengths > 0, lengths, 1)


class AdapterNeverWorse(Benchmark):
    """Embeddings adapted to 20 draws of n judgements, on rows that were not among those known.

    `mean_loss` and `worst_loss`: precision of the embeddings as they are, less that of the adapted
    ones; `error`: 1 less the precision of the adapted ones. Precision: the share of the same class
    among the 10 nearest other test rows by cosine (5 for faces, of people not known); for record
    linkage, the mean average precision of finding the matches of items not known. `gain` and
    `adapted`: the mean gain, and how often a map was chosen; the gain of each draw is stored, too.
    Near pairs are a row and one of its 20 nearest; random pairs any two rows; record linkage has
    the pairs that were judged. All training rows are known.
    """

    rivals = {OURS: Rival("with_likewise:adapted_maps")}
    measures = ("mean_loss", "worst_loss", "error")
    averaged = ("mean_loss", "worst_loss", "error")
    facts = ("precision", "gain", "adapted", "warm_s")
    warm_below_s = 0

    def prepare(self, X, y, seed):
        smoke = len(X) == SMOKE_ROWS
        if smoke:
            y = np.column_stack([y, np.arange(len(y)) % 2, np.zeros_like(y), np.full_like(y, 20)])
        X = scaled(X).astype(np.float32)
        linked = y.shape[1] == 5
        kind, n = KINDS[y[0, -2]], int(y[0, -1])
        trains, judged, said = [], [], []
        for repeat in range(N_SMOKE_REPEATS if smoke else N_REPEATS):
            rng = np.random.default_rng([seed, _FIRST_DRAW + repeat, n])
            if linked:
                train = rng.random(len(X)) < 0.5
                known = np.flatnonzero(train[y[:, :2]].all(axis=1))
                chosen = rng.permutation(known)[:n]
                pairs, same = y[chosen, :2], y[chosen, 2] == 1
            else:
                people = y[0, 1] == -1
                train = y[:, 1] == 0
                if people:
                    train = np.isin(y[:, 0], rng.permutation(np.unique(y[:, 0]))[:20])
                pairs, same = judge(X, train, y[:, 0], kind, n, rng)
            trains.append(train)
            judged.append(pairs)
            said.append(same)
        return {
            "X": X,
            "truth": y[:, :3] if linked else y[:, 0],
            "train": np.array(trains),
            "judged": np.array(judged),
            "said": np.array(said),
            "k": np.asarray(5 if y[0, 1] == -1 else 10),
        }

    def reference(self, arrays):
        found = []
        for repeat, train in enumerate(arrays["train"]):
            known = repeat and (train == arrays["train"][repeat - 1]).all()
            found.append(found[-1] if known else self._precision(arrays, repeat, None))
        return found

    def score(self, result, arrays, reference):
        gains, adapted = [], []
        for repeat, before in enumerate(reference):
            W, mean = result["W"][repeat], result["mean"][repeat]
            adapted.append(bool(mean.any() or not (np.eye(W.shape[1]) == W).all()))
            after = before
            if adapted[-1]:
                after = self._precision(arrays, repeat, (W, mean))
            gains.append(after - before)
        precision = float(np.mean(reference) + np.mean(gains))
        return {
            "mean_loss": -float(np.mean(gains)),
            "worst_loss": -float(np.min(gains)),
            "error": 1 - precision,
            "gain": float(np.mean(gains)),
            "precision": precision,
            "adapted": float(np.mean(adapted)),
            **{f"gain_{draw:02}": float(gain) for draw, gain in enumerate(gains, 1)},
        }

    @staticmethod
    def _precision(arrays, repeat, found):
        test = ~arrays["train"][repeat]
        Z = arrays["X"]
        if found is not None:
            Z = scaled((Z - found[1]) @ found[0].T)
        if arrays["truth"].ndim == 1:
            return precision_of_nearest(Z[test], arrays["truth"][test], int(arrays["k"]))
        pairs = arrays["truth"]
        return precision_of_matches(Z, pairs[test[pairs[:, :2]].all(axis=1)])


def declare(name):
    """Declare the benchmark on all judgements of one collection of embeddings."""
    datasets = [dataset for dataset in adapter_datasets() if dataset.startswith(name)]
    targets = tuple(
        Target(dataset, measure, below=below)
        for dataset in datasets
        for measure, below in (("mean_loss", 0.005), ("worst_loss", 0.02))
    ) + tuple(
        Target(dataset, "error", below=1 - least, note=f"precision above {least}")
        for dataset, least in _LEAST_PRECISION.items()
        if dataset in datasets
    )
    declaration = type(
        "AdapterNeverWorse",
        (AdapterNeverWorse,),
        {"targets": targets, "__doc__": AdapterNeverWorse.__doc__},
    )
    return benchmark(
        f"adapter-{name}",
        datasets=datasets,
        smoke=datasets[2:3],
        repeats=1,
        threads=1,
        budget_s=1800,
    )(declaration)


COLLECTIONS = [declare(name) for name in collections_of_embeddings()]
