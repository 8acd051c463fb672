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
