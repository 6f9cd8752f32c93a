"""A game: operations in a log, and the score pad that replaying them gives.

    game = Game.replay([NewGame(("Anna", "Bo")), DrawCard(Card.PIRATE), Roll(faces), EndRaid()])
    game.pad.totals, game.pad.next, game.pad.stage

A `Game` never changes; `game.apply(operation)` gives the next one, or raises and changes nothing. Undo, redo and
corrections are operations too. What counts for a player is the `Pad`: two games with equal pads stand alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Final

from scorer.cards import Card
from scorer.editions import DEFAULT, Edition, NobodyAtTarget, edition_named
from scorer.errors import (
    BadOperation,
    EmptyName,
    GameHasBegun,
    GameOver,
    NameTaken,
    NoRaid,
    NoSuchRaid,
    NothingToRedo,
    NothingToUndo,
    NotYourTurn,
    RaidRuns,
    ScorerError,
    UnknownPlayer,
    WrongNumberOfPlayers,
)
from scorer.faces import Face
from scorer.operations import (
    Change,
    CorrectCard,
    CorrectDie,
    CorrectPoints,
    CorrectRaid,
    DrawCard,
    EndRaid,
    EnterPoints,
    EnterRaid,
    NewGame,
    Operation,
    PlaceOnCard,
    Redo,
    RenamePlayer,
    Roll,
    Stage,
    TakeOff,
    Undo,
    operation_from_json,
    operation_to_json,
)
from scorer.raid import Phase, Raid
from scorer.scoring import Line, LineKind, Note, NoteKind, Outcome, RaidScore, score_raid

FEWEST_PLAYERS: Final = 2


@dataclass(frozen=True, slots=True)
class Result:
    """A finished raid as it was entered or rolled."""

    card: Card | None
    faces: tuple[Face, ...]
    on_card: tuple[Face, ...] | None = None
    rolls: tuple[tuple[Face, ...], ...] | None = None
    island: bool | None = None
    witnessed: bool = False
    """Whether it was played roll by roll, so that nothing is left unchecked."""
    notes: tuple[Note, ...] = ()
    """What did not fit while it was played."""

    def score(self, edition: Edition, players: int) -> RaidScore:
        """What it is worth."""
        score = score_raid(
            self.card,
            self.faces,
            edition,
            on_card=self.on_card,
            rolls=self.rolls,
            island=self.island,
            players=players,
        )
        return replace(score, unchecked=self.notes) if self.witnessed else score


@dataclass(frozen=True, slots=True)
class Points:
    """A finished raid of which only the points are known."""

    points: int
    others: int = 0

    def score(self, edition: Edition, players: int) -> RaidScore:
        """The points, unchecked."""
        line = Line(LineKind.POINTS, self.points, each=self.others)
        return RaidScore(self.points, self.others, Outcome.SCORED, (line,), (Note(NoteKind.NO_FACES),))


Entry = Result | Points


@dataclass(frozen=True, slots=True)
class Record:
    """A raid on the score pad."""

    number: int
    """Counted from 1."""
    player: int
    """Seat."""
    entry: Entry
    score: RaidScore
    totals: tuple[int, ...]
    """Everybody's points after it."""
    counts: bool = True
    """False for a raid after the game's end (a correction can bring that about)."""


@dataclass(frozen=True, slots=True)
class Pad:
    """The score pad, and how the game stands."""

    edition: Edition
    players: tuple[str, ...]
    start: NewGame
    totals: tuple[int, ...]
    next: int
    """Seat of whoever raids now or next."""
    stage: Stage = Stage.OPEN
    reached_by: int | None = None
    """Seat of whoever started the last round."""
    pending: tuple[int, ...] = ()
    """Seats that still raid in the last round, in order."""
    winners: tuple[int, ...] = ()
    """Seats, once the game is over; several share a tie."""
    records: tuple[Record, ...] = ()
    raid: Raid | None = None
    """The raid in progress, of the player `next`."""

    @property
    def over(self) -> bool:
        """Whether somebody has won."""
        return self.stage is Stage.OVER

    @property
    def leaders(self) -> tuple[int, ...]:
        """Seats with the most points."""
        most = max(self.totals)
        return tuple(seat for seat, total in enumerate(self.totals) if total == most)

    @property
    def at_target(self) -> tuple[int, ...]:
        """Seats at or above the target."""
        return tuple(seat for seat, total in enumerate(self.totals) if total >= self.edition.target)

    def seat(self, name: str) -> int:
        """The seat of a player by name. Raises `UnknownPlayer`."""
        if name not in self.players:
            raise UnknownPlayer(came=name, expected=self.players)
        return self.players.index(name)


