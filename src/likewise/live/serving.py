"""Running the service until it is interrupted."""

from __future__ import annotations

import errno
import gc
import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from likewise._runtime.text import quote
from likewise.live.engine import Engine
from likewise.live.log import require_extra
from likewise.live.security import host_of

__all__ = ["addresses", "bind", "serve", "terminated_after_closing"]

_KEEP_ALIVE_S = 75  # people think longer about a pair than the 5 s of uvicorn
_SWITCH_S = 0.001  # threads in the background make way for an answer sooner than by default


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise an error that says why there is none."""
    if not 0 <= port <= 65535:
        raise ValueError(f"port={port} is not allowed: one from 0 to 65535 is needed.")
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError):  # the latter of a name that cannot be one
        raise OSError(
            f"the host {quote(host)} is not known: give an address of this machine, such as "
            "127.0.0.1, or 0.0.0.0 for every one."
        ) from None
    both = family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
    try:
        listening = socket.create_server(
            address[:2], family=family, backlog=256, dualstack_ipv6=both
        )
    except OSError as error:
        # Not what the error itself says: create_server adds the address to it.
        why = str(error) if error.errno is None else os.strerror(error.errno)
        hint = (
            "give an address of this machine as --host."
            if error.errno == errno.EADDRNOTAVAIL
            else "is something else running there? Give another --port; 0 takes any that is free."
        )
        raise OSError(f"port {port} of {host} cannot be used ({why}): {hint}") from None
    # Connections inherit it. asyncio sets it only where the protocol number was given; without it
    # the body of an answer waits up to 40 ms for the acknowledgement of its header.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def addresses(listening: socket.socket) -> list[str]:
    """Return the URLs by which a listening socket is reached, that of this machine first."""
    host, port = listening.getsockname()[:2]
    if not ipaddress.ip_address(host).is_unspecified:
        return [f"http://{host_of(host, port)}"]
    found = ["127.0.0.1", *_network_addresses(listening.family)]
    return [f"http://{host_of(address, port)}" for address in found]


def _network_addresses(family: socket.AddressFamily) -> list[str]:
    """Return the address of this machine in its network, if it is in one."""
    elsewhere = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
    found = []
    for kind in (socket.AF_INET, family):
        with socket.socket(kind, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((elsewhere[kind], 9))  # sends nothing, but chooses an address
            except OSError:
                continue
            address = probe.getsockname()[0]
        if address not in found:
            found.append(address)
    return found


def serve(
    engine: Engine,
    tokens: dict[str, str],
    listening: socket.socket,
    *,
    allowed_hosts: Sequence[str] = (),
    docs: bool = False,
    started: Callable[[], None] | None = None,
) -> None:
    """Serve an engine over HTTP until the process is interrupted or terminated.

    By either signal, SIGINT or SIGTERM, what waits is written and the log is closed.

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
    found = ipaddress.ip_address(host)
    local = found.is_loopback or found.is_unspecified
    names = {"127.0.0.1", "localhost", "[::1]"} if local else set()
    hosts = {f"{name}:{port}" for name in names} | set(allowed_hosts)
    app = create_app(engine, tokens, hosts=hosts, docs=docs)
    # Requests have ids of items in them: nothing of the data is logged.
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE_S,
    )
    server = uvicorn.Server(config)
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()  # modules and items stay: a collection need not pass them, and hold up an answer
    with terminated_after_closing(), engine:
        if started is not None:
            started()
        server.run(sockets=[listening])


class _Terminated(BaseException):
    """The process was sent SIGTERM."""


@contextmanager
def terminated_after_closing() -> Iterator[None]:
    """Let SIGTERM leave the block as an exception does, and end the process only then.

    uvicorn stops on SIGTERM and sends it again to the handler that was there before. The usual one
    would end the process at once, with the log open.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives signals
        return
    received = False

    def leave(*_: object) -> None:
        nonlocal received
        if not received:  # a second signal must not interrupt the closing
            received = True
            raise _Terminated

    before = signal.signal(signal.SIGTERM, leave)
    try:
        with suppress(_Terminated):  # raised as a signal again, below
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
    if received:
        signal.raise_signal(signal.SIGTERM)
