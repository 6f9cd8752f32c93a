"""The second look: each die is cut from the full-resolution frame and read again by a small network of ours.

In: a frame and boxes. Out: `Looks`: what each crop shows, how far its turned views differ, whether the die leans, and
an embedding for teaching and tracking. A crop is read as it lies; where that leaves any doubt, in a second exact
quarter turn, and where the two leave doubt, in all four.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np
import numpy.typing as npt

from scorer.faces import Face

from .ncnn_net import Floats, NcnnNet, default_threads
from .reading import Image

LABELS = (*(face.value for face in Face), "foreign_die", "nothing")
"""What a crop can show, in the order of the network's outputs."""
SIDE = 64
MARGIN = 1.15
"""Side of the crop, as a multiple of the longer side of the box."""
VERY_CLEAR = 0.998
"""A crop whose first view gives a label this probability needs no second one."""
CLEAR = 0.98
"""A crop whose first two views both give one label this probability needs no further views."""


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """What the second look saw in n crops."""

    log_probabilities: Floats
    """(n, len(LABELS)) float32: log of the mean of the views in the log domain, normalised."""
    spread: Floats
    """(n,) float32, 0 to 1: largest difference between views in the probability of any label."""
    cocked: Floats
    """(n,) float32: probability that the die leans."""
    embeddings: Floats
    """(n, d) float32, unit length."""
    crops: npt.NDArray[np.uint8]
    """(n, 64, 64, 3) uint8 BGR."""


class SecondLook(Protocol):
    """Anything that reads crops."""

    def look(self, image: Image, boxes: Floats) -> Looks:
        """Read the dice in `boxes` ((n, 4) xyxy) of `image` ((h, w, 3) uint8 BGR)."""
        ...


def cut(image: Image, box: Floats, side: int = SIDE) -> Image:
    """The square round `box` from `image`, as (side, side, 3) uint8; what lies outside the frame repeats its border.

    Shrinking averages areas, enlarging is linear: training crops are made the same way.
    """
    h, w = image.shape[:2]
    half = MARGIN * max(float(box[2] - box[0]), float(box[3] - box[1]), 2.0) / 2
    cx, cy = float(box[0] + box[2]) / 2, float(box[1] + box[3]) / 2
    size = max(2, round(2 * half))
    x, y = round(cx - size / 2), round(cy - size / 2)
    left, top, right, bottom = max(0, -x), max(0, -y), max(0, x + size - w), max(0, y + size - h)
    part = image[max(0, y) : min(h, y + size), max(0, x) : min(w, x + size)]
    if part.size == 0:
        return np.zeros((side, side, 3), np.uint8)
    if left or top or right or bottom:
        padded = cv2.copyMakeBorder(part, top, bottom, left, right, cv2.BORDER_REPLICATE)
        part = np.asarray(padded, np.uint8)
    way = cv2.INTER_AREA if size > side else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(part, (side, side), interpolation=way), np.uint8)


class CropReader:
    """The shipped second look."""

    def __init__(self, nets: Sequence[NcnnNet]) -> None:
        # One network a thread, each on one core: crops are too small to be shared out inside a layer.
        self._nets = nets
        self._pool = ThreadPoolExecutor(len(nets), "second-look") if len(nets) > 1 else None

    @classmethod
    def load(cls, models: Path, *, threads: int | None = None) -> CropReader:
        """Load `secondlook.ncnn.param` and `.bin` from the folder `models`."""
        names = ("logits", "embedding", "cocked")
        path = models / "secondlook.ncnn.param"
        return cls([NcnnNet(path, outputs=names, threads=1) for _ in range(threads or default_threads())])

    def look(self, image: Image, boxes: Floats) -> Looks:
        """Read the dice in `boxes` ((n, 4) xyxy) of `image` ((h, w, 3) uint8 BGR)."""
        if len(boxes) == 0:
            return self.read(np.zeros((0, SIDE, SIDE, 3), np.uint8))
        return self.read(np.stack([cut(image, box) for box in boxes]))

    def read(self, crops: npt.NDArray[np.uint8]) -> Looks:
        """Read ready crops ((n, 64, 64, 3) uint8 BGR)."""
        if len(crops) == 0:
            nothing = np.zeros((0,), np.float32)
            return Looks(np.zeros((0, len(LABELS)), np.float32), nothing, nothing, np.zeros((0, 1), np.float32), crops)
        seen = [[view] for view in self._views([(i, 0) for i in range(len(crops))], crops)]
        for enough, turns in ((VERY_CLEAR, (1,)), (CLEAR, (2, 3))):
            unclear = [i for i, views in enumerate(seen) if not _clear(views, enough)]
            more = self._views([(i, turn) for i in unclear for turn in turns], crops)
            for j, i in enumerate(unclear):
                seen[i] += more[len(turns) * j : len(turns) * (j + 1)]
        return _gather(seen, crops)

    def _views(self, wanted: list[tuple[int, int]], crops: npt.NDArray[np.uint8]) -> list[list[Floats]]:
        turned = [np.ascontiguousarray(np.rot90(crops[i], turn)) for i, turn in wanted]
        if self._pool is None or len(turned) < 4:
            return [self._nets[0].run_pixels(view) for view in turned]
        n = len(self._nets)
        shares = [turned[k::n] for k in range(n)]
        done = list(self._pool.map(lambda k: [self._nets[k].run_pixels(view) for view in shares[k]], range(n)))
        return [done[k % n][k // n] for k in range(len(turned))]


def log_softmax(logits: Floats) -> Floats:
    """Along the last axis."""
    shifted = logits - logits.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)), np.float32)


def _clear(views: list[list[Floats]], enough: float) -> bool:
    ways = [np.exp(log_softmax(view[0].reshape(-1))) for view in views]
    return len({int(way.argmax()) for way in ways}) == 1 and min(float(way.max()) for way in ways) >= enough


def _gather(seen: list[list[list[Floats]]], crops: npt.NDArray[np.uint8]) -> Looks:
    logs, spreads, cocked, embeddings = [], [], [], []
    for views in seen:
        each = log_softmax(np.stack([view[0].reshape(-1) for view in views]))
        logs.append(log_softmax(each.mean(0)))
        spreads.append(float(np.ptp(np.exp(each), axis=0).max()))
        leaning = float(np.mean([view[2].reshape(-1)[0] for view in views]))
        cocked.append(1 / (1 + np.exp(-np.clip(leaning, -30, 30))))
        vector = np.mean([view[1].reshape(-1) for view in views], axis=0)
        embeddings.append(vector / max(float(np.linalg.norm(vector)), 1e-6))
    return Looks(
        np.stack(logs),
        np.array(spreads, np.float32),
        np.array(cocked, np.float32),
        np.stack(embeddings).astype(np.float32),
        crops,
    )
