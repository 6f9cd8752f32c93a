"""What a raid is worth: card, eight faces, edition in; a score sheet out, line by line.

    >>> score_raid(Card.PIRATE, faces_named("skull skull coin coin coin coin diamond sabers".split())).total
    1400

Each rule is decided in one function: the full chest in `_chest_is_full`, sets in `_sets`, the cards in `CARD_RULES`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scorer.cards import Card
from scorer.editions import DEFAULT, Edition
from scorer.errors import CardNotInEdition, NotInHand, NoTreasureIsland, SkullOnCard, WrongNumberOfDice
from scorer.faces import DICE, Face
from scorer.names import counted

SET_POINTS: Final = {3: 100, 4: 200, 5: 500, 6: 1000, 7: 2000, 8: 4000}
"""Points of so many of a kind. A ninth (from the card) adds nothing to eight."""
COUNT_POINTS: Final = 100
"""Points of each coin and each diamond."""
CHEST_POINTS: Final = 500
"""Points when each of the eight dice earns something."""
ISLAND_POINTS: Final = 100
"""What each other player loses for a skull on Skull Island."""
DEADLY_SKULLS: Final = 3
"""So many skulls end a raid."""
ISLAND_SKULLS: Final = 4
"""So many skulls on the first roll lead to Skull Island."""
CARD_SKULLS: Final[Mapping[Card, int]] = {Card.SKULL_1: 1, Card.SKULL_2: 2}
"""Skulls with which a raid begins."""
CARD_TREASURE: Final[Mapping[Card, Face]] = {Card.GOLD_COIN: Face.COIN, Card.DIAMOND: Face.DIAMOND}
"""The coin or diamond with which a raid begins."""
SHIP_SABERS: Final[Mapping[Card, int]] = {Card.SHIP_2: 2, Card.SHIP_3: 3, Card.SHIP_4: 4}
"""Sabers that win a ship."""
SHIP_POINTS: Final[Mapping[Card, int]] = {Card.SHIP_2: 300, Card.SHIP_3: 500, Card.SHIP_4: 1000}
"""What a ship gives when won and costs when lost."""
SHIPWRECK_ROLLS: Final = 2
"""Rolls in all with Shipwreck."""
SHIPWRECK_FACTOR: Final = 2
PIRATE_FACTOR: Final = 2

TREASURE: Final = (Face.COIN, Face.DIAMOND)
_ORDER: Final = (Face.COIN, Face.DIAMOND, Face.MONKEY, Face.PARROT, Face.SABERS)


class Outcome(StrEnum):
    """How a raid ended."""

    SCORED = "scored"
    BUST = "bust"
    """Three skulls (also with a ship, with dice safe on Treasure Island, and with Peace)."""
    SKULL_ISLAND = "skull_island"
    SHIP_LOST = "ship_lost"
    """Ended in time, but with too few sabers for the ship."""
    PEACE_BROKEN = "peace_broken"
    ZOMBIE_LOST = "zombie_lost"
    PIRATE_MAGIC = "pirate_magic"
    """Nine of a kind where that wins the game at once."""


class LineKind(StrEnum):
    """What a line of the score sheet is about."""

    SET = "set"
    ANIMALS = "animals"
    TREASURE = "treasure"
    FULL_CHEST = "full_chest"
    PIRATE = "pirate"
    PEACE = "peace"
    SHIPWRECK = "shipwreck"
    SHIP_WON = "ship_won"
    SHIP_LOST = "ship_lost"
    PEACE_BROKEN = "peace_broken"
    ZOMBIES_BEATEN = "zombies_beaten"
    ZOMBIES_WON = "zombies_won"
    BUST = "bust"
    ISLAND = "island"
    ISLAND_SPARED = "island_spared"
    PIRATE_MAGIC = "pirate_magic"
    POINTS = "points"


LINE_TEXTS: Final[Mapping[LineKind, str]] = {
    LineKind.SET: "set of {dice}",
    LineKind.ANIMALS: "set of {count} monkeys and parrots",
    LineKind.TREASURE: "{dice}",
    LineKind.FULL_CHEST: "full chest",
    LineKind.PIRATE: "Pirate ×{count}",
    LineKind.PEACE: "Peace kept ×{count}",
    LineKind.SHIPWRECK: "Shipwreck ×{count}",
    LineKind.SHIP_WON: "ship won with {dice}",
    LineKind.SHIP_LOST: "ship lost with {dice}",
    LineKind.PEACE_BROKEN: "Peace broken by {dice}",
    LineKind.ZOMBIES_BEATEN: "zombies beaten with {dice}",
    LineKind.ZOMBIES_WON: "zombies won against {dice}: {each} points are shared out among the others",
    LineKind.BUST: "bust with {dice}",
    LineKind.ISLAND: "Skull Island with {dice}: each other player {each}",
    LineKind.ISLAND_SPARED: "Skull Island with {dice}: the others are spared",
    LineKind.PIRATE_MAGIC: "pirate magic, nine of a kind: the game is won",
    LineKind.POINTS: "points written down by hand",
}
"""English texts; `{dice}` is count and face (`4 monkeys`), `{count}` and `{each}` are numbers."""


@dataclass(frozen=True, slots=True)
class Line:
    """One addend of the score sheet. The points of all lines add up to the total."""

    kind: LineKind
    points: int
    face: Face | None = None
    """The face it is about, if one."""
    count: int = 0
    """How many dice (and card symbols), or the factor."""
    each: int = 0
    """What it means for each other player (or, for zombies, the points shared out among them)."""

    @property
    def template(self) -> str:
        """The English text with `{dice}`, `{count}`, `{each}`; the page translates it."""
        return LINE_TEXTS[self.kind]

    @property
    def what(self) -> str:
        """The line's English name, e.g. `set of 4 monkeys`."""
        dice = counted(self.count, self.face) if self.face else str(self.count)
        return self.template.format(dice=dice, count=self.count, each=self.each)


