"""Random tables: where dice lie, how they lean, what shines on them, and where the camera hangs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .body import Floats
from .scene import Camera, Die, Lamp, Lighting, Skin
from .skins import foreign_skin, own_skin

EDGE = 16.0
"""Usual edge of a raiding die, mm."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A thrown table, ready to render."""

    camera: Camera
    dice: tuple[Die, ...]
    lighting: Lighting


def about_z(angle: float) -> Floats:
    """Rotation by `angle` radians about the vertical."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], np.float32)


def tilted(angle: float, heading: float) -> Floats:
    """Rotation by `angle` radians about a level axis."""
    c, s = np.cos(angle), np.sin(angle)
    lean = np.array([[1, 0, 0], [0, c, -s], [0, s, c]], np.float32)
    turn = about_z(heading)
    return turn @ lean @ turn.T


def quarter_turns(rng: np.random.Generator) -> Floats:
    """One of the 24 ways in which a cube lies on a table."""
    m = np.zeros((3, 3), np.float32)
    for row, axis in enumerate(rng.permutation(3)):
        m[axis, row] = rng.choice([-1, 1])
    if np.linalg.det(m) < 0:
        m[:, 0] *= -1
    return m


def lying_with(face: str, skin: Skin, rng: np.random.Generator) -> Floats:
    """A rotation in which `skin` shows `face` upward, at a random angle on the table."""
    for _ in range(200):
        rotation = about_z(rng.uniform(0, 2 * np.pi)) @ quarter_turns(rng)
        if Die(skin, np.zeros(3, np.float32), rotation).up[0] == face:
            return rotation
    raise ValueError(f"expected one of the faces {skin.faces}, got {face!r}")


def _places(n: int, rng: np.random.Generator, edge: float) -> Floats:
    """(n, 2) mm: scattered, huddled or in a row, never through each other."""
    style = str(rng.choice(["scatter", "scatter", "huddle", "row", "touching"]))
    if style in ("row", "touching"):
        gap = edge * (rng.uniform(1.02, 1.3) if style == "row" else rng.uniform(1.0, 1.015))
        columns = int(rng.integers(2, 9))
        xy = np.array([(i % columns, i // columns) for i in range(n)], np.float32) * gap
        jitter = 0.0 if style == "touching" else 0.06 * edge
        xy += rng.normal(0, jitter, xy.shape) if jitter else 0
        xy -= xy.mean(0)
        return (xy @ about_z(rng.uniform(0, 6.3))[:2, :2].T).astype(np.float32)
    radius = edge * (3.2 if style == "scatter" else 1.9) * np.sqrt(n / 8) * rng.uniform(0.9, 1.5)
    placed: list[Floats] = []
    apart = edge * rng.uniform(1.03, 1.42)
    for _ in range(4000):
        if len(placed) == n:
            break
        p = rng.normal(0, radius * 0.6, 2).astype(np.float32)
        if all(np.linalg.norm(p - q) > apart for q in placed):
            placed.append(p)
        else:
            radius *= 1.002
            apart = max(apart * 0.9995, edge * 1.02)
    return np.array(placed, np.float32)


def _in_row(places: Floats) -> bool:
    return len(places) > 1 and float(np.linalg.norm(places[0] - places[1])) < EDGE * 1.5


def throw_dice(
    rng: np.random.Generator, skins: Sequence[Skin], *, lean: float = 0.08, stack: float = 0.03
) -> tuple[Die, ...]:
    """Dice lying about; each leans on something with probability `lean`, or stands on another with `stack`."""
    places = _places(len(skins), rng, EDGE)
    tight = _in_row(places)
    common = rng.uniform(0, 6.3)
    dice: list[Die] = []
    for skin, place in zip(skins[: len(places)], places, strict=True):
        angle = common + rng.normal(0, 0.02) if tight and rng.random() < 0.7 else rng.uniform(0, 6.3)
        rotation = about_z(angle) @ quarter_turns(rng)
        height = EDGE / 2
        chance = rng.random()
        if chance < lean:
            angle = np.deg2rad(rng.uniform(9, 38))
            rotation = tilted(angle, rng.uniform(0, 6.3)) @ rotation
            height = EDGE / 2 * (np.cos(angle) + 0.8 * np.sin(angle))
        elif chance < lean + stack and dice:
            under = dice[int(rng.integers(len(dice)))]
            place = under.position[:2] + rng.normal(0, EDGE * 0.15, 2)
            height = float(under.position[2]) + EDGE
        dice.append(Die(skin, np.array([*place, height], np.float32), rotation.astype(np.float32), EDGE))
    return tuple(dice)


def random_lighting(rng: np.random.Generator) -> Lighting:
    """Lamps, windows and gloom; the whole is near 1 on the table, exposure comes later."""
    sky = rng.uniform(0.12, 0.7)
    lamps = []
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        far, angle, high = rng.uniform(0, 700), rng.uniform(0, 6.3), rng.uniform(350, 1400)
        warm = rng.uniform(-0.5, 1)
        colour = np.array([1 + 0.18 * warm, 1, 1 - 0.28 * warm], np.float32) * np.float32(rng.uniform(0.15, 1))
        place = np.array([far * np.cos(angle), far * np.sin(angle), high], np.float32)
        lamps.append(Lamp(place, colour, float(np.exp(rng.uniform(np.log(4), np.log(220))))))
    total = sum(float(lamp.colour.mean()) for lamp in lamps)
    lamps = [Lamp(lamp.position, lamp.colour * np.float32((1 - sky) / total), lamp.radius) for lamp in lamps]
    tint = rng.uniform(0.9, 1.1, 3)
    bounce = rng.uniform(0.03, 0.35) * rng.uniform(0.6, 1.0, 3)
    return Lighting(tuple(lamps), (sky * tint).astype(np.float32), bounce.astype(np.float32))


def random_camera(rng: np.random.Generator, size: tuple[int, int], die_pixels: float) -> Camera:
    """35 to 80 cm high, up to 25 degrees from straight down, with a lens that gives dice of `die_pixels`."""
    across = size[0] * EDGE / die_pixels
    tilt = abs(rng.normal(0, 9)) if rng.random() < 0.8 else rng.uniform(0, 25)
    return Camera.looking_down(
        size, rng.uniform(350, 800), across=across, tilt=float(min(tilt, 25)), turn=float(rng.uniform(0, 360))
    )


def throw_table(
    rng: np.random.Generator,
    size: tuple[int, int],
    die_pixels: float,
    *,
    dice: int | None = None,
    sources: tuple[str, ...] | None = None,
    lean: float = 0.08,
    stack: float = 0.03,
    foreign: float = 0.15,
) -> Table:
    """A whole random table: mostly eight dice of ours, sometimes fewer, more, or strangers among them."""
    n = dice if dice is not None else int(rng.choice([8, 8, 8, 8, 8, 8, 7, 9, *range(1, 7), 10]))
    one_set = rng.random() < 0.7
    first = own_skin(rng, **({"sources": sources} if sources else {}))
    skins = [
        first if one_set and i and rng.random() < 0.3 else own_skin(rng, **({"sources": sources} if sources else {}))
        for i in range(n)
    ]
    if rng.random() < foreign:
        for i in rng.permutation(n)[: int(rng.integers(1, min(n, 5) + 1))]:
            skins[int(i)] = foreign_skin(rng)
    return Table(
        random_camera(rng, size, die_pixels), throw_dice(rng, skins, lean=lean, stack=stack), random_lighting(rng)
    )
