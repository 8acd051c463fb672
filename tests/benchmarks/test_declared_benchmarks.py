"""Every declared benchmark runs at n = 50, and its scores reject wrong answers."""

import ast

import benchmarks.declared  # noqa: F401 - importing it fills the registry
import numpy as np
import pytest
from benchmarks import comparison, data, page
from benchmarks.base import OURS, REGISTRY, WrongAnswerError
from benchmarks.harness import HERE, run
from benchmarks.process import NoResultError, call

ON_DASK = ("dask-lmnn", "lmnn-from-disk", "lmnn-growth-rows", "growth-rows-lmnn", "growth-rows-rca")


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("name", REGISTRY)
def test_every_benchmark_runs_small(name):
    if name in ON_DASK:
        pytest.importorskip("distributed", reason="needs likewise[dask]")
    if name.startswith("gpu-"):
        pytest.importorskip("torch", reason="PyTorch is not installed")
    results = run(REGISTRY[name], smoke=True)
    assert results["smoke"]
    for row in results["rows"]:
        absent = "no environment" in row["detail"] or "'cuvs'" in row["detail"]
        assert row["status"] == ("not installed" if absent else "ok"), (row["rival"], row["detail"])
        assert not (absent and row["rival"] == OURS)
        if not absent:
            assert {*results["measures"], *results["facts"]} <= row["values"].keys()
    assert name in page.section(results)


@pytest.mark.usefixtures("warm")
def test_a_rival_that_fails_in_a_warm_process_says_why(rival, arrays):
    limits = {"threads": 3, "budget_s": 2}
    for function, status, detail in (
        ("raising", "failed", "TypeError: got an unexpected keyword argument"),
        ("missing", "not installed", "No module named 'a_module_that_nobody_has'"),
        ("crashing", "failed", "killed by signal 6"),
        ("sleeping", "failed", "killed by signal 9"),
    ):
        with pytest.raises(NoResultError, match=detail) as caught:
            call(rival(function), arrays, **limits)
        assert caught.value.status == status
        measured, result = call(rival("good"), arrays, **limits)
        assert result["threads"] == 3
        assert measured["versions"]["numpy"] == np.__version__


def imports_inside(tree, inside=None):
    """Yield, for every import in a syntax tree, the innermost function that it is in."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield inside
        is_function = isinstance(node, (ast.FunctionDef, ast.Lambda))
        yield from imports_inside(node, node if is_function else inside)


@pytest.mark.parametrize("path", sorted((HERE / "rivals").glob("*.py")), ids=lambda path: path.stem)
def test_no_call_is_charged_with_an_import(path):
    """The baseline of memory is what a process holds after the imports of its rival."""
    for function in imports_inside(ast.parse(path.read_text())):
        assert function is None or function.args.args[0].arg == "threads", function.name


@pytest.fixture
def search():
    bench = REGISTRY["radius-search"]
    arrays = bench.prepare(*data.load("letter", smoke=True), 0)
    inside, _ = reference = bench.reference(arrays)
    rows, cols = np.divmod(inside, len(arrays["Z"]))
    return bench, arrays, reference, rows, cols


def test_the_radius_reference_is_the_definition(search):
    _, arrays, _, rows, cols = search
    Z, labels, radius2 = arrays["Z"], arrays["labels"], arrays["radius2"]
    by_hand = {
        (i, j)
        for i in range(len(Z))
        for j in range(len(Z))
        if labels[i] != labels[j] and ((Z[i] - Z[j]) ** 2).sum() < radius2[i]
    }
    assert set(zip(rows.tolist(), cols.tolist(), strict=True)) == by_hand
    assert 0 < len(by_hand) < np.count_nonzero(labels[:, None] != labels)


def test_radii_are_at_the_scale_where_the_median_target_is_one(search):
    _, arrays, *_ = search
    Z, labels = arrays["Z"], arrays["labels"]
    sqdist = ((Z[:, None] - Z) ** 2).sum(axis=2)
    sqdist[(labels[:, None] != labels) | np.eye(len(Z), dtype=bool)] = np.inf
    targets = np.sort(sqdist, axis=1)[:, :3]
    assert np.median(targets) == pytest.approx(1)
    np.testing.assert_allclose(arrays["radius2"], 1 + targets[:, 2])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda rows, cols: (rows[1:], cols[1:]), "1 of .* pairs are missing or extra"),
        (lambda rows, cols: (np.r_[rows, 0], np.r_[cols, 0]), "1 of .* are missing or extra"),
        (lambda rows, cols: (np.r_[rows, rows[0]], np.r_[cols, cols[0]]), "twice"),
    ],
)
def test_a_wrong_set_of_pairs_is_refused(search, change, sentence):
    bench, arrays, reference, rows, cols = search
    right = bench.score({"rows": rows, "cols": cols}, arrays, reference)
    assert right == {"pairs": len(rows), "on_the_edge": 0}
    rows, cols = change(rows, cols)
    with pytest.raises(WrongAnswerError, match=sentence):
        bench.score({"rows": rows, "cols": cols}, arrays, reference)


def test_a_pair_on_the_edge_may_fall_on_either_side(search):
    bench, arrays, _, rows, cols = search
    Z, radius2 = arrays["Z"], arrays["radius2"].copy()
    radius2[rows[0]] = ((Z[rows[0]] - Z[cols[0]]) ** 2).sum() * (1 + 1e-12)
    arrays = {**arrays, "radius2": radius2}
    reference = bench.reference(arrays)
    rows, cols = np.divmod(reference[0], len(Z))
    lost = (rows == search[3][0]) & (cols == search[4][0])
    assert lost.sum() == 1
    score = bench.score({"rows": rows[~lost], "cols": cols[~lost]}, arrays, reference)
    assert score == {"pairs": len(rows) - 1, "on_the_edge": 1}


def test_the_quality_of_closed_forms_tells_right_from_wrong():
    X, y = data.load("iris")
    centred = X - X.mean(axis=0)
    variances, axes = np.linalg.eigh(centred.T @ centred / len(X))
    white = axes.T / np.sqrt(variances)[:, None]
    quality = REGISTRY["closed-form-whitening"].quality
    assert quality(white, X, y)["not_white"] < 1e-10
    assert quality(1.5 * white, X, y)["not_white"] == pytest.approx(1.25)
    quality = REGISTRY["closed-form-fda"].quality
    best, worst = (quality(np.eye(4)[[axis]], X, y)["within_share"] for axis in (2, 1))
    assert best < 0.1 < 0.5 < worst  # petal length tells irises apart, sepal width does not


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    ("name", "measure"),
    [("mcml", "divergence"), ("mmc-full", "missing"), ("nca", "expected_error")],
)
def test_a_fast_but_worse_metric_is_seen(name, measure):
    """What is as fast but reaches less must not be called as good."""
    results = run(REGISTRY[name], smoke=True)
    ours = next(row for row in results["rows"] if row["rival"] == OURS)
    other = {**ours, "rival": "another", "ours": False, "values": {**ours["values"]}}
    worse = {"median": abs(ours["values"][measure]["median"]) * 1.1 + 0.01}
    results["rows"] = [{**ours, "values": {**ours["values"], measure: worse}}, other]
    wanted = comparison.label(measure)
    found = [t["verdict"] for t in comparison.targets(results) if t["wanted"].startswith(wanted)]
    assert any(verdict.startswith("missed") for verdict in found)
