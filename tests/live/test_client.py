"""The client: connections that the service has closed, refusals, and what it will not send."""

import json
import socket
import threading
from contextlib import contextmanager

import pytest

from likewise.live import Client, ServiceError

TOKEN = "token-of-ann-0123456789"


@contextmanager
def scripted_server(*connections):
    """Yield the URL of a server, the requests it has read, and an event: a connection was closed.

    Of each connection the answers are given, a status and an object; after them it is closed,
    though they said that it is kept alive. An answer None closes it without one.
    """
    requests, closed = [], threading.Event()

    def answer_all():
        for answers in connections:
            connection, _ = listening.accept()
            with connection, connection.makefile("rb") as stream:
                for answer in answers:
                    requests.append(read_request(stream))
                    if answer is not None:
                        connection.sendall(response(*answer))
            closed.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer_all, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", requests, closed
        thread.join(30)
        assert not thread.is_alive(), "the client has not made all connections"


def read_request(stream):
    """Return the first line of a request and its body."""
    first, length = stream.readline().decode().strip(), 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return first, stream.read(length)


def response(status, content):
    body = json.dumps(content).encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def event(kind="judgement", **more):
    names = ("id", "left", "right", "answer", "annotator")
    return {"number": 1, "kind": kind, "time": 1.0} | dict.fromkeys(names, "x") | more


@pytest.mark.parametrize("request_of", ["judge", "undo", "next"])
def test_a_request_is_sent_again_if_the_connection_was_closed_meanwhile(request_of):
    sent = {
        "judge": lambda client: client.judge("a", "b", "same"),
        "undo": lambda client: client.undo("some id"),
        "next": lambda client: client.next("tab"),
    }
    answer = {"done": True} if request_of == "next" else event()
    server = scripted_server([(200, {})], [(200, answer)])
    with server as (url, requests, closed), Client(url, TOKEN) as client:
        client.health()
        assert closed.wait(30)
        sent[request_of](client)
    assert len(requests) == 2
    if request_of == "judge":
        assert json.loads(requests[1][1])["id"] == client.last_id


def test_a_request_is_sent_twice_at_most():
    server = scripted_server([(200, {}), None], [None])
    with server as (url, requests, _), Client(url, TOKEN) as client:
        client.health()
        with pytest.raises(ConnectionError):
            client.judge("a", "b", "same")
    bodies = [body for _, body in requests[1:]]
    assert len(bodies) == 2
    assert bodies[0] == bodies[1], "the same id"


def test_a_new_connection_that_fails_is_not_tried_again():
    server, fails = scripted_server([None]), pytest.raises(ConnectionError)
    with server as (url, requests, _), Client(url, TOKEN) as client, fails:
        client.health()
    assert len(requests) == 1


def test_a_refusal_is_no_lost_connection():
    server = scripted_server([(200, {}), (409, {"detail": "no."})])
    with server as (url, requests, _), Client(url, TOKEN) as client:
        client.health()
        with pytest.raises(ServiceError, match=r"^no\.$"):
            client.judge("a", "b", "same")
    assert len(requests) == 2


def test_an_undo_says_whether_it_was_this_one():
    answers = [(200, event("undo", created=True)), (200, event("undo", created=False))]
    with scripted_server(answers) as (url, requests, _), Client(url, TOKEN) as client:
        assert client.undo("a/b?").created
        assert not client.undo("a").created
    assert requests[0][0] == "DELETE /judgements/a%2Fb%3F HTTP/1.1"


@pytest.mark.parametrize("token", ["日本語" * 6, "token with a line\nbreak", "é" * 20])
def test_a_token_that_no_header_can_carry_is_refused(token):
    with pytest.raises(ValueError, match="the token has characters that no token has") as refused:
        Client("http://127.0.0.1:8765", token)
    assert token not in str(refused.value)
