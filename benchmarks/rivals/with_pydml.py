"""pyDML, in an environment with an older stack."""


def lmnn(threads, n_neighbors=3):
    from dml import LMNN

    def fit(data):
        return {"L": LMNN(k=n_neighbors).fit(data["X"], data["y"]).transformer()}

    return fit


def mcml(threads):
    import numpy as np
    from dml import MCML

    def fit(data):
        # Where rounding made an eigenvalue of M negative, its root is imaginary and tiny.
        return {"L": np.real(MCML().fit(data["X"], data["y"]).transformer())}

    return fit
