"""One numbered, immutable state of the table, ready to be sent.

The JSON is made once a version, not once a phone. Two lengths: the whole, and one without the history for phones
that have it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from device.pad import Pad
from device.store import StoredGame, StoredPicture

PARTS = ("camera", "panel", "model", "power", "store")
"""What the status of is told with each state."""

ANNOUNCED = frozenset({"bust", "island", "over"})
"""Kinds of question that only announce what the rules have decided."""

NO_GAME: dict[str, Any] = {
    "game": None,
    "edition": None,
    "settings": {},
    "house_rules": {},
    "players": [],
    "turn": None,
    "last_round": None,
    "winners": [],
    "raids": [],
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
        photos: tuple[tuple[StoredPicture, ...], ...],
        questions: Sequence[dict[str, Any]],
        told: Mapping[str, Any],
    ) -> Self:
        """Put a state together from what the table knows."""
        shown = {**NO_GAME, **({} if pad is None else pad.view(photos))}
        del shown["raids"]
        if game is not None:
            shown["game"] = {**(shown["game"] or {}), "id": game.id, "started": game.started}
        short: dict[str, Any] = {
            "version": version,
            "status": _status(pad, questions),
            "now": round(now, 3),
            **shown,
            "questions": list(questions),
            "can": can(pad, questions),
            **told,
        }
        text = dump(short)
        whole = f'{text[:-1]},"raids":{history.json}}}'
        return cls(version, history, {**short, "raids": history.raids}, whole, text, pad, photos)


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


def can(pad: Pad | None, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is allowed now, and why not what is not: the page greys out and explains by it."""
    if pad is None:
        why = {
            "ok": False,
            "error": "there is no game yet: begin one with the players' names",
            "code": "no_game",
            "args": {},
        }
        kinds = (
            "draw_card",
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
            "next_card",
        )
        return {**dict.fromkeys(kinds, why), "new_game": {"ok": True}}
    allowed = {**pad.can(), "new_game": {"ok": True}}
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
