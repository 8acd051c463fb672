"""The Python that repeats what a report shows."""

from __future__ import annotations

from typing import Any

from likewise.evaluation import Comparison, PairComparison
from likewise.evaluation._trials import constructor_call
from likewise.methods import COMPARED_METHODS, COMPARED_ON_PAIRS

_LOADING = {
    False: "X, y = ...  # your rows and labels",
    True: "X, pairs, same = ...  # your rows, and the judged pairs of them",
}


def python_code(
    comparison: Comparison | PairComparison, shown: Any, loading: str | None, *, grouped: bool
) -> str:
    """Return code that compares again, and fits the metric that is shown to all rows.

    Parameters
    ----------
    comparison : Comparison or PairComparison
    shown : unfitted estimator
    loading : str or None
        Code that gives X and y, or X, pairs and same.
    grouped : bool
        Whether there are groups.
    """
    of_pairs = isinstance(comparison, PairComparison)
    data = "X, pairs, same" if of_pairs else "X, y"
    settings: dict[str, Any] = {"n_repeats": comparison.n_repeats}
    if isinstance(comparison, Comparison):
        settings |= {"n_neighbors": comparison.n_neighbors}
    settings |= {
        "standardize": comparison.standardized,
        "random_state": comparison.random_state,
    }
    options = [f"{name}={value!r}" for name, value in settings.items()]
    if grouped:
        options.insert(0, "groups=groups")
    names = [row.name for row in comparison.rows]
    usual = COMPARED_ON_PAIRS if of_pairs else COMPARED_METHODS
    arguments = [data] if names == list(usual) else [data, repr(names)]
    function = "compare_pairs" if of_pairs else "compare"
    ours = type(shown).__module__.startswith("likewise")
    model = f"lw.{constructor_call(shown)}" if ours else constructor_call(shown)
    fit = "fit_pairs" if of_pairs and hasattr(shown, "fit_pairs") else "fit"
    given = data if fit == "fit_pairs" or not of_pairs else "X"
    lines = ["import likewise as lw"]
    if comparison.standardized:
        lines.append("from sklearn.preprocessing import StandardScaler")
    if not ours:
        lines.append(f"from {type(shown).__module__} import {type(shown).__name__}")
    lines += ["", loading or _LOADING[of_pairs]]
    if grouped and "groups" not in (loading or ""):
        lines.append("groups = ...  # the group of each row")
    lines += [
        f"comparison = lw.evaluation.{function}(",
        f"    {', '.join(arguments)},",
        f"    {', '.join(options)},",
        ")",
        "print(comparison)",
        "",
        "# the metric of the figures, fitted to all rows",
    ]
    if comparison.standardized:
        lines.append("X = StandardScaler().fit_transform(X)")
    lines.append(f"model = {model}.{fit}({given})")
    return "\n".join(lines)
