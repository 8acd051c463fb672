"""
Metrics by support vector machines
==================================

A support vector machine on pairs or triplets learns a metric, and it knows how far from the
optimum it is. The left picture shows the relative duality gap step by step; the others the 1-NN
error on the segment data as the numbers of neighbours, alike and different, and the weight C of the
losses vary.
"""

# %%
# The segment data come from the folder in ``LIKEWISE_DATA``; without it the wine data stand in.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import likewise as lw
from likewise import datasets

try:
    data = datasets.load("segment")
except (OSError, ValueError):
    data = datasets.load("wine")
X = np.clip(StandardScaler().fit_transform(data.X), -4, 4)
train, test, y, y_test = train_test_split(X, data.y, test_size=0.5, random_state=0, stratify=data.y)


def error(metric):
    knn = lw.MetricKNN(1, metric=metric).fit(train, y)
    return 100 * np.mean(knn.predict(test) != y_test)


figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
counts, weights = [1, 2, 3, 4], [1e-4, 1e-2, 1, 1e2]
colours = {lw.DoubletSVM: "C0", lw.TripletSVM: "C1"}

# %%
# Every step has a lower and an upper bound of the minimum. A step is a round of coordinate ascent
# on the multipliers; where these get on too slowly, Newton steps follow.
for metric in (lw.DoubletSVM(tol=1e-5), lw.TripletSVM(tol=1e-5), lw.PCML(tol=1e-5)):
    gaps = metric.fit(train, y).history_["gap"]
    left.semilogy(np.clip(gaps, 1e-6, 10), label=type(metric).__name__)
left.set(xlabel="step", ylabel="relative duality gap", title="The certificate")
left.legend()

# %%
# One to three neighbours of each kind are enough; each line varies one kind, with 2 of the other.
for cls, colour in colours.items():
    of_same = [error(cls(n, 2)) for n in counts]
    of_different = [error(cls(2, n)) for n in counts]
    middle.plot(counts, of_same, "o-", color=colour, label=f"{cls.__name__}, n_same")
    middle.plot(counts, of_different, "s:", color=colour, label=f"{cls.__name__}, n_different")
middle.axhline(error(lw.Euclidean()), color="gray", linestyle="--", label="Euclidean")
middle.set(xlabel="neighbours", ylabel="1-NN error, %", title="Neighbours", xticks=counts)
middle.legend()

# %%
# C matters little up to 1; a hundred forgives too little.
for cls, colour in colours.items():
    errors = [error(cls(C=C)) for C in weights]
    right.semilogx(weights, errors, "o-", color=colour, label=cls.__name__)
right.axhline(error(lw.Euclidean()), color="gray", linestyle="--", label="Euclidean")
right.set(xlabel="C", title="Weight of the losses")
right.legend()
plt.show()
