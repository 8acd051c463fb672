"""The service over HTTP: what each request answers, and who may ask."""

import io
import socket
import urllib.error
import urllib.request
import uuid

import numpy as np
import pandas as pd
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from judging import same_bits, toy_items
from PIL import Image
from running_service import TOKENS, running, write_tokens

import likewise as lw
from likewise.live import (
    Client,
    Engine,
    Items,
    ServiceError,
    bind,
    create_app,
    read_tokens,
    service,
    start_model,
)
from likewise.live.security import MAX_BODY, cookie_name, host_of

ITEMS, Y = toy_items(80)
HOST = "127.0.0.1:8765"


@pytest.fixture
def engine(tmp_path):
    log = str(tmp_path / "log.sqlite")
    with Engine(ITEMS, log, annotators=list(TOKENS), seed=0) as made:
        yield made


@pytest.fixture
def http(engine):
    app = create_app(engine, TOKENS, hosts={HOST}, docs=True)
    with TestClient(app, base_url=f"http://{HOST}") as client:
        client.headers["Authorization"] = f"Bearer {TOKENS['ann']}"
        yield client


def body(left="0", right="1", answer="same", **more):
    return {"id": str(uuid.uuid4()), "left": left, "right": right, "answer": answer} | more


def test_a_judgement_is_created_once(http, engine):
    given = body()
    first = http.post("/judgements", json=given)
    assert (first.status_code, first.json()["number"]) == (201, 1)
    again = http.post("/judgements", json=given)
    assert (again.status_code, again.json()) == (200, first.json())
    assert len(engine.ledger) == 1
    assert http.post("/judgements", json=given | {"answer": "different"}).status_code == 409
    undone = http.delete(f"/judgements/{given['id']}")
    assert (undone.status_code, undone.json()["kind"]) == (200, "undo")
    assert undone.json()["created"] is True
    again = http.delete(f"/judgements/{given['id']}")
    assert (again.status_code, again.json()) == (200, undone.json() | {"created": False})
    assert http.post("/judgements", json=given).status_code == 409
    assert len(engine.ledger) == 2
    listed = http.get("/judgements", params={"after": 1}).json()
    assert [event["kind"] for event in listed["events"]] == ["undo"]
    assert "source" not in listed["events"][0], "annotators must not know what is audited"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (body(right="999"), 404),
        (body(right="0"), 422),
        (body(answer="maybe"), 422),
        (body(id="7"), 422),
        (body(extra=1), 422),
        ({}, 422),
    ],
)
def test_bad_judgements(http, given, status):
    assert http.post("/judgements", json=given).status_code == status


def test_undo_of_another_and_of_nothing(http):
    given = body()
    http.post("/judgements", json=given)
    other = {"Authorization": f"Bearer {TOKENS['bob']}"}
    assert http.delete(f"/judgements/{given['id']}", headers=other).status_code == 403
    assert http.delete(f"/judgements/{uuid.uuid4()}").status_code == 404


def test_the_next_pair_hides_scores(http):
    found = http.get("/next").json()
    assert set(found) == {"done", "kind", "left", "right"}
    assert set(found["left"]) == {"id", "kind", "cells"}
    same_tab = [http.get("/next", params={"tab": "x"}).json() for _ in range(2)]
    assert same_tab[0] == same_tab[1] != found


def test_no_pair_now_is_not_no_pair_left(tmp_path):
    log = str(tmp_path / "log.sqlite")
    with Engine(Items([[0.0], [1.0], [3.0]]), log, annotators=["ann"]) as engine:
        app = create_app(engine, {"ann": TOKENS["ann"]}, hosts={HOST})
        client = TestClient(app, base_url=f"http://{HOST}")
        client.headers["Authorization"] = f"Bearer {TOKENS['ann']}"
        pairs = [client.get("/next").json() for _ in range(3)]
        assert client.get("/next").json() == {"done": False}
        for pair in pairs:
            judged = body(pair["left"]["id"], pair["right"]["id"], "unsure")
            assert client.post("/judgements", json=judged).status_code == 201
        assert client.get("/next").json() == {"done": True}


