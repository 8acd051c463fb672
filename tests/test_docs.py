"""The documentation is complete, and its examples run."""

import doctest
import importlib
import importlib.util
import inspect
import re
import sys
import tomllib
from pathlib import Path

import click
import pytest
from test_readme import assert_command_exists, commands_in, public_estimators

import likewise as lw
from likewise import base, datasets, evaluation, testing
from likewise.base import NeighborVoter
from likewise.cli import main
from likewise.experiments import EXPERIMENTS
from likewise.methods import METHODS

DOCS = Path(__file__).parent.parent / "docs"
if not DOCS.is_dir():
    pytest.skip("the documentation is not part of this copy", allow_module_level=True)

MADE = {"_build", "gallery", "generated"}
PAGES = sorted(path for path in DOCS.rglob("*.rst") if not MADE & set(path.relative_to(DOCS).parts))
TEXT = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
MODULES = [
    "likewise",
    "likewise.base",
    "likewise.constraints",
    "likewise.datasets",
    "likewise.evaluation",
    "likewise.experiments",
    "likewise.export",
    "likewise.live",
    "likewise.neighbors",
    "likewise.online.river",
    "likewise.plotting",
    "likewise.report",
    "likewise.statistics",
    "likewise.tables",
    "likewise.testing",
]


def sections(text):
    """Title and text of each section below the page's own title."""
    parts = re.split(r"^(\S.*)\n-{3,}\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def public_names(module):
    """`__all__`, or else the classes and functions that are at home in the module."""
    members = vars(module)
    own = (name for name, value in members.items() if _at_home(value, module))
    names = members.get("__all__") or [name for name in own if not name.startswith("_")]
    return {name for name in names if not inspect.ismodule(getattr(module, name))}


def _at_home(value, module):
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def metric_of_the_guide():
    path = DOCS / "guide" / "diagonal_metric.py"
    spec = importlib.util.spec_from_file_location("diagonal_metric", path)
    module = sys.modules["diagonal_metric"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.DiagonalMetric


DiagonalMetric = metric_of_the_guide()


@pytest.mark.parametrize("page", TEXT)
def test_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    monkeypatch.delenv("LIKEWISE_DATA_URL", raising=False)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(
        str(DOCS / page), module_relative=False, optionflags=flags, encoding="utf-8"
    )
    assert result.failed == 0


@pytest.mark.parametrize("page", TEXT)
def test_code_fits_into_its_box(page):
    code = re.findall(r"^ *(?:>>>|\.\.\.|\$) .*$", TEXT[page], flags=re.MULTILINE)
    assert not [line for line in code if len(line) > 100]


@pytest.mark.parametrize("command", main.commands)
def test_every_command_has_a_section_with_example_and_options(command):
    section = sections(TEXT["guide/cli.rst"])[f"likewise {command}"]
    assert f"$ likewise {command}" in section
    documented = set(re.findall(r"^\.\. option:: (--[a-z-]+)", section, flags=re.MULTILINE))
    parameters = main.commands[command].load().params
    options = [option for option in parameters if option.param_type_name == "option"]
    assert documented == {option.opts[-1] for option in options}
    for option in options:
        if option.default and not option.is_flag and isinstance(option.default, int):
            about = section.split(f".. option:: {option.opts[-1]} ")[1].split(".. option::")[0]
            assert str(option.default) in about, f"the default of {option.opts[-1]}"


def test_commands_are_in_the_order_in_which_a_person_goes():
    documented = [title for title in sections(TEXT["guide/cli.rst"]) if "likewise " in title]
    assert documented == [f"likewise {command}" for command in main.commands]
    assert list(main.commands)[:4] == ["compare", "fit", "verify", "export"]
    shown = re.findall(r"^  (\w+)  ", main.get_help(click.Context(main)), flags=re.MULTILINE)
    assert shown == list(main.commands)


@pytest.mark.parametrize("page", TEXT)
def test_commands_exist(page):
    for command in commands_in(TEXT[page]):
        assert_command_exists(command)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_in_the_api_reference(name):
    page = TEXT[f"api/{name.split('.')[1] if '.' in name else 'top'}.rst"]
    listed = set(re.findall(r"^   (\w+)$|^\.\. py:data:: (\w+)$", page, flags=re.MULTILINE))
    listed = {first or second for first, second in listed}
    missing = public_names(importlib.import_module(name)) - listed - {"__version__"}
    assert not missing


def test_every_method_has_a_page_in_the_usual_order():
    pages = {
        re.search(r":class:`likewise\.(\w+)`", text)[1]: text
        for page, text in TEXT.items()
        if page.startswith("methods/") and page != "methods/index.rst"
    }
    assert set(pages) == public_estimators()
    order = ["Example", "Parameters", "Advice", "Formula", "Paper", "When it fails"]
    for name, text in pages.items():
        assert list(sections(text)) == order, name
        assert f"lw.{name}(" in sections(text)["Example"]
        assert f".. parameter-table:: {name}\n" in sections(text)["Parameters"], name


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_parameter_is_in_the_docstring(name):
    """The pages' parameter tables come from the docstrings."""
    docstring = inspect.getdoc(METHODS[name].learner)
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", docstring, re.M | re.S)
    entries = re.findall(r"^(\w+(?:, \w+)*)(?: :.*)?$", section[1] if section else "", re.M)
    documented = [parameter for entry in entries for parameter in entry.split(", ")]
    assert documented == list(inspect.signature(METHODS[name].learner).parameters)


def test_every_kind_of_method_has_a_table():
    kinds = re.findall(r"^\.\. methods-table:: (.+)$", TEXT["methods/index.rst"], re.MULTILINE)
    assert sorted(kinds) == sorted({method.kind for method in METHODS.values()})
    listed = set(re.findall(r"^   (\w+)$", TEXT["methods/index.rst"], flags=re.MULTILINE))
    assert {Path(page).stem for page in TEXT if page.startswith("methods/")} - {"index"} == listed


def test_every_method_of_compare_is_named():
    about = TEXT["guide/cli.rst"].split(".. option:: --methods")[1].split(".. option::")[0]
    assert ", ".join(evaluation.COMPARED_METHODS) in " ".join(about.split())


def test_every_metric_is_on_the_page_of_all_metrics():
    example = (DOCS.parent / "examples" / "plot_all_metrics.py").read_text(encoding="utf-8")
    kinds = (base.MetricLearner, NeighborVoter)
    metrics = {
        name
        for name in public_estimators()
        if issubclass(getattr(lw, name), kinds) and name != "MetricKNN"  # that one learns no metric
    }
    assert {"LMNN", "PLML", "POLA"} <= metrics
    drawn = {
        *evaluation.COMPARED_METHODS.keys() - {"cosine"},  # not learned
        *re.findall(r'^    "(\w+)": partial\(lw', example, re.MULTILINE),
    }
    assert metrics == drawn


def test_every_data_set_is_named(monkeypatch):
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    words = set(re.findall(r"\w+", TEXT["guide/datasets.rst"]))
    assert not set(datasets.names()) - words


def test_every_experiment_has_results_on_a_page():
    pages = "".join(text for page, text in TEXT.items() if page.startswith("results/"))
    assert re.findall(r"^\.\. reproduced:: (\S+)$", pages, re.MULTILINE) == list(EXPERIMENTS)


def test_every_check_of_the_contract_is_named():
    named = re.findall(r"^   \* - `(check_\w+)`$", TEXT["guide/own_metric.rst"], re.MULTILINE)
    checks = [check.__name__ for check in (*testing.LEARNER_CHECKS, *testing.METRIC_CHECKS)]
    assert named == checks


@testing.parametrize_with_contract([DiagonalMetric(), DiagonalMetric(power=2.0)])
def test_metric_of_the_guide_keeps_the_contract(estimator, check):
    check(estimator)


def test_changelog_reads_as_both_markdown_and_restructuredtext():
    changelog = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not re.search(r"^#|^```|\]\(", changelog, flags=re.MULTILINE)


def test_the_architecture_names_every_layer_and_only_files_that_exist():
    page = TEXT["architecture.rst"]
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    contract, *_ = project["tool"]["importlinter"]["contracts"]
    layers = [set(layer.split(" : ")) for layer in contract["layers"]]
    listed = re.findall(r"^   \* - (`.+`)$", page, flags=re.MULTILINE)
    assert [set(re.findall(r"`(\w+)`", row)) for row in listed] == layers
    drawing = (DOCS / "_static" / "architecture.svg").read_text(encoding="utf-8")
    source = DOCS.parent / "src" / "likewise"
    assert all(name in drawing for names in layers for name in names)
    files = set(re.findall(r"[\w/]+\.py", page + drawing))
    assert files
    missing = {file for file in files if not list(source.rglob(file))}
    assert not missing


def test_the_architecture_names_code_that_exists():
    names = re.findall(r"^\d\. (.*?)(?=^\d\.|^\S|\Z)", TEXT["architecture.rst"], re.M | re.S)
    quoted = {name for text in names for name in re.findall(r"`([A-Za-z_.]+)`", text)}
    source = "\n".join(path.read_text() for path in (DOCS.parent / "src").rglob("*.py"))
    symbols = {part for name in quoted for part in name.split(".")} - {"py", "batch", "online"}
    assert not {name for name in symbols if not re.search(rf"\b{name}\b", source)}
