"""Cuts detector pictures down to windows round the dice: a convolutional network learns the same from less."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

WINDOW = 256


def write_windows(source: Path, out: Path, split: str, *, each: int = 2, seed: int = 1) -> int:
    """Write `each` windows of every picture of an Ultralytics folder; returns how many."""
    rng = np.random.default_rng(seed)
    images, labels = out / "images" / split, out / "labels" / split
    images.mkdir(parents=True, exist_ok=True)
    labels.mkdir(parents=True, exist_ok=True)
    (out / "data.yaml").write_text(
        (source / "data.yaml").read_text().replace(str(source.resolve()), str(out.resolve()))
    )
    count = 0
    for path in sorted((source / "images" / split).glob("*.jpg")):
        picture: Any = cv2.imread(str(path))
        h, w = picture.shape[:2]
        rows = np.loadtxt(source / "labels" / split / f"{path.stem}.txt", ndmin=2).reshape(-1, 5)
        boxes = np.stack(
            [
                rows[:, 1] - rows[:, 3] / 2,
                rows[:, 2] - rows[:, 4] / 2,
                rows[:, 1] + rows[:, 3] / 2,
                rows[:, 2] + rows[:, 4] / 2,
            ],
            1,
        )
        boxes *= [w, h, w, h]
        dice = rows[:, 0] < 7
        for i in range(each):
            if dice.any() and (i == 0 or rng.random() < 0.6):
                middle = boxes[dice][int(rng.integers(dice.sum()))]
                centre = np.array([middle[0] + middle[2], middle[1] + middle[3]]) / 2 + rng.uniform(-70, 70, 2)
            else:
                centre = rng.uniform(0, (w, h))
            x, y = (int(np.clip(c - WINDOW / 2, 0, n - WINDOW)) for c, n in zip(centre, (w, h), strict=True))
            cut = boxes.copy()
            cut[:, [0, 2]] = np.clip(cut[:, [0, 2]] - x, 0, WINDOW)
            cut[:, [1, 3]] = np.clip(cut[:, [1, 3]] - y, 0, WINDOW)
            area = (cut[:, 2] - cut[:, 0]) * (cut[:, 3] - cut[:, 1])
            share = area / np.maximum((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]), 1)
            keep = (share > np.where(dice, 0.35, 0.25)) & (area > 12)
            lines = [
                f"{int(k)} {(b[0] + b[2]) / 2 / WINDOW:.6f} {(b[1] + b[3]) / 2 / WINDOW:.6f} "
                f"{(b[2] - b[0]) / WINDOW:.6f} {(b[3] - b[1]) / WINDOW:.6f}"
                for k, b in zip(rows[keep, 0], cut[keep], strict=True)
            ]
            name = f"{path.stem}_{i}"
            cv2.imwrite(
                str(images / f"{name}.jpg"), picture[y : y + WINDOW, x : x + WINDOW], [cv2.IMWRITE_JPEG_QUALITY, 95]
            )
            (labels / f"{name}.txt").write_text("\n".join(lines))
            count += 1
    return count
