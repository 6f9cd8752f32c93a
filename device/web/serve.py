"""Serving the page: one process, waitress, with the traps handled that a table full of phones springs.

- each waiting phone holds a thread, so there are many, and streams are capped below them (`STREAMS`);
- a sleeping phone would be buffered on disk without end: `outbuf_high_watermark` stops that;
- it would also keep its thread: TCP_USER_TIMEOUT ends connections whose data nobody acknowledges;
- waitress does not stop while requests run: SIGTERM closes, waits a moment, and leaves.
"""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from flask import Flask
from waitress.server import create_server

THREADS = 48
STREAMS = THREADS - 8
"""Phones that may wait for news at the same time; the other threads answer everybody."""
BODY_LIMIT = 64 * 2**20
"""Bytes that waitress takes at all; the application answers from 30 MB on with a sentence."""

SOCKET_OPTIONS = [
    (socket.SOL_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPIDLE", 4), 20),
    (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPINTVL", 5), 5),
    (socket.IPPROTO_TCP, getattr(socket, "TCP_KEEPCNT", 6), 3),
    (socket.IPPROTO_TCP, getattr(socket, "TCP_USER_TIMEOUT", 18), 10_000),
]


class Server:
    """The web server in a thread of its own.

    server = Server(app, host="0.0.0.0", port=8080)   # raises OSError when the port is taken
    server.start()
    …
    server.close()
    """

    def __init__(self, app: Flask, *, host: str = "0.0.0.0", port: int = 8080, threads: int = THREADS) -> None:
        # Our own socket: waitress would leave threads behind when the port is taken.
        listening = _listen(host, port)
        self.port: int = listening.getsockname()[1]
        self._server: Any = create_server(
            app,
            sockets=[listening],
            threads=threads,
            outbuf_high_watermark=262_144,
            max_request_body_size=BODY_LIMIT,
            channel_timeout=60,
            cleanup_interval=10,
            connection_limit=300,
            channel_request_lookahead=1,
            ident="Ausguck",
            clear_untrusted_proxy_headers=True,
        )
        # Not a public keyword of waitress 3.0, but read for each accepted connection.
        self._server.adj.socket_options = SOCKET_OPTIONS
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)
        self._closing = False
        self._app = app

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    def _run(self) -> None:
        with suppress(OSError, ValueError):  # the listening socket is closed under it on purpose
            self._server.run()

    def close(self) -> None:
        """Stop serving: streams end, what is being answered is finished, then the sockets close. Twice does nothing."""
        if self._closing:
            return
        self._closing = True
        if (parts := self._app.extensions.get("ausguck")) is not None:
            parts.stopping.set()
        # Threads first: one that still answers would find waitress's own pipe closed.
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=3)
        self._server.close()
        self._thread.join(timeout=2)


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket. Raises `OSError`."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError:
        listening.close()
        raise
    return listening


def wait_for_signal(on_stop: Callable[[], None]) -> None:
    """Sleep until SIGTERM or SIGINT, then call `on_stop`. Call from the main thread."""
    stop = threading.Event()

    def handle(_signal: int, _frame: object) -> None:
        if stop.is_set():  # a second one means: now
            os._exit(1)
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        while not stop.wait(1.0):
            pass
        on_stop()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def addresses(port: int, host: str = "0.0.0.0") -> list[str]:
    """Where phones find the page: an address with the number first, then the `.local` name that some phones know."""
    if host not in ("0.0.0.0", "::", ""):
        return [f"http://{f'[{host}]' if ':' in host else host}:{port}/"]
    found = [str(address) for address in _lan_addresses()] or ["127.0.0.1"]
    name = socket.gethostname().split(".")[0]
    urls = [f"http://{address}:{port}/" for address in found]
    return [*urls, f"http://{name}.local:{port}/"] if found != ["127.0.0.1"] and name else urls


def _lan_addresses() -> list[ipaddress.IPv4Address]:
    """IPv4 addresses of this machine that a phone can reach; the one used for the default route first."""
    found: list[ipaddress.IPv4Address] = []
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing: asks the routing table which address we would use
        found.append(ipaddress.IPv4Address(probe.getsockname()[0]))
    with suppress(OSError, subprocess.SubprocessError, ValueError):
        listing = subprocess.run(
            ["ip", "-4", "-o", "addr", "show", "scope", "global"], capture_output=True, text=True, timeout=2, check=True
        ).stdout
        found += [ipaddress.IPv4Address(line.split()[3].split("/")[0]) for line in listing.splitlines()]
    return [a for n, a in enumerate(found) if a not in found[:n] and not a.is_loopback and not a.is_unspecified]


def say_where(urls: list[str], code: str) -> None:
    """Tell the terminal where the page is; the first address with the code joins at once."""
    print(f"Ausguck is ready: {urls[0]}   to act: {urls[0]}join?code={code}", file=sys.stderr, flush=True)
    for url in urls[1:]:
        print(f"           also at {url}", file=sys.stderr, flush=True)
