"""scikit-learn, with its fastest way to each result."""

import numpy as np


def radius_search(threads, group=256):
    """`radius_neighbors` takes one radius, so rows are grouped by radius.

    The fastest of one call with the largest radius, one call per class, trees (which also take one
    radius per row), and these groups with any of its algorithms.
    """
    from sklearn.neighbors import NearestNeighbors

    def search(data):
        Z, labels, radius2 = data["Z"], data["labels"], data["radius2"]
        neighbors = NearestNeighbors(algorithm="brute", n_jobs=threads).fit(Z)
        by_radius = np.argsort(radius2)
        parts = []
        for start in range(0, len(Z), group):
            queries = by_radius[start : start + group]
            radius = np.nextafter(np.sqrt(radius2[queries[-1]]), np.inf)
            distance, found = neighbors.radius_neighbors(Z[queries], radius)
            rows = np.repeat(queries, [len(cols) for cols in found])
            cols, sqdist = np.concatenate(found), np.concatenate(distance) ** 2
            keep = (sqdist < radius2[rows]) & (labels[rows] != labels[cols])
            parts.append((rows[keep], cols[keep], sqdist[keep]))
        rows, cols, sqdist = map(np.concatenate, zip(*parts, strict=True))
        return {"rows": rows, "cols": cols, "sqdist": sqdist}

    return search


def whitening(threads):
    from sklearn.decomposition import PCA

    def fit(data):
        pca = PCA(whiten=True).fit(data["X"])
        # As its transform does where the variance is 0.
        spread = np.sqrt(pca.explained_variance_)
        spread = np.maximum(spread, np.finfo(spread.dtype).eps)
        return {"L": pca.components_ / spread[:, None]}

    return fit


def nca_by_default(threads):
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    def fit(data):
        model = NeighborhoodComponentsAnalysis(random_state=0)
        return {"L": model.fit(data["X"], data["y"]).components_}

    return fit


def discriminant(threads, solver):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    def fit(data):
        lda = LinearDiscriminantAnalysis(solver=solver).fit(data["X"], data["y"])
        return {"L": lda.scalings_.T[: len(lda.classes_) - 1]}

    return fit


def nca(threads):
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    def fit(data):
        model = NeighborhoodComponentsAnalysis(init="identity", max_iter=int(data["max_iter"]))
        return {"L": model.fit(data["X"], data["y"]).components_}

    return fit


def doublet_svm(threads):
    from sklearn.svm import SVC

    def fit(data):
        V = data["X"][data["pairs"][:, 0]] - data["X"][data["pairs"][:, 1]]
        sign = np.where(data["same"], -1, 1)
        # The loosest tolerance that comes within 1e-4 of the best dual value on these data.
        svm = SVC(kernel="poly", degree=2, gamma=1, coef0=0, C=1, tol=0.05, cache_size=2000)
        svm.fit(V, sign)
        multipliers = np.zeros(len(sign))
        multipliers[svm.support_] = np.abs(svm.dual_coef_[0])
        return {"multipliers": multipliers}

    return fit


def passive_aggressive(threads):
    from sklearn.linear_model import SGDClassifier

    def learn(data):
        model = SGDClassifier(
            loss="hinge",
            penalty=None,
            learning_rate="pa1",
            eta0=float(data["C"]),
            fit_intercept=False,
            shuffle=False,
        )
        X, y, batch = data["X"], data["y"], int(data["batch"])
        for start in range(0, len(y), batch):
            part = slice(start, start + batch)
            model.partial_fit(X[part], y[part], classes=[-1.0, 1.0])
        return {"w": model.coef_[0]}

    return learn
