"""Plain NumPy: the loops that a user would write, and tuned versions of them."""

from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist

import numpy as np


def radius_search(threads, block=128):
    """Blocks of the distance matrix by a matrix product, a mask and its non-zeros."""

    def search(data):
        Z, labels, radius2 = data["Z"], data["labels"], data["radius2"]
        sqnorm = np.einsum("ij,ij->i", Z, Z)
        parts = []
        for start in range(0, len(Z), block):
            here = slice(start, start + block)
            sqdist = Z[here] @ Z.T
            sqdist *= -2
            sqdist += sqnorm
            sqdist += sqnorm[here, None]
            rows, cols = np.nonzero((sqdist < radius2[here, None]) & (labels[here, None] != labels))
            parts.append((rows + start, cols, sqdist[rows, cols]))
        rows, cols, sqdist = map(np.concatenate, zip(*parts, strict=True))
        return {"rows": rows, "cols": cols, "sqdist": sqdist}

    return search


def radius_search_tuned(threads, block=128):
    """The norms are part of the product, labels are read only for hits, blocks run in threads.

    One pass over each block of the distance matrix instead of six.
    """
    from threadpoolctl import threadpool_limits

    def search(data):
        Z, labels, radius2 = data["Z"], data["labels"], data["radius2"]
        sqnorm = np.einsum("ij,ij->i", Z, Z)
        left = np.column_stack([-2 * Z, np.ones_like(sqnorm)])
        right = np.vstack([Z.T, sqnorm])
        limit = radius2 - sqnorm

        def of_block(start):
            here = slice(start, start + block)
            reduced = left[here] @ right
            hits = np.flatnonzero(reduced < limit[here, None])
            rows, cols = np.divmod(hits, len(Z))
            rows += start
            keep = labels[rows] != labels[cols]
            rows, cols, hits = rows[keep], cols[keep], hits[keep]
            return rows, cols, reduced.ravel()[hits] + sqnorm[rows]

        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(of_block, range(0, len(Z), block)))
        rows, cols, sqdist = map(np.concatenate, zip(*parts, strict=True))
        return {"rows": rows, "cols": cols, "sqdist": sqdist}

    return search


def pair_stream(threads):
    """The plain loop: the quadratic form, and the rest only on an update."""

    def learn(data):
        M, b = data["M"].copy(), float(data["b"])
        C, projected, signed = float(data["C"]), data["psd"] == "each", data["variant"] == "PALS"
        V = data["X"][0::2].astype(np.float64) - data["X"][1::2]
        n_updates = 0
        for v, y in zip(V, np.where(data["same"], 1.0, -1.0), strict=True):
            loss = 1 - y * (b - v @ M @ v)
            if loss <= 0 and not signed:
                continue
            s = 1 + (v @ v) ** 2
            step = loss / (s + 1 / (2 * C)) if signed else min(C, loss / s)
            M -= (step * y) * np.outer(v, v)
            b += step * y
            n_updates += 1
            if projected:
                values, vectors = np.linalg.eigh(M)
                M = (vectors * np.maximum(values, 0)) @ vectors.T
                b = max(1.0, b)
        return {"M": M, "n_updates": n_updates}

    return learn


def kernel_pola(threads):
    """POLA over the pairs learned so far, M = Σ A_ij δ_i δ_jᵀ; the Gram matrix is rebuilt.

    The eigenvalues of M are those of RᵀAR where RRᵀ is the Gram matrix of the differences δ.
    """

    def learn(data):
        X, gamma = data["X"], float(data["gamma"])

        def kernel(P, Q):
            sqdist = np.square(P).sum(1)[:, None] + np.square(Q).sum(1) - 2 * P @ Q.T
            return np.exp(-gamma * np.maximum(sqdist, 0))

        def inner(P, Q):
            """Inner products of differences of pairs in feature space."""
            (a, b), (c, d) = (X[P[:, 0]], X[P[:, 1]]), (X[Q[:, 0]], X[Q[:, 1]])
            return kernel(a, c) - kernel(a, d) - kernel(b, c) + kernel(b, d)

        learned, A, b = np.empty((0, 2), np.int64), np.empty((0, 0)), 0.0
        for pair, y in zip(data["pairs"], np.where(data["same"], 1.0, -1.0), strict=True):
            g = inner(learned, pair[None])[:, 0]
            loss = 1 - y * (b - g @ A @ g)
            if loss <= 0:
                continue
            length2 = inner(pair[None], pair[None])[0, 0]
            step = loss / (1 + length2**2)
            learned = np.vstack([learned, pair])
            A = np.pad(A, (0, 1))
            A[-1, -1] = -step * y
            b = max(1.0, b + step * y)
            values, vectors = np.linalg.eigh(inner(learned, learned))
            kept = values > 1e-12 * values[-1]
            root = vectors[:, kept] * np.sqrt(values[kept])
            back = vectors[:, kept] / np.sqrt(values[kept])
            values, vectors = np.linalg.eigh(root.T @ A @ root)
            A = back @ (vectors * np.maximum(values, 0)) @ vectors.T @ back.T
        difference = inner(np.arange(len(X)).reshape(-1, 2), learned)
        q = np.einsum("nk,kl,nl->n", difference, A, difference)
        return {"distance": np.sqrt(np.maximum(q, 0)), "n_updates": len(learned)}

    return learn


