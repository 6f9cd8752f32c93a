"""The card reader: a frame and the detector's card boxes in, the pirate card that lies there out.

A small network finds the four corners in a cut-out, the card is straightened from the full-resolution frame, and a
second one names it, seen from both its short sides at once: one of the two must look upside down. Its answer is
tempered by what the calibration says. Whatever stays unsure is "unknown", with the likeliest names as alternatives.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from scorer.cards import Card

from .ncnn_net import Floats, NcnnNet
from .reading import CardReading, Image
from .secondlook import log_softmax

LABELS = (*(card.value for card in Card), "back", "unknown")
"""What the reader names, in the order of the network's outputs; one more output says "upside down"."""
BACK, UNKNOWN, UPSIDE_DOWN = len(Card), len(Card) + 1, len(Card) + 2
CORNER_SIDE = 96
SHOT_SIDE = 176
"""Cut-outs larger than this are shrunk to it: a card's face is looked at with fewer pixels anyway."""
FACE_SIZE = (80, 128)
"""Width and height of a straightened card."""
MARGIN = 1.25
"""Side of a cut-out, as a multiple of the longer side of the box."""
ENOUGH = 0.6
"""Share of a card inside the frame from which on being cut off costs no certainty."""
FITS = 0.85
"""Overlap of the corners found with the detector's box, as a share of both together, from which they are believed: the
second witness for the corners. Measured: of those below, most are wrong; of those above, hardly any."""
MOST = 4
"""Card boxes looked at in a frame."""

ON_CARD_TOLERANCE = 0.05
"""How far outside the card the middle of a die's footprint may lie and still count as on it, in card widths: 3 mm.
A die that lies beside the card and touches it has its middle 0.13 outside."""
DIE_HALF = 8 / 63
"""Half a die's edge in card widths."""
CARD_HEIGHT = 100 / 63
"""Height of a pirate card in card widths."""

CORNERLESS = np.zeros((4, 2), np.float32)