@dataclass(frozen=True, slots=True)
class _Past:
    """The pads before, latest first, as a linked list: undo takes the first."""

    pad: Pad
    change: Change
    """What led away from that pad."""
    before: _Past | None


@dataclass(frozen=True, slots=True)
class _Future:
    """What was undone, latest first."""

    change: Change
    pad: Pad
    after: _Future | None


@dataclass(frozen=True, slots=True)
class Game:
    """A game after some operations. Begin with `Game.new` or `Game.replay`."""

    pad: Pad
    operations: tuple[Operation, ...]
    """Everything that was done, in order, undo and redo included: what a store keeps."""
    # Long chains: neither compared nor printed. Two games are equal when pad and operations are.
    _past: _Past | None = field(default=None, repr=False, compare=False)
    _future: _Future | None = field(default=None, repr=False, compare=False)

    @classmethod
    def new(cls, start: NewGame) -> Game:
        """A game that begins. Raises the errors of players, edition and house rules."""
        return cls(_first_pad(start), (start,))

    @classmethod
    def replay(cls, operations: Iterable[Operation]) -> Game:
        """The game that these operations give; the first one begins it. Raises as `apply`."""
        todo = iter(operations)
        start = next(todo, None)
        if not isinstance(start, NewGame):
            raise BadOperation(kind="replay", field="first operation", came=start, expected="a new game")
        game, done = cls.new(start), [start]
        for operation in todo:
            game = game._applied(operation, (start,))
            done.append(operation)  # type: ignore[arg-type]
        return replace(game, operations=tuple(done))

    def apply(self, operation: Operation) -> Game:
        """The game after this operation. Raises a `ScorerError` whose sentence a player can read."""
        return self._applied(operation, (*self.operations, operation))

    def verify(self, operation: Operation) -> None:
        """Raise the reason why this operation cannot be done now."""
        self.apply(operation)

    def can(self, operation: Operation) -> bool:
        """Whether this operation can be done now."""
        try:
            self.apply(operation)
        except ScorerError:
            return False
        return True

    @property
    def can_undo(self) -> bool:
        """Whether there is anything to undo."""
        return self._past is not None

    @property
    def can_redo(self) -> bool:
        """Whether there is anything to redo."""
        return self._future is not None

    @property
    def next_undone(self) -> Change | None:
        """What an undo would take back."""
        return self._past.change if self._past else None

    def _applied(self, operation: Operation, operations: tuple[Operation, ...]) -> Game:
        if isinstance(operation, Undo):
            if self._past is None:
                raise NothingToUndo()
            past = self._past
            return Game(past.pad, operations, past.before, _Future(past.change, self.pad, self._future))
        if isinstance(operation, Redo):
            if self._future is None:
                raise NothingToRedo()
            future = self._future
            return Game(future.pad, operations, _Past(self.pad, future.change, self._past), future.after)
        if isinstance(operation, NewGame):
            raise GameHasBegun()
        return Game(change(operation, self.pad), operations, _Past(self.pad, operation, self._past), None)


# Beginning ----------------------------------------------------------------------------------------------------


def _first_pad(start: NewGame) -> Pad:
    edition = edition_named(start.edition).with_house_rules(**dict(start.house_rules))
    seats = len(start.players)
    if not FEWEST_PLAYERS <= seats <= edition.max_players:
        raise WrongNumberOfPlayers(fewest=FEWEST_PLAYERS, most=edition.max_players, came=seats)
    for index, name in enumerate(start.players):
        _verify_name(name, start.players[:index])
    _verify_start(start)
    pad = Pad(
        edition=edition,
        players=start.players,
        start=start,
        totals=start.totals or (0,) * seats,
        next=start.first,
        stage=start.stage,
    )
    if start.stage is Stage.OPEN and start.reached_by is None:
        return pad if edition.last_round else replace(pad, stage=Stage.SUDDEN_DEATH)
    if start.stage is Stage.SUDDEN_DEATH:
        return pad
    leader = start.reached_by if start.reached_by is not None else _furthest(pad, start.first)
    order = _order(seats, start.first)
    if start.stage is Stage.LEADERS_RAID:
        return replace(pad, reached_by=leader, next=leader)
    pending = tuple(seat for seat in order if seat != leader)
    return replace(pad, stage=Stage.LAST_ROUND, reached_by=leader, pending=pending, next=pending[0])


def _verify_name(name: str, others: Sequence[str]) -> None:
    if not name.strip():
        raise EmptyName()
    if name in others:
        raise NameTaken(came=name)


