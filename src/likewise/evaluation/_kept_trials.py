"""Finished fits of a comparison in a file, from which an interrupted one continues."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise._runtime.journal import Journal
from likewise._runtime.version import __version__
from likewise.evaluation._checks import Problem
from likewise.evaluation._trials import Fold, Trial, constructor_call


class KeptTrials:
    """The trials of a comparison that are done, by method, repeat and fold.

    Parameters
    ----------
    path : Path
        The file; created if it does not exist.
    problem : Problem
    estimators : mapping of str to estimator
    settings : mapping
        What else decides the result. A file of other data, methods or settings is refused.
    """

    def __init__(
        self,
        path: Path,
        problem: Problem,
        estimators: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> None:
        calls = {name: constructor_call(estimator) for name, estimator in estimators.items()}
        header = {
            "likewise": __version__,
            "data": fingerprint(problem),
            "methods": calls,
            "settings": dict(settings),
        }
        self._journal = Journal(path, header)
        self._found = {
            (record["method"], record["repeat"], record["fold"]): record
            for record in self._journal.records
        }

    def __enter__(self) -> KeptTrials:
        return self

    def __exit__(self, *exception: object) -> None:
        self._journal.close()

    def __len__(self) -> int:
        return len(self._found)

    def find(self, name: str, fold: Fold) -> Trial | str | None:
        """Return a trial that is done, why it failed, or None if it is still to be done."""
        record = self._found.get((name, fold.repeat, fold.number))
        if record is None:
            return None
        if record["failed"] is not None:
            return str(record["failed"])
        bits = np.frombuffer(base64.b64decode(record["wrong"]), dtype=np.uint8)
        return Trial(
            wrong=np.unpackbits(bits, count=len(fold.y_test)).astype(np.bool_),
            eer=math.nan if record["eer"] is None else record["eer"],
            fit_seconds=record["fit_seconds"],
            rank=record["rank"],
            warned=record["warned"],
        )

    def keep(self, name: str, fold: Fold, done: Trial | str) -> None:
        """Write a trial, or why it failed, to the disk."""
        record: dict[str, Any] = {"method": name, "repeat": fold.repeat, "fold": fold.number}
        if isinstance(done, str):
            record |= {"failed": done}
        else:
            wrong = base64.b64encode(np.packbits(done.wrong).tobytes()).decode()
            record |= {
                "failed": None,
                "wrong": wrong,
                "eer": None if math.isnan(done.eer) else done.eer,
                "fit_seconds": done.fit_seconds,
                "rank": done.rank,
                "warned": done.warned,
            }
        self._journal.append(record)


def fingerprint(problem: Problem) -> str:
    """Return a number that changes with the data and their folds."""
    digest = hashlib.sha256()
    for part in (problem.X, problem.codes, problem.folds, problem.groups):
        array = np.ascontiguousarray(0 if part is None else part)
        digest.update(json.dumps([array.dtype.str, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
