"""Small files in the form of the data sets of the chapter on SVM metrics."""

import numpy as np


def write_data(folder, tasks):
    """Write every data set of some tasks: classes around their means, and the parts they have."""
    random = np.random.default_rng(0)
    for task in tasks:
        n_features = 12 if task.n_components else 5
        n_classes = 3
        means = random.normal(size=(n_classes, n_features))

        def rows(n_samples, means=means, n_classes=n_classes):
            y = random.permutation(np.arange(n_samples) % n_classes)
            X = means[y] + 0.8 * random.normal(size=(n_samples, means.shape[1]))
            return X.astype(np.float32), y.astype(np.int16)

        X, y = rows(60)
        arrays = {"X": X, "y": y}
        if task.labels:
            arrays[task.labels] = (y + 3 * (X[:, 0] > X[:, 0].mean())).astype(np.int16)
        if task.name == "letter":
            arrays["n_suggested_train"] = np.int64(45)
        elif not task.in_folds:
            arrays["X_test"], arrays["y_test"] = rows(30)
        np.savez(folder / f"{task.name}.npz", **arrays)
