"""A real table with its page on a loopback port, and the system's Chromium: what the browser tests share."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from device.orders import Ask, Choice, DieDetail, DrawCard, NewGame, Order, Picture, Roll
from device.settings import Settings
from device.store import Store
from device.table import Table
from device.web import create_app
from device.web.serve import Server
from scorer.cards import Card
from scorer.faces import Face
from vision.reading import DieReading, Reading, Status

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or "/usr/bin/chromium"
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
]
SCREENS = Path(__file__).parents[2] / "out" / "screens"
C, D, M, P, S, X = Face.COIN, Face.DIAMOND, Face.MONKEY, Face.PARROT, Face.SABERS, Face.SKULL


def picture(number: int = 0) -> bytes:
    """A small JPEG that stands for a photograph of the table."""
    image = np.full((240, 320, 3), (60, 110, 70), np.uint8)
    for die in range(8):
        x, y = 40 + 65 * (die % 4), 60 + 90 * (die // 4)
        cv2.rectangle(image, (x, y), (x + 40, y + 40), (235, 240, 240), -1)
    cv2.putText(image, str(number), (8, 28), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (255, 255, 255), 2)
    return cv2.imencode(".jpg", image)[1].tobytes()


@dataclass(frozen=True)
class Picture1:
    """One live picture."""

    number: int
    jpeg: bytes


class Live:
    """A camera that counts its pictures."""

    def __init__(self) -> None:
        self.count = 0

    def picture(self, timeout: float = 2.0) -> Picture1:
        """The next one."""
        self.count += 1
        return Picture1(self.count, picture(self.count))


def read_photo(data: bytes) -> Reading:
    """Eight dice whatever the photograph shows, the last one doubtful."""
    faces = (C, C, C, D, M, M, P, S)
    dice = tuple(
        DieReading(face, 0.999 if i < 7 else 0.71, (10.0 * i, 10.0, 10.0 * i + 9, 19.0), ((P, 0.2),))
        for i, face in enumerate(faces)
    )
    return Reading(Status.DOUBTFUL, (), dice)


@dataclass
class Served:
    """A table that is served."""

    table: Table
    server: Server
    folder: Path
    live: Live = field(default_factory=Live)

    @property
    def url(self) -> str:
        """Where its page is."""
        return f"http://127.0.0.1:{self.server.port}"

    @property
    def join_url(self) -> str:
        """What its QR opens."""
        return f"{self.url}/join?code={self.table.store.code}"

    @property
    def state(self) -> Mapping[str, Any]:
        """The newest state."""
        return self.table.snapshot.state

    def do(self, *orders: Order, source: str = "camera") -> None:
        """Orders, as the camera gives them."""
        for order in orders:
            self.table.submit(order, id=str(uuid.uuid4()), source=source)

    def begin(self, *names: str, **rules: Any) -> None:
        """A game, with a camera that runs."""
        self.table.show_status("camera", {"state": "streaming", "name": "Pi camera", "message": ""})
        self.do(NewGame(names or ("Anna", "Ben", "Chloé"), "de38", rules), source="phone")

    def see(self, phase: str, faces: tuple[Face, ...] = ()) -> None:
        """What the camera sees at the moment."""
        dice = [
            {
                "face": str(f),
                "certainty": 0.998,
                "box": [0, 0, 1, 1],
                "alternatives": [],
                "cocked": False,
                "on_card": False,
            }
            for f in faces
        ]
        self.table.show_reading(
            {"phase": phase, "note": "", "frame": 1, "size": [320, 240], "dice": dice, "card": None}
        )

    def roll(self, *faces: Face, dice: tuple[int, ...] | None = None, kind: str = "roll") -> None:
        """A roll that the camera saw, with its picture."""
        self.do(
            Roll(tuple(faces), dice, details() if len(faces) == 8 else (), (Picture(picture(len(faces)), kind=kind),))
        )

    def ask_die(self, die: int = 6) -> None:
        """A first roll in which one die is doubtful."""
        faces: list[Face | None] = [C, C, C, D, M, M, P, S]
        faces[die] = None
        self.see("doubtful", (C, C, C, D, M, M, P, S))
        choices = ((P, 0.62), (M, 0.3), (X, 0.05), (C, 0.01), (D, 0.01), (S, 0.01))
        self.do(
            Ask(
                "face",
                "doubtful_die",
                f"Die {die + 1}: parrot or monkey?",
                tuple(Choice(face, p) for face, p in choices),
                args={"die": die + 1, "first": "parrot", "second": "monkey"},
                die=die,
                group="roll-1",
                pending=Roll(tuple(faces), None, details(), (Picture(picture(1), kind="roll"),)),
                box=(235.0, 150.0, 275.0, 190.0),
            )
        )

    def play(self, turns: list[tuple[Card, tuple[Face, ...]]]) -> None:
        """Raids of one roll each; those that end by themselves are left to their grace."""
        from device.orders import Answer, EndRaid

        for card, faces in turns:
            self.do(DrawCard(card))
            self.roll(*faces)
            if self.state["raid"]["phase"] == "island":  # no further skull: back from the island
                rest = tuple(die["index"] for die in self.state["raid"]["dice"] if die["face"] != "skull")
                self.roll(*(C for _ in rest), dice=rest)
            announced = [q for q in self.state["questions"] if q["kind"] in ("bust", "island", "over")]
            self.do(Answer(announced[0]["id"], "yes") if announced else EndRaid())


def details() -> tuple[DieDetail, ...]:
    """How sure the camera was of eight dice."""
    sure = (0.999, 0.998, 0.999, 0.94, 0.999, 0.999, 0.97, 0.999)
    return tuple(
        DieDetail(
            p,
            ((M, 0.04), (P, 0.02)),
            (40.0 + 65 * (i % 4), 60.0 + 90 * (i // 4), 80.0 + 65 * (i % 4), 100.0 + 90 * (i // 4)),
        )
        for i, p in enumerate(sure)
    )


MIDGAME: list[tuple[Card, tuple[Face, ...]]] = [
    (Card.PIRATE, (C, C, C, D, M, M, X, S)),
    (Card.GOLD_COIN, (X, X, X, M, M, P, S, D)),
    (Card.ANIMALS, (M, M, M, P, P, P, C, D)),
    (Card.SHIP_2, (S, S, D, D, D, C, X, P)),
    (Card.TREASURE_ISLAND, (D, D, D, D, C, C, M, P)),
    (Card.SKULL_1, (X, X, X, X, M, P, S, C)),
    (Card.DIAMOND, (D, D, D, C, C, C, C, P)),
]
"""Seven raids: a bust, a full chest, a ship, a Skull Island."""


@contextmanager
def serve(folder: Path, *, grace: float = 30.0, streams: int = 40) -> Iterator[Served]:
    """A table, served until the block ends."""
    live = Live()
    with Store.open(folder) as store, Table(store, settings=Settings(grace=grace)) as table:
        app = create_app(
            table,
            settings=Settings(grace=grace),
            live=live,
            read_photo=read_photo,
            addresses=lambda: ("http://192.168.1.7:8080/", "http://ausguck.local:8080/"),
            checks=lambda: ({"name": "clock", "ok": True, "stands_in": False, "message": "the clock is set"},),
            streams=streams,
        )
        server = Server(app, host="127.0.0.1", port=0, threads=streams + 8)
        server.start()
        try:
            yield Served(table, server, folder, live)
        finally:
            server.close()


def in_ci() -> bool:
    """Where nothing may skip that could have run."""
    return bool(os.environ.get("CI"))


class Wire:
    """The network between a phone and the table.

    While `frozen`, packets vanish and nobody is told; `cut` is a table that is switched off, `mend` one that is back.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self.port = 0
        self.frozen = False
        self.mend()

    @property
    def url(self) -> str:
        """The phone's end."""
        return f"http://127.0.0.1:{self.port}"

    def mend(self) -> None:
        """Take connections (again, at the same port)."""
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listening, self._open), daemon=True).start()

    def _accept(self, listening: socket.socket, opened: list[socket.socket]) -> None:
        with suppress(OSError):
            while True:
                phone, _ = listening.accept()
                table = socket.create_connection(("127.0.0.1", self._target))
                opened += [phone, table]
                for a, b in ((phone, table), (table, phone)):
                    threading.Thread(target=self._carry, args=(a, b), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                while self.frozen:
                    time.sleep(0.02)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """End all connections and take no more."""
        self.frozen = False
        for end in (self._listening, *self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
