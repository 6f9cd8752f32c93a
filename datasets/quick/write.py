"""Writes training data from stored layers: pictures with YOLO labels for the first look, crops for the second."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

from scorer.faces import Face
from vision.detector import CLASSES

from .cards import Picture
from .compose import Picture8, StoredLayer, clip_box, compose

INPUT = 416
"""Side of a detector picture."""
CROP = 64
"""Side of a second-look crop."""
MARGIN = 1.15
"""A crop is this much larger than the longer side of the box."""
FOREIGN, NOTHING = 6, 7
COCKED_FROM = 7.0


def crop_at(image: Picture, centre: tuple[float, float], side: float) -> Picture:
    """A square cut-out, (64, 64, 3); what lies outside the picture repeats its edge."""
    scale = CROP / side
    if scale < 0.75:  # average, as a camera with fewer pixels would
        x0, y0 = int(max(centre[0] - side, 0)), int(max(centre[1] - side, 0))
        part = image[y0 : int(centre[1] + side) + 1, x0 : int(centre[0] + side) + 1]
        small = cv2.resize(part, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        matrix = np.array([[1, 0, CROP / 2 - (centre[0] - x0) * scale], [0, 1, CROP / 2 - (centre[1] - y0) * scale]])
        return np.asarray(
            cv2.warpAffine(small, matrix, (CROP, CROP), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        )
    matrix = np.array([[scale, 0, CROP / 2 - centre[0] * scale], [0, scale, CROP / 2 - centre[1] * scale]])
    return np.asarray(
        cv2.warpAffine(image, matrix, (CROP, CROP), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    )


def yolo_lines(picture: Picture8) -> list[str]:
    """One line a thing: class, centre x and y, width, height, as shares of the picture."""
    h, w = picture.image.shape[:2]
    things = [(CLASSES.index(die.face), die.box) for die in picture.dice]
    for _, corners, visible in picture.cards:
        if visible > 0.35:
            low, high = corners.min(0), corners.max(0)
            things.append((CLASSES.index("card"), (float(low[0]), float(low[1]), float(high[0]), float(high[1]))))
    things += [(CLASSES.index("hand"), box) for box in picture.hands]
    lines = []
    for name, box in things:
        x0, y0, x1, y1 = clip_box(box, w, h)
        if x1 - x0 > 2 and y1 - y0 > 2:
            lines.append(
                f"{name} {(x0 + x1) / 2 / w:.6f} {(y0 + y1) / 2 / h:.6f} {(x1 - x0) / w:.6f} {(y1 - y0) / h:.6f}"
            )
    return lines


def _apart(at: tuple[float, float], box: tuple[float, float, float, float]) -> float:
    """How far a place is from a box's middle, along the farther axis."""
    return max(abs(at[0] - (box[0] + box[2]) / 2), abs(at[1] - (box[1] + box[3]) / 2))


