"""A raid in progress: eight dice with places 0 to 7, rolled again and again until it ends.

    raid = Raid.begin(Card.PIRATE)
    raid = raid.roll(faces)                      # all eight, as they lie
    raid = raid.roll({3: Face.COIN, 5: Face.SKULL})   # these two were rolled again
    raid.phase, raid.worth_now()

A `Raid` never changes; each action gives the next one. For each action there are three: `verify_…` raises the error
whose sentence a player can read, `can_…` asks, and the bare verb acts. The verify functions are also the second
witness of the camera: a roll that the rules forbid (a locked skull gone, a single die, a third roll with Shipwreck,
nothing rolled) is worth a question, not a score.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from scorer.cards import Card
from scorer.editions import DEFAULT, Edition
from scorer.errors import (
    AlreadyOnTheCard,
    CardNotInEdition,
    FirstRollNeedsAll,
    LockedSkull,
    MustRollOn,
    NoDice,
    NoMoreRolls,
    NoRollYet,
    NoSuchDie,
    NothingRolled,
    NotOnTheCard,
    NoTreasureIsland,
    OnlyTheWatchwoman,
    OnSkullIsland,
    OnTheCard,
    RaidOver,
    ScorerError,
    SecondSkull,
    SkullOnCard,
    TooFewDice,
    UnrolledDieChanged,
    WatchwomanGone,
    WrongNumberOfDice,
)
from scorer.faces import DICE, Face
from scorer.scoring import (
    DEADLY_SKULLS,
    SHIPWRECK_ROLLS,
    Note,
    NoteKind,
    RaidScore,
    first_roll_sails,
    is_pirate_magic,
    score_raid,
    skulls_kill,
    skulls_of,
)

FEWEST_DICE: Final = 2
"""A roll takes at least so many dice, unless card or Skull Island say otherwise."""
ALL_DICE: Final = frozenset(range(DICE))


class Phase(StrEnum):
    """What a raid is waiting for."""

    AWAITING_FIRST_ROLL = "awaiting_first_roll"
    ROLLING = "rolling"
    """The raider may roll again or end the raid."""
    WATCHWOMAN = "watchwoman"
    """Three skulls: only the Watchwoman can still save this raid; ending it is a bust."""
    SKULL_ISLAND = "skull_island"
    """The raider rolls what is no skull until no skull falls."""
    ENDED = "ended"
    """Over, by itself or by the raider's will; `worth_now()` is final."""


@dataclass(frozen=True, slots=True)
class Rolled:
    """A roll: the faces of all eight dice after it."""

    faces: tuple[Face, ...]
    dice: frozenset[int] | None = None
    """Places of the dice that were rolled; `None` if only the faces are known (then those that changed)."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Dice put on Treasure Island."""

    dice: frozenset[int]


@dataclass(frozen=True, slots=True)
class TakenOff:
    """Dice taken off Treasure Island."""

    dice: frozenset[int]


Step = Rolled | Placed | TakenOff


