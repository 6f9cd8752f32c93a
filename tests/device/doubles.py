"""Test doubles of the hardware: a camera, the picamera2 object, eyes.

`PICAMERA2_SIGNATURES` are those of the real class, which tests/machine compares with an installed picamera2.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from device.cameras import CameraSilent
from device.cameras.camera import CameraBase
from vision.reading import Frame, Image, Reading

PICAMERA2_SIGNATURES = {
    "cancel_all_and_flush": "(self)",
    "camera_configuration": "(self)",
    "capture_request": "(self, wait=None, signal_function=None, flush=None)",
    "close": "(self)",
    "configure": "(self, camera_config=None)",
    "create_video_configuration": (
        "(self, main={}, lores=None, raw={}, transform=libcamera.Transform(), colour_space=None, buffer_count=6, "
        "controls={}, display='main', encode='main', queue=True, sensor={}, use_case='video')"
    ),
    "global_camera_info": "()",
    "set_controls": "(self, controls)",
    "start": "(self, config=None, show_preview=False)",
}
"""Name → signature of picamera2 0.3.38's `Picamera2`, without annotations: everything of it that our code calls."""


def picture(level: int = 90, size: tuple[int, int] = (64, 48)) -> Image:
    """A plain grey picture."""
    return np.full((size[1], size[0], 3), level, np.uint8)


class FakeCamera(CameraBase):
    """A camera that shows `picture(n)` as fast as asked, or at `fps`. `hang_after`, `fail_after`: frame numbers."""

    description = "fake camera"

    def __init__(
        self,
        *,
        fps: float = 0.0,
        make: Callable[[int], Image] = lambda n: picture(n % 200),
        hang_after: int | None = None,
        deaf: bool = False,
        fail_after: int | None = None,
        error: Exception | None = None,
    ) -> None:
        super().__init__()
        self.fps, self.make, self.hang_after, self.deaf = fps, make, hang_after, deaf
        self.fail_after, self.error = fail_after, error or RuntimeError("broken")
        self.released = threading.Event()  # lets a hanging call go
        self.closed_by: list[str] = []
        self._due = time.monotonic()

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        number = self.next_number()
        if self.fail_after is not None and number >= self.fail_after:
            raise self.error
        if self.hang_after is not None and number >= self.hang_after:
            if not self.deaf:
                self._number -= 1
                self.released.wait(timeout)
                raise CameraSilent("fake camera gave no frame")
            self.released.wait(30.0)  # a call inside a driver that ignores every time-out
        if self.fps:
            self._due = max(self._due + 1 / self.fps, time.monotonic() - 1)
            time.sleep(max(0.0, self._due - time.monotonic()))
        return Frame(self.make(number), time.monotonic(), number)

    def _release(self) -> None:
        self.closed_by.append(threading.current_thread().name)


@dataclass
class FakeRequest:
    """A completed request. Counts as held from its making to its release."""

    device: FakePicamera2
    metadata: dict[str, Any]
    array: np.ndarray
    released: bool = False

    def get_metadata(self) -> dict[str, Any]:
        return dict(self.metadata)

    def make_array(self, name: str) -> np.ndarray:
        assert name == "main"
        assert not self.released, "a released request's buffer belongs to the camera again"
        return self.array.copy()

    def release(self) -> None:
        assert not self.released, "released twice"
        self.released = True
        self.device.held -= 1


class FakeJob:
    """What `capture_request(wait=False)` gives."""

    def __init__(self, give: Callable[[float], FakeRequest]) -> None:
        self._give = give
        self.cancelled = False

    def get_result(self, timeout: float | None = None) -> FakeRequest:
        if self.cancelled:
            raise CancelledError
        return self._give(30.0 if timeout is None else timeout)