class NoteKind(StrEnum):
    """What could not be checked in a raid, or does not fit the rules."""

    FIRST_ROLL = "first_roll"
    SKULL_GONE = "skull_gone"
    TOO_MANY_ROLLS = "too_many_rolls"
    ROLLED_ON = "rolled_on"
    HISTORY_ENDS_OTHERWISE = "history_ends_otherwise"
    CARD_DICE = "card_dice"
    FATAL_CARD_DICE = "fatal_card_dice"
    UNFINISHED = "unfinished"
    PLAYERS = "players"
    NO_FACES = "no_faces"


NOTE_TEXTS: Final[Mapping[NoteKind, str]] = {
    NoteKind.FIRST_ROLL: "whether the skulls fell on the first roll: taken so, as no roll is recorded",
    NoteKind.SKULL_GONE: "a skull disappeared before roll {roll}",
    NoteKind.TOO_MANY_ROLLS: "{roll} rolls are recorded, and Shipwreck allows two",
    NoteKind.ROLLED_ON: "roll {roll} was made after the raid was over",
    NoteKind.HISTORY_ENDS_OTHERWISE: "the last recorded roll shows other faces than the raid",
    NoteKind.CARD_DICE: "which dice lay on Treasure Island: all that are no skull are taken as placed there at the end",
    NoteKind.FATAL_CARD_DICE: "whether the dice on Treasure Island lay there before the last roll",
    NoteKind.UNFINISHED: "this raid has to be rolled on: {count} dice are left",
    NoteKind.PLAYERS: "how many players share {count} points",
    NoteKind.NO_FACES: "everything: only the points are known",
}
"""English texts of what could not be checked."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that could not be checked, or does not fit."""

    kind: NoteKind
    roll: int = 0
    """The roll it is about, counted from 1."""
    count: int = 0

    @property
    def template(self) -> str:
        """The English sentence with `{roll}` and `{count}`; the page translates it."""
        return NOTE_TEXTS[self.kind]

    @property
    def what(self) -> str:
        """The English sentence."""
        return self.template.format(roll=self.roll, count=self.count)


@dataclass(frozen=True, slots=True)
class RaidScore:
    """The score sheet of a raid."""

    total: int
    """What the raider gets: the sum of the lines."""
    others: int
    """What *each* other player gets; negative if they lose."""
    outcome: Outcome
    lines: tuple[Line, ...]
    unchecked: tuple[Note, ...] = ()
    """What could not be checked, because only the result is known."""
    pot: int = 0
    """Points that the others share (a lost Zombie Attack); `others` is one share, or 0 if nobody said how many play."""


