"""What the README says is true: its code runs, its commands exist, its tables are complete."""

import re
import shlex
import tomllib
from inspect import isclass
from pathlib import Path

import click
import pytest
from sklearn.base import BaseEstimator

import likewise as lw
from likewise import evaluation
from likewise.cli import main
from likewise.methods import METHODS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def rows_of_table(text, heading):
    """The cells of the Markdown table whose first heading is `heading`, row by row."""
    table = re.search(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    assert table, f"no table begins with {heading}"
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[1].splitlines()]


def commands_in(text):
    """Every ``likewise …`` command that is shown: lines after a prompt, and words in backticks."""
    shown = re.findall(r"^\s*\$ (likewise\b.*)$", text, flags=re.MULTILINE)
    return shown + re.findall(r"`(likewise [a-z-][^`]*)`", text)


def assert_command_exists(command):
    words = shlex.split(command, comments=True)[1:]
    if not words:
        return
    if words[0] not in main.commands:
        main.make_context("likewise", [*words, "info"])
        assert words[0].startswith("-"), f"there is no command {words[0]!r}"
        return
    main.commands[words[0]].make_context(words[0], words[1:])


def public_estimators():
    classes = {name: value for name in lw.__all__ if isclass(value := getattr(lw, name))}
    return {name for name, value in classes.items() if issubclass(value, BaseEstimator)}


@pytest.mark.parametrize("code", blocks(README, "python"))
def test_python_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert len([line for line in code.splitlines() if line]) <= 10, "ten lines of code"


def test_there_is_python_to_run():
    assert len(blocks(README, "python")) == 1


@pytest.mark.parametrize("command", commands_in(README))
def test_commands_exist(command):
    assert_command_exists(command)


@pytest.mark.parametrize("command", ["likewise guess", "likewise compare --colour red"])
def test_commands_that_do_not_exist_are_noticed(command):
    with pytest.raises((AssertionError, click.ClickException)):
        assert_command_exists(command)


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md"])
def test_make_targets_exist(file):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^\$|`)\s*make ([a-z]+)", (ROOT / file).read_text(), re.MULTILINE))
    assert targets >= ({"fuzz"} if file == "SECURITY.md" else {"test", "bench"})
    missing = {name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)}
    assert not missing


def test_methods_are_the_public_estimators():
    assert set(METHODS) == public_estimators()
    expected = [[f"`{m.name}`", m.supervision, m.summary, m.paper] for m in METHODS.values()]
    assert rows_of_table(README, "class") == expected, "run python tools/update_readme.py"


def test_extras_are_those_of_the_project():
    listed = [row[0].strip("`") for row in rows_of_table(README, "extra")]
    assert sorted(listed) == sorted(PROJECT["optional-dependencies"])


@pytest.mark.xdist_group("digits")
def test_demo_prints_what_is_shown(digits_run):
    (shown,) = blocks(README, "text")
    result = digits_run.result
    lines = [re.split(r"\s*│\s*", line.strip("│ ")) for line in shown.splitlines() if "│" in line]
    assert [cells[0] for cells in lines] == list(evaluation.COMPARED_METHODS)
    for cells, row in zip(lines, result["rows"], strict=True):
        error, spread = (float(cell.rstrip("%")) / 100 for cell in cells[1:3])
        assert (error, spread) == pytest.approx((row["error"], row["spread"]), abs=2e-3)
        assert float(cells[3].rstrip("%")) / 100 == pytest.approx(row["eer"], abs=5e-3)
        # Another machine's rounding may move a direction that a solver left hardly any weight.
        if row["rank"] is None:
            assert cells[5] == "–"
        else:
            assert int(cells[5]) == pytest.approx(row["rank"], abs=2)
    words = " ".join(shown.split())
    assert result["caption"] in words
    assert all(note in words for note in result["notes"])
    difference = float(re.search(r"it beats Euclidean by ([\d.]+) points", words)[1]) / 100
    assert difference == pytest.approx(result["difference"], abs=2e-3)
    # So close to the limit that one row predicted otherwise on another machine would decide.
    if abs(result["interval"][0]) > 1e-3:
        assert result["verdict"].split("(")[0] in words


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
    assert f"version = {{{PROJECT['version']}}}" in README
    assert f"\n{PROJECT['version']} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
