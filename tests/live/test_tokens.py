"""The file with names and tokens: what it may hold, and how it is encoded."""

import pytest
from fastapi.testclient import TestClient
from judging import toy_items

from likewise.live import Engine, create_app, read_tokens

HOST = "127.0.0.1:8765"
TOKEN = "0123456789abcdef"


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = tmp_path / "tokens.txt"
    path.write_bytes(f"ann {TOKEN}\n".encode("utf-8-sig"))
    assert read_tokens(path) == {"ann": TOKEN}


def test_another_encoding_is_named_as_the_problem(tmp_path):
    path = tmp_path / "tokens.txt"
    for encoding in ("utf-16", "utf-32"):
        path.write_text(f"ann {TOKEN}\n", encoding=encoding)
        with pytest.raises(ValueError, match=r"tokens\.txt' is not text in UTF-8"):
            read_tokens(path)
    path.write_text(f"ann {TOKEN}\n", encoding="utf-16-le")  # without a mark: zeros between
    with pytest.raises(ValueError, match=r"the name in line 1 of .* cannot be printed"):
        read_tokens(path)


@pytest.mark.parametrize(
    "token", ["日本語" * 6, "é" * 20, TOKEN + ";x", TOKEN + ",x", TOKEN + "\x7f", "x" * 513]
)
def test_tokens_that_a_cookie_or_header_cannot_carry(tmp_path, token):
    path = tmp_path / "tokens.txt"
    path.write_text(f"# a comment\nann {token}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"the token in line 2 of .* is not allowed: printable"):
        read_tokens(path)
    with pytest.raises(ValueError, match="the token of 'ann' is not allowed: printable ASCII"):
        create_app(None, {"ann": token}, hosts={HOST})


def test_every_token_that_the_file_may_hold_signs_in(tmp_path):
    punctuation = "".join(chr(code) for code in range(33, 127) if chr(code) not in ";,")
    path = tmp_path / "tokens.txt"
    path.write_text(f"ann {punctuation}\nbjörn {'x' * 512}\n", encoding="utf-8")
    tokens = read_tokens(path)
    items, _ = toy_items(20)
    with Engine(items, str(tmp_path / "log.sqlite"), annotators=list(tokens)) as engine:
        app = create_app(engine, tokens, hosts={HOST})
        for name, token in tokens.items():
            with TestClient(app, base_url=f"http://{HOST}") as client:
                headers = {"Authorization": f"Bearer {token}"}
                assert client.get("/next", headers=headers).status_code == 200, name
                assert client.post("/session", json={"token": token}).status_code == 204, name
                assert client.get("/next").status_code == 200, name
