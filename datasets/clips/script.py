"""A raid as a script: what happens on the table, and what the scorer says must come of it.

`Play` directs a stage and keeps a `scorer.raid.Raid` beside it, so that no script can roll a locked skull, and so that
what is expected of a clip comes from the rules, not from the one who wrote the script.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scorer.cards import Card
from scorer.editions import EDITIONS
from scorer.faces import Face
from scorer.raid import Phase, Raid

from .session import Session
from .stage import Stage

LONG_ENOUGH = 0.9
"""Seconds of rest after a roll: a reading is due half a second after the last die stopped."""


@dataclass(slots=True, eq=False)
class Play:
    """Directs raids and writes down what they are.

    play = Play(session, rng)
    play.card(Card.PIRATE)
    play.roll("coin coin skull parrot monkey sabers coin diamond")
    play.reroll({3: "coin", 4: "coin"})
    play.end()
    play.expected()
    """

    session: Session
    rng: np.random.Generator
    edition: str = "de38"
    players: int = 2
    stage: Stage = field(init=False)
    raid: Raid | None = None
    raids: list[dict[str, Any]] = field(default_factory=list)
    cues: list[dict[str, Any]] = field(default_factory=list)
    rolls: list[dict[str, Any]] = field(default_factory=list)
    rest_after: float = LONG_ENOUGH
    drawn: Card | None = None

    def __post_init__(self) -> None:
        self.stage = Stage(self.session, self.rng)

    # -- what players do --------------------------------------------------------------------------------------

    def card(self, card: Card, *, visible: bool = True) -> None:
        """The next raid's card is laid down (or only known, where the camera does not see it)."""
        self.drawn = card
        self.raid = Raid.begin(card, EDITIONS[self.edition], players=self.players)
        self.rolls = []
        if visible:
            self.stage.lay_card(card.value)
            self.stage.rest(0.5)
            self._cue("card")

    def roll(self, faces: str | Sequence[str], **how: Any) -> None:
        """The first roll, all eight dice."""
        shown = faces.split() if isinstance(faces, str) else list(faces)
        self._roll(dict(enumerate(shown)), **how)

    def reroll(self, faces: Mapping[int, str], **how: Any) -> None:
        """Dice are rolled again: what they show then, by die."""
        self._roll(dict(faces), **how)

    def _roll(
        self,
        faces: dict[int, str],
        *,
        hold: float = 0.3,
        lean: int | None = None,
        rest: float | None = None,
        avoid_card: bool = True,
    ) -> None:
        if self.raid is None:
            raise ValueError("expected a card before the first roll: call card()")
        self.raid = self.raid.roll({die: Face(face) for die, face in faces.items()})
        self.stage.roll(faces, hold=hold, avoid_card=avoid_card)
        if lean is not None:
            self.stage.lean(lean)
        self.rolls.append(
            {
                "faces": [face.value for face in self.raid.faces],
                "rerolled": sorted(faces),
                "on_card": sorted(self.raid.on_card),
                "t": round(self.stage.seconds, 3),
            }
        )
        self.stage.rest(self.rest_after if rest is None else rest)
        self._cue("roll")

    def place(self, dice: Sequence[int]) -> None:
        """Put dice on Treasure Island."""
        assert self.raid is not None
        free = [p for p in self.stage.card_places() if self.stage._clear(p, 0.8)]
        for die, place in zip(dice, free, strict=False):
            self.stage.carry_die(die, place)
        self.stage.withdraw()
        self.raid = self.raid.place_on_card(tuple(dice))
        self.stage.rest(self.rest_after)
        self._cue("placed")

    def take_off(self, dice: Sequence[int]) -> None:
        """Take dice off Treasure Island."""
        assert self.raid is not None
        for die in dice:
            self.stage.carry_die(die, self.stage.free_spot())
        self.stage.withdraw()
        self.raid = self.raid.take_off(tuple(dice))
        self.stage.rest(self.rest_after)
        self._cue("placed")

    def end(self, *, by: str = "choice", clear: bool = True) -> None:
        """The raid is over: by the rules if they say so, else by choice (or because the clip ends)."""
        assert self.raid is not None
        ruled = self.raid.phase is Phase.ENDED
        if self.rolls:
            self.rolls[-1]["on_card"] = sorted(self.raid.on_card)
        raid = self.raid if ruled or not self.raid.can_end() else self.raid.end()
        score = raid.worth_now()
        assert score is not None
        self.raids.append(
            {
                "card": raid.card.value if raid.card else None,
                "rolls": self.rolls,
                "ended_by": "rules" if ruled else by,
                "score": {
                    "total": score.total,
                    "others": score.others,
                    "outcome": score.outcome.value,
                    "lines": [{"what": line.what, "points": line.points} for line in score.lines],
                },
            }
        )
        self._cue("ended" if ruled else "end_raid")
        self.raid = None
        if clear:
            self.stage.clear()
            self.stage.rest(0.3)

    # -- what comes of it -------------------------------------------------------------------------------------

    def _cue(self, what: str) -> None:
        running = len(self.raids) - (1 if what in ("ended", "end_raid") else 0)
        self.cues.append(
            {
                "t": round(self.stage.seconds - 0.1, 3),
                "what": what,
                "raid": running,
                "rolls": len(self.rolls),
                "card": None if self.drawn is None else self.drawn.value,
                "faces": self.rolls[-1]["faces"] if self.rolls else [],
            }
        )

    def start_here(self) -> None:
        """Forget what has been filmed so far: the clip begins in the middle of the raid."""
        stage = self.stage
        begun, now = stage.seconds, stage.now
        stage.segments.clear()
        stage.marks.clear()
        stage.seconds = 0.0
        stage.now = now
        self.cues.clear()
        for roll in self.rolls:
            roll["t"] = max(0.0, round(roll["t"] - begun, 3))

    def expected(self, fps: float, **more: Any) -> dict[str, Any]:
        """What a clip of this must give (`NAME.json` beside it).

        `raids` holds every raid: card, rolls (the eight faces after each, by die of the renderer, with the dice
        rolled, those on the card, and the first frame in which all lie still), how it ended, and its score. Where
        there is but one raid, its `card`, `rolls` and `score` stand at the top as well.
        """
        for raid in self.raids:
            for roll in raid["rolls"]:
                roll["frame"] = math.ceil(roll["t"] * fps - 1e-6)
        one = {k: self.raids[0][k] for k in ("card", "rolls", "score", "ended_by")} if len(self.raids) == 1 else {}
        return {
            "edition": self.edition,
            "players": self.players,
            "fps": fps,
            "seconds": round(self.stage.seconds, 2),
            "session": self.session.seed,
            **one,
            "raids": self.raids,
            **more,
        }