def test_distances_neighbours_and_vectors_are_those_of_the_model(http, tmp_path):
    for right in range(1, 30):
        answer = "same" if Y[0] == Y[right] else "different"
        http.post("/judgements", json=body("0", str(right), answer))
    http.app._app.state.engine.writer.settle()
    content = http.get("/model").content
    (tmp_path / "model.safetensors").write_bytes(content)
    model = lw.load(tmp_path / "model.safetensors")
    X = ITEMS.vectors
    found = http.post("/distance", json={"pairs": [["3", "7"], ["0", "1"]]}).json()
    np.testing.assert_allclose(found["distances"], model.pair_distance(X[[3, 0]], X[[7, 1]]), 1e-4)
    vectors = http.post("/transform", json={"items": ["5", "6"]}).json()["vectors"]
    np.testing.assert_allclose(vectors, model.transform(X[[5, 6]]), rtol=1e-4, atol=1e-4)
    near = http.post("/neighbors", json={"item": "4", "k": 5}).json()
    distances = model.pair_distance(np.repeat(X[4:5], 80, axis=0), X)
    distances[4] = np.inf
    assert near["items"] == [str(row) for row in np.argsort(distances)[:5]]
    assert http.post("/distance", json={"pairs": [["3", "none"]]}).status_code == 404


def test_the_exported_model_has_the_promised_threshold_and_can_be_started_from(tmp_path):
    items, y = toy_items(200, n_classes=3)
    engine = Engine(items, str(tmp_path / "log.sqlite"), audit_share=0.6, target="fmr<=0.2", seed=0)
    with engine:
        for _ in range(400):
            offer = engine.next("you")
            same = y[int(offer.left)] == y[int(offer.right)]
            engine.judge(offer.left, offer.right, "same" if same else "different", "you").result()
        engine.writer.settle()
        engine.evaluator.update(engine.view, now=True)
        audit, promised = engine.evaluator.audit_pairs(), engine.evaluator.report["audit"]
        app = create_app(engine, {"you": TOKENS["ann"]}, hosts={HOST})
        client = TestClient(app, base_url=f"http://{HOST}")
        content = client.get("/model", headers={"Authorization": f"Bearer {TOKENS['ann']}"}).content
        learner = engine.view.learner
    (tmp_path / "model.safetensors").write_bytes(content)
    model = lw.load(tmp_path / "model.safetensors")
    assert isinstance(model, lw.PairClassifier)
    assert promised["promised"]
    assert model.threshold_ == pytest.approx(promised["threshold"], rel=1e-4)
    assert model.promise_.startswith(promised["promise"].split(". ")[0])
    X, different = items.vectors, ~audit.same
    distances = learner.pair_distance(X[audit.pairs[:, 0]], X[audit.pairs[:, 1]])
    assert (distances[different] <= model.threshold_).mean() <= 0.2
    assert same_bits(start_model(X, model), learner)


def test_an_image_that_is_removed_is_not_found(tmp_path, monkeypatch):
    for name in ("a.png", "b.png", "c.png"):
        Image.new("RGB", (20, 10)).save(tmp_path / name)
    items = Items(np.eye(3), ["a", "b", "c"], "image", {"file": sorted(tmp_path.glob("*.png"))})

    def type_of_a_file_removed_meanwhile(path):
        if path.name == "c.png":
            path.unlink()
        return "image/png"

    with Engine(items, str(tmp_path / "log.sqlite"), annotators=list(TOKENS)) as engine:
        app = create_app(engine, TOKENS, hosts={HOST})
        headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        with TestClient(app, base_url=f"http://{HOST}", headers=headers) as client:
            shown = client.get("/image", params={"item": "a"})
            assert shown.status_code == 200
            assert shown.content == (tmp_path / "a.png").read_bytes()
            (tmp_path / "b.png").unlink()
            assert client.get("/image", params={"item": "b"}).status_code == 404
            monkeypatch.setattr(service, "content_type", type_of_a_file_removed_meanwhile)
            assert client.get("/image", params={"item": "c"}).status_code == 404


