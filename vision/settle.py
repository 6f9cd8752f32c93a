"""From looks to one settled reading: dice that lie still, agreed on by several frames.

Readings of single frames go in while the scene is quiet. Out comes one reading that several frames agree on, once.
Votes are counted a die, each weighted by its certainty. A die that still turns is caught twice: its place or face
differs between looks, and so does its picture at full resolution (`Stillness`), even where the small grey picture of
the gate sees nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

import cv2
import numpy as np
import numpy.typing as npt

from scorer.faces import DICE, Face

from .events import SceneFlag
from .reading import Box, CardReading, DieReading, Image, Problem, Reading, Status


class SettleState(StrEnum):
    """What the scene is doing."""

    EMPTY = "empty"
    MOVING = "moving"
    HAND = "hand"
    SETTLING = "settling"
    SETTLED = "settled"
    DOUBTFUL = "doubtful"


@dataclass(frozen=True, slots=True)
class SettleSettings:
    """How sure is sure. Times in seconds of frame time."""

    certain: float = 0.9
    """A die whose certainty is below is unsure."""
    very_certain: float = 0.97
    """Two looks in which every die is at least this certain settle at once."""
    span: float = 0.10
    """First and last of the looks that settle lie at least this far apart: a die that turns over shows by then."""
    enough: int = 3
    """Looks that agree, when they are certain but not very."""
    patience: float = 0.6
    """After this long without agreement the reading is doubtful."""
    least: float = 0.25
    """Looks over so long are a reading, doubtful as it may be, when something moves before they agree."""
    window: int = 8
    """Looks that vote; older ones are forgotten, so that garbage cannot outlive good looks."""
    near: float = 0.3
    """Dice of two looks are the same when their centres are closer than this many die widths."""


DEFAULT = SettleSettings()

_OVERRULED = frozenset({Problem.HAND, Problem.TOO_FEW_DICE, Problem.TOO_MANY_DICE, Problem.NO_DICE,
                        Problem.UNSURE_FACE, Problem.READERS_DIFFER})
"""Problems of single looks that voting judges anew."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What several frames agree on."""

    reading: Reading
    flags: SceneFlag
    looks: int

    @property
    def certain(self) -> bool:
        """Whether the reading may be taken without asking."""
        return self.reading.status is Status.CERTAIN


def die_size(boxes: Sequence[Box], fallback: float = 30.0) -> float:
    """Typical width of a die in pixels: the median over `boxes`."""
    if not boxes:
        return fallback
    return float(median(((x1 - x0) * (y1 - y0)) ** 0.5 for x0, y0, x1, y1 in boxes)) or fallback


def pair_up(
    left: Sequence[tuple[float, float]], right: Sequence[tuple[float, float]], reach: float
) -> dict[int, int]:
    """Pairs of nearest points, nearest pair first, none farther apart than `reach` pixels: index left → index right."""
    if not left or not right:
        return {}
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    distances = np.hypot(a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1])
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for flat in np.argsort(distances, axis=None):
        i, j = divmod(int(flat), len(b))
        if distances[i, j] > reach:
            break
        if i not in pairs and j not in taken:
            pairs[i] = j
            taken.add(j)
    return pairs


class Stillness:
    """Whether the dice look the same, at full resolution, as in the look before."""

    SIZE = 28

    def __init__(self, *, tolerance: float = 0.16) -> None:
        self._tolerance = tolerance
        self._image: npt.NDArray[np.uint8] | None = None

    def forget(self) -> None:
        """Start anew after a movement."""
        self._image = None

    def restless(self, image: Image, boxes: Sequence[Box]) -> tuple[int, ...]:
        """Indices of `boxes` whose contents changed since the last call (none at the first one)."""
        # Grey, and our own copy: nothing here keeps a camera's buffer.
        before, self._image = self._image, np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
        if before is None or before.shape != self._image.shape:
            return ()
        return tuple(i for i, box in enumerate(boxes) if self._change(before, self._image, box) > self._tolerance)

    def _change(self, before: npt.NDArray[np.uint8], now: npt.NDArray[np.uint8], box: Box) -> float:
        """Change of a crop: mean absolute difference over the contrast within, 0 for the same picture."""
        a, b = self._crop(before, box), self._crop(now, box)
        if a is None or b is None:
            return 0.0
        # Noise is averaged away by the resize, light is divided out by the standardisation.
        a = (a - a.mean()) / max(float(a.std()), 6.0)
        b = (b - b.mean()) / max(float(b.std()), 6.0)
        return float(np.abs(cv2.blur(a - b, (3, 3))).mean())

    def _crop(self, image: npt.NDArray[np.uint8], box: Box) -> npt.NDArray[np.float32] | None:
        h, w = image.shape[:2]
        x0, y0, x1, y1 = max(0, int(box[0])), max(0, int(box[1])), min(w, int(box[2])), min(h, int(box[3]))
        if x1 - x0 < 4 or y1 - y0 < 4:
            return None
        size = min(self.SIZE, x1 - x0, y1 - y0)
        return cv2.resize(image[y0:y1, x0:x1], (size, size), interpolation=cv2.INTER_AREA).astype(np.float32)


