"""Everything that can be done in a game, as frozen values, and as plain JSON for a store.

`operation_to_json(Roll(faces))` is `{"kind": "roll", "faces": [...], "dice": null}`; `operation_from_json` reads it
back. The names are stable: a game written today is read in years. Raids are numbered from 1, seats and dice from 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from scorer.cards import Card
from scorer.errors import BadOperation, ScorerError, UnknownOperation
from scorer.faces import Face
from scorer.names import card_named, face_named

Json = Mapping[str, object]


class Stage(StrEnum):
    """How far a game is."""

    OPEN = "open"
    LAST_ROUND = "last_round"
    """Somebody is at the target; everybody else has one more raid."""
    LEADERS_RAID = "leaders_raid"
    """Whoever started the last round was topped and has one more raid."""
    SUDDEN_DEATH = "sudden_death"
    """The first to be at the target wins at once."""
    OVER = "over"


@dataclass(frozen=True, slots=True)
class NewGame:
    """A game begins, or goes on from a score pad on paper."""

    kind: ClassVar[str] = "new_game"
    players: tuple[str, ...]
    """Names in the order of play."""
    edition: str = "de38"
    house_rules: tuple[tuple[str, object], ...] = ()
    """Settings that differ from the edition, as (name, JSON value)."""
    first: int = 0
    """Seat of whoever raids first."""
    totals: tuple[int, ...] = ()
    """Points brought along; empty for zero."""
    stage: Stage = Stage.OPEN
    """How far the game on paper was."""
    reached_by: int | None = None
    """Seat of whoever started the last round on paper."""

    def __post_init__(self) -> None:
        # As JSON would bring them back, so that a game equals its replay from a store.
        rules = tuple((name, _frozen(_plain(value))) for name, value in self.house_rules)
        object.__setattr__(self, "house_rules", rules)


@dataclass(frozen=True, slots=True)
class DrawCard:
    """The player whose turn it is turns over the pirate card: a raid begins."""

    kind: ClassVar[str] = "draw_card"
    card: Card | None
    player: int | None = None
    """Seat; `None` for whoever's turn it is."""


@dataclass(frozen=True, slots=True)
class CorrectCard:
    """The card of the raid in progress was another one."""

    kind: ClassVar[str] = "correct_card"
    card: Card | None


@dataclass(frozen=True, slots=True)
class Roll:
    """The faces of all eight dice after a roll."""

    kind: ClassVar[str] = "roll"
    faces: tuple[Face, ...]
    dice: tuple[int, ...] | None = None
    """Places of the dice that were rolled, if they are known."""


@dataclass(frozen=True, slots=True)
class CorrectDie:
    """A die of the raid in progress shows another face than was read."""

    kind: ClassVar[str] = "correct_die"
    die: int
    face: Face


@dataclass(frozen=True, slots=True)
class PlaceOnCard:
    """Dice are put on Treasure Island."""

    kind: ClassVar[str] = "place_on_card"
    dice: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TakeOff:
    """Dice are taken off Treasure Island."""

    kind: ClassVar[str] = "take_off"
    dice: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EndRaid:
    """The raid in progress ends and is written down."""

    kind: ClassVar[str] = "end_raid"


@dataclass(frozen=True, slots=True)
class EnterRaid:
    """A whole raid as its result: final faces, with or without the rolls before."""

    kind: ClassVar[str] = "enter_raid"
    card: Card | None
    faces: tuple[Face, ...]
    on_card: tuple[Face, ...] | None = None
    """Faces on Treasure Island; `None` if nobody knows."""
    rolls: tuple[tuple[Face, ...], ...] | None = None
    """The eight faces after each roll, the last one included."""
    island: bool | None = None
    """Whether it went to Skull Island, if that is known."""
    player: int | None = None


@dataclass(frozen=True, slots=True)
class EnterPoints:
    """A raid of which only the points are known; also, with 0 points, a player who sits out."""

    kind: ClassVar[str] = "enter_points"
    points: int
    others: int = 0
    """What each other player gets; negative if they lose."""
    player: int | None = None


@dataclass(frozen=True, slots=True)
class CorrectRaid:
    """A raid that is written down was another one; everything after it is computed again."""

    kind: ClassVar[str] = "correct_raid"
    raid: int
    """Its number, from 1."""
    card: Card | None
    faces: tuple[Face, ...]
    on_card: tuple[Face, ...] | None = None
    rolls: tuple[tuple[Face, ...], ...] | None = None
    island: bool | None = None


@dataclass(frozen=True, slots=True)
class CorrectPoints:
    """A raid that is written down brought these points; everything after it is computed again."""

    kind: ClassVar[str] = "correct_points"
    raid: int
    points: int
    others: int = 0


@dataclass(frozen=True, slots=True)
class RenamePlayer:
    """A player is called otherwise."""

    kind: ClassVar[str] = "rename_player"
    player: int
    name: str


@dataclass(frozen=True, slots=True)
class Undo:
    """The latest operation that still counts does not count."""

    kind: ClassVar[str] = "undo"


