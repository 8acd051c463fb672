"""Downloads: checked, atomic, of the announced size, and clear about what failed."""

import hashlib
import http.server
import io
import socket
import threading

import numpy as np
import pytest

from likewise.datasets import _download, load, names
from likewise.datasets._download import Expected, cache_folder, known_files


def npz_bytes():
    buffer = io.BytesIO()
    np.savez(buffer, X=np.arange(6.0).reshape(3, 2), y=[0, 1, 1])
    return buffer.getvalue()


GOOD = npz_bytes()


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A folder served as file://, an empty cache, and a table that knows one data set, 'toy'."""
    served = tmp_path / "mirror"
    served.mkdir()
    (served / "toy.npz").write_bytes(GOOD)
    table = {"toy": Expected(hashlib.sha256(GOOD).hexdigest(), len(GOOD))}
    monkeypatch.setattr("likewise.datasets._load.known_files", lambda: table)
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LIKEWISE_DATA_URL", served.as_uri() + "/")
    monkeypatch.delenv("LIKEWISE_DATA", raising=False)
    return served


@pytest.fixture
def http_mirror(mirror, monkeypatch):
    """The same over HTTP, with what was asked for."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        asked = []

        def __init__(self, *args):
            super().__init__(*args, directory=str(mirror))

        def log_message(self, *args):
            self.asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("LIKEWISE_DATA_URL", f"http://127.0.0.1:{server.server_port}")
        yield Handler.asked
        server.shutdown()


def files_in_cache():
    return [path.name for path in cache_folder().glob("*")] if cache_folder().exists() else []


def test_a_file_mirror(mirror):
    assert "toy" in names()
    assert "toy" not in names(local=True)
    np.testing.assert_array_equal(load("toy").X, np.arange(6.0).reshape(3, 2))
    assert "toy" in names(local=True)
    assert files_in_cache() == ["toy.npz"]


def test_the_second_time_comes_from_the_cache(http_mirror):
    load("toy")
    load("toy")
    assert http_mirror == ["/toy.npz"]


def test_a_damaged_cache_is_replaced(http_mirror):
    load("toy")
    (cache_folder() / "toy.npz").write_bytes(b"x" * len(GOOD))
    load("toy")
    assert http_mirror == ["/toy.npz"] * 2
    assert (cache_folder() / "toy.npz").read_bytes() == GOOD


def test_progress_is_told_the_bytes(mirror):
    told = []
    load("toy", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(GOOD), len(GOOD))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (GOOD[:-1] + b"?", "is not the file that was expected: its SHA-256 is"),
        (GOOD[:-1], f"ends too early: {len(GOOD) - 1} of {len(GOOD)} bytes"),
        (GOOD + b"!", f"is larger than the {len(GOOD)} bytes"),
    ],
    ids=["wrong", "truncated", "too large"],
)
@pytest.mark.parametrize("scheme", ["file", "http"])
def test_a_wrong_file_never_reaches_the_cache(mirror, request, scheme, content, sentence):
    if scheme == "http":
        request.getfixturevalue("http_mirror")
    (mirror / "toy.npz").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        load("toy")
    assert files_in_cache() == []


def test_a_connection_that_breaks_off(mirror, monkeypatch):
    class Broken(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(GOOD)))
            self.end_headers()
            self.wfile.write(GOOD[:100])

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("LIKEWISE_DATA_URL", f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(ValueError, match=f"ends too early: 100 of {len(GOOD)} bytes"):
            load("toy")
        server.shutdown()
    assert files_in_cache() == []


def test_a_file_the_mirror_does_not_have(http_mirror, mirror):
    (mirror / "toy.npz").unlink()
    with pytest.raises(ConnectionError, match=r"404 File not found.*put toy\.npz in the folder"):
        load("toy")


def test_offline(mirror, monkeypatch):
    monkeypatch.setenv("LIKEWISE_DATA_URL", "http://127.0.0.1:9")
    with pytest.raises(ConnectionError) as raised:
        load("toy")
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert "put toy.npz in the folder that LIKEWISE_DATA names (now none)" in sentence
    assert "LIKEWISE_DATA_URL" in sentence


def test_a_server_that_says_nothing_is_given_up(mirror, monkeypatch):
    monkeypatch.setattr(_download, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("LIKEWISE_DATA_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ConnectionError, match="timed out"):
            load("toy")


def test_a_name_without_a_checksum_is_refused(mirror):
    np.savez(mirror / "stranger.npz", X=[[1.0]], y=[0])
    with pytest.raises(ValueError, match="there is no data set 'stranger'"):
        load("stranger")


def test_other_schemes_are_refused(mirror, monkeypatch):
    monkeypatch.setenv("LIKEWISE_DATA_URL", "ftp://example.org")
    with pytest.raises(ValueError, match="must start with http://, https:// or file://"):
        load("toy")


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("LIKEWISE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "likewise"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "likewise"


def test_the_shipped_table():
    table = known_files()
    assert table["mnist"].size == 11495106
    assert all(len(expected.sha256) == 64 and expected.size > 0 for expected in table.values())
