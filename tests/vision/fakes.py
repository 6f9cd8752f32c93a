"""Stand-ins for the networks: a detector that finds what it is told, a second look that sees what it is told."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from scorer.faces import Face
from vision.detector import CLASSES, Detections
from vision.ncnn_net import Floats
from vision.reading import Image
from vision.secondlook import LABELS, Looks, log_softmax

EIGHT = (*Face, Face.SKULL, Face.COIN)


def row(name: str, score: float = 0.9) -> Floats:
    """Scores of a detector that is `score` sure of one class."""
    scores = np.full(len(CLASSES), 0.01, np.float32)
    scores[CLASSES.index(name)] = score
    return scores


def found(*things: tuple[str, float, tuple[float, float, float, float]]) -> Detections:
    """Detections from (class, score, box)."""
    return Detections(
        np.array([box for *_, box in things], np.float32).reshape(-1, 4),
        np.array([row(name, score) for name, score, _ in things], np.float32).reshape(-1, len(CLASSES)),
    )


def place(i: int, edge: float = 40, gap: float = 60) -> tuple[float, float, float, float]:
    """Box of die number `i` in two rows of four."""
    x, y = 100 + gap * (i % 4), 100 + gap * (i // 4)
    return x, y, x + edge, y + edge


def eight(faces: Sequence[Face] = EIGHT, gap: float = 60) -> list[tuple[str, float, tuple[float, float, float, float]]]:
    """Eight dice in two rows."""
    return [(face.value, 0.9, place(i, gap=gap)) for i, face in enumerate(faces)]


def picture(boxes: Floats | Sequence[Sequence[float]], size: tuple[int, int] = (640, 480)) -> Image:
    """A brown table with white squares that carry a dark sign: sharp, bright, and nothing that a network could read."""
    image = np.full((size[1], size[0], 3), (50, 80, 110), np.uint8)
    for x0, y0, x1, y1 in np.asarray(boxes, int).reshape(-1, 4):
        cv2.rectangle(image, (x0, y0), (x1, y1), (225, 228, 230), -1)
        third = (x1 - x0) // 4
        cv2.rectangle(image, (x0 + third, y0 + third), (x1 - third, y1 - third), (40, 40, 45), -1)
    return image


class FakeDetector:
    """Finds what it was told."""

    def __init__(self, detections: Detections) -> None:
        self.detections = detections

    def detect(self, image: Image) -> Detections:
        return self.detections


class FakeSecondLook:
    """Sees in each box what was told for its middle; by default "nothing"."""

    def __init__(self, seen: dict[tuple[float, float], str], sure: float = 9.0, cocked: Sequence[int] = ()) -> None:
        self.seen = seen
        self.sure = sure
        self.cocked = cocked

    @classmethod
    def of(
        cls, things: Sequence[tuple[str, float, tuple[float, float, float, float]]], **more: object
    ) -> FakeSecondLook:
        """Agrees with the detections."""
        return cls({middle(box): name for name, _, box in things}, **more)  # type: ignore[arg-type]

    def look(self, image: Image, boxes: Floats) -> Looks:
        n = len(boxes)
        logits = np.zeros((n, len(LABELS)), np.float32)
        for i, box in enumerate(boxes):
            near = min(self.seen, key=lambda at: abs(at[0] - middle(box)[0]) + abs(at[1] - middle(box)[1]))
            close = abs(near[0] - middle(box)[0]) + abs(near[1] - middle(box)[1]) < 12
            logits[i, LABELS.index(self.seen[near] if close else "nothing")] = self.sure
        cocked = np.array([0.95 if i in self.cocked else 0.02 for i in range(n)], np.float32)
        return Looks(
            log_softmax(logits) if n else logits,
            np.zeros(n, np.float32),
            cocked,
            np.tile(np.eye(1, 8, dtype=np.float32), (n, 1)),
            np.zeros((n, 64, 64, 3), np.uint8),
        )


def middle(box: Sequence[float] | Floats) -> tuple[float, float]:
    """Centre of a box."""
    return (float(box[0]) + float(box[2])) / 2, (float(box[1]) + float(box[3])) / 2
