"""The live picture: the newest frame with the boxes drawn in, as a numbered JPEG, made only when somebody looks.

In: every frame of the loop with the reading that holds (cheap when nobody looks). Out: `LivePicture`s and, for the
history, evidence pictures.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from vision.reading import DieReading, Frame, Image, Reading, Status

_WANTED_FOR_S = 3.0  # after a request, frames are kept at hand this long
_CERTAIN, _DOUBTFUL, _CARD = (96, 200, 64), (0, 150, 255), (230, 180, 90)  # BGR
_DARK = (20, 20, 20)


@dataclass(frozen=True, slots=True)
class LivePicture:
    """One picture for a browser."""

    number: int
    """The frame's number; a higher one is newer."""
    t: float
    """Seconds of `time.monotonic()` at exposure."""
    jpeg: bytes


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    image: Image
    scale: float
    frame: tuple[int, float]
    reading: Reading | None


class LiveView:
    """Keeps one small copy of the newest frame while somebody looks, and none while nobody does.

    `width` in pixels and `quality` (JPEG, 1 to 100) of the pictures. The loop calls `offer`, the page `picture`.
    """

    def __init__(self, *, width: int = 960, quality: int = 80, clock: Callable[[], float] = time.monotonic) -> None:
        self._width, self._quality, self._clock = width, quality, clock
        self._wanted_until = float("-inf")
        self._changed = threading.Condition()
        self._kept: _Kept | None = None
        self._encoding = threading.Lock()
        self._encoded: tuple[_Kept, LivePicture] | None = None

    @property
    def is_wanted(self) -> bool:
        """Has anybody asked in the last seconds?"""
        return self._clock() < self._wanted_until

    def offer(self, frame: Frame, reading: Reading | None = None) -> None:
        """Show this frame to whoever looks. Costs a comparison when nobody does, a small resize otherwise."""
        if not self.is_wanted:
            if self._kept is not None:
                self._kept = self._encoded = None
            return
        image, scale = shrink(frame.image, self._width)
        with self._changed:
            self._kept = _Kept(image, scale, (frame.number, frame.t), reading)
            self._changed.notify_all()

    def picture(self, timeout: float = 2.0) -> LivePicture | None:
        """A frame exposed after the call, drawn and encoded in the caller's thread; None if none came in `timeout` s.

        All who wait for the same frame share one encoding.
        """
        with self._changed:
            before, asked = self._kept, self._clock()
            self._wanted_until = asked + max(_WANTED_FOR_S, timeout)
            self._changed.wait_for(lambda: self._kept is not None and self._kept.frame[1] >= asked, timeout)
            kept = self._kept
        if kept is None or kept is before:
            return None
        with self._encoding:
            if self._encoded is None or self._encoded[0] is not kept:
                self._encoded = kept, self._encode(kept)
            return self._encoded[1]

    def _encode(self, kept: _Kept) -> LivePicture:
        image = kept.image if kept.reading is None else draw_reading(kept.image, kept.reading, scale=kept.scale)
        return LivePicture(*kept.frame, encode_jpeg(image, quality=self._quality))


def shrink(image: Image, width: int) -> tuple[Image, float]:
    """A copy at most `width` pixels wide, and the factor: small = full × factor."""
    scale = min(1.0, width / image.shape[1])
    if scale == 1.0:
        return image.copy(), 1.0
    size = (width, max(1, round(image.shape[0] * scale)))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8), scale


def encode_jpeg(image: Image, *, quality: int = 85) -> bytes:
    """JPEG of a BGR image."""
    ok, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not ok:
        raise ValueError(f"expected a BGR image (h, w, 3) uint8, got {image.shape} {image.dtype}")
    return data.tobytes()


def evidence_jpeg(frame: Frame, reading: Reading | None = None, *, width: int = 1280, quality: int = 82) -> bytes:
    """The picture that a raid's line in the history is proved by; with boxes if `reading` is given."""
    image, scale = shrink(frame.image, width)
    return encode_jpeg(image if reading is None else draw_reading(image, reading, scale=scale), quality=quality)


def draw_reading(image: Image, reading: Reading, *, scale: float = 1.0) -> Image:
    """A copy of `image` with every die's box and face; doubt is a thick box and a question mark, not only a colour.

    `scale` turns the reading's pixels into those of `image`.
    """
    canvas = image.copy()
    if reading.card is not None and len(reading.card.corners) == 4:
        corners = np.rint(np.array(reading.card.corners) * scale).astype(np.int32)
        cv2.polylines(canvas, [corners], True, _CARD, 2, cv2.LINE_AA)
        _label(canvas, reading.card.name.replace("_", " "), (int(corners[:, 0].min()), int(corners[:, 1].min())), _CARD)
    for die in reading.dice:
        _draw_die(canvas, die, reading.status is Status.CERTAIN, scale)
    return canvas


def _draw_die(canvas: Image, die: DieReading, all_certain: bool, scale: float) -> None:
    certain = all_certain or not die.problems
    colour = _CERTAIN if certain else _DOUBTFUL
    x0, y0, x1, y1 = (round(v * scale) for v in die.box)
    cv2.rectangle(canvas, (x0, y0), (x1, y1), colour, 2 if certain else 4, cv2.LINE_AA)
    _label(canvas, die.face.value + ("" if certain else "?"), (x0, y0), colour)


def _label(canvas: Image, text: str, corner: tuple[int, int], colour: tuple[int, int, int]) -> None:
    font, size, thickness = cv2.FONT_HERSHEY_SIMPLEX, 0.5, 1
    (width, height), _ = cv2.getTextSize(text, font, size, thickness)
    x, y = max(0, corner[0]), max(height + 6, corner[1])
    cv2.rectangle(canvas, (x, y - height - 6), (x + width + 6, y), colour, cv2.FILLED)
    cv2.putText(canvas, text, (x + 3, y - 4), font, size, _DARK, thickness, cv2.LINE_AA)