def labelled_stream(threads):
    """The plain loop of PA-I, PAM-I, AROW or CW, on dense or sparse rows."""
    step_of = {"PA": _capped, "PAM": _capped, "AROW": _regularised, "CW": _confident}

    def learn(data):
        name, covariance = str(data["learner"]), str(data["covariance"])
        step = step_of[name](data)
        if "values" in data:
            return _learn_sparse(data, step)
        X, y = data["X"], data["y"]
        d = X.shape[1]
        w, sigma, n_updates = np.zeros(d), np.eye(d), 0
        for x, label in zip(X, y, strict=True):
            m = label * (w @ x)
            if name != "CW" and m >= 1:
                continue
            g = x if covariance == "none" else sigma @ x
            tau, beta = step(m, x @ g)
            if tau == 0:
                continue
            w += (tau * label) * g
            if covariance != "none":
                sigma -= beta * np.outer(g, g)
            n_updates += 1
        return {"w": w, "n_updates": n_updates}

    return learn


def _learn_sparse(data, step):
    """The diagonal form on the stored values of each row only."""
    values, features, starts = data["values"], data["features"], data["starts"]
    w, precision, n_updates = np.zeros(int(data["width"])), np.ones(int(data["width"])), 0
    for i, label in enumerate(data["y"]):
        here = features[starts[i] : starts[i + 1]]
        x = values[starts[i] : starts[i + 1]]
        m = label * (w[here] @ x)
        if m >= 1 or not len(x):
            continue
        g = x / precision[here]
        u = x @ g
        tau, beta = step(m, u)
        w[here] += (tau * label) * g
        precision[here] += beta / (1 - beta * u) * x * x
        n_updates += 1
    return {"w": w, "n_updates": n_updates}


def _capped(data):
    C = float(data["C"])
    return lambda m, u: (min(C, (1 - m) / u), 1 / (1 + u))


def _regularised(data):
    r = float(data["r"])
    return lambda m, u: ((1 - m) / (u + r), 1 / (u + r))


def _confident(data):
    phi = NormalDist().inv_cdf(float(data["eta"]))

    def step(m, u):
        if m >= phi * u:
            return 0.0, 0.0
        b = 1 + 2 * phi * m
        alpha = (-b + (b * b - 8 * phi * (m - phi * u)) ** 0.5) / (4 * phi * u)
        return alpha, 2 * alpha * phi / (1 + 2 * alpha * phi * u)

    return step


def row_sign_flips(threads, n_flips=10_000):
    """Claim that a method is better by sign flips of rows, whose variance is taken as it is."""

    def claim(wrong):
        d = wrong[..., :1].mean(axis=0) - wrong[..., 1:].mean(axis=0)
        d = d[:, d.any(axis=0)] / np.sqrt((d[:, d.any(axis=0)] ** 2).sum(axis=0))
        signs = np.random.default_rng(0).integers(0, 2, (n_flips, len(d)), dtype=np.int8) * 2.0 - 1
        return d.sum(axis=0).max() > np.quantile((signs @ d).max(axis=1), 0.95)

    return lambda data: {"claims": np.array([claim(wrong) for wrong in data["wrong"]])}


