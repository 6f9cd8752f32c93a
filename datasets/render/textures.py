"""What a die wears: six painted engravings on a plastic body, as albedo, groove height and roughness atlases.

A *print run* is one set of moulds and inks: it fixes the source of the shapes, the shades and how worn the set is.
Sources: our own drawings; where they are at hand, cut-outs and traced photographs of real faces (never in the
repository). `test` runs use the traced photographs and drawing runs that `train` never sees.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from scorer.faces import Face

from .shape import ATLAS_COLUMNS, ATLAS_ROWS

Array = npt.NDArray[Any]
"""float32 unless said otherwise."""
TILE = 192
FACES = tuple(Face)

INK_SHADES: dict[Face, tuple[tuple[int, int, int], ...]] = {
    Face.COIN: ((217, 160, 63), (255, 192, 34), (226, 150, 30), (200, 148, 70)),
    Face.DIAMOND: ((35, 108, 148), (20, 95, 165), (48, 118, 150)),
    Face.MONKEY: ((96, 57, 58), (84, 40, 38), (110, 68, 60)),
    Face.PARROT: ((72, 108, 71), (60, 112, 50), (86, 120, 80)),
    Face.SABERS: ((56, 64, 68), (80, 92, 100), (112, 134, 146), (64, 74, 80)),
    Face.SKULL: ((39, 39, 42), (28, 28, 30), (48, 47, 50)),
}
"""sRGB under neutral light, by print run."""

SYMBOL_SIZE: dict[Face, tuple[float, float]] = {
    Face.COIN: (0.69, 0.69),
    Face.DIAMOND: (0.64, 0.48),
    Face.MONKEY: (0.69, 0.77),
    Face.PARROT: (0.56, 0.77),
    Face.SABERS: (0.57, 0.72),
    Face.SKULL: (0.79, 0.62),
}
"""Width and height of a symbol in die edges."""

CUTOUTS = {
    Face.COIN: "Dices_Coin.png",
    Face.DIAMOND: "Dices_Diamond.png",
    Face.MONKEY: "Dices_Monkey.png",
    Face.PARROT: "Dices_Perroquet.png",
    Face.SABERS: "Dices_Swords.png",
    Face.SKULL: "Dices_Skull.png",
}
TRACED = {
    Face.COIN: "5Oro.png",
    Face.DIAMOND: "2Diamante.png",
    Face.MONKEY: "4Mono.png",
    Face.PARROT: "3Loro.png",
    Face.SABERS: "6Sable.png",
    Face.SKULL: "1Calavera.png",
}


def reference_folder() -> Path | None:
    """Where photographs of real dice and cards lie (`AUSGUCK_REFERENCE`, else ../shared/reference), or None."""
    path = Path(os.environ.get("AUSGUCK_REFERENCE", Path(__file__).resolve().parents[3] / "shared" / "reference"))
    return path if path.is_dir() else None


def to_linear(srgb: npt.ArrayLike) -> Array:
    """sRGB 0..255 → linear light 0..1."""
    x = np.asarray(srgb, np.float32) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4).astype(np.float32)


def soft_noise(rng: np.random.Generator, shape: tuple[int, int], grain: float) -> Array:
    """Smooth noise (h, w), about zero mean and unit spread, `grain` pixels a blob."""
    h, w = shape
    small = rng.standard_normal((max(2, round(h / grain) + 2), max(2, round(w / grain) + 2))).astype(np.float32)
    return cv2.resize(small, (w, h), interpolation=cv2.INTER_CUBIC)


def _place(ink: Array, face: Face, size: int) -> Array:
    """Scale an ink picture cut at the symbol's outline to its true size in the middle of a face of `size` pixels."""
    w, h = (round(v * size) for v in SYMBOL_SIZE[face])
    shrunk = cv2.resize(ink, (w, h), interpolation=cv2.INTER_AREA)
    out = np.zeros((size, size, *shrunk.shape[2:]), np.float32)
    y, x = (size - h) // 2, (size - w) // 2
    out[y : y + h, x : x + w] = shrunk
    return out