@dataclass(frozen=True, slots=True)
class Raid:
    """A raid as it stands. Begin one with `Raid.begin`; the other fields follow from the steps."""

    card: Card | None
    edition: Edition = DEFAULT
    players: int | None = None
    """How many play, for sharing out (Zombie Attack)."""
    steps: tuple[Step, ...] = ()
    phase: Phase = Phase.AWAITING_FIRST_ROLL
    faces: tuple[Face, ...] = ()
    """The eight faces by place; empty before the first roll."""
    on_card: frozenset[int] = frozenset()
    """Places of the dice on Treasure Island."""
    rolls: int = 0
    """How many rolls were made."""
    island: bool = False
    """Whether the raid went to Skull Island."""
    watchwoman_used: bool = False
    notes: tuple[Note, ...] = ()
    """What does not fit the rules; only corrections can bring this about."""

    @classmethod
    def begin(cls, card: Card | None, edition: Edition = DEFAULT, *, players: int | None = None) -> Raid:
        """A raid whose card is drawn and whose dice are still in the hand. Raises `CardNotInEdition`."""
        if card is not None and card not in edition.cards:
            raise CardNotInEdition(card=card, edition=edition.key)
        return cls(card, edition, players)

    # What it looks like ---------------------------------------------------------------------------------------

    @property
    def skulls(self) -> int:
        """Skulls so far, with those of the card."""
        return skulls_of(self.card, self.faces)

    @property
    def history(self) -> tuple[tuple[Face, ...], ...]:
        """The eight faces after each roll."""
        return tuple(step.faces for step in self.steps if isinstance(step, Rolled))

    @property
    def faces_on_card(self) -> tuple[Face, ...]:
        """The faces of the dice on Treasure Island."""
        return tuple(self.faces[die] for die in sorted(self.on_card))

    @property
    def watchwoman_ready(self) -> bool:
        """Whether a skull may still be rolled again."""
        return self.card is Card.WATCHWOMAN and not self.watchwoman_used and self.phase is not Phase.ENDED

    @property
    def rollable(self) -> frozenset[int]:
        """Places of the dice that may be in the next roll."""
        if self.phase is Phase.ENDED:
            return frozenset()
        if self.phase is Phase.AWAITING_FIRST_ROLL:
            return ALL_DICE
        free = frozenset(die for die in ALL_DICE - self.on_card if self.faces[die] is not Face.SKULL)
        return free | self._skull_dice() if self.watchwoman_ready else free

    @property
    def fewest_dice(self) -> int:
        """The fewest dice in the next roll (the Watchwoman's one skull aside)."""
        if self.phase is Phase.AWAITING_FIRST_ROLL:
            return DICE
        if self.card is Card.ZOMBIE_ATTACK:
            return 1
        return self.edition.island_fewest_dice if self.phase is Phase.SKULL_ISLAND else FEWEST_DICE

    def worth_now(self) -> RaidScore | None:
        """What the raid is worth if it ends now; `None` before the first roll."""
        if not self.faces:
            return None
        score = score_raid(
            self.card,
            self.faces,
            self.edition,
            on_card=self.faces_on_card if self.card is Card.TREASURE_ISLAND else (),
            island=self.island,
            players=self.players,
        )
        known = (NoteKind.FATAL_CARD_DICE, NoteKind.CARD_DICE)
        return replace(score, unchecked=self.notes + tuple(n for n in score.unchecked if n.kind not in known))

    def _skull_dice(self) -> frozenset[int]:
        return frozenset(die for die, face in enumerate(self.faces) if face is Face.SKULL)

    # Rolling --------------------------------------------------------------------------------------------------

    def verify_reroll(self, dice: Collection[int]) -> None:
        """Raise the reason why these dice (places) may not be rolled now."""
        dice = _places(dice)
        self._verify_may_roll()
        if self.phase is Phase.AWAITING_FIRST_ROLL:
            if dice != ALL_DICE:
                raise FirstRollNeedsAll(expected=DICE, came=len(dice))
            return
        if not dice:
            raise NothingRolled()
        self._verify_none_on_card(dice)
        skulls = dice & self._skull_dice()
        self._verify_skulls(skulls, None)
        if len(dice) < self.fewest_dice and not (len(dice) == 1 and skulls):
            raise TooFewDice(expected=self.fewest_dice, came=len(dice))

    def can_reroll(self, dice: Collection[int]) -> bool:
        """Whether these dice (places) may be rolled now."""
        return _allowed(self.verify_reroll, dice)

    def verify_roll(self, faces: Sequence[Face] | Mapping[int, Face], dice: Collection[int] | None = None) -> None:
        """Raise the reason why this roll cannot have been.

        `faces` are all eight after the roll, by place, with `dice` the places that were rolled, if they are known;
        or a mapping from the places that were rolled to what they show now. With neither, the dice that changed are
        taken as rolled: whether a die was rolled alone cannot be told then (its neighbour may show the same again).
        """
        after, rolled = self._roll(faces, dice)
        if rolled is not None:
            self.verify_reroll(rolled)
            self._verify_unrolled(after, rolled)
            return
        self._verify_may_roll()
        if not self.faces:
            return
        changed = self._changed(after)
        if not changed and self.phase is not Phase.SKULL_ISLAND:
            raise NothingRolled()
        self._verify_none_on_card(changed)
        self._verify_skulls(changed & self._skull_dice(), after)

    def can_roll(self, faces: Sequence[Face] | Mapping[int, Face], dice: Collection[int] | None = None) -> bool:
        """Whether this roll can have been."""
        return _allowed(self.verify_roll, faces, dice)

    def roll(self, faces: Sequence[Face] | Mapping[int, Face], dice: Collection[int] | None = None) -> Raid:
        """The raid after this roll; see `verify_roll`. It may have ended by itself: look at `phase`."""
        self.verify_roll(faces, dice)
        return self._after(Rolled(*self._roll(faces, dice)))

    def _roll(
        self, faces: Sequence[Face] | Mapping[int, Face], dice: Collection[int] | None
    ) -> tuple[tuple[Face, ...], frozenset[int] | None]:
        """All eight faces after the roll, and the places rolled if they are known."""
        if isinstance(faces, Mapping):
            rolled = _places(faces)
            if not self.faces and rolled != ALL_DICE:
                raise FirstRollNeedsAll(expected=DICE, came=len(rolled))
            return tuple(faces[die] if die in rolled else self.faces[die] for die in range(DICE)), rolled
        if len(faces) != DICE:
            raise WrongNumberOfDice(expected=DICE, came=len(faces))
        return tuple(faces), None if dice is None else _places(dice)

    def _changed(self, after: Sequence[Face]) -> frozenset[int]:
        return frozenset(die for die in range(DICE) if after[die] is not self.faces[die])

    def _verify_may_roll(self) -> None:
        if self.phase is not Phase.ENDED:
            return
        if self.card is Card.SHIPWRECK and self.rolls >= SHIPWRECK_ROLLS:
            raise NoMoreRolls(expected=SHIPWRECK_ROLLS)
        raise RaidOver(outcome=self._outcome())

    def _verify_none_on_card(self, dice: frozenset[int]) -> None:
        for die in sorted(dice & self.on_card):
            raise OnTheCard(die=die + 1)

    def _verify_skulls(self, skulls: frozenset[int], after: Sequence[Face] | None) -> None:
        """The skulls among the dice rolled: none, but for the Watchwoman's one."""
        if self.phase is Phase.WATCHWOMAN and not skulls:
            raise OnlyTheWatchwoman()
        if not skulls:
            return
        first = min(skulls)
        if self.card is not Card.WATCHWOMAN:
            raise LockedSkull(die=first + 1, face=after[first] if after else "being rolled")
        if self.watchwoman_used:
            raise WatchwomanGone(die=first + 1)
        if len(skulls) > 1:
            raise SecondSkull(dice=tuple(die + 1 for die in sorted(skulls)))

    def _verify_unrolled(self, after: Sequence[Face], rolled: frozenset[int]) -> None:
        for die in sorted(self._changed(after) - rolled) if self.faces else ():
            raise UnrolledDieChanged(die=die + 1, before=self.faces[die], after=after[die])

    # Treasure Island ------------------------------------------------------------------------------------------

    def verify_place_on_card(self, dice: Collection[int]) -> None:
        """Raise the reason why these dice (places) may not be put on Treasure Island now."""
        places = self._verify_card_dice(dice)
        for die in sorted(places):
            if self.faces[die] is Face.SKULL:
                raise SkullOnCard(die=die + 1)
            if die in self.on_card:
                raise AlreadyOnTheCard(die=die + 1)

    def can_place_on_card(self, dice: Collection[int]) -> bool:
        """Whether these dice (places) may be put on Treasure Island now."""
        return _allowed(self.verify_place_on_card, dice)

    def place_on_card(self, dice: Collection[int]) -> Raid:
        """The raid with these dice (places) on Treasure Island."""
        self.verify_place_on_card(dice)
        return self._after(Placed(frozenset(dice)))

    def verify_take_off(self, dice: Collection[int]) -> None:
        """Raise the reason why these dice (places) may not be taken off Treasure Island now."""
        for die in sorted(self._verify_card_dice(dice) - self.on_card):
            raise NotOnTheCard(die=die + 1)

    def can_take_off(self, dice: Collection[int]) -> bool:
        """Whether these dice (places) may be taken off Treasure Island now."""
        return _allowed(self.verify_take_off, dice)

    def take_off(self, dice: Collection[int]) -> Raid:
        """The raid with these dice (places) beside the card again."""
        self.verify_take_off(dice)
        return self._after(TakenOff(frozenset(dice)))

    def _verify_card_dice(self, dice: Collection[int]) -> frozenset[int]:
        places = _places(dice)
        if self.card is not Card.TREASURE_ISLAND:
            raise NoTreasureIsland(card=self.card or "none")
        if not self.faces:
            raise NoRollYet()
        if self.phase is Phase.ENDED:
            raise RaidOver(outcome=self._outcome())
        if self.phase is Phase.SKULL_ISLAND:
            raise OnSkullIsland()
        if not places:
            raise NoDice()
        return places

    # Ending and correcting ------------------------------------------------------------------------------------

    def verify_end(self) -> None:
        """Raise the reason why the raid cannot be ended now. One that is over by itself can be: that closes it."""
        if not self.faces:
            raise NoRollYet()
        if self.phase is Phase.SKULL_ISLAND:
            raise OnSkullIsland()
        if self.phase is Phase.ROLLING and self.card is Card.ZOMBIE_ATTACK:
            raise MustRollOn(card=self.card)

    def can_end(self) -> bool:
        """Whether the raid can be ended now."""
        return _allowed(self.verify_end)

    def end(self) -> Raid:
        """The raid, ended."""
        self.verify_end()
        return replace(self, phase=Phase.ENDED)

    def verify_correct_die(self, die: int, face: Face) -> None:
        """Raise the reason why this die cannot be corrected."""
        _places((die,))
        if not self.faces:
            raise NoRollYet()

    def can_correct_die(self, die: int, face: Face) -> bool:
        """Whether this die can be corrected."""
        return _allowed(self.verify_correct_die, die, face)

    def correct_die(self, die: int, face: Face) -> Raid:
        """The raid as it would be had this die been read as `face` since it was last rolled."""
        self.verify_correct_die(die, face)
        since = max(self._when_rolled(die))
        steps = list(self.steps)
        for index in range(since, len(steps)):
            step = steps[index]
            if isinstance(step, Rolled):
                steps[index] = replace(step, faces=(*step.faces[:die], face, *step.faces[die + 1 :]))
        return self._with_steps(self.card, steps)

    def correct_card(self, card: Card | None) -> Raid:
        """The raid as it would be with another card. Raises `CardNotInEdition`."""
        Raid.begin(card, self.edition)
        return self._with_steps(card, self.steps)

    def _when_rolled(self, die: int) -> list[int]:
        """Indices of the steps in which this die was rolled."""
        found, before = [], None
        for index, step in enumerate(self.steps):
            if not isinstance(step, Rolled):
                continue
            if before is None or (die in step.dice if step.dice is not None else step.faces[die] is not before):
                found.append(index)
            before = step.faces[die]
        return found

    def _with_steps(self, card: Card | None, steps: Sequence[Step]) -> Raid:
        raid = Raid(card, self.edition, self.players)
        for step in steps:
            raid = raid._after(step)
        return raid

    # What follows from a step ---------------------------------------------------------------------------------

    def _after(self, step: Step) -> Raid:
        """The raid after this step, which happened whether or not it was allowed: corrections can change the past."""
        if isinstance(step, Rolled):
            return self._after_roll(step)
        steps = (*self.steps, step)
        if isinstance(step, TakenOff):
            return replace(self, steps=steps, on_card=self.on_card - step.dice)
        lying = step.dice if self.card is Card.TREASURE_ISLAND and self.phase is Phase.ROLLING else frozenset()
        return replace(self, steps=steps, on_card=(self.on_card | lying) - self._skull_dice())

    def _after_roll(self, step: Rolled) -> Raid:
        steps = (*self.steps, step)
        if not self.faces:
            sails = first_roll_sails(self.card, step.faces, self.edition)
            first = replace(self, steps=steps, faces=step.faces, rolls=1, island=sails)
            return replace(first, phase=first._phase(new_skull=True))
        rolled = self._changed(step.faces) if step.dice is None else step.dice
        skulls = rolled & self._skull_dice()
        saving = bool(skulls) and self.card is Card.WATCHWOMAN
        notes = self.notes
        if self.phase is Phase.ENDED:
            notes += (Note(NoteKind.ROLLED_ON, roll=self.rolls + 1),)
        if len(skulls) > (1 if saving and not self.watchwoman_used else 0):
            notes += (Note(NoteKind.SKULL_GONE, roll=self.rolls + 1),)
        raid = replace(
            self,
            steps=steps,
            faces=step.faces,
            rolls=self.rolls + 1,
            watchwoman_used=self.watchwoman_used or saving,
            notes=notes,
            on_card=frozenset(die for die in self.on_card - rolled if step.faces[die] is not Face.SKULL),
        )
        new_skull = any(step.faces[die] is Face.SKULL for die in rolled)
        only_the_watchwoman = bool(rolled) and rolled == skulls
        return replace(raid, phase=raid._phase(new_skull=new_skull or only_the_watchwoman))

    def _phase(self, *, new_skull: bool) -> Phase:
        """What the raid waits for after its latest roll; `new_skull`: it lets the raider stay on Skull Island."""
        left = sum(face is not Face.SKULL for face in self.faces)
        wrecked = self.card is Card.SHIPWRECK and (self.rolls >= SHIPWRECK_ROLLS or left < FEWEST_DICE)
        if self.island:
            stays = new_skull and left >= self.edition.island_fewest_dice and not wrecked
            return Phase.SKULL_ISLAND if stays else Phase.ENDED
        if self.card is Card.ZOMBIE_ATTACK:
            done = all(face in (Face.SKULL, Face.SABERS) for face in self.faces)
            return Phase.ENDED if done else Phase.ROLLING
        if skulls_kill(self.card, self.edition) and self.skulls >= DEADLY_SKULLS:
            saved = self.skulls == DEADLY_SKULLS and self.card is Card.WATCHWOMAN and not self.watchwoman_used
            return Phase.WATCHWOMAN if saved else Phase.ENDED
        return Phase.ENDED if wrecked or is_pirate_magic(self.card, self.faces, self.edition) else Phase.ROLLING

    def _outcome(self) -> str:
        score = self.worth_now()
        return score.outcome if score else "not begun"


def _places(dice: Collection[int]) -> frozenset[int]:
    """The places, checked to be dice."""
    for die in dice:
        if isinstance(die, bool) or not isinstance(die, int) or not 0 <= die < DICE:
            raise NoSuchDie(die=die + 1 if isinstance(die, int) else die, expected=DICE)
    return frozenset(dice)


def _allowed(verify: object, *facts: object) -> bool:
    """Whether a verify function lets this pass."""
    assert callable(verify)
    try:
        verify(*facts)
    except ScorerError:
        return False
    return True
