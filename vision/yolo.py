"""The first look: finds dice, cards and hands in a frame with our YOLO network.

In: a frame. Out: `Detections`, one row an object, boxes in pixels of the full-resolution frame. The network answers
without any decoding (one map a stride); only the few cells above the threshold are decoded here. Boxes on the same
thing are joined whatever their class: heads without suppression, and per-class suppression, both leave two on one die.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from .detector import CLASSES, Detections
from .ncnn_net import Floats, ModelError, NcnnNet
from .reading import Image

STRIDES = (8, 16, 32)
BINS = 16
"""Bins of the distribution in which the network gives each side of a box."""
DICE_CLASSES = CLASSES.index("foreign_die") + 1
"""The first so many classes are dice."""
PADDING = 114
"""Grey of what a letterbox adds, as in training."""


@dataclass(frozen=True, slots=True)
class Looking:
    """How the first look is taken. Sizes in pixels of the network's input unless they say otherwise."""

    long_side: int = 416
    threshold: float = 0.08
    """Cells below this probability are not decoded. Low: the second look throws out what is nothing."""
    small_die: float = 15.0
    """Dice smaller than this are looked at again, enlarged."""
    wanted_die: float = 24.0
    """The size to which small dice are enlarged."""
    large_die: float = 46.0
    """Dice larger than this are looked at again, shrunk: none in training were."""
    readable: float = 8.0
    """Smaller things, in pixels of the frame, are not worth a closer look: nothing could be read on them."""
    most: int = 832
    """Longest side ever given to the network."""
    other_scales: tuple[float, ...] = (0.5, 2.0, 0.25)
    """Further looks at a single photograph, whose dice may be tiny or fill it, as multiples of the first."""
    same: float = 0.5
    """Boxes that share this much (intersection over union) are one thing."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the frame, and the scale at which the network sees it."""

    x: int
    y: int
    w: int
    h: int
    scale: float


class YoloDetector:
    """The shipped detector behind the one-method interface. Call from one thread at a time."""

    def __init__(self, net: NcnnNet, looking: Looking | None = None) -> None:
        self._net = net
        self.looking = looking or Looking()

    @classmethod
    def load(cls, models: Path, *, threads: int | None = None, looking: Looking | None = None) -> YoloDetector:
        """Load `detector.ncnn.param` and `.bin` from the folder `models`."""
        names = tuple(f"p{stride}" for stride in STRIDES)
        return cls(NcnnNet(models / "detector.ncnn.param", outputs=names, threads=threads), looking)

    def detect(self, image: Image) -> Detections:
        """Find dice, cards and hands in `image` ((h, w, 3) uint8 BGR)."""
        h, w = image.shape[:2]
        # Never enlarged blindly: a small picture of few pixels holds large dice.
        return self._detect_at(image, min(1.0, self.looking.long_side / max(h, w)))

    def detect_thoroughly(self, image: Image, wanted: int) -> Detections:
        """As `detect`; where fewer than `wanted` dice are found, look again at other sizes.

        For single photographs, whose dice may be tiny or fill the picture; a table's camera is placed so that they are
        neither.
        """
        best = self.detect(image)
        long = max(image.shape[:2])
        usual = min(1.0, self.looking.long_side / long)
        for factor in self.looking.other_scales:
            if _sure_dice(best) >= wanted:
                break
            again = self._detect_at(image, min(factor * usual, self.looking.most / long))
            if _weight(again) > 1.1 * _weight(best):
                best = again
        return best

    def _detect_at(self, image: Image, scale: float) -> Detections:
        """A pass over the whole frame, and a second one where its dice came out too small or too large."""
        h, w = image.shape[:2]
        whole = Region(0, 0, w, h, scale)
        first = self.look(image, whole)
        closer = self._closer(first, whole)
        return _put_together(first, self.look(image, closer), closer) if closer else first

    def look(self, image: Image, region: Region) -> Detections:
        """One pass of the network over a region of `image`; boxes in pixels of `image`."""
        boxes, scores = self._cells(image, region)
        joined = join(boxes, scores, self.looking.same)
        offset = np.array([region.x, region.y] * 2, np.float32)
        h, w = image.shape[:2]
        full = joined.boxes / np.float32(region.scale) + offset
        return Detections(np.clip(full, 0, np.array([w, h, w, h], np.float32)), joined.scores)

    def _cells(self, image: Image, region: Region) -> tuple[Floats, Floats]:
        part = image[region.y : region.y + region.h, region.x : region.x + region.w]
        w, h = (max(1, round(side * region.scale)) for side in (region.w, region.h))
        canvas = np.full((_up(h), _up(w), 3), PADDING, np.uint8)
        canvas[:h, :w] = _resized(part, w, h)
        return decode(self._net.run_pixels(canvas), self.looking.threshold)

    def _closer(self, found: Detections, seen: Region) -> Region | None:
        """The region for a second pass where dice came out too small (or too large) to be named well; else None."""
        boxes = found.boxes[is_die(found)]
        if len(boxes) == 0:
            return None
        sure = found.scores[is_die(found), :DICE_CLASSES].max(1)
        boxes = boxes[sure >= min(0.3, float(sure.max()))]
        die = float(np.median((boxes[:, 2:] - boxes[:, :2]).max(1)))
        now = die * seen.scale
        if now > self.looking.large_die:
            return Region(seen.x, seen.y, seen.w, seen.h, self.looking.wanted_die / die)
        if now >= self.looking.small_die or die < self.looking.readable:
            return None
        x0, y0 = (max(0, int(v)) for v in boxes[:, :2].min(0) - 2 * die)
        x1, y1 = (int(v) for v in boxes[:, 2:].max(0) + 2 * die)
        x1, y1 = min(x1, seen.x + seen.w), min(y1, seen.y + seen.h)
        w, h = max(1, x1 - x0), max(1, y1 - y0)
        scale = min(self.looking.wanted_die / max(die, 1.0), self.looking.most / max(w, h))
        return Region(x0, y0, w, h, scale) if scale > 1.2 * seen.scale else None