def _verify_start(start: NewGame) -> None:
    seats = len(start.players)
    for what, seat in (("first", start.first), ("reached_by", start.reached_by)):
        if seat is not None and not 0 <= seat < seats:
            raise UnknownPlayer(came=f"{what} {seat}", expected=start.players)
    if start.totals and len(start.totals) != seats:
        raise BadOperation(kind="new_game", field="totals", came=start.totals, expected=f"{seats} whole numbers")
    if start.stage is Stage.OVER:
        raise BadOperation(kind="new_game", field="stage", came=start.stage, expected="a game that is not over")


def _order(seats: int, first: int) -> tuple[int, ...]:
    """All seats in the order of play, beginning with `first`."""
    return tuple((first + step) % seats for step in range(seats))


def _furthest(pad: Pad, first: int) -> int:
    """The seat with the most points; of several, the first in order."""
    return max(_order(len(pad.players), first), key=lambda seat: pad.totals[seat])


# Writing a raid down, and how the game goes on ----------------------------------------------------------------


def _written(pad: Pad, player: int, entry: Entry) -> Pad:
    """The pad after this raid of this player."""
    score = entry.score(pad.edition, len(pad.players))
    number = len(pad.records) + 1
    if pad.over:
        record = Record(number, player, entry, score, pad.totals, counts=False)
        return replace(pad, records=(*pad.records, record))
    totals = tuple(
        _floored(total + (score.total if seat == player else score.others), pad.edition)
        for seat, total in enumerate(pad.totals)
    )
    record = Record(number, player, entry, score, totals)
    after = replace(pad, totals=totals, records=(*pad.records, record), raid=None)
    if score.outcome is Outcome.PIRATE_MAGIC:
        return replace(after, stage=Stage.OVER, winners=(player,), pending=())
    return _FLOW[pad.stage](after, player)


def _floored(total: int, edition: Edition) -> int:
    return total if edition.negative_totals else max(total, 0)


def _after(pad: Pad, player: int) -> int:
    return (player + 1) % len(pad.players)


def _won(pad: Pad) -> Pad:
    """Over: the most points win, a tie is a shared win."""
    return replace(pad, stage=Stage.OVER, winners=pad.leaders, pending=())


def _flow_open(pad: Pad, player: int) -> Pad:
    """At the end of a raid somebody may be at the target: then the last round starts."""
    if not pad.at_target:
        return replace(pad, next=_after(pad, player))
    if not pad.edition.last_round:
        return _won(pad)
    # Someone else's raid can lift a player over the target (zombies); the raider is asked first when equal.
    leader = _furthest(pad, player)
    pending = tuple(seat for seat in _order(len(pad.players), _after(pad, player)) if seat != leader)
    return replace(pad, stage=Stage.LAST_ROUND, reached_by=leader, pending=pending, next=pending[0])


def _flow_last_round(pad: Pad, player: int) -> Pad:
    pending = tuple(seat for seat in pad.pending if seat != player)
    pad = replace(pad, pending=pending)
    if pad.edition.nobody_at_target is NobodyAtTarget.NEW_LAST_ROUND and not pad.at_target:
        return _nobody_at_target(pad, player)
    if pending:
        return replace(pad, next=pending[0])
    leader = pad.reached_by
    if leader is not None and pad.edition.topped_leader_raids_again and leader not in pad.leaders:
        return replace(pad, stage=Stage.LEADERS_RAID, next=leader)
    return _flow_leaders_raid(pad, player)


def _flow_leaders_raid(pad: Pad, player: int) -> Pad:
    return _won(pad) if pad.at_target else _nobody_at_target(pad, player)


def _nobody_at_target(pad: Pad, player: int) -> Pad:
    first_wins = pad.edition.nobody_at_target is NobodyAtTarget.FIRST_WINS or not pad.edition.last_round
    stage = Stage.SUDDEN_DEATH if first_wins else Stage.OPEN
    return replace(pad, stage=stage, reached_by=None, pending=(), next=_after(pad, player))


def _flow_sudden_death(pad: Pad, player: int) -> Pad:
    return _won(pad) if pad.at_target else replace(pad, next=_after(pad, player))


_FLOW: Final = {
    Stage.OPEN: _flow_open,
    Stage.LAST_ROUND: _flow_last_round,
    Stage.LEADERS_RAID: _flow_leaders_raid,
    Stage.SUDDEN_DEATH: _flow_sudden_death,
}
"""What follows from a raid, by the stage in which it was made."""


def _corrected(pad: Pad, number: int, entry: Entry) -> Pad:
    """The pad with raid `number` replaced and everything after it computed again.

    Raids stay with the players who made them. Raids after an end that comes earlier now stay on the pad and do not
    count. A raid in progress goes on, unless the game is over now.
    """
    if not 1 <= number <= len(pad.records):
        raise NoSuchRaid(came=number, expected=len(pad.records))
    again = replace(_first_pad(pad.start), players=pad.players)
    for record in pad.records:
        again = _written(again, record.player, entry if record.number == number else record.entry)
    if pad.raid is None or again.over:
        return again
    return replace(again, raid=pad.raid, next=pad.next)


