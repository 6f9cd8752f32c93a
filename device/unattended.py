"""A table with nobody at it: what `ausguck replay` plays clips against. In memory, one raid after the other.

It takes the referee's orders like the real table and scores by the same rules. Questions stand until the eyes withdraw
them, or the game goes on: then the likeliest choice is taken, and the raid is marked doubtful. What happens is told as
JSON-ready lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from device.errors import NotAllowed
from device.orders import (
    Answer,
    Ask,
    CorrectDie,
    DrawCard,
    EndRaid,
    Order,
    PlaceOnCard,
    Roll,
    TakeOff,
    Withdraw,
    fill,
)
from device.referee import RaidNow
from scorer.cards import Card
from scorer.editions import DEFAULT, Edition
from scorer.errors import ScorerError
from scorer.faces import Face
from scorer.raid import Phase, Raid
from scorer.scoring import Outcome, RaidScore

Tell = Callable[[dict[str, Any]], None]

_PHASES = {Phase.AWAITING_FIRST_ROLL: "card", Phase.ROLLING: "rolling", Phase.WATCHWOMAN: "rolling",
           Phase.SKULL_ISLAND: "island", Phase.ENDED: "over"}


@dataclass(slots=True)
class UnattendedDesk:
    """Takes the referee's orders. `tell(line)` is called for everything that concerns the raid."""

    tell: Tell
    edition: Edition = DEFAULT
    players: int = 2
    entered: Card | None = None
    """The card of the first raid, if it is known beforehand; the camera does not change it."""
    raid: Raid | None = None
    number: int = 0
    doubtful: bool = False
    asked: int = 0
    """Questions so far: each is a touch that a person would have had to make."""
    last_roll: tuple[int, ...] = ()
    """The dice of the last roll that was accepted."""
    open: list[Ask] = field(default_factory=list)
    """Questions that stand."""
    rolls: list[dict[str, Any]] = field(default_factory=list)
    """The rolls of the raid: faces, dice rolled, dice on the card."""

    def __post_init__(self) -> None:
        if self.entered is not None:
            self.raid = self._begin(self.entered)

    # -- the referee's side ---------------------------------------------------------------------------------------

    def now(self) -> RaidNow:
        """The raid that runs."""
        raid = self.raid
        if raid is None:
            return RaidNow("none", None, (), frozenset(), 0, self._asking, None, self.number, True)
        return RaidNow(_PHASES[raid.phase], raid.card, raid.faces, raid.on_card, raid.rolls, self._asking, None,
                       self.number, True)

    @property
    def _asking(self) -> bool:
        return any(ask.kind != "card" for ask in self.open)

    def submit(self, order: Order) -> None:
        """Do it, or raise `NotAllowed` with the rules' sentence."""
        try:
            self._do(order)
        except ScorerError as error:
            raise NotAllowed(str(error), code=error.code, details=error.facts) from error

    def _do(self, order: Order) -> None:
        match order:
            case DrawCard(card):
                self._draw(card)
            case Roll():
                self._roll(order)
            case PlaceOnCard(dice):
                self.raid = self._running().place_on_card(dice)
            case TakeOff(dice):
                self.raid = self._running().take_off(dice)
            case CorrectDie(die, face):
                self.raid = self._running().correct_die(die, face)
                self._close_if_over()
            case EndRaid():
                self.raid = self._running().end()
                self._end("choice")
            case Ask():
                self._ask(order)
            case Withdraw(group):
                self.open = [ask for ask in self.open if group not in (None, ask.group)]
            case Answer():
                pass
            case _:
                raise NotAllowed(f"expected an order of the referee, got {type(order).__name__}")

    def _running(self) -> Raid:
        if self.raid is None:
            raise NotAllowed("no raid is running: the next one begins with a card or a first roll", code="no_raid")
        return self.raid

    def _begin(self, card: Card | None) -> Raid:
        self.last_roll = ()
        self.rolls.clear()
        return Raid.begin(card, self.edition, players=self.players)

    def _draw(self, card: Card) -> None:
        self.open = [ask for ask in self.open if ask.kind != "card"]
        if self.entered is not None and self.number == 0:
            return
        if self.raid is None:
            self.raid = self._begin(card)
        elif self.raid.phase is Phase.ENDED and self.raid.card is not None:
            self._end("rules")
            self.raid = self._begin(card)
        else:
            self.raid = self.raid.correct_card(card)
        self._close_if_over()

    def _roll(self, order: Roll) -> None:
        if self.raid is None:
            self.raid = self._begin(None)
        raid = self.raid
        faces = tuple(face for face in order.faces if face is not None)
        if order.dice is None:
            self.raid = raid.roll(faces)
            self.last_roll = tuple(range(len(faces)))
        else:
            self.raid = raid.roll(dict(zip(order.dice, faces, strict=True)))
            self.last_roll = order.dice
        self.rolls.append({"faces": [face.value for face in self.raid.faces], "rerolled": list(self.last_roll),
                           "on_card": sorted(self.raid.on_card)})
        if self.raid.phase is Phase.SKULL_ISLAND and raid.phase is Phase.AWAITING_FIRST_ROLL:
            self.tell({"event": "island", **self._line()})
        self._close_if_over()

    def _close_if_over(self) -> None:
        """The rules ended it. Without a card that is not sure yet: the card may be a ship, or Shipwreck."""
        if self.raid is None or self.raid.phase is not Phase.ENDED or self.raid.card is None:
            return
        self._end("rules")

    def _ask(self, ask: Ask) -> None:
        about = (ask.kind, ask.die, ask.group)
        self.open = [known for known in self.open if (known.kind, known.die, known.group) != about]
        if ask.code == "raid_not_ended":
            # In a clip nobody can press the button: that the next raid begins is the only sign.
            self._give(EndRaid(), doubtful=False)
            return
        self.open.append(ask)
        event = "desync" if ask.kind in ("roll_impossible", "desync") else "question"
        self.tell({"event": event, "kind": ask.kind, "code": ask.code, "note": ask.sentence, "die": ask.die,
                   "choices": [choice.value for choice in ask.choices], "default": ask.default})

    def give_in(self) -> None:
        """Nobody answers: take the default, or the likeliest choice, of everything that is open."""
        asks, self.open = self.open, []
        holes: dict[str, list[tuple[int, Face]]] = {}
        for ask in asks:
            if ask.default is None:  # what answers itself needs nobody
                self.asked += 1
                self.doubtful = True
            if ask.pending is not None and ask.die is not None:
                position = ask.die if ask.pending.dice is None else ask.pending.dice.index(ask.die)
                holes.setdefault(ask.group, []).append((position, Face(ask.choices[0].value)))
                roll = fill(ask.pending, holes[ask.group])
                order: Order | None = roll if all(face is not None for face in roll.faces) else None
            else:
                value = ask.default or ask.choices[0].value
                order = next(choice.order for choice in ask.choices if choice.value == value)
            if order is not None:
                self._give(order, doubtful=ask.default is None)

    def _give(self, order: Order, *, doubtful: bool = True) -> None:
        try:
            self._do(order)
        except (ScorerError, NotAllowed) as error:
            self.tell({"event": "desync", "note": str(error)})
            return
        self.doubtful = self.doubtful or doubtful
        if isinstance(order, Roll) and self.rolls:
            self.tell({"event": "roll", "roll": len(self.rolls), "status": "doubtful", **self.rolls[-1]})

    # -- telling --------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """The clip is over: tell what a raid that still runs is worth, and close it."""
        self.give_in()
        if self.raid is None or not self.raid.faces:
            return
        if self.raid.phase is Phase.ENDED:
            self._end("rules")
            return
        self.tell({"event": "raid_open", **self._line()})
        self._end("clip_end")

    def _end(self, by: str) -> None:
        line = self._line()
        score = self.raid.worth_now() if self.raid else None
        if by == "rules" and score is not None and score.outcome is Outcome.BUST:
            self.tell({"event": "bust", **line})
        self.tell({"event": "raid_ended", "by": by, **line})
        self.raid, self.doubtful = None, False
        self.number += 1

    def _line(self) -> dict[str, Any]:
        raid = self.raid
        assert raid is not None
        score = raid.worth_now()
        return {
            "raid": self.number,
            "roll": raid.rolls,
            "card": None if raid.card is None else {"name": raid.card.value},
            "faces": [face.value for face in raid.faces],
            "on_card": sorted(raid.on_card),
            "rolls": list(self.rolls),
            "phase": _PHASES[raid.phase],
            "doubtful": self.doubtful or raid.card is None,
            "score": None if score is None else score_to_json(score),
        }


def score_to_json(score: RaidScore) -> dict[str, Any]:
    """As `ausguck score --json` prints it."""
    return {
        "total": score.total,
        "others": score.others,
        "outcome": score.outcome.value,
        "lines": [{"what": line.what, "points": line.points} for line in score.lines],
    }
