"""The bridge between what people ask for and the rules: orders become operations, the game becomes what a page shows.

A `Pad` is a value: a game, its whole log as it lies in the store, and which of its operations count at the moment.
`after(order)` gives the next pad or raises a sentence; nothing changes on the way. No rule is decided here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from device.errors import BadCommand, NotAllowed, TableError
from device.orders import (
    CorrectDie,
    CorrectRaid,
    DieDetail,
    DrawCard,
    EndRaid,
    EnterRaid,
    NewGame,
    Order,
    PlaceOnCard,
    Redo,
    RenamePlayer,
    Roll,
    TakeOff,
    Undo,
    kind_of,
)
from device.store import StoredOperation, StoredPicture
from scorer import operations as ops
from scorer.cards import Card
from scorer.editions import SETTINGS
from scorer.errors import BadInput, ScorerError, UnknownName
from scorer.faces import DICE, Face
from scorer.game import Game, Record, Result, Stage
from scorer.raid import Phase, Raid
from scorer.scoring import Line, Note, Outcome, RaidScore

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """An operation of the log, with what the table knows about it beside the rules."""

    seq: int
    operation: ops.Operation
    command: str
    source: str
    """Who: `camera`, `phone`, `button`, `table`."""
    raid: int
    """How many raids were on the pad before it: the number of the raid that it belongs to, from 0."""
    details: tuple[DieDetail, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """An operation in the store that cannot be replayed."""

    seq: int
    reason: str


def refusal(error: ScorerError) -> TableError:
    """The rules' sentence as an error of the table."""
    kind = BadCommand if isinstance(error, (BadInput, UnknownName)) else NotAllowed
    return kind(str(error), code=error.code, details={name: plain(value) for name, value in error.facts.items()})


