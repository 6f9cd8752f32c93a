"""What somebody asks the table to do: a tap on a phone, a press of a button, a roll that the camera saw.

An order is a frozen value. `order_from_json` reads the body of `POST /api/commands`; everything that it does not
understand is a `BadCommand` whose sentence says what was expected and what came. Whether an order is *allowed* is
the table's business.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from device.errors import BadCommand
from device.store import NewPicture as Picture
from scorer.cards import Card
from scorer.faces import DICE, Face

__all__ = [
    "Answer",
    "Ask",
    "Choice",
    "CorrectDie",
    "CorrectRaid",
    "DieDetail",
    "DrawCard",
    "EndRaid",
    "EnterRaid",
    "NewGame",
    "NextCard",
    "Order",
    "Picture",
    "PlaceOnCard",
    "Redo",
    "RenamePlayer",
    "Roll",
    "TakeOff",
    "Undo",
    "Withdraw",
    "order_from_json",
]

NAME_LIMIT = 30
"""Characters of a player's name; more does not fit a score pad on a phone."""
MOST_PLAYERS = 8


@dataclass(frozen=True, slots=True)
class DieDetail:
    """How the camera saw a die of a roll: what the page draws beside the face."""

    certainty: float | None = None
    alternatives: tuple[tuple[Face, float], ...] = ()
    box: tuple[float, float, float, float] | None = None
    """xyxy in pixels of the full-resolution frame."""

    def to_json(self) -> dict[str, Any]:
        """The keys that a die of the raid gets in the state."""
        return {
            "certainty": None if self.certainty is None else round(self.certainty, 4),
            "alternatives": [[str(face), round(p, 4)] for face, p in self.alternatives],
            "box": None if self.box is None else [round(v, 1) for v in self.box],
        }


@dataclass(frozen=True, slots=True)
class NewGame:
    """Begin a game; one that runs stays in the store as it is."""

    players: tuple[str, ...]
    edition: str = "de38"
    house_rules: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DrawCard:
    """The card of the raid; again: another card instead."""

    card: Card


@dataclass(frozen=True, slots=True)
class NextCard:
    """The card button: the kind after the one that lies there."""


@dataclass(frozen=True, slots=True)
class Roll:
    """Dice were rolled."""

    faces: tuple[Face | None, ...]
    """One a rolled die (or all eight); None only inside an `Ask`, where the answer fills it."""
    dice: tuple[int, ...] | None = None
    """Which dice were rolled, 0 to 7; None: all eight (first roll), or those whose face differs."""
    details: tuple[DieDetail, ...] = ()
    """As seen, one for each of the eight dice, or empty."""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class CorrectDie:
    """That die was another face."""

    die: int
    face: Face


@dataclass(frozen=True, slots=True)
class PlaceOnCard:
    """Put dice on the Treasure Island card."""

    dice: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TakeOff:
    """Take dice off the Treasure Island card."""

    dice: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EndRaid:
    """End the raid, and write it on the pad."""

    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class EnterRaid:
    """A whole raid, as a result only."""

    card: Card
    faces: tuple[Face, ...]
    on_card: tuple[int, ...] | None = None
    """Which of the eight lay on Treasure Island; None: nobody says."""
    rolls: int | None = None
    """How many rolls it took, where somebody counted."""
    history: tuple[tuple[Face, ...], ...] | None = None
    """The eight faces after each roll, where somebody knows."""
    island: bool | None = None
    """Whether it went to Skull Island, where somebody says."""
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class CorrectRaid:
    """An earlier raid was otherwise; everything after it is counted again."""

    raid: int
    """Its number, from 0."""
    card: Card
    faces: tuple[Face, ...]
    on_card: tuple[int, ...] | None = None
    rolls: int | None = None
    history: tuple[tuple[Face, ...], ...] | None = None
    island: bool | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A player's answer to a question of the table."""

    question: str
    choice: str


@dataclass(frozen=True, slots=True)
class Undo:
    """Take the last operation back."""


@dataclass(frozen=True, slots=True)
class Redo:
    """Do again what was taken back."""


