"""The six faces as ink: coverage masks, ink colours and groove depths, from the SVG files beside this module.

A face is drawn in a square of 100 units = the edge of a die. `ink_mask` paints it at any size, either as
drawn or as *one particular die* has it: nodes pushed about, strokes fatter or thinner, edges ragged, chips,
specks, overspill and wear. Only numpy and OpenCV are needed.
"""

from __future__ import annotations

import functools
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from datasets.drawings.paths import Segments, flatten, read_svg_paths
from scorer.faces import Face

FOLDER = Path(__file__).with_name("faces")
UNITS = 100.0
"""Edge of a die in the units of the drawings."""

RGB = tuple[int, int, int]
Mask = NDArray[np.float32]

INKS: dict[Face, tuple[RGB, ...]] = {
    Face.COIN: ((217, 160, 63), (255, 192, 34), (226, 150, 30), (196, 142, 52), (236, 176, 60)),
    Face.DIAMOND: ((35, 108, 148), (16, 92, 158), (28, 84, 128), (52, 122, 162)),
    Face.MONKEY: ((96, 57, 58), (80, 38, 38), (112, 66, 60), (72, 30, 34)),
    Face.PARROT: ((72, 108, 71), (58, 96, 44), (84, 120, 72), (52, 84, 50)),
    Face.SABERS: ((56, 64, 68), (40, 46, 52), (76, 86, 94), (94, 110, 120), (112, 134, 146)),
    Face.SKULL: ((39, 39, 42), (24, 24, 27), (50, 50, 52)),
}
"""Ink shades by face under neutral light, R G B 0..255, by print run; the first is the commonest."""

BODIES: tuple[RGB, ...] = (
    (236, 236, 233),
    (242, 241, 238),
    (229, 227, 222),
    (224, 224, 222),
    (240, 236, 228),
)
"""Shades of the white plastic under neutral light, R G B 0..255."""

GROOVE_DEPTH = 0.03
"""Depth of the deepest groove as a fraction of the die's edge; `height_map` is 1 there."""

_FLANK = 0.045  # distance from an ink edge, as a fraction of the die's edge, at which a groove is deepest


@functools.cache
def face_pieces(face: Face) -> tuple[Segments, ...]:
    """Outlines and cut-outs of a face, even-odd, in units of `UNITS` a die edge; y points down."""
    return tuple(read_svg_paths(FOLDER / f"{Face(face).value}.svg"))


def ink_mask(
    face: Face | str,
    size: int,
    rng: np.random.Generator | None = None,
    *,
    wobble: float = 1.0,
    wear: float = 0.3,
) -> Mask:
    """Paint the ink of a face: float32 (size, size), 0 = body, 1 = ink; `size` pixels are one die edge.

    Without `rng` the drawing comes out as drawn. With it every call gives another die: `wobble` scales how
    far shapes and stroke widths stray (1 = as seen on real dice, 2 = sloppy), `wear` in 0..1 how much paint
    is chipped, specked or rubbed off. Raises ValueError for an unknown face or a size below 4 pixels.
    """
    if size < 4:
        raise ValueError(f"Expected a die of at least 4 pixels, got {size}: ask for a larger mask.")
    pieces = face_pieces(Face(face))
    work = _working_size(size)
    if rng is None:
        return _shrink(_fill(pieces, work), size)
    signed = _signed_distance(_fill(_push_nodes(pieces, rng, wobble), work))
    signed += _stroke_change(work, rng, wobble)
    ink = np.clip(signed * (work / UNITS) + 0.5, 0, 1)
    ink = _overspill(ink, signed, rng, wear)
    _chips(ink, signed, rng, wear)
    ink *= _rubbed(work, rng, wear)
    return _shrink(ink, size)


def sample_ink(face: Face | str, rng: np.random.Generator) -> RGB:
    """An ink of this face: between two of its print runs, with a little scatter in lightness and hue."""
    shades = np.array(INKS[Face(face)], float)
    first, second = shades[rng.integers(len(shades))], shades[rng.integers(len(shades))]
    mixed = first + (second - first) * rng.random()
    mixed = mixed * rng.normal(1, 0.05) + rng.normal(0, 3, 3)
    r, g, b = np.clip(mixed, 0, 255).round().astype(int)
    return int(r), int(g), int(b)


