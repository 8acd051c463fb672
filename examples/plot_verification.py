"""
Same or different: which threshold?
===================================

Two images of digits: do they show the same digit? A threshold on a distance decides. How good such
decisions can be depends on the metric, and where to put the threshold on which error you fear.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

import likewise as lw
from likewise import constraints
from likewise.datasets import load
from likewise.evaluation import verification_curve

# %%
# Learn from one half of the images, and draw pairs from the other half: 20 000, every other one of
# the same digit.

digits = load("digits")
X, X_new, y, y_new = train_test_split(
    digits.X, digits.y, test_size=0.5, stratify=digits.y, random_state=0
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
# that are rejected (FNMR). On the left, one against the other: the lower curve is better, and the
# points are the equal error rates. On the right, both rates of FDA against the threshold. The line
# marks the one that accepts one different pair in a hundred.

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

curve = curves["FDA"]
threshold, missed = curve.threshold_at(fmr=0.01), curve.fnmr_at(fmr=0.01)
right.plot(curve.thresholds[1:], curve.fmr[1:], "-", color="#1f4e79", linewidth=2, label="FMR")
right.plot(curve.thresholds[1:], curve.fnmr[1:], "--", color="#b35806", linewidth=2, label="FNMR")
right.axvline(threshold, color="black", linewidth=1)
right.annotate(
    f"threshold {threshold:.2f}\nFMR 1%, FNMR {missed:.0%}",
    (threshold, 0.8),
    (8, 0),
    textcoords="offset points",
    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
)
right.set(xlim=(0, 12), ylim=(0, 1))
right.set_xlabel("threshold on the distance")
right.set_ylabel("share of pairs decided wrongly")
right.set_title("FDA")
right.legend(loc="center right")
for axis in (left, right):
    axis.grid(color="0.9")
    axis.set_axisbelow(True)
plt.show()

# %%
# The threshold is a distance, so the decision is one comparison:

accepted = lw.FDA().fit(X, y).pair_distance(A, B) <= threshold
print(f"{accepted[~same].mean():.2%} of different pairs accepted")
print(f"{(~accepted)[same].mean():.2%} of same pairs rejected")
