"""What a shell completes: methods, data sets and experiments."""

import pytest
from click.shell_completion import ShellComplete

from likewise.cli import main


def completed(*words):
    shell = ShellComplete(main, {}, "likewise", "_LIKEWISE_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("fit", "x.csv", "--method", "lm"), "LMNN"),
        (("compare", "--methods", "RCA,lm"), "RCA,LMNN"),
        (("report", "--methods", "cos"), "cosine"),
        (("compare", "iri"), "iris"),
        (("info", "iri"), "iris"),
        (("datasets", "iri"), "iris"),
        (("reproduce", "pam-t"), "pam-table1"),
    ],
)
def test_names(words, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ("plain", expected) in completed(*words)


def test_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "irises.csv").touch()
    assert completed("compare", "iri") == [("plain", "iris"), ("plain", "irises.csv")]
    assert completed("compare", "shop") == [("file", "shop")]
    assert completed("fit", "") == [("file", "")]