def height_map(mask: Mask, flank: float = _FLANK) -> Mask:
    """Groove depth under an ink mask: float32 like `mask`, 0 = the die's surface, 1 = `GROOVE_DEPTH` below.

    Grooves are V-shaped: depth grows evenly with the distance from the ink's edge until `flank` (a fraction
    of the die's edge), where the floor levels out. Narrow strokes are therefore shallower than broad ones.
    """
    size = mask.shape[0]
    inside = (mask > 0.5).astype(np.uint8)
    distance = cv2.distanceTransform(inside, cv2.DIST_L2, 5)
    # Half a pixel back, plus the coverage of the edge pixel itself, gives a slope without a step.
    depth = np.clip((distance - 0.5 * inside) / max(flank * size, 1.0), 0, 1)
    depth = np.maximum(depth, 0.0) * (0.5 + 0.5 * mask)
    softened: Mask = cv2.GaussianBlur(depth.astype(np.float32), (0, 0), max(size / 300, 0.3))
    return softened.astype(np.float32)


def face_picture(
    face: Face | str,
    size: int,
    rng: np.random.Generator | None = None,
    *,
    wobble: float = 1.0,
    wear: float = 0.3,
) -> NDArray[np.uint8]:
    """A flat, unlit picture of a whole face: uint8 BGR (size, size, 3), ink on the body's white."""
    mask = ink_mask(face, size, rng, wobble=wobble, wear=wear)[..., None]
    ink = INKS[Face(face)][0] if rng is None else sample_ink(face, rng)
    body = BODIES[0] if rng is None else BODIES[rng.integers(len(BODIES))]
    rgb = np.array(body) * (1 - mask) + np.array(ink) * mask
    return np.ascontiguousarray(rgb[..., ::-1].round().astype(np.uint8))


def _working_size(size: int) -> int:
    """Pixels of the inner raster: three or four samples a pixel for small dice, fewer for large ones."""
    return int(np.clip(size * 4, 192, max(768, size)))


def _fill(pieces: tuple[Segments, ...] | list[Segments], work: int) -> Mask:
    shift = 4  # fillPoly takes whole numbers: sixteenths of a pixel keep the curves smooth
    scale = work / UNITS * (1 << shift)
    half = (1 << shift) / 2
    polygons = [np.round(flatten(p) * scale - half).astype(np.int32) for p in pieces]
    canvas = np.zeros((work, work), np.uint8)
    cv2.fillPoly(canvas, polygons, 255, cv2.LINE_AA, shift)
    return (canvas / np.float32(255)).astype(np.float32)


def _shrink(mask: Mask, size: int) -> Mask:
    if mask.shape[0] != size:
        mask = cv2.resize(mask, (size, size), interpolation=cv2.INTER_AREA).astype(np.float32)
    return np.clip(mask, 0, 1).astype(np.float32)


def _push_nodes(pieces: tuple[Segments, ...], rng: np.random.Generator, wobble: float) -> list[Segments]:
    """Move each piece a little and each node with its handles a little more; neighbours keep meeting."""
    pushed = []
    for piece in pieces:
        count = len(piece)
        node = rng.normal(0, 0.22 * wobble, (count, 2))
        following = np.roll(node, -1, axis=0)
        moves = np.stack([node, node, following, following], axis=1)
        moves[:, 1:3] += rng.normal(0, 0.12 * wobble, (count, 2, 2))
        pushed.append(piece + moves + rng.normal(0, 0.25 * wobble, 2))
    # The whole symbol sits and stretches a little differently on every die.
    middle = UNITS / 2
    stretch = rng.normal(1, 0.015 * wobble, 2)
    slant = rng.normal(0, 0.02 * wobble)
    matrix = np.array([[stretch[0], slant], [-slant * 0.5, stretch[1]]])
    offset = rng.normal(0, 0.6 * wobble, 2)
    return [(p - middle) @ matrix + middle + offset for p in pushed]


def _signed_distance(mask: Mask) -> Mask:
    """Distance from the ink's edge in drawing units, positive inside the ink."""
    ink = (mask > 0.5).astype(np.uint8)
    inside = cv2.distanceTransform(ink, cv2.DIST_L2, 5)
    outside = cv2.distanceTransform(1 - ink, cv2.DIST_L2, 5)
    signed: Mask = ((inside - outside) * np.float32(UNITS / mask.shape[0])).astype(np.float32)
    return signed


