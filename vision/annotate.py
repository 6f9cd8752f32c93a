"""Draws a reading over its picture: boxes, faces, what is doubtful and why.

In: a picture and its `Reading`. Out: a new picture of the same size.
"""

from __future__ import annotations

import cv2
import numpy as np

from .reading import DieReading, Image, Reading, Status

SURE, DOUBT, CARD = (80, 200, 60), (40, 120, 255), (230, 160, 40)
"""Colours, BGR: green, orange, blue."""
FONT = cv2.FONT_HERSHEY_SIMPLEX


def annotate(image: Image, reading: Reading, *, note: str = "") -> Image:
    """`image` ((h, w, 3) uint8 BGR) with what was read drawn over it; `note` is added to the headline."""
    canvas = image.copy()
    size = max(canvas.shape[:2])
    thick = max(1, round(size / 640))
    if reading.card is not None and len(reading.card.corners) == 4:
        corners = np.array(reading.card.corners, np.int32).reshape(-1, 1, 2)
        cv2.polylines(canvas, [corners], True, CARD, thick, cv2.LINE_AA)
        x, y = corners.reshape(-1, 2).min(0)
        _text(canvas, f"{reading.card.name} {reading.card.certainty:.2f}", (int(x), int(y)), size, CARD)
    for x0, y0, x1, y1 in reading.hands:
        cv2.rectangle(canvas, (round(x0), round(y0)), (round(x1), round(y1)), CARD, thick, cv2.LINE_AA)
    for die in reading.dice:
        _die(canvas, die, thick, size)
    headline = " ".join([reading.status.value, *(problem.value for problem in reading.problems), note]).strip()
    colour = SURE if reading.status is Status.CERTAIN else DOUBT
    _text(canvas, headline, (4, round(size / 30)), size, colour)
    return canvas


def _die(canvas: Image, die: DieReading, thick: int, size: int) -> None:
    colour = DOUBT if die.problems else SURE
    x0, y0, x1, y1 = (round(v) for v in die.box)
    cv2.rectangle(canvas, (x0, y0), (x1, y1), colour, thick, cv2.LINE_AA)
    words = f"{die.face.value} {die.certainty:.3f}"
    if die.problems and die.alternatives:
        words += f" ({die.alternatives[0][0].value}?)"
    _text(canvas, words, (x0, y0 - thick - 1), size, colour)


def _text(canvas: Image, words: str, at: tuple[int, int], size: int, colour: tuple[int, int, int]) -> None:
    scale = max(0.35, size / 2400)
    thick = max(1, round(size / 1200))
    where = (at[0], max(at[1], round(22 * scale)))
    cv2.putText(canvas, words, where, FONT, scale, (0, 0, 0), thick + 2, cv2.LINE_AA)
    cv2.putText(canvas, words, where, FONT, scale, colour, thick, cv2.LINE_AA)