@dataclass(slots=True)
class _Raid:
    """What the card rules look at."""

    card: Card | None
    edition: Edition
    faces: tuple[Face, ...]
    on_card: tuple[Face, ...] | None
    others: int
    """How many others there are; 0 if unknown."""
    notes: list[Note]
    skulls: int = 0
    """On dice and card."""
    sabers: int = 0
    safe_before: bool = False
    """Whether the roll before the last one shows all the faces on the card."""


def score_raid(
    card: Card | None,
    faces: Sequence[Face],
    edition: Edition = DEFAULT,
    *,
    on_card: Sequence[Face] | None = None,
    rolls: Sequence[Sequence[Face]] | None = None,
    island: bool | None = None,
    players: int | None = None,
) -> RaidScore:
    """What a raid that ends with these faces is worth.

    `card` is `None` for a raid on which no card has an effect. `faces` are all eight, with those on the card.
    `on_card` are the faces that lie on Treasure Island; `None` if nobody knows (`()`: none does). `rolls` are the
    eight faces after each roll, the last one included, in any order of dice; without them the faces are taken as the
    only roll. `island` says whether the raid went to Skull Island, if that is known; else the first roll decides.
    `players` is how many play, for sharing out.

    Illegal histories are scored all the same, by the final faces, and named in `unchecked`. Raises
    `WrongNumberOfDice`, `CardNotInEdition`, `NoTreasureIsland`, `SkullOnCard`, `NotInHand`.
    """
    faces = tuple(faces)
    verify_raid(card, faces, edition, on_card=on_card, rolls=rolls)
    notes: list[Note] = []
    raid = _Raid(card, edition, faces, None if on_card is None else tuple(on_card), max(players or 1, 1) - 1, notes)
    raid.skulls = skulls_of(card, faces)
    raid.sabers = faces.count(Face.SABERS)
    if rolls:
        _check_history(card, faces, edition, rolls, island, notes)
        raid.safe_before = len(rolls) > 1 and not Counter(on_card or ()) - Counter(rolls[-2])
    if island is None:
        island = first_roll_sails(card, rolls[0] if rolls else faces, edition)
        if not rolls and island and card is not Card.SHIPWRECK:
            notes.append(Note(NoteKind.FIRST_ROLL))
    if island:
        return _on_skull_island(raid)
    rule = CARD_RULES.get(card) if card is not None else None
    return rule(raid) if rule else _plain(raid)


def verify_raid(
    card: Card | None,
    faces: Sequence[Face],
    edition: Edition,
    *,
    on_card: Sequence[Face] | None = None,
    rolls: Sequence[Sequence[Face]] | None = None,
) -> None:
    """Raise if no raid can end like this: dice missing, a card not in the deck, dice on the card that are not there."""
    if len(faces) != DICE:
        raise WrongNumberOfDice(expected=DICE, came=len(faces))
    for roll in rolls or ():
        if len(roll) != DICE:
            raise WrongNumberOfDice(expected=DICE, came=len(roll))
    if card is not None and card not in edition.cards:
        raise CardNotInEdition(card=card, edition=edition.key)
    if not on_card:
        return
    if card is not Card.TREASURE_ISLAND:
        raise NoTreasureIsland(card=card or "none")
    for face in set(on_card):
        if face is Face.SKULL:
            raise SkullOnCard(die=list(faces).index(face) + 1 if face in faces else "?")
        came, there = list(on_card).count(face), list(faces).count(face)
        if came > there:
            raise NotInHand(came=came, face=face, there=there)


def skulls_of(card: Card | None, faces: Sequence[Face]) -> int:
    """Skulls on the dice and on the card."""
    return tuple(faces).count(Face.SKULL) + (CARD_SKULLS.get(card, 0) if card is not None else 0)


def first_roll_sails(card: Card | None, faces: Sequence[Face], edition: Edition) -> bool:
    """Whether these faces on the *first* roll lead to Skull Island."""
    return can_sail(card, edition) and skulls_of(card, faces) >= ISLAND_SKULLS


def can_sail(card: Card | None, edition: Edition) -> bool:
    """Whether this card lets anybody sail to Skull Island at all."""
    if card in SHIP_SABERS or card is Card.ZOMBIE_ATTACK:
        return False
    return card is not Card.SHIPWRECK or not edition.shipwreck_ignores_skulls


