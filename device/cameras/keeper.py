"""Keeps a camera going: one thread captures, another watches it, and the newest frame waits for whoever wants it.

A camera that does not answer is given up after some seconds and opened anew; one that fails again and again is left
alone for longer each time. Nothing of this ever stops the score pad.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from vision.reading import Frame

from ..backoff import Backoff
from .camera import (
    Camera,
    CameraEnded,
    CameraMissing,
    CameraOff,
    CameraSilent,
    CameraState,
    CameraStatus,
    state_of,
)
from .picamera import CHECK_CABLE

log = logging.getLogger(__name__)

_WATCH_EVERY_S = 0.1
_RATE_OVER = 16  # frames that the measured rate is taken over


class LatestFrame:
    """A place for one frame: a newer one replaces it, taking empties it. Nothing ever queues up here."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._frame: Frame | None = None
        self.dropped = 0
        """Frames that were replaced before anyone took them."""

    def put(self, frame: Frame) -> None:
        """Replace what lies here."""
        with self._changed:
            self.dropped += self._frame is not None
            self._frame = frame
            self._changed.notify()

    def take(self, timeout: float) -> Frame | None:
        """The newest frame, waiting up to `timeout` seconds for one; None if none came."""
        with self._changed:
            self._changed.wait_for(lambda: self._frame is not None, timeout)
            frame, self._frame = self._frame, None
            return frame

    @property
    def is_waiting(self) -> bool:
        """Is there a frame that nobody has taken yet?"""
        return self._frame is not None

    def clear(self) -> None:
        """Forget what lies here."""
        with self._changed:
            self._frame = None


class _Capture:
    """One capture thread with its camera. Abandoned means: whatever it does from now on, nobody listens."""

    def __init__(self, open_camera: Callable[[], Camera], keeper: CameraKeeper) -> None:
        self._open, self._keeper = open_camera, keeper
        self.alive_at = time.monotonic()
        self.opened = False
        self.abandoned = threading.Event()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="camera", daemon=True)

    def _run(self) -> None:
        camera: Camera | None = None
        try:
            camera = self._open()
            self.alive_at = time.monotonic()
            self.opened = True
            self._keeper._opened(self, camera)
            self._capture(camera)
        except BaseException as error:  # also what C code raises: a dead thread must have a reason
            self.error = error
        finally:
            if camera is not None:
                try:
                    camera.close()
                except Exception:
                    log.exception("the camera did not close")
            self._keeper._wake.set()

    def _capture(self, camera: Camera) -> None:
        after = time.monotonic()
        while not self.abandoned.is_set():
            try:
                frame = camera.latest(after, self._keeper.patience / 2)
            except CameraSilent:
                continue  # how long that may go on is for the watch to say
            after = frame.t + 1e-6
            self.alive_at = time.monotonic()
            if not self.abandoned.is_set():
                self._keeper._arrived(frame)
            del frame  # while the next one is awaited, only the taker holds this one


