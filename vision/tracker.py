"""From settled readings to rolls: which of the eight dice were rolled, which only moved, which are in somebody's hand.

The tracker keeps eight dice with stable numbers. Between two settled readings it is shown glimpses (looks while things
move) and how many lone spots the motion gate saw. When a reading settles it matches dice in three steps: same place
and face; a path that glimpses could follow with the face in view (a slide); and what is left. Left-over dice were out
of sight. If they come back with other faces, two or more at a time, they were rolled. If they come back with the same
faces they were handled, unless a throw was plainly seen: dice that tumble, or fly with no hand near. Where it is not
clear the roll carries a doubt and is asked about.

Nothing here knows a rule of the game; places are pixels, times are frame times.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from scorer.faces import DICE, Face

from .events import Doubt, EventKind, Roll
from .reading import DieReading, Problem, Reading, Status
from .settle import die_size, pair_up

Transform = npt.NDArray[np.float64]
"""(2, 3) float64: where a pixel of the old picture lies in the new one."""


@dataclass(frozen=True, slots=True)
class TrackSettings:
    """Distances in die widths, times in seconds of frame time."""

    same_place: float = 0.35
    """A die of the same face within this distance lies where it lay."""
    same_spot: float = 0.15
    """A die within this distance was not moved at all."""
    slide_speed: float = 14.0
    """Die widths a second that a pushed die may travel and still be followed from glimpse to glimpse."""
    slide_reach: float = 2.2
    """Farthest step between two glimpses that is still followed."""
    lost_after: float = 0.45
    """A die not seen for so long while things move is out of sight: what comes back may have been rolled."""
    sure_face: float = 0.75
    """Certainty from which a face in a glimpse counts as seen."""
    flight: float = 0.18
    """Seconds with lone spots from which a throw was seen; a pushed die that runs on by itself stops sooner."""
    plain_flight: float = 0.25
    """Seconds with lone spots, several at a time, that are a throw even if the same faces come to lie."""


DEFAULT = TrackSettings()


@dataclass(slots=True)
class _Die:
    """One of the eight, as last settled (`at_rest`) and as last followed."""

    at_rest: DieReading
    place: tuple[float, float]
    seen: float
    followed: bool = True
    """Still in view, with its face, since it last settled."""
    strange: int = 0
    """Glimpses in a row that showed another face."""
    tumbled: bool = False
    """Seen with another face while it was followed."""
    disputed: bool = False
    """Two certain readings named two faces while it lay still: only a person, or another roll, settles that."""
    away: bool = False
    """Missing in the last settled reading."""
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What the tracker makes of a settled reading."""

    kind: EventKind
    roll: Roll | None = None
    dice: tuple[int, ...] = ()
    note: str = ""


@dataclass(slots=True)
class _Between:
    """What was seen since the last settled reading."""

    lone: float = 0.0
    """Seconds with lone spots."""
    most_lone: int = 0
    moved: bool = False
    unseen: bool = False
    fliers: int = 0
    """Dice in glimpses that nothing explains: neither at their old place nor followed there."""
    strangers: list[tuple[float, float]] = field(default_factory=list)