class Settler:
    """Collects looks while the scene is quiet and says once what lies there."""

    def __init__(self, settings: SettleSettings = DEFAULT) -> None:
        self._settings = settings
        self._looks: list[Reading] = []
        self._since: float | None = None
        self._extras = 0

    def restart(self) -> None:
        """Something moved: forget the looks."""
        self._looks.clear()
        self._since = None

    @property
    def looks(self) -> int:
        """How many looks have been taken since the scene became quiet."""
        return len(self._looks)

    def look(self, reading: Reading, *, restless: Sequence[int] = ()) -> Settled | None:
        """Take one look; answers with the settled reading once there is one (certain or, after a while, doubtful).

        `restless`: indices of dice whose picture changed since the look before.
        """
        reading, self._extras = eight_of_more(reading)
        if self._since is None:
            self._since = reading.t
        if restless or (self._looks and not self._same_places(self._looks[-1], reading)):
            self._looks.clear()
        self._looks.append(reading)
        del self._looks[: -self._settings.window]
        if self._agreed():
            return self._vote(self._like(reading))
        if reading.t - self._since >= self._settings.patience and len(self._looks) >= 2:
            return self._vote()
        if reading.t - self._since >= 2 * self._settings.patience:
            # Looks that never agree on a place: something turns, flickers or is garbage. Doubtful whatever it says.
            return self._doubt(self._vote(), SceneFlag.UNSTABLE)
        return None

    def so_far(self) -> Settled | None:
        """What the looks say although they do not agree (yet); None if there are too few. For when something moves."""
        if self._since is None or len(self._looks) < 2 or self._looks[-1].t - self._since < self._settings.least:
            return None
        return self._vote()

    def _same_places(self, before: Reading, now: Reading) -> bool:
        """Whether no die lies elsewhere than in the look before; one look may miss a die, or see one twice."""
        size = die_size([die.box for die in now.dice])
        pairs = pair_up([d.centre for d in before.dice], [d.centre for d in now.dice], self._settings.near * size)
        return len(pairs) >= min(len(before.dice), len(now.dice)) and abs(len(before.dice) - len(now.dice)) <= 1

    def _agreed(self) -> bool:
        """Whether the last looks agree for long enough to stop early."""
        s = self._settings
        last = self._looks[-1]
        same = self._like(last)
        if 3 * len(same) < len(self._looks) or last.t - same[0].t < s.span:
            return False
        if any(self._contradicts(look, last) for look in self._looks):
            return False
        for count, certainty in ((2, s.very_certain), (s.enough, s.certain)):
            if self._fine(last, certainty) and sum(self._fine(look, certainty) for look in same) >= count:
                return True
        return False

    def _contradicts(self, look: Reading, last: Reading) -> bool:
        """Whether `look` is certain that a die of `last` shows another face, or that there are more dice."""
        size = die_size([die.box for die in last.dice])
        pairs = pair_up([d.centre for d in last.dice], [d.centre for d in look.dice], self._settings.near * size)
        surplus = [d for j, d in enumerate(look.dice) if j not in pairs.values()]
        sure = self._settings.certain
        return any(d.certainty >= sure for d in surplus) or any(
            look.dice[j].certainty >= sure and look.dice[j].face is not last.dice[i].face for i, j in pairs.items())

    def _like(self, last: Reading) -> list[Reading]:
        """The looks that show the same as `last`, oldest first: single looks in between may have missed something."""
        return [look for look in self._looks if self._same_faces([look, last])]

    def _fine(self, look: Reading, certainty: float) -> bool:
        hard = [p for p in look.problems if p not in _OVERRULED]
        if len(look.dice) > DICE:
            return False
        return not hard and all(d.certainty >= certainty and not (set(d.problems) - {Problem.HAND}) and not d.cocked
                            for d in look.dice)

    def _same_faces(self, looks: Sequence[Reading]) -> bool:
        last = looks[-1]
        size = die_size([die.box for die in last.dice])
        for look in looks[:-1]:
            pairs = pair_up([d.centre for d in last.dice], [d.centre for d in look.dice], self._settings.near * size)
            if not len(pairs) == len(last.dice) == len(look.dice):
                return False
            if any(last.dice[i].face is not look.dice[j].face for i, j in pairs.items()):
                return False
        return True

    def _vote(self, voters: Sequence[Reading] | None = None) -> Settled:
        """Looks of this rest vote, die by die, each with its certainty; all of them unless `voters` are named."""
        voters = self._looks if voters is None else voters
        last = self._looks[-1]
        seen = self._votes(last, voters)
        everything = self._votes(last, self._looks)
        dice = tuple(self._elect(votes, every, len(voters)) for votes, every in zip(seen, everything, strict=True))
        return self._judge(last, dice)

    def _votes(self, last: Reading, voters: Sequence[Reading]) -> list[list[DieReading]]:
        """What each die of `last` was in each of the looks that saw it; `last` itself first."""
        size = die_size([die.box for die in last.dice])
        seen: list[list[DieReading]] = [[die] for die in last.dice]
        for look in voters:
            if look is last:
                continue
            pairs = pair_up([d.centre for d in last.dice], [d.centre for d in look.dice], self._settings.near * size)
            for i, j in pairs.items():
                seen[i].append(look.dice[j])
        return seen

    def _elect(self, votes: Sequence[DieReading], every: Sequence[DieReading], looks: int) -> DieReading:
        """One die from its votes. A confident vote for another face (among `every` one) makes it unsure."""
        weights: dict[Face, float] = defaultdict(float)
        for vote in votes:
            weights[vote.face] += vote.certainty
            for face, p in vote.alternatives:
                weights[face] += p
        total = sum(weights.values()) or 1.0
        ranked = sorted(weights.items(), key=lambda item: -item[1])
        face = ranked[0][0]
        certainty = min(1.0, ranked[0][1] / max(total, len(votes)))
        problems = tuple(p for p in Problem
                         if p is not Problem.HAND and 2 * sum(p in vote.problems for vote in votes) > len(votes))
        # Frames of a still scene resemble each other: a doubt that most of them share does not go away by counting.
        against = any(vote.face is not face and vote.certainty >= self._settings.certain for vote in every)
        weak = against or certainty < self._settings.certain or 2 * len(votes) < looks
        if weak and Problem.UNSURE_FACE not in problems:
            problems += (Problem.UNSURE_FACE,)
        latest = votes[0]
        return replace(
            latest, face=face, certainty=certainty, problems=problems,
            alternatives=tuple((f, w / max(total, len(votes))) for f, w in ranked[1:]),
            cocked=2 * sum(vote.cocked for vote in votes) > len(votes),
            on_card=2 * sum(vote.on_card for vote in votes) > len(votes),
        )

    def _judge(self, last: Reading, dice: tuple[DieReading, ...]) -> Settled:
        """Problems and flags of the voted reading."""
        looks = self._looks
        problems = [p for p in Problem
                    if p not in _OVERRULED and 2 * sum(p in look.problems for look in looks) > len(looks)]
        flags = SceneFlag.NONE
        if Problem.BLURRED in problems:
            flags |= SceneFlag.BLURRED
        if Problem.FOREIGN_DIE in problems:
            flags |= SceneFlag.FOREIGN
        if self._extras:
            flags |= SceneFlag.FOREIGN
        if any(die.cocked for die in dice):
            flags |= SceneFlag.COCKED
            if Problem.COCKED not in problems:
                problems.append(Problem.COCKED)
        unsure = [p for p in (Problem.UNSURE_FACE, Problem.READERS_DIFFER) if any(p in die.problems for die in dice)]
        if unsure or any(die.problems for die in dice):
            flags |= SceneFlag.UNSURE
            problems += unsure
        if len(dice) < DICE:
            flags |= SceneFlag.FEWER
            problems.append(Problem.TOO_FEW_DICE if dice else Problem.NO_DICE)
        if len(dice) > DICE:
            flags |= SceneFlag.MORE
            problems.append(Problem.TOO_MANY_DICE)
        if last.hands:
            flags |= SceneFlag.HAND
        card = elect_card([look.card for look in looks])
        if card is not None and card.certainty < self._settings.certain:
            flags |= SceneFlag.CARD_UNSURE
        soft = {Problem.NO_DICE, Problem.TOO_FEW_DICE}
        status = Status.CERTAIN if not (set(problems) - soft) and not any(d.problems for d in dice) else Status.DOUBTFUL
        reading = Reading(status, tuple(problems), dice, card, last.t, last.number, last.hands)
        return Settled(reading, flags, len(looks))

    @staticmethod
    def _doubt(settled: Settled, flag: SceneFlag) -> Settled:
        return replace(settled, reading=replace(settled.reading, status=Status.DOUBTFUL), flags=settled.flags | flag)