def test_health_metrics_progress_and_exports(http):
    del http.headers["Authorization"]
    assert http.get("/health").json()["ready"] is True
    assert http.get("/metrics").status_code == 401
    http.headers["Authorization"] = f"Bearer {TOKENS['ann']}"
    http.post("/judgements", json=body())
    assert "\nlikewise_events_total 1\n" in http.get("/metrics").text
    assert http.get("/progress").json()["own_judgements"] == 1
    pairs = pd.read_csv(io.BytesIO(http.get("/export/pairs.csv").content))
    assert pairs[["left", "right", "same"]].to_numpy().tolist() == [[0, 1, 1]]
    judged = pd.read_csv(io.BytesIO(http.get("/export/judgements.csv").content))
    assert judged[["left", "right", "answer"]].to_numpy().tolist() == [[0, 1, "same"]]
    assert "<h1>Judgements</h1>" in http.get("/export/report.html").text
    assert http.get("/agreement").json()["n_pairs"] == 0


def test_tokens_by_header_or_cookie(http):
    del http.headers["Authorization"]
    assert http.get("/next").status_code == 401
    assert http.get("/next", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert http.get("/next", headers={"Authorization": "Basic " + TOKENS["ann"]}).status_code == 401
    assert http.post("/session", json={"token": "wrong"}).status_code == 401
    response = http.post("/session", json={"token": TOKENS["ann"]})
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert http.get("/next").status_code == 200


def test_other_hosts_and_origins_are_refused(http):
    assert http.get("/health", headers={"Host": "evil.example"}).status_code == 421
    assert http.get("/health", headers={"Origin": "http://evil.example"}).status_code == 403
    assert http.get("/health", headers={"Origin": f"http://{HOST}"}).status_code == 200


def test_large_bodies_are_refused(http):
    big = {"items": ["x" * MAX_BODY]}
    assert http.post("/transform", json=big).status_code == 413
    unknown = http.post("/transform", content=iter([b"[" * 1000] * 2000))
    assert unknown.status_code == 411


def test_pages_load_nothing_from_elsewhere(http):
    page = http.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "//" not in page.text.replace("<!doctype html>", "")
    assert "<script>" not in page.text
    assert http.get("/docs").status_code == http.get("/redoc").status_code == 404
    for name in ("app.js", "pair.js", "curve.js", "style.css"):
        assert http.get(f"/static/{name}").status_code == 200
    assert http.get("/static/..%2findex.html").status_code == 404


def test_openapi_is_off_unless_asked_for(engine):
    client = TestClient(create_app(engine, TOKENS, hosts={HOST}), base_url=f"http://{HOST}")
    assert client.get("/openapi.json").status_code == 404


def test_a_full_disk_answers_507_and_loses_nothing(http, engine):
    connection = engine._log._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    answers = [http.post("/judgements", json=body("0", str(n))) for n in range(1, 70)]
    failed = [n for n, answer in enumerate(answers) if answer.status_code == 507]
    assert failed
    assert {answer.status_code for answer in answers} == {201, 507}
    assert http.get("/health").json()["storage"] == "failing"
    connection.execute("PRAGMA max_page_count = 100000")
    assert http.post("/judgements", json=body("0", str(failed[0] + 1))).status_code == 201
    assert http.get("/health").json()["storage"] == "ok"
    kept = [event.id for event in engine.ledger.events]
    acknowledged = [answer.json()["id"] for answer in answers if answer.status_code == 201]
    assert kept[:-1] == acknowledged


def probe(http, operation):
    """Send random requests by the schema of an operation; return their status codes."""
    statuses = []

    @given(case=operation.as_strategy())
    @settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def run(case):
        arguments = case.as_transport_kwargs(base_url=f"http://{HOST}")
        arguments.pop("cookies", None)
        headers = dict(arguments.pop("headers", None) or {})
        headers |= {"Authorization": f"Bearer {TOKENS['ann']}"}
        statuses.append(http.request(**arguments, headers=headers).status_code)

    run()
    return statuses


def test_schemathesis_finds_no_server_error(http):
    """Random requests by the schema: refused or answered, but never an error of the server."""
    schema = schemathesis.openapi.from_dict(http.get("/openapi.json").json())
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) >= 14
    for operation in operations:
        statuses = probe(http, operation)
        assert statuses
        assert max(statuses) < 500, operation.label


