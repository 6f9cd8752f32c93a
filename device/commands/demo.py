"""`ausguck demo`: a rendered game through the real pipeline, with no camera at all.

The clip is shown to the same eyes, referee and table as a real game. A stand-in plays the host: it presses *end raid*
where the players of the clip do, and answers a question when nobody has tapped for some seconds (and says so on the
page). The clip waits for the table, so that a slow machine shows all of it. Afterwards the table is the visitor's.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from device.cameras.camera import Camera, CameraBase
from device.errors import DeviceError
from vision.reading import Frame

ANNOUNCED = ("bust", "island", "over")
PATIENCE_S = 5.0
"""How long a question waits for a tap before the demo answers it."""
GRACE_S = 3.0
"""How long the demo's table waits for a “no, that was misread” after a bust."""
MOST_SKIPPED = 2
"""Frames that may be left out in a row when the eyes are slow; beyond that the clip waits for them."""
LONGEST_LOOK_S = 1.5
"""How long the clip waits for the eyes to have looked at a frame."""
LONGEST_HOLD_S = 9.0
"""How long the clip waits for the table before it goes on without."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("demo", help="play a rendered game through the real pipeline")
    parser.add_argument("--port", type=int, default=8080, help="port of the page (default: 8080)")
    parser.add_argument("--host", default="0.0.0.0", help="address to serve on (default: all)")
    parser.add_argument("--camera", help="which camera to go on with when the clip is over (as for `ausguck run`)")
    parser.add_argument(
        "--data", type=Path, help="folder to keep the demo's game in (default: a new one, removed at the end)"
    )
    parser.add_argument("--models", type=Path, help="folder of the networks (default: the shipped ones)")
    parser.add_argument("-v", "--verbose", action="store_true", help="say more on standard error")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Play, then serve until SIGTERM or Ctrl-C. Exit codes: 0 done, 2 the port is taken or a file is missing."""
    logging.basicConfig(
        level=logging.INFO if args.verbose else logging.ERROR, format="%(name)s: %(message)s", stream=sys.stderr
    )
    folder = args.data or Path(tempfile.mkdtemp(prefix="ausguck-demo-"))
    try:
        return _play(args, folder)
    except (DeviceError, BadDemo) as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"the demo cannot be served on port {args.port} ({error.strerror or error}): name another one with --port",
            file=sys.stderr,
        )
        return 2
    finally:
        if args.data is None:
            shutil.rmtree(folder, ignore_errors=True)


class BadDemo(ValueError):
    """The clip or its manifest cannot be read; the message is a sentence for people."""


def _play(args: argparse.Namespace, folder: Path) -> int:
    from device.appliance import Appliance
    from device.orders import NewGame
    from device.settings import Settings
    from device.web.serve import wait_for_signal

    manifest = read_manifest()
    host: Host | None = None

    def looked() -> int:
        status = None if ausguck.loop is None else ausguck.loop.status
        return 0 if status is None else status.frames + status.dropped

    camera = DemoCamera(
        _clip_pictures(),
        float(manifest["fps"]),
        [int(c["frame"]) for c in manifest["cues"]],
        lambda number: host is not None and host.may_go_on(number),
        looked=looked,
        then=args.camera,
    )
    ausguck = Appliance(
        folder,
        camera=lambda: camera.open(),
        host=args.host,
        port=args.port,
        models=args.models,
        settings=Settings(grace=GRACE_S),
        panel_wanted=False,
    )
    ausguck.start()
    try:
        names = tuple(manifest["names"])
        ausguck.table.submit(NewGame(names, manifest["edition"]), source="demo")
        host = Host(ausguck.table, manifest, say=_say)
        teller = Teller(ausguck.table, say=_say)
        _say(f"{' and '.join(names)} play {len(manifest['raids'])} raids; the camera is a clip, all else is real.")
        host.start()
        teller.start()
        wait_for_signal(lambda: None)
        host.stop()
        teller.stop()
    finally:
        camera.close()
        ausguck.close()
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def read_manifest(path: Path | None = None) -> dict[str, Any]:
    """What is known about the clip. Raises `BadDemo`."""
    from device.demo import CLIP, MANIFEST

    path = path or MANIFEST
    if not CLIP.exists() or not path.exists():
        raise BadDemo(f"expected the demo's clip {CLIP.name} and {path.name} in {path.parent}: install Ausguck again")
    manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return manifest


def _clip_pictures() -> Any:
    import cv2

    from device.demo import CLIP

    video = cv2.VideoCapture(str(CLIP))
    if not video.isOpened():
        raise BadDemo(
            f"expected a video in {CLIP.name}, but it cannot be decoded: install opencv-python-headless again"
        )
    return video


# -- the camera --------------------------------------------------------------------------------------------------------


