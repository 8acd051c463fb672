"""Progress: lines where there is no terminal, a bar where there is one, and the time left."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise._runtime import progress as module
from likewise._runtime.progress import TimeLeft, expecting, overall_progress, progress
from likewise.testing._data import blobs


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def ranges(trace, total, end):
    """Return the range after each report (time, done, excess), relative to the truth, or None."""
    clock = Clock()
    left, found = TimeLeft(total, clock), []
    for clock.now, done, excess in trace:
        left.report(done, excess)
        bounds = left.bounds()
        found.append(None if bounds is None else np.array(bounds) / (end - clock.now))
    return found


def holds(bounds):
    return bounds[0] <= 1 + 1e-9 and bounds[1] >= 1 - 1e-9


@pytest.mark.parametrize(
    "log_excess",
    [
        lambda share: 8 * (1 - share),  # linear
        lambda share: 8 * (1 - np.sqrt(share)),  # sublinear
        lambda share: -4 * np.log(share),  # a power law
        lambda share: 8 * (1 - share**3),  # superlinear
        lambda share: 9 - 2 ** (share * np.log2(9)),  # quadratic
    ],
)
def test_the_time_is_in_the_range_for_regular_convergence(log_excess):
    shares = np.linspace(0.02, 0.97, 40)
    trace = [(30 * share, i, np.exp(log_excess(share))) for i, share in enumerate(shares)]
    found = ranges(trace, 10_000, 30.0)
    assert found[0] is None
    # Earlier, a sublinear decrease looks faster than it is; later, a superlinear one slower.
    known = [
        bounds
        for bounds, share in zip(found, shares, strict=True)
        if bounds is not None and 0.2 < share < 0.88
    ]
    assert len(known) > 15
    assert all(map(holds, known))


# The seconds of each report, and what it said of the stopping test as a multiple of the tolerance,
# as recorded on a machine with other work. The last report ended the fit.
RECORDED = {
    "LMNN, 10,000 digits of 164 features": (
        """
        2.45 3.67 4.71 6.22 7.92 10.43 13.26 16.34
        """,
        """
        73.3 66 36.1 21.8 8.58 1.83 1.17 0.83
        """,
    ),
    "LMNN, 3000 digits of 784 features": (
        """
        2.55 6.22 7.70 9.80 11.52 14.01 15.85 18.32 22.38 28.63 36.57 43.94 49.24 55.24
        62.60 68.16 73.69 80.40 86.42 90.62 94.62 98.69 107.03 111.16 115.43 120.25
        124.59 128.77 132.97 137.30
        """,
        """
        92.1 82.7 81.3 79.3 75.3 71 46.5 43.8 34.3 17.1 17 17 16.9 8.93 8.91 8.9 6.06
        4.22 3.42 2.86 2.85 2.37 2.36 2.36 2 1.88 1.88 1.12 1.12 0.822
        """,
    ),
    "LMNN, 1797 digits of 64 features, tol=1e-3": (
        """
        0.08 0.12 0.16 0.20 0.25 0.34 0.45 0.59 0.74 0.88 1.01 1.14 1.26 1.39
        """,
        """
        849 643 613 263 251 55.6 14.2 9.13 3.58 2.13 1.39 1.39 1.39 0.839
        """,
    ),
    "MultiMetricLMNN, 3000 letters": (
        """
        0.43 0.63 0.82 1.01 1.21 1.46 1.80 2.17 2.56 2.91 3.22 3.57 3.99 4.29 4.62 4.89
        5.19 5.46 5.73 6.02 6.39 6.76
        """,
        """
        98.6 95.1 93.8 91.5 86.8 79.1 39.1 14 7.54 4.88 4.86 4.86 4.86 4.48 4.48 4.47
        4.47 4.22 4.22 1.67 1.44 0.967
        """,
    ),
}


def test_ranges_of_recorded_fits():
    found = []
    for times, excesses in RECORDED.values():
        *times, end = map(float, times.split())
        trace = zip(times, range(len(times)), map(float, excesses.split()), strict=False)
        found += ranges(trace, None, end)
    known = [bounds for bounds in found if bounds is not None]
    assert len(known) > 0.6 * len(found)
    assert np.mean([holds(bounds) for bounds in known]) > 0.95


def test_without_a_trend_the_limit_of_iterations_counts_once_half_are_done():
    trace = [(float(i), 10 * i, 100.0) for i in range(1, 10)]
    found = ranges(trace, 100, end=10.0)
    assert found[:4] == [None] * 4
    np.testing.assert_allclose(found[4:], 1, rtol=1e-9)
    assert ranges([(1.0, 1, None), (2.0, 2, None)], None, 9.0) == [None] * 2
    assert ranges([(1.0, 1, np.inf), (2.0, 2, 0.0)], None, 9.0) == [None] * 2


def test_an_exact_number_of_iterations_tells_the_time_from_the_first_one_on():
    clock = Clock()
    left = TimeLeft(10, clock, exact=True)
    assert left.bounds() is None
    clock.now = 2
    left.report(1, None)
    assert left.bounds() == pytest.approx((18, 18))
    clock.now = 5
    assert left.bounds() == pytest.approx((15, 15))


def test_the_limit_of_iterations_ends_the_range():
    slow = [(float(i), i, np.exp(100 - i)) for i in range(1, 60)]
    known = [bounds for bounds in ranges(slow, 60, end=60.0) if bounds is not None]
    np.testing.assert_allclose([most for _, most in known], 1, rtol=1e-9)
    np.testing.assert_allclose(known[-1], 1, rtol=1e-9)


def test_the_time_left_begins_with_what_was_expected():
    clock = Clock()
    left = TimeLeft(None, clock, expected=(10.0, 40.0))
    assert left.bounds() == (10, 40)
    clock.now = 4
    left.report(1, 1e3)  # one report shows no trend
    assert left.bounds() == (6, 36)
    clock.now = 20
    assert left.bounds() == (0, 20)
    clock.now = 40
    assert left.bounds() is None


def test_expected_and_observed_ranges_are_intersected():
    def bounds(expected):
        clock = Clock()
        left = TimeLeft(None, clock, expected=expected)
        for clock.now in range(1, 6):
            left.report(clock.now, np.exp(10 - clock.now))
        return left.bounds()

    observed = bounds(None)
    assert observed == pytest.approx((1, 25))
    assert bounds((8.0, 20.0)) == pytest.approx((3, 15))
    assert bounds((1.0, 12.0)) == pytest.approx((1, 7))
    assert bounds((12.0, 90.0)) == pytest.approx((7, 25))
    assert bounds((90.0, 99.0)) == observed  # much faster than was expected
    assert bounds((0.1, 5.5)) == observed  # and slower


@pytest.mark.parametrize("factor", [0.6, 1.0, 1.7])
def test_ranges_of_recorded_fits_are_narrower_if_the_fits_were_expected(factor):
    widths = []
    for times, excesses in RECORDED.values():
        *times, end = map(float, times.split())
        clock = Clock()
        told = TimeLeft(None, clock, expected=(end * factor / 2, end * factor * 2))
        alone = TimeLeft(None, clock)
        for clock.now, excess in zip(times, map(float, excesses.split()), strict=False):
            told.report(1, excess)
            alone.report(1, excess)
            low, high = told.bounds()
            assert holds(np.array([low, high]) / (end - clock.now))
            if (before := alone.bounds()) is not None:
                widths.append((high - low) / (before[1] - before[0]))
    assert max(widths) <= 1 + 1e-9
    assert np.mean(widths) < 0.9


def test_time_passes_between_reports():
    clock = Clock()
    left = TimeLeft(None, clock)
    for clock.now in range(1, 6):
        left.report(clock.now, np.exp(10 - clock.now))
    middle = np.sqrt(5 * 5)
    assert left.bounds() == pytest.approx((middle / 5, middle * 5))
    clock.now = 8
    assert left.bounds() == pytest.approx((0, middle * 5 - 3))
    clock.now = 40
    assert left.bounds() is None  # later than was thought possible


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((10, 40), "about 0:00:20"),
        ((10, 50), "0:00:10 to 0:00:50"),
        ((0.2, 50), "at most 0:00:50"),
        ((7, 7), "about 0:00:07"),
        ((60, 7200), "0:01:00 to 2:00:00"),
        ((0.1, 0.9), "less than a second"),
    ],
)
def test_ranges_in_words(bounds, words):
    assert module._in_words(*bounds) == words


def test_a_line_every_few_seconds_without_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.05)
    with progress("Search", None, shown=True):
        time.sleep(0.4)  # one long piece of work, without a report
    lines = capsys.readouterr().err.splitlines()
    assert 3 <= len(lines) <= 9
    assert all(line == "Search: 0:00:00 elapsed" for line in lines)


def test_lines_have_numbers_and_the_time_left(capsys, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.05)
    with progress("Fit", 100, shown=True) as report:
        for done in range(60, 70):
            report(done, objective=1234.5678)
            time.sleep(0.02)
    *lines, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"Fit: 6\d/100, objective 1234\.57, 0:00:00 elapsed, .* left", lines[-1])
    assert last == "Fit: 69/100, objective 1234.57, 0:00:00 elapsed"


def test_no_thread_is_left_after_an_error(capsys):
    import threading

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), progress("Fit", 3, shown=True):
        raise KeyboardInterrupt
    assert threading.active_count() == before
    assert capsys.readouterr().err == "Fit: 0/3, 0:00:00 elapsed\n"


def test_notebooks_get_lines(monkeypatch):
    class NotebookStream(io.StringIO):  # what ipykernel puts in place of stderr is no terminal
        def isatty(self):
            return False

    stream = NotebookStream()
    monkeypatch.setattr(sys, "stderr", stream)
    lw.LMNN(1, verbose=1).fit(*blobs())
    assert re.search(
        r"^LMNN: \d+/500, objective [\d.e+-]+, 0:00:\d\d elapsed$", stream.getvalue(), re.M
    )


def test_lmnn_shows_what_is_expected_and_its_first_search(capsys):
    lw.LMNN(1, verbose=1).fit(*blobs())
    expected, first, *_, last = capsys.readouterr().err.splitlines()
    assert expected == "LMNN: less than a second expected"
    assert re.fullmatch(r"LMNN, first search: 0:00:\d\d elapsed", first)
    assert re.match(r"LMNN: \d+/500", last)


def test_a_bar_in_a_terminal():
    program = (
        "import likewise as lw; from likewise.testing._data import blobs;"
        "lw.LMNN(1, verbose=1).fit(*blobs())"
    )
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "150"}
    process = subprocess.Popen([sys.executable, "-c", program], stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait(60) == 0
    text = shown.decode()
    assert "LMNN, first search" in text
    assert "━" in text
    assert re.search(r"\d+/500, objective", text)


def test_what_is_expected_is_shown_at_once_and_then_as_time_left(capsys, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.05)
    with expecting("Fit", lambda: (40.0, 90.0), shown=True):
        assert capsys.readouterr().err == "Fit: about 0:01:00 expected\n"
        with progress("Fit, search", None, shown=True):
            time.sleep(0.4)
        with progress("Fit", 100, shown=True):
            time.sleep(0.4)
    with progress("Another", 100, shown=True):
        time.sleep(0.4)
    shown = capsys.readouterr().err.splitlines()
    left = r"about 0:0(1:00|0:5\d) left"  # in whole seconds, some lines later than others
    assert any(re.fullmatch(rf"Fit, search: 0:00:0\d elapsed, {left}", line) for line in shown)
    assert any(re.fullmatch(rf"Fit: 0/100, 0:00:0\d elapsed, {left}", line) for line in shown)
    assert [line for line in shown if "Another" in line and "left" in line] == []


def test_nothing_is_estimated_where_nothing_is_shown(capsys):
    def estimate():
        raise AssertionError("not to be called")

    with expecting("Fit", estimate, shown=False), progress("Fit", 3, shown=False) as report:
        report(1)
    assert capsys.readouterr().err == ""


def test_fits_are_estimated_only_if_they_are_verbose(monkeypatch):
    asked = []
    monkeypatch.setattr(lw.base.learner, "expected_seconds", lambda *a, **k: asked.append(a))
    X, y = blobs()
    lw.NCA().fit(X, y)
    lw.RCA().fit(X, y)
    assert asked == []
    learner = lw.NCA(verbose=1)
    learner.fit(X, y)
    assert [(found[0], found[1]) for found in asked] == [(learner, "fit")]


def test_several_passes_warn_once():
    X, y = blobs()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = lw.LMNN(1, n_passes=4, max_iter=1, tol=1e-9).fit(X, y)
    assert [one.category for one in caught] == [ConvergenceWarning]
    assert not model.converged_
    assert not [name for name in vars(model) if "not_converged" in name]


def test_short_work_shows_nothing(capsys):
    with overall_progress("working", after=30):
        lw.LMNN(max_iter=3, verbose=1).fit(*blobs())
    assert capsys.readouterr().err == ""


def test_long_work_shows_lines_and_the_fit_in_it(capsys, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.05)
    with overall_progress("working\x1b[31m", after=0.05) as overall:
        time.sleep(0.12)
        with progress("LMNN", 100, shown=False) as report:
            report(40, objective=2.5)
            time.sleep(0.12)
        overall.move(3, 4, "NCA, fold 1")
        time.sleep(0.12)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(r"working\x1b[31m: 0:00:00 elapsed")
    assert any(line.startswith("LMNN: 40/100, objective 2.5, ") for line in lines)
    assert any("3/4, NCA, fold 1, 0:00:00 elapsed" in line for line in lines)
    assert lines[-1].startswith(r"working\x1b[31m: 3/4")


def test_a_command_shows_what_is_expected_of_fits_without_iterations(capsys, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.05)
    with overall_progress("working", after=0.05):
        with expecting("RCA", lambda: (40.0, 90.0), shown=False):
            time.sleep(0.4)
        time.sleep(0.4)
    lines = capsys.readouterr().err.splitlines()
    left = r"about 0:0(1:00|0:5\d) left"
    assert re.fullmatch(rf"RCA: 0:00:0\d elapsed, {left}", lines[0])
    assert re.fullmatch(r"working: 0:00:0\d elapsed", lines[-1])


def test_fits_that_are_steps_of_others_are_not_shown(capsys, monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.02)
    with (
        overall_progress("comparing", after=0.02, nested=False),
        progress("LMNN", 100, shown=False),
    ):
        time.sleep(0.1)
    shown = capsys.readouterr().err
    assert "comparing" in shown
    assert "LMNN" not in shown


def test_no_thread_of_the_display_is_left_after_an_error(capsys):
    with pytest.raises(ValueError, match="oops"), overall_progress("working", after=0):
        raise ValueError("oops")
    assert not [t for t in threading.enumerate() if t.name == "likewise progress"]