def test_the_client_against_a_running_service(tmp_path):
    np.save(tmp_path / "X.npy", ITEMS.vectors)
    tokens = write_tokens(tmp_path)
    options = ["--token-file", tokens, "--port", "0", "--log", tmp_path / "log.sqlite"]
    with running("serve", tmp_path / "X.npy", *options) as (url, _):
        with Client(url, TOKENS["ann"]) as client:
            assert client.health()["ready"]
            pair = client.next()
            made = client.judge(pair["left"]["id"], pair["right"]["id"], "same")
            assert made.created
            assert made.annotator == "ann"
            assert not client.judge(made.left, made.right, "same", made.id).created
            undone = client.undo(made.id)
            assert (undone.kind, undone.created) == ("undo", True)
            assert not client.undo(made.id).created, "it was undone before"
            with pytest.raises(ServiceError, match="'same', 'different' or 'unsure' is needed"):
                client.judge("0", "1", "maybe")
            assert [event.number for event in client.judgements()] == [1, 2]
            assert len(client.distance([("0", "1")])) == 1
            assert len(client.neighbors("0", 3)) == 3
            assert len(client.transform(["0"])[0]) == 5
            (tmp_path / "model.safetensors").write_bytes(client.model())
            assert lw.load(tmp_path / "model.safetensors").n_features_in_ == 5
            assert client.progress()["judgements"] == 0
            assert client.agreement()["n_pairs"] == 0
            with pytest.raises(ServiceError, match="there is no item 'x'") as refused:
                client.judge("x", "1", "same")
            assert refused.value.status == 404
            sent = client.last_id
            assert client.judge("0", "1", "same", sent).id == sent == client.last_id
        with Client(url, "wrong") as stranger, pytest.raises(ServiceError, match="token"):
            stranger.next()
        port = url.rsplit(":", 1)[1]
        again = ["serve", tmp_path / "X.npy", "--token-file", tokens, "--port", port]
        refused = pytest.raises(AssertionError, match=r"port \d+ of 127.0.0.1 cannot be used")
        with refused, running(*again):
            pass


def test_answers_are_sent_without_waiting_for_acknowledgements():
    with bind("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("host", "reached_by"),
    [
        ("127.0.0.1", ["127.0.0.1", "localhost"]),
        ("0.0.0.0", ["127.0.0.1", "127.0.0.2", "localhost"]),
        ("::1", ["[::1]"]),
        ("::", ["[::1]", "127.0.0.1"]),
    ],
)
def test_it_is_reached_by_every_address_that_it_listens_on(tmp_path, host, reached_by):
    try:
        bind(host, 0).close()
    except OSError as error:
        pytest.skip(str(error))
    np.save(tmp_path / "X.npy", ITEMS.vectors)
    arguments = [tmp_path / "X.npy", "--token-file", write_tokens(tmp_path), "--port", "0"]
    with running("serve", *arguments, "--host", host, "--log", tmp_path / "log") as (url, _):
        port = url.rpartition(":")[2]
        for name in reached_by:
            with Client(f"http://{name}:{port}", TOKENS["ann"]) as client:
                assert client.health()["ready"]
        request = urllib.request.Request(f"{url}/health", headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(request)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("192.168.0.7", "192.168.0.7:80"),
        ("::1", "[::1]:80"),
        ("::ffff:10.0.0.1", "10.0.0.1:80"),
        ("fe80::1%eth0", "[fe80::1]:80"),
    ],
)
def test_hosts_of_addresses(address, host):
    assert host_of(address, 80) == host


def test_cookies_of_two_ports_differ():
    names = [cookie_name(host) for host in ("a:1", "a:2", "[::1]:3", "label.example.org")]
    assert names == ["likewise_token_1", "likewise_token_2", "likewise_token_3", "likewise_token"]


def test_bad_urls_and_tokens(tmp_path):
    with pytest.raises(ValueError, match="url='localhost:1' is not allowed"):
        Client("localhost:1", "token")
    path = tmp_path / "tokens.txt"
    for text, message in [
        ("ann\n", "line 1 of .* has 1 words, but a name and a token are needed"),
        ("ann short\n", "has 5 characters, but at least 16 are needed"),
        ("ann 0123456789abcdef\nann 0123456789abcdeg\n", "line 2 .* repeats the name 'ann'"),
        ("# none\n", "has no tokens"),
    ]:
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_tokens(path)
