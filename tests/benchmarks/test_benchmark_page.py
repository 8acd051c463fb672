"""The page says what was measured, and where we lose."""

import json

import pytest
from benchmarks import comparison, page
from benchmarks.base import OURS


def row(rival, seconds=None, megabytes=100.0, dataset="letter"):
    base = {"dataset": dataset, "shape": [20000, 16], "rival": rival, "ours": rival == OURS}
    if seconds is None:
        return {**base, "status": "failed", "detail": "TypeError: a | b", "values": {}}
    values = {
        name: {"median": x, "low": 0.9 * x, "high": 1.1 * x, "runs": [x]}
        for name, x in {"warm_s": seconds, "added_mb": megabytes, "pairs": 7}.items()
    }
    return {**base, "status": "ok", "detail": "", "values": values, "versions": {"numpy": "2"}}


@pytest.fixture
def results():
    return {
        "benchmark": "radius-search",
        "about": "All pairs.",
        "measures": ["warm_s", "added_mb"],
        "facts": ["pairs"],
        "targets": [
            {"dataset": "let*", "measure": "warm_s", "times": 3, "below": None},
            {"dataset": "*", "measure": "added_mb", "times": None, "below": 1000},
            {"dataset": "mnist", "measure": "added_mb", "times": None, "below": 1},
        ],
        "date": "2026-01-02T03:04:05+00:00",
        "commit": "abc1234",
        "versions": {"numpy": "2"},
        "cpu": "a processor",
        "cores": 2,
        "threads": 2,
        "load_average": [0.1, 1.9],
        "repeats": 5,
        "seeds": 1,
        "smoke": False,
        "rows": [row(OURS, 0.5), row("NumPy", 2.0, 40.0), row("peer")],
    }


def test_the_table_has_ratios_to_ours_and_rows_for_failures(results):
    text = page.render([results])
    assert "| likewise | 0.5 [0.45–0.55] | 1.00 | 100 [90–110] | 1.00 | 7 |" in text
    assert "| NumPy | 2 [1.8–2.2] | 4.00 | 40 [36–44] | 0.40 | 7 |" in text
    assert "| peer: *failed*, TypeError: a \\| b |" in text
    assert "letter (20000 × 16)" in text
    assert "a processor, 2 cores, 2 threads; at most 5 runs each; load average 0.1 before" in text


def losses(results):
    return [loss.sentence for loss in comparison.where_we_lose(results)]


def test_losses_are_computed(results):
    assert losses(results) == [
        "**radius-search**, letter: NumPy is better in added, MB: 40 against 100."
    ]
    results["rows"][1] = row("NumPy", 0.45)
    assert losses(results) == [
        "**radius-search**, letter: NumPy is better in warm, s: 0.45 against 0.5, though the runs "
        "overlap.",
        "**radius-search**, letter: target missed: warm, s: 3 × less than the best rival; reached "
        "0.90 × (NumPy).",
    ]


def test_the_cost_of_imports_is_no_loss(results):
    for line, cold_s, peak_mb in zip(results["rows"], (2.0, 0.3), (200.0, 60.0), strict=False):
        for name, value in (("cold_s", cold_s), ("peak_mb", peak_mb)):
            line["values"][name] = {"median": value, "low": value, "high": value, "runs": [value]}
    results |= {"measures": ["cold_s", "peak_mb"]}
    assert not losses(results)
    assert "| NumPy | 0.3 [0.3–0.3] | 0.15 | 60 [60–60] | 0.30 |" in page.section(results)


def test_a_few_megabytes_are_no_loss(results):
    results["rows"][1] = row("NumPy", 2.0, 95.5)
    assert not losses(results)
    results["rows"][1] = row("NumPy", 2.0, 94.5)
    assert len(losses(results)) == 1


def test_a_further_row_of_ours_is_no_rival(results):
    results["rows"].append({**row("likewise, converged", 0.2, 10.0), "ours": True})
    assert [sentence for sentence in losses(results) if "converged" in sentence] == []
    assert next(comparison.targets(results))["reached"] == "4.00 × (NumPy)"
    assert "| likewise, converged | 0.2 [0.18–0.22] | 0.40 |" in page.section(results)


