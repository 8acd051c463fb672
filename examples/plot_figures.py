"""
Figures of a metric
===================

Every figure of `likewise.plotting`, for one metric: LMNN on handwritten digits. What is shown as
evidence comes from images that the metric was not learned from.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import likewise as lw
from likewise import plotting
from likewise.constraints import random_pairs
from likewise.datasets import load
from likewise.evaluation import (
    friedman_holm,
    knn_error,
    neighbor_changes,
    verification_curve,
)

digits = load("digits")
X, X_new, y, y_new = train_test_split(
    digits.X, digits.y, test_size=0.5, stratify=digits.y, random_state=0
)
metric = lw.LMNN().fit(X, y)

# %%
# The images in the plane that shows most of their variance, before and after.

_, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
plotting.embedding(X_new, y_new, ax=left).set_title("Euclidean")
plotting.embedding(X_new, y_new, metric=metric, ax=right).set_title("LMNN")
left.get_legend().remove()
plt.show()

# %%
# The metric itself: its eigenvalues, and the share of each pixel in the squared distances.

_, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
plotting.spectrum(metric, ax=left)
plotting.feature_weights(metric, X, n_features=12, feature_names=digits.feature_names, ax=right)
plt.show()

# %%
# How the fit converged: the optimum is between the objective and its lower bound.

plotting.convergence(metric)
plt.show()

# %%
# Pairs of new images: their distances with the threshold at which both error rates are equal, and
# both rates at all thresholds with 95 % limits.

index, same = random_pairs(y_new, 10_000, random_state=0)
A, B = X_new[index[:, 0]], X_new[index[:, 1]]
distance = metric.pair_distance(A, B)
euclidean = lw.Euclidean().fit(X).pair_distance(A, B)
curve = verification_curve(distance, same, items=index, confidence=0.95)
curves = {"LMNN": curve, "Euclidean": verification_curve(euclidean, same)}

plotting.pair_histogram(distance, same, threshold=curve.threshold_at(curve.eer))
_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
plotting.roc(curves, ax=left)
plotting.det(curves, ax=right)
plt.show()

# %%
# Neighbours of new images: how many of three show the same digit, before and after.

changes = neighbor_changes(X, y, X_new, y_new, metric=metric)
plotting.neighbors_changed(changes)
plt.show()

# %%
# Does more data help? Three draws of training images of each size.

sizes, rng = [200, 400, 800], np.random.default_rng(0)
errors = {"LMNN": [], "Euclidean": []}
for size in sizes:
    draws = [rng.permutation(len(X))[:size] for _ in range(3)]
    for name, learner in (("LMNN", lw.LMNN), ("Euclidean", lw.Euclidean)):
        errors[name].append(
            [
                knn_error(
                    X[rows], y[rows], X_new, y_new, metric=learner().fit(X[rows], y[rows])
                ).error
                for rows in draws
            ]
        )
plotting.learning_curve(sizes, errors)
plt.show()

# %%
# What is equally far from the centre of a class, in two features of wine.

wine = load("wine")
Z = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
plotting.ellipses(
    lw.LMNN().fit(Z, wine.y), Z, wine.y, features=(0, 6), feature_names=wine.feature_names
)
plt.show()

# %%
# Methods over several data sets: those that a bar joins do not differ significantly.

methods = ["Euclidean", "Whitening", "RCA", "FDA"]
table = []
for name in ("iris", "wine", "breast_cancer", "digits"):
    data = load(name)
    Z = (data.X - data.X.mean(axis=0)) / np.where(data.X.std(axis=0) > 0, data.X.std(axis=0), 1)
    halves = train_test_split(Z, data.y, test_size=0.5, stratify=data.y, random_state=0)
    train, test, labels, truth = halves
    table.append(
        [
            knn_error(
                train, labels, test, truth, metric=getattr(lw, method)().fit(train, labels)
            ).error
            for method in methods
        ]
    )
found = friedman_holm(table, methods)
plotting.critical_difference(found.ranks, found.names, found.n_datasets)
plt.show()