def _read(path: Path) -> Array:
    picture = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if picture is None:
        raise FileNotFoundError(f"expected a picture of a face at {path}, found none: check AUSGUCK_REFERENCE")
    return np.asarray(picture)


@lru_cache(maxsize=16)
def cutout(face: Face, folder: Path, size: int = TILE) -> tuple[Array, Array]:
    """Ink coverage (size, size) and sRGB (size, size, 3) 0..255 of a photographed symbol."""
    picture = _read(folder / "dice" / CUTOUTS[face])
    alpha = picture[..., 3].astype(np.float32) / 255
    rgb = picture[..., 2::-1].astype(np.float32)
    light = rgb.min(axis=2)  # ink of any colour has one dark channel, plastic has none
    threshold, _ = cv2.threshold(light[alpha > 0.5].astype(np.uint8), 0, 255, cv2.THRESH_OTSU)
    ink = np.clip((threshold + 22 - light) / 44, 0, 1) * alpha
    ys, xs = np.nonzero(alpha > 0.5)
    box = slice(ys.min(), ys.max() + 1), slice(xs.min(), xs.max() + 1)
    both = _place(np.dstack([ink, rgb * ink[..., None]])[box], face, size)
    cover = np.clip(both[..., 0], 0, 1)
    return cover, both[..., 1:] / np.maximum(cover, 1e-3)[..., None]


@lru_cache(maxsize=16)
def traced(face: Face, folder: Path, size: int = TILE) -> Array:
    """Ink coverage (size, size) of a traced photograph of a whole face."""
    picture = _read(folder / "dice" / "posterised" / TRACED[face])
    grey = picture[..., :3].astype(np.float32).min(axis=2)
    ink = (grey < (np.percentile(grey, 5) + np.percentile(grey, 60)) / 2).astype(np.uint8)
    n, pieces, stats, _centres = cv2.connectedComponentsWithStats(ink)
    for k in range(1, n):  # what touches the picture's edge lies beyond the rounded outline
        x, y, w, h = stats[k, :4]
        if x <= 6 or y <= 6 or x + w >= ink.shape[1] - 6 or y + h >= ink.shape[0] - 6 or stats[k, 4] < 12:
            ink[pieces == k] = 0
    ys, xs = np.nonzero(ink)
    cut = ink[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1].astype(np.float32)
    return _place(cut, face, size)


Drawing = Callable[[Face, int, np.random.Generator], Array]


def our_drawing() -> Drawing | None:
    """`ink_mask(face, size, rng)` of our own drawings, if that room is there."""
    try:
        from datasets.drawings.faces import ink_mask
    except ImportError:
        return None

    def draw(face: Face, size: int, rng: np.random.Generator) -> Array:
        mask = np.asarray(ink_mask(face, size, rng), np.float32)
        return mask / 255 if mask.max() > 1.5 else mask

    return draw


@dataclass(frozen=True, slots=True)
class PrintRun:
    """One set of moulds and inks."""

    source: str
    """"drawing", "cutout" or "traced"."""
    number: int
    split: str

    @property
    def name(self) -> str:
        """Id for manifests."""
        return f"{self.source}-{self.split}-{self.number}"


def draw_run(rng: np.random.Generator, split: str, everything: bool = False) -> PrintRun:
    """Pick a print run of a split. `everything` lets `train` use all sources (for the final weights)."""
    folder, drawing = reference_folder(), our_drawing()
    photo: tuple[str, ...] = {"train": ("cutout",), "test": ("traced",)}[split]
    if everything:
        photo = ("cutout", "traced")
    sources = [s for s in photo for _ in range(2) if folder is not None] + ["drawing"] * (2 if drawing else 0)
    if not sources:
        raise FileNotFoundError(
            "expected drawings of the faces (datasets.drawings) or photographs (AUSGUCK_REFERENCE), found neither"
        )
    return PrintRun(str(rng.choice(sources)), int(rng.integers(40)), split)


