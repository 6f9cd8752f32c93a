"""Which camera? Turns a word of the command line into an open camera, and says why not."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from vision.reading import Frame

from .camera import (
    Camera,
    CameraBase,
    CameraBroken,
    CameraError,
    CameraMissing,
    CameraOff,
    CameraSettings,
    CameraState,
    CameraStatus,
)
from .clip import ClipCamera
from .picamera import PiCamera, list_picameras
from .stream import StreamCamera
from .usb import UsbCamera, list_webcams

WORDS = "auto, picamera, usb:0, a video file, a folder of pictures, http://…, rtsp://… or none"


class NoCamera(CameraBase):
    """No camera on purpose: faces are tapped in, or come from photographs."""

    description = "no camera"

    @property
    def status(self) -> CameraStatus:
        """Off, and what to do instead."""
        return CameraStatus(CameraState.OFF, "No camera in use; tap the faces in or take a picture with a phone.")

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        """Raises `CameraOff`."""
        raise CameraOff(self.status.sentence)


@dataclass(frozen=True, slots=True)
class Probe:
    """What a look at one kind of camera found; opens nothing."""

    kind: str
    """`picamera` or `usb`."""
    found: tuple[str, ...]
    """Names, in the order of their numbers."""
    sentence: str
    """For the status page and the self-test."""
    broken: bool = False
    """True if software is in the way (a failed import), which is a fault; no camera is not."""
    numbers: tuple[int, ...] = ()
    """The number of each name, to open it by."""


def probe_cameras() -> tuple[Probe, ...]:
    """What is there: Pi cameras first, then webcams."""
    return _probe_picamera(), _probe_usb()


def _probe_picamera() -> Probe:
    try:
        names = list_picameras()
    except CameraMissing as error:
        return Probe("picamera", (), str(error))
    except CameraError as error:
        return Probe("picamera", (), str(error), broken=True)
    except Exception as error:  # libcamera itself fails, e.g. after half an upgrade
        return Probe("picamera", (), f"libcamera failed: {type(error).__name__}: {error}.", broken=True)
    sentence = f"Pi camera: {', '.join(names)}." if names else "No Pi camera; check the ribbon cable at both ends."
    return Probe("picamera", tuple(names), sentence, numbers=tuple(range(len(names))))


def _probe_usb() -> Probe:
    webcams = list_webcams()
    listed = ", ".join(f"{number} ({name})" for number, name in webcams.items())
    sentence = f"Webcams: {listed}." if webcams else "No USB webcam is plugged in."
    return Probe("usb", tuple(webcams.values()), sentence, numbers=tuple(webcams))


def open_camera(
    spec: str = "auto",
    *,
    settings: CameraSettings | None = None,
    fps: float | None = None,
    loop: bool = False,
) -> Camera:
    """Open the camera that `spec` names: auto, picamera[:N], usb[:N], a path, an address, or none.

    `settings` are for real cameras, `fps` and `loop` for clips. `auto` takes the Pi camera, else the first webcam
    that opens; when there is none, the error says what was tried. Raises a `CameraError`.
    """
    kind, _, rest = spec.partition(":")
    if kind == "auto" and not rest:
        return _open_any(settings)
    if kind == "none" and not rest:
        return NoCamera()
    if kind == "picamera":
        return PiCamera(_number(spec, rest), settings=settings)
    if kind == "usb":
        return UsbCamera(_number(spec, rest.removeprefix("/dev/video")), settings=settings)
    if kind in ("http", "https", "rtsp", "rtsps") and rest.startswith("//"):
        return StreamCamera(spec)
    if spec and (Path(spec).exists() or "/" in spec or "." in spec):
        return ClipCamera(spec, fps=fps, loop=loop)
    raise CameraMissing(f"'{spec}' names no camera; expected {WORDS}.")


def _number(spec: str, text: str) -> int:
    if not text:
        return 0
    if not text.isdecimal():
        raise CameraMissing(f"'{spec}' names no camera; expected a number after the colon, as in usb:0.")
    return int(text)


def _open_any(settings: CameraSettings | None) -> Camera:
    reasons: list[str] = []
    broken = False
    for probe in probe_cameras():
        if not probe.found:
            reasons.append(probe.sentence)
            broken |= probe.broken
        for number in probe.numbers:
            try:
                return (
                    PiCamera(number, settings=settings)
                    if probe.kind == "picamera"
                    else UsbCamera(number, settings=settings)
                )
            except CameraError as error:
                reasons.append(str(error))
                broken |= isinstance(error, CameraBroken)
    raise (CameraBroken if broken else CameraMissing)(" ".join(reasons))


def wait_for_frame(camera: Camera, timeout: float = 10.0) -> Frame:
    """The first frame (for self-test and `ausguck run`'s start); raises a `CameraError`."""
    return camera.latest(after=time.monotonic(), timeout=timeout)
