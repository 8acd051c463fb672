"""Pictures show the points that were measured, beside the powers that they should follow."""

import pytest
from benchmarks import plots
from benchmarks.base import OURS


def row(n_rows, search_s, rival=OURS, status="ok"):
    numbers = {"rows": n_rows, "search_s": search_s}
    values = {name: {"median": number} for name, number in numbers.items()}
    return {"rival": rival, "status": status, "values": values}


@pytest.fixture
def results():
    rows = [row(200, 4.0), row(100, 1.0), row(100, 9.0, rival="peer")]
    return {
        "benchmark": "growth",
        "plot": {"over": "rows", "powers": {"search_s": 2}},
        "rows": [*rows, {"rival": OURS, "status": "failed", "values": {}}],
    }


def test_curves_are_ours_in_order(results):
    assert plots.growth(results) == {"search_s": [(100, 1.0), (200, 4.0)]}


def test_the_power_is_the_slope_of_the_logarithms():
    assert plots.fitted_power([(1, 5), (10, 500), (100, 50000)]) == pytest.approx(2)
    assert plots.fitted_power([(1, 5), (10, 50)]) == pytest.approx(1)


def test_a_picture_is_drawn(results, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    plots.draw(results, tmp_path / "growth.svg", label=str.upper)
    drawn = (tmp_path / "growth.svg").read_text()
    assert "SEARCH_S, measured power 2.00" in drawn