def _resized(part: Image, w: int, h: int) -> Image:
    """Averages areas when shrinking. Halving first is exact and many times faster than one step of an odd factor."""
    while part.shape[0] >= 2 * h and part.shape[1] >= 2 * w and min(h, w) > 1:
        half = (part.shape[1] // 2, part.shape[0] // 2)
        part = np.asarray(cv2.resize(part, half, interpolation=cv2.INTER_AREA), np.uint8)
    way = cv2.INTER_AREA if part.shape[1] > w else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(part, (w, h), interpolation=way), np.uint8)


def is_die(found: Detections) -> npt.NDArray[np.bool_]:
    """Which rows are dice, ours or foreign: (n,) bool."""
    return found.scores.argmax(1) < DICE_CLASSES if len(found.scores) else np.zeros(0, bool)


def _sure_dice(found: Detections) -> int:
    return int((found.scores[:, :DICE_CLASSES].max(1, initial=0) > 0.5).sum())


def _weight(found: Detections) -> float:
    """How much there is to say for these dice: looks at a wrong scale find parts of dice, and are not sure of them."""
    best = found.scores[:, :DICE_CLASSES].max(1, initial=0)
    return float((best[best > 0.3] ** 2).sum())


def _put_together(wide: Detections, close: Detections, region: Region) -> Detections:
    """Dice inside the region from the closer look; all else from the wide one (a region cuts cards and hands)."""
    centres = (wide.boxes[:, :2] + wide.boxes[:, 2:]) / 2
    low, high = np.array([region.x, region.y]), np.array([region.x + region.w, region.y + region.h])
    inside = ((centres >= low) & (centres <= high)).all(1)
    keep, take = ~(inside & is_die(wide)), is_die(close)
    return Detections(
        np.concatenate([wide.boxes[keep], close.boxes[take]]), np.concatenate([wide.scores[keep], close.scores[take]])
    )