def skulls_kill(card: Card | None, edition: Edition) -> bool:
    """Whether the third skull ends a raid with this card."""
    return card is not Card.ZOMBIE_ATTACK and (card is not Card.SHIPWRECK or not edition.shipwreck_ignores_skulls)


def is_pirate_magic(card: Card | None, faces: Sequence[Face], edition: Edition) -> bool:
    """Nine of a kind, where that wins the game at once: the card's coin or diamond and eight dice that show it."""
    if card is None or not edition.nine_of_a_kind_wins or card not in CARD_TREASURE:
        return False
    return all(face is CARD_TREASURE[card] for face in faces)


def _check_history(
    card: Card | None,
    faces: tuple[Face, ...],
    edition: Edition,
    rolls: Sequence[Sequence[Face]],
    island: bool | None,
    notes: list[Note],
) -> None:
    """Note where the recorded rolls cannot have been, as far as faces without places can tell."""
    spare = 1 if card is Card.WATCHWOMAN else 0
    sails = first_roll_sails(card, rolls[0], edition) if island is None else island
    before = skulls_of(card, rolls[0])
    for number, roll in enumerate(rolls[1:], start=2):
        now = skulls_of(card, roll)
        if before >= DEADLY_SKULLS + spare and not sails and skulls_kill(card, edition):
            notes.append(Note(NoteKind.ROLLED_ON, roll=number))
        gone = before - now
        if gone > spare:
            notes.append(Note(NoteKind.SKULL_GONE, roll=number))
        if gone > 0:
            spare = 0
        before = now
    if card is Card.SHIPWRECK and len(rolls) > SHIPWRECK_ROLLS:
        notes.append(Note(NoteKind.TOO_MANY_ROLLS, roll=len(rolls)))
    if sorted(rolls[-1]) != sorted(faces):
        notes.append(Note(NoteKind.HISTORY_ENDS_OTHERWISE))


# The parts of a score sheet -----------------------------------------------------------------------------------


def _sheet(raid: _Raid, lines: Sequence[Line], outcome: Outcome, *, others: int = 0, pot: int = 0) -> RaidScore:
    return RaidScore(sum(line.points for line in lines), others, outcome, tuple(lines), tuple(raid.notes), pot)


def _count(raid: _Raid, faces: Sequence[Face]) -> dict[Face, int]:
    """How often each face counts: on these dice, and the card's own coin or diamond."""
    counts = {face: faces.count(face) for face in _ORDER}
    if raid.card is not None and raid.card in CARD_TREASURE:
        counts[CARD_TREASURE[raid.card]] += 1
    return counts


def _sets(counts: Mapping[Face, int], *, animals_together: bool) -> list[Line]:
    """Three or more of a kind. With the Animals card, monkeys and parrots are one kind."""
    lines = []
    together = counts[Face.MONKEY] + counts[Face.PARROT]
    if animals_together and together >= 3:
        lines.append(Line(LineKind.ANIMALS, SET_POINTS[min(together, DICE)], None, together))
    for face in _ORDER:
        if animals_together and face in (Face.MONKEY, Face.PARROT):
            continue
        if counts[face] >= 3:
            lines.append(Line(LineKind.SET, SET_POINTS[min(counts[face], DICE)], face, counts[face]))
    return lines


def _treasure(counts: Mapping[Face, int]) -> list[Line]:
    """Each coin and each diamond."""
    return [
        Line(LineKind.TREASURE, COUNT_POINTS * counts[face], face, counts[face]) for face in TREASURE if counts[face]
    ]


def _chest_is_full(raid: _Raid, faces: Sequence[Face], sets: Sequence[Line]) -> bool:
    """Whether each of the eight dice earns points.

    A die earns as a coin or diamond, in a set, or as one of the sabers that won a ship. A skull among the dice blocks
    the full chest, and so does a Skull card in most editions.
    """
    if Face.SKULL in faces or len(faces) < DICE:
        return False
    if raid.card in CARD_SKULLS and raid.edition.skull_card_blocks_chest:
        return False
    earning = {Face.COIN, Face.DIAMOND}
    for line in sets:
        earning |= {Face.MONKEY, Face.PARROT} if line.face is None else {line.face}
    quota = SHIP_SABERS.get(raid.card, DICE + 1) if raid.card else DICE + 1
    if faces.count(Face.SABERS) >= quota and raid.edition.two_sabers_fill_chest:
        earning.add(Face.SABERS)
    return all(face in earning for face in faces)


