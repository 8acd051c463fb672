"""``likewise fit``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from likewise._runtime.progress import overall_progress
from likewise._runtime.validation import pluralize
from likewise.base import time_limit as limited_time
from likewise.cli import _options as option
from likewise.cli._describe import promise_text
from likewise.cli._output import check_model_output, print_facts, show, show_estimate
from likewise.cli._suggestions import suggest_data, suggest_method
from likewise.cli._table import Table, table_options
from likewise.methods import METHODS, make_learner
from likewise.pair_classifier import PairClassifier
from likewise.tables import TableModel


@click.command()
@click.argument("data", shell_complete=suggest_data)
@option.options(
    *table_options,
    click.option(
        "--method",
        metavar="NAME",
        shell_complete=suggest_method,
        help="See likewise info --methods.  [required]",
    ),
    click.option(
        "--set", "settings", metavar="KEY=VALUE", multiple=True, help="A parameter of the method."
    ),
    click.option("--target", help="Decide pairs by a threshold with this promise: fmr<=0.01."),
    click.option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Stop then, with the best model so far.",
    ),
    option.seed_option,
    option.dry_run_option,
    option.output_option("the model", "model.safetensors"),
    option.json_option,
)
def fit(
    method: str | None,
    settings: tuple[str, ...],
    target: str | None,
    time_limit: float | None,
    seed: int,
    dry_run: bool,
    output: Path,
    json_file: Path | None,
    **given: Any,
) -> None:
    """Fit a method to DATA and save the model.

    DATA is the name of a data set, a CSV, TSV, Parquet, NPZ or NPY file, or - for stdin. It has a
    column of labels, or --pairs says which rows are the same.

    \b
    Examples:
      likewise fit flowers.csv --label species --method LMNN --set n_neighbors=5
      likewise fit shop.csv --label brand --encode --impute --method RCA --target "fmr<=0.01"
      likewise fit products.csv --pairs judged.csv --id product --method ITML
      cat flowers.csv | likewise fit - --label species --method NCA --time-limit 60
    """
    table = Table(**given)
    check_model_output(output, {"--json": json_file}, table.inputs)
    if method is None:
        raise ValueError(
            "Missing option '--method': likewise info --methods lists the names, and likewise "
            "compare says which method suits the data."
        )
    learner = learner_for(method, option.settings_of(settings), target, seed)
    if table.groups is not None and target is None:
        raise ValueError("--groups needs --target: subjects are split for the threshold only")
    # None: there may be a column of labels.
    required = learner.__sklearn_tags__().target_tags.required or None
    found = table.read(labelled=required, grouped_by_label=True)
    judged = table.judged_pairs(found)
    model = TableModel(learner, encode=table.encode, impute=table.impute, standardize=not table.raw)
    options = {} if found.table.groups is None else {"groups": found.table.groups}
    if judged is not None and not hasattr(model, "fit_pairs"):
        raise ValueError(
            f"{method} does not learn from pairs; likewise info --methods says which do."
        )
    if dry_run:
        n_pairs = None if judged is None else len(judged[0])
        show_estimate(json_file, model.estimate(found.table, found.table.y, n_pairs=n_pairs))
        return
    start = time.perf_counter()
    with limited_time(time_limit), overall_progress(f"fitting {method}"):
        if judged is not None:
            model.fit_pairs(found.table, *judged, **options)
        else:
            model.fit(found.table, found.table.y, **options)
    model.save(output)
    facts = describe_fit(model, time.perf_counter() - start) | {"written": str(output)}
    if "promise" in facts:
        facts["promise"] = promise_text(facts["promise"], table.label, found.dataset is not None)
    show(json_file, facts, lambda: print_facts(facts))


def learner_for(method: str, settings: dict[str, str], target: str | None, seed: int) -> Any:
    """Return the method, or a PairClassifier of it; each gets the settings that it has."""
    if method.lower() == "cosine":
        return _cosine_judge(settings, target)
    metric = make_learner(method)
    if "random_state" in metric.get_params(deep=False):
        settings = {"random_state": str(seed)} | settings
    if target is None:
        return make_learner(method, settings)
    own = set(PairClassifier().get_params(deep=False)) - {"metric", "target"}
    if METHODS[type(metric).__name__].kind not in ("metric", "online metric"):
        raise ValueError(f"--target needs a metric, but {type(metric).__name__} is none.")
    of_metric = {key: text for key, text in settings.items() if key in metric.get_params()}
    of_judge = {key: text for key, text in settings.items() if key not in of_metric and key in own}
    unknown = {key: settings[key] for key in settings if key not in of_metric | of_judge}
    metric = make_learner(method, of_metric | unknown)
    judge = make_learner("PairClassifier", of_judge)
    return judge.set_params(metric=metric, target=target)


def _cosine_judge(settings: dict[str, str], target: str | None) -> Any:
    """Return a PairClassifier of the cosine, which learns nothing but the threshold."""
    if target is None:
        raise ValueError(
            "cosine has nothing to learn but a threshold: say --target, such as --target "
            "'fmr<=0.01'; for an index, scale rows to length 1 and take the Euclidean distance."
        )
    return make_learner("PairClassifier", settings).set_params(metric="cosine", target=target)


def describe_fit(model: TableModel, seconds: float) -> dict[str, Any]:
    """Return what a fit gave."""
    inner = model.model_
    facts: dict[str, Any] = {
        "model": " ".join(repr(inner).split()),
        "columns": f"{pluralize(model.n_features_in_, 'column')}, as "
        f"{pluralize(inner.n_features_in_, 'number')} each row",
        "seconds": round(seconds, 3),
    }
    metric = getattr(inner, "metric_", inner)
    for name in ("objective_", "n_iter_", "converged_"):
        if hasattr(metric, name):
            facts[name.strip("_")] = np.asarray(getattr(metric, name)).item()
    for name in ("threshold_", "promise_"):
        if hasattr(inner, name):
            facts[name.strip("_")] = getattr(inner, name)
    return facts