def die_crops(picture: Picture8, rng: np.random.Generator, each: int) -> list[tuple[Picture, int, int]]:
    """(crop RGB, label, cocked: 1, 0 or -1 for unknown) of every die, a few times, and of places where none is."""
    found = []
    image = picture.image
    h, w = image.shape[:2]
    names = [face.value for face in Face]
    for die in picture.dice:
        x0, y0, x1, y1 = die.box
        size = max(x1 - x0, y1 - y0)
        label = names.index(die.face) if die.face in names else FOREIGN
        for _ in range(each):
            dx, dy = rng.normal(0, 0.03 * size, 2)
            crop = crop_at(image, ((x0 + x1) / 2 + dx, (y0 + y1) / 2 + dy), size * MARGIN * rng.uniform(0.93, 1.1))
            found.append((crop[..., ::-1], label, int(die.cocked) if label < FOREIGN else -1))
    for _ in range(len(picture.dice) * each // 3):  # half a die, or the seam between two, is none
        die = picture.dice[int(rng.integers(len(picture.dice)))]
        size = max(die.box[2] - die.box[0], die.box[3] - die.box[1])
        angle, off = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 0.75) * size
        seam = (
            (die.box[0] + die.box[2]) / 2 + off * np.cos(angle),
            (die.box[1] + die.box[3]) / 2 + off * np.sin(angle),
        )
        if (
            all(_apart(seam, other.box) > 0.42 * size for other in picture.dice)
            and 0 <= seam[0] < w
            and 0 <= seam[1] < h
        ):
            found.append((crop_at(image, seam, size * MARGIN * rng.uniform(0.8, 1.3))[..., ::-1], NOTHING, -1))
    typical = (
        float(np.median([max(d.box[2] - d.box[0], d.box[3] - d.box[1]) for d in picture.dice]))
        if picture.dice
        else 40.0
    )
    for _ in range(max(1, len(picture.dice) * each // 6)):
        side = typical * rng.uniform(0.7, 1.8)
        if picture.cards and rng.random() < 0.6:
            _, corners, _ = picture.cards[int(rng.integers(len(picture.cards)))]
            at = rng.dirichlet(np.ones(4)) @ corners
        else:
            at = rng.uniform(0, (w, h))
        if not (0 <= at[0] < w and 0 <= at[1] < h):
            continue
        if any(_apart((float(at[0]), float(at[1])), die.box) < 0.75 * side for die in picture.dice):
            continue
        found.append((crop_at(image, (float(at[0]), float(at[1])), side)[..., ::-1], NOTHING, -1))
    return found


def _work(job: tuple[int, list[str], str, str, bool, int]) -> int:
    seed, layers, images, crops, held_out, each = job
    cv2.setNumThreads(1)
    rng = np.random.default_rng(seed)
    shard: list[tuple[Picture, int, int]] = []
    for number, path in enumerate(layers):
        pixels = float(np.exp(rng.uniform(np.log(17), np.log(76))))
        shrink = float(np.clip(pixels / np.exp(rng.uniform(np.log(7.5), np.log(30))), 1.15, 2.4))
        side = int(INPUT * shrink)
        picture = compose(rng, StoredLayer.load(Path(path)), (side, side), pixels, held_out=held_out)
        name = f"{seed:06d}_{number:03d}"
        small = cv2.resize(
            picture.image, (INPUT, INPUT), interpolation=cv2.INTER_AREA if rng.random() < 0.7 else cv2.INTER_LINEAR
        )
        cv2.imwrite(f"{images}/{name}.jpg", small, [cv2.IMWRITE_JPEG_QUALITY, 95])
        Path(images.replace("/images/", "/labels/"), f"{name}.txt").write_text("\n".join(yolo_lines(picture)))
        shard += die_crops(picture, rng, each)
    np.savez(
        f"{crops}/{seed:06d}.npz",
        images=np.stack([c[0] for c in shard]),
        labels=np.array([c[1] for c in shard], np.int64),
        cocked=np.array([c[2] for c in shard], np.float32),
    )
    return len(shard)


def write_training_data(
    layers: Path, out: Path, split: str, count: int, seed: int, *, processes: int = 2, each: int = 3
) -> None:
    """Write `count` pictures and their crops from the layers of one split ("train", "val") into `out`."""
    images, crops = out / "yolo" / "images" / split, out / "crops" / split
    for folder in (images, out / "yolo" / "labels" / split, crops):
        folder.mkdir(parents=True, exist_ok=True)
    names = "\n".join(f"  {i}: {name}" for i, name in enumerate(CLASSES))
    (out / "yolo" / "data.yaml").write_text(
        f"path: {(out / 'yolo').resolve()}\ntrain: images/train\nval: images/val\nnames:\n{names}\n"
    )
    paths = [str(p) for p in sorted(layers.glob("*.npz")) if not p.name.endswith(".part.npz")]
    rng = np.random.default_rng(seed)
    block = 50
    jobs = []
    for start in range(0, count, block):
        chosen = [paths[int(i)] for i in rng.integers(0, len(paths), min(block, count - start))]
        jobs.append((seed + start, chosen, str(images), str(crops), split != "train", each))
    jobs = [job for job in jobs if not Path(job[3], f"{job[0]:06d}.npz").exists()]
    with get_context("fork").Pool(processes) as pool:
        for done, crops_written in enumerate(pool.imap_unordered(_work, jobs), 1):
            print(f"{split}: {done}/{len(jobs)} blocks, {crops_written} crops", flush=True)
