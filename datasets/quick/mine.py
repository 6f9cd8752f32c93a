"""Mines hard negatives: what the first look takes for dice on tables without any becomes `nothing` for the second."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from .cards import Picture, background
from .compose import Picture8, _clutter, _lay_cards, _printed_symbols, camera_effects
from .scene import to_linear
from .throw import random_camera
from .write import MARGIN, NOTHING, crop_at

Find = Callable[[Picture], list[tuple[float, float, float, float]]]
"""A picture to the boxes that the first look takes for dice."""


def empty_table(rng: np.random.Generator, size: tuple[int, int]) -> Picture:
    """A table with everything but dice."""
    w, h = size
    table = background(rng, h, w)
    for _ in range(int(rng.integers(1, 4))):
        _clutter(table, rng)
    if rng.random() < 0.4:
        _printed_symbols(table, rng)
    camera = random_camera(rng, size, float(np.exp(rng.uniform(np.log(20), np.log(70)))))
    _lay_cards(table, camera.homography(), rng, own=True, reference=True, sink=Picture8(table))
    return camera_effects(to_linear(table) * np.float32(rng.uniform(0.6, 1.1)), rng)


def mine(find: Find, out: Path, pictures: int, seed: int) -> int:
    """Write one shard of crops of false dice; returns how many."""
    cv2.setNumThreads(1)
    rng = np.random.default_rng(seed)
    crops = []
    for _ in range(pictures):
        image = empty_table(rng, (832, 832))
        for x0, y0, x1, y1 in find(image)[:12]:
            for scale in (1.0, 0.85, 1.2):
                crops.append(
                    crop_at(image, ((x0 + x1) / 2, (y0 + y1) / 2), max(x1 - x0, y1 - y0) * MARGIN * scale)[..., ::-1]
                )
    n = len(crops)
    out.mkdir(parents=True, exist_ok=True)
    np.savez(
        out / f"mined_{seed}.npz", images=np.stack(crops), labels=np.full(n, NOTHING), cocked=np.full(n, -1, np.float32)
    )
    return n
