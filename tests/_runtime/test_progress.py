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
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import likewise as lw
from likewise._runtime import progress as module
from likewise._runtime.progress import Overall, expecting, overall_progress, progress
from likewise._runtime.time_left import TimeLeft
from likewise.testing._data import blobs


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


class SteppedTime:
    """Time that passes only when a test says so, for the threads of displays, too.

    A thread that waits is woken when its time comes, and has done what it then does when the clock
    goes on: when it waits again, or has ended.
    """

    def __init__(self, monkeypatch):
        self.now, self.changed = 0.0, threading.Condition()
        self.waiting, self.threads = {}, []
        names = SimpleNamespace(
            Event=lambda: _SteppedEvent(self), Thread=self.thread, Lock=threading.Lock
        )
        monkeypatch.setattr(module, "threading", names)
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))

    def thread(self, **options):
        self.threads.append(threading.Thread(**options))
        return self.threads[-1]

    def idle(self):
        """Return whether all threads that are alive wait for a later time."""
        alive = [thread for thread in self.threads if thread.is_alive()]
        return all(self.waiting.get(thread, -1) > self.now for thread in alive)

    def advance(self, seconds):
        """Let time pass, and let the threads do what they do in it."""
        end = self.now + seconds
        while True:
            while not self.idle():
                time.sleep(0.001)
            with self.changed:
                due = [until for until in self.waiting.values() if until <= end]
                self.now = min(due, default=end)
                self.changed.notify_all()
                if not due:
                    return


class _SteppedEvent:
    def __init__(self, time):
        self.time, self.set_already = time, False

    def is_set(self):
        return self.set_already

    def set(self):
        with self.time.changed:
            self.set_already = True
            self.time.changed.notify_all()

    def wait(self, seconds):
        thread, until = threading.current_thread(), self.time.now + seconds
        with self.time.changed:
            self.time.waiting[thread] = until
            self.time.changed.wait_for(lambda: self.set_already or self.time.now >= until)
            del self.time.waiting[thread]
        return self.set_already


@pytest.fixture
def stepped(monkeypatch):
    return SteppedTime(monkeypatch)


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


def test_steps_that_may_differ_tell_the_time_once_a_fifth_is_done_or_the_expected_one_is_over():
    clock = Clock()
    left = TimeLeft(10, clock, exact=True, expected=(20.0, 40.0), later=(1.0, 2.0))
    clock.now = 1
    left.report(1, None)
    assert left.bounds() == pytest.approx((20, 41))
    clock.now = 5
    left.report(2, None)
    assert left.bounds() == pytest.approx((21, 22))
    late = TimeLeft(10, clock, exact=True, expected=(2.0, 4.0), later=(1.0, 2.0))
    clock.now = 10
    late.report(1, None)
    assert late.bounds() == pytest.approx((46, 47))


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


def test_a_line_every_few_seconds_without_a_terminal(capsys, stepped):
    with progress("Search", None, shown=True):
        stepped.advance(17)  # one long piece of work, without a report
    assert capsys.readouterr().err.splitlines() == [
        f"Search: 0:00:{seconds:02} elapsed" for seconds in (5, 10, 15, 17)
    ]


def test_lines_have_numbers_and_the_time_left(capsys, stepped):
    with progress("Fit", 100, shown=True) as report:
        for done in range(60, 70):
            report(done, objective=1234.5678)
            stepped.advance(0.6)
    assert capsys.readouterr().err.splitlines() == [
        "Fit: 68/100, objective 1234.57, 0:00:05 elapsed, about 0:00:02 left",
        "Fit: 69/100, objective 1234.57, 0:00:06 elapsed",
    ]


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


def test_what_is_expected_is_shown_at_once_and_then_as_time_left(capsys, stepped):
    with expecting("Fit", lambda: (40.0, 90.0), shown=True):
        assert capsys.readouterr().err == "Fit: about 0:01:00 expected\n"
        with progress("Fit, search", None, shown=True):
            stepped.advance(6)
        with progress("Fit", 100, shown=True):
            stepped.advance(6)
    with progress("Another", 100, shown=True):
        stepped.advance(6)
    assert capsys.readouterr().err.splitlines() == [
        "Fit, search: 0:00:05 elapsed, about 0:00:55 left",
        "Fit, search: 0:00:06 elapsed",
        "Fit: 0/100, 0:00:05 elapsed, about 0:00:48 left",
        "Fit: 0/100, 0:00:06 elapsed",
        "Another: 0/100, 0:00:05 elapsed",
        "Another: 0/100, 0:00:06 elapsed",
    ]


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


