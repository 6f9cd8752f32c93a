"""Draws the reliability diagram: how often dice of each certainty were really read right."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import cv2
import numpy as np

from .annotate import FONT
from .reading import Image

SIDE, FRAME = 480, 60
INK, GRID, LINE = (40, 40, 40), (215, 215, 215), (160, 90, 20)


def reliability_diagram(bins: Sequence[tuple[float, float, int]], ece: float) -> Image:
    """`bins`: mean certainty, share that was right, count. Both axes in log odds, for nearly all dice are near 1."""
    canvas = np.full((SIDE + 2 * FRAME, SIDE + 2 * FRAME, 3), 255, np.uint8)
    for mark in (0.5, 0.9, 0.99, 0.999, 0.9999):
        x, y = _at(mark, mark)
        cv2.line(canvas, (x, FRAME), (x, FRAME + SIDE), GRID, 1)
        cv2.line(canvas, (FRAME, y), (FRAME + SIDE, y), GRID, 1)
        cv2.putText(canvas, f"{mark:g}", (x - 18, FRAME + SIDE + 18), FONT, 0.4, INK, 1, cv2.LINE_AA)
        cv2.putText(canvas, f"{mark:g}", (4, y + 4), FONT, 0.4, INK, 1, cv2.LINE_AA)
    cv2.line(canvas, (FRAME, FRAME + SIDE), (FRAME + SIDE, FRAME), INK, 1, cv2.LINE_AA)
    points = [_at(certainty, right) for certainty, right, _ in bins]
    for (x, y), (_, _, n) in zip(points, bins, strict=True):
        cv2.circle(canvas, (x, y), 5, LINE, -1, cv2.LINE_AA)
        cv2.putText(canvas, str(n), (x + 7, y + 14), FONT, 0.35, INK, 1, cv2.LINE_AA)
    for a, b in itertools.pairwise(points):
        cv2.line(canvas, a, b, LINE, 2, cv2.LINE_AA)
    total = sum(n for *_, n in bins)
    title = f"reliability of {total} dice, ECE {ece:.4f}, count at each point"
    cv2.putText(canvas, title, (FRAME, 30), FONT, 0.5, INK, 1, cv2.LINE_AA)
    cv2.putText(canvas, "certainty given", (FRAME + SIDE // 2 - 50, FRAME + SIDE + 40), FONT, 0.5, INK, 1, cv2.LINE_AA)
    cv2.putText(canvas, "share read right", (FRAME + 6, FRAME + 16), FONT, 0.5, INK, 1, cv2.LINE_AA)
    return canvas


def _at(certainty: float, right: float) -> tuple[int, int]:
    """Where a point lies: log odds from 0.3 to 0.99995."""

    def along(p: float) -> float:
        low, high = np.log(0.3 / 0.7), np.log(0.99995 / 0.00005)
        p = min(max(p, 0.3), 0.99995)
        return float((np.log(p / (1 - p)) - low) / (high - low))

    return FRAME + round(along(certainty) * SIDE), FRAME + SIDE - round(along(right) * SIDE)
