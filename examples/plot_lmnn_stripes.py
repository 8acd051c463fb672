"""
Zebra stripes
=============

Classes need not be clouds. Here two classes alternate in ten stripes: their means say nothing, and
the direction in which the data spread most says nothing either. This is Figure 2 of the LMNN paper.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import sqrtm

import likewise as lw

# %%
# Along a stripe nothing changes, but rows are spread thinly there, so that the nearest neighbour of
# a row is often one of the stripe beside it.


def stripes(n_rows, random):
    number = random.integers(0, 10, n_rows)
    across = number + random.uniform(-0.3, 0.3, n_rows)
    return np.column_stack([across, random.uniform(-12, 12, n_rows)]), number % 2


random = np.random.default_rng(1)
X, y = stripes(400, random)
X_new, y_new = stripes(1000, random)

# %%
# LMNN looks at neighbours, not at means. Its first targets are still chosen by the Euclidean
# distance, and some are in another stripe; a second pass chooses them by the metric of the first,
# and so on.

metrics = {
    "Euclidean": lw.Euclidean(),
    "LMNN": lw.LMNN(),
    "LMNN, 3 passes": lw.LMNN(n_passes=3),
}
errors = {}
for name, metric in metrics.items():
    knn = lw.MetricKNN(n_neighbors=3, metric=metric).fit(X, y)
    errors[name] = 1 - knn.score(X_new, y_new)
    print(f"{name:15s} {errors[name]:.1%} of new rows are classified wrongly")

# %%
# What the metrics see: the rows through the square root of M, which stretches them and does not
# turn them. Lines join each row with its nearest neighbour under the metric.

figure, panels = plt.subplots(1, 3, figsize=(10, 4), layout="constrained")
for panel, (name, metric) in zip(panels, metrics.items(), strict=True):
    Z = X @ sqrtm(metric.fit(X, y).mahalanobis_matrix())
    _, nearest = lw.MetricKNN(n_neighbors=2).fit(Z, y).kneighbors(Z)
    partner = np.where(nearest[:, 0] == np.arange(len(Z)), nearest[:, 1], nearest[:, 0])
    for row, other in enumerate(partner):
        wrong = y[row] != y[other]
        panel.plot(*Z[[row, other]].T, color="black" if wrong else "0.75", lw=1.5, zorder=1)
    panel.scatter(*Z.T, c=y, cmap="coolwarm", s=10, zorder=2)
    panel.set(xticks=[], yticks=[], aspect="equal")
    panel.set_title(f"{name}\n{errors[name]:.0%} of new rows wrong")
figure.suptitle("Nearest neighbours: black lines join rows of different classes")
plt.show()
