"""Ours, with settings chosen by errors on the rows to learn from alone."""

import itertools

import numpy as np

INNER_FOLDS = 3


def errors(threads, cone, grid, components=None, most=1000):
    """Answer for the test rows of every fold by their nearest neighbour.

    For each fold, every setting of the grid is judged by the errors in `INNER_FOLDS` folds of at
    most so many rows to learn from; the best (of equals, the first) learns from all of them.
    """
    combinations = itertools.product(*grid.values())
    settings = [dict(zip(grid, values, strict=True)) for values in combinations]

    def decide(data):
        X, y, fold = data["X"], data["y"], data["fold"]
        labels, chosen = np.zeros(len(y), dtype=y.dtype), []
        for number in range(fold.max() + 1):
            train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            rows = _on_axes(X, train, components)
            best = _choose(cone, settings, rows[train], y[train], most, threads)
            labels[test] = _answers(cone, best, rows[train], y[train], rows[test], threads)
            chosen.append(settings.index(best))
        return {"labels": labels, "chosen": np.asarray(chosen)}

    return decide


def _on_axes(X, train, components):
    """Return all rows on the leading principal axes of those to learn from."""
    centred = X - X[train].mean(axis=0)
    if components is None or components >= X.shape[1]:
        return centred
    _, axes = np.linalg.eigh(centred[train].T @ centred[train])
    return centred @ axes[:, : -components - 1 : -1]


def _choose(cone, settings, X, y, most, threads):
    if len(settings) == 1:
        return settings[0]
    order = np.random.default_rng(0).permutation(len(X))[:most]
    order = order[np.argsort(y[order], kind="stable")]  # so that every part has all classes
    part = np.arange(len(order)) % INNER_FOLDS
    wrong = np.zeros(len(settings))
    for number in range(INNER_FOLDS):
        learn, judge = order[part != number], order[part == number]
        for place, setting in enumerate(settings):
            found = _answers(cone, setting, X[learn], y[learn], X[judge], threads)
            wrong[place] += np.count_nonzero(found != y[judge])
    return settings[int(wrong.argmin())]


def _answers(cone, setting, X, y, asked, threads):
    from likewise import ComposedMetric, MetricKNN

    if setting["standardise"]:
        spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        X, asked = X / spread, asked / spread
    metric = None
    if cone is not None:
        fewest = int(np.unique(y, return_counts=True)[1].min())
        metric = ComposedMetric(
            setting["constraints"],
            cone=cone,
            C=setting["C"],
            n_same=max(1, min(setting["count"], fewest - 1)),
            n_different=setting["count"],
            n_jobs=threads,
        )
    return MetricKNN(1, metric=metric, n_jobs=threads).fit(X, y).predict(asked)
