"""
Same or different: which threshold?
===================================

Two images of digits: do they show the same digit? A threshold on a distance decides. How good such
decisions can be depends on the metric, and where to put the threshold on which error costs more.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

import likewise as lw
from likewise import constraints
from likewise.datasets import load
from likewise.evaluation import error_rates, verification_curve

# %%
# Learn from two thirds of the images, and draw pairs from the others: 20 000, every other one of
# the same digit.

digits = load("digits")
X, X_new, y, y_new = train_test_split(
    digits.X, digits.y, test_size=1 / 3, stratify=digits.y, random_state=0
)
index, same = constraints.random_pairs(y_new, 20_000, random_state=0)
A, B = X_new[index[:, 0]], X_new[index[:, 1]]

curves = {}
for metric in (lw.Euclidean(), lw.FDA()):
    distance = metric.fit(X, y).pair_distance(A, B)
    curves[type(metric).__name__] = verification_curve(distance, same)

for name, curve in curves.items():
    print(f"{name:10} EER {curve.eer:.1%}, area under the ROC curve {curve.auc:.3f}")

# %%
# At each threshold two shares can be wrong: different pairs that are accepted (FMR), and same pairs
# that are rejected (FNMR).
#
# A threshold that is read off these curves, for example where the FMR is 1 %, has a higher FMR on
# new images: it was chosen for its low rate on these. :class:`~likewise.PairClassifier` learns the
# metric from one part of the training images and the threshold from pairs of the others, and says
# what holds.

judge = lw.PairClassifier(lw.FDA(), target="fmr<=0.01", max_pairs=100_000).fit(X, y)
print(judge.promise_)

# %%
# The new images took part in neither. Their error rates have intervals for pairs that share images:

distance = judge.pair_distance(A, B)
rates = error_rates(distance, same, judge.threshold_, items=index)
print(f"{rates.fmr:.2%} of different pairs accepted, at most {rates.fmr_upper:.2%}")
print(f"{rates.fnmr:.1%} of same pairs rejected, at most {rates.fnmr_upper:.1%}")

# %%
# On the left, one error rate against the other: the lower curve is better, and the points are the
# equal error rates. On the right, both rates of the classifier's metric against the threshold,
# which is the line. Fewer images taught this metric, as the others are for the threshold.

LINES = {"Euclidean": ("0.45", "--"), "FDA": ("#1f4e79", "-")}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for name, curve in curves.items():
    colour, style = LINES[name]
    left.plot(curve.fmr, curve.fnmr, style, color=colour, linewidth=2, label=name)
    left.plot(curve.eer, curve.eer, "o", color=colour, markeredgecolor="black")
    left.annotate(
        f"EER {curve.eer:.1%}", (curve.eer, curve.eer), (8, 6), textcoords="offset points"
    )
left.plot([0, 1], [0, 1], ":", color="0.7", linewidth=1)
left.set(xlim=(0, 0.6), ylim=(0, 0.6), aspect="equal")
left.set_xlabel("false match rate (FMR): different, but accepted")
left.set_ylabel("false non-match rate (FNMR): same, but rejected")
left.set_title("Two metrics")
left.legend()

curve = verification_curve(distance, same)
right.plot(curve.thresholds[1:], curve.fmr[1:], "-", color="#1f4e79", linewidth=2, label="FMR")
right.plot(curve.thresholds[1:], curve.fnmr[1:], "--", color="#b35806", linewidth=2, label="FNMR")
right.axvline(judge.threshold_, color="black", linewidth=1)
right.annotate(
    f"threshold {judge.threshold_:.2f}\nFMR {rates.fmr:.1%}, FNMR {rates.fnmr:.0%}",
    (judge.threshold_, 0.8),
    (8, 0),
    textcoords="offset points",
    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
)
right.set(xlim=(0, 12), ylim=(0, 1))
right.set_xlabel("threshold on the distance")
right.set_ylabel("share of pairs decided wrongly")
right.set_title("FDA, with a threshold for an FMR of 1%")
right.legend(loc="center right")
for axis in (left, right):
    axis.grid(color="0.9")
    axis.set_axisbelow(True)
plt.show()

# %%
# The threshold is a distance, so the decision is one comparison. :doc:`/guide/threshold` explains
# what is promised, and what is not.

accepted = judge.predict_pairs(A, B)
print((accepted == (distance <= judge.threshold_)).all())
