"""Small files in the form of the data sets of the paper on online metrics."""

import numpy as np

SHAPES = {
    "soybean_complete": (300, 6, 15),
    "wine": (60, 4, 3),
    "glass": (72, 5, 6),
    "ecoli": (80, 4, 4),
    "ionosphere": (60, 5, 2),
    "balance": (60, 4, 3),
    "breast_wisconsin": (60, 4, 2),
    "mfeat_mor": (60, 4, 3),
    "spambase": (60, 5, 2),
    "satimage": (40, 4, 3),
    "usps": (60, 256, 3),
}


def write_data(folder):
    """Write one file per data set: classes in turn, with means that differ."""
    random = np.random.default_rng(0)
    for name, (n_samples, n_features, n_classes) in SHAPES.items():
        y = np.arange(n_samples) % n_classes
        means = 2 * random.normal(size=(n_classes, n_features))
        X = means[y] + random.normal(size=(n_samples, n_features))
        X[:, 1] = 3.0  # a feature without any difference
        kind = np.float64 if name == "balance" else np.float32
        arrays = {"X": X.astype(kind), "y": y.astype(np.int16)}
        if name == "ecoli":
            arrays["classes"] = np.array(["cp", "im", "om", "pp"])
        if name == "satimage":
            arrays |= {"X_test": arrays["X"][::2] + 1, "y_test": arrays["y"][::2]}
        np.savez(folder / f"{name}.npz", **arrays)
