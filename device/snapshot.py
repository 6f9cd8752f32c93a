"""One numbered, immutable state of the table, ready to be sent.

The JSON is made once a version, not once a phone. Two lengths: the whole, and one without the history for phones
that have it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from device.errors import NotAllowed
from device.pad import Pad
from device.store import StoredGame, StoredPicture

PARTS = ("camera", "panel", "model", "power", "store")
"""What the status of is told with each state."""

ANNOUNCED = frozenset({"bust", "island", "over"})
"""Kinds of question that only announce what the rules have decided."""

NO_GAME_SENTENCE = "there is no game yet: begin one with the players' names"
ON_A_GAME = (
    "draw_card",
    "next_card",
    "roll",
    "place_on_card",
    "take_off",
    "correct_die",
    "end_raid",
    "enter_raid",
    "correct_raid",
    "undo",
    "redo",
    "rename_player",
)
"""Orders that need a game."""

NO_GAME: dict[str, Any] = {
    "game": None,
    "edition": None,
    "settings": {},
    "house_rules": {},
    "players": [],
    "turn": None,
    "last_round": None,
    "winners": [],
    "raid": None,
    "undo": None,
    "redo": None,
}


class Told:
    """What other parts told the table to show: their status, what the camera sees, and banners."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {"reading": None, "store": {"state": "ok", "message": ""}}
        self._messages: dict[str, dict[str, Any]] = {}

    def message(self, code: str, sentence: str, args: Mapping[str, Any], *, level: str) -> None:
        """Show a banner; one of the same code is replaced."""
        self._messages[code] = {"code": code, "args": dict(args), "sentence": sentence, "level": level}

    def clear(self, code: str) -> bool:
        """Take a banner away; False when there was none."""
        return self._messages.pop(code, None) is not None

    def to_json(self) -> dict[str, Any]:
        """Its part of the state."""
        parts = {part: self.parts.get(part) or {"state": "none", "message": ""} for part in PARTS}
        return {**self.parts, **parts, "messages": list(self._messages.values())}


@dataclass(frozen=True, slots=True)
class History:
    """The finished raids: made anew only when they change, for they are the longest part."""

    version: int
    """The version that brought it."""
    key: object
    raids: list[dict[str, Any]]
    json: str


NO_HISTORY = History(0, None, [], "[]")


@dataclass(frozen=True, slots=True)
class View:
    """What a pad looks like: made once a pad, for what the camera sees changes far more often."""

    pad: Pad | None
    photos: tuple[tuple[StoredPicture, ...], ...]
    shown: Mapping[str, Any]
    can: Mapping[str, Any]

    @classmethod
    def of(cls, pad: Pad | None, pictures: Sequence[StoredPicture]) -> Self:
        """The view of a pad with its pictures."""
        if pad is None:
            return cls(None, (), NO_GAME, _no_game_yet())
        photos = pad.pictures_by_raid(pictures)
        return cls(pad, photos, {**NO_GAME, **pad.view(photos)}, pad.can())


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the table."""

    version: int
    history: History = field(repr=False)
    """The finished raids; its version changes when they do."""
    state: Mapping[str, Any]
    """What `GET /api/state` answers; do not change it."""
    json: str = field(repr=False)
    short_json: str = field(repr=False)
    """Without `raids`."""
    pad: Pad | None = field(repr=False)
    photos: tuple[tuple[StoredPicture, ...], ...] = field(repr=False, default=())

    def photos_of(self, raid: int) -> tuple[StoredPicture, ...]:
        """Evidence of a raid; the running one has the number after the last."""
        return self.photos[raid] if 0 <= raid < len(self.photos) else ()

    def to_json(self) -> dict[str, Any]:
        """The state as a new dictionary."""
        return dict(self.state)

    @classmethod
    def make(
        cls,
        *,
        version: int,
        history: History,
        now: float,
        game: StoredGame | None,
        pad: Pad | None,
        view: View,
        questions: Sequence[dict[str, Any]],
        told: Mapping[str, Any],
    ) -> Self:
        """Put a state together from what the table knows."""
        shown = dict(view.shown)
        if game is not None:
            shown["game"] = {**(shown["game"] or {}), "id": game.id, "started": game.started}
        short: dict[str, Any] = {
            "version": version,
            "status": _status(pad, questions),
            "now": round(now, 3),
            **shown,
            "questions": list(questions),
            "can": can(view, questions),
            **told,
        }
        text = dump(short)
        whole = f'{text[:-1]},"raids":{history.json}}}'
        return cls(version, history, {**short, "raids": history.raids}, whole, text, pad, view.photos)


def _status(pad: Pad | None, questions: Sequence[Mapping[str, Any]]) -> str:
    if pad is None:
        return "no_game"
    kinds = {question["kind"] for question in questions}
    if kinds - ANNOUNCED:
        return "asking"
    if kinds:
        return "announced"
    if pad.is_finished:
        return "finished"
    return "raid" if pad.has_raid else "waiting"


def _no_game_yet() -> dict[str, Any]:
    why = {"ok": False, **NotAllowed(NO_GAME_SENTENCE, code="no_game").to_json()}
    return dict.fromkeys(ON_A_GAME, why)


def can(view: View, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is allowed now, and why not what is not: the page greys out and explains by it."""
    allowed = {**view.can, "new_game": {"ok": True}}
    open_ = next((q for q in questions if q["kind"] not in ANNOUNCED), None)
    if open_ is not None:
        allowed["end_raid"] = {
            "ok": False,
            "error": f"not yet, something is doubtful: {open_['sentence']}",
            "code": "question_open",
            "args": {"question": open_["id"], "code": open_["code"], "args": open_["args"]},
        }
    return allowed


def dump(value: Any) -> str:
    """As short as JSON gets."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
