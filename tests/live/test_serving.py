"""Where the service listens, and how it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from judging import toy_items
from running_service import TOKENS, running, write_tokens

from likewise.live import Client, bind, open_log


@pytest.mark.parametrize("port", [99999, 65536, -1])
def test_ports_that_there_are_not(port):
    with pytest.raises(ValueError, match=f"^port={port} is not allowed: one from 0 to 65535"):
        bind("127.0.0.1", port)


@pytest.mark.parametrize("host", ["nohost.invalid", "x" * 70, "not a host"])
def test_a_host_that_is_not_known(host):
    with pytest.raises(OSError, match=f"^the host '{host}' is not known: give an address") as found:
        bind(host, 0)
    assert "port" not in str(found.value)


def test_a_port_in_use_is_said_once():
    with bind("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        message = (
            rf"^port {port} of 127\.0\.0\.1 cannot be used \([^()]*\): is something else running "
            "there\\? Give another --port; 0 takes any that is free\\.$"
        )
        with pytest.raises(OSError, match=message):
            bind("127.0.0.1", port)


def test_an_address_of_another_machine():
    with pytest.raises(OSError, match=r"\([^()]*\): give an address of this machine as --host"):
        bind("192.0.2.1", 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_the_log_is_closed_when_the_service_is_stopped(tmp_path, number):
    items, _ = toy_items(30)
    np.save(tmp_path / "X.npy", items.vectors)
    log = tmp_path / "log.sqlite"
    arguments = ["serve", tmp_path / "X.npy", "--log", log, "--port", 0]
    arguments += ["--token-file", write_tokens(tmp_path)]
    with running(*arguments) as (url, process):
        with Client(url, TOKENS["ann"]) as client:
            for right in range(1, 20):
                client.judge("0", str(right), "same")
            process.send_signal(number)  # while a connection is open
            returned = process.wait(30)
        if number == signal.SIGTERM:
            assert returned == -signal.SIGTERM, "as systemd expects of what it has stopped"
        printed = process.stdout.read()
    assert "Traceback" not in printed
    assert not Path(f"{log}-wal").exists()
    with running(*arguments) as (url, process), Client(url, TOKENS["ann"]) as client:
        assert len(list(client.judgements())) == 19
        assert client.progress()["notices"] == []


def test_the_log_is_closed_when_labelling_in_a_terminal_is_stopped(tmp_path):
    pty = pytest.importorskip("pty")
    items, _ = toy_items(30)
    np.save(tmp_path / "X.npy", items.vectors)
    log = tmp_path / "log.sqlite"
    command = ["label", tmp_path / "X.npy", "--terminal", "--log", log]
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "likewise", *map(str, command)],
            stdin=theirs,
            stdout=subprocess.PIPE,
        )
        with process.stdout as printed:
            for line in printed:
                if b"q quit" in line:  # it waits for a key
                    process.terminate()
        assert process.wait(30) == -signal.SIGTERM
    finally:
        os.close(ours)
        os.close(theirs)
    assert not Path(f"{log}-wal").exists()
    assert log.stat().st_size


@pytest.mark.parametrize("location", ["mysql://u:secret@host/db", "sqlite:///a.sqlite"])
def test_a_log_at_another_url(location):
    with pytest.raises(ValueError, match="a file, or a URL postgresql://…, is needed") as refused:
        open_log(location, "project")
    assert "secret" not in str(refused.value)
