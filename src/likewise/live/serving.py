"""Running the service until it is interrupted."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import Any

from likewise.live.engine import Engine
from likewise.live.log import require_extra

__all__ = ["bind", "serve"]


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise an error that says why there is none."""
    try:
        return socket.create_server((host, port), backlog=256)
    except OSError as error:
        raise OSError(
            f"port {port} of {host} cannot be used ({error.strerror or error}): is something else "
            "running there? Give another --port; 0 takes any that is free."
        ) from None


def serve(
    engine: Engine,
    tokens: dict[str, str],
    listening: socket.socket,
    *,
    allowed_hosts: Sequence[str] = (),
    docs: bool = False,
    started: Callable[[], None] | None = None,
) -> None:
    """Serve an engine over HTTP until the process is interrupted.

    Parameters
    ----------
    engine : Engine
    tokens : dict
        From the names of annotators to their tokens.
    listening : socket
        What `bind` returned.
    allowed_hosts : sequence of str
        Other values of the header Host that are served, such as "label.example.org".
    docs : bool
        Whether ``/openapi.json`` is served.
    started : callable, optional
        Called when requests are answered.
    """
    uvicorn: Any = require_extra("uvicorn", "the service")
    require_extra("fastapi", "the service")
    from likewise.live.service import create_app

    host, port = listening.getsockname()[:2]
    names = {"127.0.0.1", "localhost", "[::1]"} if _is_loopback(host) else {host}
    hosts = {f"{name}:{port}" for name in names} | set(allowed_hosts)
    app = create_app(engine, tokens, hosts=hosts, docs=docs)
    # Requests have ids of items in them: nothing of the data is logged.
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off", ws="none"
    )
    server = uvicorn.Server(config)
    with engine:
        if started is not None:
            started()
        server.run(sockets=[listening])


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback
