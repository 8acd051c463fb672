"""How the documentation is built: ``make docs``, or ``sphinx-build -W docs docs/_build/html``."""

import inspect
import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

import matplotlib as mpl

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
mpl.use("Agg")

project = "likewise"
author = "The likewise developers"
copyright = "2026, the likewise developers"
version = release = installed_version("likewise")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "ranks",
    "registry",
    "results",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "code"

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's parameter lists say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,  # its page would load scripts from the network
    "within_subsection_order": "FileNameSortKey",
}

html_math_renderer = "mathml"  # formulas need neither a network nor a script
html_theme = "pydata_sphinx_theme"
html_title = "likewise"
html_static_path = ["_static"]
html_css_files = ["likewise.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "quickstart": [], "which_method": [], "changelog": []}
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "pygments_light_style": "tango",
}


def _skip_what_scikit_learn_documents(app, what, name, member, skip, options):
    """Leave out methods that come from scikit-learn: its own pages describe them."""
    module = getattr(inspect.unwrap(member), "__module__", None) if callable(member) else None
    return True if str(module).startswith("sklearn.") else None


def _escape_initials(app, what, name, obj, options, lines):
    """Keep a line that begins with an initial from being read as a list item "A."."""
    lines[:] = [re.sub(r"^(\s*)(?=[A-Z]\.(?: |$))", r"\1\\", line) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", _escape_initials)
    app.connect("autodoc-skip-member", _skip_what_scikit_learn_documents)