def corrected_t_tests(threads):
    """Claim that a method is better by t-tests over the folds' means.

    The variance is Nadeau and Bengio's for training rows that folds have in common; Bonferroni's
    factor is for the number of methods.
    """
    from scipy import stats

    def claim(wrong, folds):
        means = np.array(
            [
                outcomes[fold == number].mean(axis=0)
                for outcomes, fold in zip(wrong, folds, strict=True)
                for number in range(fold.max() + 1)
            ]
        )
        d = means[:, :1] - means[:, 1:]
        n_folds = len(means) // len(wrong)
        variance = (1 / len(d) + 1 / (n_folds - 1)) * d.var(axis=0, ddof=1)
        t = d.mean(axis=0) / np.sqrt(np.where(variance > 0, variance, np.inf))
        return (stats.t.sf(t, len(d) - 1) * d.shape[1] < 0.05).any()

    def claims(data):
        both = zip(data["wrong"], data["folds"], strict=True)
        return {"claims": np.array([claim(wrong, folds) for wrong, folds in both])}

    return claims


def independent_pairs(threads):
    """Claim that a metric is better by DeLong's variance of AUC, for pairs that share no items."""
    from scipy import stats

    def areas(distances, same):
        """Return the placement values of one split."""
        values = np.empty(len(same))
        for kind, sign in ((True, 1), (False, -1)):
            others = np.sort(sign * distances[same != kind])
            farther = len(others) - np.searchsorted(others, sign * distances[same == kind])
            values[same == kind] = farther / len(others)
        return values

    def claim(same, positions, splits, distances):
        n_same = same[positions].sum()
        gains, influence = np.zeros(len(distances)), np.zeros((len(distances), len(same)))
        for split in np.unique(splits):
            here = splits == split
            flags, tested = same[positions[here]], positions[here]
            for j, of_method in enumerate(distances[:, here]):
                values = areas(of_method, flags)
                centred = values - values[flags].mean()
                ratio = flags.sum() / (~flags).sum()
                gains[j] += values[flags].sum() / n_same
                influence[j, tested] += np.where(flags, 1, ratio) * centred / n_same
        differences = gains[1:] - gains[0]
        variances = ((influence[1:] - influence[0]) ** 2).sum(axis=1)
        critical = stats.norm.ppf(1 - 0.05 / len(differences))
        return (differences > critical * np.sqrt(variances)).any(), differences[-1]

    def claims(data):
        found = [
            claim(
                data["same"][i],
                data["positions"][start:end],
                data["splits"][start:end],
                data["distances"][:, start:end],
            )
            for i, (start, end) in enumerate(
                zip(data["starts"][:-1], data["starts"][1:], strict=True)
            )
        ]
        claimed, gains = zip(*found, strict=True)
        return {"claims": np.array(claimed), "gains": np.array(gains)}

    return claims


def clopper_pearson(threads):
    """Bounds as if all pairs were independent, and the thresholds that they allow."""
    from scipy.stats import beta, binom

    def bounds(data):
        n_pairs, rates = len(data["pairs"]), data["rates"]
        uppers, thresholds = [], []
        most = [int(binom.ppf(0.05, n_pairs, rate)) - 1 for rate in rates]
        for scores in data["scores"]:
            n_errors = np.searchsorted(scores, data["cuts"], side="right")
            uppers.append(beta.ppf(0.95, n_errors + 1, n_pairs - n_errors))
            thresholds.append([scores[allowed - 1] for allowed in most])
        return {"upper": np.array(uppers), "thresholds": np.array(thresholds)}

    return bounds


def thresholds_of_independent_pairs(threads):
    """The largest threshold that Clopper and Pearson's bound of all pairs allows."""
    from scipy.stats import binom

    return _thresholds(lambda rate, n_pairs: int(binom.ppf(0.05, n_pairs, rate)) - 1)


def thresholds_of_observed_rates(threads):
    """The largest threshold whose observed rate is at most the target."""
    return _thresholds(lambda rate, n_pairs: int(rate * n_pairs))


def _thresholds(allowed):
    def choose(data):
        thresholds = []
        for part in data["learned"]:
            chosen = part[data["pairs"]].all(axis=1) & ~data["same"]
            ordered = np.sort(data["distances"][chosen])
            n_errors = allowed(float(data["target"]), len(ordered))
            thresholds.append(ordered[n_errors - 1] if n_errors > 0 else np.nan)
        return {"thresholds": np.array(thresholds, dtype=float)}

    return choose


def cosine_distances(threads):
    """The distances of all pairs of rows of length 1, the same in every split."""

    def distances(data):
        first, second = data["pairs"].T
        found = 1 - np.einsum("ij,ij->i", data["X"][first], data["X"][second])
        return {"distances": np.tile(found, (len(data["tested"]), 1))}

    return distances
