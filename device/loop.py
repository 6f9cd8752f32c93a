"""The loop: the newest frame goes to the eyes, what they see goes to the referee. Never more than two frames are held.

Frames come from a `CameraKeeper` (its own thread); one worker thread runs the watcher. A worker that fails is
reported and begun anew beside a living score pad; a camera that fails is the keeper's business. Nothing here ever
waits for a phone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from vision.reading import Frame, Reading

from .backoff import Backoff
from .cameras.keeper import LatestFrame
from .live import LiveView

log = logging.getLogger(__name__)

_TURN_S = 0.5  # the loop turns at least this often, frames or not: its turning is what the watchdog sees
_NOTHING_LIES_STILL = frozenset({"moving", "hand", "empty", "dark", "camera_moved"})


class Watcher(Protocol):
    """What looks at frames: `vision.watcher.Watcher`, or a double of it."""

    def feed(self, frame: Frame) -> list[Any]:
        """The events that this frame brings (often none)."""
        ...


class FrameSource(Protocol):
    """Where frames come from: a `CameraKeeper`."""

    frames: LatestFrame

    def start(self) -> None: ...
    def stop(self, timeout: float = 3.0) -> None: ...


class LoopState(StrEnum):
    """How the worker is, in one word."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """What the status page says about the eyes."""

    state: LoopState
    sentence: str
    frames: int
    """Frames looked at since the start."""
    dropped: int
    """Frames that a newer one replaced before the eyes had time."""
    restarts: int
    """How often the eyes were begun anew."""
    last_look_s: float
    """Seconds that the last frame took."""

    def to_json(self) -> dict[str, object]:
        """For the status page."""
        return {
            "state": self.state.value,
            "sentence": self.sentence,
            "frames": self.frames,
            "dropped": self.dropped,
            "restarts": self.restarts,
            "last_look_s": round(self.last_look_s, 4),
        }


class Loop:
    """Camera → eyes → referee.

    Example:

        loop = Loop(keeper, lambda: Watcher(Reader.load()), referee.handle, each_turn=watchdog.progress)
        loop.start()

    `source` gives frames. `make_watcher` makes the eyes; it is called in the worker thread, and again after a failure.
    `handle(event, frame)` gets every event with the frame that brought it; keep no reference to the frame, encode
    what is needed. `each_turn` is called after each frame and at least twice a second, never while the eyes are
    stuck: feed the watchdog there. `live` gets each frame.
    """

    def __init__(
        self,
        source: FrameSource,
        make_watcher: Callable[[], Watcher],
        handle: Callable[[Any, Frame], None],
        *,
        each_turn: Callable[[], None] = lambda: None,
        live: LiveView | None = None,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._make_watcher, self._handle = source, make_watcher, handle
        self._each_turn, self._live, self._clock = each_turn, live, clock
        self._backoff = backoff or Backoff(first=0.5)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._watcher: Watcher | None = None
        self._resume_at = float("-inf")
        self._reading: Reading | None = None  # what lies on the table, for the live picture
        self._state, self._sentence = LoopState.STARTING, "The eyes open with the first frame."
        self._frames = self._restarts = 0
        self._last_look = 0.0

    def start(self) -> None:
        """Start the camera and the worker."""
        if self._thread is None:
            self._source.start()
            self._thread = threading.Thread(target=self._run, name="eyes", daemon=True)
            self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Stop both; waits up to `timeout` seconds for the frame in hand. Calling it again does nothing."""
        self._stopping.set()
        self._source.stop()
        if self._thread is not None:
            self._thread.join(timeout)
        self._state, self._sentence = LoopState.STOPPED, "Stopped."

    @property
    def status(self) -> LoopStatus:
        """How the eyes are; never blocks."""
        dropped = self._source.frames.dropped
        return LoopStatus(self._state, self._sentence, self._frames, dropped, self._restarts, self._last_look)

    def look_anew(self) -> None:
        """Begin with fresh eyes at the next frame, e.g. after the table was taught other dice."""
        self._watcher = None

    def _run(self) -> None:
        while not self._stopping.is_set():
            frame = self._source.frames.take(_TURN_S)
            if frame is not None:
                self._look(frame)
                frame = None  # only the slot may hold one while we wait
            try:
                self._each_turn()
            except Exception:
                log.exception("what is called each turn failed")

    def _look(self, frame: Frame) -> None:
        if self._clock() >= self._resume_at:
            try:
                self._feed(frame)
            except Exception as error:
                self._failed(error)
        if self._live is not None:
            self._live.offer(frame, self._reading)

    def _feed(self, frame: Frame) -> None:
        watcher = self._watcher
        if watcher is None:
            watcher = self._watcher = self._make_watcher()
        began = self._clock()
        events = watcher.feed(frame)
        self._last_look = self._clock() - began
        self._frames += 1
        if self._state is not LoopState.RUNNING:
            self._state, self._sentence = LoopState.RUNNING, "The eyes are open."
        for event in events:
            self._remember(event)
            try:
                self._handle(event, frame)
            except Exception:  # what one event led to must not blind the eyes
                log.exception("the event %r was not handled", getattr(event, "kind", event))

    def _remember(self, event: Any) -> None:
        """Boxes are drawn while what they stand round lies still."""
        if str(getattr(event, "kind", "")) in _NOTHING_LIES_STILL:
            self._reading = None
        elif (reading := getattr(event, "reading", None)) is not None:
            self._reading = reading

    def _failed(self, error: Exception) -> None:
        log.exception("the eyes failed; they open again soon")
        self._watcher = self._reading = None
        self._restarts += 1
        self._state = LoopState.FAILED
        self._sentence = f"The eyes failed ({type(error).__name__}: {error}); tap the faces in, they open again soon."
        self._resume_at = self._clock() + self._backoff.failed(self._clock())
