"""Examination sets: freshly thrown tables that training never saw, as pictures with records for `ausguck evaluate`.

Each picture has its own throw, skins, lamps, camera and table; photographs of tables are those held out.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

from . import layers
from .compose import StoredLayer, compose
from .scene import render
from .throw import random_camera, random_lighting, throw_dice

SIZES = ((640, 480), (960, 720), (1280, 960), (1280, 720), (1536, 864), (2304, 1296))
_skins: tuple[list[layers.Skin], list[layers.Skin]] = ([], [])


def _picture(job: tuple[int, str, str, str]) -> str:
    seed, out, split, kind = job
    cv2.setNumThreads(1)
    rng = np.random.default_rng(seed)
    own, foreign = _skins
    w, h = SIZES[int(rng.integers(len(SIZES)))]
    pixels = float(np.exp(rng.uniform(np.log(max(24, w * 0.022)), np.log(min(72, w * 0.055)))))
    n = {"eight": 8, "seven": 7, "nine": 9, "foreign": 8, "cocked": 8}[kind]
    first = int(rng.integers(len(own)))
    dice_skins = [own[(first + int(i)) % len(own)] for i in rng.integers(0, 5, n)]
    if kind == "foreign":
        dice_skins[int(rng.integers(n))] = foreign[int(rng.integers(len(foreign)))]
    layer_pixels = float(np.clip(pixels * 1.1, 42, 84))
    while True:
        camera = random_camera(rng, layers.SIZE, layer_pixels)
        dice = throw_dice(rng, dice_skins, lean=0.5 if kind == "cocked" else 0.0, stack=0.0)
        if len(dice) != n or (kind == "cocked" and all(die.up[1] < 12 for die in dice)):
            continue
        places = camera.project(np.stack([die.position for die in dice]))
        if (np.abs(places - np.array(layers.SIZE) / 2) > np.array(layers.SIZE) / 2 - layer_pixels).any():
            continue  # rendering is what costs
        layer = render(camera, dice, random_lighting(rng))
        inside = all(
            label.visible > 0.7 and label.box[0] > 2 and label.box[1] > 2
            and label.box[2] < layers.SIZE[0] - 2 and label.box[3] < layers.SIZE[1] - 2 for label in layer.labels
        )  # fmt: skip
        if inside:
            break
    small = cv2.resize(layer.irradiance, (layers.SIZE[0] // 2, layers.SIZE[1] // 2), interpolation=cv2.INTER_AREA)
    meta = {
        "die_pixels": layer_pixels,
        "homography": camera.homography().tolist(),
        "labels": [{"face": la.face, "box": la.box, "visible": la.visible, "lean": la.lean} for la in layer.labels],
    }
    stored = StoredLayer(layer.dice, small, layer.owner.astype(np.int8), meta)
    for _ in range(20):
        picture = compose(rng, stored, (w, h), pixels, hands=0.0, held_out=True)
        if len(picture.dice) == n and all(
            die.box[0] > 3 and die.box[1] > 3 and die.box[2] < w - 3 and die.box[3] < h - 3 for die in picture.dice
        ):
            break
    else:
        return ""
    name = f"exam-{kind}-{seed}"
    cv2.imwrite(f"{out}/images/{split}/{name}.jpg", picture.image, [cv2.IMWRITE_JPEG_QUALITY, 92])
    common = {"px": pixels, "at_border": False}
    record = {
        "file": f"{name}.jpg",
        "width": w,
        "height": h,
        "session": f"exam-{seed}",
        "split": split,
        "source": "quick",
        "die_pixels": pixels,
        "dice": [asdict(die) | common for die in picture.dice],
        "cards": [
            {
                "name": card,
                "corners": quad.tolist(),
                "box": [*quad.min(0).tolist(), *quad.max(0).tolist()],
                "visible": seen,
            }
            for card, quad, seen in picture.cards
        ],
        "hands": [],
    }
    Path(out, "records", split, f"{name}.json").write_text(json.dumps(record))
    return name


def write_exam(
    out: Path,
    kind: str,
    count: int,
    seed: int,
    *,
    split: str = "val",
    processes: int = 2,
    sources: tuple[str, ...] = ("drawing", "posterised", "photograph"),
) -> None:
    """Write `count` pictures of one kind (eight, seven, nine, foreign, cocked); those already there stay."""
    global _skins
    for folder in ("images", "records"):
        (out / folder / split).mkdir(parents=True, exist_ok=True)
    _skins = layers.paint_pool(seed, 60, 25, sources)
    jobs = [(seed + i, str(out), split, kind) for i in range(count)]
    jobs = [job for job in jobs if not Path(out, "records", split, f"exam-{kind}-{job[0]}.json").exists()]
    with get_context("fork").Pool(processes) as pool:
        for done, _ in enumerate(pool.imap_unordered(_picture, jobs), 1):
            if done % 20 == 0:
                print(f"{kind}: {done}/{len(jobs)}", flush=True)
