"""What is painted on dice: ours in many print runs and states of wear, and the dice of other games.

The photographs of `../shared/reference/dice` join as a further source where that folder exists: they never ship, but
what a network learns from them does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from datasets.drawings.faces import ink_mask, sample_ink
from scorer.faces import Face

from .body import Floats
from .scene import Skin, to_linear

TEXTURE = 256
"""Pixels a side at which sides are painted."""

PHOTOGRAPHS = {
    Face.COIN: ("Dices_Coin.png", "5Oro.png", 0.69),
    Face.DIAMOND: ("Dices_Diamond.png", "2Diamante.png", 0.64),
    Face.MONKEY: ("Dices_Monkey.png", "4Mono.png", 0.77),
    Face.PARROT: ("Dices_Perroquet.png", "3Loro.png", 0.77),
    Face.SABERS: ("Dices_Swords.png", "6Sable.png", 0.72),
    Face.SKULL: ("Dices_Skull.png", "1Calavera.png", 0.79),
}
"""Cut-out, posterised face, and the longer side of the symbol as a share of the die's edge."""


def reference_folder() -> Path:
    """Where the photographs lie, if anywhere: `$AUSGUCK_REFERENCE`, else beside the project."""
    return Path(os.environ.get("AUSGUCK_REFERENCE", Path(__file__).parents[2] / ".." / "shared" / "reference"))


@cache
def _cutout(face: Face) -> tuple[Floats, Floats] | None:
    """A photographed symbol centred on a face: linear colour (s, s, 3) and coverage (s, s)."""
    name, _, extent = PHOTOGRAPHS[face]
    picture = cv2.imread(str(reference_folder() / "dice" / name), cv2.IMREAD_UNCHANGED)
    if picture is None:
        return None
    alpha = picture[..., 3]
    columns, rows = np.flatnonzero((alpha > 40).any(0)), np.flatnonzero((alpha > 40).any(1))
    picture = picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scale = extent * TEXTURE / max(picture.shape[:2])
    picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    canvas = np.zeros((TEXTURE, TEXTURE, 4), np.uint8)
    y, x = (TEXTURE - picture.shape[0]) // 2, (TEXTURE - picture.shape[1]) // 2
    canvas[y : y + picture.shape[0], x : x + picture.shape[1]] = picture
    return to_linear(np.ascontiguousarray(canvas[..., :3])), canvas[..., 3].astype(np.float32) / 255


