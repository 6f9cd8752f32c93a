"""The eyes as a whole: a frame in, a `Reading` out.

Both looks at every die, the card, the hands, and the judgement: `certain` only when there are exactly eight dice of
ours, flat, whole, well seen, and both readers agree on each. Everything else is `doubtful`, with its problems named.
Call a reader from one thread at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from scorer.faces import DICE, Face

from .cards import CardReader as NcnnCardReader
from .cards import on_card
from .certainty import FACES, FOREIGN, NOTHING, Calibration, Evidence, Verdict, likeness, other_share, weigh
from .detector import CLASSES, Detections, Detector
from .ncnn_net import Floats, ModelError
from .quality import Limits, die_problems, measure
from .reading import Box, CardReading, DieReading, Image, Problem, Reading, Status
from .secondlook import CropReader, SecondLook
from .yolo import DICE_CLASSES, YoloDetector, is_die, suppress

MODELS = Path(__file__).resolve().parents[1] / "models"
"""Where the shipped weights lie."""
CARD, HAND = CLASSES.index("card"), CLASSES.index("hand")


class CardReader(Protocol):
    """Anything that names the card."""

    def read(self, image: Image, boxes: Floats) -> CardReading | None:
        """Name the card in one of `boxes` ((n, 4) xyxy, surest first) of `image`; None when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Judging:
    """Where the judgement draws its lines, besides what the calibration says."""

    limits: Limits = field(default_factory=Limits)
    die_from: float = 0.08
    """Least score of the first look for a die that the second look confirms."""
    faint: float = 0.33
    """Below this score of the first look, a die that the second look cannot name, or thinks may be none, is nothing."""
    nothing_at_all: float = 0.04
    die_for_sure: float = 0.8
    """From this score of the first look on, a die that the second look denies is doubted, not dropped."""
    card_from: float = 0.35
    hand_from: float = 0.35