@dataclass(frozen=True, slots=True, eq=False)
class SetLook:
    """What all dice of one set share."""

    run: PrintRun
    body: Array
    """Linear RGB of the plastic."""
    inks: dict[Face, Array]
    depth: float
    """Depth of the engraving in edges."""
    wear: float
    rough: float
    warp: Array
    """(2, k, k) displacement of the run's shapes, in pixels of a tile."""
    weight: float
    """Lines grown (+) or thinned (-), in pixels of a tile."""
    photo: float
    """Share of a cut-out's own colours that is kept."""


def set_look(rng: np.random.Generator, run: PrintRun) -> SetLook:
    """The look of a set; the print run decides shapes and shades, `rng` the rest."""
    fixed = np.random.default_rng([run.number, {"train": 1, "test": 2}[run.split], len(run.source)])
    body = to_linear(fixed.uniform(222, 243) + np.array([fixed.uniform(0, 3), 0.0, -fixed.uniform(0, 9)]))
    if rng.random() < 0.06:
        body = to_linear(np.array([236, 226, 200]) + rng.uniform(-8, 8))  # yellowed
    inks = {}
    for face in FACES:
        shade: Array = np.array(INK_SHADES[face][fixed.integers(len(INK_SHADES[face]))], np.float32)
        shade = shade * fixed.uniform(0.88, 1.12) + fixed.uniform(-7, 7, 3)
        inks[face] = to_linear(np.clip(shade, 16, 255))
    return SetLook(
        run,
        body,
        inks,
        depth=float(fixed.uniform(0.012, 0.035)),
        wear=float(rng.beta(1, 4)),
        rough=float(rng.uniform(0.18, 0.5)),
        warp=fixed.standard_normal((2, 5, 5)).astype(np.float32) * 2.2,
        weight=float(fixed.uniform(-0.5, 1.8)),
        photo=float(fixed.uniform(0.2, 1.0)),
    )


def _warped(picture: Array, look: SetLook, rng: np.random.Generator) -> Array:
    """The run's own deformation of a shape, and a little of this die's: shift, turn, stretch."""
    size = picture.shape[0]
    yy, xx = np.mgrid[0:size, 0:size].astype(np.float32)
    dx, dy = (cv2.resize(w, (size, size), interpolation=cv2.INTER_CUBIC) for w in look.warp)
    turn, sx, sy = rng.normal(0, 0.02), rng.uniform(0.97, 1.03), rng.uniform(0.97, 1.03)
    cx, cy = size / 2 + rng.normal(0, 1.5), size / 2 + rng.normal(0, 1.5)
    u, v = xx - cx, yy - cy
    mx = (np.cos(turn) * u - np.sin(turn) * v) * sx + size / 2 + dx
    my = (np.sin(turn) * u + np.cos(turn) * v) * sy + size / 2 + dy
    return cv2.remap(picture, mx.astype(np.float32), my.astype(np.float32), cv2.INTER_LINEAR, borderValue=0)


