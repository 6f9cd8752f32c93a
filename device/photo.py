"""A photograph from a phone: decoded, brought to a sensible size, read. Nothing is scored by it."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from device.errors import BadCommand
from vision.reading import Image, Reading

LARGEST = 60_000_000
"""Pixels; a larger picture is no phone's."""
LONG_SIDE = 4000
"""Pixels to which the longer side is reduced: dice are large on a photo taken by hand."""


def decode(data: bytes) -> Image:
    """A picture of (h, w, 3) uint8 BGR, upright as the phone meant it. Raises `BadCommand` with a sentence."""
    if not data:
        raise BadCommand("expected a picture, got an empty file: take it again", code="bad_photo")
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        image = None
    if image is None:
        raise BadCommand("that file is no picture that can be read (JPEG or PNG): take it again", code="bad_photo")
    height, width = image.shape[:2]
    if height * width > LARGEST or min(height, width) < 64:
        raise BadCommand(
            f"expected a picture of 64 pixels to {LARGEST // 10**6} megapixels, got {width}×{height}: take it again",
            code="bad_photo",
            details={"width": width, "height": height},
        )
    scale = LONG_SIDE / max(height, width)
    if scale < 1:
        image = cv2.resize(image, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(image, dtype=np.uint8)


def read_photo(data: bytes, reader: Any) -> Reading:
    """Read the dice on a photo with a `vision.reader.Reader`. Raises `BadCommand`."""
    reading: Reading = reader.read(decode(data), thorough=True)
    return reading
