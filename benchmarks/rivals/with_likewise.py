"""likewise itself.

Each function imports all that its calls need, so that no call is charged with an import.
"""


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


def lmnn(threads, max_iter=500):
    import warnings

    from likewise import LMNN

    def fit(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that is stopped early on purpose warns
            model = LMNN(3, max_iter=max_iter, n_jobs=threads)
            return {"L": model.fit(data["X"], data["y"]).components_}

    return fit


def lmnn_parts(threads, max_iter):
    """Fit, and time the impostor searches and the rest of the steps."""
    import time

    from likewise import neighbors
    from likewise.objectives import LargeMargin

    search, evaluate = neighbors.within_radius_of_other_class, LargeMargin.value_and_gradient
    spent = {"searches": 0, "search_s": 0.0, "steps": 0}

    def timed_search(*args, **options):
        started = time.perf_counter()
        found = search(*args, **options)
        spent["search_s"] += time.perf_counter() - started
        spent["searches"] += 1
        return found

    def counted(self, L):
        spent["steps"] += 1
        return evaluate(self, L)

    neighbors.within_radius_of_other_class, LargeMargin.value_and_gradient = timed_search, counted
    fit = lmnn(threads, max_iter)

    def learn(data):
        spent.update(searches=0, search_s=0.0, steps=0)
        started = time.perf_counter()
        found = fit(data)
        rest = time.perf_counter() - started - spent["search_s"]
        each = {
            "search_s": spent["search_s"] / spent["searches"],
            "step_s": rest / spent["steps"],
        }
        return {**found, **spent, **each}

    return learn


def pair_stream(threads):
    import numpy as np

    from likewise import PAMetric

    def learn(data):
        pairs = np.arange(len(data["X"])).reshape(-1, 2)
        model = PAMetric(**_pa_options(data)).partial_fit_pairs(data["X"], pairs, data["same"])
        return {"M": model._state.dense(), "n_updates": model.n_updates_}

    return learn


def pairs_one_by_one(threads):
    from likewise import PAMetric

    def learn(data):
        model = PAMetric(**_pa_options(data))
        for a, b, same in zip(data["X"][0::2], data["X"][1::2], data["same"].tolist(), strict=True):
            model.learn_pair(a, b, same)
        return {"M": model._state.dense(), "n_updates": model.n_updates_}

    return learn


def _pa_options(data):
    start = data["M"], float(data["b"])
    variant, psd = str(data["variant"]), str(data["psd"])
    return {"variant": variant, "C": float(data["C"]), "psd": psd, "init": start, "scale": 1.0}


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
        model = ITML(bounds=data["bounds"])
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

    from likewise import AROW, CW, PA, PAM

    learners = {"AROW": AROW, "CW": CW, "PA": PA, "PAM": PAM}

    def learn(data):
        options = {name: float(data[name]) for name in ("C", "r", "eta") if name in data}
        if data["covariance"] != "none":
            options["covariance"] = str(data["covariance"])
        model = learners[str(data["learner"])](**options)
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
                rows = X if batch >= len(y) else X[part]  # a slice of sparse rows is a copy
                model.partial_fit(rows, y[part], classes=[-1, 1])
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

    estimator = getattr(likewise, name)

    def fit_one(data):
        model = estimator(n_jobs=threads, **options).fit(data["X"], data["y"])
        return {"L": model.components_, "gap": model.duality_gap_, "n_iter": model.n_iter_}

    return fit_one


def fit_pairs(threads, name):
    """Fit at the defaults; older checkouts run this, too."""
    import inspect
    import warnings

    import likewise

    estimator = getattr(likewise, name)
    has_threads = "n_jobs" in inspect.signature(estimator).parameters
    options = {"n_jobs": threads} if has_threads else {}

    def fit_one(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a row with a large gap says more than a warning
            model = estimator(**options).fit_pairs(data["X"], data["pairs"], data["same"])
        return {"L": model.components_, "gap": getattr(model, "duality_gap_", 1.0)}

    return fit_one


def verdicts(threads):
    import numpy as np

    from likewise.statistics import sign_flip_max_test

    def claim(wrong, folds):
        differences = wrong[..., :1].astype(float) - wrong[..., 1:]
        return sign_flip_max_test(differences, folds).significant.any()

    def claims(data):
        both = zip(data["wrong"], data["folds"], strict=True)
        return {"claims": np.array([claim(wrong, folds) for wrong, folds in both])}

    return claims


def pair_verdicts(threads):
    import numpy as np

    from likewise.statistics import auc_test, place_pairs

    def claim(pairs, same, positions, splits, distances):
        edges = np.flatnonzero(np.diff(splits)) + 1
        tested = np.split(positions, edges)
        placed = [place_pairs(np.split(of_method, edges), tested, same) for of_method in distances]
        test = auc_test(placed[0], placed[1:], pairs)
        return test.significant.any(), test.differences[-1]

    def claims(data):
        found = [
            claim(
                data["pairs"][i],
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


def adapter(threads):
    """One fit to labels and unlabelled rows, or to pairs."""
    import likewise as lw

    def adapt(data):
        fitted = lw.EmbeddingAdapter(n_jobs=threads)
        if "pairs" in data:
            fitted.fit_pairs(data["X"], data["pairs"], data["said"])
        else:
            fitted.fit(data["X"], data["said"], unlabelled=data["unlabelled"])
        return {"W": fitted.components_}

    return adapt


def adapted_maps(threads):
    """The map of each draw of judgements; all training rows are known."""
    import warnings

    import numpy as np

    import likewise as lw

    def adapt(data):
        maps, means = [], []
        for train, judged, said in zip(data["train"], data["judged"], data["said"], strict=True):
            adapter = lw.EmbeddingAdapter(n_jobs=threads)
            rows = np.flatnonzero(train)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # equal rows with different labels
                if judged.shape[1] == 1:
                    others = np.setdiff1d(rows, judged)
                    adapter.fit(data["X"][judged[:, 0]], said, unlabelled=data["X"][others])
                elif 0 < said.sum() < len(said):
                    adapter.fit_pairs(data["X"][rows], np.searchsorted(rows, judged), said)
            found = hasattr(adapter, "components_")
            d = data["X"].shape[1]
            maps.append(adapter.components_ if found else np.eye(d))
            means.append(adapter.mean_ if found else np.zeros(d))
        return {"W": np.array(maps, dtype=np.float32), "mean": np.array(means, dtype=np.float32)}

    return adapt