@dataclass(frozen=True, slots=True)
class RenamePlayer:
    """Give a player another name."""

    player: int
    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to a question."""

    value: str
    """A face, a card, or a word (`yes`, `misread`, `accept`, `ignore`)."""
    probability: float | None = None
    order: Order | None = None
    """What is done when this is chosen; None: nothing (or, with `Ask.pending`, the hole is filled)."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A doubt, from the referee only: nothing is scored until somebody answers or the question is taken back.

    With `pending`, answering fills the hole at `die`; when the group has no open hole any more, the roll is done.
    """

    kind: str
    """`face`, `card`, `roll_impossible`, `desync`, …"""
    code: str
    """Names the sentence, for translation."""
    sentence: str
    choices: tuple[Choice, ...]
    """Likeliest first."""
    args: Mapping[str, Any] = field(default_factory=dict)
    die: int | None = None
    group: str = ""
    """Questions about one roll share a group; a new question for the same group, kind and die supersedes the old
    one."""
    pending: Roll | None = None
    default: str | None = None
    seconds: float | None = None
    """After so many seconds the table takes `default` by itself."""
    box: tuple[float, float, float, float] | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take back the questions of a group (of all groups: None), because the table has changed."""

    group: str | None = None


Order = (
    NewGame
    | DrawCard
    | NextCard
    | Roll
    | CorrectDie
    | PlaceOnCard
    | TakeOff
    | EndRaid
    | EnterRaid
    | CorrectRaid
    | Answer
    | Undo
    | Redo
    | RenamePlayer
    | Ask
    | Withdraw
)

KINDS: dict[type, str] = {
    NewGame: "new_game",
    DrawCard: "draw_card",
    NextCard: "next_card",
    Roll: "roll",
    CorrectDie: "correct_die",
    PlaceOnCard: "place_on_card",
    TakeOff: "take_off",
    EndRaid: "end_raid",
    EnterRaid: "enter_raid",
    CorrectRaid: "correct_raid",
    Answer: "answer",
    Undo: "undo",
    Redo: "redo",
    RenamePlayer: "rename_player",
    Ask: "ask",
    Withdraw: "withdraw",
}
"""The name of each order in every interface."""


def kind_of(order: Order) -> str:
    """The name of an order."""
    return KINDS[type(order)]


# -- reading what a phone sent -------------------------------------------------------------------------------


def order_from_json(body: Mapping[str, Any]) -> Order:
    """Read a command. Raises `BadCommand` with a sentence that says what was expected and what came."""
    kind = body.get("kind")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise BadCommand(
            f"expected a kind of command ({', '.join(_READERS)}), got {_short(kind)}",
            code="unknown_kind",
            details={"got": _short(kind)},
        )
    return reader(body)