class DemoCamera(CameraBase):
    """A clip that stands still at its cues until `may_go_on(frame)` says so, and waits for eyes that are slow.

    Its clock is the clip's: on a busy machine a frame or two are left out, then the game runs slower.
    `looked()` says how many frames the eyes have dealt with. At the end the last picture stays, or the camera named
    by `then` takes over.
    """

    def __init__(
        self,
        video: Any,
        fps: float,
        cues: Sequence[int],
        may_go_on: Callable[[int], bool],
        *,
        looked: Callable[[], int] | None = None,
        then: str | None = None,
    ) -> None:
        super().__init__()
        self.description = "the demo's clip"
        self._video, self._fps = video, fps
        self._cues, self._may_go_on, self._looked, self._then = frozenset(cues), may_go_on, looked, then
        self._index = -1
        self._picture: Any = None
        self._next: Camera | None = None
        self._due = self._t = time.monotonic()
        self.over = False
        """The clip has been played to its end."""

    def open(self) -> DemoCamera:
        """The same clip where it stopped: a camera that is opened again does not begin anew."""
        self._closed = False
        return self

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        """The next frame when it is due; see `Camera.latest`."""
        if self.over and self._then:
            return self._follow(after, timeout)
        self._await_eyes()
        late = time.monotonic() - self._due
        if late < 0:
            time.sleep(min(-late, timeout))
        steps = 1 + min(MOST_SKIPPED, max(0, int(late * self._fps)))
        # What is still late after that is forgotten: the clip runs slower then.
        self._due = max(self._due + steps / self._fps, time.monotonic() - MOST_SKIPPED / self._fps)
        self._t = max(self._t + steps / self._fps, after)
        for _ in range(steps):
            if self._picture is None or self._index not in self._cues or self._may_go_on(self._index):
                self._advance()
        return Frame(self._picture, self._t, self.next_number())

    def _await_eyes(self) -> None:
        """At most a moment: eyes that do not open must not stop the clip."""
        until = time.monotonic() + LONGEST_LOOK_S
        while self._looked is not None and self._looked() <= self._number and time.monotonic() < until:
            time.sleep(0.01)

    def _advance(self) -> None:
        if self.over:
            return
        good, picture = self._video.read()
        if not good:
            if self._picture is None:
                raise BadDemo("expected frames in the demo's clip, found none: install Ausguck again")
            self.over = True
            return
        self._picture, self._index = picture, self._index + 1

    def _follow(self, after: float, timeout: float) -> Frame:
        from device.cameras import open_camera

        assert self._then is not None
        if self._next is None:
            self._next = open_camera(self._then)
            self.description = self._next.status.description or self._then
        return self._next.latest(after, timeout)

    def _release(self) -> None:
        if self._next is not None:
            self._next.close()
            self._next = None


# -- the host ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Cue:
    frame: int
    what: str
    raid: int
    rolls: int
    card: str | None
    faces: tuple[str, ...]
    begun: float | None = None
    pressed: bool = False


