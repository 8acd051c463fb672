"""likewise, PyTorch and cuVS on a GPU, with the rows already there.

A call moves the rows, computes once to compile and allocate, and then measures itself: `device_s`,
until the device has finished, and `device_mb`, the most that PyTorch had allocated. Without a GPU
only the few rows of a smoke run are accepted, on the processor.
"""

SMOKE_ROWS = 50
# A first computation below these is followed by three others, or by one: their median is measured.
REPEATED_BELOW_S = {5.0: 3, 15.0: 1}


def device_tools(threads):
    """Return functions that move arrays to the device and measure there."""
    import statistics
    import time

    import torch

    def move(*arrays):
        if torch.cuda.is_available():
            return [torch.as_tensor(array, device="cuda") for array in arrays]
        if len(arrays[0]) > SMOKE_ROWS:
            raise ImportError("this needs a CUDA device, and PyTorch finds none")
        return [torch.as_tensor(array) for array in arrays]

    def finish():
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    def timed(compute):
        finish()
        started = time.perf_counter()
        result = compute()
        finish()
        return result, time.perf_counter() - started

    def measure(compute):
        result, seconds = timed(compute)
        if not torch.cuda.is_available():
            return result, {"device_s": seconds, "device_mb": 0.0}
        repeats = [number for limit, number in REPEATED_BELOW_S.items() if seconds < limit]
        if repeats:
            seconds = statistics.median(timed(compute)[1] for _ in range(repeats[0]))
        return result, {
            "device_s": seconds,
            "device_mb": torch.cuda.max_memory_allocated() / 1e6,
        }

    return move, measure


def lmnn(threads, max_iter=500):
    import warnings

    from likewise import LMNN

    move, measure = device_tools(threads)

    def fit(data):
        X, y = move(data["X"], data["y"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model, measured = measure(lambda: LMNN(3, max_iter=max_iter).fit(X, y))
        found = {"L": model.components_, "objective": model.objective_}
        return {**found, "converged": model.converged_, **measured}

    return fit


def fit(threads, name):
    """Fit a method at its defaults."""
    import warnings

    import likewise

    move, measure = device_tools(threads)
    learner = getattr(likewise, name)()

    def fit_rows(data):
        X, y = move(data["X"], data["y"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model, measured = measure(lambda: learner.fit(X, y))
        return {"L": model.components_, "fit_s": measured["device_s"], **measured}

    return fit_rows


def nca(threads):
    import warnings

    from likewise import NCA

    move, measure = device_tools(threads)

    def fit(data):
        X, y = move(data["X"], data["y"])
        learner = NCA(init="identity", solver="lbfgs", tol=0.0, max_iter=int(data["max_iter"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model, measured = measure(lambda: learner.fit(X, y))
        return {"L": model.components_, **measured}

    return fit


def online(threads, on_host=False):
    """Learn from one batch of pairs, with any number of features on the device or `on_host`."""
    import warnings

    from likewise import PAMetric
    from likewise.online import _device_batches

    move, measure = device_tools(threads)
    _device_batches.MIN_DEVICE_FEATURES = 1

    def learn(data):
        X = data["X"] if on_host else move(data["X"])[0]
        pairs, same, psd = data["pairs"], data["same"], str(data["psd"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model, measured = measure(lambda: PAMetric(psd=psd).partial_fit_pairs(X, pairs, same))
        return {"M": model._state.dense(), "n_updates": model.n_updates_, **measured}

    return learn


def radius_search(threads, plain=False):
    """Search with LMNN's first radii; `plain` never uses Triton for the search itself."""
    import torch

    from likewise import neighbors
    from likewise.neighbors import _torch_radius

    move, measure = device_tools(threads)
    n_targets = 3

    def radii(Z, labels):
        farthest, every = torch.zeros(len(Z), dtype=torch.float64, device=Z.device), []
        for label in labels.unique():
            rows = torch.nonzero(labels == label)[:, 0]
            sqdist, _ = neighbors.nearest(Z[rows], Z[rows], n_targets, exclude_self=True)
            farthest[rows] = sqdist[:, -1]
            every.append(sqdist.reshape(-1))
        return farthest + torch.cat(every).median()

    def search(data):
        Z, labels = move(data["Z"], data["labels"])
        radius2 = radii(Z, labels)
        chosen = (
            _torch_radius.within_radius_of_other_class
            if plain
            else neighbors.within_radius_of_other_class
        )
        (rows, cols, _), measured = measure(lambda: chosen(Z, labels, radius2))
        found = {"rows": rows, "cols": cols, "radius2": radius2}
        return {**{name: part.cpu().numpy() for name, part in found.items()}, **measured}

    return search


def nearest(threads):
    from likewise import neighbors

    move, measure = device_tools(threads)

    def search(data):
        (X,) = move(data["X"])
        (sqdist, _), measured = measure(lambda: neighbors.nearest(X, X, int(data["k"])))
        return {"sqdist": sqdist.cpu().numpy(), **measured}

    return search


def nearest_by_topk(threads):
    """Search as a user of PyTorch would: products in tiles and top-k, in single precision."""
    import torch

    move, measure = device_tools(threads)

    def compute(X, k, n_rows=4096, n_cols=65_536):
        squares = X.square().sum(dim=1)
        out = []
        for top in range(0, len(X), n_rows):
            best = None
            for left in range(0, len(X), n_cols):
                columns = slice(left, left + n_cols)
                sqdist = squares[columns] - 2 * X[top : top + n_rows] @ X[columns].T
                near = torch.topk(sqdist, min(k, sqdist.shape[1]), dim=1, largest=False).values
                if best is not None:
                    near = torch.topk(torch.cat([best, near], 1), k, dim=1, largest=False).values
                best = near
            out.append(best + squares[top : top + n_rows, None])
        return torch.cat(out)

    def search(data):
        (X,) = move(data["X"])
        sqdist, measured = measure(lambda: compute(X, int(data["k"])))
        return {"sqdist": sqdist.cpu().numpy(), **measured}

    return search


def nearest_by_cuvs(threads):
    import torch
    from cuvs.neighbors import brute_force

    move, measure = device_tools(threads)

    def search(data):
        (X,) = move(data["X"])

        def compute():
            index = brute_force.build(X, metric="sqeuclidean")
            return torch.as_tensor(brute_force.search(index, X, int(data["k"]))[0], device=X.device)

        sqdist, measured = measure(compute)
        return {"sqdist": sqdist.cpu().numpy(), **measured}

    return search
