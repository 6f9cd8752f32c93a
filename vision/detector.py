"""Finding dice, cards and hands in a frame: a one-method interface, and the only place that knows a runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .reading import Image

CLASSES = ("coin", "diamond", "monkey", "parrot", "sabers", "skull", "foreign_die", "card", "hand")
"""What the detector names, in the order of its class ids. The first six are `scorer.faces.Face` values."""


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """What a detector found in one frame."""

    boxes: npt.NDArray[np.float32]
    """(n, 4) float32, xyxy, pixels of the full-resolution frame."""
    scores: npt.NDArray[np.float32]
    """(n, len(CLASSES)) float32, one probability a class (sigmoid: rows need not sum to one)."""

    def __post_init__(self) -> None:
        n = len(self.boxes)
        if self.boxes.shape != (n, 4) or self.scores.shape != (n, len(CLASSES)):
            raise ValueError(
                f"expected boxes (n, 4) and scores (n, {len(CLASSES)}), got {self.boxes.shape} and {self.scores.shape}"
            )


class Detector(Protocol):
    """Anything that finds dice."""

    def detect(self, image: Image) -> Detections:
        """Find dice, cards and hands in `image` ((h, w, 3) uint8 BGR)."""
        ...
