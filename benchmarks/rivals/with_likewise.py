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


def pair_stream(threads):
    import numpy as np

    from likewise import PAMetric

    def learn(data):
        model = PAMetric(
            str(data["variant"]),
            float(data["C"]),
            psd=str(data["psd"]),
            init=(data["M"], float(data["b"])),
            scale=1.0,
        )
        pairs = np.arange(len(data["X"])).reshape(-1, 2)
        model.partial_fit_pairs(data["X"], pairs, data["same"])
        return {"M": model._state.dense(), "n_updates": model.n_updates_}

    return learn
