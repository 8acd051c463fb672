"""Frames of radius searches: no row is farther than 1 from the centre, in whatever it is mapped."""

import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from loop_backends import _native, needs_native

from likewise._loops.distances import frames
from likewise._loops.distances.frames import frame_of, frame_of_mapped
from likewise._numerics.products import map_rows

if _native is not None:
    from likewise._loops.distances import compiled

pytestmark = pytest.mark.filterwarnings("error")


def farthest(frame, rows):
    return np.linalg.norm(frame.centred(rows), axis=1).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e30])
@pytest.mark.parametrize(("n", "d", "p"), [(1, 1, 1), (200, 3, 3), (200, 300, 2), (40, 5000, 3)])
def test_mapped_rows_are_within_1_of_the_centre(n, d, p, scale, dtype):
    random = np.random.default_rng(d)
    # Equal signs: rounding errors add up, and a row has the norm that bounds all.
    X = random.uniform(0.5, 1, (n, d)).astype(dtype)
    X[0] = -X.max(axis=0)
    L = scale * random.uniform(0.9, 1, (p, d))
    means = X.mean(axis=0, dtype=np.float64)
    largest = float(np.linalg.norm(np.abs(X).max(axis=0).astype(np.float64)))
    frame = frame_of_mapped(L, n, means, np.cov(X.T.astype(np.float64), bias=True), largest)
    assert farthest(frame, map_rows(X, L, 1)) <= 1
    assert np.frexp(frame.scale)[0] == 0.5  # a power of two


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e150, 1e153])
def test_squares_of_the_map_may_overflow_or_vanish(monkeypatch, scale):
    monkeypatch.setattr(frames, "screen_features", 2)
    monkeypatch.setattr(frames, "screen_rows_per_feature", 0)
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 20)) * np.arange(20, 0, -1)
    L = scale * random.normal(size=(20, 20))
    largest = float(np.linalg.norm(np.abs(X).max(axis=0)))
    frame = frame_of_mapped(L, 100, X.mean(axis=0), np.cov(X.T, bias=True), largest)
    assert 0.001 < farthest(frame, X @ L.T) <= 1
    usual = frame_of_mapped(L / scale, 100, X.mean(axis=0), np.cov(X.T, bias=True), largest)
    np.testing.assert_allclose(np.abs(frame.axes), np.abs(usual.axes), atol=1e-9)


def test_a_map_to_zero_has_a_frame():
    frame = frame_of_mapped(np.zeros((2, 3)), 5, np.ones(3), np.eye(3), 1.0)
    assert frame.scale == 1
    np.testing.assert_array_equal(frame.centre, [0, 0])


def test_more_features_than_axes_are_computed_for(monkeypatch):
    monkeypatch.setattr(frames, "_AXES_FEATURES", 50)
    X = np.random.default_rng(0).normal(size=(4000, 60))
    assert frame_of(X).axes is None
    assert frame_of(X[:, :50]).axes is not None


@needs_native
def test_threads_that_scan_the_same_rows_pack_them_once(monkeypatch):
    Z = np.random.default_rng(0).normal(size=(400, 5))
    labels, radius2 = np.arange(400) % 3, np.full(400, 2.0)
    packed = compiled.pack_rows(Z, labels, radius2, frame_of(Z), n_jobs=1)
    calls, pack = [], type(packed)._packed

    def recorded(self):
        calls.append(self)
        time.sleep(0.05)  # long enough for other threads to come while it packs
        return pack(self)

    monkeypatch.setattr(type(packed), "_packed", recorded)
    with ThreadPoolExecutor(8) as pool:
        scans = [pool.submit(compiled.scan_packed, packed, packed, n_jobs=1) for _ in range(16)]
        copies = [pool.submit(pickle.dumps, packed) for _ in range(16)]
        found = [scan.result()[0] for scan in scans]
    assert calls == [packed]
    copy = pickle.loads(copies[-1].result())
    expected = compiled.scan_packed(copy, copy)[0]
    assert calls == [packed, copy]
    for pairs in found:
        for side, of_copy in zip(pairs, expected, strict=True):
            np.testing.assert_array_equal(side, of_copy)


_BYTES_OF_PACKED_ROWS = """
import sys
import numpy as np
from likewise._loops.distances import compiled
from likewise._loops.distances.frames import frame_of

def resident():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmRSS"))
    return 1024 * int(line.split()[1])

d, dtype = int(sys.argv[1]), sys.argv[2]
Z = np.random.default_rng(0).normal(size=(60_000, d)).astype(dtype)
labels, radius2 = np.arange(len(Z)) % 3, np.full(len(Z), 1e-3)
frame = frame_of(Z)
compiled.pack_rows(Z[:2000], labels[:2000], radius2[:2000], frame, n_jobs=1).native  # warm
rows = compiled.pack_rows(Z, labels, radius2, frame, n_jobs=1)
before = resident()
rows.native
print((Z.nbytes + resident() - before) / rows.__sizeof__())
"""


@needs_native
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", [20, 164])  # without and with rows that are stored twice
def test_the_size_of_packed_rows_is_what_they_take(d, dtype):
    command = [sys.executable, "-c", _BYTES_OF_PACKED_ROWS, str(d), dtype]
    ratio = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 0.7 < ratio < 1.3
