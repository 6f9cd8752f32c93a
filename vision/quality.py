"""How well a die can be seen at all: sharp, bright, not washed out, large enough, whole.

In: a frame and a box. Out: a few plain numbers, and the problems that they amount to. Numbers are relative to the
die, so a sharp phone photograph of 12 megapixels and a sharp webcam frame measure alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from .ncnn_net import Floats
from .reading import Image, Problem

MEASURED_AT = 56
"""Larger dice are shrunk to this many pixels before sharpness is measured: finer detail is not needed to read them."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What was measured of one die."""

    size: float
    """Longer side of the box, pixels of the frame."""
    sharpness: float
    """Steepest usual edge, as a share of the contrast per pixel: 0.5 a perfect step, 0.13 a blur of sigma 3 pixels."""
    bright: float
    """90th percentile of the grey, 0 to 255: the white body."""
    washed_out: float
    """Share of the die at the very top of the scale, 0 to 1."""
    contrast: float
    """Between body and ink, grey levels."""
    whole: bool
    """False when the box touches the border of the frame."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a number becomes a problem."""

    sharpness: float = 0.1
    """Of one die. Rendered scenes: 0.12 and more for 99 of 100 dice."""
    sharpness_of_all: float = 0.145
    """Median over the dice. Rendered scenes: 0.16 to 0.34; the same blurred by sigma 3 pixels: 0.09 to 0.15."""
    bright: float = 45.0
    washed_out: float = 0.85
    contrast: float = 18.0
    size: float = 13.0


def measure(image: Image, box: Floats) -> Quality:
    """Measure the die in `box` ((4,) xyxy) of `image` ((h, w, 3) uint8 BGR)."""
    h, w = image.shape[:2]
    x0, y0, x1, y1 = (float(v) for v in box)
    left, top = max(0, int(x0)), max(0, int(y0))
    part = image[top : max(top + 1, min(h, round(y1))), left : max(left + 1, min(w, round(x1)))]
    size = max(x1 - x0, y1 - y0)
    whole = x0 > 1.5 and y0 > 1.5 and x1 < w - 1.5 and y1 < h - 1.5
    if part.size == 0:
        return Quality(size, 0.0, 0.0, 0.0, 0.0, whole)
    if max(part.shape[:2]) > MEASURED_AT:
        scale = MEASURED_AT / max(part.shape[:2])
        smaller = (max(1, round(part.shape[1] * scale)), max(1, round(part.shape[0] * scale)))
        part = np.asarray(cv2.resize(part, smaller, interpolation=cv2.INTER_AREA), np.uint8)
    grey = cv2.cvtColor(part, cv2.COLOR_BGR2GRAY)
    levels = np.sort(grey, axis=None)  # sorting so few values is much faster than asking for percentiles
    low, high, bright = (float(levels[int(share * (levels.size - 1))]) for share in (0.04, 0.96, 0.9))
    washed_out = 1 - float(np.searchsorted(levels, 252)) / levels.size
    return Quality(size, _steepness(grey, high - low), bright, washed_out, high - low, whole)


def _steepness(grey: np.ndarray, contrast: float) -> float:
    """The smaller of both directions: a picture moved along one axis keeps its edges along the other."""
    if contrast < 4 or min(grey.shape) < 5:
        return 0.0
    # Sobel averages along the edge (weights sum to 4) and differs over two pixels: eight times the slope.
    steep = []
    for dx, dy in ((1, 0), (0, 1)):
        slopes = np.sort(np.abs(cv2.Sobel(grey, cv2.CV_16S, dx, dy)), axis=None)
        steep.append(float(slopes[int(0.97 * (slopes.size - 1))]) / 8)
    return min(steep) / contrast


def die_problems(quality: Quality, limits: Limits) -> list[Problem]:
    """What makes this die doubtful, whatever the networks say."""
    problems = []
    if not quality.whole:
        problems.append(Problem.AT_BORDER)
    if quality.size < limits.size:
        problems.append(Problem.TOO_SMALL)
    if quality.bright < limits.bright:
        problems.append(Problem.TOO_DARK)
    if quality.washed_out > limits.washed_out or (quality.bright > 250 and quality.contrast < limits.contrast):
        problems.append(Problem.GLARE)
    if quality.sharpness < limits.sharpness:
        problems.append(Problem.BLURRED)
    return problems
