"""Experiments that need no data; as a script, run one, slowly enough to be killed."""

import sys
import time

import numpy as np

from likewise.experiments import Experiment, Figure, Measure, Published, Size, reproduce


def run_toy(dataset, method, run, *, delay=0.0):
    time.sleep(delay)
    random = np.random.default_rng([len(dataset), len(method), run])
    A = random.normal(size=(30, 30))
    spread = float(np.linalg.eigvalsh(A @ A.T).max())
    return {"error": 10 + random.random() + 1e-3 * spread, "curve": random.random(4).tolist()}


def draw_toy(results):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas()
    axes = figure.add_subplot()
    for trial, result in results.items():
        axes.plot(result["curve"], label=trial.key)
    return figure


def toy(**changes):
    declared = {
        "name": "toy",
        "title": "nothing in particular",
        "paper": "A. Author, A paper",
        "place": "Table 7",
        "protocol": "Random numbers.",
        "run": run_toy,
        "measures": (Measure("error", "Error (%)"),),
        "full": Size(("a", "bb", "ccc"), ("x", "yy"), runs=4),
        "quick": Size(("a",), ("x",), runs=2),
        "published": (Published("a", "x", "error", 11.0, 0.5, runs=4),),
        "figures": (Figure("curves", "All curves.", draw_toy),),
    }
    return Experiment(**declared | changes)


def slow(delay):
    return toy(full=Size(("a", "bb", "ccc"), ("x", "yy"), runs=4, options={"delay": delay}))


if __name__ == "__main__":
    output, delay, n_jobs = sys.argv[1:]
    reproduce(slow(float(delay)), output=output, n_jobs=int(n_jobs), verbose=True)
