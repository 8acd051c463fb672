"""Requests that are not allowed: a sentence with 422, never an error of the server."""

import json
import uuid

import pytest
from fastapi.testclient import TestClient
from judging import toy_items
from running_service import TOKENS

from likewise.live import Engine, create_app

HOST = "127.0.0.1:8765"
ITEMS, _ = toy_items(30)


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    log = str(tmp_path_factory.mktemp("log") / "log.sqlite")
    with Engine(ITEMS, log, annotators=list(TOKENS), seed=0) as engine:
        app = create_app(engine, TOKENS, hosts={HOST})
        with TestClient(app, base_url=f"http://{HOST}") as client:
            client.headers["Authorization"] = f"Bearer {TOKENS['ann']}"
            yield client


def judgement(**more):
    return {"id": str(uuid.uuid4()), "left": "0", "right": "1", "answer": "same"} | more


@pytest.mark.parametrize(
    ("path", "content", "sentence"),
    [
        ("/session", '{"token": NaN}', "token of the body is not a finite number, but a text is"),
        ("/session", '{"token": "\\ud800"}', "token of the body has half of a surrogate pair"),
        ("/session", '{"\\ud800": 1}', "the body has half of a surrogate pair"),
        ("/judgements", '{"id": 1e999}', "id of the body is not a finite number, but a UUID is"),
        ("/judgements", '{"id": NaN}', "id of the body is not a finite number, but a UUID is"),
        ("/judgements", "", "the body is missing"),
        ("/judgements", "[]", "the body is a list of 0 elements, but an object is needed"),
        ("/judgements", "{no", "the body is not JSON (at character 1)"),
        ("/distance", '{"pairs": [["0", "\\ud800"]]}', "pairs[0][1] of the body has half of a"),
        ("/distance", '{"pairs": [["\\ud800"]]}', "pairs[0][0] of the body has half of a"),
        ("/distance", '{"pairs": [["0"]]}', "pairs[0][1] of the body is missing"),
        ("/distance", '{"pairs": []}', "a list of 0 elements, but at least 1 must be there"),
        ("/distance", '{"pairs": [["0", "1", "2"]]}', "of 3 elements, but at most 2 are allowed"),
        ("/neighbors", '{"item": "0", "k": NaN}', "k of the body is not a finite number, but a"),
        ("/neighbors", '{"item": "0", "k": 0}', "k of the body is too small, but at least 1 is"),
        ("/neighbors", '{"item": "0", "k": null}', "k of the body is null, but a whole number is"),
        ("/neighbors", '{"item": ""}', "item of the body is a text of 0 characters, but at least"),
        ("/transform", '{"items": "0"}', "items of the body is a text of 1 character, but a list"),
    ],
)
def test_what_was_found_and_what_is_allowed(http, path, content, sentence):
    headers = {"Content-Type": "application/json"}
    answer = http.post(path, content=content, headers=headers)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"left": "\ud800"}, "left of the body has half of a surrogate pair, but a text of"),
        ({"left": 5}, "left of the body is a number, but a text is needed."),
        ({"left": True}, "left of the body is a truth value, but a text is needed."),
        ({"answer": "maybe"}, "answer of the body is a text of 5 characters, but 'same', 'diff"),
        ({"id": "17"}, "id of the body is a text of 2 characters, but a UUID is needed."),
        ({"extra": 1}, "extra of the body is not known here; leave it out."),
        ({"\x1b[31m": 1}, r"'\x1b[31m' of the body is not known here; leave it out."),
    ],
)
def test_judgements_that_are_not_allowed(http, more, sentence):
    headers = {"Content-Type": "application/json"}
    answer = http.post("/judgements", content=json.dumps(judgement(**more)), headers=headers)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(sentence)


@pytest.mark.parametrize("path", ["/judgements", "/distance", "/neighbors", "/transform"])
def test_nothing_of_the_request_is_repeated(http, path):
    given = {"id": "secret-17", "pairs": "secret-17", "k": "secret-17", "items": "secret-17"}
    answer = http.post(path, json=given)
    assert answer.status_code == 422
    assert "secret" not in answer.text


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_json_under_another_content_type(http, content_type):
    headers = {"Content-Type": content_type} if content_type else {}
    answer = http.post("/judgements", content=json.dumps(judgement()), headers=headers)
    assert answer.status_code == 422
    found = f"'{content_type}'" if content_type else "missing"
    sentence = f"the header Content-Type is {found}, but application/json is needed."
    assert answer.json() == {"detail": sentence}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", "/judgements/%ED%A0%80", 422),
        ("GET", "/judgements?after=%ED%A0%80", 422),
        ("GET", "/next?tab=%ED%A0%80", 200),
        ("GET", "/image?item=%ED%A0%80", 404),
        ("GET", "/static/%ED%A0%80", 404),
        ("GET", "/%ED%A0%80", 404),
    ],
)
def test_surrogates_in_paths_and_queries(http, method, path, status):
    assert http.request(method, path).status_code == status


def test_conflicts_are_listed_with_who_said_what(http):
    other = {"Authorization": f"Bearer {TOKENS['bob']}"}
    for right in range(1, 26):
        pair = {"left": "0", "right": str(right)}
        assert http.post("/judgements", json=judgement(**pair)).status_code == 201
        given = judgement(**pair, answer="different")
        assert http.post("/judgements", json=given, headers=other).status_code == 201
    found = http.get("/agreement").json()
    assert found["n_conflicts"] == 25
    assert len(found["conflicts"]) == 20
    first = {"left": "0", "right": "1", "answers": {"ann": "same", "bob": "different"}}
    assert found["conflicts"][0] == first
    assert len(http.get("/agreement", params={"conflicts": 200}).json()["conflicts"]) == 25
