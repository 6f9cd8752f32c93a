"""The referee: what the eyes saw becomes orders to the table, and every doubt a question.

Events of `vision.watcher.Watcher` go in, in order; `Roll`, `DrawCard`, `PlaceOnCard`, `TakeOff`, `Ask` and `Withdraw`
come out. The rules are the second witness: a roll that they refuse (a locked skull gone, a single die, a third roll
with Shipwreck) is asked about in the rules' own sentence, never scored and never dropped in silence. While a question
of the referee is open, later rolls wait for it in line. Busts and the end of Skull Island are the table's to announce.

The referee runs in the loop's thread: `handle(event, frame)` for each event, `tick()` at least twice a second.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import cv2
import numpy as np

from device.errors import DeviceError, NotAllowed
from device.orders import (
    Answer,
    Ask,
    Choice,
    CorrectDie,
    DieDetail,
    DrawCard,
    EndRaid,
    Order,
    Picture,
    PlaceOnCard,
    TakeOff,
    Withdraw,
)
from device.orders import Roll as RollOrder
from device.snapshot import ANNOUNCED
from scorer.cards import Card
from scorer.faces import DICE, Face
from vision.events import Doubt, Event, EventKind, Roll, SceneFlag
from vision.reading import CardReading, DieReading, Frame

if TYPE_CHECKING:
    from device.snapshot import Snapshot
    from device.table import Table

log = logging.getLogger(__name__)

MOST_WAITING = 6
"""Rolls that may wait for an answer; more, and the table and the camera have lost each other."""


@dataclass(frozen=True, slots=True)
class RaidNow:
    """What the referee needs to know of the raid on the table."""

    phase: str
    """`none`, `card` (drawn, nothing rolled), `rolling`, `island`, `bust`, `over`."""
    card: Card | None
    faces: tuple[Face, ...]
    """By die of the table; empty before the first roll."""
    on_card: frozenset[int]
    rolls: int
    asking: bool
    """A question about dice is open: what is rolled now has to wait for the answer."""
    announced: str | None
    """Id of the question that announces a bust or the end of an island."""
    number: int
    """Which raid of the game; the next one's number when none runs."""
    playing: bool
    """A game is on the table and not finished."""


class Desk(Protocol):
    """Where orders go: the `device.table.Table` (`TableDesk`), or a stand-in without people (`ausguck replay`)."""

    def now(self) -> RaidNow:
        """The raid on the table."""
        ...

    def submit(self, order: Order) -> None:
        """Have it done. Raises `DeviceError` with a sentence when it is refused."""
        ...


class TableDesk:
    """The table, as the referee sees it: its snapshot in, orders out."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._made_of: Snapshot | None = None
        self._now: RaidNow | None = None

    def now(self) -> RaidNow:
        """The raid of the newest snapshot."""
        snapshot = self._table.snapshot
        if self._now is None or snapshot is not self._made_of:
            self._made_of, self._now = snapshot, raid_now(snapshot.state)
        return self._now

    def submit(self, order: Order) -> None:
        """Have it done by the table; returns when it is on the disk."""
        self._table.submit(order, source="camera")


def raid_now(state: Mapping[str, Any]) -> RaidNow:
    """What `GET /api/state` says about the raid, as the referee needs it."""
    raid = state["raid"] or {}
    dice = raid.get("dice") or ()
    questions = state["questions"]
    announced = next((q["id"] for q in questions if q["kind"] in ANNOUNCED), None)
    return RaidNow(
        phase=raid.get("phase", "none"),
        card=Card(raid["card"]) if raid.get("card") else None,
        faces=tuple(Face(die["face"]) for die in dice),
        on_card=frozenset(die["index"] for die in dice if die["on_card"]),
        rolls=raid.get("rolls", 0),
        # Which card it is can be asked while the dice roll on: the raid is counted again when the answer comes.
        asking=any(q["kind"] not in ANNOUNCED and q["kind"] != "card" for q in questions),
        announced=announced,
        number=raid["number"] if raid else len(state["raids"]),
        playing=state["status"] not in ("no_game", "finished"),
    )


class Eyes(Protocol):
    """What the referee tells the watcher: corrections that people made."""

    def correct(self, die: int, face: Face) -> None:
        """Die number `die` shows `face`."""
        ...

    def not_rolled(self) -> None:
        """The last roll was none."""
        ...


@dataclass(slots=True)
class _Asked:
    """A roll whose faces are being asked about."""

    roll: Roll
    group: str
    rolls_before: int
    raid: int
    order: RollOrder | None = None
    """With the likeliest faces."""


@dataclass(slots=True)
class _Last:
    """The last roll that the table took (or is asked about), as the eyes saw it."""

    raid: int
    rolls: int
    faces: list[Face]


@dataclass(slots=True)
class _State:
    """What the referee remembers between events."""

    waiting: deque[Callable[[], None]] = field(default_factory=deque)
    asked: _Asked | None = None
    done: set[int] = field(default_factory=set)
    last: _Last | None = None
    number_of: list[int] = field(default_factory=lambda: list(range(DICE)))
    """Die of the eyes → die of the table."""
    card: CardReading | None = None
    card_of: dict[str, int] = field(default_factory=dict)
    """Which raid a card in view was used for: it does not start another one."""
    card_asked: set[tuple[int, str]] = field(default_factory=set)
    cleared: bool = False
    """The table was last seen empty."""
    other_card: tuple[int, CardReading] | None = None
    """Frame and card: another one than the raid's, not asked about yet: the next raid may be about to begin."""
    card_left: bool = False
    """The card of this raid was taken away."""
    then: list[tuple[int, Face, Callable[[], None]]] = field(default_factory=list)
    """What to do as soon as the table says that a die shows a face."""


