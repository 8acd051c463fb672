"""Tables and a figure of the benchmark of all methods, for the page *Which method?*.

``.. method-ranks::`` is the table of methods, ``.. rank-intervals::`` their average ranks as
a figure, and ``.. ranked-data::`` the table of data sets. They read ``results/which-method.json``.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.stats
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from registry import page_of

from likewise.statistics import average_ranks, critical_difference
from likewise.statistics.ranks import rank_methods

RESULTS = Path(__file__).parent.parent / "results" / "which-method.json"
RELEVANT = 0.02
_BASELINE, _NOT_LEARNED = "Euclidean", "cosine"


@dataclass(frozen=True)
class Standing:
    """What the data sets show about one method; errors are shares."""

    name: str
    rank: float
    interval: tuple[float, float]
    pair_rank: float
    n_better: int
    n_worse: int
    worst_loss: float
    cpu_seconds: float
    peak_bytes: float


def standings(results):
    """Return the methods, the best average rank first.

    Better and worse: by at least 2 points than the Euclidean distance. Intervals: Student's t over
    data sets.
    """
    names = list(next(iter(results.values()))["errors"])
    errors, eers, seconds, peaks = (
        np.array([[data[what][name] for name in names] for data in results.values()])
        for what in ("errors", "eers", "cpu_seconds", "peak_bytes")
    )
    ranks, n = rank_methods(errors), len(errors)
    half = scipy.stats.t.ppf(0.975, n - 1) * ranks.std(axis=0, ddof=1) / np.sqrt(n)
    means, pair_ranks = average_ranks(errors), average_ranks(eers)
    gains = errors[:, [names.index(_BASELINE)]] - errors
    found = [
        Standing(
            name,
            rank=float(means[j]),
            interval=(float(means[j] - half[j]), float(means[j] + half[j])),
            pair_rank=float(pair_ranks[j]),
            n_better=int((gains[:, j] >= RELEVANT).sum()),
            n_worse=int((gains[:, j] <= -RELEVANT).sum()),
            worst_loss=max(0.0, -float(gains[:, j].min())),
            cpu_seconds=float(np.median(seconds[:, j])),
            peak_bytes=float(np.median(peaks[:, j])),
        )
        for j, name in enumerate(names)
    ]
    return sorted(found, key=lambda one: one.rank)


def method_rows(results):
    return [
        [
            one.name
            if one.name == _NOT_LEARNED
            else f":doc:`{one.name} </methods/{page_of(one.name)}>`",
            f"{one.rank:.1f} ({one.interval[0]:.1f}–{one.interval[1]:.1f})",
            f"{one.pair_rank:.1f}",
            f"{one.n_better}" if one.name != _BASELINE else "–",
            f"{one.n_worse}" if one.name != _BASELINE else "–",
            f"{100 * one.worst_loss:.1f}" if one.name != _BASELINE else "–",
            "below 1" if one.cpu_seconds < 0.001 else f"{1000 * one.cpu_seconds:.0f}",
            "below 0.1" if one.peak_bytes < 1e5 else f"{one.peak_bytes / 1e6:.1f}",
        ]
        for one in standings(results)
    ]


def data_rows(results):
    rows = []
    for name, data in sorted(results.items(), key=lambda item: item[0].lower()):
        errors = data["errors"]
        best = min(errors, key=errors.get)
        rows.append(
            [
                name,
                f"{data['n_samples']} × {data['n_features']}, {data['n_classes']}",
                f"{errors[_BASELINE]:.1%}",
                f"{best} {errors[best]:.1%}",
                data["outcome"] + (f" {data['recommended']}" if data["outcome"] == "use" else ""),
            ]
        )
    return rows


def interval_drawing(results):
    """Return average ranks with intervals as SVG, in the colour of the text around it."""
    found = standings(results)
    left, right, row, top = 104, 352, 22, 30
    scale = (right - left) / (len(found) - 1)

    def x(rank):
        return left + scale * (rank - 1)

    bottom = top + row * len(found)
    described = "; ".join(f"{one.name} {one.rank:.1f}" for one in found)
    lines = [
        f'<svg class="drawing" viewBox="0 0 360 {bottom + 40}" role="img" '
        'aria-labelledby="ranks-title ranks-desc" font-family="inherit" font-size="13">',
        '<title id="ranks-title">Average ranks of the methods with 95 % intervals</title>',
        f'<desc id="ranks-desc">{described}. The table below has the same numbers.</desc>',
        '<g stroke="currentColor" fill="currentColor">',
    ]
    for tick in range(1, len(found) + 1, 2):
        lines.append(
            f'<line x1="{x(tick):.1f}" y1="{top - 6}" x2="{x(tick):.1f}" y2="{bottom}" '
            'stroke-opacity="0.2"/>'
            f'<text x="{x(tick):.1f}" y="{top - 12}" text-anchor="middle" stroke="none">'
            f"{tick}</text>"
        )
    for number, one in enumerate(found):
        y = top + row * number + row / 2
        low, high = one.interval
        lines.append(
            f'<text x="{left - 12}" y="{y + 4:.1f}" text-anchor="end" stroke="none">'
            f"{one.name}</text>"
            f'<line x1="{x(low):.1f}" y1="{y}" x2="{x(high):.1f}" y2="{y}" stroke-width="2"/>'
            f'<circle cx="{x(one.rank):.1f}" cy="{y}" r="4"/>'
        )
    difference = critical_difference(len(found), len(results))
    y = bottom + 14
    lines.append(
        f'<line x1="{left}" y1="{y}" x2="{left + scale * difference:.1f}" y2="{y}" '
        'stroke-width="4"/>'
        f'<text x="{left}" y="{y + 20}" stroke="none">'
        f"critical difference, {difference:.1f} ranks</text></g></svg>"
    )
    return "\n".join(lines)


class _FromResults(Directive):
    def read(self):
        self.state.document.settings.env.note_dependency(str(RESULTS))
        return json.loads(RESULTS.read_text(encoding="utf-8"))

    def table(self, heading, widths, rows):
        lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
        for cells in (heading, *rows):
            lines += [
                f"   {'*' if place == 0 else ' '} - {cell}" for place, cell in enumerate(cells)
            ]
        node = nodes.Element()
        self.state.nested_parse(StringList(lines, source=RESULTS.name), self.content_offset, node)
        return node.children


class MethodRanks(_FromResults):
    def run(self):
        heading = [
            "Method",
            "Average rank",
            "Rank, EER",
            "Better on",
            "Worse on",
            "Largest loss, points",
            "Fit, ms",
            "Memory, MB",
        ]
        return self.table(heading, "18 20 11 11 11 14 10 11", method_rows(self.read()))


class RankedData(_FromResults):
    def run(self):
        heading = ["Data", "Rows × features, classes", "Euclidean", "Lowest error", "Verdict"]
        return self.table(heading, "22 24 14 24 22", data_rows(self.read()))


class RankIntervals(_FromResults):
    def run(self):
        return [nodes.raw("", interval_drawing(self.read()), format="html")]


def setup(app):
    app.add_directive("method-ranks", MethodRanks)
    app.add_directive("ranked-data", RankedData)
    app.add_directive("rank-intervals", RankIntervals)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