def eight_of_more(reading: Reading) -> tuple[Reading, int]:
    """`reading` with its eight dice, if it shows more and it is plain which these are; and how many others it shows.

    A second box on one die makes that die unsure. What lies apart and is no plain die of ours (one of another game, a
    symbol on a card) is left out. The answer is `reading` itself where that does not leave eight.
    """
    if len(reading.dice) <= DICE:
        return reading, 0
    ranked = sorted(range(len(reading.dice)), key=lambda i: -_plainness(reading.dice[i]))
    eight, extras = [reading.dice[i] for i in ranked[:DICE]], [reading.dice[i] for i in ranked[DICE:]]
    reach = 0.7 * die_size([die.box for die in eight])
    apart = 0
    for extra in extras:
        twin = pair_up([extra.centre], [die.centre for die in eight], reach)
        if twin:
            eight[twin[0]] = _contested(eight[twin[0]], extra)
        elif _plainness(extra) >= 1:
            return reading, 0  # a ninth die of ours: which eight count cannot be told
        else:
            apart += 1
    left = {p for die in eight for p in die.problems}
    problems = tuple(p for p in Problem if p in left or (p in reading.problems and p in _OF_THE_PICTURE))
    status = Status.DOUBTFUL if problems else Status.CERTAIN
    return replace(reading, dice=tuple(eight), problems=problems, status=status), apart


