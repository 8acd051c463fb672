"""Ours."""


def radius_search(threads):
    from likewise.neighbors import within_radius_of_other_class

    def search(data):
        rows, cols, sqdist = within_radius_of_other_class(
            data["Z"], data["labels"], data["radius2"], n_jobs=threads
        )
        return {"rows": rows, "cols": cols, "sqdist": sqdist}

    return search


def fit(threads, name):
    import likewise

    estimator = getattr(likewise, name)

    def fit_one(data):
        return {"L": estimator().fit(data["X"], data["y"]).components_}

    return fit_one


def _pa_metric(data):
    from likewise import PAMetric

    return PAMetric(
        str(data["variant"]),
        float(data["C"]),
        psd=str(data["psd"]),
        init=(data["M"], float(data["b"])),
        scale=1.0,
    )


def lmnn(threads, max_iter=500):
    import warnings

    import likewise

    def fit(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that is cut short on purpose says so
            model = likewise.LMNN(3, max_iter=max_iter, n_jobs=threads)
            return {"L": model.fit(data["X"], data["y"]).components_}

    return fit


def pair_stream(threads):
    import numpy as np

    def learn(data):
        pairs = np.arange(len(data["X"])).reshape(-1, 2)
        model = _pa_metric(data).partial_fit_pairs(data["X"], pairs, data["same"])
        return {"M": model._state.dense(), "n_updates": model.n_updates_}

    return learn


def pairs_one_by_one(threads):
    def learn(data):
        model = _pa_metric(data)
        for a, b, same in zip(data["X"][0::2], data["X"][1::2], data["same"].tolist(), strict=True):
            model.learn_pair(a, b, same)
        return {"M": model._state.dense(), "n_updates": model.n_updates_}

    return learn


def kernel_pola(threads):
    from likewise import POLA

    def learn(data):
        model = POLA(
            kernel="rbf", kernel_params={"gamma": float(data["gamma"])}, scale=1.0, tol=1e-9
        )
        model.partial_fit_pairs(data["X"], data["pairs"], data["same"])
        return {
            "distance": model.pair_distance(data["A"], data["B"]),
            "n_updates": model.n_updates_,
        }

    return learn


def nca(threads):
    from likewise import NCA

    def learn(data):
        model = NCA(init="identity", max_iter=int(data["max_iter"]), n_jobs=threads)
        return {"L": model.fit(data["X"], data["y"]).components_}

    return learn


def itml(threads):
    from likewise import ITML

    def learn(data):
        model = ITML(bounds=data["bounds"], max_iter=int(data["sweeps"]), tol=0)
        return {"M": model.fit_pairs(data["X"], data["pairs"], data["same"]).mahalanobis_matrix()}

    return learn


def mcml(threads):
    from likewise import MCML

    def learn(data):
        model = MCML(tol=float(data["tol"]), n_jobs=threads)
        return {"L": model.fit(data["X"], data["y"]).components_}

    return learn


def mmc(threads, diagonal=False):
    from likewise import MMC

    def learn(data):
        model = MMC(diagonal=diagonal, shrinkage=0.0)
        return {"M": model.fit_pairs(data["X"], data["pairs"], data["same"]).mahalanobis_matrix()}

    return learn


def labelled_stream(threads, one_by_one=False):
    import numpy as np
    import scipy.sparse as sp

    import likewise

    def learn(data):
        options = {name: float(data[name]) for name in ("C", "r", "eta") if name in data}
        if data["covariance"] != "none":
            options["covariance"] = str(data["covariance"])
        model = getattr(likewise, str(data["learner"]))(**options)
        y, batch = data["y"], int(data["batch"])
        if one_by_one:
            for x, label in zip(data["X"], y.tolist(), strict=True):
                model.learn_one(x, label, classes=None)
        else:
            X = data.get("X")
            if X is None:
                shape = len(y), int(data["width"])
                X = sp.csr_matrix((data["values"], data["features"], data["starts"]), shape)
            for start in range(0, len(y), batch):
                part = slice(start, start + batch)
                model.partial_fit(X[part], y[part], classes=[-1, 1])
        return {"w": model.coef_[0], "n_updates": np.asarray(model.n_updates_)}

    return learn


def doublet_svm(threads):
    import numpy as np

    from likewise import DoubletSVM

    def fit_one(data):
        model = DoubletSVM(psd=False, scale=1.0, tol=1e-4, n_jobs=threads)
        model.fit_pairs(data["X"], data["pairs"], data["same"])
        multipliers = np.zeros(len(data["same"]))
        multipliers[model.support_pairs_] = np.abs(model.dual_coef_)
        return {"multipliers": multipliers}

    return fit_one


def margin_fit(threads, name, **options):
    import likewise

    def fit_one(data):
        model = getattr(likewise, name)(n_jobs=threads, **options).fit(data["X"], data["y"])
        return {"L": model.components_, "gap": model.duality_gap_, "n_iter": model.n_iter_}

    return fit_one