class RollTracker:
    """Follows the eight dice of one table."""

    def __init__(self, settings: TrackSettings = DEFAULT) -> None:
        self._settings = settings
        self._dice: list[_Die] = []
        self._between = _Between()
        self._size = 30.0
        self._number = 0
        self._serial = 0
        self._roll: Roll | None = None
        self._started = False
        self._glimpsed: float | None = None
        self._incomplete = False

    @property
    def incomplete(self) -> bool:
        """Whether the last settled reading showed dice that came to lie anew, but not all eight."""
        return self._incomplete

    @property
    def roll(self) -> Roll | None:
        """The last roll told, certain or not."""
        return self._roll

    @property
    def knows_dice(self) -> bool:
        """Whether eight dice have been seen at rest and not all been taken away since."""
        return bool(self._dice)

    @property
    def size(self) -> float:
        """Typical width of a die, pixels."""
        return self._size

    def forget(self) -> None:
        """Begin anew: the next eight dice are a first roll."""
        self._dice = []
        self._between = _Between()
        self._number = 0

    # -- while things move ----------------------------------------------------------------------------------------

    def motion(self, lone: int, seconds: float = 1 / 15) -> None:
        """A frame in which something moved, with `lone` die-sized spots that hang on to nothing.

        `seconds` have passed since the frame before.
        """
        self._between.moved = True
        if lone:
            self._between.lone += min(seconds, 0.15)
            self._between.most_lone = max(self._between.most_lone, lone)

    def blind(self) -> None:
        """Nobody could see (dark, or frames missing): what happens now is unseen."""
        self._between.unseen = True

    def glimpse(self, reading: Reading) -> None:
        """A look while something moves: follow dice that stay in view, notice those that tumble or leave."""
        s = self._settings
        gap = reading.t - self._glimpsed if self._glimpsed is not None else 0.2
        self._glimpsed = reading.t
        followed = [i for i, die in enumerate(self._dice) if die.followed]
        reach = min(s.slide_reach, max(0.6, s.slide_speed * gap)) * self._size
        free = list(range(len(reading.dice)))
        for same_face in (True, False):
            pairs = self._pair(followed, free, reading.dice, reach if same_face else 0.6 * self._size, same_face)
            for i, j in pairs.items():
                self._follow(self._dice[i], reading.dice[j], reading.t)
            followed = [i for i in followed if i not in pairs]
            free = [j for j in free if j not in pairs.values()]
        for i in followed:
            # Not seen in this glimpse. Covered by a hand it may lie still; that is judged when the scene rests.
            if reading.t - self._dice[i].seen > s.lost_after:
                self._dice[i].followed = False
        self._notice_fliers(reading, free)

    def _pair(self, ids: Sequence[int], free: Sequence[int], seen: Sequence[DieReading], reach: float,
              same_face: bool) -> dict[int, int]:
        """Nearest pairs of followed dice and seen dice within `reach` pixels, near ones first."""
        options = sorted(
            (math.dist(self._dice[i].place, seen[j].centre), i, j)
            for i in ids for j in free
            if (self._dice[i].at_rest.face is seen[j].face) == same_face
        )
        pairs: dict[int, int] = {}
        for distance, i, j in options:
            if distance <= reach and i not in pairs and j not in pairs.values():
                pairs[i] = j
        return pairs

    def _follow(self, die: _Die, seen: DieReading, t: float) -> None:
        if seen.face is die.at_rest.face:
            die.strange = 0
        elif seen.certainty >= self._settings.sure_face:
            # One strange look at a moving die is a misread; two in a row are a die that turns over.
            die.strange += 1
            if die.strange >= 2:
                die.followed, die.tumbled = False, True
                return
        die.place, die.seen = seen.centre, t

    def _notice_fliers(self, reading: Reading, free: Sequence[int]) -> None:
        """Dice that nothing explains, that travel from one glimpse to the next with no hand near: in flight."""
        now = [reading.dice[j].centre for j in free if not self._near_hand(reading.dice[j], reading)]
        paths = pair_up(now, self._between.strangers, 5 * self._size)
        self._between.fliers += sum(
            math.dist(now[i], self._between.strangers[j]) > 0.4 * self._size for i, j in paths.items()
        )
        self._between.strangers = now

    def _near_hand(self, die: DieReading, reading: Reading) -> bool:
        x, y = die.centre
        near = 1.5 * self._size
        return any(x0 - near <= x <= x1 + near and y0 - near <= y <= y1 + near for x0, y0, x1, y1 in reading.hands)

    # -- when the scene rests -------------------------------------------------------------------------------------

    def settle(self, reading: Reading) -> tuple[Change, ...]:
        """Compare a settled `reading` with the one before."""
        if reading.dice:
            self._size = die_size([die.box for die in reading.dice], self._size)
        self._incomplete = False
        if not reading.dice:
            return self._nothing_there()
        if len(reading.dice) > DICE:
            return ()
        if not self._dice:
            return self._first(reading)
        cleared = self.refine(reading)
        first = () if cleared is None else (Change(EventKind.ROLL, cleared),)
        return first + self._compare(reading)

    def carry(self, transform: Transform) -> None:
        """The whole picture shifted by `transform`: old places lie elsewhere now."""
        for die in self._dice:
            x, y = die.at_rest.centre
            nx, ny = (float(v) for v in transform @ np.array([x, y, 1.0]))
            x0, y0, x1, y1 = die.at_rest.box
            die.at_rest = replace(die.at_rest, box=(x0 + nx - x, y0 + ny - y, x1 + nx - x, y1 + ny - y))

    def _nothing_there(self) -> tuple[Change, ...]:
        """All dice are away. They are remembered: they may be put back."""
        self._started = True
        present = tuple(i for i, die in enumerate(self._dice) if not die.away)
        for die in self._dice:
            die.away, die.followed = True, False
        return (Change(EventKind.TAKEN_AWAY, dice=present),) if present else ()

    def _first(self, reading: Reading) -> tuple[Change, ...]:
        """Dice where none were known."""
        between = self._between
        if len(reading.dice) < DICE:
            self._incomplete = bool(between.lone or between.fliers)
            return ()
        unseen = not self._started and not between.lone and not between.fliers
        # Numbered row by row, left to right, as a person would read them.
        dice = tuple(sorted(reading.dice, key=lambda die: (round(die.centre[1] / self._size), die.centre[0])))
        self._number = 1
        self._accept(dice, reading.t)
        roll = self._tell(dice, tuple(range(DICE)), (), (), (Doubt.UNSEEN,) if unseen else (), not unseen)
        return (Change(EventKind.ROLL, roll),)

    def _compare(self, reading: Reading) -> tuple[Change, ...]:
        seen = reading.dice
        ids, free = list(range(DICE)), list(range(len(seen)))
        kept = self._pair_at_rest(ids, free, seen)
        slid = self._pair_followed([i for i in ids if i not in kept], [j for j in free if j not in kept.values()], seen)
        matched = kept | slid
        lost = [i for i in ids if i not in matched]
        arrived = [j for j in free if j not in matched.values()]
        if len(seen) < DICE:
            return self._fewer(reading, matched, slid, lost, arrived)
        if not lost:
            return self._all_there(reading, matched, slid)
        swapped = Counter(self._dice[i].at_rest.face for i in lost) == Counter(seen[j].face for j in arrived)
        disputed = {} if swapped else self._pair_disputed(lost, arrived, seen)
        if disputed and len(disputed) < len(lost):
            lost = [i for i in lost if i not in disputed]
            arrived = [j for j in arrived if j not in disputed.values()]
            matched |= disputed
        pairs = self._assign(lost, arrived, seen)
        return self._judge(reading, matched, pairs, slid)

    def _pair_at_rest(self, ids: Sequence[int], free: Sequence[int], seen: Sequence[DieReading]) -> dict[int, int]:
        """Dice that lie where they lay, with the face they had."""
        options = sorted(
            (math.dist(self._dice[i].at_rest.centre, seen[j].centre), i, j)
            for i in ids for j in free if self._dice[i].at_rest.face is seen[j].face
        )
        pairs: dict[int, int] = {}
        for distance, i, j in options:
            if distance <= self._settings.same_place * self._size and i not in pairs and j not in pairs.values():
                pairs[i] = j
        return pairs

    def _pair_disputed(self, lost: Sequence[int], arrived: Sequence[int], seen: Sequence[DieReading]) -> dict[int, int]:
        """Dice that lie exactly where they lay and are said to show another face: one of the two readings is wrong.

        A rolled die hardly ever stops on the very spot where it was picked up.
        """
        ids = [i for i in lost if not self._dice[i].away]
        places = [self._dice[i].at_rest.centre for i in ids]
        pairs = pair_up(places, [seen[j].centre for j in arrived], self._settings.same_spot * self._size)
        return {ids[k]: arrived[j] for k, j in pairs.items()}

    def _pair_followed(self, ids: Sequence[int], free: Sequence[int], seen: Sequence[DieReading]) -> dict[int, int]:
        """Dice that stayed in view until they came to rest elsewhere."""
        ids = [i for i in ids if self._dice[i].followed and not self._dice[i].tumbled]
        options = sorted(
            (math.dist(self._dice[i].place, seen[j].centre), i, j)
            for i in ids for j in free if self._dice[i].at_rest.face is seen[j].face
        )
        pairs: dict[int, int] = {}
        for distance, i, j in options:
            if distance <= self._settings.slide_reach * self._size and i not in pairs and j not in pairs.values():
                pairs[i] = j
        return pairs

    def _assign(self, lost: Sequence[int], arrived: Sequence[int], seen: Sequence[DieReading]) -> dict[int, int]:
        """Which arrived die is which lost one: same faces first (nearest), then the rest by distance."""
        pairs: dict[int, int] = {}
        for same_face in (True, False):
            options = sorted(
                (math.dist(self._dice[i].place, seen[j].centre), i, j)
                for i in lost for j in arrived
                if i not in pairs and j not in pairs.values()
                and (not same_face or self._dice[i].at_rest.face is seen[j].face)
            )
            for _, i, j in options:
                if i not in pairs and j not in pairs.values():
                    pairs[i] = j
        return pairs

    def _fewer(self, reading: Reading, matched: dict[int, int], slid: dict[int, int], lost: Sequence[int],
               arrived: Sequence[int]) -> tuple[Change, ...]:
        """Some dice are in a hand. Those that stay are followed on; what arrived waits until all eight are there."""
        for i, j in matched.items():
            self._rest(self._dice[i], reading.dice[j], reading.t)
        self._incomplete = bool(arrived)
        newly = tuple(i for i in lost if not self._dice[i].away)
        back = tuple(i for i in matched if self._dice[i].away)
        for i in lost:
            self._dice[i].away, self._dice[i].followed = True, False
        for i in matched:
            self._dice[i].away = False
        changes = []
        if newly:
            changes.append(Change(EventKind.TAKEN_AWAY, dice=newly))
        if back:
            changes.append(Change(EventKind.BACK, dice=back))
        if slid:
            changes.append(Change(EventKind.MOVED, dice=tuple(sorted(slid))))
        return tuple(changes)

    def _all_there(self, reading: Reading, matched: dict[int, int], slid: dict[int, int]) -> tuple[Change, ...]:
        """All eight lie there with the faces they had, and none was out of sight."""
        back = tuple(sorted(i for i in matched if self._dice[i].away))
        for i, j in matched.items():
            self._rest(self._dice[i], reading.dice[j], reading.t)
        self._between = _Between()
        changes = []
        if back:
            changes.append(Change(EventKind.BACK, dice=back))
        if slid:
            changes.append(Change(EventKind.MOVED, dice=tuple(sorted(slid))))
        return tuple(changes)

    def _judge(self, reading: Reading, matched: dict[int, int], pairs: dict[int, int],
               slid: dict[int, int]) -> tuple[Change, ...]:
        """Dice were out of sight and eight lie there again: rolled, or only handled?"""
        seen, between = reading.dice, self._between
        before = tuple(die.at_rest.face for die in self._dice)
        was_on_card = tuple(i for i, die in enumerate(self._dice) if die.at_rest.on_card)
        changed = [i for i, j in pairs.items() if seen[j].face is not self._dice[i].at_rest.face]
        same = Counter(before[i] for i in pairs) == Counter(seen[j].face for j in pairs.values())
        thrown = self._flight()
        dice: list[DieReading] = [die.at_rest for die in self._dice]
        for i, j in (matched | pairs).items():
            dice[i] = seen[j]
        disputed = [i for i, j in matched.items() if seen[j].face is not before[i]]
        for i in disputed:
            dice[i] = _disputed(dice[i], self._dice[i].at_rest)
        if same and thrown < 2:
            return self._handled(reading, tuple(dice), pairs, slid, disputed)
        doubts: tuple[Doubt, ...] = ()
        if same and not self._plainly_thrown():
            doubts = (Doubt.SAME_FACES,)
        elif len(pairs) == 1 or (thrown == 0 and (len(changed) == 1 or self._on_the_spot(pairs, seen))):
            doubts = (Doubt.SINGLE,)
        if between.unseen or not between.moved:
            doubts = (*doubts, Doubt.UNSEEN)
        single = doubts[:1] == (Doubt.SINGLE,)
        kind = EventKind.CHANGED if single else EventKind.DOUBTFUL if Doubt.SAME_FACES in doubts else EventKind.ROLL
        rolled = tuple(sorted(changed if single else pairs))
        self._number = 1 if len(rolled) == DICE else self._number + 1
        self._accept(tuple(dice), reading.t)
        for i in disputed:
            self._dice[i].disputed = True
        roll = self._tell(tuple(dice), rolled, before, was_on_card, doubts, thrown > 0)
        note = _ask(roll) if kind is not EventKind.ROLL else ""
        moved = tuple(sorted(slid))
        changes = (Change(EventKind.MOVED, dice=moved),) if moved else ()
        return (*changes, Change(kind, roll, rolled if single else (), note))

    def _handled(self, reading: Reading, dice: tuple[DieReading, ...], pairs: dict[int, int],
                 slid: dict[int, int], disputed: Sequence[int]) -> tuple[Change, ...]:
        """Dice were covered or picked up and lie there again as they were: pushed, set aside, swapped by hand."""
        back = tuple(sorted(i for i in pairs if self._dice[i].away))
        moved = tuple(sorted(i for i in {*pairs, *slid} if i not in back))
        was = tuple(die.at_rest.face for die in self._dice)
        self._accept(dice, reading.t)
        for i in disputed:
            self._dice[i].disputed = True
        changes = []
        if back:
            changes.append(Change(EventKind.BACK, dice=back))
        if moved:
            changes.append(Change(EventKind.MOVED, dice=moved))
        if disputed:
            before = tuple(was[i] if i in disputed else die.face for i, die in enumerate(dice))
            doubted = tuple(replace(die, problems=()) if i in disputed else die for i, die in enumerate(dice))
            self._number += 1
            roll = self._tell(doubted, tuple(disputed), before, (), (Doubt.SINGLE,), False)
            changes.append(Change(EventKind.CHANGED, roll, tuple(disputed), _ask(roll)))
        return tuple(changes)

    def _on_the_spot(self, pairs: dict[int, int], seen: Sequence[DieReading]) -> bool:
        """Whether all of these dice lie where they lay: then nothing was thrown, and readings contradict each other."""
        reach = self._settings.same_spot * self._size
        return all(math.dist(self._dice[i].at_rest.centre, seen[j].centre) <= reach for i, j in pairs.items())

    def _plainly_thrown(self) -> bool:
        """Several dice flew at a time and for long: that is a throw, even if they land as they were."""
        return self._between.most_lone >= 2 and self._between.lone >= self._settings.plain_flight

    def _flight(self) -> int:
        """Was a throw seen? 0 no sign, 1 a sign, 2 plainly."""
        b = self._between
        tumbled = sum(die.tumbled for die in self._dice)
        signs = b.lone + 0.06 * b.fliers + (0.1 if tumbled >= 2 else 0.0)
        if signs >= self._settings.flight:
            return 2
        return 1 if signs else 0

    def _accept(self, dice: tuple[DieReading, ...], t: float) -> None:
        """The eight dice as they lie now are what the next reading is compared with."""
        self._dice = [_Die(die, die.centre, t, unsure=bool(die.problems)) for die in dice]
        self._between = _Between()
        self._glimpsed = None
        self._started = True

    def _rest(self, die: _Die, seen: DieReading, t: float) -> None:
        die.at_rest, die.place, die.seen = seen, seen.centre, t
        die.followed, die.tumbled, die.away, die.strange = True, False, False, 0

    def _tell(self, dice: tuple[DieReading, ...], rolled: tuple[int, ...], before: tuple[Face, ...],
              was_on_card: tuple[int, ...], doubts: tuple[Doubt, ...], flying: bool) -> Roll:
        unsure = tuple(i for i, die in enumerate(dice) if die.problems or die.cocked)
        if unsure:
            doubts = (Doubt.FACE, *doubts)
        self._serial += 1
        self._roll = Roll(self._number, dice, rolled, before, was_on_card, doubts, unsure, self._serial, flying)
        return self._roll

    def in_order(self, reading: Reading) -> Reading:
        """`reading` with its dice by die number, if it shows all eight where they are known to lie; else as it is."""
        if len(reading.dice) != DICE or len(self._dice) != DICE:
            return reading
        pairs = pair_up([die.at_rest.centre for die in self._dice], [die.centre for die in reading.dice],
                        self._settings.same_place * self._size)
        if len(pairs) != DICE:
            return reading
        return replace(reading, dice=tuple(reading.dice[pairs[i]] for i in range(DICE)))

    # -- later knowledge ------------------------------------------------------------------------------------------

    def refine(self, reading: Reading) -> Roll | None:
        """Unsure dice that lie where they lay and are certain now. The last roll, if that cleared its last doubt."""
        unsure = [i for i, die in enumerate(self._dice)
                  if (die.at_rest.problems or die.at_rest.cocked) and not die.disputed]
        sure = [die for die in reading.dice if not die.problems and not die.cocked]
        pairs = pair_up([self._dice[i].at_rest.centre for i in unsure], [die.centre for die in sure], 0.25 * self._size)
        cleared = None
        for k, j in pairs.items():
            self._rest(self._dice[unsure[k]], sure[j], reading.t)
            cleared = self._clear(unsure[k], sure[j])
        return cleared

    def _clear(self, die: int, now: DieReading) -> Roll | None:
        """Die number `die` of the last roll is certain: the roll, if that was its last doubtful face."""
        roll = self._roll
        if roll is None or die not in roll.unsure:
            return None
        dice = tuple(now if i == die else d for i, d in enumerate(roll.dice))
        unsure = tuple(i for i in roll.unsure if i != die)
        doubts = roll.doubts if unsure else tuple(d for d in roll.doubts if d is not Doubt.FACE)
        self._roll = replace(roll, dice=dice, unsure=unsure, doubts=doubts)
        return None if unsure else self._roll

    def recall(self, reading: Reading) -> Reading:
        """`reading` with unsure faces replaced by what is known of dice that have not moved since they were certain."""
        known = [die for die in self._dice if not die.away and not die.at_rest.problems]
        pairs = pair_up([die.at_rest.centre for die in known], [die.centre for die in reading.dice], 0.2 * self._size)
        dice = list(reading.dice)
        for i, j in pairs.items():
            die, at_rest = dice[j], known[i].at_rest
            possible = die.face is at_rest.face or any(f is at_rest.face and p >= 0.05 for f, p in die.alternatives)
            if die.problems and set(die.problems) <= _UNSURE and possible:
                dice[j] = replace(die, face=at_rest.face, certainty=at_rest.certainty, problems=(), alternatives=())
        if dice == list(reading.dice):
            return reading
        open_problems = {p for die in dice for p in die.problems}
        problems = tuple(p for p in reading.problems if p not in _UNSURE or p in open_problems)
        certain = not (set(problems) - {Problem.TOO_FEW_DICE}) and not open_problems
        return replace(reading, dice=tuple(dice), problems=problems,
                       status=Status.CERTAIN if certain else reading.status)

    def correct(self, die: int, face: Face) -> None:
        """A person says that die number `die` shows `face`. The next comparison starts from that."""
        if not 0 <= die < len(self._dice):
            return
        told = replace(self._dice[die].at_rest, face=face, certainty=1.0, problems=(), alternatives=(), cocked=False)
        self._dice[die].at_rest, self._dice[die].disputed = told, False
        self._clear(die, told)

    def not_rolled(self) -> None:
        """A person says that the last roll was none."""
        self._number = max(0, self._number - 1)

    def constellation(self, reading: Reading) -> Transform | None:
        """How the whole picture shifted, judged by the dice alone: one turn and shift that explains nearly all of them.

        None when the dice lie where they lay, when fewer than four agree, or when dice are missing.
        """
        old = [(die.at_rest.centre, die.at_rest.face) for die in self._dice if not die.away]
        new = [(die.centre, die.face) for die in reading.dice]
        return rigid_fit(old, new, reach=self._settings.same_place * self._size)