_OF_THE_PICTURE = frozenset({Problem.TOO_DARK, Problem.HAND})


def _plainness(die: DieReading) -> float:
    """Its certainty, and one more for a die of ours without problems."""
    plain = not (set(die.problems) - {Problem.HAND}) and not die.cocked
    return die.certainty + (1.0 if plain else 0.0) - (1.0 if Problem.FOREIGN_DIE in die.problems else 0.0)


def _contested(die: DieReading, twin: DieReading) -> DieReading:
    """`die` with a second box on it that says `twin`."""
    if twin.face is die.face:
        return die
    others = tuple(item for item in die.alternatives if item[0] is not twin.face)
    problems = die.problems if Problem.UNSURE_FACE in die.problems else (*die.problems, Problem.UNSURE_FACE)
    return replace(die, problems=problems, alternatives=((twin.face, twin.certainty), *others))


def elect_card(cards: Sequence[CardReading | None]) -> CardReading | None:
    """One card from several looks: the name with the most weight, less certain where looks differ, None if rare."""
    seen = [card for card in cards if card is not None]
    if not seen or 2 * len(seen) < len(cards):
        return None
    weights: dict[str, float] = defaultdict(float)
    for card in seen:
        weights[card.name] += card.certainty
        for name, p in card.alternatives:
            weights[name] += 0.5 * p
    name = max(weights, key=lambda key: weights[key])
    votes = [card for card in seen if card.name == name]
    if not votes:
        return seen[-1]
    certainty = sum(card.certainty for card in votes) / len(seen)
    others = sorted(((n, w / len(seen)) for n, w in weights.items() if n != name), key=lambda item: -item[1])
    return replace(votes[-1], certainty=min(1.0, certainty), alternatives=tuple(others[:4]))
