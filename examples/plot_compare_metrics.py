"""
The same wines under four metrics
=================================

A metric is a linear map, so it can be looked at: map the rows, and draw them. Here are wines of
three cultivars, described by 13 chemical measurements, under each metric in turn.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise.datasets import load
from likewise.evaluation import compare

# %%
# Half of the wines are for learning, the other half for looking. The features have very different
# units, so they are standardised first, by what the training rows show.

wine = load("wine")
X, X_new, y, y_new = train_test_split(
    wine.X, wine.y, test_size=0.5, stratify=wine.y, random_state=0
)
scaler = StandardScaler().fit(X)
X, X_new = scaler.transform(X), scaler.transform(X_new)

# %%
# How good is each metric? ``compare`` answers with five random splits of all the data.

metrics = [lw.Euclidean(), lw.Whitening(), lw.RCA(), lw.FDA()]
result = compare(wine.X, wine.y)
errors = {row.name: row.error for row in result.rows}
print(result)

# %%
# And this is what they see. Each panel shows wines that the metric was not learned from, in the
# two directions in which they spread most *under that metric*. Distances on paper are the metric's
# own, as far as two dimensions can show them; FDA has only two.

STYLES = [("o", "#1b1b1b"), ("^", "#e08214"), ("s", "#9ecae1")]

figure, axes = plt.subplots(2, 2, figsize=(8, 8), layout="constrained")
for metric, axis in zip(metrics, axes.flat, strict=True):
    name = type(metric).__name__
    view = PCA(2).fit_transform(metric.fit(X, y).transform(X_new))
    for code, (marker, colour) in enumerate(STYLES):
        rows = view[y_new == code]
        axis.scatter(
            rows[:, 0],
            rows[:, 1],
            s=38,
            marker=marker,
            color=colour,
            edgecolor="black",
            linewidth=0.6,
            label=f"cultivar {code + 1}",
        )
    axis.set_title(f"{name}\n3-NN test error {errors[name]:.1%}")
    axis.set_xlabel("first principal component")
    axis.set_ylabel("second principal component")
    axis.set_aspect("equal", adjustable="datalim")
    axis.grid(color="0.9")
    axis.set_axisbelow(True)
axes[0, 0].legend(frameon=True)
plt.show()

# %%
# Whitening makes all directions equally wide, those that separate the cultivars among them, and
# mixes what was apart. RCA makes only the spread *within* a cultivar round, and FDA keeps nothing
# but the directions between them.
