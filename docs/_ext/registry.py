"""Tables that come from the code: the registry of methods, and parameters from docstrings.

``.. methods-table:: kind`` lists the methods of one kind, each linked to its page.
``.. parameter-table:: Class`` lists the parameters of a class with their defaults, as its docstring
describes them.
"""

import inspect
import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from numpydoc.docscrape import ClassDoc

import likewise
from likewise.methods import METHODS


def page_of(name):
    """Return the page of a class: ``MultiMetricLMNN`` is described in ``multi_metric_lmnn``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def parameter_rows(cls):
    """Return name, type, default and description of each parameter, in the order of the signature.

    Entries such as ``n_jobs, verbose`` describe several parameters at once.
    """
    signature = inspect.signature(cls)
    rows = []
    for entry in ClassDoc(cls)["Parameters"]:
        for name in entry.name.split(", "):
            default = signature.parameters[name].default
            shown = "" if default is inspect.Parameter.empty else repr(default)
            rows.append((name, entry.type, shown, entry.desc))
    return rows


class _Table(Directive):
    required_arguments = 1
    final_argument_whitespace = True

    def list_table(self, heading, widths, rows):
        """Parse a list-table whose cells are reStructuredText."""
        lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
        for cells in (heading, *rows):
            for place, cell in enumerate(cells):
                first, *others = cell if isinstance(cell, list) else [cell]
                lines.append(f"   {'* -' if place == 0 else '  -'} {first}")
                lines += [f"       {line}" for line in others]
        node = nodes.Element()
        self.state.nested_parse(StringList(lines, source="registry"), self.content_offset, node)
        return node.children


class MethodsTable(_Table):
    def run(self):
        kind = self.arguments[0]
        methods = [method for method in METHODS.values() if method.kind == kind]
        if not methods:
            raise self.error(f"no method is of the kind {kind!r}")
        rows = [
            [f":doc:`{m.name} </methods/{page_of(m.name)}>`", m.supervision, m.summary]
            for m in methods
        ]
        return self.list_table(["Class", "Learns from", "What it does"], "20 25 55", rows)


class ParameterTable(_Table):
    def run(self):
        cls = getattr(likewise, self.arguments[0])
        if not inspect.signature(cls).parameters:
            return [nodes.paragraph(text="None.")]
        rows = [
            [f"`{name}`", f"{kind}" if kind else "", f"`{default}`" if default else "", desc]
            for name, kind, default, desc in parameter_rows(cls)
        ]
        return self.list_table(["Parameter", "Type", "Default", "Meaning"], "16 20 12 52", rows)


def setup(app):
    app.add_directive("methods-table", MethodsTable)
    app.add_directive("parameter-table", ParameterTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
