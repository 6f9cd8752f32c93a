"""What the eyes tell the table: a scene that moves, a reading that settled, a roll that happened.

`Watcher.feed(frame)` answers with `Event` values. They cross to the referee and, as JSON lines, to `ausguck replay`.
Nothing here scores anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntFlag, StrEnum

from scorer.faces import Face

from .reading import CardReading, DieReading, Reading


class EventKind(StrEnum):
    """What happened."""

    EMPTY = "empty"
    """Nothing lies on the table."""
    MOVING = "moving"
    """Something began to move."""
    HAND = "hand"
    """A hand (or a sleeve, or anything that reaches in) is over the table."""
    SETTLING = "settling"
    """The picture is quiet; looks are being taken."""
    SETTLED = "settled"
    """A new, certain reading of everything that lies there. Told once."""
    UNCHANGED = "unchanged"
    """The scene came to rest again and nothing had changed: a shadow, a hand, a bump."""
    DOUBTFUL = "doubtful"
    """The scene rests, and the reading is not certain. `reading.problems` and `note` say why."""
    ROLL = "roll"
    """Dice were rolled. `roll` says which, and what lies now."""
    CHANGED = "changed"
    """One die shows another face although nothing was rolled: nudged, turned, or misread."""
    MOVED = "moved"
    """Dice lie elsewhere and were not rolled."""
    TAKEN_AWAY = "taken_away"
    """Dice left the table (into a hand)."""
    BACK = "back"
    """Dice came back unrolled."""
    CARD = "card"
    """A pirate card was recognised, or one lies there that is doubtful or unknown."""
    CARD_GONE = "card_gone"
    """The place where the card lay is free, and it is not there."""
    CAMERA_MOVED = "camera_moved"
    """The whole picture shifted or turned: the camera or the tray was bumped. The dice are the same."""
    DARK = "dark"
    """Too dark to see anything."""
    LIGHT = "light"
    """It is light again."""
    DESYNC = "desync"
    """What lies there cannot have come from what lay before; `note` says why."""
    RAID_ENDED = "raid_ended"
    """Told by the referee, never by the eyes."""


class Doubt(StrEnum):
    """Why a roll has to be asked about."""

    FACE = "face"
    """At least one face is not certain."""
    SAME_FACES = "same_faces"
    """Dice left the table and came back with the same faces, and whether they were thrown was not seen."""
    SINGLE = "single"
    """Only one die shows another face."""
    UNSEEN = "unseen"
    """It happened while nobody could look (dark, covered, before the start)."""


class SceneFlag(IntFlag):
    """Reasons why a scene cannot be taken as it is. Combinable; never raising."""

    NONE = 0
    DARK = 1
    HAND = 2
    FEWER = 4
    MORE = 8
    COCKED = 16
    UNSURE = 32
    BLURRED = 64
    UNSTABLE = 128
    FOREIGN = 256
    CARD_UNSURE = 512
    CAMERA_MOVED = 1024
    STARTED_MID_RAID = 2048

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the flags that are set, lower case."""
        return tuple(flag.name.lower() for flag in SceneFlag if flag and flag in self and flag.name)


@dataclass(frozen=True, slots=True)
class Roll:
    """Eight dice after somebody rolled some of them. Dice are addressed by a stable number 0 to 7."""

    number: int
    """Counts the rolls since all eight dice were last thrown together: that throw is number 1."""
    dice: tuple[DieReading, ...]
    """The eight dice as they lie now, by die number."""
    rolled: tuple[int, ...]
    """The dice that were rolled. Dice that were only handled may be among them if they could not be followed."""
    before: tuple[Face, ...] = ()
    """The eight faces before; empty when all eight came from nowhere."""
    on_card_before: tuple[int, ...] = ()
    """The dice that lay on the card in the settled state before this roll."""
    doubts: tuple[Doubt, ...] = ()
    unsure: tuple[int, ...] = ()
    """The dice whose face is not certain."""
    serial: int = 0
    """Counts every roll of this watcher. The same serial twice: the same roll, told again as it became certain."""
    seen_flying: bool = False
    """Whether dice were seen in flight."""

    @property
    def faces(self) -> tuple[Face, ...]:
        """The eight faces now, by die number."""
        return tuple(die.face for die in self.dice)

    @property
    def on_card(self) -> tuple[int, ...]:
        """The dice that lie on the card now."""
        return tuple(i for i, die in enumerate(self.dice) if die.on_card)

    @property
    def all_eight(self) -> bool:
        """Whether every die was thrown: a first roll, or a bold second one."""
        return len(self.rolled) == len(self.dice)

    @property
    def certain(self) -> bool:
        """Whether this roll may be taken without asking."""
        return not self.doubts


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that the eyes have to say."""

    kind: EventKind
    frame: int
    t: float
    reading: Reading | None = None
    roll: Roll | None = None
    card: CardReading | None = None
    note: str = ""
    """A sentence for people, or empty."""
    flags: SceneFlag = SceneFlag.NONE
    dice: tuple[int, ...] = field(default=())
    """The die numbers that this event is about (moved, taken away, changed)."""
    numbered: bool = False
    """Whether the dice of `reading` stand by die number: all eight are known and lie there."""

    def to_json(self) -> dict[str, object]:
        """One line of `ausguck replay --json`."""
        line: dict[str, object] = {
            "frame": self.frame,
            "t": round(self.t, 3),
            "event": self.kind.value,
            "roll": self.roll.number if self.roll else None,
        }
        if self.reading is not None:
            line |= self.reading.to_json()
        if self.roll is not None:
            line |= roll_to_json(self.roll)
        if self.card is not None:
            line["card"] = card_to_json(self.card)
        if self.dice:
            line["moved" if self.kind is not EventKind.CHANGED else "changed"] = list(self.dice)
        if self.flags:
            line["flags"] = list(self.flags.names)
        if self.note:
            line["note"] = self.note
        return line


def die_to_json(die: DieReading) -> dict[str, object]:
    """One die as `ausguck read` prints it."""
    return {
        "face": die.face.value,
        "certainty": round(die.certainty, 4),
        "box": [round(v, 1) for v in die.box],
        "alternatives": [[face.value, round(p, 4)] for face, p in die.alternatives],
        "cocked": die.cocked,
        "on_card": die.on_card,
    }


def card_to_json(card: CardReading) -> dict[str, object]:
    """The card as `ausguck read` prints it, with the likeliest others."""
    return {
        "name": card.name,
        "certainty": round(card.certainty, 4),
        "corners": [[round(x, 1), round(y, 1)] for x, y in card.corners],
        "alternatives": [[name, round(p, 4)] for name, p in card.alternatives],
    }


def roll_to_json(roll: Roll) -> dict[str, object]:
    """A roll: all eight dice by die number, which were rolled, which lie on the card."""
    return {
        "roll": roll.number,
        "status": "certain" if roll.certain else "doubtful",
        "faces": [face.value for face in roll.faces],
        "rerolled": list(roll.rolled),
        "on_card": list(roll.on_card),
        "on_card_before": list(roll.on_card_before),
        "doubts": [doubt.value for doubt in roll.doubts],
        "unsure": list(roll.unsure),
        "dice": [die_to_json(die) for die in roll.dice],
    }
