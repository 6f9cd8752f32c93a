"""A traced layer on disk: small, quick to load, all that the compositor needs.

One `.npz` a layer. Light is linear; 1.0 is white paper under the layer's full light.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

LIGHT_SPAN = 4.0
COLOUR_STEP = 16


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Dice and the light on the table round them."""

    meta: dict[str, Any]
    """Labels and where it comes from; see `dice`, `homography` (table edges → pixels), `session`, `print_run`."""
    ids: npt.NDArray[Any]
    """(h, w): 0 the table, k the die with id k."""
    cover: npt.NDArray[Any]
    """(h, w): share of the pixel that dice cover."""
    dice: npt.NDArray[Any]
    """(h, w, 3) linear RGB of the dice, times `cover`."""
    light: npt.NDArray[Any]
    """(h, w, 3) linear RGB light on the table."""

    @property
    def size(self) -> tuple[int, int]:
        """Width, height."""
        return self.ids.shape[1], self.ids.shape[0]


def save(layer: Layer, path: Path) -> None:
    """Write a layer, in one step (a stopped run leaves no half file)."""
    on = np.rint(layer.cover * 255) > 0
    grey = layer.light.mean(2)
    small = (max(1, grey.shape[1] // COLOUR_STEP), max(1, grey.shape[0] // COLOUR_STEP))
    tint = cv2.resize(layer.light, small, interpolation=cv2.INTER_AREA)
    tint = tint / np.maximum(tint.mean(2, keepdims=True), 1e-4)
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(
            file,
            meta=np.frombuffer(json.dumps(layer.meta).encode(), np.uint8),
            ids=layer.ids,
            cover=np.rint(layer.cover * 255).astype(np.uint8),
            dice=np.rint(np.sqrt(np.clip(layer.dice[on], 0, 8) / 8) * 4095).astype(np.uint16),
            light=np.rint(np.sqrt(np.clip(grey, 0, LIGHT_SPAN) / LIGHT_SPAN) * 255).astype(np.uint8),
            tint=tint.astype(np.float16),
        )
    part.replace(path)


def load(path: Path) -> Layer:
    """Read a layer."""
    with np.load(path) as file:
        meta = json.loads(file["meta"].tobytes())
        cover8 = file["cover"]
        ids, packed = file["ids"], file["dice"]
        grey = (_calm(file["light"]) / 255) ** 2 * LIGHT_SPAN
        tint = file["tint"].astype(np.float32)
    dice = np.zeros((*ids.shape, 3), np.float32)
    on = cover8 > 0
    values = (packed.astype(np.float32) / 4095) ** 2 * 8
    dice[on] = values
    light = cv2.resize(tint, (ids.shape[1], ids.shape[0]), interpolation=cv2.INTER_LINEAR) * grey[..., None]
    return Layer(meta, ids, cover8.astype(np.float32) / 255, dice, light)


def load_meta(path: Path) -> dict[str, Any]:
    """Only the labels of a layer."""
    with np.load(path) as file:
        meta: dict[str, Any] = json.loads(file["meta"].tobytes())
    return meta


def _calm(light: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Take away the grain that few samples a pixel leave in the light; what stands out from it, shadows, stays."""
    fine = cv2.medianBlur(cv2.GaussianBlur(light, (0, 0), 1.5), 5).astype(np.float32)
    base = cv2.GaussianBlur(fine, (0, 0), 6)
    off = fine - base
    grain = float(np.median(np.abs(off))) * 1.5 + 0.3
    keep: npt.NDArray[Any] = np.clip(np.abs(cv2.GaussianBlur(off, (0, 0), 2)) / grain - 0.8, 0, 1)
    keep = cv2.GaussianBlur(keep, (0, 0), 1.5)
    return np.asarray(base + off * keep)
