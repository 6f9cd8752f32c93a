"""Second-look crops: squares round dice (and round what is no die), cut from full-resolution composites."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from vision.detector import CLASSES

from .compose import Composite

SIDE = 64
MARGIN = 1.15
FOREIGN, NOTHING = 6, 7


def cut(image: npt.NDArray[Any], centre: tuple[float, float], side: float, turn: float = 0.0) -> npt.NDArray[Any]:
    """A square of `side` pixels round `centre`, turned by `turn` radians, as (64, 64, 3); outside repeats the edge."""
    scale = side / SIDE
    if scale > 1.3:  # warping does not average
        x0, y0 = int(max(0, centre[0] - side)), int(max(0, centre[1] - side))
        part = image[y0 : int(centre[1] + side) + 1, x0 : int(centre[0] + side) + 1]
        small = cv2.resize(part, None, fx=1 / scale, fy=1 / scale, interpolation=cv2.INTER_AREA)
        return cut(small, ((centre[0] - x0) / scale, (centre[1] - y0) / scale), float(SIDE), turn)
    c, s = np.cos(turn) * scale, np.sin(turn) * scale
    half = (SIDE - 1) / 2
    inverse = np.array([[c, -s, centre[0] - 0.5 - c * half + s * half], [s, c, centre[1] - 0.5 - s * half - c * half]])
    return np.asarray(
        cv2.warpAffine(
            image, inverse, (SIDE, SIDE), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE
        ),
        np.uint8,
    )


@dataclass(slots=True)
class CropSet:
    """Crops and what is on them, growing."""

    images: list[npt.NDArray[Any]] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    cocked: list[int] = field(default_factory=list)
    px: list[float] = field(default_factory=list)
    visible: list[float] = field(default_factory=list)
    tilt: list[float] = field(default_factory=list)
    session: list[str] = field(default_factory=list)

    def add(
        self, image: npt.NDArray[Any], label: int, cocked: int, px: float, visible: float, tilt: float, session: str
    ) -> None:
        """One more crop (BGR in, RGB kept)."""
        self.images.append(np.ascontiguousarray(image[..., ::-1]))
        self.labels.append(label)
        self.cocked.append(cocked)
        self.px.append(px)
        self.visible.append(visible)
        self.tilt.append(tilt)
        self.session.append(session)

    def save(self, path: Path) -> None:
        """Write a shard in one step."""
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            np.savez(
                file,
                images=np.stack(self.images),
                labels=np.array(self.labels, np.int64),
                cocked=np.array(self.cocked, np.int8),
                px=np.array(self.px, np.float32),
                visible=np.array(self.visible, np.float32),
                tilt=np.array(self.tilt, np.float32),
                session=np.array(self.session),
            )
        part.replace(path)


def draw_crops(composite: Composite, rng: np.random.Generator, into: CropSet, each: int = 2) -> None:
    """Crops of every die of a composite (`each` a die, jittered like detections), and about a tenth that show none."""
    session = str(composite.meta["session"])
    h, w = composite.image.shape[:2]
    for die in composite.dice:
        x0, y0, x1, y1 = die.box
        label = CLASSES.index(die.face)
        for _ in range(each):
            side = max(x1 - x0, y1 - y0) * MARGIN * rng.uniform(0.92, 1.08)
            centre = ((x0 + x1) / 2 + rng.normal(0, 0.03) * side, (y0 + y1) / 2 + rng.normal(0, 0.03) * side)
            into.add(
                cut(composite.image, centre, side),
                label,
                int(die.cocked) if label < FOREIGN else -1,
                die.px,
                die.visible,
                die.tilt,
                session,
            )
    count = max(1, len(composite.dice) * each // 9)
    for _ in range(count):
        side = float(composite.meta["die_pixels"]) * rng.uniform(0.8, 1.9)
        if composite.cards and rng.random() < 0.5:
            corners = np.array(composite.cards[rng.integers(len(composite.cards))].corners)
            place = corners.T @ rng.dirichlet(np.ones(4))
        elif composite.hands and rng.random() < 0.7:
            a, b, c, d = composite.hands[0]
            place = np.array([rng.uniform(a, c), rng.uniform(b, d)])
        elif composite.dice and rng.random() < 0.4:  # beside a die: a corner of it shows
            a, b, c, d = composite.dice[rng.integers(len(composite.dice))].box
            way = rng.uniform(0, 2 * np.pi)
            place = np.array([(a + c) / 2, (b + d) / 2]) + np.array([np.cos(way), np.sin(way)]) * (
                0.95 * max(c - a, d - b)
            )
        else:
            place = rng.uniform(0, 1, 2) * [w, h]
        if not (0 <= place[0] < w and 0 <= place[1] < h):
            continue
        near = [
            max(abs(place[0] - (d.box[0] + d.box[2]) / 2), abs(place[1] - (d.box[1] + d.box[3]) / 2))
            / max(d.box[2] - d.box[0], 1.0)
            for d in composite.dice
        ]
        if near and min(near) < 0.8:
            continue
        into.add(cut(composite.image, (float(place[0]), float(place[1])), side), NOTHING, -1, side, 1.0, 0.0, session)
