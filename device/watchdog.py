"""Tells systemd that Ausguck is ready and that it still makes progress; without systemd it does nothing.

The watchdog is fed by *real* progress: each part that must move (`web`, `table`, `eyes`) gives a function that says
whether it has moved lately. One that has not stops the feeding, and systemd starts the service again; the store
knows the game.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress


def notify(message: str, *, environment: Mapping[str, str] = os.environ) -> bool:
    """Send `READY=1`, `WATCHDOG=1`, `STATUS=…` to systemd; False when there is none."""
    address = environment.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
        out.settimeout(1)
        out.sendto(message.encode(), address)
        return True
    return False


def interval(environment: Mapping[str, str] = os.environ) -> float | None:
    """Seconds between two signs of life (a third of what systemd waits), or None when nobody watches."""
    try:
        microseconds = int(environment["WATCHDOG_USEC"])
    except (KeyError, ValueError):
        return None
    mine = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return microseconds / 3e6 if mine and microseconds > 0 else None


class Progress:
    """Has a number moved lately? For counters such as frames, turns of a loop, versions.

    `patience` seconds without movement are allowed.
    """

    def __init__(
        self, count: Callable[[], float], *, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._count, self._patience, self._clock = count, patience, clock
        self._last, self._moved = count(), clock()

    def __call__(self) -> bool:
        """True while it moves."""
        now, value = self._clock(), self._count()
        if value != self._last:
            self._last, self._moved = value, now
        return now - self._moved <= self._patience


class Watchdog:
    """Feeds systemd's watchdog while every part moves.

    with Watchdog({"table": lambda: table.health()["alive"]}):
        …
    """

    def __init__(self, parts: Mapping[str, Callable[[], bool]], *, environment: Mapping[str, str] = os.environ) -> None:
        self._parts, self._environment = dict(parts), environment
        self._every = interval(environment)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.stuck: str | None = None
        """The part that does not move, when one does not."""

    def start(self) -> None:
        """Say that we are ready, and begin to feed."""
        notify("READY=1\nSTATUS=The table is ready.", environment=self._environment)
        if self._every is not None:
            self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Say that we are going."""
        if not self._stop.is_set():
            self._stop.set()
            notify("STOPPING=1", environment=self._environment)

    def __enter__(self) -> Watchdog:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def look(self) -> bool:
        """Ask all parts; feed when all move."""
        self.stuck = next((name for name, moves in self._parts.items() if not _asked(moves)), None)
        if self.stuck is None:
            return notify("WATCHDOG=1", environment=self._environment)
        notify(f"STATUS=The part “{self.stuck}” does not move any more.", environment=self._environment)
        return False

    def _run(self) -> None:
        assert self._every is not None
        while not self._stop.wait(self._every):
            self.look()


def _asked(moves: Callable[[], bool]) -> bool:
    try:
        return bool(moves())
    except Exception:  # whoever cannot say that it moves does not
        return False