@dataclass(frozen=True, slots=True)
class CardCalibration:
    """How far the card networks are believed; belongs to one set of weights."""

    temperature: float = 1.5
    """Divides the log-probabilities, so that certainty means what it says."""
    certain_from: float = 0.97
    """Least certainty for a name; below it the card is "unknown"."""

    @classmethod
    def load(cls, path: Path) -> CardCalibration:
        """Read the JSON file `path`; defaults where there is none. Raises ValueError when it is damaged."""
        if not path.is_file():
            return cls()
        try:
            values = json.loads(path.read_text())
            return cls(float(values["temperature"]), float(values["certain_from"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"expected temperature and certain_from in {path}, got {error!r}: restore the shipped file"
            ) from None


@dataclass(frozen=True, slots=True, eq=False)
class CardLook:
    """What was seen of one card."""

    probabilities: Floats
    """(len(LABELS),) float32, summing to one."""
    corners: Floats
    """(4, 2) float32 pixels of the frame, from the upright card's top left clockwise."""
    embedding: Floats
    """(d,) float32, unit length, of the upright card; for teaching."""

    @property
    def label(self) -> int:
        """Index into `LABELS` of the likeliest name."""
        return int(self.probabilities.argmax())


@dataclass(frozen=True, slots=True, eq=False)
class Examined:
    """What was measured on one card, either way up."""

    quad: Floats
    """(4, 2) float32 pixels of the frame, clockwise, a short side first."""
    log_probabilities: Floats
    """(2, len(LABELS) + 1) float32: straightened as `quad` says, and turned by half."""
    embeddings: Floats
    """(2, d) float32, unit length."""
    trust: float
    """0 to 1: less where too little of the card is in the frame, or no card looks like that."""

    def judge(self, temperature: float) -> CardLook:
        """What it is, and which way is up."""
        p, upright = join(self.log_probabilities[0], self.log_probabilities[1], temperature)
        return CardLook(_faded(p, self.trust), np.roll(self.quad, 2 * upright, 0), self.embeddings[upright])


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A square cut from the frame."""

    image: Image
    origin: tuple[int, int]
    size: int
    """Side in pixels of the frame; `image` may be smaller."""

    def to_frame(self, points: Floats) -> Floats:
        """Points in cut-out sides as pixels of the frame."""
        return np.asarray(points * self.size + np.array(self.origin, np.float32), np.float32)

    def to_image(self, points: Floats) -> Floats:
        """Pixels of the frame as pixels of `image`."""
        factor = self.image.shape[0] / self.size
        return np.asarray((points - np.array(self.origin, np.float32)) * factor, np.float32)


class CardReader:
    """Names the card in view. Call from one thread at a time."""

    def __init__(self, corners: NcnnNet, face: NcnnNet, calibration: CardCalibration | None = None) -> None:
        self._corners = corners
        self._face = face
        self.calibration = calibration or CardCalibration()

    @classmethod
    def load(cls, models: Path) -> CardReader:
        """Load `cardcorners.ncnn`, `cardface.ncnn` and `cards.json` from `models`. Raises ModelError, ValueError."""
        return cls(
            NcnnNet(models / "cardcorners.ncnn.param", outputs=("corners",), threads=1),
            NcnnNet(models / "cardface.ncnn.param", outputs=("logits", "embedding"), threads=1),
            CardCalibration.load(models / "cards.json"),
        )

    def read(self, image: Image, boxes: Floats) -> CardReading | None:
        """The pirate card of `image` ((h, w, 3) uint8 BGR) among `boxes` ((n, 4) xyxy, surest first), or None.

        A known card beats an unknown one, and that a back. Two different known cards are doubt.
        """
        looks = [self.look(image, box) for box in boxes[:MOST]]
        return choose(looks, self.calibration) if looks else None

    def look(self, image: Image, box: Floats) -> CardLook:
        """Look at the card in `box` ((4,) xyxy pixels) of `image` ((h, w, 3) uint8 BGR)."""
        return self.examine(image, box).judge(self.calibration.temperature)

    def examine(self, image: Image, box: Floats) -> Examined:
        """All that is measured on the card in `box`, before any judgement."""
        quad = self.locate(image, np.asarray(box, np.float32))
        shot = cut(image, bounds(quad))
        ways = [self.name(straighten(shot.image, shot.to_image(np.roll(quad, 2 * k, 0)))) for k in (0, 1)]
        h, w = image.shape[:2]
        trust = min(1.0, inside_share(quad, w, h) / ENOUGH) * min(1.0, fit(quad, box, w, h) / FITS)
        return Examined(
            quad,
            np.stack([way[0] for way in ways]),
            np.stack([way[1] for way in ways]),
            trust if plausible(quad) else min(trust, 0.5),
        )

    def locate(self, image: Image, box: Floats) -> Floats:
        """Four corners ((4, 2) pixels, clockwise, a short side first) of the card in `box`, which end is up left open.

        Corners that do not fit the box are looked for again: a card that leaves the frame has its middle elsewhere.
        """
        h, w = image.shape[:2]
        best, best_fit = CORNERLESS, -1.0
        for start in starts(box, w, h):
            quad = self._passes(image, start)
            fits = fit(quad, box, w, h)
            if fits > best_fit:
                best, best_fit = quad, fits
            if fits >= FITS:
                break
        return best

    def _passes(self, image: Image, box: Floats) -> Floats:
        """Two passes: the second cut-out fits the card, not the box, and shows it larger."""
        first = self._pass(image, box)
        if not plausible(first):
            return first
        second = self._pass(image, bounds(first))
        return second if plausible(second) else first

    def _pass(self, image: Image, box: Floats) -> Floats:
        """The corners by one look at one cut-out."""
        shot = cut(image, box)
        small = cv2.resize(shot.image, (CORNER_SIDE, CORNER_SIDE), interpolation=_way(shot.image, CORNER_SIDE))
        return shot.to_frame(decode_corners(self._corners.run_pixels(np.asarray(small, np.uint8))[0].reshape(8)))

    def name(self, face: Image) -> tuple[Floats, Floats]:
        """Log-probabilities (len(LABELS) + 1,) and unit embedding of a straightened card ((128, 80, 3) uint8 BGR)."""
        logits, embedding = self._face.run_pixels(face)
        vector = embedding.reshape(-1)
        return log_softmax(logits.reshape(-1)), vector / max(float(np.linalg.norm(vector)), 1e-6)


def choose(looks: list[CardLook], calibration: CardCalibration) -> CardReading:
    """The pirate card among what was seen. `looks` must not be empty."""
    looks = _distinct(looks)
    sure = [look for look in looks if look.label < BACK and look.probabilities.max() >= calibration.certain_from]
    if len({look.label for look in sure}) > 1:
        # Neither is called unknown because of how it looks, but nobody can say which of them counts.
        both = np.mean([look.probabilities for look in sure], axis=0)
        return _reading(_widest(sure), both, UNKNOWN)
    if sure:
        best = _widest(sure)
        return _reading(best, best.probabilities, best.label)
    fronts = [look for look in looks if look.label != BACK]
    if not fronts:
        best = _widest(looks)
        known = best.probabilities[BACK] >= calibration.certain_from
        return _reading(best, best.probabilities, BACK if known else UNKNOWN)
    best = max(fronts, key=lambda look: float(look.probabilities[:BACK].max()) * _area(look.corners))
    return _reading(best, best.probabilities, UNKNOWN)


def _reading(look: CardLook, p: Floats, label: int) -> CardReading:
    others = [i for i in np.argsort(-p) if i != label and p[i] >= 0.005]
    corners = tuple((float(x), float(y)) for x, y in look.corners)
    return CardReading(LABELS[label], float(p[label]), corners, tuple((LABELS[i], float(p[i])) for i in others))


def _distinct(looks: list[CardLook]) -> list[CardLook]:
    """Boxes that turned out to hold the same card count once, by the surest look."""
    kept: list[CardLook] = []
    for look in sorted(looks, key=lambda look: -float(look.probabilities.max())):
        middle = look.corners.mean(0)
        if all(np.linalg.norm(middle - other.corners.mean(0)) > 0.25 * _area(other.corners) ** 0.5 for other in kept):
            kept.append(look)
    return kept


def _widest(looks: list[CardLook]) -> CardLook:
    return max(looks, key=lambda look: _area(look.corners))


def _area(quad: Floats) -> float:
    return abs(float(cv2.contourArea(np.ascontiguousarray(quad, np.float32))))


def join(first: Floats, second: Floats, temperature: float) -> tuple[Floats, int]:
    """Probabilities over `LABELS` from the log-probabilities of a card held both ways, and which way is upright (0, 1).

    If one way shows an upright card of some name, the other shows it upside down.
    """
    ways = np.stack((first[:UPSIDE_DOWN] + second[UPSIDE_DOWN], second[:UPSIDE_DOWN] + first[UPSIDE_DOWN]))
    ways /= temperature
    p = np.exp(ways - ways.max())
    p /= p.sum()
    label = int(p.sum(0).argmax())
    return np.asarray(p.sum(0), np.float32), int(p[1, label] > p[0, label])


def _faded(p: Floats, trust: float) -> Floats:
    """`p` believed only so far: the rest goes to "unknown"."""
    p = p * np.float32(trust)
    p[UNKNOWN] += 1 - trust
    return p


def cut(image: Image, box: Floats) -> Shot:
    """The square round `box` ((4,) xyxy pixels), black where it leaves the frame, at most `SHOT_SIDE` pixels wide."""
    h, w = image.shape[:2]
    wanted = np.clip(MARGIN * max(float(box[2] - box[0]), float(box[3] - box[1])), 8, 2 * max(h, w))
    size = 4 * round(float(wanted) / 4)
    x = round(float(np.clip((box[0] + box[2]) / 2, 0, w)) - size / 2)
    y = round(float(np.clip((box[1] + box[3]) / 2, 0, h)) - size / 2)
    part = image[max(0, y) : min(h, y + size), max(0, x) : min(w, x + size)]
    left, top, right, bottom = max(0, -x), max(0, -y), max(0, x + size - w), max(0, y + size - h)
    if left or top or right or bottom:
        part = np.asarray(cv2.copyMakeBorder(part, top, bottom, left, right, cv2.BORDER_CONSTANT), np.uint8)
    while part.shape[0] >= 2 * SHOT_SIDE and part.shape[0] % 2 == 0:  # by exact halves: many times faster
        half = part.shape[0] // 2
        part = np.asarray(cv2.resize(part, (half, half), interpolation=cv2.INTER_AREA), np.uint8)
    if part.shape[0] > SHOT_SIDE:
        part = np.asarray(cv2.resize(part, (SHOT_SIDE, SHOT_SIDE), interpolation=cv2.INTER_AREA), np.uint8)
    return Shot(part, (x, y), size)


def decode_corners(code: Floats) -> Floats:
    """Corners ((4, 2) in cut-out sides, clockwise, a short side first) from the network's eight numbers.

    They are the middles of both diagonals, from the middle of the cut-out, and the squares of both half diagonals as
    complex numbers: a card turned by half looks the same outside, and these do not change then. Which root is taken for
    the first diagonal says which short side comes first; the other one follows, as the corners go round clockwise.
    """
    middles, squares = code[:4].reshape(2, 2) + 0.5, code[4:].reshape(2, 2)
    roots = np.sqrt(squares[:, 0] + 1j * squares[:, 1])
    halves = np.stack((roots.real, roots.imag), 1)
    if halves[0, 0] * halves[1, 1] - halves[0, 1] * halves[1, 0] < 0:
        halves[1] = -halves[1]
    return np.concatenate((middles + halves, middles - halves)).astype(np.float32)


def straighten(image: Image, corners: Floats) -> Image:
    """The card inside `corners` ((4, 2) pixels of `image`), (128, 80, 3) uint8."""
    w, h = FACE_SIZE
    target = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
    matrix = cv2.getPerspectiveTransform(np.ascontiguousarray(corners, np.float32), target)
    return np.asarray(cv2.warpPerspective(image, matrix, (w, h), flags=cv2.INTER_LINEAR), np.uint8)


def bounds(quad: Floats) -> Floats:
    """The upright box round `quad` ((4, 2)), (4,) xyxy."""
    return np.concatenate((quad.min(0), quad.max(0)))


def starts(box: Floats, width: int, height: int) -> list[Floats]:
    """Boxes to look in, likeliest first: `box` itself, then further out where it touches the frame, else wider."""
    size = float(max(box[2] - box[0], box[3] - box[1]))
    near = 0.02 * size + 1
    touches = np.array([box[0] <= near, box[1] <= near, box[2] >= width - near, box[3] >= height - near])
    out = touches.astype(np.float32) * np.array([-size, -size, size, size], np.float32)
    if out.any():
        return [box, box + out * np.float32(0.35), box + out * np.float32(0.7)]
    return [box, box + np.array([-1, -1, 1, 1], np.float32) * np.float32(0.1 * size)]


def fit(quad: Floats, box: Floats, width: int, height: int) -> float:
    """How well the part of `quad` inside the frame fills the detector's `box`: intersection over union, 0 to 1."""
    seen = bounds(quad).clip(0, [width, height, width, height])
    common = np.maximum(0, np.minimum(seen[2:], box[2:]) - np.maximum(seen[:2], box[:2])).prod()
    both = np.maximum(0, seen[2:] - seen[:2]).prod() + np.maximum(0, box[2:] - box[:2]).prod() - common
    return float(common / both) if both > 0 else 0.0


def plausible(quad: Floats) -> bool:
    """Whether a card can look like `quad` ((4, 2) pixels, clockwise, short side first)."""
    sides = np.linalg.norm(np.roll(quad, -1, 0) - quad, axis=1)
    if sides.min() < 4 or not cv2.isContourConvex(np.ascontiguousarray(quad, np.float32).reshape(-1, 1, 2)):
        return False
    short, long = (sides[0] + sides[2]) / 2, (sides[1] + sides[3]) / 2
    uneven = max(sides[0] / sides[2], sides[2] / sides[0], sides[1] / sides[3], sides[3] / sides[1])
    return bool(0.38 < short / long < 1.0 and uneven < 1.5)


def inside_share(quad: Floats, width: int, height: int) -> float:
    """Share of `quad` ((4, 2) pixels) that lies inside a frame of `width` × `height` pixels."""
    frame = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    if (quad >= 0).all() and (quad <= frame[2]).all():
        return 1.0
    whole = _area(quad)
    try:
        common, _ = cv2.intersectConvexConvex(np.ascontiguousarray(quad, np.float32), frame)
    except cv2.error:
        return 0.0
    return float(np.clip(common / whole, 0, 1)) if whole > 0 else 0.0


def on_card(card: CardReading, boxes: Floats) -> npt.NDArray[np.bool_]:
    """Which dice ((n, 4) xyxy boxes, pixels) lie on `card`: (n,) bool.

    A box is round the visible die, so its middle is that of the die, half an edge above the table. Seen at a slant its
    footprint lies nearer to the viewer; how much nearer follows from how much the card looks shortened.
    """
    boxes = np.asarray(boxes, np.float32).reshape(-1, 4)
    corners = np.array(card.corners, np.float32)
    if corners.shape != (4, 2) or _area(corners) < 16 or len(boxes) == 0:
        return np.zeros(len(boxes), np.bool_)
    target = np.array([[0, 0], [1, 0], [1, CARD_HEIGHT], [0, CARD_HEIGHT]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, target)
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2 + _footprint_shift(corners)
    at = cv2.perspectiveTransform(middles.reshape(-1, 1, 2), matrix).reshape(-1, 2)
    tolerance = ON_CARD_TOLERANCE
    inside = (at >= -tolerance) & (at <= np.array([1, CARD_HEIGHT], np.float32) + tolerance)
    return np.asarray(inside.all(1), np.bool_)


def _footprint_shift(corners: Floats) -> Floats:
    """From the middle of a die to that of its footprint, (2,) pixels; nearer to the viewer is further down."""
    across = (corners[1] - corners[0] + corners[2] - corners[3]) / 2
    down = (corners[3] - corners[0] + corners[2] - corners[1]) / (2 * CARD_HEIGHT)
    axes, scales, _ = np.linalg.svd(np.stack((across, down), 1))
    slant = float(np.sqrt(max(0.0, 1 - (scales[1] / scales[0]) ** 2)))
    towards = axes[:, 1] * np.sign(axes[1, 1] or 1)
    # Shortened sideways, the card does not tell which side is the near one: such a shift is left out.
    return np.asarray(towards * abs(towards[1]) * slant * DIE_HALF * scales[0], np.float32)


def _way(image: Image, side: int) -> int:
    return cv2.INTER_AREA if image.shape[0] > side else cv2.INTER_LINEAR