def _dice_result(raid: _Raid, faces: Sequence[Face], *, chest: bool = True) -> list[Line]:
    """Sets, coins and diamonds, and the full chest of these dice."""
    counts = _count(raid, faces)
    sets = _sets(counts, animals_together=raid.card is Card.ANIMALS)
    lines = sets + _treasure(counts)
    if chest and _chest_is_full(raid, faces, sets):
        lines.append(Line(LineKind.FULL_CHEST, CHEST_POINTS))
    return lines


def _times(factor: int, kind: LineKind, lines: list[Line]) -> list[Line]:
    """The lines, and one more that makes of them `factor` times as much."""
    so_far = sum(line.points for line in lines)
    return [*lines, Line(kind, so_far * (factor - 1), None, factor)] if factor != 1 else lines


def _bust_line(raid: _Raid) -> Line:
    return Line(LineKind.BUST, 0, Face.SKULL, raid.skulls)


# The cards ----------------------------------------------------------------------------------------------------


def _plain(raid: _Raid) -> RaidScore:
    """No special rule, or one that only changes what counts (Gold Coin, Diamond, Skull, Animals, Watchwoman)."""
    if raid.skulls >= DEADLY_SKULLS:
        return _sheet(raid, [_bust_line(raid)], Outcome.BUST)
    lines = _dice_result(raid, raid.faces)
    if is_pirate_magic(raid.card, raid.faces, raid.edition):
        return _sheet(raid, [*lines, Line(LineKind.PIRATE_MAGIC, 0, None, DICE + 1)], Outcome.PIRATE_MAGIC)
    return _sheet(raid, lines, Outcome.SCORED)


def _pirate(raid: _Raid) -> RaidScore:
    """Everything twice."""
    if raid.skulls >= DEADLY_SKULLS:
        return _plain(raid)
    return _sheet(raid, _times(PIRATE_FACTOR, LineKind.PIRATE, _dice_result(raid, raid.faces)), Outcome.SCORED)


def _ship(raid: _Raid) -> RaidScore:
    """Enough sabers and fewer than three skulls, or the dice count nothing and the ship's points are lost."""
    assert raid.card is not None
    lost = Line(LineKind.SHIP_LOST, -SHIP_POINTS[raid.card], Face.SABERS, raid.sabers)
    if raid.skulls >= DEADLY_SKULLS:
        return _sheet(raid, [_bust_line(raid), lost], Outcome.BUST)
    if raid.sabers < SHIP_SABERS[raid.card]:
        return _sheet(raid, [lost], Outcome.SHIP_LOST)
    won = Line(LineKind.SHIP_WON, SHIP_POINTS[raid.card], Face.SABERS, raid.sabers)
    return _sheet(raid, [*_dice_result(raid, raid.faces), won], Outcome.SCORED)


def _treasure_island(raid: _Raid) -> RaidScore:
    """After a third skull the dice on the card are safe, and only among them are sets formed; no full chest then."""
    if raid.skulls >= DEADLY_SKULLS:
        safe = raid.on_card or ()
        if safe and not raid.safe_before:
            raid.notes.append(Note(NoteKind.FATAL_CARD_DICE))
        return _sheet(raid, [_bust_line(raid), *_dice_result(raid, safe, chest=False)], Outcome.BUST)
    if raid.edition.beside_island_counts:
        return _sheet(raid, _dice_result(raid, raid.faces), Outcome.SCORED)
    counting = raid.on_card
    if counting is None:
        raid.notes.append(Note(NoteKind.CARD_DICE))
        counting = tuple(face for face in raid.faces if face is not Face.SKULL)
    return _sheet(raid, _dice_result(raid, counting), Outcome.SCORED)


