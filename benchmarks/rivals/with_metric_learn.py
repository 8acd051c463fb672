"""metric-learn, in an environment with an older scikit-learn."""


def _fit(estimator):
    def fit(data):
        return {"L": estimator().fit(data["X"], data["y"]).components_}

    return fit


def covariance(threads):
    from metric_learn import Covariance

    return _fit(Covariance)


def rca(threads):
    from metric_learn import RCA

    return _fit(RCA)  # its second argument is the chunk of each row: here the class


def lmnn(threads, n_neighbors=3):
    from metric_learn import LMNN

    return _fit(lambda: LMNN(n_neighbors=n_neighbors, random_state=0))


def itml(threads):
    from metric_learn import ITML_Supervised

    return _fit(lambda: ITML_Supervised(random_state=0))


def itml_pairs(threads):
    import numpy as np
    from metric_learn import ITML

    def fit(data):
        # Its bounds are compared with squared distances.
        model = ITML(max_iter=int(data["sweeps"]), tol=0)
        sign = np.where(data["same"], 1, -1)
        model.fit(data["X"][data["pairs"]], sign, bounds=np.square(data["bounds"]))
        return {"M": model.get_mahalanobis_matrix()}

    return fit


def mmc_pairs(threads, diagonal=False):
    import numpy as np
    from metric_learn import MMC

    def fit(data):
        model = MMC(diagonal=diagonal, max_iter=1000)
        model.fit(data["X"][data["pairs"]], np.where(data["same"], 1, -1))
        return {"M": model.get_mahalanobis_matrix()}

    return fit
