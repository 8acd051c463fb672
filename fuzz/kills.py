"""Processes killed while they save: the file is the old model or the new one, never a part."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from pathlib import Path

import numpy as np

import likewise as lw
from fuzz.report import Report


def run(n: int, seed: int = 0) -> Report:
    """Kill `n` processes that overwrite one file again and again."""
    choose, report = random.Random(seed), Report()
    models = [lw.Whitening().fit(np.random.default_rng(k).normal(size=(300, 60))) for k in (0, 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        for case in range(n):
            _kill_while_saving(models, path, seconds=choose.uniform(0.0, 0.05))
            unfinished = len(list(Path(folder).iterdir())) - path.exists()
            try:
                if path.exists():
                    found = lw.load(path).components_
                    assert any(np.array_equal(found, model.components_) for model in models)
                models[0].save(path)
                assert list(Path(folder).iterdir()) == [path], "an unfinished file stays"
                report.add("killed while writing" if unfinished else "killed in between")
            except Exception as error:  # noqa: BLE001 - whatever a torn file raises
                report.fail(f"case {case}, seed {seed}", error)
    return report


def _kill_while_saving(models: list[lw.Whitening], path: Path, seconds: float) -> None:
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                model.save(path)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
