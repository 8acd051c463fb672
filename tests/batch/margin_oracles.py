"""The margin problem of SVM-style metric learning, in plain loops and in CVXPY."""

import cvxpy as cp
import numpy as np


def blobs(n_samples=24, n_features=3, seed=0):
    """Return two overlapping classes with features of different variance."""
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = random.normal(size=(n_samples, n_features)) * [1.0, 2.0, 0.5, 1.5][:n_features]
    X[:, 0] += 1.5 * y
    return X, y


def pair_matrices(X, pairs):
    """Return X_l = vvᵀ and h_l of each pair."""
    found = []
    for i, j in pairs.index:
        v = X[i] - X[j]
        found.append(np.outer(v, v))
    return np.array(found), np.where(pairs.same, -1.0, 1.0)


def triplet_matrices(X, triplets):
    """Return T_l = v₁₃v₁₃ᵀ - v₁₂v₁₂ᵀ of each triplet."""
    found = []
    for i, j, k in triplets.index:
        far, near = X[i] - X[k], X[i] - X[j]
        found.append(np.outer(far, far) - np.outer(near, near))
    return np.array(found), np.ones(len(found))


def primal_value(M, b, matrices, h, C, loss):
    """Return ½‖M‖² + C Σ loss(1 - h(⟨M, X⟩ + b))."""
    total = 0.5 * np.sum(M * M)
    for X, sign in zip(matrices, h, strict=True):
        v = 1 - sign * (np.sum(M * X) + b)
        total += (
            C
            * {
                "hinge": max(v, 0.0),
                "squared_hinge": max(v, 0.0) ** 2,
                "logistic": np.logaddexp(0, v - 1),
            }[loss]
        )
    return total


def solve_generic(matrices, h, C, loss, cone, with_b):
    """Return the minimum, M and b from a generic solver."""
    d = matrices.shape[1]
    b = cp.Variable() if with_b else 0.0
    limits = []
    if cone == "conic":
        alpha = cp.Variable(len(h), nonneg=True)
        M = cp.reshape(matrices.reshape(len(h), -1).T @ alpha, (d, d), order="C")
    else:
        # A constraint: of Variable(symmetric=True), CVXPY with SciPy 1.11 takes a wrong square.
        M = cp.Variable((d, d))
        limits = [M == M.T, M >> 0] if cone == "psd" else [M == M.T]
    inner = matrices.reshape(len(h), -1) @ cp.reshape(M, d * d, order="C")
    v = 1 - cp.multiply(h, inner + b)
    cost = {
        "hinge": lambda: cp.sum(cp.pos(v)),
        "squared_hinge": lambda: cp.sum(cp.square(cp.pos(v))),
        "logistic": lambda: cp.sum(cp.logistic(v - 1)),
    }[loss]()
    problem = cp.Problem(cp.Minimize(cp.sum_squares(M) / 2 + C * cost), limits)
    problem.solve(solver=cp.CLARABEL)
    return problem.value, M.value, float(b.value) if with_b else 0.0