# The operations -----------------------------------------------------------------------------------------------


@singledispatch
def change(operation: object, pad: Pad) -> Pad:
    """The pad after one operation. Raises a `ScorerError`."""
    raise BadOperation(kind=type(operation).__name__, field="operation", came=operation, expected="an operation")


def _verify_turn(pad: Pad, player: int | None) -> None:
    """Raise unless a raid of this player may begin now."""
    if player is not None and not 0 <= player < len(pad.players):
        raise UnknownPlayer(came=player, expected=pad.players)
    if pad.over:
        raise GameOver(winners=tuple(pad.players[seat] for seat in pad.winners))
    if pad.raid is not None:
        raise RaidRuns(player=pad.players[pad.next])
    if player is not None and player != pad.next:
        raise NotYourTurn(expected=pad.players[pad.next], came=pad.players[player])


def _running(pad: Pad) -> Raid:
    if pad.raid is not None:
        return pad.raid
    if pad.over:
        raise GameOver(winners=tuple(pad.players[seat] for seat in pad.winners))
    raise NoRaid(player=pad.players[pad.next])


@change.register
def _draw_card(operation: DrawCard, pad: Pad) -> Pad:
    _verify_turn(pad, operation.player)
    return replace(pad, raid=Raid.begin(operation.card, pad.edition, players=len(pad.players)))


@change.register
def _correct_card(operation: CorrectCard, pad: Pad) -> Pad:
    return replace(pad, raid=_running(pad).correct_card(operation.card))


@change.register
def _roll(operation: Roll, pad: Pad) -> Pad:
    return replace(pad, raid=_running(pad).roll(operation.faces, operation.dice))


@change.register
def _correct_die(operation: CorrectDie, pad: Pad) -> Pad:
    return replace(pad, raid=_running(pad).correct_die(operation.die, operation.face))


@change.register
def _place_on_card(operation: PlaceOnCard, pad: Pad) -> Pad:
    return replace(pad, raid=_running(pad).place_on_card(operation.dice))


@change.register
def _take_off(operation: TakeOff, pad: Pad) -> Pad:
    return replace(pad, raid=_running(pad).take_off(operation.dice))


@change.register
def _end_raid(operation: EndRaid, pad: Pad) -> Pad:
    raid = _running(pad).end()
    on_card = raid.faces_on_card if raid.card is Card.TREASURE_ISLAND else None
    result = Result(raid.card, raid.faces, on_card, raid.history, raid.island, witnessed=True, notes=raid.notes)
    return _written(replace(pad, raid=None), pad.next, result)


@change.register
def _enter_raid(operation: EnterRaid, pad: Pad) -> Pad:
    _verify_turn(pad, operation.player)
    return _written(pad, pad.next, _result(operation))


@change.register
def _enter_points(operation: EnterPoints, pad: Pad) -> Pad:
    _verify_turn(pad, operation.player)
    return _written(pad, pad.next, Points(operation.points, operation.others))


@change.register
def _correct_raid(operation: CorrectRaid, pad: Pad) -> Pad:
    return _corrected(pad, operation.raid, _result(operation))


@change.register
def _correct_points(operation: CorrectPoints, pad: Pad) -> Pad:
    return _corrected(pad, operation.raid, Points(operation.points, operation.others))


@change.register
def _rename_player(operation: RenamePlayer, pad: Pad) -> Pad:
    if not 0 <= operation.player < len(pad.players):
        raise UnknownPlayer(came=operation.player, expected=pad.players)
    before, after = pad.players[: operation.player], pad.players[operation.player + 1 :]
    _verify_name(operation.name, before + after)
    return replace(pad, players=(*before, operation.name, *after))


def _result(operation: EnterRaid | CorrectRaid) -> Result:
    return Result(operation.card, operation.faces, operation.on_card, operation.rolls, operation.island)


__all__ = [
    "DEFAULT",
    "CorrectCard",
    "CorrectDie",
    "CorrectPoints",
    "CorrectRaid",
    "DrawCard",
    "EndRaid",
    "EnterPoints",
    "EnterRaid",
    "Entry",
    "Game",
    "NewGame",
    "Operation",
    "Pad",
    "Phase",
    "PlaceOnCard",
    "Points",
    "Record",
    "Redo",
    "RenamePlayer",
    "Result",
    "Roll",
    "Stage",
    "TakeOff",
    "Undo",
    "change",
    "operation_from_json",
    "operation_to_json",
]
