"""Small files in place of the data sets of the LMNN paper."""

import numpy as np


def write_toy_data(folder):
    """Write classes that overlap little, in the shapes that the experiments expect."""
    random = np.random.default_rng(0)

    def blobs(n_samples, n_features, n_classes, low=0, high=255):
        means = random.uniform(low, high, (n_classes, n_features))
        y = np.arange(n_samples) % n_classes
        X = means[y] + 0.15 * (high - low) * random.normal(size=(n_samples, n_features))
        return np.clip(X, low, high), y.astype(np.int16)

    def write(name, X, y, n_test=0):
        arrays = {"X": X[n_test:], "y": y[n_test:]}
        if n_test:
            arrays |= {"X_test": X[:n_test], "y_test": y[:n_test]}
        np.savez(folder / f"{name}.npz", **arrays)

    X, y = blobs(420, 784, 10)
    write("mnist", X.astype(np.uint8), y, n_test=60)
    words, topics = blobs(200, 40, 4, high=6)
    write("20news_bow", words.round().astype(np.uint8), topics, n_test=80)
    write("olivetti", *blobs(80, 64, 8))
    write("isolet", *blobs(160, 20, 4, high=1), n_test=40)
    write("balance", *blobs(90, 4, 3, high=5))