def face_maps(face: Face, look: SetLook, rng: np.random.Generator, size: int = TILE) -> tuple[Array, Array, Array]:
    """Albedo (s, s, 3) linear, height (s, s) in edges (negative: engraved), roughness (s, s) of one side."""
    folder = reference_folder()
    photo_rgb = None
    if look.run.source == "drawing" or folder is None:
        drawing = our_drawing()
        assert drawing is not None
        cover = drawing(face, size, rng)
    elif look.run.source == "cutout":
        cover, rgb = cutout(face, folder, size)
        both = _warped(np.dstack([cover, rgb * cover[..., None]]), look, rng)
        cover = both[..., 0]
        photo_rgb = both[..., 1:] / np.maximum(cover, 1e-2)[..., None]
    else:
        cover = traced(face, folder, size)
    if photo_rgb is None:
        cover = _warped(cover, look, rng)
    hard = (cover > 0.5).astype(np.uint8)
    signed = cv2.distanceTransform(hard, cv2.DIST_L2, 5) - cv2.distanceTransform(1 - hard, cv2.DIST_L2, 5)
    signed = cv2.GaussianBlur(signed, (0, 0), 0.7) + look.weight * size / TILE + 0.45 * soft_noise(rng, (size, size), 3)
    ink = np.clip(signed * 0.8 + 0.5, 0, 1).astype(np.float32)
    inside = cv2.distanceTransform((ink > 0.5).astype(np.uint8), cv2.DIST_L2, 3)
    floor = np.clip(inside / (0.028 * size), 0, 1).astype(np.float32)
    height = -look.depth * cv2.GaussianBlur(floor, (0, 0), 0.8)
    colour = look.inks[face] * (1.3 - 0.45 * floor)[..., None]
    if photo_rgb is not None:
        colour = colour * (1 - look.photo) + to_linear(np.clip(photo_rgb, 8, 255)) * look.photo
    colour = colour * (1 + 0.07 * soft_noise(rng, (size, size), 9) + 0.04 * soft_noise(rng, (size, size), 2))[..., None]
    worn = soft_noise(rng, (size, size), 20) + 0.8 * soft_noise(rng, (size, size), 4)
    ink = ink * np.clip(1 - (worn - (2.6 - 2.2 * look.wear)) * 1.5, 0.15, 1)
    specks = (rng.random((size, size)) > 1 - 6e-4).astype(np.float32)
    specks = np.clip(cv2.GaussianBlur(specks, (0, 0), rng.uniform(0.6, 1.4)) * 6, 0, 1)
    near = cv2.GaussianBlur(cover, (0, 0), 6)
    ink = np.clip(ink + specks * (near > 0.05) * (ink < 0.5) - specks * (ink >= 0.5) * 0.8, 0, 1)
    body = look.body * (1 + 0.012 * soft_noise(rng, (size, size), 30))[..., None]
    albedo = body * (1 - ink[..., None]) + np.clip(colour, 0.002, 0.95) * ink[..., None]
    rough = look.rough * (1 - ink) + (0.12 + 0.25 * look.wear) * ink
    return np.clip(albedo, 0.002, 0.97).astype(np.float32), height.astype(np.float32), rough.astype(np.float32)


FOREIGN_BODIES = (
    (238, 236, 230),
    (238, 236, 230),
    (230, 220, 190),
    (190, 25, 30),
    (25, 60, 150),
    (30, 110, 50),
    (25, 25, 28),
    (235, 190, 40),
    (110, 50, 130),
    (240, 240, 240),
)


@dataclass(frozen=True, slots=True)
class ForeignLook:
    """A die that is none of ours."""

    kind: str
    """"pips", "blank", "digits" or "shapes"."""
    body: tuple[int, int, int]
    ink: tuple[int, int, int]


def foreign_look(rng: np.random.Generator) -> ForeignLook:
    """Some other die."""
    body = FOREIGN_BODIES[rng.integers(len(FOREIGN_BODIES))]
    ink = (20, 20, 22) if sum(body) > 380 else (240, 240, 240)
    if rng.random() < 0.25:
        ink = tuple(int(v) for v in rng.integers(10, 230, 3))  # type: ignore[assignment]
    return ForeignLook(str(rng.choice(["pips", "pips", "blank", "digits", "shapes", "shapes"])), body, ink)