def _noise(work: int, cells: float, rng: np.random.Generator) -> Mask:
    """Smooth noise, mean 0, deviation about 1, with `cells` bumps along an edge."""
    count = max(round(cells), 2)
    coarse = rng.normal(0, 1.35, (count + 3, count + 3)).astype(np.float32)
    fine = cv2.resize(coarse, (work, work), interpolation=cv2.INTER_CUBIC)
    return fine.astype(np.float32)


def _stroke_change(work: int, rng: np.random.Generator, wobble: float) -> Mask:
    """How far the ink's edge moves outward, in drawing units: even growth, slow drift and a ragged rim."""
    even = rng.normal(0, 0.3)
    drift = 0.2 * _noise(work, 5, rng)
    ragged = 0.12 * _noise(work, 32, rng) + 0.08 * _noise(work, 70, rng)
    change: Mask = ((even + drift + ragged) * np.float32(wobble)).astype(np.float32)
    return change


def _overspill(ink: Mask, signed: Mask, rng: np.random.Generator, wear: float) -> Mask:
    """Thin paint left beside the grooves: a faint film close to the edge, and a few specks farther out."""
    work = ink.shape[0]
    film = np.clip(_noise(work, 14, rng) - 1.5, 0, 1) * np.clip(1 + signed / 2.0, 0, 1) * (0.3 + 0.5 * wear)
    spilt: Mask = np.maximum(ink, film.astype(np.float32))
    for _ in range(rng.poisson(1 + 6 * wear)):
        part, speck = _spot(work, rng.uniform(18, 82, 2), rng.uniform(0.15, 0.5), rng)
        spilt[part] = np.maximum(spilt[part], speck * np.float32(rng.uniform(0.3, 1)))
    return spilt


def _chips(ink: Mask, signed: Mask, rng: np.random.Generator, wear: float) -> None:
    """Take small flakes of paint off `ink`, in place; most of them go at an edge."""
    work = signed.shape[0]
    rim = np.flatnonzero((signed > 0) & (signed < 2.5))
    if len(rim) == 0:
        return
    for _ in range(rng.poisson(1 + 14 * wear)):
        row, column = divmod(int(rim[rng.integers(len(rim))]), work)
        centre = np.array([column, row]) * (UNITS / work)
        part, chip = _spot(work, centre, rng.uniform(0.2, 0.5 + 0.9 * wear), rng)
        ink[part] *= 1 - chip * np.float32(rng.uniform(0.6, 1))


def _rubbed(work: int, rng: np.random.Generator, wear: float) -> Mask:
    """Coverage left where fingers have rubbed: thin, blotchy paint in parts of the face."""
    if rng.random() > wear:
        return np.ones((work, work), np.float32)
    where = np.clip(_noise(work, 3, rng) - 0.6, 0, 1)
    blotches = np.clip(0.5 + 0.5 * _noise(work, 40, rng), 0, 1)
    left: Mask = (1 - np.clip(where * blotches * (0.3 + 0.7 * wear), 0, 0.8)).astype(np.float32)
    return left


def _spot(
    work: int, centre: NDArray[np.float64], radius: float, rng: np.random.Generator
) -> tuple[tuple[slice, slice], Mask]:
    """A soft, slightly long spot round `centre` (drawing units): its place in the raster and its cover."""
    scale = work / UNITS
    axes = np.maximum(radius * scale * np.array([rng.uniform(1, 2.2), 1.0]), 0.6)
    reach = int(np.ceil(axes.max() + 2))
    x, y = centre * scale
    across = np.arange(max(int(x) - reach, 0), min(int(x) + reach + 1, work))
    down = np.arange(max(int(y) - reach, 0), min(int(y) + reach + 1, work))[:, None]
    turn = rng.uniform(0, np.pi)
    u = (across - x) * np.cos(turn) + (down - y) * np.sin(turn)
    v = (down - y) * np.cos(turn) - (across - x) * np.sin(turn)
    near = 1.0 - np.sqrt((u / axes[0]) ** 2 + (v / axes[1]) ** 2)
    part = (slice(int(down[0, 0]), int(down[-1, 0]) + 1), slice(int(across[0]), int(across[-1]) + 1))
    return part, np.clip(near * axes.min() + 0.5, 0, 1).astype(np.float32)