def plain(value: Any) -> Any:
    """A value of the rules as JSON has it."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(str(item) for item in value)
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else str(value)


@dataclass(frozen=True, slots=True)
class Pad:
    """A game as the table has it."""

    game: Game
    bodies: tuple[Body, ...]
    """The log as it lies in the store, undone operations and undoings included."""
    done: tuple[Entry, ...]
    """The operations that count, oldest first; the first one began the game and cannot be undone."""
    undone: tuple[Entry, ...] = ()
    """What redo would do again, next one last."""

    # -- making ----------------------------------------------------------------------------------------------

    @classmethod
    def begin(cls, order: NewGame, *, source: str, command: str = "") -> Self:
        """A new game. Raises `BadCommand`."""
        rules = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in order.house_rules.items())
        try:
            operation = ops.NewGame(order.players, order.edition, rules)
            return cls._begun(Game.new(operation), operation, source, command)
        except ScorerError as error:
            raise refusal(error) from error

    @classmethod
    def _begun(cls, game: Game, operation: ops.NewGame, source: str, command: str) -> Self:
        body = _body(operation, source, ())
        return cls(game, (body,), (Entry(0, operation, command, source, 0),))

    @classmethod
    def replay(cls, stored: Iterable[StoredOperation]) -> tuple[Self | None, Broken | None]:
        """The pad of a log; at an operation that cannot be, the pad before it and why."""
        pad: Self | None = None
        for row in stored:
            try:
                operation = ops.operation_from_json(row.body["op"])
                source, details = str(row.body.get("source", "")), _details_from(row.body.get("details"))
                if pad is None:
                    if not isinstance(operation, ops.NewGame):
                        return None, Broken(row.seq, "a game has to begin with its players")
                    pad = cls._begun(Game.new(operation), operation, source, row.command)
                else:
                    pad = pad._with(operation, source, row.command, details)
            except (ScorerError, KeyError, TypeError, ValueError) as error:
                return pad, Broken(row.seq, str(error) or type(error).__name__)
        return pad, None

    def _with(self, operation: ops.Operation, source: str, command: str, details: tuple[DieDetail, ...] = ()) -> Self:
        game = self.game.apply(operation)
        done, undone = self.done, self.undone
        if isinstance(operation, ops.Undo):
            done, undone = done[:-1], (*undone, done[-1])
        elif isinstance(operation, ops.Redo):
            done, undone = (*done, undone[-1]), undone[:-1]
        else:
            entry = Entry(len(self.bodies), operation, command, source, len(self.game.pad.records), details)
            done, undone = (*done, entry), ()
        return replace(
            self, game=game, bodies=(*self.bodies, _body(operation, source, details)), done=done, undone=undone
        )

    def after(self, order: Order, *, source: str, command: str) -> Self:
        """The pad after an order; the same pad when the order changes nothing. Raises `NotAllowed`, `BadCommand`."""
        pad = self
        details = order.details if isinstance(order, Roll) else ()
        try:
            for operation in self._operations(order):
                pad = pad._with(operation, source, command, details if isinstance(operation, ops.Roll) else ())
        except ScorerError as error:
            raise refusal(error) from error
        return pad

    # -- orders become operations ----------------------------------------------------------------------------

    def _operations(self, order: Order) -> Sequence[ops.Operation]:
        match order:
            case DrawCard(card):
                return self._draw(card)
            case Roll():
                return self._roll(order)
            case CorrectDie(die, face):
                same = self.raid is not None and bool(self.raid.faces) and self.raid.faces[die] is face
                return () if same else (ops.CorrectDie(die, face),)
            case PlaceOnCard(dice):
                return (ops.PlaceOnCard(dice),)
            case TakeOff(dice):
                return (ops.TakeOff(dice),)
            case EndRaid():
                self._verify_card_known()
                return (ops.EndRaid(),)
            case EnterRaid():
                return (*self._clear_raid(), ops.EnterRaid(order.card, order.faces, *_result(order)))
            case CorrectRaid(raid):
                return (ops.CorrectRaid(raid + 1, order.card, order.faces, *_result(order)),)
            case RenamePlayer(player, name):
                return () if self._is_called(player, name) else (ops.RenamePlayer(player, name),)
            case Undo():
                return (ops.Undo(),) * max(1, _group(self.done[1:]))
            case Redo():
                return (ops.Redo(),) * max(1, _group(self.undone))
        raise BadCommand(f"{kind_of(order)} is nothing that the score pad knows", code="unknown_kind")

    def _draw(self, card: Card) -> Sequence[ops.Operation]:
        if self.raid is None:
            return (ops.DrawCard(card),)
        return () if self.raid.card is card else (ops.CorrectCard(card),)

    def _roll(self, order: Roll) -> Sequence[ops.Operation]:
        """Without a card the raid begins all the same: which card it is, is asked."""
        start = () if self.raid is not None else (ops.DrawCard(None),)
        faces = tuple(face for face in order.faces if face is not None)
        if len(faces) != len(order.faces):
            raise BadCommand("expected a face for every die that was rolled", code="unfilled_roll")
        if order.dice is None:
            return (*start, ops.Roll(faces))
        raid = self.raid or Raid.begin(None)
        raid.verify_reroll(order.dice)
        shown = dict(enumerate(raid.faces)) | dict(zip(order.dice, faces, strict=True))
        return (*start, ops.Roll(tuple(shown[die] for die in range(DICE)), order.dice))

    def _clear_raid(self) -> Sequence[ops.Operation]:
        """A raid entered as a result takes the place of one that runs: what was done in that one is undone first."""
        if self.raid is None:
            return ()
        for count, entry in enumerate(reversed(self.done[1:]), start=1):
            if not isinstance(entry.operation, _OF_A_RAID):
                break
            if isinstance(entry.operation, ops.DrawCard):
                return (ops.Undo(),) * count
        return ()  # the rules refuse then, with their sentence

    def _verify_card_known(self) -> None:
        if self.raid is not None and self.raid.card is None and self.raid.faces:
            raise NotAllowed("which pirate card was drawn? Choose it, then end the raid", code="card_unknown")

    def _is_called(self, player: int, name: str) -> bool:
        players = self.game.pad.players
        return player < len(players) and players[player] == name

    def next_card(self) -> Card:
        """The kind of card after the one that lies there, in the order of the deck."""
        deck = [card for card in Card if card in self.game.pad.edition.cards]
        now = self.raid.card if self.raid is not None else None
        return deck[(deck.index(now) + 1) % len(deck)] if now in deck else deck[0]

    # -- how it stands ---------------------------------------------------------------------------------------

    @property
    def raid(self) -> Raid | None:
        """The raid in progress."""
        return self.game.pad.raid

    @property
    def has_raid(self) -> bool:
        """Is somebody raiding?"""
        return self.raid is not None

    @property
    def raid_number(self) -> int:
        """Of the raid in progress, or the next one; from 0."""
        return len(self.game.pad.records)

    @property
    def is_finished(self) -> bool:
        """Has somebody won?"""
        return self.game.pad.over

    @property
    def needs_card(self) -> bool:
        """Dice lie there, and nobody knows which card was drawn."""
        return self.raid is not None and self.raid.card is None and bool(self.raid.faces)

    @property
    def deck(self) -> tuple[Card, ...]:
        """The kinds of card in the game."""
        return tuple(card for card in Card if card in self.game.pad.edition.cards)

    @property
    def history_key(self) -> object:
        """Differs when the finished raids or the names do."""
        return (self.game.pad.records, self.game.pad.players, self._corrected())

    def ended_by_rules(self) -> tuple[str, str, str, dict[str, Any]] | None:
        """(kind, code, sentence, args) when the raid is over by itself; a raid whose card is unknown never is."""
        raid = self.raid
        if raid is None or raid.phase is not Phase.ENDED or raid.card is None:
            return None
        score = raid.worth_now()
        assert score is not None
        player = self.game.pad.players[self.game.pad.next]
        args = {
            "player": player,
            "total": score.total,
            "others": score.others,
            "skulls": raid.skulls,
            "outcome": str(score.outcome),
        }
        if raid.island:
            return (
                "island",
                "island_ended",
                f"Skull Island is over: {player} has {raid.skulls} skulls, each other player gets {score.others}.",
                args,
            )
        if score.outcome is Outcome.BUST:
            return "bust", "bust", f"{raid.skulls} skulls: {player}'s raid is over, it brings {score.total}.", args
        return "over", "raid_ended", f"{player}'s raid is over by the rules, it brings {score.total}.", args

    def raid_of(self, seq: int) -> int:
        """The raid that operation `seq` belongs to."""
        return next((entry.raid for entry in reversed(self.done) if entry.seq <= seq), self.raid_number)

    def rolls_of(self, raid: int) -> int:
        """Rolls made so far in a raid."""
        return sum(1 for entry in self.done if entry.raid == raid and isinstance(entry.operation, ops.Roll))

    def pictures_by_raid(self, pictures: Sequence[StoredPicture]) -> tuple[tuple[StoredPicture, ...], ...]:
        """For each raid, the running one last, the pictures whose operation still counts."""
        raid_of = {entry.seq: entry.raid for entry in self.done}
        shown: list[list[StoredPicture]] = [[] for _ in range(self.raid_number + 1)]
        for picture in pictures:
            raid = raid_of.get(picture.seq)
            if raid is not None and raid < len(shown):
                shown[raid].append(picture)
        return tuple(tuple(of_raid) for of_raid in shown)

    def _corrected(self) -> frozenset[int]:
        return frozenset(
            entry.operation.raid - 1
            for entry in self.done
            if isinstance(entry.operation, (ops.CorrectRaid, ops.CorrectPoints))
        )

    # -- what may be done ------------------------------------------------------------------------------------

    def can(self) -> dict[str, Any]:
        """For each kind of order whether it is allowed now, and the sentence why not."""
        tries: dict[str, Callable[[], object]] = {
            "draw_card": lambda: None if self.has_raid else self.game.verify(ops.DrawCard(None)),
            "next_card": lambda: None if self.has_raid else self.game.verify(ops.DrawCard(None)),
            "roll": self._try_roll,
            "place_on_card": lambda: self._try_dice(ops.PlaceOnCard),
            "take_off": lambda: self._try_dice(ops.TakeOff),
            "correct_die": lambda: self.game.verify(ops.CorrectDie(0, Face.COIN)),
            "end_raid": self._try_end,
            "enter_raid": self._try_enter,
            "correct_raid": self._try_correct_raid,
            "undo": lambda: self.game.verify(ops.Undo()),
            "redo": lambda: self.game.verify(ops.Redo()),
            "rename_player": lambda: None,
        }
        return {kind: _asked(attempt) for kind, attempt in tries.items()}

    def _try_roll(self) -> None:
        if self.raid is None:
            self.game.verify(ops.DrawCard(None))
            return
        raid = self.raid
        dice = {die for die in raid.rollable if not raid.faces or raid.faces[die] is not Face.SKULL}
        if raid.watchwoman_ready and raid.faces:
            dice |= set(sorted(raid.rollable - dice)[:1])
        raid.verify_reroll(dice)

    def _try_dice(self, operation: type[ops.PlaceOnCard] | type[ops.TakeOff]) -> None:
        """Allowed when it is for any die."""
        if not any(self.game.can(operation((die,))) for die in range(DICE)):
            self.game.verify(operation((0,)))

    def _try_end(self) -> None:
        self._verify_card_known()
        self.game.verify(ops.EndRaid())

    def _try_enter(self) -> None:
        pad = self.game
        for undo in self._clear_raid():
            pad = pad.apply(undo)
        card = next(iter(self.deck))
        pad.verify(ops.EnterRaid(card, (Face.MONKEY,) * DICE))

    def _try_correct_raid(self) -> None:
        if not self.game.pad.records:
            raise NotAllowed("no raid is written down yet", code="no_raids")

    # -- what is shown ---------------------------------------------------------------------------------------

    def view(self, photos: Sequence[Sequence[StoredPicture]]) -> dict[str, Any]:
        """Its part of the state, without the history."""
        pad = self.game.pad
        return {
            "game": {"id": None, "number_of_raids": len(pad.records)},
            **self._pad_view(),
            "turn": None if pad.over else pad.next,
            "last_round": self._last_round(),
            "raid": self._raid_view(photos[-1] if photos else ()),
            "undo": _what(self.done[1:]),
            "redo": _what(self.undone),
        }

    def history(self, photos: Sequence[Sequence[StoredPicture]]) -> list[dict[str, Any]]:
        """The finished raids."""
        pad = self.game.pad
        corrected = self._corrected()
        source = {
            entry.raid: entry.source for entry in self.done if isinstance(entry.operation, (ops.EndRaid, ops.EnterRaid))
        }
        rolled = {
            entry.raid for entry in self.done if isinstance(entry.operation, ops.Roll) and entry.source == "camera"
        }
        return [
            {
                **_record_view(record, pad.players),
                "corrected": record.number - 1 in corrected,
                "source": "camera" if record.number - 1 in rolled else source.get(record.number - 1, ""),
                "photos": _photo_links(record.number - 1, photos),
            }
            for record in pad.records
        ]

    def summary(self) -> dict[str, Any]:
        """For the list of games."""
        pad = self.game.pad
        return {
            "players": list(pad.players),
            "totals": list(pad.totals),
            "raids": len(pad.records),
            "edition": pad.edition.key,
            "winners": list(pad.winners),
            "over": pad.over,
        }

    def summary_view(self) -> dict[str, Any]:
        """An old game: pad and raids."""
        return {**self._pad_view(), "raids": self.history(())}

    def _pad_view(self) -> dict[str, Any]:
        pad = self.game.pad
        order = sorted(pad.totals, reverse=True)
        return {
            "edition": pad.edition.key,
            "settings": {name: plain(getattr(pad.edition, name)) for name in SETTINGS},
            "house_rules": plain(pad.edition.house_rules),
            "players": [
                {
                    "index": seat,
                    "name": name,
                    "total": total,
                    "place": order.index(total) + 1,
                    "winner": seat in pad.winners,
                }
                for seat, (name, total) in enumerate(zip(pad.players, pad.totals, strict=True))
            ],
            "winners": list(pad.winners),
            "stage": str(pad.stage),
        }

    def _last_round(self) -> dict[str, Any] | None:
        pad = self.game.pad
        if pad.stage in (Stage.OPEN, Stage.OVER):
            return None
        if pad.stage is Stage.SUDDEN_DEATH and not pad.edition.last_round:
            return None
        left = [pad.next] if pad.stage is Stage.LEADERS_RAID else list(pad.pending)
        return {
            "stage": str(pad.stage),
            "by": pad.reached_by,
            "sudden_death": pad.stage is Stage.SUDDEN_DEATH,
            "left": left,
        }

    def _raid_view(self, photos: Sequence[StoredPicture]) -> dict[str, Any] | None:
        raid, pad = self.raid, self.game.pad
        if raid is None:
            return None
        score = raid.worth_now()
        notes = score.unchecked if score is not None else ()
        return {
            "number": self.raid_number,
            "player": pad.players[pad.next],
            "player_index": pad.next,
            "card": None if raid.card is None else str(raid.card),
            "card_source": self._card_source(),
            "phase": _phase(raid, score),
            "rolls": raid.rolls,
            "skulls": raid.skulls,
            "dice": self._dice_view(raid),
            "rollable": sorted(raid.rollable),
            "fewest_dice": raid.fewest_dice,
            "watchwoman": raid.phase is Phase.WATCHWOMAN,
            "worth_now": None if score is None or raid.card is None else score_view(score),
            "problems": [_note_view(note) for note in notes],
            "photos": [_photo_link(self.raid_number, k, picture) for k, picture in enumerate(photos)],
        }

    def _of_this_raid(self) -> list[Entry]:
        """What counts of the raid in progress, oldest first."""
        number, found = self.raid_number, []
        for entry in reversed(self.done):
            if entry.raid != number:
                break
            found.append(entry)
        return found[::-1]

    def _card_source(self) -> str | None:
        for entry in reversed(self._of_this_raid()):
            if isinstance(entry.operation, (ops.DrawCard, ops.CorrectCard)) and entry.operation.card is not None:
                return entry.source
        return None

    def _dice_view(self, raid: Raid) -> list[dict[str, Any]]:
        details = self._details()
        locked = frozenset(range(DICE)) - raid.rollable - raid.on_card
        return [
            {
                "index": die,
                "face": str(face),
                "on_card": die in raid.on_card,
                "locked": die in locked,
                **(details[die] if details[die].get("face") == str(face) else _UNSEEN),
            }
            for die, face in enumerate(raid.faces)
        ]

    def _details(self) -> list[dict[str, Any]]:
        """How the camera saw each die last, with the face that it had then."""
        seen: list[dict[str, Any]] = [{} for _ in range(DICE)]
        for entry in self._of_this_raid():
            if isinstance(entry.operation, ops.Roll) and len(entry.details) == DICE:
                for die, detail in enumerate(entry.details):
                    seen[die] = {**detail.to_json(), "face": str(entry.operation.faces[die])}
        return seen


_OF_A_RAID = (ops.DrawCard, ops.CorrectCard, ops.Roll, ops.CorrectDie, ops.PlaceOnCard, ops.TakeOff)
"""Operations that concern only the raid in progress."""
_UNSEEN: dict[str, Any] = {"certainty": None, "alternatives": [], "box": None}


def _body(operation: ops.Operation, source: str, details: Sequence[DieDetail]) -> Body:
    body: Body = {"op": ops.operation_to_json(operation), "source": source}
    if details:
        body["details"] = [detail.to_json() for detail in details]
    # What goes to the disk must be what comes back from it.
    return dict(json.loads(json.dumps(body)))


def _details_from(found: Any) -> tuple[DieDetail, ...]:
    if not isinstance(found, list):
        return ()
    return tuple(
        DieDetail(
            die.get("certainty"),
            tuple((Face(face), float(p)) for face, p in die.get("alternatives", ())),
            None if die.get("box") is None else tuple(die["box"]),
        )
        for die in found
    )


def _result(order: EnterRaid | CorrectRaid) -> tuple[Any, Any, Any]:
    """(faces on the card, rolls, island) as the rules want them."""
    on_card = None if order.on_card is None else tuple(order.faces[die] for die in order.on_card)
    if order.card is not Card.TREASURE_ISLAND and not on_card:
        on_card = None
    rolls = order.history if order.history is not None else ((order.faces,) if order.rolls == 1 else None)
    return on_card, rolls, order.island


def _group(entries: Sequence[Entry]) -> int:
    """How many of the last entries one command has caused: they are undone together."""
    if not entries:
        return 0
    n = 1
    while n < len(entries) and entries[-1].command and entries[-n - 1].command == entries[-1].command:
        n += 1
    return n


def _what(entries: Sequence[Entry]) -> dict[str, Any] | None:
    return {"what": entries[-1].operation.kind, "raid": entries[-1].raid} if entries else None


def _asked(attempt: Callable[[], object]) -> dict[str, Any]:
    try:
        attempt()
    except ScorerError as error:
        return {"ok": False, **refusal(error).to_json()}
    except TableError as error:
        return {"ok": False, **error.to_json()}
    return {"ok": True}


def _phase(raid: Raid, score: RaidScore | None) -> str:
    match raid.phase:
        case Phase.AWAITING_FIRST_ROLL:
            return "card"
        case Phase.SKULL_ISLAND:
            return "island"
        case Phase.ENDED if raid.card is not None and score is not None:
            return "bust" if score.outcome is Outcome.BUST else "over"
    return "rolling"


def score_view(score: RaidScore) -> dict[str, Any]:
    """A score sheet as JSON."""
    return {
        "total": score.total,
        "others": score.others,
        "outcome": str(score.outcome),
        "lines": [_line_view(line) for line in score.lines],
    }


def _line_view(line: Line) -> dict[str, Any]:
    return {
        "what": line.what,
        "points": line.points,
        "kind": str(line.kind),
        "face": None if line.face is None else str(line.face),
        "count": line.count,
        "each": line.each,
    }


def _note_view(note: Note) -> dict[str, Any]:
    return {"code": str(note.kind), "args": {"roll": note.roll, "count": note.count}, "sentence": note.what}


def _record_view(record: Record, players: Sequence[str]) -> dict[str, Any]:
    entry = record.entry
    result = entry if isinstance(entry, Result) else None
    return {
        "number": record.number - 1,
        "player": players[record.player],
        "player_index": record.player,
        "card": None if result is None or result.card is None else str(result.card),
        "faces": [] if result is None else [str(face) for face in result.faces],
        "on_card": [] if result is None else _places(result),
        **score_view(record.score),
        "rolls": None if result is None or result.rolls is None else len(result.rolls),
        "unchecked": [_note_view(note) for note in record.score.unchecked],
        "counts": record.counts,
        "totals": list(record.totals),
    }


def _places(result: Result) -> list[int]:
    """Places of the faces that lay on the card (of equal dice the first ones)."""
    free, places = list(enumerate(result.faces)), []
    for face in result.on_card or ():
        place = next((p for p in free if p[1] is face), None)
        if place is not None:
            free.remove(place)
            places.append(place[0])
    return sorted(places)


def _photo_links(raid: int, photos: Sequence[Sequence[StoredPicture]]) -> list[dict[str, Any]]:
    shown = photos[raid] if raid < len(photos) else ()
    return [_photo_link(raid, k, picture) for k, picture in enumerate(shown)]


def _photo_link(raid: int, number: int, picture: StoredPicture) -> dict[str, Any]:
    return {"url": f"/api/raids/{raid}/photo/{number}?p={picture.id}", "roll": picture.roll, "kind": picture.kind}
