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


def agreement():
    """Return a table of how many numbers of the papers' own methods agree, by experiment."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    heading = ("Experiment", "Paper", "Numbers of its own methods", "Same", "Better", "Worse")
    rows = [heading]
    for experiment in EXPERIMENTS.values():
        marks = _read(experiment.name)["own_marks"]
        if total := sum(marks.values()):
            numbers = (total, marks["same"], marks["better"], marks["worse"])
            author = experiment.paper.split(",")[0].split()[-1]
            rows.append(
                (f"``{experiment.name}``", f"{author}: {experiment.place}", *map(str, numbers))
            )
    for cells in rows:
        lines += [f"   {'*' if n == 0 else ' '} - {cell}" for n, cell in enumerate(cells)]
    return [*lines, ""]


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
        directive.state.document.settings.env.note_dependency(str(RESULTS / f"{name}.json"))
    node = nodes.Element()
    directive.state.nested_parse(
        StringList(lines, source="results"), directive.content_offset, node
    )
    return node.children


def setup(app):
    app.add_directive("reproduced", Reproduced)
    app.add_directive("agreement", Agreement)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