@dataclass(frozen=True, slots=True)
class Redo:
    """The latest operation undone counts again."""

    kind: ClassVar[str] = "redo"


Change = (
    DrawCard
    | CorrectCard
    | Roll
    | CorrectDie
    | PlaceOnCard
    | TakeOff
    | EndRaid
    | EnterRaid
    | EnterPoints
    | CorrectRaid
    | CorrectPoints
    | RenamePlayer
)
"""What changes a game that runs."""
Operation = NewGame | Change | Undo | Redo

OPERATIONS: Final[dict[str, type[Operation]]] = {
    kind.kind: kind
    for kind in (
        NewGame,
        DrawCard,
        CorrectCard,
        Roll,
        CorrectDie,
        PlaceOnCard,
        TakeOff,
        EndRaid,
        EnterRaid,
        EnterPoints,
        CorrectRaid,
        CorrectPoints,
        RenamePlayer,
        Undo,
        Redo,
    )
}
"""Kind → operation."""


# JSON ---------------------------------------------------------------------------------------------------------


def operation_to_json(operation: Operation) -> dict[str, object]:
    """A plain dict of strings, numbers, lists and `None`."""
    found: dict[str, object] = {"kind": operation.kind}
    for field in dataclasses.fields(operation):
        found[field.name] = _plain(getattr(operation, field.name))
    if isinstance(operation, NewGame):
        found["house_rules"] = {name: _plain(value) for name, value in operation.house_rules}
    return found


def _plain(value: object) -> object:
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, frozenset):
        return sorted(str(item) for item in value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def operation_from_json(found: Json) -> Operation:
    """The operation in a plain dict; missing optional keys take their defaults, other keys are ignored.

    Raises `UnknownOperation`, `BadOperation`, `UnknownFace`, `UnknownCard`.
    """
    kind = found.get("kind")
    if not isinstance(kind, str) or kind not in OPERATIONS:
        raise UnknownOperation(came=kind, expected=tuple(OPERATIONS))
    operation = OPERATIONS[kind]
    read: dict[str, object] = {}
    for field in dataclasses.fields(operation):
        if field.name not in found:
            if field.default is dataclasses.MISSING:
                raise BadOperation(kind=kind, field=field.name, came="left out", expected=_EXPECTED[field.name])
            continue
        value = found[field.name]
        try:
            read[field.name] = _READERS[field.name](value)
        except ScorerError:
            raise
        except (TypeError, ValueError, KeyError):
            raise BadOperation(kind=kind, field=field.name, came=value, expected=_EXPECTED[field.name]) from None
    return operation(**read)  # type: ignore[arg-type]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _seat(value: object) -> int | None:
    return None if value is None else _whole(value)


def _truth(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise TypeError
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, (list, tuple)):
        raise TypeError
    return list(value)


def _card(value: object) -> Card | None:
    return None if value is None else card_named(_text(value))


def _faces(value: object) -> tuple[Face, ...]:
    return tuple(face_named(_text(item)) for item in _list(value))


def _numbers(value: object) -> tuple[int, ...]:
    return tuple(_whole(item) for item in _list(value))


def _house_rules(value: object) -> tuple[tuple[str, object], ...]:
    if isinstance(value, Mapping):
        return tuple((_text(name), _frozen(rule)) for name, rule in value.items())
    pairs = [_list(item) for item in _list(value)]
    return tuple((_text(name), _frozen(rule)) for name, rule in pairs)


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


_READERS: Final[dict[str, Callable[[object], object]]] = {
    "players": lambda value: tuple(_text(item) for item in _list(value)),
    "edition": _text,
    "house_rules": _house_rules,
    "first": _whole,
    "totals": _numbers,
    "stage": lambda value: Stage(_text(value)),
    "reached_by": _seat,
    "card": _card,
    "player": _seat,
    "faces": _faces,
    "dice": lambda value: None if value is None else _numbers(value),
    "die": _whole,
    "face": lambda value: face_named(_text(value)),
    "on_card": lambda value: None if value is None else _faces(value),
    "rolls": lambda value: None if value is None else tuple(_faces(roll) for roll in _list(value)),
    "island": _truth,
    "points": _whole,
    "others": _whole,
    "raid": _whole,
    "name": _text,
}

_EXPECTED: Final[dict[str, str]] = {
    "players": "a list of names",
    "edition": "the name of an edition",
    "house_rules": "settings with their values",
    "first": "the number of a seat",
    "totals": "a list of whole numbers",
    "stage": "one of " + ", ".join(Stage),
    "reached_by": "the number of a seat, or nothing",
    "card": "the name of a pirate card",
    "player": "the number of a seat",
    "faces": "a list of eight faces",
    "dice": "a list of the numbers of dice",
    "die": "the number of a die",
    "face": "the name of a face",
    "on_card": "a list of faces",
    "rolls": "a list of rolls of eight faces",
    "island": "true, false or nothing",
    "points": "a whole number",
    "others": "a whole number",
    "raid": "the number of a raid",
    "name": "a name",
}
