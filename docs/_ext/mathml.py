"""Write formulas as MathML, which browsers show by themselves: no script, no network, no LaTeX."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

# Docutils knows only parentheses that grow by themselves, not those of a chosen size.
_OPENING = re.compile(r"\\[bB]igg?l?(?=\s*(\(|\[|\\\{))")
_CLOSING = re.compile(r"\\[bB]igg?r?(?=\s*(\)|\]|\\\}))")


def _mathml(tex, as_block):
    growing = _CLOSING.sub(r"\\right", _OPENING.sub(r"\\left", tex))
    return tex2mathml(growing, as_block=as_block)


def _visit_inline(translator, node):
    translator.body.append(_mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _visit_block(translator, node):
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_mathml(node.astext(), as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
