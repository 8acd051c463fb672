"""``.. reproduced:: NAME`` shows the committed results of an experiment: tables and figures."""

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from likewise.experiments import tables
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


def _escaped(text):
    return text.replace("*", r"\*")


class Reproduced(Directive):
    required_arguments = 1

    def run(self):
        file = RESULTS / f"{self.arguments[0]}.json"
        results = json.loads(file.read_text(encoding="utf-8"))
        self.state.document.settings.env.note_dependency(str(file))
        node = nodes.Element()
        lines = StringList(restructured(results), source=file.name)
        self.state.nested_parse(lines, self.content_offset, node)
        return node.children


def setup(app):
    app.add_directive("reproduced", Reproduced)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
