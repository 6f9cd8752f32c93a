"""A camera on the network: MJPEG over HTTP or RTSP, such as an old phone with a camera app."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

import cv2

from .camera import CameraMissing
from .opencv import OpenCvCamera, say_less

_OPEN_TIMEOUT_MS = 8000
_READ_TIMEOUT_MS = 5000


class StreamCamera(OpenCvCamera):
    """A network stream.

    Example:

        with StreamCamera("http://192.168.0.20:8080/video") as camera:
            frame = camera.latest()

    `url` is http, https or rtsp. A frame counts as exposed two frame times before it arrived; how long it was on
    its way is not known, so a stream is good for watching and second best for scoring.
    Raises `CameraMissing` when nothing answers there.
    """

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        say_less()
        shown = _without_password(url)
        capture = cv2.VideoCapture()
        capture.open(
            url,
            cv2.CAP_FFMPEG,
            [
                cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, _OPEN_TIMEOUT_MS,
                cv2.CAP_PROP_READ_TIMEOUT_MSEC, _READ_TIMEOUT_MS,
            ],
        )  # fmt: skip
        if not capture.isOpened():
            capture.release()
            raise CameraMissing(f"No stream at {shown}; open the address in a browser to see whether it is right.")
        super().__init__(capture, fps=capture.get(cv2.CAP_PROP_FPS), clock=clock)
        width, height = (int(capture.get(p)) for p in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
        self.description = f"stream {shown}, {width}×{height}"
        self.gone = f"The stream {shown} stopped; is the other device still on?"


def _without_password(url: str) -> str:
    """The address as it may be shown to everybody at the table."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))
