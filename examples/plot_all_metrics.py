"""
Every metric on one page
========================

Handwritten digits as each metric sees them. A metric learns from 600 images; every panel shows 400
others, in the two directions in which they spread most *under that metric*, with the share of them
that three nearest neighbours get wrong: those are black.
"""

import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.datasets import load
from likewise.evaluation import COMPARED_METHODS

# %%
# Most settings are those that `likewise compare` uses. They are made to be quick, so a method may
# stop before it has converged, and says so; here we do not mind.

METRICS = {
    **{name: make for name, make in COMPARED_METHODS.items() if name != "cosine"},
    "PCML": partial(lw.PCML, 20, 0.01, tol=1e-2),
    "NCML": partial(lw.NCML, 10, 0.01, tol=0.1),
    "LDML": partial(lw.LDML, 0.1, n_same=1, n_different=1, tol=1e-2),
    "ComposedMetric": partial(lw.ComposedMetric, "triplets", "squared_hinge", C=0.1, tol=1e-2),
}
# These measure by several metrics at once: they are classifiers, and have no single map.
SEVERAL = {
    "MultiMetricLMNN": partial(lw.MultiMetricLMNN, 3, validation_fraction=0.2, random_state=0),
    "PLML": partial(lw.PLML, 3, regularization=0.1, random_state=0),
}

digits = load("digits")
X, X_new, y, y_new = train_test_split(
    digits.X, digits.y, train_size=600, test_size=400, stratify=digits.y, random_state=0
)
scaler = StandardScaler().fit(X)
X, X_new = scaler.transform(X), scaler.transform(X_new)
warnings.simplefilter("ignore", ConvergenceWarning)

views, wrong = {}, {}
for name, make in METRICS.items():
    metric = make().fit(X, y)
    knn = lw.MetricKNN(n_neighbors=3).fit(metric.transform(X), y)
    wrong[name] = knn.predict(metric.transform(X_new)) != y_new
    views[name] = PCA(2, svd_solver="covariance_eigh").fit_transform(metric.transform(X_new))
for name, make in SEVERAL.items():
    wrong[name] = make().fit(X, y).predict(X_new) != y_new
    views[name] = views["Euclidean"]

# %%
# The digits are drawn as digits. Panels are ordered by error, the best first. The two methods that
# have several metrics, marked by a star, are drawn as the plain distance sees the digits.

COLOURS = plt.get_cmap("tab10").colors
columns = 4
rows = -(-len(views) // columns)
figure, axes = plt.subplots(rows, columns, figsize=(11, 2.9 * rows), layout="constrained")
for axis in axes.flat[len(views) :]:
    axis.remove()
for name, axis in zip(sorted(views, key=lambda name: wrong[name].mean()), axes.flat, strict=False):
    reach = np.quantile(np.abs(views[name]), 0.99, axis=0) * 1.1
    for digit in range(10):
        points = views[name][y_new == digit]
        colours = ["black" if missed else COLOURS[digit] for missed in wrong[name][y_new == digit]]
        axis.scatter(*points.T, s=26, marker=f"${digit}$", color=colours, linewidths=0.3)
    star = "*" * (name in SEVERAL)
    axis.set_title(f"{name}{star}: {wrong[name].mean():.1%} wrong", fontsize=11)
    axis.set(xticks=[], yticks=[], xlim=(-reach[0], reach[0]), ylim=(-reach[1], reach[1]))
plt.show()

# %%
# Two dimensions cannot show everything: the metrics with few important directions, such as FDA,
# look best here, and those that keep many tell neighbours apart in directions that no panel shows.