class Referee:
    """Turns events of the eyes into orders for the table.

        referee = Referee(TableDesk(table), eyes=watcher)
        loop = Loop(keeper, make_watcher, referee.handle, each_turn=referee.tick)

    `show(reading)` is told what the camera sees, `jpeg(frame)` encodes the evidence.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        eyes: Eyes | None = None,
        show: Callable[[Mapping[str, Any]], None] = lambda reading: None,
        jpeg: Callable[[Frame], bytes] | None = None,
    ) -> None:
        self._desk, self._eyes, self._show = desk, eyes, show
        self._jpeg = jpeg or encode
        self._s = _State()

    def attach(self, eyes: Eyes) -> None:
        """New eyes (the loop opened them again): their die numbers begin anew with what they see first."""
        self._eyes = eyes

    # -- what comes in --------------------------------------------------------------------------------------------

    def handle(self, event: Event, frame: Frame | None = None) -> None:
        """One event, with the frame that brought it. Raises nothing that the eyes would have to care about."""
        self._show(_shown(event, frame))
        other = self._s.other_card
        if other is not None and event.frame != other[0]:
            self._later(self._ask_other_card)
        handler = _HANDLERS.get(event.kind)
        if handler is not None and self._desk.now().playing:
            handler(self, event, frame)
        self.tick()

    def tick(self) -> None:
        """Go on with what waited for an answer, and tell the eyes what people corrected."""
        now = self._desk.now()
        if not now.playing:
            self._s.waiting.clear()
            return
        self._notice_answers(now)
        self._notice_corrections(now)
        while self._s.waiting and not self._desk.now().asking:
            self._s.waiting.popleft()()

    def _notice_answers(self, now: RaidNow) -> None:
        asked = self._s.asked
        if asked is not None and (now.rolls > asked.rolls_before or now.number != asked.raid):
            self._s.done.add(asked.roll.serial)
            self._s.asked = None
        for item in list(self._s.then):
            die, face, action = item
            if len(now.faces) == DICE and now.faces[die] is face:
                self._s.then.remove(item)
                self._s.waiting.appendleft(action)
            elif not now.asking:
                self._s.then.remove(item)

    def _notice_corrections(self, now: RaidNow) -> None:
        """A face on the table that is not what the eyes saw was corrected by a person: the eyes go on from that."""
        last = self._s.last
        if last is None or (now.number, now.rolls) != (last.raid, last.rolls) or len(now.faces) != DICE:
            return  # undone, or of another raid: the dice still lie as the eyes saw them
        for die, seen in enumerate(last.faces):
            face = now.faces[self._s.number_of[die]]
            if face is not seen:
                last.faces[die] = face
                if self._eyes is not None:
                    self._eyes.correct(die, face)

    # -- cards ----------------------------------------------------------------------------------------------------

    def _card(self, event: Event, frame: Frame | None) -> None:
        card = event.card
        if card is None or card.name == "back":
            return
        self._s.card = card
        sure = SceneFlag.CARD_UNSURE not in event.flags
        if self._desk.now().card is None:
            self._play_card(card, sure, event.frame)  # it may be the very answer that everything waits for
        else:
            self._later(lambda: self._play_card(card, sure, event.frame))

    def _play_card(self, card: CardReading, sure: bool, frame: int) -> None:
        now = self._desk.now()
        if now.announced is not None and card.name != now.card:
            self._confirm_end()
            now = self._desk.now()
        known = _card(card.name)
        if sure and known is not None:
            self._play_sure_card(card, known, now, frame)
        elif now.card is None:
            self._ask_card(card, now, "doubtful_card", "A card lies there that is not certain. Which one is it?")
        elif known is not None and not sure and _doubts(card, now.card) and now.phase in ("card", "rolling"):
            self._ask_card(card, now, "doubtful_card", "The card in view may be another one. Which one is it?")

    def _play_sure_card(self, seen: CardReading, card: Card, now: RaidNow, frame: int) -> None:
        if now.card is card or now.phase in ("bust", "over"):
            self._s.card_of[card] = now.number
            return
        if now.card is None:
            self._s.card_of = {card: now.number}
            self._try(DrawCard(card))
            return
        if now.faces and self._s.cleared:
            self._ask_ended(f"card-{card}", "A new card lies there, but the raid before was not ended. Is it over?",
                            lambda: self._play_sure_card(seen, card, self._desk.now(), frame))
        elif (now.number, card) not in self._s.card_asked:
            # Not asked at once: if all eight dice were thrown with it, it is the next raid's.
            self._s.other_card = frame, seen

    def _ask_other_card(self) -> None:
        """Another card lies there than the one that was entered. Asked once a raid."""
        other, self._s.other_card = self._s.other_card, None
        now = self._desk.now()
        card = _card(other[1].name) if other is not None else None
        if card is None or now.card is None or now.card is card or (now.number, card) in self._s.card_asked:
            return
        self._s.card_asked.add((now.number, card))
        self._submit(Ask(
            kind="card", code="card_differs", args={"seen": card.value, "entered": now.card.value},
            sentence=f"{_said(card)} lies there, but {_said(now.card)} was entered. Which card is it?",
            choices=(Choice(card.value, order=DrawCard(card)), Choice(now.card.value, order=DrawCard(now.card))),
            group="card"))

    def _ask_card(self, card: CardReading, now: RaidNow, code: str, sentence: str) -> None:
        names = [card.name, *(name for name, _ in card.alternatives)]
        likely = list(dict.fromkeys(c for c in map(_card, names) if c is not None))
        rest = [c for c in Card if c not in likely]
        if (now.number, f"{code}:{card.name}") in self._s.card_asked:
            return
        self._s.card_asked.add((now.number, f"{code}:{card.name}"))
        p = {card.name: card.certainty, **dict(card.alternatives)}
        choices = tuple(Choice(c.value, p.get(c.value), DrawCard(c)) for c in (*likely, *rest))
        self._submit(Ask(kind="card", code=code, sentence=sentence, choices=choices, group="card"))

    def _card_gone(self, event: Event, frame: Frame | None) -> None:
        self._s.card, self._s.card_left = None, True
        self._s.card_of.clear()

    # -- rolls ----------------------------------------------------------------------------------------------------

    def _rolled(self, event: Event, frame: Frame | None) -> None:
        """ROLL, CHANGED, or DOUBTFUL with a roll."""
        roll = event.roll
        if roll is None or roll.serial in self._s.done:
            return
        picture = self._picture(event, frame)
        asked = self._s.asked
        if asked is not None and asked.roll.serial == roll.serial:
            if not roll.certain:
                return
            self._submit(Withdraw(asked.group))  # it has become certain by itself
            self._s.asked = None
            self._s.waiting.appendleft(lambda: self._take(roll, picture))
            return
        self._settle_moot(roll)
        if len(self._s.waiting) >= MOST_WAITING:
            self._s.waiting.clear()
            self._submit(Ask(kind="desync", code="desync", group="desync", choices=(Choice("ignore"),),
                             sentence="Too much was rolled while a question was open. Check the dice on this page."))
            return
        self._later(lambda: self._take(roll, picture))

    def _settle_moot(self, roll: Roll) -> None:
        """Dice that are asked about were rolled again: what they showed before no longer matters, but for the skulls.

        A skull may not be rolled again (without the Watchwoman), so they were none: the rules are the second witness.
        """
        asked = self._s.asked
        if asked is None or asked.order is None or not set(asked.roll.unsure) <= set(roll.rolled):
            return
        skulls = max(_chance(asked.roll.dice[die], Face.SKULL) for die in asked.roll.unsure)
        now = self._desk.now()
        if skulls > 0.02 and now.card in (Card.WATCHWOMAN, None):
            return
        order, previous = asked.order, asked.roll
        faces = {self._s.number_of[die]: _likeliest(previous.dice[die]) for die in previous.unsure}
        dice = order.dice if order.dice is not None else tuple(range(DICE))
        shown = tuple(faces.get(i, face) for i, face in zip(dice, order.faces, strict=True))
        self._submit(Withdraw(asked.group))
        self._s.asked = None
        filled = RollOrder(shown, order.dice, order.details, order.pictures)
        self._s.waiting.appendleft(lambda: self._do_roll(previous, filled))

    def _take(self, roll: Roll, picture: tuple[Picture, ...]) -> None:
        """A roll whose turn it is: the question is what it means to the table as it is now."""
        if roll.serial in self._s.done:
            return
        now = self._desk.now()
        if now.announced is not None or now.phase in ("bust", "over"):
            if not roll.all_eight:
                return  # the raid has ended: dice are being cleared
            self._confirm_end()
            now = self._desk.now()
        if not now.faces:
            self._first(roll, now, picture)
        elif not roll.before:
            self._found_lying(roll, now, picture)
        elif roll.all_eight and (self._s.card_left or self._s.other_card or self._locked(now) > self._spare_skull(now)):
            self._s.other_card = None
            self._ask_ended(f"roll-{roll.serial}", "All eight dice were rolled, but the raid before was not ended. "
                            "Has the next raid begun?", lambda: self._take(roll, picture))
        else:
            self._further(roll, now, picture)

    def _first(self, roll: Roll, now: RaidNow, picture: tuple[Picture, ...]) -> None:
        """No die was rolled in this raid yet."""
        if not roll.all_eight:
            if len(roll.rolled) >= 6:
                n, order = len(roll.rolled), RollOrder(roll.faces, None, details(roll), picture)
                self._ask_roll(roll, order, "not_all_eight", {"rolled": n},
                               f"No raid is running, and {n} dice were rolled. Is this a first roll?")
            return  # dice that are passed on or played with
        self._s.number_of = list(range(DICE))
        self._card_for(now)
        order = RollOrder(roll.faces, None, details(roll), picture)
        if Doubt.UNSEEN in roll.doubts:
            self._ask_roll(roll, order, "found_lying", {},
                           "Eight dice lay here before anybody could watch. Does this raid begin with them?")
        elif Doubt.FACE in roll.doubts:
            self._ask_faces(roll, order, now)
        else:
            self._do_roll(roll, order)

    def _card_for(self, now: RaidNow) -> None:
        """The card in view belongs to the raid that begins, unless it was the last one's."""
        seen = self._s.card
        if now.card is not None or seen is None:
            return
        known = _card(seen.name)
        if known is not None and seen.certainty >= 0.9 and self._s.card_of.get(known, now.number) == now.number:
            self._s.card_of[known] = now.number
            self._try(DrawCard(known))
            return
        self._ask_card(seen, now, "which_card", "Which card was drawn for this raid?")

    def _found_lying(self, roll: Roll, now: RaidNow, picture: tuple[Picture, ...]) -> None:
        """The eyes have just opened in the middle of a raid: are these the dice that the table knows?"""
        self._s.number_of = match_faces(roll.faces, now.faces)
        self._s.done.add(roll.serial)
        if Counter(roll.faces) == Counter(now.faces):
            self._s.last = None
            return
        table = tuple(roll.faces[self._s.number_of.index(i)] for i in range(DICE))
        changed = tuple(i for i in range(DICE) if table[i] is not now.faces[i])
        order = RollOrder(tuple(table[i] for i in changed), changed, (), picture)
        self._ask_roll(roll, order, "found_changed", {"dice": len(changed)},
                       "The dice are not as the table knows them, and nobody saw why. Were they rolled again?")

    def _ask_ended(self, group: str, sentence: str, then: Callable[[], None]) -> None:
        """The next raid seems to have begun, and nobody ended the last one. After a yes, go on with `then`."""
        number = self._desk.now().number

        def go_on() -> None:
            if self._desk.now().number != number:
                then()

        self._submit(Ask(kind="roll_impossible", code="raid_not_ended", sentence=sentence, group=group,
                         choices=(Choice("yes", order=EndRaid()), Choice("ignore"))))
        self._s.waiting.appendleft(go_on)

    def _further(self, roll: Roll, now: RaidNow, picture: tuple[Picture, ...]) -> None:
        """Another roll of the raid that runs."""
        rolled = self._really_rolled(roll, now)
        if not rolled:
            self._s.done.add(roll.serial)
            return
        disputed = [die for die in roll.unsure if die not in roll.rolled]
        if disputed:
            self._ask_disputed(roll, disputed, picture)
            return
        order = self._order(roll, rolled, now, picture)
        n = len(rolled)
        if Doubt.SAME_FACES in roll.doubts:
            self._ask_same(roll, order, now)
        elif Doubt.UNSEEN in roll.doubts:
            self._ask_roll(roll, order, "unseen", {"dice": n},
                           f"{n} dice changed while nobody could see them. Were they rolled?")
        elif Doubt.SINGLE in roll.doubts and not (roll.seen_flying and self._alone_allowed(rolled[0], now)):
            self._ask_changed(roll, rolled, now, picture)
        elif Doubt.FACE in roll.doubts and set(roll.unsure) & set(rolled):
            self._ask_faces(roll, order, now, rolled)
        else:
            self._do_roll(roll, order)

    def _alone_allowed(self, die: int, now: RaidNow) -> bool:
        """Whether the rules know rolls of a single die here; whether this one is allowed they say later."""
        skull = now.faces[self._s.number_of[die]] is Face.SKULL
        return now.phase == "island" or now.card is Card.ZOMBIE_ATTACK or (now.card is Card.WATCHWOMAN and skull)

    def _really_rolled(self, roll: Roll, now: RaidNow) -> tuple[int, ...]:
        """The dice of the eyes that were rolled: without those that had to stay and look as if they had.

        Dice that a hand covered may count as rolled for the eyes. A skull that is still a skull stayed; so did a die on
        the card that lies there still.
        """
        stays = []
        for die in roll.rolled:
            table = self._s.number_of[die]
            same = now.faces[table] is roll.dice[die].face
            if same and (now.faces[table] is Face.SKULL or (table in now.on_card and roll.dice[die].on_card)):
                stays.append(die)
        return tuple(die for die in roll.rolled if die not in stays)

    def _order(self, roll: Roll, rolled: Sequence[int], now: RaidNow, picture: tuple[Picture, ...]) -> RollOrder:
        pairs = sorted((self._s.number_of[die], roll.dice[die].face) for die in rolled)
        seen = details(roll, self._s.number_of)
        return RollOrder(tuple(face for _, face in pairs), tuple(i for i, _ in pairs), seen, picture)

    def _do_roll(self, roll: Roll, order: RollOrder) -> None:
        """Have it done; what the rules refuse is asked about."""
        now = self._desk.now()
        lifted = tuple(sorted(now.on_card & set(order.dice or ())))
        try:
            if lifted:
                self._desk.submit(TakeOff(lifted))
            self._desk.submit(order)
        except NotAllowed as refusal:
            self._ask_impossible(roll, order, refusal)
            return
        except DeviceError as error:
            log.warning("a roll could not be entered: %s", error)
            return
        self._s.done.add(roll.serial)
        self._s.card_left = False
        self._s.last = _Last(now.number, now.rolls + 1, list(roll.faces))
        self._lie(roll.dice)

    # -- questions ------------------------------------------------------------------------------------------------

    def _ask_faces(self, roll: Roll, order: RollOrder, now: RaidNow, rolled: Sequence[int] | None = None) -> None:
        """One question a die that is not certain; the roll is done when all are answered."""
        dice = list(rolled) if rolled is not None else list(range(DICE))
        unsure = [die for die in dice if die in roll.unsure]
        places = {die: self._s.number_of[die] for die in dice}
        positions = list(order.dice) if order.dice is not None else list(range(DICE))
        faces: list[Face | None] = list(order.faces)
        for die in unsure:
            faces[positions.index(places[die])] = None
        pending = RollOrder(tuple(faces), order.dice, order.details, order.pictures)
        group = f"roll-{roll.serial}"
        self._s.asked = _Asked(roll, group, now.rolls, now.number, order)
        self._s.last = _Last(now.number, now.rolls + 1, list(roll.faces))
        for die in unsure:
            self._submit(_face_question(roll.dice[die], places[die], pending, group))

    def _ask_same(self, roll: Roll, order: RollOrder, now: RaidNow) -> None:
        n = len(order.faces)
        # Only where rolls are counted does it matter; elsewhere "no" is taken after a while.
        counted = now.phase == "island" or now.card in (Card.SHIPWRECK, Card.ZOMBIE_ATTACK)
        self._submit(Ask(
            kind="rolled_again", code="rolled_again", args={"dice": n},
            sentence=f"{n} dice lie elsewhere with the same faces. Were they rolled again?",
            choices=(Choice("no"), Choice("yes", order=order)), group=f"roll-{roll.serial}",
            default=None if counted else "no", seconds=None if counted else 8.0))
        self._s.done.add(roll.serial)

    def _ask_disputed(self, roll: Roll, dice: Sequence[int], picture: tuple[Picture, ...]) -> None:
        """Dice that were not rolled, and of which two certain readings say different things: asked before the roll."""
        for die in dice:
            table = self._s.number_of[die]
            question = _face_question(roll.dice[die], table, None, f"dispute-{roll.serial}")
            choices = tuple(replace(c, order=CorrectDie(table, Face(c.value))) for c in question.choices)
            self._submit(replace(question, choices=choices))
        unsure = tuple(die for die in roll.unsure if die not in dice)
        doubts = roll.doubts if unsure else tuple(doubt for doubt in roll.doubts if doubt is not Doubt.FACE)
        settled = replace(roll, unsure=unsure, doubts=doubts)
        self._s.waiting.appendleft(lambda: self._take(settled, picture))

    def _ask_changed(self, roll: Roll, dice: Sequence[int], now: RaidNow, picture: tuple[Picture, ...]) -> None:
        for die in dice:
            self._ask_single(roll, self._order(roll, (die,), now, picture), die, now)

    def _ask_single(self, roll: Roll, order: RollOrder, die: int, now: RaidNow) -> None:
        """One die changed: rolled by itself (where that is allowed), read wrong before, or nudged."""
        table = self._s.number_of[die]
        face, before = roll.dice[die].face, now.faces[table]
        choices = [Choice("misread", order=CorrectDie(table, face)), Choice("ignore")]
        rolled = Choice("rolled", order=order)
        choices = [rolled, *choices] if roll.seen_flying else [*choices, rolled]
        self._submit(Ask(
            kind="changed", code="die_changed", die=table,
            args={"die": table + 1, "face": face.value, "before": before.value},
            sentence=f"Die {table + 1} now shows {face.value} and showed {before.value}. "
                     "Was it rolled, read wrong before, or only nudged?",
            choices=tuple(choices), group=f"roll-{roll.serial}", box=roll.dice[die].box))
        self._s.done.add(roll.serial)

    def _ask_roll(self, roll: Roll, order: RollOrder, code: str, args: Mapping[str, Any], sentence: str) -> None:
        """Was this a roll at all?"""
        self._submit(Ask(kind="desync", code=code, args=args, sentence=sentence, group=f"roll-{roll.serial}",
                         choices=(Choice("yes", order=order), Choice("ignore"))))
        self._s.done.add(roll.serial)

    def _ask_impossible(self, roll: Roll, order: RollOrder, refusal: NotAllowed) -> None:
        """The rules say that it cannot be. A sentence, and ways out."""
        now = self._desk.now()
        choices = list(self._ways_out(roll, order, now))
        self._submit(Ask(kind="roll_impossible", code=refusal.code, args=refusal.details, sentence=str(refusal),
                         choices=(*choices, Choice("ignore")), group=f"roll-{roll.serial}"))
        self._s.done.add(roll.serial)

    def _ways_out(self, roll: Roll, order: RollOrder, now: RaidNow) -> Sequence[Choice]:
        """Readings under which the roll would be allowed: a skull that was none, or that still is one."""
        if order.dice is None or len(now.faces) != DICE:
            return ()
        skulls = [i for i in order.dice if now.faces[i] is Face.SKULL]
        if not skulls:
            single = len(order.dice) == 1
            return (Choice("misread", order=CorrectDie(order.dice[0], _known(order.faces[0]))),) if single else ()
        others = [(i, face) for i, face in zip(order.dice, order.faces, strict=True) if i not in skulls]
        ways = []
        if others:
            faces, dice = tuple(face for _, face in others), tuple(i for i, _ in others)
            rest = RollOrder(faces, dice, order.details, order.pictures)
            ways.append(Choice("still_skull", order=rest))
        if len(skulls) == 1:
            face = _known(order.faces[order.dice.index(skulls[0])])
            ways.append(Choice("never_skull", order=CorrectDie(skulls[0], face)))
            if others:
                # Once the table agrees that it never was a skull, the others still have to be rolled.
                self._s.then.append((skulls[0], face, lambda: self._do_roll(roll, rest)))
        return ways

    # -- Treasure Island ------------------------------------------------------------------------------------------

    def _empty(self, event: Event, frame: Frame | None) -> None:
        self._s.cleared = True

    def _lies(self, event: Event, frame: Frame | None) -> None:
        """A settled scene without a roll: dice may have been put on the card, or taken off."""
        reading = event.reading
        self._s.cleared = reading is None or not reading.dice
        if reading is None or not event.numbered or self._desk.now().card is not Card.TREASURE_ISLAND:
            return
        dice = reading.dice
        self._later(lambda: self._lie(dice))

    def _lie(self, dice: Sequence[DieReading]) -> None:
        now = self._desk.now()
        if now.card is not Card.TREASURE_ISLAND or now.phase != "rolling" or now.announced is not None:
            return
        there = {self._s.number_of[i] for i, die in enumerate(dice) if die.on_card}
        there = {i for i in there if now.faces[i] is not Face.SKULL}
        if there - now.on_card:
            self._try(PlaceOnCard(tuple(sorted(there - now.on_card))))
        if now.on_card - there:
            self._try(TakeOff(tuple(sorted(now.on_card - there))))

    # -- small things ---------------------------------------------------------------------------------------------

    def _doubtful(self, event: Event, frame: Frame | None) -> None:
        if event.roll is not None:
            self._rolled(event, frame)
            return
        now = self._desk.now()
        playing = now.announced is None and now.phase in ("card", "rolling", "island")
        if playing and SceneFlag.FEWER in event.flags and event.reading is not None:
            n = len(event.reading.dice)
            self._submit(Ask(
                kind="desync", code="dice_missing", args={"dice": n}, group="missing", choices=(Choice("ignore"),),
                sentence=f"Only {n} of the eight dice could be seen after that throw. Check the dice on this page."))

    def _later(self, step: Callable[[], None]) -> None:
        """In its turn: at once, unless something before it waits for an answer."""
        self._s.waiting.append(step)

    def _confirm_end(self) -> None:
        """The next raid begins while a bust is still being announced: nobody objected."""
        announced = self._desk.now().announced
        if announced is not None:
            self._try(Answer(announced, "yes"))
        elif self._desk.now().phase in ("bust", "over"):
            self._try(EndRaid())

    def _try(self, order: Order) -> bool:
        try:
            self._desk.submit(order)
        except DeviceError as error:
            log.info("%s was refused: %s", type(order).__name__, error)
            return False
        return True

    def _submit(self, order: Order) -> None:
        self._try(order)

    def _locked(self, now: RaidNow) -> int:
        return sum(face is Face.SKULL for face in now.faces)

    def _spare_skull(self, now: RaidNow) -> int:
        return 1 if now.card is Card.WATCHWOMAN else 0

    def _picture(self, event: Event, frame: Frame | None) -> tuple[Picture, ...]:
        if frame is None:
            return ()
        try:
            jpeg = self._jpeg(frame)
        except (ValueError, cv2.error) as error:
            log.warning("no picture of this roll: %s", error)
            return ()
        reading = event.reading.to_json() if event.reading is not None else None
        return (Picture(jpeg, kind="roll", reading=reading),)


