"""What dice lie on: table tops painted from noise, and dice-free parts of photographs. sRGB float32 0..255, RGB.

A bank is drawn once a process. Banks of the two splits come from different seeds and different photographs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from .textures import Array, reference_folder, soft_noise

SIDE = 640
BANK = 48


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One surface."""

    name: str
    picture: npt.NDArray[Any]
    """(h, w, 3) sRGB."""
    mm_per_pixel: float


def _mix(field: Array, low: np.ndarray, high: np.ndarray) -> Array:
    t = np.clip(field, 0, 1)[..., None]
    return (low * (1 - t) + high * t).astype(np.float32)


def _wood(rng: np.random.Generator) -> Array:
    n = SIDE
    xx = np.broadcast_to(np.arange(n, dtype=np.float32), (n, n))
    bend = cv2.resize(rng.standard_normal((6, 4)).astype(np.float32), (n, n), interpolation=cv2.INTER_CUBIC)
    stretched = cv2.resize(rng.standard_normal((10, n // 2)).astype(np.float32), (n, n), interpolation=cv2.INTER_CUBIC)
    rings = np.sin(xx / rng.uniform(6, 40) + bend * rng.uniform(1, 6) + stretched * 0.4) * 0.5 + 0.5
    fine = cv2.resize(
        rng.standard_normal((max(4, n // 40), n)).astype(np.float32), (n, n), interpolation=cv2.INTER_LINEAR
    )
    base = np.array(
        [(150, 100, 60), (100, 62, 38), (190, 150, 105), (70, 45, 32), (165, 78, 42), (205, 180, 145)][rng.integers(6)]
    )
    dark = base * rng.uniform(0.5, 0.85)
    out = _mix(rings ** rng.uniform(0.7, 2) * 0.8 + 0.12 * fine + 0.1, dark, base)
    if rng.random() < 0.5:  # planks
        width = int(rng.integers(80, 260))
        for x in range(int(rng.integers(width)), n, width):
            out[:, x : x + width] *= rng.uniform(0.82, 1.15)
            out[:, x : x + 2] *= 0.45
    return out


def _cloth(rng: np.random.Generator) -> Array:
    n = SIDE
    colour = rng.uniform(15, 235, 3) * rng.uniform(0.4, 1.0)
    yy, xx = np.mgrid[0:n, 0:n].astype(np.float32)
    period = rng.uniform(2.5, 9)
    weave = np.sin(xx * 2 * np.pi / period) * np.sin(yy * 2 * np.pi / period)
    amount = rng.uniform(0.02, 0.2)
    out = (
        colour
        * (1 + amount * weave + 0.06 * rng.standard_normal((n, n)) + 0.06 * soft_noise(rng, (n, n), 60))[..., None]
    )
    if rng.random() < 0.35:  # woven pattern
        other = rng.uniform(15, 235, 3)
        step, width = int(rng.integers(20, 120)), rng.uniform(0.1, 0.6)
        lines = ((xx % step) < step * width) | (((yy % step) < step * width) & (rng.random() < 0.6))
        out = np.where(lines[..., None], out * 0.3 + other * 0.7, out)
    return out.astype(np.float32)


def _felt(rng: np.random.Generator) -> Array:
    n = SIDE
    colour = np.array(
        [(25, 95, 60), (20, 60, 120), (120, 25, 35), (35, 35, 40), (70, 75, 80), (90, 50, 110)][rng.integers(6)]
    )
    noise = rng.standard_normal((n, n)).astype(np.float32)
    fuzz = cv2.GaussianBlur(noise, (0, 0), 1.0) * 2 + 0.5 * noise + soft_noise(rng, (n, n), 40) * 0.6
    return np.asarray(colour * (1 + rng.uniform(0.04, 0.14) * fuzz)[..., None], np.float32)


def _leather(rng: np.random.Generator) -> Array:
    n = SIDE
    bumps = sum((abs(soft_noise(rng, (n, n), g)) for g in (6, 11)), np.zeros((n, n), np.float32))
    colour = np.array([(110, 62, 35), (35, 28, 25), (140, 90, 60), (90, 25, 25), (190, 160, 120)][rng.integers(5)])
    return np.asarray(colour * (0.65 + 0.3 * bumps)[..., None], np.float32)


def _marble(rng: np.random.Generator) -> Array:
    n = SIDE
    turn = sum((soft_noise(rng, (n, n), g) * g / 120 for g in (160, 70, 30, 12)), np.zeros((n, n), np.float32))
    veins = np.abs(np.sin(turn * rng.uniform(2, 5))) ** rng.uniform(0.2, 0.6)
    light = np.array([230, 228, 222]) if rng.random() < 0.6 else np.array([70, 72, 75])
    return _mix(veins, rng.uniform(0.4, 0.9) * light, light)


def _speckle(rng: np.random.Generator) -> Array:
    n = SIDE
    out = np.broadcast_to(rng.uniform(30, 220, 3), (n, n, 3)).astype(np.float32).copy()
    for _ in range(int(rng.integers(2, 5))):
        spots = cv2.GaussianBlur((rng.random((n, n)) > 0.985).astype(np.float32), (0, 0), rng.uniform(0.8, 3))
        t = np.clip(spots / max(float(spots.max()), 1e-6) * 3, 0, 1)[..., None]
        out = out * (1 - t) + rng.uniform(0, 250, 3) * t
    return out.astype(np.float32)


def _checker(rng: np.random.Generator) -> Array:
    n = SIDE
    yy, xx = np.mgrid[0:n, 0:n]
    step = int(rng.integers(25, 130))
    a, b = rng.uniform(10, 245, 3), rng.uniform(10, 245, 3)
    field = ((xx // step + yy // step) % 2).astype(np.float32)
    out = _mix(field, a, b) * (1 + 0.05 * soft_noise(rng, (n, n), 3))[..., None]
    return out.astype(np.float32)


def _plain(rng: np.random.Generator) -> Array:
    n = SIDE
    colour = rng.uniform(10, 245, 3) if rng.random() < 0.5 else np.full(3, rng.uniform(10, 250)) + rng.normal(0, 6, 3)
    return np.asarray(
        colour * (1 + 0.03 * soft_noise(rng, (n, n), 90) + 0.015 * rng.standard_normal((n, n)))[..., None], np.float32
    )


def _print(rng: np.random.Generator) -> Array:
    """A busy printed cloth or game board: blobs, stripes and bits of colour."""
    out = _plain(rng)
    for _ in range(int(rng.integers(15, 120))):
        x, y = (int(v) for v in rng.integers(0, SIDE, 2))
        colour = tuple(float(v) for v in rng.uniform(0, 255, 3))
        size = int(rng.integers(4, 70))
        kind = rng.integers(4)
        if kind == 0:
            cv2.circle(out, (x, y), size, colour, -1 if rng.random() < 0.6 else 3, cv2.LINE_AA)
        elif kind == 1:
            corners = cv2.boxPoints(((x, y), (size * 2, size), float(rng.uniform(0, 180)))).astype(np.int32)
            cv2.fillPoly(out, [corners], colour, cv2.LINE_AA)
        elif kind == 2:
            cv2.ellipse(out, (x, y), (size, size // 2 + 1), float(rng.uniform(0, 180)), 0, 360, colour, 2, cv2.LINE_AA)
        else:
            cv2.line(
                out,
                (x, y),
                tuple(int(v) for v in rng.integers(0, SIDE, 2)),
                colour,
                int(rng.integers(1, 8)),
                cv2.LINE_AA,
            )
    return out


PAINTERS: dict[str, Callable[[np.random.Generator], Array]] = {
    "wood": _wood,
    "wood2": _wood,
    "cloth": _cloth,
    "felt": _felt,
    "leather": _leather,
    "marble": _marble,
    "speckle": _speckle,
    "checker": _checker,
    "plain": _plain,
    "plain2": _plain,
    "print": _print,
}


def _free_part(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """The largest rectangle found that holds nothing that stands out from the table."""
    scale = 200 / max(picture.shape[:2])
    small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(small, cv2.COLOR_BGR2LAB).astype(np.float32)
    calm = np.dstack([cv2.medianBlur(small, 51)])
    off = np.abs(lab - cv2.cvtColor(calm, cv2.COLOR_BGR2LAB).astype(np.float32)).max(2) > 34
    off = cv2.dilate(off.astype(np.uint8), np.ones((7, 7), np.uint8)).astype(np.float32)
    total = cv2.integral(off)
    h, w = off.shape
    best, area = None, 0.0
    for _ in range(1500):
        bw, bh = rng.integers(w // 5, w), rng.integers(h // 5, h)
        x, y = rng.integers(0, w - bw + 1), rng.integers(0, h - bh + 1)
        if bw * bh > area and total[y + bh, x + bw] - total[y, x + bw] - total[y + bh, x] + total[y, x] == 0:
            best, area = (x, y, bw, bh), float(bw * bh)
    if best is None or area < 0.06 * w * h:
        return None
    x, y, bw, bh = (int(v / scale) for v in best)
    return picture[y : y + bh, x : x + bw]


def _photo_split(name: str) -> str:
    return "test" if zlib.crc32(name.encode()) % 4 == 0 else "train"


def _photographs(split: str) -> tuple[Path, ...]:
    folder = reference_folder()
    if folder is None:
        return ()
    out = []
    for path in sorted([*folder.glob("negatives/*"), *folder.glob("scenes/**/*")]):
        if path.suffix.lower() not in (".jpg", ".jpeg", ".png"):
            continue
        name = f"{path.parent.name}/{path.stem}"
        # All pictures of one photographer's table go to one split.
        group = name if path.parent.name == "negatives" else f"{path.parent.name}/{path.stem[:5]}"
        if _photo_split(group) == split:
            out.append(path)
    return tuple(out)


@lru_cache(maxsize=96)
def _photograph(path: Path) -> Table | None:
    name = f"{path.parent.name}/{path.stem}"
    picture = cv2.imread(str(path))
    if picture is None:
        return None
    if max(picture.shape[:2]) > 700:
        scale = 700 / max(picture.shape[:2])
        picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    if path.parent.name != "negatives":
        part = _free_part(picture, np.random.default_rng(zlib.crc32(name.encode())))
        if part is None:
            return None
        picture = part
    return Table(f"photo:{name}", np.ascontiguousarray(picture[..., ::-1]), 0.6)


@lru_cache(maxsize=96)
def _painted(number: int, split: str) -> Table:
    seed = number + {"train": 0, "test": 5000}[split]
    rng = np.random.default_rng([seed, 77])
    name = list(PAINTERS)[number % len(PAINTERS)]
    picture = np.clip(PAINTERS[name](rng), 0, 255).astype(np.uint8)
    return Table(f"{name}-{seed}", picture, float(rng.uniform(0.25, 0.9)))


@lru_cache(maxsize=2)
def photographs(split: str) -> tuple[Path, ...]:
    """The photographs whose dice-free parts serve a split."""
    return _photographs(split)


def draw_table(rng: np.random.Generator, split: str) -> tuple[Table, Array]:
    """A table of the split, and what its colours are multiplied by."""
    paths = photographs(split)
    if paths and rng.random() < 0.5:
        table = _photograph(paths[rng.integers(len(paths))])
        if table is not None:
            tint = np.exp(rng.normal(0, 0.06, 3) + rng.normal(0, 0.15))
            return Table(
                table.name, table.picture, table.mm_per_pixel * float(np.exp(rng.normal(0, 0.3)))
            ), tint.astype(np.float32)
    table = _painted(int(rng.integers(BANK)), split)
    tint = np.exp(rng.normal(0, 0.12, 3) + rng.normal(0, 0.2))
    return Table(table.name, table.picture, table.mm_per_pixel * float(np.exp(rng.normal(0, 0.3)))), tint.astype(
        np.float32
    )
