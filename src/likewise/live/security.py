"""Who may ask, from where, and how much."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from likewise._runtime.reading import check_readable
from likewise._runtime.text import quote, quote_path

__all__ = ["Guard", "Tokens", "cookie_name", "host_of", "read_tokens"]

MAX_BODY = 1_000_000
_MIN_TOKEN, _MAX_TOKEN = 16, 512
_NEEDED = f"printable ASCII without ; and , of at most {_MAX_TOKEN} characters"
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def cookie_name(host: str) -> str:
    """Return the name of the cookie for a Host: browsers share cookies between ports."""
    port = host.rpartition(":")[2]
    return f"likewise_token_{port}" if port.isdigit() else "likewise_token"


def host_of(address: str, port: int) -> str:
    """Return the Host of a server that is reached by a numeric address."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    found = mapped or found
    return f"[{found}]:{port}" if found.version == 6 else f"{found}:{port}"


class Tokens:
    """The tokens of the annotators. Only digests are kept, and all are compared each time."""

    annotators: list[str]

    def __init__(self, tokens: Mapping[str, str]) -> None:
        for name, token in tokens.items():
            if not _can_be_sent(token):
                raise ValueError(f"the token of {quote(name)} is not allowed: {_NEEDED} is needed.")
        self._digests = {_digest(token): name for name, token in tokens.items()}
        self.annotators = list(tokens)

    def annotator_of(self, token: str) -> str | None:
        """Return whose token it is, in a time that does not depend on which."""
        given, found = _digest(token), None
        for digest, name in self._digests.items():
            if hmac.compare_digest(digest, given):
                found = name
        return found


def read_tokens(path: Path) -> dict[str, str]:
    """Read the names of annotators and their tokens: one of each on a line.

    Parameters
    ----------
    path : path
        Lines such as ``ann 6Jx0…``, in UTF-8. Empty lines and those that begin with # are ignored.
        A token has 16 to 512 characters of printable ASCII, without ; and ,.

    Returns
    -------
    dict
        From names to tokens.
    """
    check_readable(path, "a list of tokens")
    tokens: dict[str, str] = {}
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a BOM
    except UnicodeDecodeError:
        raise ValueError(
            f"{quote_path(path)} is not text in UTF-8, but a list of tokens is; save it so."
        ) from None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"line {number} of {quote_path(path)}"
        if len(words) != 2:
            raise ValueError(f"{where} has {len(words)} words, but a name and a token are needed.")
        name, token = words
        if len(token) < _MIN_TOKEN:
            raise ValueError(
                f"the token in {where} has {len(token)} characters, but at least {_MIN_TOKEN} are "
                f"needed, such as {secrets.token_urlsafe(12)}."
            )
        if not name.isprintable():
            raise ValueError(f"the name in {where} has characters that cannot be printed.")
        if not _can_be_sent(token):
            raise ValueError(f"the token in {where} is not allowed: {_NEEDED} is needed.")
        if name in tokens or token in tokens.values():
            raise ValueError(f"{where} repeats the name {quote(name)} or its token.")
        tokens[name] = token
    if not tokens:
        raise ValueError(f"{quote_path(path)} has no tokens: a name and a token per line.")
    return tokens


def _can_be_sent(token: str) -> bool:
    """Return whether a header and a cookie can carry a token, and `POST /session` takes it."""
    plain = token.isascii() and token.isprintable() and not set(token) & set(" ;,")
    return plain and len(token) <= _MAX_TOKEN


class Guard:
    """What is checked of every request before the service sees it.

    The Host and, where a browser sends one, the Origin must be known, which stops pages of other
    sites; the body must be small. Every response forbids scripts, styles and frames of others.

    Parameters
    ----------
    app : ASGI application
    hosts : set of str
        Hosts that are served. The numeric address by which a request has come is served as well:
        no name of another site is one.
    """

    def __init__(self, app: Any, hosts: set[str]) -> None:
        self._app, self._hosts = app, {host.lower() for host in hosts}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value for name, value in scope["headers"]}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in _HEADERS.items()
                        if name.encode() not in own
                    ),
                ]
            await send(message)

        refused = self._refusal(headers, scope.get("server"))
        if refused is not None:
            await _respond(send_with_headers, *refused)
            return
        body_size = 0

        async def receive_limited() -> Message:
            nonlocal body_size
            message = await receive()
            body_size += len(message.get("body", b""))
            if body_size > MAX_BODY:  # a body of unknown length: what is left is not read
                return {"type": "http.disconnect"}
            return message

        await self._app(scope, receive_limited, send_with_headers)

    def _refusal(
        self, headers: Mapping[str, bytes], server: tuple[str, int | None] | None
    ) -> tuple[int, str] | None:
        host = headers.get("host", b"").decode("latin-1").lower()
        if host not in self._hosts and host != _own_host(server):
            return 421, "this host is not served here; --allow-host adds one."
        origin = headers.get("origin", b"").decode("latin-1").lower()
        scheme, _, page_host = origin.partition("://")
        known = page_host == host or page_host in self._hosts
        if origin and not (known and scheme in ("http", "https")):
            return 403, "requests from pages of other sites are refused."
        length = headers.get("content-length", b"0")
        if not length.isdigit() or int(length) > MAX_BODY:
            return 413, f"the body is too large: at most {MAX_BODY} bytes are read."
        if headers.get("transfer-encoding") and "content-length" not in headers:
            return 411, "a Content-Length is needed."
        return None


def _own_host(server: tuple[str, int | None] | None) -> str | None:
    """Return the Host of the address that a request has come to."""
    if server is None or server[1] is None:
        return None
    try:
        return host_of(server[0], server[1])
    except ValueError:  # a name, not an address
        return None


async def _respond(send: Send, status: int, detail: str) -> None:
    body = json.dumps({"detail": detail}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
