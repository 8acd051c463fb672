"""The command as a user runs it: a real process, with and without a terminal."""

import os
import pty
import re
import select
import signal
import subprocess
import sys

import click
import pytest

from likewise.cli import main
from likewise.evaluation import COMPARED_METHODS

COMMAND = [sys.executable, "-m", "likewise"]
SMALL = ("compare", "iris", "--methods", "Euclidean,RCA")


def run(*arguments, **environment):
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )


def read_terminal(master, until=None):
    """Return what is sent until some words appear, everyone has left, or a minute is silent."""
    sent = b""
    while until is None or until not in sent:
        ready, _, _ = select.select([master], [], [], 60)
        try:
            block = os.read(master, 65536) if ready else b""
        except OSError:  # how a terminal says that everyone has left
            block = b""
        if not block:
            break
        sent += block
    return sent


def run_in_terminal(*arguments, **environment):
    """Return what a terminal of 100 columns would be sent on stdout and stderr together."""
    master, slave = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    env |= {"TERM": "xterm-256color", "COLUMNS": "100"} | environment
    process = subprocess.Popen([*COMMAND, *arguments], stdout=slave, stderr=slave, env=env)
    os.close(slave)
    sent = read_terminal(master)
    os.close(master)
    assert process.wait(60) == 0
    return sent.decode()


@pytest.mark.xdist_group("digits")
def test_the_main_job_is_quick(digits_run):
    assert "Use " in digits_run.process.stdout
    # On an idle machine the process takes no longer than this; on a busy one it waits for its turn.
    assert digits_run.cpu_seconds < 60


@pytest.mark.xdist_group("digits")
def test_digits_by_default(digits_run):
    assert digits_run.result["data"] == "digits"
    shown = digits_run.process.stdout
    assert [row["name"] for row in digits_run.result["rows"]] == list(COMPARED_METHODS)
    for name in COMPARED_METHODS:
        assert re.search(rf"^│ {name} ", shown, re.MULTILINE)
    assert "1797 rows, 64 features (standardised" in " ".join(shown.split())
    assert shown.splitlines()[-2].startswith("Use ")
    lines = digits_run.process.stderr.splitlines()
    assert re.fullmatch(r"comparing: .* expected", lines[0]), "no terminal, but lines"
    assert re.fullmatch(r"comparing: \d+/150, .*elapsed, .* left", lines[1])
    assert all(re.fullmatch(r"comparing: \d+/150, .*elapsed.*", line) for line in lines[1:])


def test_no_escape_codes_without_a_terminal():
    done = run(*SMALL, TERM="xterm-256color")
    assert "\x1b" not in done.stdout + done.stderr


def test_a_terminal_sees_a_bar_with_what_is_running():
    shown = run_in_terminal(*SMALL, "--repeats", "20")
    assert "\x1b" in shown
    assert "fold" in shown
    assert "Undecided: " in shown


def test_no_color():
    assert "\x1b[1m" in run_in_terminal(*SMALL, "--repeats", "1")
    shown = run_in_terminal(*SMALL, "--repeats", "1", NO_COLOR="1")
    assert not re.search(r"\x1b\[[\d;]*(3[0-7]|9[0-7]|38)[;m]", shown)


def test_an_ascii_terminal():
    done = run(*SMALL, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert "Euclidean" in done.stdout


def test_a_complaint_is_one_line():
    done = run("compare", "nowhere.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "likewise: There is no file 'nowhere.csv'.\n"


def test_ctrl_c():
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "compare", "digits", "--repeats", "1000"],
        stdout=subprocess.PIPE,
        stderr=slave,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
        # A shell that runs the tests in the background lets its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(slave)
    shown = read_terminal(master, until=b"fold")
    process.send_signal(signal.SIGINT)
    shown += read_terminal(master)
    os.close(master)
    assert process.communicate(timeout=60)[0] == b""
    assert process.returncode == 130
    assert shown.endswith(b"likewise: interrupted\r\n")
    assert b"Traceback" not in shown


def test_a_reader_that_leaves_early():
    command = " ".join([*COMMAND, "info", "| head -1"])
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("likewise")
    assert done.stderr == ""


def test_without_arguments_there_is_help():
    done = run()
    assert done.returncode == 0
    assert "compare" in done.stdout
    assert run("--version").stdout.startswith("likewise, version ")


@pytest.mark.parametrize("name", [None, *main.commands])
def test_every_command_has_help_with_an_example(name):
    command = main if name is None else main.commands[name].load()
    shown = command.get_help(click.Context(command, info_name="likewise"))
    assert "Example" in shown
    assert f"likewise {name or 'compare'}" in shown
    for parameter in command.params:
        assert isinstance(parameter, click.Argument) or parameter.help


@pytest.mark.parametrize("name", main.commands)
def test_the_list_of_commands_has_the_first_sentence_of_their_help(name):
    command = main.commands[name]
    assert command.short_help == " ".join(command.load().help.split("\n\n")[0].split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["completion", "bash"]])
def test_what_needs_no_data_does_not_wait_for_imports(arguments):
    code = (
        "import sys; from likewise.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: assert not {'pandas', 'scipy', 'sklearn'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_command():
    done = run("comprae")
    assert done.returncode == 2
    assert done.stderr.startswith("likewise: there is no command 'comprae'; known are compare, ")
    assert len(done.stderr.splitlines()) == 1
