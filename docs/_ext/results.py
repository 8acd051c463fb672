"""The committed results of experiments in the documentation.

``.. reproduced:: NAME`` shows tables and figures of an experiment, ``.. agreement::`` how many
numbers of all experiments agree with the papers.
"""

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from likewise.experiments import EXPERIMENTS, tables
from likewise.experiments._tables import notes

RESULTS = Path(__file__).parent.parent / "results"


def restructured(results):
    """Return the results as lines of reStructuredText."""
    lines = [results["protocol"], "", *map(_escaped, notes(results))]
    lines += [*processor_time(results["experiment"]), ""]
    for table in tables(results):
        lines += [f".. list-table:: {table.title}", "   :header-rows: 1", ""]
        for cells in (table.heading, *table.rows):
            lines += [
                f"   {'*' if number == 0 else ' '} - {_escaped(cell)}"
                for number, cell in enumerate(cells)
            ]
        lines.append("")
    for figure in results["figures"]:
        lines += [f".. figure:: {figure['name']}.svg", f"   :alt: {figure['caption']}", ""]
        lines += [f"   {figure['caption']}", ""]
    return lines


def processor_time(name):
    """Return a sentence about the time of all trials, where it is stored."""
    path = _seconds_path(name)
    if not path.exists():
        return []
    seconds = json.loads(path.read_text(encoding="utf-8"))
    minutes = sum(seconds.values()) / 60
    return [f"The {len(seconds)} trials took {minutes:.0f} minutes of processor time."]


def agreement():
    """Return a table of how many numbers of the papers' own methods agree, by experiment."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    heading = ("Experiment", "Paper", "Numbers", "Same", "Better", "Worse", "Same or better")
    rows = [heading]
    for experiment in EXPERIMENTS.values():
        marks = _read(experiment.name)["own_marks"]
        if total := sum(marks.values()):
            share = f"{(total - marks['worse']) / total:.0%}"
            numbers = (total, marks["same"], marks["better"], marks["worse"], share)
            author = experiment.paper.split(",")[0].split()[-1]
            rows.append(
                (f"``{experiment.name}``", f"{author}: {experiment.place}", *map(str, numbers))
            )
    for cells in rows:
        lines += [f"   {'*' if n == 0 else ' '} - {cell}" for n, cell in enumerate(cells)]
    return [*lines, ""]


def _seconds_path(name):
    return RESULTS / f"{name}-seconds.json"


def _read(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _escaped(text):
    return text.replace("*", r"\*")


class Reproduced(Directive):
    required_arguments = 1

    def run(self):
        return _parsed(self, restructured(_read(self.arguments[0])), self.arguments)


class Agreement(Directive):
    def run(self):
        return _parsed(self, agreement(), EXPERIMENTS)


def _parsed(directive, lines, experiments):
    """Return the nodes of some lines, made again when the results of the experiments change."""
    for name in experiments:
        for path in (RESULTS / f"{name}.json", _seconds_path(name)):
            directive.state.document.settings.env.note_dependency(str(path))
    node = nodes.Element()
    directive.state.nested_parse(
        StringList(lines, source="results"), directive.content_offset, node
    )
    return node.children


def setup(app):
    app.add_directive("reproduced", Reproduced)
    app.add_directive("agreement", Agreement)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