def _foreign_ink(kind: str, side: int, rng: np.random.Generator, size: int) -> Array:
    mask = np.zeros((size, size), np.uint8)
    c = size / 2
    if kind == "pips":
        s, r = size * rng.uniform(0.22, 0.27), round(size * rng.uniform(0.075, 0.1))
        value = (1, 6, 2, 5, 3, 4)[side]
        spots = {
            1: [(0, 0)],
            2: [(-1, -1), (1, 1)],
            3: [(-1, -1), (0, 0), (1, 1)],
            4: [(-1, -1), (1, 1), (-1, 1), (1, -1)],
        }
        spots[5], spots[6] = spots[4] + [(0, 0)], spots[4] + [(-1, 0), (1, 0)]
        for x, y in spots[value]:
            cv2.circle(mask, (round(c + x * s), round(c + y * s)), r, 255, -1, cv2.LINE_AA)
    elif kind == "digits":
        text = str(side + 1) if rng.random() < 0.6 else chr(65 + int(rng.integers(26)))
        scale, thick = size / 38, max(2, size // 14)
        (w, h), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_DUPLEX, scale, thick)
        cv2.putText(
            mask, text, (round(c - w / 2), round(c + h / 2)), cv2.FONT_HERSHEY_DUPLEX, scale, 255, thick, cv2.LINE_AA
        )
    elif kind == "shapes":
        points = int(rng.integers(3, 9))
        angles = np.linspace(0, 2 * np.pi, 2 * points, endpoint=False) + rng.uniform(0, 6)
        outer, inner = size * rng.uniform(0.24, 0.38), size * rng.uniform(0.08, 0.3)
        radius = np.where(np.arange(2 * points) % 2, inner, outer)
        star = np.stack([c + radius * np.cos(angles), c + radius * np.sin(angles)], 1).astype(np.int32)
        cv2.fillPoly(mask, [star], 255, cv2.LINE_AA)
        if rng.random() < 0.5:
            cv2.circle(mask, (round(c), round(c)), round(size * rng.uniform(0.05, 0.2)), 0, -1, cv2.LINE_AA)
        if rng.random() < 0.4:
            cv2.circle(mask, (round(c), round(c)), round(size * 0.36), 255, round(size * 0.05), cv2.LINE_AA)
    return mask.astype(np.float32) / 255


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """Textures of a whole die, TILE pixels a side, 3 × 2 tiles."""

    albedo: Array
    height: Array
    rough: Array
    faces: tuple[Face | None, ...]
    """What each side of `shape.SIDES` shows (None: none of ours)."""


def _assemble(tiles: list[tuple[Array, Array, Array]], faces: tuple[Face | None, ...]) -> Atlas:
    def join(k: int) -> Array:
        rows = [
            np.concatenate([t[k] for t in tiles[r * ATLAS_COLUMNS : (r + 1) * ATLAS_COLUMNS]], 1)
            for r in range(ATLAS_ROWS)
        ]
        return np.ascontiguousarray(np.concatenate(rows, 0))

    return Atlas(join(0), join(1), join(2), faces)


def die_atlas(look: SetLook, rng: np.random.Generator, size: int = TILE) -> Atlas:
    """One of our dice: the six faces in random places, each at a random quarter turn."""
    faces = tuple(FACES[k] for k in rng.permutation(6))
    tiles = []
    for face in faces:
        quarter = int(rng.integers(4))
        albedo, height, rough = (np.rot90(m, quarter) for m in face_maps(face, look, rng, size))
        tiles.append((albedo, height, rough))
    return _assemble(tiles, faces)


def foreign_atlas(look: ForeignLook, rng: np.random.Generator, size: int = TILE) -> Atlas:
    """Some other die's six sides."""
    tiles = []
    rough_level = float(rng.uniform(0.12, 0.5))
    for side in range(6):
        ink = _foreign_ink(look.kind, side, rng, size)
        floor = cv2.GaussianBlur(ink, (0, 0), 2)
        body = to_linear(look.body) * (1 + 0.012 * soft_noise(rng, (size, size), 30))[..., None]
        albedo = body * (1 - ink[..., None]) + to_linear(look.ink) * ink[..., None]
        tiles.append(
            (
                np.clip(albedo, 0.002, 0.95).astype(np.float32),
                -0.03 * floor,
                np.full((size, size), rough_level, np.float32),
            )
        )
    return _assemble(tiles, (None,) * 6)
