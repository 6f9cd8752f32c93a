"""Lays a layer of thrown dice over a table with cards and clutter, under a hand, seen through a camera."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from datasets.drawings.faces import ink_mask, sample_ink
from scorer.faces import Face

from .body import Floats
from .cards import LABELS as CARD_LABELS
from .cards import Picture, background, card_art, unknown_art
from .scene import to_linear, to_srgb

Boxes = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class DieTruth:
    """One die in the finished picture."""

    face: str
    box: Boxes
    cocked: bool
    visible: float
    on_card: bool


@dataclass(slots=True, eq=False)
class Picture8:
    """A finished picture, (h, w, 3) uint8 BGR, and what is on it."""

    image: Picture
    dice: list[DieTruth] = field(default_factory=list)
    cards: list[tuple[str, Floats, float]] = field(default_factory=list)
    """Name, corners (4, 2) pixels, visible share."""
    hands: list[Boxes] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class StoredLayer:
    """A layer read back from disk."""

    dice: Floats
    irradiance: Floats
    owner: npt.NDArray[np.int8]
    meta: dict[str, Any]

    @staticmethod
    def load(path: Path) -> StoredLayer:
        """Read what `layers.write_layers` wrote."""
        with np.load(path) as file:
            return StoredLayer(
                file["dice"].astype(np.float32),
                file["irradiance"].astype(np.float32),
                file["owner"],
                json.loads(str(file["meta"])),
            )


def clip_box(box: Boxes, w: int, h: int) -> Boxes:
    """A box cut to the picture."""
    return (max(box[0], 0.0), max(box[1], 0.0), min(box[2], float(w)), min(box[3], float(h)))


def _printed_symbols(image: Picture, rng: np.random.Generator) -> None:
    """Our symbols printed flat, on a pad or an overview card: they are no dice."""
    h, w = image.shape[:2]
    for _ in range(int(rng.integers(1, 6))):
        size = int(rng.uniform(10, 60))
        y, x = int(rng.integers(0, h - size)), int(rng.integers(0, w - size))
        face = list(Face)[int(rng.integers(6))]
        mask = ink_mask(face, size, rng)[..., None]
        if rng.random() < 0.5:  # on a sheet of paper, which no die is as large as
            cv2.rectangle(image, (x - size, y - size), (x + 2 * size, y + 2 * size), (235, 238, 240), -1)
        patch = image[y : y + size, x : x + size]
        patch[:] = patch * (1 - mask) + np.array(sample_ink(face, rng))[::-1] * mask


def _clutter(image: Picture, rng: np.random.Generator) -> None:
    """Coins, pencils, phones, paper: flat things that are no dice."""
    h, w = image.shape[:2]
    for _ in range(int(rng.integers(0, 5))):
        x, y = int(rng.integers(w)), int(rng.integers(h))
        size = float(np.exp(rng.uniform(np.log(20), np.log(200))))
        colour = tuple(map(float, rng.uniform(10, 245, 3)))
        angle = float(rng.uniform(0, 180))
        kind = str(rng.choice(["coin", "pencil", "phone", "paper", "ring"]))
        if kind == "coin":
            metal = tuple(map(float, np.array([90, 150, 190]) * rng.uniform(0.5, 1.3)))
            cv2.circle(image, (x, y), int(size / 4), metal, -1, cv2.LINE_AA)
            cv2.circle(image, (x, y), int(size / 5), tuple(c * 0.8 for c in metal), 2, cv2.LINE_AA)
        elif kind == "ring":
            cv2.circle(image, (x, y), int(size / 3), colour, int(rng.integers(2, 10)), cv2.LINE_AA)
        else:
            long, short = {
                "pencil": (size * 3, size / 8),
                "phone": (size * 1.6, size * 0.8),
                "paper": (size * 2, size * 1.4),
            }[kind]
            tone = {
                "pencil": colour,
                "phone": (20.0, 20.0, 22.0),
                "paper": tuple(map(float, np.full(3, rng.uniform(190, 245)))),
            }[kind]
            corners = cv2.boxPoints(((x, y), (long, short), angle)).astype(np.int32)
            cv2.fillPoly(image, [corners], tone, cv2.LINE_AA)
            if kind == "paper":
                for line in range(int(rng.integers(0, 8))):
                    at = corners[0] + (corners[1] - corners[0]) * (line + 1) / 9
                    to = at + (corners[2] - corners[1]) * 0.85
                    cv2.line(image, tuple(map(int, at)), tuple(map(int, to)), (90, 80, 80), 1, cv2.LINE_AA)


def _lay_cards(
    image: Picture,
    to_pixels: npt.NDArray[np.float64],
    rng: np.random.Generator,
    *,
    own: bool,
    reference: bool,
    sink: Picture8,
) -> None:
    """Pirate cards flat on the table; `to_pixels` maps the table's mm."""
    h, w = image.shape[:2]
    for _ in range(int(rng.choice([0, 0, 1, 1, 1, 2, 3]))):
        name = str(rng.choice([*CARD_LABELS[:-1], "unknown", "unknown"]))
        choices = card_art(name, own=own, reference=reference) if name != "unknown" else ()
        art = choices[int(rng.integers(len(choices)))] if choices else unknown_art(rng, own=own, reference=reference)
        name = name if choices else "unknown"
        turn = rng.uniform(0, 2 * np.pi)
        spin = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        # Mirrored in y, since the table's y points away from the viewer and a picture's y down.
        flat = np.array([[-31, 50], [31, 50], [31, -50], [-31, -50]]) @ spin.T + rng.normal(0, 90, 2)
        corners = cv2.perspectiveTransform(flat[None].astype(np.float64), to_pixels)[0].astype(np.float32)
        size = float(np.linalg.norm(corners[3] - corners[0]))
        seen = cv2.intersectConvexConvex(corners, np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32))[0]
        visible = float(seen / max(abs(cv2.contourArea(corners)), 1.0))
        if visible < 0.1 or size < 20:
            continue
        shrink = min(1.0, size * 1.2 / 400)
        art = cv2.resize(art, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
        ah, aw = art.shape[:2]
        matrix = cv2.getPerspectiveTransform(np.array([[0, 0], [aw, 0], [aw, ah], [0, ah]], np.float32), corners)
        cover = cv2.warpPerspective(np.ones((ah, aw), np.float32), matrix, (w, h), flags=cv2.INTER_LINEAR)
        laid = cv2.warpPerspective(art, matrix, (w, h), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        drop = np.roll(cv2.GaussianBlur(cover, (0, 0), max(size / 60, 0.5)), tuple(rng.integers(-3, 4, 2)), (0, 1))
        image[:] = image * (1 - 0.35 * drop * (1 - cover))[..., None]
        image[:] = image * (1 - cover[..., None]) + laid * cover[..., None]
        for i, (old, quad, seen_before) in enumerate(sink.cards):  # a card laid over another hides it
            hidden = cv2.intersectConvexConvex(quad, corners)[0] / max(abs(cv2.contourArea(quad)), 1.0)
            sink.cards[i] = (old, quad, seen_before * (1 - min(float(hidden), 1.0)))
        sink.cards.append((name, corners, visible))


def _hand(rng: np.random.Generator, h: int, w: int, scale: float) -> tuple[Floats, Floats]:
    """A hand and arm reaching in from an edge: colour (h, w, 3) linear, coverage (h, w). `scale`: pixels a mm."""
    cover = np.zeros((h, w), np.uint8)
    skin = np.zeros((h, w), np.uint8)
    target = np.array([rng.uniform(0.2, 0.8) * w, rng.uniform(0.2, 0.8) * h])
    heading = rng.uniform(0, 2 * np.pi)
    back = np.array([np.cos(heading), np.sin(heading)])
    side = np.array([-back[1], back[0]])

    def limb(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], width: float, mask: Picture) -> None:
        cv2.line(mask, tuple(map(int, a)), tuple(map(int, b)), 255, max(int(width * scale), 1), cv2.LINE_AA)

    palm = target + back * 60 * scale
    limb(palm - back * 15 * scale, palm + back * 35 * scale, 72, skin)
    spread = rng.uniform(0.15, 0.5)
    for i in range(4):
        across = (i - 1.5) / 1.5
        root = palm - back * 25 * scale + side * across * 30 * scale
        tip = root - back * rng.uniform(35, 75) * scale + side * across * spread * 55 * scale
        limb(root, tip, rng.uniform(15, 19), skin)
    thumb = palm + side * 32 * scale * rng.choice([-1, 1])
    limb(thumb, thumb - back * 45 * scale + (thumb - palm) * 0.7, 20, skin)
    limb(palm + back * 30 * scale, palm + back * 900 * scale, 60, cover)
    both = cv2.max(cover, skin)
    soft = cv2.GaussianBlur(both, (0, 0), max(scale * 1.2, 0.5)).astype(np.float32) / 255
    depth = cv2.distanceTransform((both > 128).astype(np.uint8), cv2.DIST_L2, 3) / max(9 * scale, 1)
    shade = 0.45 + 0.55 * np.clip(depth, 0, 1) ** 0.6
    tone = np.array([0.62, 0.36, 0.26]) * rng.uniform(0.18, 1.1) * rng.uniform(0.9, 1.1, 3)
    sleeve = rng.uniform(0.02, 0.7, 3)
    use = (cv2.GaussianBlur(skin, (0, 0), 1).astype(np.float32) / 255)[..., None]
    colour = (tone * use + sleeve * (1 - use)) * shade[..., None]
    return colour.astype(np.float32), soft


def camera_effects(image: Floats, rng: np.random.Generator) -> Picture:
    """Linear radiance → what a small camera makes of it: exposure, cast, glare, shadow edge, blur, noise, JPEG."""
    h, w = image.shape[:2]
    cast = np.array([1 + rng.normal(0, 0.08), 1, 1 + rng.normal(0, 0.12)], np.float32).clip(0.65, 1.4)
    image = image * cast * np.float32(np.exp(rng.normal(0.0, 0.35)))
    yy, xx = np.mgrid[0:h, 0:w].astype(np.float32)
    if rng.random() < 0.5:
        r2 = ((xx / w - 0.5) ** 2 + (yy / h - 0.5) ** 2)[..., None]
        image = image * (1 - np.float32(rng.uniform(0, 0.9)) * r2)
    if rng.random() < 0.15:
        angle, at = rng.uniform(0, 6.3), rng.uniform(0.25, 0.75)
        edge = ((xx / w - at) * np.cos(angle) + (yy / h - at) * np.sin(angle)) / rng.uniform(0.004, 0.06)
        image = image * (1 - np.float32(rng.uniform(0.2, 0.75)) / (1 + np.exp(-np.clip(edge, -20, 20))))[..., None]
    if rng.random() < 0.12:
        cx, cy, r = rng.uniform(0, w), rng.uniform(0, h), rng.uniform(0.03, 0.2) * w
        glare = np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (r * r)) * rng.uniform(0.1, 1.2)
        image = image + glare[..., None]
    if rng.random() < 0.55:
        image = cv2.GaussianBlur(image, (0, 0), float(rng.uniform(0.3, 1.5)))
    elif rng.random() < 0.15:
        n = int(rng.integers(3, 8))
        line = np.zeros((n, n), np.float32)
        cv2.line(line, (0, int(rng.integers(n))), (n - 1, int(rng.integers(n))), 1.0)
        image = cv2.filter2D(image, -1, line / line.sum())
    out = to_srgb(image).astype(np.float32)
    contrast = np.float32(rng.uniform(0.85, 1.15))
    out = (out - 128) * contrast + 128
    grain = float(np.exp(rng.uniform(np.log(0.7), np.log(11))))
    noise = rng.standard_normal((h, w, 3), np.float32) * np.float32(grain)
    if rng.random() < 0.5:
        noise = cv2.GaussianBlur(noise, (0, 0), 0.6) * 1.4
    done: Any = np.clip(out + noise, 0, 255).astype(np.uint8)
    if rng.random() < 0.3:  # the camera sharpens
        soft = cv2.GaussianBlur(done, (0, 0), 1.2)
        done = cv2.addWeighted(done, 1.6, soft, -0.6, 0)
    if rng.random() < 0.7:
        done = cv2.imdecode(cv2.imencode(".jpg", done, [cv2.IMWRITE_JPEG_QUALITY, int(rng.uniform(50, 96))])[1], 1)
    return np.asarray(done)


