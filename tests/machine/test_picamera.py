"""Our Pi camera code on the real picamera2 and the real libcamera, whose virtual pipeline plays our pictures.

Real: picamera2's class, event loop, requests, configuration and errors, and libcamera itself. Not here, and tested on a
Pi only (tests/hardware): the sensor's driver, focus, exposure and white balance, RGB888, pulling the cable.
"""

from __future__ import annotations

import json
import re
from typing import Any

import cv2
import numpy as np
import pytest

from tests.device.doubles import PICAMERA2_SIGNATURES

from .conftest import HERE, Chroot

COLOURS = {"red": (40, 40, 200), "green": (50, 180, 40), "blue": (200, 60, 30)}  # BGR


@pytest.fixture(scope="module")
def seen(chroot: Chroot) -> dict[str, Any]:
    for number, colour in enumerate(COLOURS.values()):
        image = np.full((720, 1280, 3), colour, np.uint8)
        cv2.imwrite(str(chroot.root / f"opt/pictures/{number}.jpg"), image, [cv2.IMWRITE_JPEG_QUALITY, 95])
    done = chroot.python(HERE / "picamera_inside.py")
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_double_used_elsewhere_has_the_true_signatures(seen: dict[str, Any]) -> None:
    true = {name: re.sub(r"<libcamera\.Transform '\w+'>", "libcamera.Transform()", one)
            for name, one in seen["signatures"].items()}  # fmt: skip
    assert true == PICAMERA2_SIGNATURES


def test_no_frame_is_older_than_its_question(seen: dict[str, Any]) -> None:
    assert seen["frames"]["oldest"] >= 0
    assert seen["frames"]["newest"] < 0.5
    assert 0 <= seen["frames"]["after_a_pause"] < 0.5
    assert seen["frames"]["kept_requests"] == [0]


def test_format_is_read_back_and_colours_are_right(seen: dict[str, Any]) -> None:
    assert seen["frames"]["description"] == "Pi camera (pictures), 1280×720 NV12"
    assert seen["frames"]["shapes"] == [[720, 1280, 3, "uint8"]]
    assert len(seen["frames"]["colours"]) == len(COLOURS)
    for expected in COLOURS.values():
        assert min(np.abs(np.subtract(expected, one)).max() for one in seen["frames"]["colours"]) <= 12


def test_open_and_close_again_and_again(seen: dict[str, Any]) -> None:
    assert seen["cycles"]["widths"] == [1280] * 6


def test_every_refusal_is_a_sentence(seen: dict[str, Any]) -> None:
    errors = seen["errors"]
    assert errors["second"].startswith("CameraBroken: picamera2 failed while opening the camera")
    assert "Another program has the camera." in errors["second"]
    assert errors["silent"] == "CameraSilent: camera not answering – check the cable"
    assert errors["closed"].startswith("CameraMissing")
    assert "is closed" in errors["closed"]
    assert errors["number"] == "CameraMissing: No Pi camera 5; check the ribbon cable at both ends."
    # The unmodified class refuses the virtual camera (it asks for raw modes): `auto` says so in picamera2's own words.
    assert errors["auto"].startswith("CameraBroken: picamera2 failed while opening the camera: RuntimeError: Camera")


def test_probe_names_the_camera(seen: dict[str, Any]) -> None:
    assert seen["probe"][0] == "Pi camera: pictures."
