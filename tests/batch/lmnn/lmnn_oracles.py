"""The LMNN objective in loops, for one metric and for several, and its optimum by CVXPY."""

import cvxpy as cp
import numpy as np


def overlapping(n_samples=40, n_features=3, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % 3
    X = random.normal(size=(n_samples, n_features)) @ np.diag(np.linspace(1, 3, n_features))
    X[:, 0] += 1.2 * y
    return X, y


def by_the_formula(X, y, targets, M, push=0.5, margin=1.0, weights=None):
    """Return Eq. 14 by three loops."""
    weights = np.ones(len(X)) if weights is None else weights

    def distance(a, b):
        return (X[a] - X[b]) @ M @ (X[a] - X[b])

    pull = push_ = 0.0
    for i in range(len(X)):
        for j in targets[i]:
            pull += weights[i] * distance(i, j)
            for other in range(len(X)):
                if y[other] != y[i]:
                    push_ += weights[i] * max(0.0, margin + distance(i, j) - distance(i, other))
    return (1 - push) * pull + push * push_


def by_cvxpy(X, y, targets, push=0.5, margin=1.0, regularization=None):
    """Return the minimum over all metrics, by an independent solver."""
    d = X.shape[1]
    M = cp.Variable((d, d), PSD=True)
    outer = np.einsum("abi,abj->abij", *2 * (X[:, None] - X[None],)).reshape(len(X), len(X), d * d)
    pull, triplets = np.zeros(d * d), []
    for i in range(len(X)):
        for j in targets[i]:
            pull += outer[i, j]
            triplets += [outer[i, j] - outer[i, k] for k in range(len(X)) if y[k] != y[i]]
    flat = cp.vec(M, order="C")
    value = (1 - push) * pull @ flat + push * cp.sum(cp.pos(margin + np.array(triplets) @ flat))
    if regularization is not None:
        centre, strength = regularization
        value += strength / 2 * cp.sum_squares(M - centre)
    problem = cp.Problem(cp.Minimize(value))
    problem.solve(solver="CLARABEL")
    return problem.value


def targets_of(X, y, k):
    """Return the k nearest rows of the same class for each row."""
    return [
        sorted(
            (j for j in range(len(X)) if j != i and y[j] == y[i]),
            key=lambda j, i=i: (np.square(X[i] - X[j]).sum(), j),
        )[:k]
        for i in range(len(X))
    ]


def loop_objective(X, y, clusters, Ls, k, push, margin, weights=None):
    """Return Eq. 14 with the distances of Eq. 16."""

    def D(i, j):  # noqa: N802
        return np.square(Ls[clusters[j]] @ (X[i] - X[j])).sum()

    total = 0.0
    weights = np.ones(len(X)) if weights is None else weights
    for i, targets in enumerate(targets_of(X, y, k)):
        for j in targets:
            total += weights[i] * (1 - push) * D(i, j)
            for row in range(len(X)):
                if y[row] != y[i]:
                    total += weights[i] * push * max(0.0, margin + D(i, j) - D(i, row))
    return total
