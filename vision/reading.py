"""The small frozen values that cross from the eyes to the table.

A `Frame` goes in, a `Reading` comes out. Nothing behind a reading ever sees a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from scorer.faces import DICE, Face

Image = npt.NDArray[np.uint8]
"""(h, w, 3) uint8, BGR."""

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels of the full-resolution frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One picture of the table."""

    image: Image
    """(h, w, 3) uint8, BGR, full resolution."""
    t: float
    """Seconds of `time.monotonic()` at exposure (in a clip: frame number / fps)."""
    number: int
    """Counts up by one a frame; a gap is a dropped frame."""


class Status(StrEnum):
    """May a reading be scored without asking?"""

    CERTAIN = "certain"
    DOUBTFUL = "doubtful"


class Problem(StrEnum):
    """Why a reading is doubtful. Several can hold at once."""

    NO_DICE = "no_dice"
    TOO_FEW_DICE = "too_few_dice"
    TOO_MANY_DICE = "too_many_dice"
    COCKED = "cocked"
    AT_BORDER = "at_border"
    BLURRED = "blurred"
    TOO_DARK = "too_dark"
    GLARE = "glare"
    READERS_DIFFER = "readers_differ"
    UNSURE_FACE = "unsure_face"
    FOREIGN_DIE = "foreign_die"
    HAND = "hand"
    TOO_SMALL = "too_small"


@dataclass(frozen=True, slots=True)
class DieReading:
    """One die as seen."""

    face: Face
    certainty: float
    """Calibrated probability that `face` is right, 0 to 1."""
    box: Box
    """Round the whole visible die."""
    alternatives: tuple[tuple[Face, float], ...] = ()
    """The other faces with their probabilities, likeliest first."""
    cocked: bool = False
    on_card: bool = False
    problems: tuple[Problem, ...] = ()
    embedding: npt.NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    """(d,) float32, unit length; for teaching and tracking."""

    @property
    def centre(self) -> tuple[float, float]:
        """Middle of the box, pixels."""
        x0, y0, x1, y1 = self.box
        return (x0 + x1) / 2, (y0 + y1) / 2


@dataclass(frozen=True, slots=True)
class CardReading:
    """The pirate card as seen."""

    name: str
    """A `scorer.cards.Card` value, or "back", or "unknown" (a card, but none we know)."""
    certainty: float
    corners: tuple[tuple[float, float], ...]
    """Four corners in pixels: top left, top right, bottom right, bottom left *of the upright card*."""
    alternatives: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What one frame shows."""

    status: Status
    problems: tuple[Problem, ...]
    dice: tuple[DieReading, ...]
    card: CardReading | None = None
    t: float = 0.0
    number: int = 0
    hands: tuple[Box, ...] = ()
    """Boxes of hands (or whatever else reaches over the table)."""

    @property
    def ours(self) -> tuple[DieReading, ...]:
        """The dice without those that are none of ours. Up to eight all count: one of them may be misjudged."""
        if len(self.dice) <= DICE:
            return self.dice
        return tuple(die for die in self.dice if Problem.FOREIGN_DIE not in die.problems)

    @property
    def faces(self) -> tuple[Face, ...]:
        """The faces, in the order of `dice`."""
        return tuple(die.face for die in self.dice)

    def to_json(self) -> dict[str, object]:
        """The reading part of the `ausguck read --json` contract."""
        return {
            "status": self.status.value,
            "problems": [problem.value for problem in self.problems],
            "dice": [
                {
                    "face": die.face.value,
                    "certainty": round(die.certainty, 4),
                    "box": [round(v, 1) for v in die.box],
                    "alternatives": [[face.value, round(p, 4)] for face, p in die.alternatives],
                    "cocked": die.cocked,
                    "on_card": die.on_card,
                }
                for die in self.ours
            ],
            "card": None
            if self.card is None
            else {
                "name": self.card.name,
                "certainty": round(self.card.certainty, 4),
                "corners": [[round(x, 1), round(y, 1)] for x, y in self.card.corners],
            },
        }
