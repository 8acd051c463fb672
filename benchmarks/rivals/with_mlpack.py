"""mlpack."""


def lmnn(threads, n_neighbors=3):
    import mlpack

    def fit(data):
        found = mlpack.lmnn(input_=data["X"], labels=data["y"], k=n_neighbors, seed=1)
        return {"L": found["output"]}

    return fit