def test_long_work_shows_lines_and_the_fit_in_it(capsys, stepped):
    with overall_progress("working\x1b[31m", after=2) as overall:
        stepped.advance(3)
        with progress("LMNN", 100, shown=False) as report:
            report(40, objective=2.5)
            stepped.advance(5)
        overall.move(3, 4, "NCA, fold 1")
        stepped.advance(5)
    assert capsys.readouterr().err.splitlines() == [
        r"working\x1b[31m: 0:00:02 elapsed",
        "LMNN: 40/100, objective 2.5, 0:00:04 elapsed",
        r"working\x1b[31m: 3/4, NCA, fold 1, 0:00:04 elapsed",
        r"working\x1b[31m: 3/4, NCA, fold 1, 0:00:05 elapsed",
    ]


def test_work_in_stages_shows_what_is_expected_and_then_as_time_left(capsys, stepped):
    with overall_progress("reporting", after=0.5) as overall:
        overall.expect(lambda: [(40.0, 80.0), (4.0, 10.0)])
        stepped.advance(4)
        overall.move(0, 10, "first")
        stepped.advance(2)
        overall.move(1, 10, "second")  # which may take longer than the first one
        stepped.advance(5)
        overall.move(2, 10, "third")
        stepped.advance(14)
        overall.move(5, 10, "sixth")
        stepped.advance(1)
        overall.move(0, 2, "the second stage")
        stepped.advance(4)
        overall.move(1, 2, "its end")
        stepped.advance(5)
    assert capsys.readouterr().err.splitlines() == [
        "reporting: about 0:01:03 expected",
        "reporting: 0:00:00 elapsed, about 0:01:02 left",
        "reporting: 0/10, first, 0:00:02 elapsed, about 0:01:01 left",
        "reporting: 1/10, second, 0:00:06 elapsed, about 0:00:56 left",
        "reporting: 2/10, third, 0:00:12 elapsed, about 0:00:30 left",
        "reporting: 2/10, third, 0:00:16 elapsed, about 0:00:25 left",
        "reporting: 5/10, sixth, 0:00:22 elapsed, about 0:00:27 left",
        "reporting: 1/2, its end, 0:00:04 elapsed, about 0:00:04 left",
        "reporting: 1/2, its end, 0:00:09 elapsed",
    ]


def test_what_is_expected_is_said_when_it_is_known(capsys, stepped):
    with overall_progress("comparing", after=0.5) as overall:
        stepped.advance(1)
        overall.expect(lambda: [(40.0, 80.0)])
        stepped.advance(5)
    assert capsys.readouterr().err.splitlines() == [
        "comparing: 0:00:00 elapsed",
        "comparing: about 0:00:57 expected",
        "comparing: 0:00:04 elapsed, about 0:00:52 left",
        "comparing: 0:00:05 elapsed",
    ]


def test_a_display_waits_for_what_is_expected():
    overall, shown = Overall("comparing"), []
    display = threading.Thread(target=lambda: shown.append(overall.news()))

    def stages():
        display.start()
        display.join(0.1)
        assert display.is_alive()
        return [(40.0, 80.0)]

    overall.expect(stages)
    display.join()
    assert shown == ["comparing: about 0:00:57 expected"]
    assert overall.news() is None


def test_the_next_stage_may_have_as_many_steps(capsys, stepped):
    with overall_progress("comparing", after=0.5) as overall:
        overall.expect(lambda: [(2.0, 8.0), (40.0, 80.0)])
        overall.move(0, 10, "first ranking")
        overall.move(9, 10, "first ranking")
        overall.move(0, 10, "all rows")
        stepped.advance(1)
    shown = capsys.readouterr().err.splitlines()
    assert shown[1] == "comparing: 0/10, all rows, 0:00:00 elapsed, about 0:00:56 left"


def test_what_is_wrong_with_the_arguments_is_left_for_the_work_to_say(capsys, stepped):
    def stages():
        raise ValueError("there is no method LMMN")

    with overall_progress("comparing", after=0.5) as overall:
        overall.expect(stages)
        stepped.advance(1)
    assert capsys.readouterr().err.splitlines() == [
        "comparing: 0:00:00 elapsed",
        "comparing: 0:00:01 elapsed",
    ]


def test_a_command_shows_what_is_expected_of_fits_without_iterations(capsys, stepped):
    with overall_progress("working"):
        with expecting("RCA", lambda: (40.0, 90.0), shown=False):
            stepped.advance(4)
        stepped.advance(4)
    assert capsys.readouterr().err.splitlines() == [
        "RCA: 0:00:02 elapsed, about 0:00:58 left",
        "working: 0:00:07 elapsed",
        "working: 0:00:08 elapsed",
    ]


def test_fits_that_are_steps_of_others_are_not_shown(capsys, stepped):
    with overall_progress("comparing", nested=False), progress("LMNN", 100, shown=False):
        stepped.advance(3)
    assert capsys.readouterr().err.splitlines() == [
        "comparing: 0:00:02 elapsed",
        "comparing: 0:00:03 elapsed",
    ]


def test_no_thread_of_the_display_is_left_after_an_error(capsys):
    with pytest.raises(ValueError, match="oops"), overall_progress("working", after=0):
        raise ValueError("oops")
    assert not [t for t in threading.enumerate() if t.name == "likewise progress"]
