"""Tables of every kind and scale: a model with finite answers, or an error of one sentence."""

from __future__ import annotations

import faulthandler
import random
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone

from fuzz.estimators import all_estimators, answers, quiet
from fuzz.report import Report

_SECONDS = 120  # that a case may take
_POWERS = (-320, -310, -300, -200, -160, -150, -100, -50, -8, 0, 8, 50, 77, 100, 150, 160, 200, 300)
_KINDS = (
    *("plain", "plain", "plain", "float32", "float32", "frame", "big-endian", "memory map"),
    *("sparse", "list", "columns", "strided", "read-only", "integers", "complex", "pairs"),
)
# Whose sentences may reach the user.
_SPEAKERS = ("likewise", "sklearn/utils", "sklearn/base.py", "fuzz")


def run(n: int, seed: int = 0) -> Report:
    """Fit and ask estimators in `n` cases."""
    choose, report = random.Random(seed), Report()
    estimators = all_estimators()
    with tempfile.TemporaryDirectory() as folder, quiet():
        for case in range(n):
            estimator = estimators[case % len(estimators)]
            X, y, described = _table(choose, Path(folder, "rows.npy"))
            faulthandler.dump_traceback_later(_SECONDS, exit=True)
            _try_case(estimator, X, y, f"{estimator} on {described} (case {case})", report)
            faulthandler.cancel_dump_traceback_later()
    return report


def _try_case(estimator: Any, X: Any, y: Any, described: str, report: Report) -> None:
    model = clone(estimator)
    if np.shape(X)[-1] > 500 and getattr(model, "record_every", None):
        model.set_params(record_every=None, psd="end")  # else it takes minutes, as it should
    fitted = False
    try:
        model.fit(X, y)
        fitted = True
        found = answers(model, X)
    except (ValueError, MemoryError) as error:
        message, speaker = str(error), traceback.extract_tb(error.__traceback__)[-1].filename
        if "\n" in message or not any(name in speaker for name in _SPEAKERS):
            report.fail(f"{described}: not one sentence of ours", error)
        elif fitted and "NaN" not in message:
            report.fail(f"{described}: fitted, but does not answer", error)
        else:
            report.add("refused")
        return
    except TypeError as error:  # scikit-learn's error for sparse data where dense are needed
        report.add("refused") if "Sparse data" in str(error) else report.fail(described, error)
        return
    except Exception as error:  # noqa: BLE001 - no other error may reach the user
        report.fail(described, error)
        return
    if all(np.isfinite(a).all() for a in found if a.dtype.kind == "f"):
        report.add("answered")
    else:
        report.fail(f"{described}: an answer is not finite")


def _table(choose: random.Random, path: Path) -> tuple[Any, Any, str]:
    """Return rows and labels of a random shape, scale and kind, and their description."""
    generator = np.random.default_rng(choose.randrange(2**32))
    n_rows, n_features = choose.choice(
        [(3, 2), (4, 1), (12, 3), (30, 4), (30, 4), (60, 5), (20, 40)]
    )
    if choose.random() < 0.01:
        n_rows, n_features = 12, 2000
    n_classes = choose.choice([1, 2, 2, 3, 3, n_rows])
    if choose.random() < 0.002:
        n_rows, n_features, n_classes = 10_000, 2, 10_000
    y = generator.permutation(np.arange(n_rows) % n_classes)
    X = generator.normal(size=(n_rows, n_features)) + (y % 7)[:, None]
    described = [f"{X.shape}", f"{n_classes} classes"]
    for change in choose.sample([_scale, _mix_scales, _shift, _degenerate, _outlier], 2):
        X = change(X, choose, described)
    if choose.random() < 0.3:
        y = np.array([f"class {label}" for label in y])
    X = _kind(X, choose, path, described)
    return X, y, ", ".join(described)


def _scale(X: Any, choose: random.Random, described: list[str]) -> Any:
    power = choose.choice(_POWERS)
    described.append(f"times 1e{power}")
    return X * float(f"1e{power}")


def _mix_scales(X: Any, choose: random.Random, described: list[str]) -> Any:
    powers = [choose.choice(_POWERS) for _ in range(X.shape[1])]
    described.append(f"columns times 1e{powers[:6]}")
    return X * np.array([float(f"1e{power}") for power in powers])


def _shift(X: Any, choose: random.Random, described: list[str]) -> Any:
    power = choose.choice([3, 6, 12, 100, 200, 307])
    described.append(f"plus 1e{power}")
    return X + float(f"1e{power}")


def _degenerate(X: Any, choose: random.Random, described: list[str]) -> Any:
    X = X.copy()
    match choose.randrange(5):
        case 0:
            described.append("all equal")
            X[:] = X[0]
        case 1:
            described.append("a constant column")
            X[:, 0] = 3.0
        case 2:
            described.append("duplicates")
            X[1::2] = X[: len(X[1::2])]
        case 3:
            described.append("zeros")
            X[:] = 0
        case _:
            described.append("copied columns")
            X[:, -1] = X[:, 0]
    return X


def _outlier(X: Any, choose: random.Random, described: list[str]) -> Any:
    value = choose.choice([1e30, 1e150, 1e160, 1e300, -1.7e308, np.nan, np.inf, 5e-324])
    described.append(f"an outlier {value}")
    X = X.copy()
    X[choose.randrange(len(X)), choose.randrange(X.shape[1])] = value
    return X


def _kind(X: Any, choose: random.Random, path: Path, described: list[str]) -> Any:
    """Return the same rows in another container or type."""
    kind = choose.choice(_KINDS)
    described.append(kind)
    match kind:
        case "float32":
            return X.astype(np.float32)
        case "frame":
            return pd.DataFrame(X, columns=[f"feature {i}" for i in range(X.shape[1])])
        case "big-endian":
            return X.astype(">f8")
        case "memory map":
            np.save(path, X)
            return np.load(path, mmap_mode="r")
        case "sparse":
            return sp.csr_matrix(np.where(np.abs(X) > np.median(np.abs(X)), X, 0))
        case "list":
            return X.tolist()
        case "columns":
            return np.asfortranarray(X)
        case "strided":
            return np.repeat(X, 2, axis=1)[:, ::2]
        case "read-only":
            X.flags.writeable = False
        case "integers":
            return np.nan_to_num(np.clip(X, -1000, 1000)).astype(np.int16)
        case "complex":
            return X + 1j
        case "pairs":
            return np.stack([X, X], axis=1)
    return X
