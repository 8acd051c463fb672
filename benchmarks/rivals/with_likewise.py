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
    import time

    import numpy as np

    from likewise import PAMetric

    square = np.random.default_rng(0).normal(size=(800, 800))

    def product_rate():
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            square @ square
            seconds.append(time.perf_counter() - start)
        return 2 * len(square) ** 3 / min(seconds)

    flops = product_rate()

    def learn(data):
        model = PAMetric(
            str(data["variant"]),
            float(data["C"]),
            psd=str(data["psd"]),
            init=(data["M"], float(data["b"])),
            scale=1.0,
        )
        pairs = np.arange(len(data["X"])).reshape(-1, 2)
        start = time.perf_counter()
        model.partial_fit_pairs(data["X"], pairs, data["same"])
        seconds = time.perf_counter() - start
        return {
            "M": model._state.dense(),
            "n_updates": model.n_updates_,
            "seconds": seconds,
            "dgemm_flops": flops,
        }

    return learn
