"""What a camera is to the rest of the appliance: something that shows the table as it is *now*.

A `Camera` gives frames, each exposed no earlier than the moment asked about. What goes wrong is one of five errors,
each a sentence that a person at the table can act on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from vision.reading import Frame

from ..errors import DeviceError
from ..settings import BadSettings


class CameraError(DeviceError):
    """Something is wrong with the camera; the message is one sentence for people."""

    code = "camera_error"


class CameraMissing(CameraError, FileNotFoundError):
    """There is no such camera (any more). It may be plugged in later, so asking again is cheap and sensible."""

    code = "camera_missing"


class CameraSilent(CameraError, TimeoutError):
    """The camera is there and gave no frame in time."""

    code = "camera_silent"


class CameraBroken(CameraError, RuntimeError):
    """The camera or the software that drives it refused to work."""

    code = "camera_broken"


class CameraEnded(CameraError, EOFError):
    """The clip or stream is over; no further frame will come."""

    code = "camera_ended"


class CameraOff(CameraError):
    """No camera is wanted: the table is played by taps."""

    code = "camera_off"


class CameraState(StrEnum):
    """How the camera is, in one word."""

    OPENING = "opening"
    STREAMING = "streaming"
    SILENT = "silent"
    MISSING = "missing"
    BROKEN = "broken"
    ENDED = "ended"
    OFF = "off"


STATE_OF_ERROR: dict[type[CameraError], CameraState] = {
    CameraMissing: CameraState.MISSING,
    CameraSilent: CameraState.SILENT,
    CameraBroken: CameraState.BROKEN,
    CameraEnded: CameraState.ENDED,
    CameraOff: CameraState.OFF,
}


def state_of(error: BaseException) -> CameraState:
    """Which state an error means; anything unforeseen is a broken camera."""
    return next((state for kind, state in STATE_OF_ERROR.items() if isinstance(error, kind)), CameraState.BROKEN)


@dataclass(frozen=True, slots=True)
class CameraStatus:
    """What the status page says about the camera."""

    state: CameraState
    sentence: str
    """For people: what is shown, or what is wrong and what to do."""
    description: str = ""
    """Which camera, e.g. `USB webcam 0 (HD Pro), 1920×1080`; empty when none is open."""
    frame_number: int = -1
    """Number of the last frame; -1 before the first."""
    frames_per_second: float = 0.0
    """Measured over the last frames; 0 when none came."""
    restarts: int = 0
    """How often the camera was opened anew since the start."""

    def to_json(self) -> dict[str, object]:
        """For `GET /api/state` and the status page."""
        return {
            "state": self.state.value,
            "sentence": self.sentence,
            "description": self.description,
            "frame": self.frame_number,
            "fps": round(self.frames_per_second, 1),
            "restarts": self.restarts,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraSettings:
    """How to open a camera. Every value has a default that suits a table lit by a lamp, seen from 40 to 60 cm."""

    width: int = 2304
    """Pixels; a camera that cannot do it chooses what is nearest, and the frames say what came."""
    height: int = 1296
    """Pixels."""
    fps: float = 15.0
    """Frames a second. 15 is enough for a settling die, and a long exposure fits in it."""
    lens_position: float | None = 2.0
    """Dioptres (1 / distance in metres) for a lens that can move; None leaves the camera's own autofocus on, which
    hunts when a hand comes in."""
    lock_after_s: float = 2.0
    """Seconds after which exposure and white balance are held, so that hands and lamps' reflections do not shift
    colours; 0 leaves both automatic."""
    flicker_hz: int = 100
    """Brightness flicker of the lamp: 100 where the mains has 50 Hz, 120 where it has 60 Hz, 0 to ignore."""

    @classmethod
    def from_table(cls, values: Mapping[str, object]) -> Self:
        """From the `[camera]` table of the settings file; `lens_position = "auto"` leaves autofocus on.

        Raises `BadSettings` for an unknown name or a value that is no number of zero or more.
        """
        good: dict[str, object] = {}
        for name, value in values.items():
            known = {one.name: one for one in fields(cls)}
            if name not in known:
                raise BadSettings(f"[camera]: expected one of {', '.join(known)}, got {name!r}; correct its name.")
            if name == "lens_position" and value == "auto":
                good[name] = None
                continue
            if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
                raise BadSettings(f"[camera]: expected {name} as a number of 0 or more, got {value!r}; correct it.")
            good[name] = int(value) if isinstance(known[name].default, int) else float(value)
        return cls(**good)  # type: ignore[arg-type]


@runtime_checkable
class Camera(Protocol):
    """A camera that is open. Use from one thread; `close()` may be called twice.

    Example:

        with open_camera("auto") as camera:
            frame = camera.latest(after=time.monotonic())
            print(camera.description, frame.image.shape)
    """

    @property
    def description(self) -> str:
        """Which camera, with its picture size."""
        ...

    @property
    def status(self) -> CameraStatus:
        """How it is; never blocks."""
        ...

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        """The newest frame that was exposed at or after `after`.

        `after` and `timeout` are seconds (`time.monotonic()`); 0 takes whatever comes next. The caller owns the
        frame; no buffer of the camera stays in use. Raises a `CameraError`: `CameraSilent` after `timeout`.
        """
        ...

    def close(self) -> None:
        """Give the device back. Calling it again does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class CameraBase:
    """The part that all cameras share: a context manager, frame numbers and a status."""

    description = "camera"

    def __init__(self) -> None:
        self._number = -1
        self._closed = False

    @property
    def status(self) -> CameraStatus:
        """How this camera is; never blocks."""
        if self._closed:
            return CameraStatus(CameraState.MISSING, f"{self.description} is closed.", self.description, self._number)
        return CameraStatus(CameraState.STREAMING, f"{self.description}.", self.description, self._number)

    def next_number(self) -> int:
        """Frame numbers count up by one."""
        self._number += 1
        return self._number

    def close(self) -> None:
        """Give the device back. Calling it again does nothing."""
        if self._closed:
            return
        self._closed = True
        self._release()

    def _release(self) -> None:
        """Called once, by the first `close()`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