_HANDLERS: dict[EventKind, Callable[[Referee, Event, Frame | None], None]] = {
    EventKind.CARD: Referee._card,
    EventKind.CARD_GONE: Referee._card_gone,
    EventKind.ROLL: Referee._rolled,
    EventKind.CHANGED: Referee._rolled,
    EventKind.DOUBTFUL: Referee._doubtful,
    EventKind.MOVED: Referee._lies,
    EventKind.BACK: Referee._lies,
    EventKind.SETTLED: Referee._lies,
    EventKind.EMPTY: Referee._empty,
}


def encode(frame: Frame, *, width: int = 1280, quality: int = 80) -> bytes:
    """A JPEG of `frame`, at most `width` pixels wide: what the history keeps as evidence."""
    image = frame.image
    h, w = image.shape[:2]
    if w > width:
        image = np.asarray(cv2.resize(image, (width, round(h * width / w)), interpolation=cv2.INTER_AREA), np.uint8)
    good, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not good:
        raise ValueError("expected a picture that can be written as JPEG")
    return data.tobytes()


def details(roll: Roll, number_of: Sequence[int] = tuple(range(DICE))) -> tuple[DieDetail, ...]:
    """How the eight dice look, by die of the table."""
    found = [DieDetail()] * DICE
    for die, seen in enumerate(roll.dice):
        found[number_of[die]] = DieDetail(seen.certainty, seen.alternatives, seen.box)
    return tuple(found)