class CameraKeeper:
    """A camera that is opened, watched and opened again as needed.

    Example:

        keeper = CameraKeeper(lambda: open_camera("auto"))
        keeper.start()
        frame = keeper.frames.take(timeout=1.0)

    `open_camera` makes an open camera or raises. `patience`: seconds without a frame after which the camera is given
    up (`opening_patience` while it is being opened). `look_again`: seconds between looks for a camera that is missing.
    """

    def __init__(
        self,
        open_camera: Callable[[], Camera],
        *,
        patience: float = 7.0,
        opening_patience: float = 20.0,
        look_again: float = 3.0,
        backoff: Backoff | None = None,
    ) -> None:
        self.patience = patience
        self.frames = LatestFrame()
        """Where the newest frame waits."""
        self._open, self._opening_patience, self._look_again = open_camera, opening_patience, look_again
        self._backoff = backoff or Backoff()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._capture: _Capture | None = None
        self._watch: threading.Thread | None = None
        self._camera: Camera | None = None
        self._state = CameraState.OPENING
        self._sentence = "Opening the camera."
        self._arrivals: deque[float] = deque(maxlen=_RATE_OVER)
        self._number = -1
        self._restarts = 0
        self._on_change: list[Callable[[CameraStatus], None]] = []

    def start(self) -> None:
        """Open the camera in the background and keep it open."""
        if self._watch is None:
            self._watch = threading.Thread(target=self._run, name="camera-watch", daemon=True)
            self._watch.start()

    def stop(self, timeout: float = 3.0) -> None:
        """Close the camera; waits up to `timeout` seconds for it. Calling it again does nothing."""
        self._stopping.set()
        self._wake.set()
        if self._watch is not None:
            self._watch.join(timeout)
        if (capture := self._capture) is not None:
            capture.abandoned.set()
            capture.thread.join(timeout)
        self.frames.clear()

    def when_changed(self, tell: Callable[[CameraStatus], None]) -> None:
        """Call `tell(status)` whenever the state changes; from a thread of the keeper, so it must be quick."""
        self._on_change.append(tell)

    @property
    def status(self) -> CameraStatus:
        """How the camera is; never blocks."""
        camera = self._camera
        arrivals = list(self._arrivals)
        span = arrivals[-1] - arrivals[0] if len(arrivals) > 1 else 0.0
        streaming = self._state is CameraState.STREAMING
        return CameraStatus(
            self._state,
            self._sentence,
            camera.description if camera is not None else "",
            self._number,
            (len(arrivals) - 1) / span if span > 0 and streaming else 0.0,
            self._restarts,
        )

    def _opened(self, capture: _Capture, camera: Camera) -> None:
        if capture is self._capture:
            self._camera = camera

    def _arrived(self, frame: Frame) -> None:
        self._number += 1
        self._arrivals.append(time.monotonic())
        if self._state is not CameraState.STREAMING:
            self._become(CameraState.STREAMING, f"{self._camera.description if self._camera else 'Camera'}.")
        self.frames.put(Frame(frame.image, frame.t, self._number))  # numbers count on through restarts

    def _become(self, state: CameraState, sentence: str) -> None:
        if (state, sentence) == (self._state, self._sentence):
            return
        log.log(logging.INFO if state is CameraState.STREAMING else logging.WARNING, "camera %s: %s", state, sentence)
        self._state, self._sentence = state, sentence
        for tell in self._on_change:
            tell(self.status)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            self._capture = _Capture(self._open, self)
            self._capture.thread.start()  # only now: it asks the keeper whether it is the one that counts
            error = self._watch_over(self._capture)
            if self._stopping.is_set():
                return
            self._camera = None
            self._arrivals.clear()
            self.frames.clear()
            self._become(state_of(error), str(error) or f"The camera failed: {type(error).__name__}.")
            if isinstance(error, CameraOff | CameraEnded):
                return
            now = time.monotonic()
            pause = self._look_again if isinstance(error, CameraMissing) else self._backoff.failed(now)
            if self._stopping.wait(pause):
                return
            self._restarts += 1

    def _watch_over(self, capture: _Capture) -> BaseException:
        """Wait until the capture thread ends or no longer gives signs of life; returns why."""
        while not self._stopping.is_set():
            self._wake.wait(_WATCH_EVERY_S)
            if not capture.thread.is_alive() or capture.error is not None:
                capture.thread.join(1.0)
                return capture.error or CameraSilent("The camera stopped.")
            patience = self.patience if capture.opened else self._opening_patience
            if time.monotonic() - capture.alive_at > patience:
                capture.abandoned.set()
                # A call that hangs inside the driver cannot be ended; one that only waits ends by itself now.
                capture.thread.join(min(1.0, patience / 4))
                return CameraSilent(CHECK_CABLE)
        return CameraOff("Stopped.")
