"""Writes layers of thrown dice to disk, a file a throw, for the compositor to lay over tables.

A layer file (npz) holds `dice` (h, w, 4) float16 premultiplied linear radiance, `irradiance` (h/2, w/2, 3) float16,
`owner` (h, w) int8 and `meta`, a JSON string: labels, the homography from the table (mm) to pixels, and the session.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

from .scene import Skin, render
from .skins import foreign_skin, own_skin
from .throw import random_camera, random_lighting, throw_dice

SIZE = (640, 512)

_pool: tuple[list[Skin], list[Skin]] = ([], [])


def paint_pool(seed: int, own: int, foreign: int, sources: tuple[str, ...]) -> tuple[list[Skin], list[Skin]]:
    """Skins to draw dice from: painting one takes longer than rendering it."""
    rng = np.random.default_rng(seed)
    return [own_skin(rng, sources=sources) for _ in range(own)], [foreign_skin(rng) for _ in range(foreign)]


def _choose(rng: np.random.Generator) -> Sequence[Skin]:
    own, foreign = _pool
    n = int(rng.choice([8, 8, 8, 8, 8, 8, 7, 9, *range(1, 7), 10]))
    if rng.random() < 0.5:  # one box of dice looks alike
        start = int(rng.integers(len(own)))
        skins = [own[(start + int(i)) % len(own)] for i in rng.integers(0, 6, n)]
    else:
        skins = [own[int(i)] for i in rng.integers(0, len(own), n)]
    if rng.random() < 0.2:
        for i in rng.permutation(n)[: int(rng.integers(1, min(n, 5) + 1))]:
            skins[int(i)] = foreign[int(rng.integers(len(foreign)))]
    return skins


def _write(job: tuple[int, str]) -> str:
    seed, path = job
    rng = np.random.default_rng(seed)
    pixels = float(rng.uniform(42, 84))
    camera = random_camera(rng, SIZE, pixels)
    dice = throw_dice(rng, _choose(rng))
    layer = render(camera, dice, random_lighting(rng))
    h, w = layer.owner.shape
    meta = {
        "session": f"quick-{seed}",
        "die_pixels": pixels,
        "labels": [asdict(label) for label in layer.labels],
        "homography": camera.homography().tolist(),
    }
    small = cv2.resize(layer.irradiance, (w // 2, h // 2), interpolation=cv2.INTER_AREA)
    part = Path(path).with_suffix(".part.npz")
    np.savez(
        part,
        dice=layer.dice.astype(np.float16),
        irradiance=small.astype(np.float16),
        owner=layer.owner.astype(np.int8),
        meta=np.array(json.dumps(meta)),
    )
    part.rename(path)
    return path


def write_layers(
    out: Path,
    count: int,
    seed: int,
    *,
    processes: int = 2,
    own: int = 240,
    foreign: int = 120,
    sources: tuple[str, ...] = ("drawing", "drawing", "posterised", "photograph"),
) -> None:
    """Write `count` layers into `out`; those already there stay, so that an interrupted run goes on."""
    global _pool
    out.mkdir(parents=True, exist_ok=True)
    cv2.setNumThreads(1)
    jobs = [(seed + i, str(out / f"{seed + i:08d}.npz")) for i in range(count)]
    jobs = [job for job in jobs if not Path(job[1]).exists()]
    _pool = paint_pool(seed, own, foreign, sources)
    with get_context("fork").Pool(processes) as pool:
        for done, _ in enumerate(pool.imap_unordered(_write, jobs), 1):
            if done % 100 == 0:
                print(f"{done}/{len(jobs)} layers", flush=True)