def player_name(value: Any) -> str:
    """A name as the pad keeps it: trimmed, without control characters, 1 to `NAME_LIMIT` characters."""
    if not isinstance(value, str):
        raise BadCommand(f"expected a name, got {_short(value)}", code="bad_name", details={"got": _short(value)})
    # Joiners (Cf) hold emoji together; everything else that does not print is dropped.
    name = "".join(
        c for c in unicodedata.normalize("NFC", value) if unicodedata.category(c) not in ("Cc", "Cs", "Co", "Cn")
    )
    name = " ".join(name.split())
    name = "".join(c for c in name if c not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    if not name.strip("\u200b\u200c\u200d\u2060\ufeff "):
        raise BadCommand("a player needs a name of at least one character", code="name_empty")
    if len(name) > NAME_LIMIT:
        raise BadCommand(
            f"a name has at most {NAME_LIMIT} characters, this one has {len(name)}: shorten it",
            code="name_too_long",
            details={"limit": NAME_LIMIT, "length": len(name)},
        )
    return name


def _new_game(body: Mapping[str, Any]) -> Order:
    names = body.get("players")
    if not isinstance(names, list) or not 1 <= len(names) <= MOST_PLAYERS:
        raise BadCommand(
            f'expected a list of 2 to {MOST_PLAYERS} names in "players", got {_short(names)}',
            code="bad_players",
            details={"got": _short(names)},
        )
    players = tuple(player_name(name) for name in names)
    folded = [name.casefold() for name in players]
    for n, name in enumerate(players):
        if folded.index(name.casefold()) != n:
            raise BadCommand(
                f"two players are called {name}: give them different names", code="same_name", details={"name": name}
            )
    rules = body.get("house_rules") or {}
    if not isinstance(rules, dict):
        raise BadCommand(
            f"expected house rules as {{setting: value}}, got {_short(rules)}",
            code="bad_house_rules",
            details={"got": _short(rules)},
        )
    return NewGame(players, str(body.get("edition", "de38")), rules)


def _roll(body: Mapping[str, Any]) -> Order:
    dice = None if body.get("dice") is None else _dice(body, "dice")
    return Roll(_faces(body, None if dice is None else len(dice)), dice)


def _enter_raid(body: Mapping[str, Any]) -> Order:
    return EnterRaid(_card(body), _faces(body, DICE), *_course(body))


def _correct_raid(body: Mapping[str, Any]) -> Order:
    return CorrectRaid(_number(body, "raid"), _card(body), _faces(body, DICE), *_course(body))


def _course(body: Mapping[str, Any]) -> tuple[Any, ...]:
    """(on_card, rolls, history, island): what is known beside the result."""
    on_card = None if body.get("on_card") is None else _dice(body, "on_card", optional=True)
    island = body.get("island")
    if island is not None and not isinstance(island, bool):
        raise BadCommand(f'expected true or false in "island", got {_short(island)}', code="bad_value")
    rolls = body.get("rolls")
    if isinstance(rolls, list):
        if not 1 <= len(rolls) <= 99:
            raise BadCommand(f"expected 1 to 99 rolls, got {len(rolls)}", code="bad_rolls", details={"got": len(rolls)})
        history = tuple(_faces({"faces": roll}, DICE) for roll in rolls)
        return on_card, len(history), history, island
    if rolls is None or (isinstance(rolls, int) and not isinstance(rolls, bool) and 1 <= rolls <= 99):
        return on_card, rolls, None, island
    raise BadCommand(
        f"expected the number of rolls, got {_short(rolls)}", code="bad_rolls", details={"got": _short(rolls)}
    )


def _word(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= 100:
        raise BadCommand(
            f'expected a word in "{key}", got {_short(value)}',
            code="bad_value",
            details={"key": key, "got": _short(value)},
        )
    return value


def _number(body: Mapping[str, Any], key: str, limit: int = 10_000) -> int:
    value = body.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise BadCommand(
            f'expected a number from 0 to {limit - 1} in "{key}", got {_short(value)}',
            code="bad_value",
            details={"key": key, "got": _short(value)},
        )
    return value


def _face(value: Any) -> Face:
    try:
        return Face(value)
    except (ValueError, TypeError):
        raise BadCommand(
            f"expected a face ({', '.join(Face)}), got {_short(value)}",
            code="unknown_face",
            details={"got": _short(value)},
        ) from None


def _card(body: Mapping[str, Any]) -> Card:
    try:
        return Card(body.get("card"))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        raise BadCommand(
            f"expected a card ({', '.join(Card)}), got {_short(body.get('card'))}",
            code="unknown_card",
            details={"got": _short(body.get("card"))},
        ) from None


def _faces(body: Mapping[str, Any], count: int | None) -> tuple[Face, ...]:
    value = body.get("faces")
    expected = f"{count}" if count is not None else f"1 to {DICE}"
    if not isinstance(value, list) or not 1 <= len(value) <= DICE or (count is not None and len(value) != count):
        got = f"{len(value)}" if isinstance(value, list) else _short(value)
        raise BadCommand(
            f"expected {expected} faces, got {got}",
            code="wrong_number_of_faces",
            details={"expected": expected, "got": got},
        )
    return tuple(_face(item) for item in value)


def _dice(body: Mapping[str, Any], key: str, *, optional: bool = False) -> tuple[int, ...]:
    value = body.get(key)
    if value is None and optional:
        return ()
    good = isinstance(value, list) and all(
        isinstance(d, int) and not isinstance(d, bool) and 0 <= d < DICE for d in value
    )
    if not isinstance(value, list) or not good or len(set(value)) != len(value) or (not value and not optional):
        raise BadCommand(
            f'expected different dice from 0 to {DICE - 1} in "{key}", got {_short(value)}',
            code="bad_dice",
            details={"key": key, "got": _short(value)},
        )
    return tuple(value)


def _short(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


_READERS: dict[str, Callable[[Mapping[str, Any]], Order]] = {
    "new_game": _new_game,
    "draw_card": lambda body: DrawCard(_card(body)),
    "next_card": lambda body: NextCard(),
    "roll": _roll,
    "correct_die": lambda body: CorrectDie(_number(body, "die", DICE), _face(body.get("face"))),
    "place_on_card": lambda body: PlaceOnCard(_dice(body, "dice")),
    "take_off": lambda body: TakeOff(_dice(body, "dice")),
    "end_raid": lambda body: EndRaid(),
    "enter_raid": _enter_raid,
    "correct_raid": _correct_raid,
    "answer": lambda body: Answer(_word(body, "question"), _word(body, "choice")),
    "undo": lambda body: Undo(),
    "redo": lambda body: Redo(),
    "rename_player": lambda body: RenamePlayer(_number(body, "player", MOST_PLAYERS), player_name(body.get("name"))),
}


def fill(roll: Roll, holes: Sequence[tuple[int, Face]]) -> Roll:
    """`roll` with the faces that were asked for; `holes` are (position in `roll.faces`, face)."""
    faces = list(roll.faces)
    for position, face in holes:
        faces[position] = face
    return Roll(tuple(faces), roll.dice, roll.details, roll.pictures)