@dataclass
class FakePicamera2:
    """Stands for a `Picamera2` object: always hands out the previous frame first, has four buffers, may fall silent."""

    camera_controls: dict[str, tuple[Any, Any, Any]] = field(
        default_factory=lambda: {
            "FrameDurationLimits": (16666, 200000, None),
            "ExposureTime": (10, 200000, 20000),
            "AnalogueGain": (1.0, 16.0, 1.0),
            "AeEnable": (False, True, True),
            "AeFlickerMode": (0, 1, 0),
            "AwbEnable": (False, True, True),
            "ColourGains": (0.0, 32.0, None),
            "LensPosition": (0.0, 15.0, 1.0),
            "AfMode": (0, 2, 0),
        }
    )
    pixel_format: str = "RGB888"
    size: tuple[int, int] = (64, 48)
    stale_s: float = 1.0
    silent: bool = False
    level: int = 100
    clock: Callable[[], float] = time.monotonic
    camera_properties: dict[str, Any] = field(default_factory=lambda: {"Model": "imx708"})
    held: int = 0
    most_held: int = 0
    closed: int = 0
    set_calls: list[dict[str, Any]] = field(default_factory=list)
    configuration: dict[str, Any] = field(default_factory=dict)
    jobs: list[FakeJob] = field(default_factory=list)
    started: bool = False
    _first: bool = True

    def create_video_configuration(
        self, main=None, lores=None, raw=None, transform=None, colour_space=None, buffer_count=6, controls=None,
        display="main", encode="main", queue=True, sensor=None, use_case="video",
    ):  # fmt: skip
        return {"main": main or {}, "controls": controls or {}, "queue": queue, "buffer_count": buffer_count}

    def configure(self, camera_config=None):
        self.configuration = camera_config

    def camera_configuration(self):
        return {"main": {"format": self.pixel_format, "size": self.size, "stride": self.size[0] * 3}}

    def start(self, config=None, show_preview=False):
        self.started = True

    def set_controls(self, controls):
        unknown = set(controls) - set(self.camera_controls)
        if unknown:
            raise RuntimeError(f"Control {unknown.pop()} is not advertised by libcamera")
        self.set_calls.append(dict(controls))

    def capture_request(self, wait=None, signal_function=None, flush=None):
        job = FakeJob(self._give)
        self.jobs.append(job)
        return job if wait is False else job.get_result(None)

    def _give(self, timeout: float) -> FakeRequest:
        if self.silent:
            time.sleep(min(timeout, 0.05))
            raise TimeoutError
        age = self.stale_s if self._first else -0.001
        self._first = not self._first if self.stale_s else False
        if age < 0:
            time.sleep(0.001)
        stamp = self.clock() - max(age, 0.0)
        self.held += 1
        self.most_held = max(self.most_held, self.held)
        assert self.held <= 4, "the camera has no free buffer left"
        metadata = {"SensorTimestamp": int(stamp * 1e9), "ExposureTime": 10000, "AnalogueGain": 2.0,
                    "ColourGains": (1.5, 1.4), "FrameDuration": 66666}  # fmt: skip
        array = np.full((self.size[1], self.size[0], 3), self.level, np.uint8)
        return FakeRequest(self, metadata, array)

    def cancel_all_and_flush(self):
        for job in self.jobs:
            job.cancelled = True

    def close(self):
        self.closed += 1

    @staticmethod
    def global_camera_info():
        return [{"Model": "imx708", "Location": 2, "Num": 0, "Id": "/base/axi/pcie/i2c/imx708@1a"}]


@dataclass(frozen=True)
class FakeEvent:
    """An event of fake eyes."""

    kind: str
    frame: int
    t: float
    reading: Reading | None = None


class FakeWatcher:
    """Eyes that report one event every `every` frames; `fail_at` frame numbers (counted per eye) raise."""

    def __init__(self, *, every: int = 10, fail_at: tuple[int, ...] = (), takes: float = 0.0) -> None:
        self.every, self.fail_at, self.takes = every, fail_at, takes
        self.fed = 0

    def feed(self, frame: Frame) -> list[FakeEvent]:
        self.fed += 1
        if self.takes:
            time.sleep(self.takes)
        if self.fed in self.fail_at:
            raise RuntimeError("the model fell over")
        return [FakeEvent("settled", frame.number, frame.t)] if self.fed % self.every == 0 else []
