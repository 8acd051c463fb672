"""A client of the service, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import ssl
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote as url_quote
from urllib.parse import urlencode, urlsplit

from likewise._runtime.text import quote
from likewise.live.events import Answer

__all__ = ["Client", "ServiceError"]


class ServiceError(OSError):
    """The service refused a request; `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class ReceivedJudgement:
    """An event as the service tells it, and whether this request made it."""

    number: int
    kind: str
    id: str
    left: str
    right: str
    answer: str
    annotator: str
    time: float
    created: bool = True


class Client:
    """Judges pairs, and asks for distances, at a running ``likewise serve``.

    Parameters
    ----------
    url : str
        Such as "http://127.0.0.1:8765".
    token : str
        Of the annotator.
    timeout : float, default=30
        Seconds to wait for an answer.

    Notes
    -----
    The connection stays open between requests. If the service has closed it meanwhile, as servers
    do after some silence, the request is sent once more on a new one.

    Attributes
    ----------
    last_id : str or None
        Id of the last judgement that was sent, whether or not an answer came.

    Examples
    --------
    >>> from likewise.live import Client
    >>> client = Client("http://127.0.0.1:8765", "a token of at least 16 characters")
    >>> client.url
    'http://127.0.0.1:8765'
    """

    url: str
    last_id: str | None

    def __init__(self, url: str, token: str, *, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"url={quote(url)} is not allowed: one such as 'http://127.0.0.1:8765' is needed."
            )
        if not (token.isascii() and token.isprintable()):
            raise ValueError(
                "the token has characters that no token has: printable ones of ASCII are needed."
            )
        self.url = url.rstrip("/")
        self.last_id = None
        self._token, self._path = token, parts.path.rstrip("/")
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def next(self, tab: str | None = None) -> dict[str, Any] | None:
        """Return the next pair, as it would be shown, or None if there is none now."""
        found = self._json("GET", "/next" + _query(tab))
        return dict(found) if "left" in found else None

    def judge(
        self, left: str, right: str, answer: Answer, judgement_id: str | None = None
    ) -> ReceivedJudgement:
        """Judge a pair; it is on disk when this returns.

        After an error, send the same id again: the one that was given, or `last_id`.
        """
        self.last_id = judgement_id or str(uuid.uuid4())
        content = {
            "id": self.last_id,
            "left": left,
            "right": right,
            "answer": answer,
        }
        status, body = self._request("POST", "/judgements", content)
        return ReceivedJudgement(**json.loads(body), created=status == 201)

    def undo(self, judgement_id: str, tab: str | None = None) -> ReceivedJudgement:
        """Undo a judgement of one's own; its pair is then the next one.

        `created` is False if it was undone before.
        """
        path = f"/judgements/{url_quote(judgement_id, safe='', errors='replace')}{_query(tab)}"
        return ReceivedJudgement(**self._json("DELETE", path))

    def judgements(self, after: int = 0) -> Iterator[ReceivedJudgement]:
        """Yield the events with numbers above `after`, in order."""
        while True:
            found = self._json("GET", f"/judgements?{urlencode({'after': after})}")
            if not found["events"]:
                return
            for event in found["events"]:
                yield ReceivedJudgement(**event)
            after = found["last"]

    def distance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the distances of pairs of items."""
        return list(self._json("POST", "/distance", {"pairs": list(pairs)})["distances"])

    def neighbors(self, item: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the nearest items and their distances, the nearest first."""
        found = self._json("POST", "/neighbors", {"item": item, "k": k})
        return list(zip(found["items"], found["distances"], strict=True))

    def transform(self, items: Sequence[str]) -> list[list[float]]:
        """Return the vectors of items under the metric."""
        return list(self._json("POST", "/transform", {"items": list(items)})["vectors"])

    def model(self) -> bytes:
        """Return the model as a safetensors file, which `likewise.load` reads."""
        return self._request("GET", "/model")[1]

    def progress(self) -> dict[str, Any]:
        """Return counts, the learning curve and whether one can stop."""
        return dict(self._json("GET", "/progress"))

    def agreement(self, conflicts: int = 20) -> dict[str, Any]:
        """Return how the annotators agree, and up to so many of the pairs where they do not."""
        return dict(self._json("GET", f"/agreement?{urlencode({'conflicts': conflicts})}"))

    def health(self) -> dict[str, Any]:
        """Return whether the service is ready."""
        return dict(self._json("GET", "/health"))

    def _json(self, method: str, path: str, content: Any = None) -> Any:
        return json.loads(self._request(method, path, content)[1])

    def _request(self, method: str, path: str, content: Any = None) -> tuple[int, bytes]:
        body = None if content is None else json.dumps(content).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        kept_alive = self._connection.sock is not None
        try:
            status, answer = self._exchange(method, path, body, headers)
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            if not kept_alive:
                raise
            # The service may have closed the connection while it was idle. All requests can be
            # sent twice: the others only read, and a judgement or an undo has its id.
            status, answer = self._exchange(method, path, body, headers)
        if status >= 400:
            raise ServiceError(status, _detail(answer))
        return status, answer

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        try:
            self._connection.request(method, self._path + path, body, headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()  # the next request connects again
            raise


def _query(tab: str | None) -> str:
    return "" if tab is None else f"?{urlencode({'tab': tab}, errors='replace')}"


def _detail(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["detail"])
    except (ValueError, KeyError, TypeError):
        return "the service refused the request."