_UNSURE = frozenset({Problem.UNSURE_FACE, Problem.READERS_DIFFER, Problem.GLARE})


def _disputed(now: DieReading, before: DieReading) -> DieReading:
    """`now`, as doubtful as two certain and different readings of a die that lay still make it."""
    others = tuple(item for item in now.alternatives if item[0] is not before.face)
    return replace(now, certainty=0.5, alternatives=((before.face, 0.49), *others),
                   problems=(*now.problems, Problem.UNSURE_FACE))


def _ask(roll: Roll) -> str:
    """The question that a doubtful roll puts, as a sentence."""
    if Doubt.SAME_FACES in roll.doubts:
        return f"{len(roll.rolled)} dice lie elsewhere with the same faces. Were they rolled again?"
    i = roll.rolled[0]
    return f"One die now shows {roll.faces[i].value} and showed {roll.before[i].value}. Was it rolled, or only nudged?"


def rigid_fit(old: Sequence[tuple[tuple[float, float], Face]], new: Sequence[tuple[tuple[float, float], Face]], *,
              reach: float, least: int = 4, max_turn: float = 25.0) -> Transform | None:
    """Rotation and shift that carries most of `old` (place, face) onto `new`, same faces onto same faces.

    `reach` is how far off a place may be (pixels), `max_turn` in degrees. None if fewer than `least` (or not nearly
    all) agree, or if they did not move at all.
    """
    best: tuple[int, float, Transform] | None = None
    if min(len(old), len(new)) < least:
        return None
    a = np.array([place for place, _ in old])
    b = np.array([place for place, _ in new])
    alike = np.array([[f is g for _, g in new] for _, f in old])
    for i in range(len(old)):
        for k in range(i + 1, len(old)):
            base = a[k] - a[i]
            length = float(np.hypot(*base))
            if length < 2 * reach:
                continue
            for j in np.flatnonzero(alike[i]):
                for m in np.flatnonzero(alike[k]):
                    other = b[m] - b[j]
                    if m == j or abs(float(np.hypot(*other)) - length) > reach:
                        continue
                    fit = _through(a[i], a[k], b[j], b[m])
                    if abs(math.degrees(math.atan2(fit[1, 0], fit[0, 0]))) > max_turn:
                        continue
                    count, error = _agreement(fit, a, b, alike, reach)
                    if best is None or (count, -error) > (best[0], -best[1]):
                        best = (count, error, fit)
    if best is None or best[0] < max(least, min(len(old), len(new)) - 1):
        return None
    shift = np.hypot(*(a @ best[2][:, :2].T + best[2][:, 2] - a).T)
    return best[2] if float(shift.max()) > reach else None


def _through(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64], r: npt.NDArray[np.float64],
             s: npt.NDArray[np.float64]) -> Transform:
    """Rotation and shift that takes the middle of p–q to the middle of r–s and turns p→q into r→s."""
    u, v = q - p, s - r
    angle = math.atan2(v[1], v[0]) - math.atan2(u[1], u[0])
    c, n = math.cos(angle), math.sin(angle)
    turn = np.array([[c, -n], [n, c]])
    shift = (r + s) / 2 - turn @ ((p + q) / 2)
    return np.hstack([turn, shift[:, None]])


def _agreement(fit: Transform, a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], alike: npt.NDArray[np.bool_],
               reach: float) -> tuple[int, float]:
    moved = a @ fit[:, :2].T + fit[:, 2]
    distance = np.hypot(moved[:, None, 0] - b[None, :, 0], moved[:, None, 1] - b[None, :, 1])
    distance = np.where(alike, distance, np.inf)
    nearest = distance.min(axis=1)
    inside = nearest <= reach
    return int(inside.sum()), float(nearest[inside].sum())