def test_what_was_not_measured_for_ours_is_named(results):
    assert not comparison.not_compared(results)
    del results["rows"][0]["values"]["added_mb"]
    results["targets"] = []
    assert not losses(results)
    assert "we may lose there:\n\n- **radius-search**: added, MB.\n" in page.render([results])
    assert "| likewise | 0.5 [0.45–0.55] | 1.00 |  |  | 7 |" in page.section(results)


def test_losses_within_the_noise_stand_apart(results):
    for line, error in zip(results["rows"], (0.04, 0.03), strict=False):
        for name, value in (("error", error), ("error_se", 0.005)):
            line["values"][name] = dict.fromkeys(("median", "mean", "low", "high"), value)
    results |= {"measures": ["error"], "averaged": ["error"], "targets": []}
    (loss,) = comparison.where_we_lose(results)
    assert loss.within_noise
    assert "0.03 against 0.04, within two standard errors (0.00707)." in loss.sentence
    assert "Nowhere" in page.render([results])
    (loss,) = comparison.where_we_lose({**results, "seeds": 9})
    assert not loss.within_noise
    assert "Nowhere" not in page.render([{**results, "seeds": 9}])


def test_no_result_of_ours_is_a_loss(results):
    results["rows"][0] = row(OURS)
    first, *targets = losses(results)
    assert "we have no result: failed (TypeError" in first
    assert len(targets) == 2
    assert "no result" in page.render([results])


def test_nothing_lost_is_said(results):
    results["rows"][1] = row("NumPy", 2.0)
    assert "Nowhere, in what was measured here." in page.render([results])


def test_targets_show_what_was_reached(results):
    assert [(t["dataset"], t["reached"], t["verdict"]) for t in comparison.targets(results)] == [
        ("letter", "4.00 × (NumPy)", "reached"),
        ("letter", "100", "reached"),
    ]


def test_what_has_to_be_known_stands_beside_the_target(results):
    results["targets"][0]["note"] = "two steps of both"
    wanted = "warm, s: 3 × less than the best rival (two steps of both)"
    assert f"| {wanted} | letter | 4.00 × (NumPy) | reached |" in page.render([results])


def test_a_fact_may_have_a_target(results):
    wanted = {"dataset": "*", "measure": "pairs", "times": None, "below": 7}
    results["targets"] = [wanted, {**wanted, "below": 8}]
    assert [t["verdict"] for t in comparison.targets(results)] == ["missed", "reached"]


def test_means_stand_for_errors_on_several_splits(results):
    for line, runs in zip(results["rows"], ([0.2, 0.2, 0.8], [0.3, 0.5, 0.4]), strict=False):
        seen = {"median": runs[1], "mean": 0.4, "low": 0.2, "high": 0.8, "runs": runs}
        line["values"]["error"] = seen
    results |= {"measures": ["error"], "averaged": ["error"], "targets": []}
    assert "| NumPy | 0.4 [0.2–0.8] | 1.00 | 7 |" in page.section(results)
    assert not losses(results)
    results["averaged"] = []
    assert "| NumPy | 0.5 [0.2–0.8] | 2.50 | 7 |" in page.section(results)


@pytest.mark.parametrize(("seeds", "verdict"), [(1, "reached, within two standard"), (9, "missed")])
def test_what_is_within_the_noise_is_no_difference(results, seeds, verdict):
    for line, error in zip(results["rows"], (0.04, 0.03), strict=False):
        for name, value in (("error", error), ("error_se", 0.005)):
            line["values"][name] = dict.fromkeys(("median", "mean", "low", "high"), value)
    wanted = {"dataset": "*", "measure": "error", "times": 1, "below": None}
    results |= {"seeds": seeds, "targets": [{**wanted, "standard_error": "error_se"}, wanted]}
    first, second = comparison.targets(results)
    assert first["verdict"].startswith(verdict)
    assert second["verdict"] == "missed"


def test_a_target_may_be_for_another_row(results):
    wanted = {"dataset": "*", "measure": "warm_s", "times": None, "below": 1}
    results["targets"] = [{**wanted, "row": "NumPy"}]
    results["targets"] += [{**wanted, "times": 2, "below": None, "against": "peer"}]
    found, against = comparison.targets(results)
    assert against["reached"] == "no result"  # of the peer, whatever others have
    assert against["wanted"] == "warm, s: 2 × less than peer"
    assert found["wanted"] == "NumPy: warm, s: below 1"
    assert (found["reached"], found["verdict"]) == ("2", "missed")