class Reader:
    """Reads frames. `detector` and `second` may be any that fulfil the protocols."""

    def __init__(
        self,
        detector: Detector,
        second: SecondLook,
        *,
        calibration: Calibration | None = None,
        cards: CardReader | None = None,
        judging: Judging | None = None,
    ) -> None:
        self.detector = detector
        self.second = second
        self.calibration = calibration or Calibration()
        self.cards = cards
        self.judging = judging or Judging()

    @classmethod
    def load(cls, models_dir: Path | None = None, *, threads: int | None = None) -> Reader:
        """The shipped networks from `models_dir` (default: the project's `models/`). Raises ModelError."""
        models = Path(models_dir) if models_dir is not None else MODELS
        return cls(
            YoloDetector.load(models, threads=threads),
            CropReader.load(models, threads=threads),
            calibration=Calibration.load(models / "certainty.json"),
            cards=_load_cards(models),
        )

    def read(self, image: Image, *, t: float = 0.0, number: int = 0, thorough: bool = False) -> Reading:
        """Read one frame ((h, w, 3) uint8 BGR). `thorough`: also look for tiny dice, as single photographs need."""
        found = self.find(image, thorough=thorough)
        evidence = self.examine(image, found)
        verdict = weigh(evidence, self.calibration)
        hands = tuple(_box(b) for b in found.boxes[_rows(found, HAND, self.judging.hand_from)])
        card = self._card(image, found)
        dice = sorted(self._dice(evidence, verdict, hands, card), key=lambda die: (die.centre[1], die.centre[0]))
        problems = self._problems(dice, image, blurred=self._blurred(evidence, verdict))
        status = Status.DOUBTFUL if problems else Status.CERTAIN
        return Reading(status, problems, tuple(dice), card, t, number, hands)

    def find(self, image: Image, *, thorough: bool = False) -> Detections:
        """The first look alone."""
        if thorough and isinstance(self.detector, YoloDetector):
            return self.detector.detect_thoroughly(image, DICE)
        return self.detector.detect(image)

    def examine(self, image: Image, found: Detections) -> Evidence:
        """The second look and the measurements for every possible die that the first look found."""
        one_each = suppress(found)
        scores = one_each.found.scores
        dice = is_die(one_each.found) & (scores[:, :DICE_CLASSES].max(1, initial=0) >= self.judging.die_from)
        boxes = one_each.found.boxes[dice]
        return Evidence(
            boxes,
            scores[dice],
            self.second.look(image, boxes),
            tuple(measure(image, box) for box in boxes),
            one_each.contested[dice],
        )

    def _card(self, image: Image, found: Detections) -> CardReading | None:
        rows = _rows(found, CARD, self.judging.card_from)
        boxes = found.boxes[rows]
        if self.cards is not None:
            return self.cards.read(image, boxes)
        if len(rows) == 0:
            return None
        x0, y0, x1, y1 = _box(boxes[0])
        corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
        return CardReading("unknown", float(found.scores[rows[0], CARD]), corners)

    def _dice(
        self, evidence: Evidence, verdict: Verdict, hands: tuple[Box, ...], card: CardReading | None
    ) -> list[DieReading]:
        alike = likeness(evidence, verdict.faces, self.calibration)
        others = other_share(evidence, verdict)
        return [
            self._die(evidence, verdict, i, float(alike[i]), float(others[i]), hands, card)
            for i in range(len(evidence.boxes))
            if not self._is_nothing(evidence, verdict, i)
        ]

    def _is_nothing(self, evidence: Evidence, verdict: Verdict, i: int) -> bool:
        surest = float(evidence.scores[i, :DICE_CLASSES].max())
        nothing = float(verdict.fused[i, NOTHING])
        if surest < self.judging.faint and float(verdict.fused[i, FOREIGN]) < 0.5:
            return float(verdict.certainty[i]) < 0.5 or nothing > self.judging.nothing_at_all
        return nothing > 0.5 and surest < self.judging.die_for_sure

    def _die(
        self,
        evidence: Evidence,
        verdict: Verdict,
        i: int,
        alike: float,
        other: float,
        hands: tuple[Box, ...],
        card: CardReading | None,
    ) -> DieReading:
        fused, face = verdict.fused[i], int(verdict.faces[i])
        box, certainty = _box(evidence.boxes[i]), float(verdict.certainty[i])
        cocked = float(evidence.looks.cocked[i]) >= self.calibration.cocked_from
        problems = die_problems(evidence.qualities[i], self.judging.limits)
        if cocked:
            problems.append(Problem.COCKED)
        if float(fused[FOREIGN]) >= self.calibration.foreign_from:
            problems.append(Problem.FOREIGN_DIE)
        if bool(evidence.contested[i]) or self._differ(evidence, other, i, face):
            problems.append(Problem.READERS_DIFFER)
        unlike = bool(self.calibration.likeness) and alike < self.calibration.likeness[face]
        if certainty < self.calibration.certain_from or unlike:
            problems.append(Problem.UNSURE_FACE)
        if any(_touch(box, hand) for hand in hands):
            problems.append(Problem.HAND)
        return DieReading(
            FACES[face],
            certainty,
            box,
            _alternatives(fused, face, certainty),
            cocked,
            card is not None and bool(on_card(card, evidence.boxes[i])[0]),
            tuple(problems),
            evidence.looks.embeddings[i],
        )

    def _differ(self, evidence: Evidence, other: float, i: int, face: int) -> bool:
        """Whether one look names another thing with conviction. Lesser doubts lower the certainty instead."""
        second = int(evidence.looks.log_probabilities[i].argmax())
        return other > self.calibration.differ_from or second not in (face, NOTHING)

    def _blurred(self, evidence: Evidence, verdict: Verdict) -> bool:
        """Whether the frame as a whole is out of focus: told by all dice together, one alone may have soft edges."""
        sharp = [quality.sharpness for i, quality in enumerate(evidence.qualities) if verdict.fused[i, NOTHING] < 0.5]
        return bool(sharp) and float(np.median(sharp)) < self.judging.limits.sharpness_of_all

    def _problems(self, dice: list[DieReading], image: Image, *, blurred: bool) -> tuple[Problem, ...]:
        ours = sum(Problem.FOREIGN_DIE not in die.problems for die in dice)
        problems = {problem for die in dice for problem in die.problems}
        if blurred:
            problems.add(Problem.BLURRED)
        if not dice:
            problems.add(Problem.NO_DICE)
            if float(image[::8, ::8].mean()) < 12:
                problems.add(Problem.TOO_DARK)
        elif ours < DICE:
            problems.add(Problem.TOO_FEW_DICE)
        elif ours > DICE:
            problems.add(Problem.TOO_MANY_DICE)
        return tuple(problem for problem in Problem if problem in problems)


def _load_cards(models: Path) -> CardReader | None:
    """The card reader, where its weights are. Weights that lie there damaged are an error, not a missing reader."""
    if not any(models.glob("card*.param")):
        return None
    try:
        return NcnnCardReader.load(models)
    except ValueError as error:
        raise ModelError(str(error)) from error


def _rows(found: Detections, kind: int, least: float) -> np.ndarray:
    """Rows of one class, surest first."""
    if len(found.scores) == 0:
        return np.zeros(0, np.int64)
    rows = np.flatnonzero((found.scores.argmax(1) == kind) & (found.scores[:, kind] >= least))
    return rows[np.argsort(-found.scores[rows, kind])]


def _box(values: Floats) -> Box:
    x0, y0, x1, y1 = (float(v) for v in values)
    return x0, y0, x1, y1


def _touch(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _alternatives(fused: Floats, face: int, certainty: float) -> tuple[tuple[Face, float], ...]:
    """The other faces, likeliest first, sharing what certainty leaves."""
    others = [i for i in np.argsort(-fused[: len(FACES)]) if i != face]
    total = max(float(fused[others].sum()), 1e-9)
    return tuple((FACES[i], (1 - certainty) * float(fused[i]) / total) for i in others)


def scaled(reading: Reading, factor: float) -> Reading:
    """`reading` in pixels of a picture `factor` times as large."""
    if factor == 1:
        return reading

    def grow(box: Box) -> Box:
        return box[0] * factor, box[1] * factor, box[2] * factor, box[3] * factor

    card = reading.card and replace(
        reading.card, corners=tuple((x * factor, y * factor) for x, y in reading.card.corners)
    )
    dice = tuple(replace(die, box=grow(die.box)) for die in reading.dice)
    return replace(reading, dice=dice, card=card, hands=tuple(grow(hand) for hand in reading.hands))
