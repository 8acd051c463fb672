"""The figures of growth show what was measured, for each method and engine."""

import importlib.util
import json

import numpy as np
import pytest
from benchmarks.base import OURS
from benchmarks.harness import HERE


@pytest.fixture
def drawing(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    spec = importlib.util.spec_from_file_location(
        "draw_growth", HERE.parent / "tools/draw_growth.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(module, "DRAWINGS", tmp_path)
    return module


def store(folder, name, fact, curves):
    rows = [
        {
            "rival": rival,
            "status": "ok" if seconds else "timed out",
            "values": {fact: {"median": x}, "fit_s": {"median": seconds}} if seconds else {},
        }
        for rival, points in curves.items()
        for x, seconds in points.items()
    ]
    (folder / f"{name}.json").write_text(json.dumps({"rows": rows}))


def test_curves_have_a_method_and_an_engine(drawing, tmp_path):
    workers = {1000: 2.0, 3000: 2.5, 9000: None}
    store(tmp_path, "growth-rows-rca", "rows", {OURS: {3000: 0.3, 1000: 0.1}})
    store(
        tmp_path,
        "growth-rows-lmnn",
        "rows",
        {OURS: {1000: 1.0, 3000: 9.0}, f"{OURS}, two workers": workers},
    )
    found = drawing.over_rows()
    assert [curve.label for curve in found] == ["LMNN", "LMNN, two workers", "RCA"]
    assert found[1].points == [(1000, 2.0), (3000, 2.5)]
    np.testing.assert_allclose([found[0].power, found[2].power], [2, 1])


def test_a_gpu_is_drawn_once_it_was_measured(drawing, tmp_path):
    store(tmp_path, "gpu-growth-rows-lmnn", "rows", {OURS: {1000: 1.0, 3000: 3.0}})
    assert [curve.label for curve in drawing.over_rows()] == ["LMNN, GPU"]


def test_all_figures_are_drawn(drawing, tmp_path):
    points = {300: 0.1, 1000: 0.4, 3000: 1.6}
    store(tmp_path, "growth-rows-nca", "rows", {OURS: points})
    store(tmp_path, "growth-features", "features", {OURS: points, f"{OURS}, NCA": points})
    store(tmp_path, "growth-pairs", "pairs", {OURS: points, f"{OURS}, MMC": points})
    drawing.main()
    for name in ("rows", "features", "pairs"):
        assert "</svg>" in (tmp_path / f"growth-{name}.svg").read_text()
    figure = drawing.draw(drawing.over("pairs", "ITML"), "pairs")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == ["ITML: power 1.2", "MMC: power 1.2"]
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["300", "1k", "3k"]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
