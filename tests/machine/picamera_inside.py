"""Runs inside the Debian 13 tree: our PiCamera on the real picamera2 on libcamera's virtual pipeline.

Prints one JSON object; tests/machine/test_picamera.py judges it. What is not real here is said in `virtual_device`.
"""

from __future__ import annotations

import faulthandler
import inspect
import json
import sys
import time
from unittest.mock import MagicMock

import numpy as np

faulthandler.dump_traceback_later(50, exit=True)
sys.modules["pykms"] = MagicMock(name="pykms")  # only picamera2's DRM preview window uses it; Debian has no package

import libcamera  # noqa: E402
import picamera2  # noqa: E402
from picamera2 import Picamera2  # noqa: E402
from picamera2.allocators import LibcameraAllocator  # noqa: E402

from device.cameras import CameraError, CameraKeeper, CameraSettings, PiCamera, open_camera, probe_cameras  # noqa: E402
from tests.device.doubles import PICAMERA2_SIGNATURES  # noqa: E402


class VirtualPicamera2(Picamera2):
    """The real class, but for the question for raw modes: libcamera's virtual pipeline has none."""

    def _get_raw_modes(self):
        formats = self.camera.generate_configuration([libcamera.StreamRole.Viewfinder]).at(0).formats
        return [
            {"format": str(pixels), "size": (size.width, size.height)}
            for pixels in formats.pixel_formats
            for size in formats.sizes(pixels)
        ]


def virtual_device(number: int) -> VirtualPicamera2:
    """Two things that the virtual pipeline needs: its own two-plane buffers, and a brake (it has no frame clock)."""
    device = VirtualPicamera2(number)
    device.allocator = LibcameraAllocator(device.camera)
    device.pre_callback = lambda request: time.sleep(1 / 30)
    return device


SETTINGS = CameraSettings(width=1280, height=720, fps=30.0)


def sentence_of(doing) -> str:
    try:
        doing()
    except CameraError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def true_signatures() -> dict[str, str]:
    found = {}
    for name in PICAMERA2_SIGNATURES:
        signature = inspect.signature(getattr(Picamera2, name))
        bare = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
        found[name] = str(inspect.Signature(bare))
    return found


def watch_frames() -> dict[str, object]:
    """Thirty questions: is any frame older than its question, and do our pictures come through in their colours?"""
    late, colours, shapes = [], [], set()
    with PiCamera(0, settings=SETTINGS, open_device=virtual_device) as camera:
        description = camera.description
        for _ in range(30):
            asked = time.monotonic()
            frame = camera.latest(after=asked)
            late.append(frame.t - asked)
            shapes.add((*frame.image.shape, str(frame.image.dtype)))
            colours.append(np.round(frame.image[300:400, 600:700].mean(axis=(0, 1))).astype(int).tolist())
        held = [len(camera._device.completed_requests)]
        # The trap by itself: let finished frames pile up, then ask.
        time.sleep(0.5)
        asked = time.monotonic()
        after_a_pause = camera.latest(after=asked).t - asked
    return {
        "description": description, "oldest": min(late), "newest": max(late), "shapes": sorted(shapes),
        "colours": [list(one) for one in sorted({tuple(one) for one in colours})],
        "kept_requests": held, "after_a_pause": after_a_pause,
    }  # fmt: skip


def watch_cycles() -> dict[str, object]:
    """Open, take, close, again and again, through the keeper as the appliance does."""
    began, numbers = time.monotonic(), []
    for _ in range(6):
        keeper = CameraKeeper(lambda: PiCamera(0, settings=SETTINGS, open_device=virtual_device))
        keeper.start()
        frame = keeper.frames.take(10.0)
        numbers.append(None if frame is None else frame.image.shape[1])
        keeper.stop()
    return {"widths": numbers, "seconds": time.monotonic() - began}


def watch_errors() -> dict[str, str]:
    with PiCamera(0, settings=SETTINGS, open_device=virtual_device) as camera:
        second = sentence_of(lambda: PiCamera(0, settings=SETTINGS, open_device=virtual_device))
        camera._device.stop()  # a sensor that falls silent: the running job never gets its request
        silent = sentence_of(lambda: camera.latest(after=time.monotonic(), timeout=0.5))
    return {
        "second": second,
        "silent": silent,
        "closed": sentence_of(lambda: camera.latest()),
        "number": sentence_of(lambda: PiCamera(5, open_device=virtual_device)),
        "auto": sentence_of(lambda: open_camera("auto")),
    }


print(
    json.dumps(
        {
            "picamera2": str(getattr(picamera2, "__version__", "")),
            "libcamera": libcamera.CameraManager.singleton().version,
            "signatures": true_signatures(),
            "probe": [probe.sentence for probe in probe_cameras()],
            "frames": watch_frames(),
            "cycles": watch_cycles(),
            "errors": watch_errors(),
        }
    )
)
