"""The motion gate: is anything moving? Cheap enough to ask of every frame, so that the networks run only when it helps.

A frame goes in, a `Motion` comes out. Everything happens on a small grey picture. Lamp flicker, slow drift of the
light and exposure steps are divided out row by row before pictures are compared; sensor noise is measured and
stays below the threshold. Beside "moving or quiet" the gate counts *lone spots*: small things that move and hang on to
nothing that reaches in from the border. A hand that slides dice is one big thing from the border; thrown dice are lone.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from .reading import Box, Frame, Image

Grey = npt.NDArray[np.float32]
"""(h, w) float32, 0 to 255, small."""

WIDTH = 160
"""Width of the small picture; height follows the frame. A die of 16 mm on a 50 cm table is about five pixels wide."""


@dataclass(frozen=True, slots=True)
class Motion:
    """What the gate saw in one frame."""

    moving: bool
    quiet_for: float
    """Seconds since something last moved; 0 while moving."""
    level: float
    """Share of the picture that changed, 0 to 1."""
    lone: int
    """Moving spots of about the size of a die that hang on to nothing."""
    dark: bool
    brightness: float
    """Mean grey, 0 to 255."""


def small_grey(image: Image, width: int = WIDTH) -> Grey:
    """`image` ((h, w, 3) uint8 BGR) as a slightly blurred grey picture `width` pixels wide."""
    h, w = image.shape[:2]
    step = max(1, w // (width * 4))
    # Striding first keeps the cost flat for big sensors; the area filter then averages at least 4 × 4 samples.
    thin = image[::step, ::step] if step > 1 else image
    small = cv2.resize(thin, (width, max(1, round(width * h / w))), interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(small, cv2.COLOR_BGR2GRAY)
    return cv2.GaussianBlur(grey, (3, 3), 0).astype(np.float32)


def difference(now: Grey, before: Grey) -> Grey:
    """`now` minus `before` in grey levels, with what a lamp does to whole rows or the whole picture taken out.

    The median ratio of each row is robust while less than half of the row changed; it is smoothed over rows and kept
    near the median of the whole picture, so that a hand lying along some rows cannot pass for a lamp.
    """
    ratio = (now + 8.0) / (before + 8.0)
    rows = np.median(ratio, axis=1)
    whole = float(np.median(rows))
    rows = np.clip(cv2.blur(rows.reshape(-1, 1), (1, 5)).ravel(), whole * 0.85, whole * 1.15)
    return np.asarray(now - ((before + 8.0) * rows[:, None].astype(np.float32) - 8.0), dtype=np.float32)


class MotionGate:
    """Tells moving from quiet, frame by frame.

    `quiet_after` seconds without a change are called quiet. `dark_below` is the mean grey under which nothing can be
    told.
    """

    def __init__(self, *, quiet_after: float = 0.06, dark_below: float = 14.0) -> None:
        self._quiet_after = quiet_after
        self._dark_below = dark_below
        self._previous: Grey | None = None
        self._anchor: Grey | None = None  # how it looked when it last became quiet: catches what creeps
        self._rest: Grey | None = None  # how it looked when last settled: what differs from it is a hand or a die
        self._noise = 1.0
        self._moved_at: float | None = None
        self._still_frames = 0
        self._die = 6.0
        self._hands: tuple[Box, ...] = ()
        self._scale = 1.0
        self._bright = 60.0

    @property
    def scale(self) -> float:
        """Pixels of the small picture a pixel of the frame."""
        return self._scale

    def settled(self, die_size: float | None = None) -> None:
        """Call when the scene has been read: this is how it looks at rest. `die_size` in pixels of the frame."""
        self._rest = self._previous
        if die_size:
            self._die = float(np.clip(die_size * self._scale, 3.0, 24.0))

    def hands(self, boxes: tuple[Box, ...]) -> None:
        """Where hands were last seen (pixels of the frame): spots there are fingers."""
        self._hands = boxes

    def look(self, frame: Frame) -> Motion:
        """Compare `frame` with what was before."""
        grey = small_grey(frame.image)
        self._scale = grey.shape[1] / frame.image.shape[1]
        brightness = float(grey.mean())
        dark = brightness < min(self._dark_below, 0.35 * self._bright)
        previous = self._previous
        self._previous = grey
        if previous is None or previous.shape != grey.shape:
            self._anchor, self._rest, self._moved_at = grey, None, frame.t
            return Motion(True, 0.0, 0.0, 0, dark, brightness)
        if dark:
            self._moved_at = frame.t
            return Motion(True, 0.0, 0.0, 0, True, brightness)
        self._bright += 0.02 * (brightness - self._bright)
        step = np.abs(difference(grey, previous))
        self._measure_noise(step)
        changed = self._spots(step)
        level = float(changed.mean())
        moving = bool(changed.any())
        if not moving and self._anchor is not None and self._anchor.shape == grey.shape:
            moving = bool(self._spots(np.abs(difference(grey, self._anchor))).any())
        if moving:
            self._moved_at, self._anchor, self._still_frames = frame.t, grey, 0
            return Motion(True, 0.0, level, self._lone(grey, changed), False, brightness)
        self._still_frames += 1
        quiet = frame.t - (self._moved_at if self._moved_at is not None else frame.t)
        if self._anchor is not None:
            # The anchor follows slowly, so that a cloud does not become a movement after a minute.
            self._anchor = np.asarray(self._anchor + (0.02 if quiet < 2 else 0.06) * (grey - self._anchor), np.float32)
        return Motion(quiet < self._quiet_after, quiet, level, 0, False, brightness)

    def _measure_noise(self, step: Grey) -> None:
        """Follow the noise of the sensor: median absolute difference of what mostly does not move."""
        sigma = float(np.median(step)) * 1.4826
        rate = 0.2 if sigma < self._noise else 0.02
        self._noise = max(0.15, self._noise + rate * (sigma - self._noise))

    def _spots(self, step: Grey) -> npt.NDArray[np.uint8]:
        """Mask of changed pixels that have changed neighbours; single sparks are noise."""
        threshold = max(5.0, 6.0 * self._noise)
        mask = (step > threshold).astype(np.uint8)
        if not mask.any():
            return mask
        crowd = cv2.boxFilter(mask, cv2.CV_8U, (3, 3), normalize=False)
        return mask & (crowd >= 3).astype(np.uint8)

    def _lone(self, grey: Grey, changed: npt.NDArray[np.uint8]) -> int:
        """How many die-sized moving spots hang on to nothing that reaches in from the border."""
        things = changed
        if self._rest is not None and self._rest.shape == grey.shape:
            things = changed | self._spots(np.abs(difference(grey, self._rest)))
        reach = max(1, round(self._die / 3))
        joined = cv2.dilate(things, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8))
        count, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
        moving = np.bincount(labels[changed > 0], minlength=count)
        h, w = grey.shape
        lone = 0
        for i in range(1, count):
            x, y, bw, bh, _area = stats[i]
            at_border = x <= 0 or y <= 0 or x + bw >= w or y + bh >= h
            too_big = max(bw, bh) > 5 * self._die + 2 * reach
            if moving[i] >= 4 and not at_border and not too_big and not self._in_hand(x + bw / 2, y + bh / 2):
                lone += 1
        return lone

    def _in_hand(self, x: float, y: float) -> bool:
        fx, fy = x / self._scale, y / self._scale
        return any(x0 <= fx <= x1 and y0 <= fy <= y1 for x0, y0, x1, y1 in self._hands)
