"""
One metric, two, three: concentric circles
==========================================

Two classes lie on two circles, so close together that the nearest neighbour of every point is one
of the other class. No single linear map can help: it would have to stretch every radius and no
circumference. Local metrics can: within a part of the circles the radius is nearly one direction.
:class:`likewise.MultiMetricLMNN` learns the metrics of all clusters together.
"""

import matplotlib.pyplot as plt
import numpy as np

import likewise as lw

# %%
# The points are spaced more widely along a circle than the circles are apart.

angle = np.linspace(0, 2 * np.pi, 52, endpoint=False)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
X = np.vstack([circle, 1.12 * circle])
y = np.repeat([0, 1], len(angle))


def left_out_error(model):
    """The share of points whose nearest other point is of the other class."""
    _, index = model.kneighbors(X, 2)
    other = np.where(index[:, 0] == np.arange(len(X)), index[:, 1], index[:, 0])
    return np.mean(y[other] != y)


# %%
# Where a cluster's metric sees a unit circle, we see the ellipse drawn at the cluster's centre: it
# is flat in the direction that counts most.

counts = (1, 2, 3, 6)
figure, axes = plt.subplots(1, len(counts), figsize=(13, 3.6), constrained_layout=True)
for axis, n_clusters in zip(axes, counts, strict=True):
    model = lw.MultiMetricLMNN(1, clusters=n_clusters, max_iter=2000, random_state=0).fit(X, y)
    for label, marker in ((0, "o"), (1, "s")):
        rows = y == label
        axis.scatter(
            *X[rows].T,
            c=model.clusters_[rows],
            cmap="tab10",
            vmax=9,
            marker=marker,
            s=14,
            label=f"class {label}",
        )
    for cluster, L in enumerate(model.components_):
        centre = X[model.clusters_ == cluster].mean(axis=0)
        _, sizes, directions = np.linalg.svd(L)
        widths = 0.35 * sizes.max() / np.maximum(sizes, sizes.max() / 1e3)
        widths = np.minimum(widths / widths.max(), 1.0) * 0.35
        ellipse = centre + circle * widths @ directions
        axis.plot(*np.vstack([ellipse, ellipse[:1]]).T, color="black", linewidth=1)
    metrics = "metric" if n_clusters == 1 else "metrics"
    axis.set_title(f"{n_clusters} {metrics}: error {left_out_error(model):.0%}")
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])
axes[0].legend(loc="center", fontsize=8)
plt.show()
