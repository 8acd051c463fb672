"""The command that fits what a comparison recommends."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from likewise.cli import _options as option
from likewise.cli._table import Table
from likewise.evaluation import Comparison, PairComparison
from likewise.methods import METHODS, make_learner

_EXAMPLE_TARGET = "fmr<=0.01"


def fit_command(
    table: Table, comparison: Comparison | PairComparison, seed: int
) -> tuple[str, str] | None:
    """Return the recommended metric, or else the best one, and the command that fits it as tried.

    Returns None if the command line has no such metric, or cannot give it these parameters.
    """
    if all(row.failed is not None for row in comparison.rows):
        return None
    estimator = comparison.best_estimator()
    if type(estimator).__name__ == "Normalizer":  # the cosine, which has only a threshold to learn
        options = ["--method", "cosine", "--target", _EXAMPLE_TARGET]
        return "cosine", _command(table, options, with_pairs=True)
    method = METHODS.get(type(estimator).__name__)
    if method is None:
        return None
    settings = dict(_settings(estimator))
    try:
        repeated = make_learner(method.name, settings)
    except ValueError:
        return None
    if seeded := "random_state" in repeated.get_params(deep=False):
        repeated.set_params(random_state=seed)
    if repr(repeated.get_params()) != repr(estimator.get_params()):
        return None
    options = ["--method", method.name]
    for name, text in settings.items():
        options += ["--set", f"{name}={text}"]
    if seeded and seed != 0:
        options += ["--seed", str(seed)]
    return method.name, _command(table, options, with_pairs=hasattr(repeated, "fit_pairs"))


def _settings(estimator: Any) -> Iterator[tuple[str, str]]:
    """Return the parameters that are not the defaults, but for the seed."""
    defaults = type(estimator)().get_params(deep=False)
    for name, value in estimator.get_params(deep=False).items():
        if name != "random_state" and repr(value) != repr(defaults[name]):
            yield name, "none" if value is None else str(value)


def _command(table: Table, options: list[str], *, with_pairs: bool) -> str:
    """Return the command for this table, with pairs if they are to be learned from."""
    # Groups are for splits and thresholds; the metric is learned without that column. In an NPZ
    # file it is no column, but an array of its own.
    in_table = table.groups is not None and "npz" not in (table.format, table.data[-3:].lower())
    dropped = [*option.listed(table.drop), *([str(table.groups)] if in_table else [])]
    valued = {
        "--label": table.label,
        "--pairs": table.pairs if with_pairs else None,
        "--id": table.id,
        "--drop": ",".join(dropped) or None,
        "--format": table.format,
    }
    flags = {
        "--keep-na": table.keep_na,
        "--encode": table.encode,
        "--impute": table.impute,
        "--raw": table.raw,
    }
    words = ["likewise", "fit", table.data]
    for name, value in valued.items():
        words += [] if value is None else [name, str(value)]
    words += [name for name, given in flags.items() if given]
    return shlex.join([*words, *options])
