"""likewise with settings that are chosen by cross-validation on the training rows alone."""

import itertools

import numpy as np

from likewise import ComposedMetric, MetricKNN

INNER_FOLDS = 3


def errors(threads, cone, grid, components=None, max_rows=1000):
    """Predict the test rows of every fold by their nearest neighbour.

    For each fold, every setting of the grid is scored by the errors in `INNER_FOLDS` folds of at
    most `max_rows` training rows. The best setting (the first of equals) is fitted to all of them.
    """
    combinations = itertools.product(*grid.values())
    settings = [dict(zip(grid, values, strict=True)) for values in combinations]

    def predict(data):
        X, y, fold = data["X"], data["y"], data["fold"]
        labels, chosen = np.zeros(len(y), dtype=y.dtype), []
        for number in range(fold.max() + 1):
            train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            Z = _on_axes(X, train, components)
            best = _choose(cone, settings, Z[train], y[train], max_rows, threads)
            labels[test] = _predict(cone, best, Z[train], y[train], Z[test], threads)
            chosen.append(settings.index(best))
        return {"labels": labels, "chosen": np.asarray(chosen)}

    return predict


def _on_axes(X, train, components):
    """Return all rows on the leading principal axes of the training rows."""
    centred = X - X[train].mean(axis=0)
    if components is None or components >= X.shape[1]:
        return centred
    _, axes = np.linalg.eigh(centred[train].T @ centred[train])
    return centred @ axes[:, : -components - 1 : -1]


def _choose(cone, settings, X, y, max_rows, threads):
    if len(settings) == 1:
        return settings[0]
    order = np.random.default_rng(0).permutation(len(X))[:max_rows]
    order = order[np.argsort(y[order], kind="stable")]  # so that every fold has all classes
    fold = np.arange(len(order)) % INNER_FOLDS
    n_errors = np.zeros(len(settings))
    for number in range(INNER_FOLDS):
        train, test = order[fold != number], order[fold == number]
        for place, setting in enumerate(settings):
            labels = _predict(cone, setting, X[train], y[train], X[test], threads)
            n_errors[place] += np.count_nonzero(labels != y[test])
    return settings[int(n_errors.argmin())]


def _predict(cone, setting, X, y, X_test, threads):
    if setting["standardise"]:
        spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        X, X_test = X / spread, X_test / spread
    metric = None
    if cone is not None:
        smallest_class = int(np.unique(y, return_counts=True)[1].min())
        metric = ComposedMetric(
            setting["constraints"],
            cone=cone,
            C=setting["C"],
            n_same=max(1, min(setting["count"], smallest_class - 1)),
            n_different=setting["count"],
            n_jobs=threads,
        )
    return MetricKNN(1, metric=metric, n_jobs=threads).fit(X, y).predict(X_test)
