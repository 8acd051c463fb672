"""pylmnn, in an environment with an older stack."""


def lmnn(threads, n_neighbors=3):
    from pylmnn import LargeMarginNearestNeighbor

    def fit(data):
        model = LargeMarginNearestNeighbor(n_neighbors=n_neighbors, random_state=0, n_jobs=threads)
        return {"L": model.fit(data["X"], data["y"]).components_}

    return fit
