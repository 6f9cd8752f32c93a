"""What webcams and network streams share: an OpenCV capture that is read so that no old frame slips through."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

import cv2
import numpy as np

from vision.reading import Frame

from .camera import CameraBase, CameraMissing, CameraSilent

_BUFFERED_S = 0.003  # a frame that is there faster than this had been waiting
_MOST_BUFFERED = 32
_ERRORS_ONLY = 2


class OpenCvCamera(CameraBase):
    """A capture device of OpenCV. `capture` is a `cv2.VideoCapture` (or its like) that is open already.

    `fps` is the rate that the device claims; a frame's age is judged by it where the driver gives no time stamp.
    """

    gone = "The camera no longer answers; check its cable."

    def __init__(self, capture: Any, *, fps: float, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._capture = capture
        self._interval = 1.0 / fps if 1.0 <= fps <= 240.0 else 1.0 / 15.0
        self._clock = clock

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        """The newest frame exposed at or after `after`; see `Camera.latest`."""
        deadline = self._clock() + timeout
        while True:
            exposed = self._grab_newest()
            if exposed >= after:
                ok, image = self._capture.retrieve()
                if not ok or image is None:
                    raise CameraMissing(self.gone)
                return Frame(np.asarray(image, dtype=np.uint8), exposed, self.next_number())
            if self._clock() > deadline:
                raise CameraSilent(f"{self.description} gave no new frame in {timeout:.0f} s.")

    def _grab_newest(self) -> float:
        """Grab until a frame had to be waited for; returns when that one was exposed at the earliest."""
        for _ in range(_MOST_BUFFERED):
            if self._closed:
                raise CameraMissing(f"{self.description} is closed.")
            before = self._clock()
            if not self._capture.grab():
                raise CameraMissing(self.gone)
            now = self._clock()
            stamp = self._driver_stamp(now)
            if stamp is not None:
                return stamp
            if now - before > _BUFFERED_S:
                break
        # Without a stamp: exposed and sent within the two frame times before it arrived.
        return self._clock() - 2.0 * self._interval

    def _driver_stamp(self, now: float) -> float | None:
        """The driver's own time of the frame, less one frame time (it may mark the end of exposure), or None."""
        return None

    def _release(self) -> None:
        self._capture.release()


def say_less() -> None:
    """OpenCV writes a warning for each camera that is not there; our own sentence says it better."""
    cv = cast(Any, cv2)
    set_level = cv.setLogLevel if hasattr(cv, "setLogLevel") else cv.utils.logging.setLogLevel  # OpenCV 4, 5
    set_level(_ERRORS_ONLY)