def _peace(raid: _Raid) -> RaidScore:
    """No saber may lie there at the end, not even at the end of a bust."""
    bust = raid.skulls >= DEADLY_SKULLS
    lines = [_bust_line(raid)] if bust else []
    if raid.sabers:
        lines.append(_peace_broken_line(raid))
        return _sheet(raid, lines, Outcome.BUST if bust else Outcome.PEACE_BROKEN)
    if bust:
        return _sheet(raid, lines, Outcome.BUST)
    return _sheet(
        raid, _times(raid.edition.peace_factor, LineKind.PEACE, _dice_result(raid, raid.faces)), Outcome.SCORED
    )


def _peace_broken_line(raid: _Raid) -> Line:
    return Line(LineKind.PEACE_BROKEN, -raid.edition.peace_penalty * raid.sabers, Face.SABERS, raid.sabers)


def _zombie_attack(raid: _Raid) -> RaidScore:
    """Enough sabers win the points; otherwise the others share them. Nothing else counts, skulls do not kill."""
    edition = raid.edition
    if raid.sabers >= edition.zombie_sabers:
        won = Line(LineKind.ZOMBIES_BEATEN, edition.zombie_points, Face.SABERS, raid.sabers)
        return _sheet(raid, [won], Outcome.SCORED)
    left = sum(face not in (Face.SABERS, Face.SKULL) for face in raid.faces)
    if left:
        raid.notes.append(Note(NoteKind.UNFINISHED, count=left))
    if not raid.others:
        raid.notes.append(Note(NoteKind.PLAYERS, count=edition.zombie_points))
    lost = Line(LineKind.ZOMBIES_WON, 0, Face.SABERS, raid.sabers, edition.zombie_points)
    share = edition.zombie_points // raid.others if raid.others else 0
    return _sheet(raid, [lost], Outcome.ZOMBIE_LOST, others=share, pot=edition.zombie_points)


def _shipwreck(raid: _Raid) -> RaidScore:
    """Only coins, diamonds and their sets count, twice. Where skulls count, enough of them pay as on the island."""
    edition = raid.edition
    if not edition.shipwreck_ignores_skulls:
        if raid.skulls >= edition.shipwreck_island_skulls:
            return _on_skull_island(raid)
        if raid.skulls >= DEADLY_SKULLS:
            return _sheet(raid, [_bust_line(raid)], Outcome.BUST)
    counts = _count(raid, [face for face in raid.faces if face in TREASURE])
    sets = _sets(counts, animals_together=False)
    lines = sets + _treasure(counts)
    if _chest_is_full(raid, raid.faces, sets):
        lines.append(Line(LineKind.FULL_CHEST, CHEST_POINTS))
    return _sheet(raid, _times(SHIPWRECK_FACTOR, LineKind.SHIPWRECK, lines), Outcome.SCORED)


def _on_skull_island(raid: _Raid) -> RaidScore:
    """Each other player loses points for every skull; the raider gets nothing, and with Peace pays for the sabers."""
    each = -ISLAND_POINTS * raid.skulls * (PIRATE_FACTOR if raid.card is Card.PIRATE else 1)
    broken = raid.card is Card.PEACE and raid.sabers > 0
    if broken and raid.edition.peace_broken_spares_others:
        spared = Line(LineKind.ISLAND_SPARED, 0, Face.SKULL, raid.skulls)
        return _sheet(raid, [spared, _peace_broken_line(raid)], Outcome.SKULL_ISLAND)
    lines = [Line(LineKind.ISLAND, 0, Face.SKULL, raid.skulls, each)]
    if broken:
        lines.append(_peace_broken_line(raid))
    return _sheet(raid, lines, Outcome.SKULL_ISLAND, others=each)


CARD_RULES: Final[Mapping[Card, Callable[[_Raid], RaidScore]]] = {
    Card.PIRATE: _pirate,
    Card.SHIP_2: _ship,
    Card.SHIP_3: _ship,
    Card.SHIP_4: _ship,
    Card.TREASURE_ISLAND: _treasure_island,
    Card.PEACE: _peace,
    Card.ZOMBIE_ATTACK: _zombie_attack,
    Card.SHIPWRECK: _shipwreck,
}
"""Cards that change what a raid is worth; the others score plainly."""

__all__ = [
    "Line",
    "LineKind",
    "Note",
    "NoteKind",
    "Outcome",
    "RaidScore",
    "can_sail",
    "first_roll_sails",
    "is_pirate_magic",
    "score_raid",
    "skulls_kill",
    "skulls_of",
    "verify_raid",
]
