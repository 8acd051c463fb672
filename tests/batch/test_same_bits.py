"""The same bits whatever BLAS's threads and the cores that the process may use."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, os, sys
if sys.argv[1] == "one core" and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
import likewise as lw
from likewise import _loops
from likewise._numerics.products import map_rows, product_over_rows
from likewise.constraints import random_pairs
random = np.random.default_rng(0)
X = random.normal(size=(1600, 320)) @ random.normal(size=(320, 320))
y = random.integers(0, 5, size=len(X))
learned = [learner.fit(X, y).components_ for learner in (lw.Whitening(), lw.RCA(), lw.FDA())]
L = random.normal(size=(300, 320))
first, second = np.ascontiguousarray(random_pairs(y, 5000, random_state=0).index.T)
Z = map_rows(X, L, None)
distances = _loops.pair_sqdist(Z, first, second)
spread = _loops.laplacian_apply(Z, first, second, distances)
learned += [Z, distances, spread, product_over_rows(spread, X, None)]
print([hashlib.sha256(np.asarray(array).tobytes()).hexdigest()[:12] for array in learned])
"""


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core has nothing to compare with")
def test_same_bits_on_one_core_and_on_all():
    answers = []
    for cores, threads in (("one core", "1"), ("all cores", "2"), ("all cores", "1")):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, cores],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(done.stdout)
    assert answers[0] == answers[1] == answers[2]
