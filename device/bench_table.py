"""Measures of the table and its page, for `ausguck bench --table --json`: what a phone feels, on this machine, now.

`measure()` returns rows `{name: value}`; a value that this machine cannot give is None with its reason in `reasons`.
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from device.orders import DrawCard, EndRaid, NewGame, Order, RenamePlayer, Roll
from device.settings import Settings
from device.store import Store
from device.table import Table
from device.web import create_app
from device.web.serve import Server
from scorer.cards import Card
from scorer.faces import Face

PHONES = 30
EVENTS = 20
HAND = (Face.COIN,) * 3 + (Face.MONKEY,) * 2 + (Face.PARROT, Face.SABERS, Face.DIAMOND)


@contextmanager
def served() -> Iterator[tuple[Table, Server]]:
    """A table with its page on a free port of this machine."""
    with (
        tempfile.TemporaryDirectory() as name,
        Store.open(Path(name)) as store,
        Table(store, settings=Settings(grace=60)) as table,
    ):
        server = Server(create_app(table), host="127.0.0.1", port=0)
        server.start()
        try:
            yield table, server
        finally:
            server.close()


class Phone(threading.Thread):
    """A phone that watches: notes when each version arrives."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.arrived: dict[int, float] = {}
        self.connected = threading.Event()
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        self._socket.sendall(b"GET /api/events HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n\r\n")

    def run(self) -> None:
        """Read until closed."""
        with self._socket.makefile("rb") as lines:
            try:
                for line in lines:
                    if line.startswith(b"id: "):
                        self.arrived[int(line[4:])] = time.monotonic()
                        self.connected.set()
            except (OSError, ValueError):
                return

    def close(self) -> None:
        """Leave."""
        self._socket.close()


def watch(phones: int = PHONES, events: int = EVENTS) -> dict[str, Any]:
    """An event reaches all of `phones` phones: milliseconds of the slowest phone (median and worst of `events`)."""
    with served() as (table, server):
        table.submit(NewGame(("Anna", "Ben")))
        watching = [Phone(server.port) for _ in range(phones)]
        for phone in watching:
            phone.start()
        for phone in watching:
            phone.connected.wait(10)
        told: dict[int, float] = {}
        for n in range(events):
            began = time.monotonic()
            told[table.submit(RenamePlayer(0, f"Anna {n}")).version] = began
            time.sleep(0.05)
        time.sleep(0.5)
        slowest = []
        for version, began in told.items():
            arrivals = [phone.arrived.get(version) for phone in watching]
            if all(arrival is not None for arrival in arrivals):
                slowest.append(1000 * (max(a for a in arrivals if a is not None) - began))
        for phone in watching:
            phone.close()
    reached = len(slowest)
    return {
        "phones": phones,
        "events_sent": events,
        "events_that_reached_all": reached,
        "event_to_all_ms": round(statistics.median(slowest), 1) if slowest else None,
        "event_to_all_worst_ms": round(max(slowest), 1) if slowest else None,
    }


def commands(count: int = 200) -> dict[str, Any]:
    """Milliseconds of a command, acknowledged when it is on the disk (median, 95 %)."""
    with tempfile.TemporaryDirectory() as name, Store.open(Path(name)) as store, Table(store) as table:
        table.submit(NewGame(("Anna", "Ben")))
        times = [_timed(partial(table.submit, RenamePlayer(n % 2, f"name {n}"))) for n in range(count)]
    return {
        "command_ms": round(1000 * statistics.median(times), 2),
        "command_p95_ms": round(1000 * statistics.quantiles(times, n=20)[-1], 2),
    }


def restart(raids: int = 200) -> dict[str, Any]:
    """Seconds from opening the store of a long game to its pad, and the size of a state."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store.open(folder) as store, Table(store) as table:
            table.submit(NewGame(("Anna", "Ben"), house_rules={"target": 1_000_000}))
            for order in _raids(raids):
                table.submit(order)
            size = len(table.snapshot.json)
        began = time.monotonic()
        with Store.open(folder) as store:
            table = Table(store)
            seconds = time.monotonic() - began
    return {"replay_raids": raids, "replay_s": round(seconds, 3), "state_kb": round(size / 1024, 1)}


def _raids(count: int) -> Iterator[Order]:
    for _ in range(count):
        yield DrawCard(Card.GOLD_COIN)
        yield Roll(HAND)
        yield EndRaid()


def first_load() -> dict[str, Any]:
    """Kilobytes that a phone fetches at its first visit (page, styles, scripts, texts, state), as sent."""
    with served() as (_, server):
        sent = {path: _fetch(server.port, path) for path in _page_parts(server.port)}
    if sent.get("/", (0, 404))[1] != 200:
        return {"first_load_kb": None, "reasons": {"first_load_kb": "the page is not part of this installation"}}
    return {"first_load_kb": round(sum(size for size, _ in sent.values()) / 1024, 1), "first_load_requests": len(sent)}


def _page_parts(port: int) -> list[str]:
    import re

    text = _get(port, "/").decode("utf-8", "replace")
    linked = re.findall(r'(?:src|href)="(/(?:static|texts)/[^"#]+)', text)
    return list(dict.fromkeys(["/", *linked, "/api/state"]))


def _get(port: int, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def _fetch(port: int, path: str) -> tuple[int, int]:
    """(bytes of the body as sent, status), as a browser asks."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    size = len(answer.read())
    connection.close()
    return size, answer.status


def _timed(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


def measure() -> dict[str, Any]:
    """All rows."""
    rows: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for part in (watch, commands, restart, first_load):
        found = part()
        reasons.update(found.pop("reasons", {}))
        rows.update(found)
    return {**rows, "reasons": reasons}


if __name__ == "__main__":
    print(json.dumps(measure()))