def _up(side: int) -> int:
    """The next multiple of the coarsest stride."""
    return -(-side // STRIDES[-1]) * STRIDES[-1]


def decode(maps: Sequence[Floats], threshold: float) -> tuple[Floats, Floats]:
    """Cells above `threshold` of the raw maps, one (4 · bins + classes, h, w) a stride.

    Returns boxes (n, 4) xyxy in pixels of the network's input, and scores (n, classes).
    """
    boxes, scores = [], []
    cut = float(np.log(threshold / (1 - threshold)))
    for stride, cells in zip(STRIDES, maps, strict=True):
        bins = (cells.shape[0] - len(CLASSES)) // 4
        if cells.shape[0] - len(CLASSES) not in (4, 4 * BINS):
            raise ModelError(
                f"expected {4 * BINS + len(CLASSES)} channels (or {4 + len(CLASSES)}) in each map of the detector, "
                f"got {cells.shape[0]}: export the detector that belongs to this version"
            )
        logits = cells[4 * bins :]
        rows, columns = np.nonzero(logits.max(0) > cut)
        sides = cells[: 4 * bins, rows, columns].reshape(4, bins, -1)
        if bins > 1:
            weights = np.exp(sides - sides.max(1, keepdims=True))
            sides = (weights * np.arange(bins, dtype=np.float32)[:, None]).sum(1) / weights.sum(1)
        else:
            sides = sides[:, 0]
        x, y = columns + 0.5, rows + 0.5
        corners = np.stack([x - sides[0], y - sides[1], x + sides[2], y + sides[3]], 1) * stride
        boxes.append(corners.astype(np.float32))
        scores.append(1 / (1 + np.exp(-logits[:, rows, columns].T)))
    return np.concatenate(boxes), np.concatenate(scores).astype(np.float32)


def overlap(box: Floats, others: Floats) -> tuple[Floats, Floats]:
    """How much `box` (4,) shares with `others` (n, 4): over their union, and over the smaller of the two."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.clip(high - low, 0, None).prod(1)
    area, areas = float((box[2:] - box[:2]).prod()), (others[:, 2:] - others[:, :2]).prod(1)
    union = shared / np.maximum(area + areas - shared, 1e-6)
    return union, shared / np.maximum(np.minimum(area, areas), 1e-6)


def _covered(box: Floats, others: Floats) -> float:
    """Share of `box` that `others` cover, counting twice what two of them cover."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    return float(np.clip(high - low, 0, None).prod(1).sum() / max(float((box[2:] - box[:2]).prod()), 1e-6))


def join(boxes: Floats, scores: Floats, same: float) -> Detections:
    """Many cells a thing → one row a thing: boxes and class scores averaged, weighted by how sure each cell is.

    Dice classes count as one kind, so a die that two classes claim stays one row in which both scores are high.
    """
    kinds = np.maximum(scores.argmax(1), DICE_CLASSES - 1) if len(scores) else np.zeros(0, int)
    best = scores.max(1, initial=0)
    left = np.argsort(-best)
    out_boxes, out_scores = [], []
    while len(left):
        top, rest = left[0], left
        union, _ = overlap(boxes[top], boxes[rest])
        mine = rest[(kinds[rest] == kinds[top]) & (union >= same)] if union[0] > 0 else rest[:1]
        weight = best[mine] ** 2
        weight = weight / weight.sum()
        mean = weight @ scores[mine]
        out_boxes.append(weight @ boxes[mine])
        out_scores.append(mean * (best[top] / max(float(mean.max()), 1e-6)))
        left = rest[~np.isin(rest, mine)]
    if not out_boxes:
        return Detections(np.zeros((0, 4), np.float32), np.zeros((0, len(CLASSES)), np.float32))
    return Detections(np.stack(out_boxes).astype(np.float32), np.stack(out_scores).astype(np.float32))


@dataclass(frozen=True, slots=True)
class Contested:
    """Detections after suppression, and which of them another box contested."""

    found: Detections
    contested: npt.NDArray[np.bool_]
    """(n,) bool: a box of nearly the same place and of another class, or of quite another size, was dropped."""


def suppress(found: Detections, *, same: float = 0.38, inside: float = 0.75, covered: float = 0.75) -> Contested:
    """One box a die, whatever detector found them and whatever classes it gave; the surest box stays.

    Dice that lie edge to edge share at most 0.25 of their union. A faint box across several dice is covered by theirs;
    a sure one stays, for it may be a die amid others. A dropped box that was nearly as sure and of another class leaves
    its mark: that die is contested.
    """
    dice = np.flatnonzero(is_die(found))
    dice = dice[np.argsort(-found.scores[dice, :DICE_CLASSES].max(1, initial=0))]
    contested = np.zeros(len(found.boxes), bool)
    keep = np.ones(len(found.boxes), bool)
    kept: list[int] = []
    for b in dice:
        if not kept:
            kept.append(int(b))
            continue
        union, within = overlap(found.boxes[b], found.boxes[kept])
        a = kept[int(union.argmax())]
        one = bool(((union >= same) | (within >= inside)).any())
        nearly_as_sure = bool(found.scores[b].max() >= 0.5 * found.scores[a].max())
        if not one and (nearly_as_sure or _covered(found.boxes[b], found.boxes[kept]) < covered):
            kept.append(int(b))
            continue
        keep[b] = False
        contested[a] |= nearly_as_sure and bool(found.scores[a].argmax() != found.scores[b].argmax())
    return Contested(Detections(found.boxes[keep], found.scores[keep]), contested[keep])
