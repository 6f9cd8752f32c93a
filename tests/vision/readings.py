"""Readings made by hand, for tests of what stands behind the reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scorer.faces import Face
from vision.reading import Box, CardReading, DieReading, Problem, Reading, Status

C, D, M, P, S, X = Face.COIN, Face.DIAMOND, Face.MONKEY, Face.PARROT, Face.SABERS, Face.SKULL
EIGHT = (C, C, M, M, P, S, D, X)
SIZE = 20.0
PLACES = tuple((60.0 + 50 * (i % 4), 80.0 + 60 * (i // 4)) for i in range(8))
FRAME = 1 / 15


def die(face: Face, place: tuple[float, float], certainty: float = 0.99, *problems: Problem, on_card: bool = False,
        other: Face | None = None) -> DieReading:
    """A die of 20 pixels at `place`."""
    x, y = place
    rest = ((other or (M if face is not M else C)), 1 - certainty)
    box = (x - SIZE / 2, y - SIZE / 2, x + SIZE / 2, y + SIZE / 2)
    return DieReading(face, certainty, box, (rest,), False, on_card, tuple(problems))


def dice(faces: Sequence[Face], places: Sequence[tuple[float, float]] = PLACES,
         certainty: float = 0.99) -> list[DieReading]:
    """Dice at `places`."""
    return [die(face, place, certainty) for face, place in zip(faces, places, strict=False)]


def reading(seen: Iterable[DieReading], number: int = 0, *, card: CardReading | None = None,
            hands: tuple[Box, ...] = (), fps: float = 15.0) -> Reading:
    """A reading of `seen`, with the problems that follow from it."""
    seen = tuple(seen)
    problems = {p for d in seen for p in d.problems}
    if len(seen) != 8:
        problems.add(Problem.NO_DICE if not seen else Problem.TOO_FEW_DICE if len(seen) < 8 else Problem.TOO_MANY_DICE)
    status = Status.DOUBTFUL if problems else Status.CERTAIN
    return Reading(status, tuple(p for p in Problem if p in problems), seen, card, number / fps, number, hands)


def shifted(base: Reading, dx: float, dy: float, number: int | None = None) -> Reading:
    """The same dice elsewhere."""
    moved = tuple(replace(d, box=(d.box[0] + dx, d.box[1] + dy, d.box[2] + dx, d.box[3] + dy)) for d in base.dice)
    number = base.number if number is None else number
    return replace(base, dice=moved, number=number, t=number / 15)
