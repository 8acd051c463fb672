"""
From pairs to entities: products and papers
===========================================

Two catalogues list the same products, or the same papers, in other words. Some pairs of records
were judged. Which of the other pairs are the same?

The two data sets, *er_amazon_google* and *er_dblp_acm*, are embeddings of texts with judged pairs,
read from the folder ``$LIKEWISE_DATA``. In the official splits most test pairs have records that
occur in training pairs. Here records are split, so that no record of a test pair was seen before.
Where the files are absent, random vectors stand for the records, and the output below is theirs.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t

import likewise as lw
from likewise.datasets import load
from likewise.statistics import PairSplit, dyadic_variance

warnings.simplefilter("ignore")  # few pairs for 256 features, and some are judged twice


def read(name):
    """Return unit vectors, pairs of them, which pairs are the same, and the texts."""
    try:
        data = load(name)
    except (ConnectionError, ValueError) as absent:
        print(f"Random vectors stand for records here: {absent}.")
        return random_records()
    X = data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    texts = data.extra["text"].tobytes().decode().split("\n")
    return X, data.extra["pairs"].astype(np.int64), data.extra["same"].astype(bool), texts


def random_records(n=1000, d=64):
    """Return records whose copies differ in most directions, each paired with five others."""
    rng = np.random.default_rng(0)
    left = rng.normal(size=(n, d))
    right = left + rng.normal(size=(n, d)) * np.linspace(0.2, 3, d)
    X = np.concatenate([left, right])
    second = np.column_stack([np.arange(n), rng.integers(n, size=(n, 4))])
    pairs = np.column_stack([np.repeat(np.arange(n), 5), n + second.ravel()])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, pairs, pairs[:, 1] - n == pairs[:, 0], [f"record {i}" for i in range(2 * n)]


X, pairs, same, texts = read("er_amazon_google")
similarity = np.einsum("ij,ij->i", X[pairs[:, 0]], X[pairs[:, 1]])
for kind, chosen in (("same", same), ("different", ~same)):
    a, b = pairs[chosen][np.argsort(-similarity[chosen])[len(similarity[chosen]) // 20]]
    print(f"{kind}:\n  {texts[a][:90]}\n  {texts[b][:90]}")

# %%
# The rival is what people do: cosine, with the threshold of the largest F1 on the training pairs.


def best_threshold(distances, same):
    order = np.argsort(distances)
    right = np.cumsum(same[order])
    f1 = 2 * right / (np.arange(1, len(same) + 1) + same.sum())
    return distances[order][f1.argmax()]


def by_distance(distance, X, pairs, same, tested):
    sides = [(X[some[:, 0]], X[some[:, 1]]) for some in (pairs, tested)]
    learned, asked = (distance(*side) for side in sides)
    return asked <= best_threshold(learned, same)


def cosine(X, pairs, same, tested):
    return by_distance(lambda a, b: np.linalg.norm(a - b, axis=1), X, pairs, same, tested)


# %%
# Ours learn from 2000 judged pairs. The adapter changes the vectors where a gain is shown on
# records that it holds out; LDML learns a metric from the pairs, whatever it may be worth.


def adapter(X, pairs, same, tested):
    seen = np.setdiff1d(np.arange(len(X)), tested)  # records in no judged pair help, too
    model = lw.EmbeddingAdapter().fit_pairs(X[seen], np.searchsorted(seen, pairs), same)
    print(f"  {model.verdict_}")
    return by_distance(model.pair_distance, X, pairs, same, tested)


def ldml(X, pairs, same, tested):
    items, index = np.unique(pairs, return_inverse=True)
    model = lw.LDML().fit_pairs(X[items], index.reshape(-1, 2), same)
    return by_distance(model.pair_distance, X, pairs, same, tested)


# %%
# Or decisions become entities: a metric is learned from one half of the training records and a
# threshold from the other, and a pair is *same* if its records belong to one entity.


def entities(X, pairs, same, tested):
    items, index = np.unique(pairs, return_inverse=True)
    judge = lw.PairClassifier(lw.RCA(), target="accuracy")
    judge.fit_pairs(X[items], index.reshape(-1, 2), same)
    decisions = judge.predict_pairs(X[tested[:, 0]], X[tested[:, 1]])
    entity = lw.cluster_pairs(len(X), tested, decisions).labels
    return entity[tested[:, 0]] == entity[tested[:, 1]]


# %%
# F1 is a ratio of sums over pairs. Its interval, for draws of records, comes from the dyadic
# variance of the pairs' influence on it; the same holds for the difference of two F1.


def f1_and_influence(decided, same):
    hits, entries = 2.0 * (decided & same), decided.astype(float) + same
    f1 = hits.sum() / entries.sum()
    return f1, (hits - f1 * entries).sum(axis=0) / entries.sum()


def margin(influence, pairs):
    found = dyadic_variance(influence, pairs)
    return t.ppf(0.975, found.degrees_of_freedom) * found.variance**0.5


METHODS = (cosine, adapter, ldml, entities)
N_JUDGED = 2000
gains = {}
for name in ("er_amazon_google", "er_dblp_acm"):
    print(name)
    X, pairs, same, _ = read(name)
    splits = list(PairSplit(2, test_size=0.4).split(pairs))
    # A pair that a split does not test counts as neither decided nor same there.
    tested = np.zeros((len(splits), len(pairs)), dtype=bool)
    decided = {method.__name__: tested.copy() for method in METHODS}
    for number, (train, test) in enumerate(splits):
        tested[number, test] = True
        judged = np.random.default_rng(number).permutation(train)[:N_JUDGED]
        for method in METHODS:
            flags = method(X, pairs[judged], same[judged], pairs[test])
            decided[method.__name__][number, test] = flags
    found = {method: f1_and_influence(flags, tested & same) for method, flags in decided.items()}
    for method, (f1, influence) in found.items():
        print(f"  {method:8} F1 {f1:.3f} ± {margin(influence, pairs):.3f}")
        gain, change = f1 - found["cosine"][0], influence - found["cosine"][1]
        gains.setdefault(name, {})[method] = gain, margin(change, pairs)

# %%
# The differences to cosine, with 95 % intervals for draws of records:

figure, axes = plt.subplots(1, 2, figsize=(8, 2.4), sharey=True, layout="constrained")
for axis, (name, found) in zip(axes, gains.items(), strict=True):
    ours = [method for method in found if method != "cosine"]
    values, margins = np.transpose([found[method] for method in ours])
    axis.errorbar(values, ours, xerr=margins, fmt="o", color="#1f4e79", capsize=3)
    axis.axvline(0, color="0.4", linewidth=0.8)
    axis.set(title=name, xlabel="gain of F1 over cosine", ylim=(2.5, -0.5))
plt.show()

# %%
# What did not help
# -----------------
#
# With the two data sets (the benchmark ``pair-entities``), and 95 % intervals for draws of records:
#
# ================  =============  =============  =============  =============
# F1                cosine         adapter        LDML           entities
# ================  =============  =============  =============  =============
# er_amazon_google  0.421 ± 0.055  0.436 ± 0.054  0.486 ± 0.050  0.422 ± 0.052
# er_dblp_acm       0.911 ± 0.028  0.911 ± 0.028  0.950 ± 0.014  0.939 ± 0.018
# ================  =============  =============  =============  =============
#
# The adapter does not help from 2000 pairs: on er_dblp_acm it keeps the vectors, and on
# er_amazon_google the gain of F1, 0.015 ± 0.032, may be chance.
#
# LDML gains 0.065 ± 0.040 and 0.039 ± 0.025: it learns from nothing but pairs like those that are
# asked, which another search had found similar already. It was the best of three metrics on these
# splits, which flatters it a little; RCA and ITML have an F1 of 0.83 and 0.87 on er_dblp_acm, below
# cosine, from all training pairs of the first split.
#
# Entities gain 0.029 ± 0.021 for papers, and nothing for products (0.001 ± 0.053): their threshold
# is chosen for balanced accuracy, not for F1.