@cache
def _posterised(face: Face) -> Floats | None:
    """Ink coverage (s, s) of a photographed whole face."""
    _, name, extent = PHOTOGRAPHS[face]
    picture = cv2.imread(str(reference_folder() / "dice" / "posterised" / name))
    if picture is None:
        return None
    n = picture.shape[0]
    inner = picture[int(n * 0.05) : int(n * 0.93), int(n * 0.05) : int(n * 0.93)]
    dark = (inner.min(2) < 150).astype(np.uint8)
    count, pieces, stats, _ = cv2.connectedComponentsWithStats(dark)
    keep = np.zeros_like(dark)
    h, w = dark.shape
    for i in range(1, count):  # the corners beyond the round face are painted too: they touch the picture's edge
        x, y, width, height, _ = stats[i]
        if x > 1 and y > 1 and x + width < w - 1 and y + height < h - 1:
            keep |= (pieces == i).astype(np.uint8)
    columns, rows = np.flatnonzero(keep.any(0)), np.flatnonzero(keep.any(1))
    symbol = keep[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.float32)
    scale = extent * TEXTURE / max(symbol.shape)
    symbol = cv2.resize(symbol, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    canvas = np.zeros((TEXTURE, TEXTURE), np.float32)
    y, x = (TEXTURE - symbol.shape[0]) // 2, (TEXTURE - symbol.shape[1]) // 2
    canvas[y : y + symbol.shape[0], x : x + symbol.shape[1]] = symbol
    return canvas


def _linear(rgb: tuple[float, ...] | Floats) -> Floats:
    return (np.asarray(rgb, np.float32) / 255) ** np.float32(2.2)


def _body(rng: np.random.Generator) -> Floats:
    level = rng.uniform(216, 244)
    warm = rng.uniform(0, 9)
    return _linear((level, level - warm * 0.4, level - warm))


def _shifted(mask: Floats, rng: np.random.Generator) -> Floats:
    """Symbols are never quite centred, nor quite upright or of one size."""
    turn: Floats = cv2.getRotationMatrix2D((TEXTURE / 2, TEXTURE / 2), rng.normal(0, 4), rng.uniform(0.92, 1.08))
    turn[:, 2] += rng.normal(0, TEXTURE * 0.015, 2)
    return np.asarray(cv2.warpAffine(mask, turn, (TEXTURE, TEXTURE), flags=cv2.INTER_LINEAR))


def _drawn(face: Face, body: Floats, ink: Floats, rng: np.random.Generator, source: str) -> tuple[Floats, Floats]:
    quarter = int(rng.integers(4))
    mask: Floats | None = None
    colour: Floats = np.broadcast_to(ink, (TEXTURE, TEXTURE, 3))
    if source == "photograph" and (cutout := _cutout(face)) is not None:
        colour, mask = cutout
        gain = rng.uniform(0.8, 1.25) * rng.uniform(0.92, 1.08, 3).astype(np.float32)
        colour = colour * gain.astype(np.float32)
    elif source == "posterised" and (traced := _posterised(face)) is not None:
        grow = rng.uniform(-1, 1)
        mask = np.clip(cv2.GaussianBlur(traced, (0, 0), 1.5) * 2 - 0.5 + 0.25 * grow, 0, 1)
    if mask is None:
        mask = ink_mask(face, TEXTURE, rng, wear=float(rng.uniform(0, 0.8)) if rng.random() < 0.5 else 0.1)
    both = _shifted(np.dstack([colour, mask]).astype(np.float32), rng)
    colour, mask = both[..., :3], both[..., 3]
    if source != "photograph":  # photographs bring their own dark floors and light flanks
        deep = cv2.GaussianBlur(mask, (0, 0), TEXTURE / 60)
        shade = 1.12 - 0.35 * np.clip(deep * 2 - 1, 0, 1) + rng.normal(0, 0.03)
        colour = colour * shade[..., None]
    painted = body * (1 - mask[..., None]) + colour * mask[..., None]
    painted = np.rot90(painted, quarter).astype(np.float32)
    return np.ascontiguousarray(painted), np.ascontiguousarray(np.rot90(mask, quarter)).astype(np.float32)


def own_skin(
    rng: np.random.Generator, *, sources: tuple[str, ...] = ("drawing", "drawing", "posterised", "photograph")
) -> Skin:
    """One die of our game: six faces in random places, one source of symbols, one print run, its own wear."""
    faces = [Face(f) for f in rng.permutation(list(Face))]
    source = str(rng.choice(sources))
    body = _body(rng)
    sides = [_drawn(face, body, _linear(sample_ink(face, rng)), rng, source) for face in faces]
    return Skin.painted(sides, [face.value for face in faces], depth=float(rng.uniform(0.004, 0.016)))


def foreign_skin(rng: np.random.Generator) -> Skin:
    """A die of some other game: pips, letters, other symbols, none, or our symbols in the wrong place."""
    body = _body(rng) if rng.random() < 0.6 else _linear(rng.uniform(10, 245, 3))
    ink = _linear(rng.uniform(0, 90, 3)) if body.mean() > 0.25 else _linear(rng.uniform(180, 250, 3))
    paint: Callable[[int], Floats] = {
        "pips": lambda side: _pips(side + 1, rng),
        "letters": lambda side: _letter(rng),
        "shapes": lambda side: _shape(rng),
        "blank": lambda side: np.zeros((TEXTURE, TEXTURE), np.float32),
    }[str(rng.choice(["pips", "pips", "letters", "shapes", "shapes", "blank"]))]
    sides = []
    for side in range(6):
        mask = _shifted(paint(side), rng)
        sides.append(((body * (1 - mask[..., None]) + ink * mask[..., None]).astype(np.float32), mask))
    return Skin.painted(sides, ["foreign_die"] * 6, depth=float(rng.uniform(0, 0.02)))


def _pips(n: int, rng: np.random.Generator) -> Floats:
    spots = {1: [4], 2: [0, 8], 3: [0, 4, 8], 4: [0, 2, 6, 8], 5: [0, 2, 4, 6, 8], 6: [0, 2, 3, 5, 6, 8]}[n]
    mask = np.zeros((TEXTURE, TEXTURE), np.float32)
    spread, radius = rng.uniform(0.2, 0.27), rng.uniform(0.06, 0.1)
    for spot in spots:
        centre = (0.5 + (spot % 3 - 1) * spread, 0.5 + (spot // 3 - 1) * spread)
        cv2.circle(mask, (int(centre[0] * TEXTURE), int(centre[1] * TEXTURE)), int(radius * TEXTURE), 1.0, -1)
    return cv2.GaussianBlur(mask, (0, 0), 1)


def _letter(rng: np.random.Generator) -> Floats:
    mask = np.zeros((TEXTURE, TEXTURE), np.uint8)
    text = str(rng.choice(list("ABCDEFGHKMPRSTVWXYZ0123456789?!&#")))
    font = int(rng.choice([cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_TRIPLEX, cv2.FONT_HERSHEY_SIMPLEX]))
    (w, h), _ = cv2.getTextSize(text, font, 6, 12)
    cv2.putText(mask, text, ((TEXTURE - w) // 2, (TEXTURE + h) // 2), font, 6, 255, int(rng.integers(8, 22)))
    return mask.astype(np.float32) / 255


def _shape(rng: np.random.Generator) -> Floats:
    """Stars, bolts, rings, blobs: whatever other games engrave."""
    mask = np.zeros((TEXTURE, TEXTURE), np.float32)
    centre = np.array([TEXTURE / 2, TEXTURE / 2])
    corners = int(rng.integers(3, 9))
    kind = str(rng.choice(["star", "polygon", "ring", "blob", "bars"]))
    angle = np.arange(corners * 2) * np.pi / corners + rng.uniform(0, 6.3)
    outer, inner = rng.uniform(0.24, 0.4) * TEXTURE, rng.uniform(0.08, 0.22) * TEXTURE
    if kind == "star":
        radius = np.where(np.arange(corners * 2) % 2, inner, outer)
    elif kind == "polygon":
        radius = np.full(corners * 2, outer)
    else:
        radius = outer * rng.uniform(0.35, 1.0, corners * 2)
    points = centre + np.stack([np.cos(angle), np.sin(angle)], 1) * radius[:, None]
    if kind == "ring":
        cv2.circle(mask, (TEXTURE // 2, TEXTURE // 2), int(outer), 1.0, int(rng.integers(10, 34)))
        cv2.circle(mask, (TEXTURE // 2, TEXTURE // 2), int(inner * 0.6), 1.0, -1 if rng.random() < 0.5 else 8)
    elif kind == "bars":
        for _ in range(int(rng.integers(1, 4))):
            ends = (centre + rng.uniform(-0.36, 0.36, (2, 2)) * TEXTURE).astype(int)
            cv2.line(mask, tuple(map(int, ends[0])), tuple(map(int, ends[1])), 1.0, int(rng.integers(8, 30)))
    else:
        cv2.fillPoly(mask, [points.astype(np.int32)], 1.0)
        if rng.random() < 0.4:
            cv2.fillPoly(mask, [(centre + (points - centre) * 0.5).astype(np.int32)], 0.0)
    return cv2.GaussianBlur(mask, (0, 0), 1.2)