class Host:
    """Presses the button where the clip's players do, and answers what nobody answers."""

    def __init__(
        self,
        table: Any,
        manifest: Mapping[str, Any],
        *,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE_S,
    ) -> None:
        self._table, self._say, self._clock, self._patience = table, say, clock, patience
        self._cues = {
            int(c["frame"]): _Cue(
                int(c["frame"]), c["what"], int(c["raid"]), int(c["rolls"]), c["card"], tuple(c["faces"])
            )
            for c in manifest["cues"]
        }
        self._last = max(self._cues)
        self._now: _Cue | None = None
        self._lost = 0
        self._asked: dict[str, float] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo-host", daemon=True)

    def start(self) -> None:
        """Begin to watch the table."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopping.set()
        self._thread.join(2.0)

    def may_go_on(self, frame: int) -> bool:
        """Asked by the camera, at each picture that stands still."""
        cue = self._cues.get(frame)
        if cue is None:
            return True
        self._now = cue
        now = self._clock()
        cue.begun = cue.begun if cue.begun is not None else now
        state = self._table.snapshot.state
        if self._blocking(state):
            cue.begun = now  # people and their taps are waited for
            return False
        if now - cue.begun > (LONGEST_HOLD_S if self._lost < 2 else 2.0):
            self._lost += 1
            return True
        if not _reached(cue, state):
            return False
        if cue.what != "end_raid":
            return True
        if not cue.pressed and now - cue.begun > 1.0:
            cue.pressed = True
            self._press(cue)
        return len(state["raids"]) > cue.raid

    def _press(self, cue: _Cue) -> None:
        from device.orders import EndRaid

        self._say("   the player presses “end raid”")
        try:
            self._table.submit(EndRaid(), source="demo", id=f"demo-end-{cue.frame}-{time.time_ns()}")
        except DeviceError as error:
            self._say(f"   … {error}")

    @staticmethod
    def _blocking(state: Mapping[str, Any]) -> bool:
        return any(q["kind"] not in ANNOUNCED for q in state["questions"])

    def _run(self) -> None:
        version = -1
        while not self._stopping.is_set():
            snapshot = self._table.wait(version, 0.5)
            version = snapshot.version
            try:
                self._answer(snapshot.state)
            except Exception:
                logging.getLogger(__name__).exception("the demo's host stumbled")

    def _answer(self, state: Mapping[str, Any]) -> None:
        open_ = {q["id"]: q for q in state["questions"] if q["kind"] not in ANNOUNCED}
        for gone in set(self._asked) - set(open_):
            del self._asked[gone]
            self._table.clear_message("demo")
        if self._now is not None and self._now.frame >= self._last:
            return  # the clip is over: whatever is asked now is the visitor's
        for number, question in open_.items():
            if number not in self._asked:
                self._asked[number] = self._clock()
                self._say(
                    f"?  {question['sentence']}  (tap an answer; the demo answers itself in {self._patience:.0f} s)"
                )
                self._table.show_message(
                    "demo",
                    f"Tap an answer. If nobody does, the demo answers in {self._patience:.0f} seconds.",
                    {"seconds": round(self._patience)},
                    level="info",
                )
            elif self._clock() - self._asked[number] >= self._patience:
                self._give(question, state)

    def _give(self, question: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        from device.orders import Answer

        choice = likely_answer(question, None if self._now is None else self._now.card)
        self._say(f"   nobody tapped: the demo answers “{choice}”")
        self._asked[question["id"]] = self._clock()
        try:
            self._table.submit(Answer(question["id"], choice), source="demo")
        except DeviceError as error:
            self._say(f"   … {error}")
        self._table.show_message(
            "demo_answered", f"Nobody tapped: the demo answered “{choice}”.", {"choice": choice}, level="info"
        )
        threading.Timer(5.0, lambda: self._table.clear_message("demo_answered")).start()


def likely_answer(question: Mapping[str, Any], card: str | None) -> str:
    """What a player at this table would most likely tap: the card that lies there, else what stands first."""
    values = [choice["value"] for choice in question["choices"]]
    if question["kind"] == "card" and card in values:
        return str(card)
    return str(question["default"] or values[0])


def _reached(cue: _Cue, state: Mapping[str, Any]) -> bool:
    """Whether the table knows what the clip has shown by then."""
    done, raid = len(state["raids"]), state["raid"]
    if done > cue.raid:
        return True
    if done < cue.raid or raid is None or cue.what == "ended":
        return False
    if cue.what == "card":
        return bool(raid["card"] == cue.card)
    return int(raid["rolls"]) >= cue.rolls


# -- the terminal ------------------------------------------------------------------------------------------------------


class Teller:
    """A live summary on the terminal: each roll, each raid, each total."""

    def __init__(self, table: Any, *, say: Callable[[str], None]) -> None:
        self._table, self._say = table, say
        self._raids = 0
        self._roll: tuple[int, int] = (0, 0)
        self._card: tuple[int, str | None] = (0, None)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo-teller", daemon=True)

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def stop(self) -> None:
        """Fall silent."""
        self._stopping.set()
        self._thread.join(2.0)

    def _run(self) -> None:
        version = -1
        while not self._stopping.is_set():
            snapshot = self._table.wait(version, 0.5)
            if snapshot.version != version:
                version = snapshot.version
                self.tell(snapshot.state)

    def tell(self, state: Mapping[str, Any]) -> None:
        """Say what is new in a state of the table."""
        raids = state["raids"]
        for number, raid in enumerate(raids[self._raids :], self._raids + 1):
            others = f", the others {raid['others']:+d}" if raid["others"] else ""
            totals = ", ".join(f"{p['name']} {p['total']}" for p in state["players"])
            result = f"{raid['outcome']} {raid['total']:+d}{others}"
            self._say(f"== raid {number}: {raid['player']}, {raid['card']}: {result}   [{totals}]")
        self._raids = len(raids)
        raid = state["raid"]
        if raid is None:
            return
        number = len(raids)
        if raid["card"] and self._card != (number, raid["card"]):
            self._card = (number, raid["card"])
            self._say(f"-- {raid['player']} draws: {raid['card']}")
        if raid["rolls"] and self._roll != (number, raid["rolls"]):
            self._roll = (number, raid["rolls"])
            faces = " ".join(die["face"] for die in raid["dice"])
            worth = raid["worth_now"]
            value = f"   worth {worth['total']:+d}" if worth else ""
            self._say(f"   roll {raid['rolls']}: {faces}{value}")
