"""The Raspberry Pi camera, through picamera2.

Wiring: the ribbon cable of a Camera Module 2, 3 or HQ. Frames are at full resolution, focus stands still, exposure and
white balance are held once they have settled, and no frame is ever older than the question.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from typing import Any

from vision.reading import Frame, Image

from .camera import CameraBase, CameraBroken, CameraMissing, CameraSettings, CameraSilent
from .pixels import to_bgr

CHECK_CABLE = "camera not answering – check the cable"
_MANUAL_FOCUS = 0  # libcamera.controls.AfModeEnum.Manual
_FLICKER_MANUAL = 1  # libcamera.controls.AeFlickerModeEnum.Manual
_RELIGHT_RATIO = 1.5  # a picture this much brighter or darker than when exposure was held: somebody used the switch
_RELIGHT_AFTER_S = 5.0  # … and for so long that it is no hand


@functools.cache
def _picamera2() -> Any:
    """The picamera2 module. Whatever its import raises is kept as a sentence: it is the diagnosis."""
    try:
        return importlib.import_module("picamera2")
    except ModuleNotFoundError as error:
        return CameraMissing(f"picamera2 is not installed (no module {error.name}); on a Pi run deploy/install.sh.")
    except BaseException as error:  # a binary mismatch raises ValueError, ImportError, SystemError, …
        if isinstance(error, KeyboardInterrupt):
            raise
        return CameraBroken(
            f"picamera2 cannot be imported: {type(error).__name__}: {error}. "
            "Python packages do not fit together; run deploy/install.sh again."
        )


def import_picamera2() -> Any:
    """The picamera2 module, or a `CameraMissing` (not installed) or `CameraBroken` (import failed, with its words)."""
    module = _picamera2()
    if isinstance(module, Exception):
        raise module
    return module


def forget_import() -> None:
    """Try the import anew next time (for tests)."""
    _picamera2.cache_clear()


def list_picameras() -> list[str]:
    """Names of the cameras that libcamera sees, without USB webcams (those are opened through V4L2)."""
    info = import_picamera2().Picamera2.global_camera_info()
    return [str(one.get("Model", "camera")) for one in info if "usb" not in str(one.get("Id", "")).lower()]


def _open_device(number: int) -> Any:
    return import_picamera2().Picamera2(number)


class PiCamera(CameraBase):
    """A Raspberry Pi camera.

    Example:

        with PiCamera() as camera:
            frame = camera.latest(after=time.monotonic())

    `number` is libcamera's number of the camera (0 on a Pi with one). `settings` say size, rate, focus and light.
    `open_device` makes the picamera2 object (the machine tests put libcamera's virtual camera there).
    Raises `CameraMissing` when there is none, `CameraBroken` when picamera2 refuses.
    """

    def __init__(
        self,
        number: int = 0,
        *,
        settings: CameraSettings | None = None,
        open_device: Callable[[int], Any] = _open_device,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._settings = settings or CameraSettings()
        self._clock = clock
        self.description = f"Pi camera {number}"
        self._device = self._opened(open_device, number)
        try:
            self._configure()
            self._device.start()
        except Exception as error:
            self.close()
            raise CameraBroken(_refusal("starting", error)) from error
        self._light = _Light(self._device, self._settings, clock)

    def _opened(self, open_device: Callable[[int], Any], number: int) -> Any:
        try:
            return open_device(number)
        except (CameraMissing, CameraBroken):
            raise
        except IndexError as error:
            raise CameraMissing(f"No Pi camera {number}; check the ribbon cable at both ends.") from error
        except Exception as error:
            if "No camera" in str(error):
                raise CameraMissing(f"No Pi camera {number}; check the ribbon cable at both ends.") from error
            raise CameraBroken(_refusal("opening", error)) from error

    def _configure(self) -> None:
        wanted = self._settings
        duration = round(1e6 / wanted.fps)
        offered = self._device.camera_controls
        controls: dict[str, object] = {}
        if "FrameDurationLimits" in offered:
            lowest, highest = offered["FrameDurationLimits"][:2]
            controls["FrameDurationLimits"] = (max(lowest, min(highest, duration)),) * 2
        if wanted.lens_position is not None and "LensPosition" in offered:
            controls["AfMode"] = _MANUAL_FOCUS
            controls["LensPosition"] = wanted.lens_position
        if wanted.flicker_hz and "AeFlickerMode" in offered:
            controls["AeFlickerMode"] = _FLICKER_MANUAL
            controls["AeFlickerPeriod"] = round(1e6 / wanted.flicker_hz)
        # queue=False: picamera2 otherwise keeps one finished request and hands that old picture out at once.
        configuration = self._device.create_video_configuration(
            main={"size": (wanted.width, wanted.height), "format": "RGB888"},
            buffer_count=4,
            controls=controls,
            queue=False,
        )
        self._device.configure(configuration)
        stream = self._device.camera_configuration()["main"]
        self._format = str(stream["format"])
        self._size = (int(stream["size"][0]), int(stream["size"][1]))
        name = self._device.camera_properties.get("Model", "camera")
        self.description = f"Pi camera ({name}), {self._size[0]}×{self._size[1]} {self._format}"

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        """The next frame exposed at or after `after`; see `Camera.latest`."""
        deadline = self._clock() + timeout
        while True:
            with self._request(deadline) as request:
                metadata = request.get_metadata()
                exposed = _exposed_at(metadata, self._clock)
                if exposed < after:
                    continue
                image = to_bgr(request.make_array("main"), self._format, self._size)
            self._light.follow(image, metadata)
            return Frame(image, exposed, self.next_number())

    @contextlib.contextmanager
    def _request(self, deadline: float) -> Any:
        """One finished request, given back to the camera whatever happens: a kept one starves the sensor."""
        if self._closed:
            raise CameraMissing(f"{self.description} is closed.")
        left = deadline - self._clock()
        if left <= 0:
            raise CameraSilent(CHECK_CABLE)
        try:
            job = self._device.capture_request(wait=False)
            request = _result(self._device, job, left)
        except CameraSilent:
            raise
        except Exception as error:
            raise CameraBroken(_refusal("capturing", error)) from error
        try:
            yield request
        finally:
            request.release()

    def relight(self) -> None:
        """Let exposure and white balance settle again, then hold them (after the lamp was switched)."""
        self._light.settle()

    def _release(self) -> None:
        with contextlib.suppress(Exception):  # whatever a dying camera says, the next one must be opened
            self._device.close()


def _result(device: Any, job: Any, timeout: float) -> Any:
    """The job's request, or `CameraSilent`. A request that arrives just too late is released, not lost."""
    try:
        return job.get_result(timeout=timeout)
    except TimeoutError:
        device.cancel_all_and_flush()
    with contextlib.suppress(TimeoutError, CancelledError):
        job.get_result(timeout=0).release()
    raise CameraSilent(CHECK_CABLE)


def _refusal(doing: str, error: BaseException) -> str:
    cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
    busy = " Another program has the camera." if "busy" in f"{error}{cause}".lower() else ""
    return f"picamera2 failed while {doing} the camera: {type(error).__name__}: {error}{cause}.{busy}"


def _exposed_at(metadata: Mapping[str, Any], clock: Callable[[], float]) -> float:
    """When the exposure began, on `time.monotonic()`'s scale.

    `SensorTimestamp` (nanoseconds, start of the first row) is documented as CLOCK_BOOTTIME and delivered by most
    drivers as CLOCK_MONOTONIC. They differ by the time spent suspended: the one that gives the smaller possible age
    is meant. A request without a stamp is taken as begun one frame before it arrived.
    """
    now = clock()
    stamp = metadata.get("SensorTimestamp")
    if not stamp:
        return now - float(metadata.get("FrameDuration", 100_000)) * 1e-6
    seconds = int(stamp) * 1e-9
    ages = [age for age in (now - seconds, time.clock_gettime(time.CLOCK_BOOTTIME) - seconds) if age >= 0]
    return now - min(ages, default=0.0)


class _Light:
    """Holds exposure and white balance once they have settled, and lets go when the room's light changes."""

    def __init__(self, device: Any, settings: CameraSettings, clock: Callable[[], float]) -> None:
        offered = device.camera_controls
        self._device = device
        self._clock = clock
        self._wait = settings.lock_after_s
        self._can = self._wait > 0 and "AeEnable" in offered and "ExposureTime" in offered
        self._can_white = self._can and "AwbEnable" in offered and "ColourGains" in offered
        self._since = clock()
        self._level: float | None = None  # brightness when held; None while automatic
        self._odd_since: float | None = None

    def settle(self) -> None:
        """Go automatic for a while."""
        if not self._can:
            return
        self._device.set_controls({"AeEnable": True, **({"AwbEnable": True} if self._can_white else {})})
        self._since = self._clock()
        self._level = self._odd_since = None

    def follow(self, image: Image, metadata: Mapping[str, Any]) -> None:
        """Look at one frame (a sparse grid of it) and hold or let go."""
        if not self._can:
            return
        now = self._clock()
        if self._level is None:
            if now - self._since >= self._wait and "ExposureTime" in metadata:
                self._hold(image, metadata)
            return
        ratio = (_brightness(image) + 1.0) / (self._level + 1.0)
        if 1 / _RELIGHT_RATIO < ratio < _RELIGHT_RATIO:
            self._odd_since = None
        elif self._odd_since is None:
            self._odd_since = now
        elif now - self._odd_since > _RELIGHT_AFTER_S:
            self.settle()

    def _hold(self, image: Image, metadata: Mapping[str, Any]) -> None:
        held: dict[str, object] = {"AeEnable": False, "ExposureTime": metadata["ExposureTime"]}
        if "AnalogueGain" in metadata:
            held["AnalogueGain"] = metadata["AnalogueGain"]
        if self._can_white and "ColourGains" in metadata:
            held["AwbEnable"] = False
            held["ColourGains"] = metadata["ColourGains"]
        self._device.set_controls(held)
        self._level = _brightness(image)


def _brightness(image: Image) -> float:
    return float(image[::64, ::64].mean())