def timed_out(rival, **bounds):
    detail = {"status": "timed out", "detail": "over 60 s", "lower_bounds": bounds}
    return {**row(rival), **detail}


def test_a_rival_that_timed_out_has_bounds_in_the_table(results):
    results["measures"] = ["warm_s", "cold_s", "added_mb"]
    results["rows"] = [row(OURS, 0.5), timed_out("peer", warm_s=30.0)]
    results["rows"][0]["values"]["cold_s"] = {"median": 2.0, "low": 2.0, "high": 2.0}
    line = "| peer: *timed out*, over 60 s | > 30 | > 60.00 |  |  |  |  |  |"
    assert line in page.section(results)
    results["rows"][1] = timed_out("peer", warm_s=30.0, cold_s=50.0)
    line = "| peer: *timed out*, over 60 s | > 30 | > 60.00 | > 50 | > 25.00 |  |  |  |"
    assert line in page.section(results)
    results["rows"] = [timed_out(OURS, warm_s=30.0), row("peer", 3.0)]
    assert "| > 30 |  |" in page.section(results)
    assert "| peer | 3 [2.7–3.3] | < 0.10 |" in page.section(results)


def test_a_rival_that_timed_out_gives_a_bound_for_targets(results):
    results["rows"] = [row(OURS, 0.5), timed_out("peer", warm_s=90.0)]
    first, *_ = comparison.targets(results)
    assert (first["reached"], first["verdict"]) == ("more than 180.00 × (peer)", "reached")
    results["rows"].append(row("NumPy", 1.0))  # the best rival is the one that counts
    first, *_ = comparison.targets(results)
    assert (first["reached"], first["verdict"]) == ("2.00 × (NumPy)", "missed")
    results["rows"] = [row(OURS, 0.5), timed_out("peer", warm_s=0.8), row("NumPy", 9.0)]
    first, *_ = comparison.targets(results)
    assert (first["reached"], first["verdict"]) == ("more than 1.60 × (peer)", "undecided")
    results["rows"] = [row(OURS, 0.5), timed_out("peer", cold_s=90.0)]  # nothing about warm calls
    first, *_ = comparison.targets(results)
    assert (first["reached"], first["verdict"]) == ("no result", "missed")


def test_a_bound_is_a_loss_only_where_ours_takes_longer(results):
    results |= {"targets": [], "rows": [row(OURS, 20.0), timed_out("peer", warm_s=30.0)]}
    assert not losses(results)
    results["rows"][0] = row(OURS, 40.0)
    assert losses(results) == [
        "**radius-search**, letter: peer timed out, and may be better in warm, s: more than 30 "
        "against 40."
    ]
    results["rows"] = [timed_out(OURS, warm_s=30.0), row("peer", 20.0), row("NumPy", 40.0)]
    assert losses(results) == [
        "**radius-search**, letter: we have no result: timed out (over 60 s).",
        "**radius-search**, letter: peer is better in warm, s: 20 against more than 30.",
    ]
    results["rows"] = [timed_out(OURS, warm_s=30.0), timed_out("peer", warm_s=20.0)]
    assert len(losses(results)) == 1


def test_results_without_marks_and_bounds_can_be_read(results):
    for line in results["rows"]:
        del line["ours"]
    results["rows"].append({**row("late"), "status": "timed out", "detail": "over 60 s"})
    assert "| late: *timed out*, over 60 s |  |  |" in page.render([results])
    assert len(losses(results)) == 1


def test_all_results_of_a_folder_make_one_page(results, tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(json.dumps({**results, "benchmark": name}))
    text = page.render(page.read(tmp_path))
    assert text.index("## a\n") < text.index("## b\n")
    assert text.index("## Where we lose") < text.index("## a\n")


def test_a_disturbed_row_is_named(results):
    assert not list(page.disturbances(results))
    results["rows"][1]["values"]["others_cores"] = {"median": 0.8}
    assert "NumPy on letter ran while other processes used 0.80 cores" in page.section(results)
    verdicts = [target["verdict"] for target in comparison.targets(results)]
    assert verdicts == ["reached, but disturbed", "reached"]  # memory does not mind neighbours
