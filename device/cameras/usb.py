"""A USB webcam, through V4L2: any that Linux knows without a driver of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import cv2

from .camera import CameraBroken, CameraMissing, CameraSettings
from .opencv import OpenCvCamera, say_less

VIDEO_CLASS = Path("/sys/class/video4linux")
_NOT_WEBCAMS = ("bcm2835", "unicam", "rp1-cfe", "pispbe", "rpi", "hevc", "codec", "isp", "h264")
_OLDEST_STAMP_S = 5.0


def list_webcams(video_class: Path = VIDEO_CLASS) -> dict[int, str]:
    """Number → name of every webcam, from the kernel's list; opens nothing.

    A webcam has further nodes for metadata (their `index` is not 0), and a Pi has nodes for its codecs and its own
    camera's raw data: neither is a webcam.
    """
    found = {}
    for node in sorted(video_class.glob("video*"), key=lambda one: int(one.name[5:])):
        try:
            name = (node / "name").read_text().strip()
            index = (node / "index").read_text().strip()
        except OSError:  # unplugged while we looked
            continue
        if index == "0" and not any(word in name.lower() for word in _NOT_WEBCAMS):
            found[int(node.name[5:])] = name
    return found


class UsbCamera(OpenCvCamera):
    """A webcam.

    Example:

        with UsbCamera(0) as camera:
            frame = camera.latest(after=time.monotonic())

    `number` is that of `/dev/videoN`. `settings` say size and rate; the webcam may choose what is nearest.
    Raises `CameraMissing` when it is not there, `CameraBroken` when it gives no picture (mostly: in use elsewhere).
    """

    def __init__(
        self,
        number: int = 0,
        *,
        settings: CameraSettings | None = None,
        clock: Callable[[], float] = time.monotonic,
        video_class: Path = VIDEO_CLASS,
    ) -> None:
        settings = settings or CameraSettings()
        self._node = video_class / f"video{number}"
        if not self._node.exists():
            seen = ", ".join(f"{n} ({name})" for n, name in list_webcams(video_class).items()) or "none"
            raise CameraMissing(f"There is no webcam {number}; webcams that are plugged in: {seen}.")
        say_less()
        capture = cv2.VideoCapture(number, cv2.CAP_V4L2)
        if not capture.isOpened():
            capture.release()
            raise CameraBroken(
                f"Webcam {number} is plugged in and cannot be opened; is another program using it, "
                "and is this user in the group video?"
            )
        # MJPG first: uncompressed full HD does not fit through USB 2 at more than 5 frames a second.
        capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG"))
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, settings.width)
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, settings.height)
        capture.set(cv2.CAP_PROP_FPS, settings.fps)
        capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        if settings.lens_position is not None:
            capture.set(cv2.CAP_PROP_AUTOFOCUS, 0)
        super().__init__(capture, fps=capture.get(cv2.CAP_PROP_FPS), clock=clock)
        width, height = (int(capture.get(p)) for p in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
        name = list_webcams(video_class).get(number, "camera")
        self.description = f"USB webcam {number} ({name}), {width}×{height}"
        self.gone = f"Webcam {number} is gone; plug it in again."
        if not capture.grab():
            self.close()
            raise CameraBroken(f"Webcam {number} opened and gives no picture; unplug it and plug it in again.")

    def _grab_newest(self) -> float:
        if not self._node.exists():  # an unplugged webcam may still hand out what it had buffered
            raise CameraMissing(self.gone)
        return super()._grab_newest()

    def _driver_stamp(self, now: float) -> float | None:
        seconds = self._capture.get(cv2.CAP_PROP_POS_MSEC) / 1000.0  # V4L2's buffer stamp, CLOCK_MONOTONIC
        return seconds - self._interval if 0.0 <= now - seconds < _OLDEST_STAMP_S else None
