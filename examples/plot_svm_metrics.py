"""
Metrics by support vector machines
==================================

A support vector machine on pairs or triplets learns a metric and bounds its distance to the
optimum. This example shows the convergence of the duality gap, and the 1-NN error on handwritten
digits for different numbers of neighbours and weights C of the loss.
"""

# %%
# The digits come with scikit-learn; half of them are held out.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import likewise as lw

X, y = load_digits(return_X_y=True)
X = np.clip(StandardScaler().fit_transform(X), -4, 4)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)


def error(metric):
    """Return the 1-NN test error in per cent."""
    knn = lw.MetricKNN(1, metric=metric).fit(X_train, y_train)
    return 100 * np.mean(knn.predict(X_test) != y_test)


# %%
# Every iteration has a primal and a dual value, a lower bound of the optimum. The solver begins
# with coordinate ascent on the dual variables and changes to Newton steps where that is too slow.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for metric in (lw.DoubletSVM(tol=1e-5), lw.TripletSVM(2, 2, tol=1e-5), lw.PCML(tol=1e-5)):
    gaps = metric.fit(X_train, y_train).history_["gap"]
    axes.semilogy(np.arange(1, len(gaps) + 1), np.clip(gaps, 1e-6, 10), label=type(metric).__name__)
axes.set(xlabel="iteration", ylabel="relative duality gap", title="Convergence")
axes.legend()
plt.show()

# %%
# One or two neighbours of each kind are enough. Each curve varies one number; the other is 2.
counts = [1, 2, 3, 4]
colours = {lw.DoubletSVM: "C0", lw.TripletSVM: "C1"}
euclidean = error(lw.Euclidean())

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for cls, colour in colours.items():
    of_same = [error(cls(n_same=n, n_different=2)) for n in counts]
    of_different = [error(cls(n_same=2, n_different=n)) for n in counts]
    axes.plot(counts, of_same, "o-", color=colour, label=f"{cls.__name__}, n_same")
    axes.plot(counts, of_different, "s:", color=colour, label=f"{cls.__name__}, n_different")
axes.axhline(euclidean, color="gray", linestyle="--", label="Euclidean")
axes.set(xlabel="neighbours", ylabel="1-NN error, %", title="Neighbours per row", xticks=counts)
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

# %%
# The weight C of the loss: small values regularise, large ones penalise every violation.
weights = [1e-4, 1e-3, 1e-2, 1e-1, 1]

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for cls, colour in colours.items():
    errors = [error(cls(C=C)) for C in weights]
    axes.semilogx(weights, errors, "o-", color=colour, label=cls.__name__)
axes.axhline(euclidean, color="gray", linestyle="--", label="Euclidean")
axes.set(xlabel="C", ylabel="1-NN error, %", title="Weight of the loss")
axes.legend()
plt.show()
