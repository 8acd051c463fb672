"""Well-known data sets from OpenML, through scikit-learn, which verifies their checksums."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from likewise.datasets._dataset import Dataset
from likewise.datasets._download import TIMEOUT_SECONDS


class OpenMLEntry(NamedTuple):
    """A data id, and the shape it must have: an id that was reused would be noticed."""

    data_id: int
    n_rows: int
    n_features: int
    n_train: int | None = None


OPENML = {
    "balance": OpenMLEntry(11, 625, 4),
    "ecoli": OpenMLEntry(39, 336, 7),
    "glass": OpenMLEntry(41, 214, 9),
    "ionosphere": OpenMLEntry(59, 351, 34),
    "isolet": OpenMLEntry(300, 7797, 617),
    "letter": OpenMLEntry(6, 20000, 16),
    "mnist": OpenMLEntry(554, 70000, 784, n_train=60000),
    "pendigits": OpenMLEntry(32, 10992, 16),
    "satimage": OpenMLEntry(182, 6430, 36),
    "segment": OpenMLEntry(36, 2310, 19),
    "semeion": OpenMLEntry(1501, 1593, 256),
    "sonar": OpenMLEntry(40, 208, 60),
    "spambase": OpenMLEntry(44, 4601, 57),
    "usps": OpenMLEntry(41082, 9298, 256),
}


def load_openml(name: str, data_home: Path) -> Dataset:
    """Return the OpenML data set known as `name`, downloaded once into `data_home`."""
    from sklearn.datasets import fetch_openml

    entry = OPENML[name]
    try:
        with _network_timeout(TIMEOUT_SECONDS):
            bunch = fetch_openml(
                data_id=entry.data_id,
                as_frame=False,
                data_home=str(data_home),
                n_retries=1,
                parser="auto" if importlib.util.find_spec("pandas") else "liac-arff",
            )
    except OSError as error:
        raise ConnectionError(
            f"OpenML data set {entry.data_id} is out of reach: {error}"
        ) from error
    X = np.asarray(bunch.data, dtype=np.float32)
    if X.shape != (entry.n_rows, entry.n_features):
        raise ValueError(
            f"OpenML data set {entry.data_id} has shape {X.shape}, "
            f"not the {(entry.n_rows, entry.n_features)} of {name!r}"
        )
    classes, codes = np.unique(np.asarray(bunch.target).astype(str), return_inverse=True)
    train, test = slice(entry.n_train), slice(entry.n_train, None)
    split = entry.n_train is not None
    return Dataset(
        name=name,
        X=X[train],
        y=codes[train],
        X_test=X[test] if split else None,
        y_test=codes[test] if split else None,
        feature_names=tuple(map(str, bunch.feature_names)),
        classes=tuple(map(str, classes)),
        source=f"OpenML data set {entry.data_id}, rows in OpenML's order.",
    )


@contextmanager
def _network_timeout(seconds: float) -> Iterator[None]:
    # scikit-learn opens its connections without a timeout and offers no argument for one.
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
