"""Writes data sets from layers: pictures with YOLO labels and records, or shards of crops; resumable, N processes."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

from vision.detector import CLASSES

from .compose import Composite, Compositor, quiet_opencv
from .crops import CropSet, draw_crops
from .farm import progress

FOLDER = {"train": "train", "test": "val"}
"""Split → Ultralytics folder."""

SIZES = ((640, 640), (640, 480), (800, 640), (1024, 768), (1280, 960), (1536, 864), (2304, 1296))
SMALL = ((416, 416), (512, 512), (640, 640), (640, 640))


@lru_cache(maxsize=4)
def _compositor(folder: str, split: str, eight: bool = False) -> Compositor:
    quiet_opencv()
    return Compositor(folder, split, eight=eight)


def yolo_lines(composite: Composite) -> list[str]:
    """One line a thing: class, centre and size as shares of the picture."""
    h, w = composite.image.shape[:2]
    things = [(CLASSES.index(die.face), die.box) for die in composite.dice]
    things += [(CLASSES.index("card"), card.box) for card in composite.cards if card.visible > 0.3]
    things += [(CLASSES.index("hand"), box) for box in composite.hands]
    return [
        f"{number} {(x0 + x1) / 2 / w:.6f} {(y0 + y1) / 2 / h:.6f} {(x1 - x0) / w:.6f} {(y1 - y0) / h:.6f}"
        for number, (x0, y0, x1, y1) in things
    ]


def _picture(job: tuple[int, int, str, str, str, tuple[tuple[int, int], ...], bool]) -> str:
    number, seed, layers, split, out, sizes, eight = job
    name, folder = f"{split}-{seed}-{number:06d}", FOLDER[split]
    root = Path(out)
    record = root / "records" / folder / f"{name}.json"
    if record.exists():  # written last: the rest is there
        return name
    rng = np.random.default_rng([seed, number, {"train": 1, "test": 2}[split]])
    size = sizes[rng.integers(len(sizes))]
    composite = _compositor(layers, split, eight).draw(rng, size)
    cv2.imwrite(str(root / "images" / folder / f"{name}.jpg"), composite.image, [cv2.IMWRITE_JPEG_QUALITY, 95])
    (root / "labels" / folder / f"{name}.txt").write_text("\n".join(yolo_lines(composite)) + "\n")
    record.write_text(json.dumps(composite.record(f"{name}.jpg")))
    return name


def write_pictures(
    out: Path,
    layers: Path,
    *,
    count: int,
    seed: int,
    split: str,
    processes: int = 0,
    sizes: tuple[tuple[int, int], ...] = SMALL,
    eight: bool = False,
) -> None:
    """Write `count` labelled pictures of a split, Ultralytics layout, with a record each and a manifest."""
    for kind in ("images", "labels", "records"):
        (out / kind / FOLDER[split]).mkdir(parents=True, exist_ok=True)
    jobs = [(k, seed, str(layers), split, str(out), sizes, eight) for k in range(count)]
    run(_picture, jobs, processes, f"pictures {split}")
    names = "\n".join(f"  {k}: {name}" for k, name in enumerate(CLASSES))
    (out / "data.yaml").write_text(f"path: {out.resolve()}\ntrain: images/train\nval: images/val\nnames:\n{names}\n")
    write_manifest(out)


def write_manifest(out: Path) -> None:
    """Sessions, print runs and tables per split, from the records; raises ValueError if any stands on both sides."""
    found: dict[str, dict[str, set[str]]] = {}
    for split, folder in FOLDER.items():
        side = found.setdefault(split, {"sessions": set(), "print_runs": set(), "tables": set()})
        for path in (out / "records" / folder).glob("*.json"):
            record = json.loads(path.read_text())
            side["sessions"].add(record["session"])
            side["print_runs"].add(record["print_run"])
            side["tables"].add(record["table"])
    for kind in ("sessions", "print_runs", "tables"):
        both = found["train"][kind] & found["test"][kind]
        if both:
            raise ValueError(
                f"expected {kind} on one side of the split only, found on both: {', '.join(sorted(both)[:5])}"
            )
    manifest = {split: {kind: sorted(ids) for kind, ids in side.items()} for split, side in found.items()}
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1))


SHARD = 4000


def _shard(job: tuple[int, int, str, str, str, int]) -> str:
    number, seed, layers, split, out, crops = job
    path = Path(out) / FOLDER[split] / f"shard-{seed}-{number:04d}.npz"
    if path.exists():
        return path.name
    rng = np.random.default_rng([seed, number, {"train": 3, "test": 4}[split]])
    compositor, found = _compositor(layers, split), CropSet()
    while len(found.images) < crops:
        draw_crops(compositor.draw(rng, (704, 704)), rng, found)
    found.save(path)
    return path.name


def write_crops(
    out: Path, layers: Path, *, count: int, seed: int, split: str, processes: int = 0, shard: int = SHARD
) -> None:
    """Write about `count` crops of a split in shards."""
    (out / FOLDER[split]).mkdir(parents=True, exist_ok=True)
    shards = max(1, -(-count // shard))
    jobs = [(k, seed, str(layers), split, str(out), min(shard, count)) for k in range(shards)]
    run(_shard, jobs, processes, f"crops {split}")


def run(work, jobs, processes: int, what: str) -> None:  # type: ignore[no-untyped-def]
    """Do all jobs, in N processes (0: one a core), with a progress bar."""
    processes = processes or len(os.sched_getaffinity(0))
    if processes == 1:
        for _ in progress(map(work, jobs), len(jobs), what):
            pass
        return
    if not jobs:
        return
    with get_context("spawn").Pool(min(processes, len(jobs))) as pool:
        for _ in progress(pool.imap_unordered(work, jobs), len(jobs), what):
            pass