def match_faces(seen: Sequence[Face], known: Sequence[Face]) -> list[int]:
    """Which die of the table each seen die is: same faces first, in order; the rest in order."""
    free = list(range(len(known)))
    found = [-1] * len(seen)
    for i, face in enumerate(seen):
        j = next((j for j in free if known[j] is face), None)
        if j is not None:
            found[i] = j
            free.remove(j)
    for i in range(len(seen)):
        if found[i] < 0:
            found[i] = free.pop(0)
    return found


def _face_question(die: DieReading, number: int, pending: RollOrder | None, group: str) -> Ask:
    likely = [(die.face, die.certainty), *((face, p) for face, p in die.alternatives if face is not die.face)]
    rest = [(face, 0.0) for face in Face if face not in dict(likely)]
    choices = tuple(Choice(face.value, p) for face, p in (*likely, *rest))
    first, second = choices[0].value, choices[1].value
    cocked = " It leans on something." if die.cocked else ""
    return Ask(kind="face", code="cocked_die" if die.cocked else "doubtful_die", die=number,
               args={"die": number + 1, "first": first, "second": second},
               sentence=f"Die {number + 1}: {first} or {second}?{cocked}", choices=choices, group=group,
               pending=pending, box=die.box)


def _doubts(seen: CardReading, entered: Card) -> bool:
    """Whether an uncertain look at a card speaks against the one that was entered."""
    return seen.certainty >= 0.5 and all(p < 0.2 for name, p in seen.alternatives if name == entered)


def _chance(die: DieReading, face: Face) -> float:
    return die.certainty if die.face is face else max((p for f, p in die.alternatives if f is face), default=0.0)


def _likeliest(die: DieReading) -> Face:
    """The likeliest face that is no skull."""
    ranked = [(die.certainty, die.face), *((p, face) for face, p in die.alternatives)]
    return max((p, face) for p, face in ranked if face is not Face.SKULL)[1]


def _card(name: str) -> Card | None:
    return Card(name) if name in set(Card) else None


def _known(face: Face | None) -> Face:
    if face is None:
        raise ValueError("expected a roll whose faces are all known")
    return face


def _said(card: Card) -> str:
    return f"“{card.value.replace('_', ' ')}”"


def _shown(event: Event, frame: Frame | None) -> dict[str, Any]:
    """What the page shows of an event."""
    shown: dict[str, Any] = {"phase": event.kind.value, "note": event.note, "frame": event.frame,
                             "flags": list(event.flags.names)}
    if frame is not None:
        shown["size"] = [int(frame.image.shape[1]), int(frame.image.shape[0])]
    if event.reading is not None:
        shown |= event.reading.to_json()
    return shown