def compose(
    rng: np.random.Generator,
    layer: StoredLayer,
    size: tuple[int, int],
    die_pixels: float,
    *,
    own: bool = True,
    reference: bool = True,
    hands: float = 0.12,
    held_out: bool = False,
) -> Picture8:
    """One finished picture of `size` (w, h) with dice of about `die_pixels`."""
    w, h = size
    lh, lw = layer.owner.shape
    scale = die_pixels / float(layer.meta["die_pixels"])
    angle = rng.uniform(0, 360)
    matrix: Floats = cv2.getRotationMatrix2D((lw / 2, lh / 2), angle, scale)
    reach = np.array([max(w - lw * scale * 0.7, 0), max(h - lh * scale * 0.7, 0)]) / 2
    matrix[:, 2] += np.array([w - lw, h - lh]) / 2 + rng.uniform(-1, 1, 2) * reach
    to_pixels = np.vstack([matrix, [0, 0, 1]]) @ np.array(layer.meta["homography"])
    result = Picture8(np.zeros((1, 1, 3), np.uint8))

    table = background(rng, h, w, held_out=held_out)
    if rng.random() < 0.5:
        _clutter(table, rng)
    if rng.random() < 0.15:
        _printed_symbols(table, rng)
    _lay_cards(table, to_pixels, rng, own=own, reference=reference, sink=result)

    owner_big = layer.owner
    cut = {
        int(i)
        for edge in (owner_big[0], owner_big[-1], owner_big[:, 0], owner_big[:, -1])
        for i in np.unique(edge)
        if i >= 0
    }
    dice = layer.dice
    if cut:  # dice that the layer's own edge cuts through would end in a straight line
        near = cv2.dilate(np.isin(owner_big, list(cut)).astype(np.uint8), np.ones((3, 3), np.uint8))
        dice = dice * (1 - near[..., None].astype(np.float32))
    flags = cv2.INTER_AREA if scale < 0.6 else cv2.INTER_LINEAR
    if scale < 0.75:  # warpAffine does not average: shrink first
        small = cv2.resize(dice, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        adapt = matrix @ np.array([[1 / scale, 0, 0], [0, 1 / scale, 0], [0, 0, 1]])
        dice = cv2.warpAffine(small, adapt, (w, h), flags=cv2.INTER_LINEAR)
    else:
        dice = cv2.warpAffine(dice, matrix, (w, h), flags=flags)
    light_matrix = matrix @ np.array([[2, 0, 0.5], [0, 2, 0.5], [0, 0, 1]])
    light = cv2.warpAffine(
        layer.irradiance, light_matrix, (w, h), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    owner = cv2.warpAffine(owner_big.astype(np.int16), matrix, (w, h), flags=cv2.INTER_NEAREST, borderValue=-1)
    picture = to_linear(table) * light * (1 - dice[..., 3:]) + dice[..., :3]

    hidden: Floats | None = None
    if rng.random() < hands:
        colour, cover = _hand(rng, h, w, die_pixels / 16)
        drop = np.roll(cv2.GaussianBlur(cover, (0, 0), die_pixels / 3), tuple(rng.integers(-20, 21, 2)), (0, 1))
        picture = picture * (1 - 0.45 * drop * (1 - cover))[..., None]
        picture = picture * (1 - cover[..., None]) + colour * float(light.mean()) * cover[..., None]
        ys, xs = np.nonzero(cover > 0.5)
        if len(xs) > 0.01 * w * h:
            result.hands.append((float(xs.min()), float(ys.min()), float(xs.max() + 1), float(ys.max() + 1)))
        hidden = cover

    for i, label in enumerate(layer.meta["labels"]):
        if i in cut or label["visible"] < 0.35:
            continue
        mine = owner == i
        whole = max(float((layer.owner == i).sum()) * scale * scale, 1.0)
        if hidden is not None:
            mine &= hidden < 0.5
        seen = float(mine.sum()) / whole
        if seen < 0.4:
            continue
        xs, ys = np.flatnonzero(mine.any(0)), np.flatnonzero(mine.any(1))
        box = (float(xs[0]), float(ys[0]), float(xs[-1] + 1), float(ys[-1] + 1))
        centre = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
        on_card = any(cv2.pointPolygonTest(quad, centre, False) >= 0 for _, quad, _ in result.cards)
        result.dice.append(DieTruth(label["face"], box, label["lean"] > 7, min(seen, 1.0) * label["visible"], on_card))
    result.image = camera_effects(picture, rng)
    return result
