"""The two card networks: `CardCorners` finds a card's four corners in a cut-out, `CardFace` names the straightened card.

CardCorners: (n, 3, 96, 96) RGB 0..1 → `corners` (n, 8): x, y of four corners clockwise, in cut-out sides; which of the two
short sides is the top is left open. CardFace: (n, 3, 128, 80) → `logits` (n, len(LABELS) + 1), the last of them
"upside down", and `embedding` (n, 64).
"""

from __future__ import annotations

import json
import time
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from datasets.quick.cards import LABELS, card_shot

from .secondlook import ConvBlock, Residual

CORNER_SIDE = 96
FACE_SIZE = (80, 128)
"""Width and height of a straightened card."""
SHOT_SIDE = 176
UPSIDE_DOWN = len(LABELS)


class CardCorners(nn.Module):
    """Where a card's corners are."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        w = width
        self.body = nn.Sequential(
            ConvBlock(3, w, 2), ConvBlock(w, 2 * w, 2), Residual(2 * w), ConvBlock(2 * w, 3 * w, 2), Residual(3 * w),
            ConvBlock(3 * w, 4 * w, 2), Residual(4 * w), ConvBlock(4 * w, 2 * w),
        )  # fmt: skip
        self.corners = nn.Sequential(nn.Linear(2 * w * 36, 96), nn.ReLU(inplace=True), nn.Linear(96, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.corners(self.body(x).flatten(1)) + 0.5


class CardFace(nn.Module):
    """Which card it is."""

    def __init__(self, width: int = 16, embedding: int = 64) -> None:
        super().__init__()
        w = width
        self.body = nn.Sequential(
            ConvBlock(3, w, 2), ConvBlock(w, 2 * w, 2), Residual(2 * w), ConvBlock(2 * w, 3 * w, 2), Residual(3 * w),
            ConvBlock(3 * w, 4 * w, 2), Residual(4 * w),
        )  # fmt: skip
        # Pooled to 4 × 5 fields, not to one: how many sabers stand at the top is told by place.
        self.embed = nn.Linear(4 * w * 20, embedding)
        self.classify = nn.Linear(embedding, len(LABELS) + 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = F.avg_pool2d(self.body(x), (2, 1))  # (8, 5) → (4, 5)
        embedding = self.embed(features.flatten(1))
        return self.classify(F.relu(embedding)), embedding


def straighten(image: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The card inside `corners` ((4, 2) pixels), (128, 80, 3)."""
    w, h = FACE_SIZE
    target = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
    return np.asarray(
        cv2.warpPerspective(
            image, cv2.getPerspectiveTransform(corners.astype(np.float32), target), (w, h), flags=cv2.INTER_LINEAR
        )
    )


def _draw(job: tuple[int, int, str]) -> str:
    seed, count, path = job
    cv2.setNumThreads(1)
    rng = np.random.default_rng(seed)
    shots, corners, faces, labels, visible = [], [], [], [], []
    for _ in range(count):
        shot = card_shot(rng, SHOT_SIDE)
        shots.append(cv2.resize(shot.image, (CORNER_SIDE, CORNER_SIDE), interpolation=cv2.INTER_AREA)[..., ::-1])
        corners.append(shot.corners.reshape(-1))
        length = float(np.linalg.norm(shot.corners[3] - shot.corners[0]))
        shaken = shot.corners + rng.normal(0, 0.012, (4, 2)) * length + rng.normal(0, 0.012, 2) * length
        flip = rng.random() < 0.25
        faces.append(
            straighten(shot.image, np.roll(shaken, 2, 0) * SHOT_SIDE if flip else shaken * SHOT_SIDE)[..., ::-1]
        )
        labels.append(UPSIDE_DOWN if flip else shot.label)
        visible.append(shot.visible)
    np.savez(
        path,
        shots=np.stack(shots),
        corners=np.stack(corners).astype(np.float32),
        faces=np.stack(faces),
        labels=np.array(labels, np.int64),
        visible=np.array(visible, np.float32),
    )
    return path


def write_card_shards(out: Path, count: int, seed: int, *, processes: int = 2, shard: int = 1000) -> None:
    """Draw `count` cut-outs into shards; those already there stay."""
    out.mkdir(parents=True, exist_ok=True)
    jobs = [(seed + i, shard, str(out / f"{seed + i:06d}.npz")) for i in range(-(-count // shard))]
    with get_context("fork").Pool(processes) as pool:
        for path in pool.imap_unordered(_draw, [job for job in jobs if not Path(job[2]).exists()]):
            print(path, flush=True)


def _load(folder: Path) -> dict[str, np.ndarray]:
    shards = [dict(np.load(path)) for path in sorted(folder.glob("*.npz"))]
    if not shards:
        raise FileNotFoundError(
            f"expected card shards (*.npz) in {folder}, found none: draw some with write_card_shards"
        )
    return {key: np.concatenate([shard[key] for shard in shards]) for key in shards[0]}


def _tensor(images: np.ndarray, rng: np.random.Generator | None = None) -> torch.Tensor:
    x = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float().div_(255)
    if rng is not None:  # the shots carry their own light and noise; a little more costs nothing
        gain = torch.from_numpy(rng.uniform(0.85, 1.15, (len(x), 3, 1, 1)).astype(np.float32))
        x = (x * gain).clamp_(0, 1)
    return x


def corner_loss(guess: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """Smooth distance to the nearer of the two ways to name the corners of an upright or upside-down card; (n,)."""
    other = torch.roll(truth.view(-1, 4, 2), 2, 1).flatten(1)
    losses = [F.smooth_l1_loss(guess, t, reduction="none", beta=0.02).mean(1) for t in (truth, other)]
    return torch.minimum(*losses)


def train_cards(folder: Path, out: Path, *, epochs: int, batch: int = 128, lr: float = 2e-3, seed: int = 1) -> None:
    """Train both from `folder`/train and /val; writes `<out>/corners.pt` and `<out>/face.pt` after every epoch."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    train, val = _load(folder / "train"), _load(folder / "val")
    n = len(train["labels"])
    for name, model in (("corners", CardCorners()), ("face", CardFace())):
        model = model.to(memory_format=torch.channels_last)
        optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.02)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, lr, total_steps=epochs * (n // batch), pct_start=0.1)
        for epoch in range(epochs):
            model.train()
            began, total = time.monotonic(), 0.0
            order = rng.permutation(n)
            for start in range(0, n - batch + 1, batch):
                index = np.sort(order[start : start + batch])
                x = _tensor(train["shots" if name == "corners" else "faces"][index], rng)
                with torch.autocast("cpu", torch.bfloat16):
                    output = model(x.to(memory_format=torch.channels_last))
                if name == "corners":
                    loss = corner_loss(output.float(), torch.from_numpy(train["corners"][index])).mean()
                else:
                    # A card that hardly shows is nobody's fault: it counts less, not as another card.
                    weight = torch.from_numpy(np.clip((train["visible"][index] - 0.3) * 2, 0.05, 1))
                    loss = (
                        F.cross_entropy(output[0].float(), torch.from_numpy(train["labels"][index]), reduction="none")
                        * weight
                    ).mean()
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                schedule.step()
                total += loss.item() * len(index)
            print(
                json.dumps(
                    {
                        "net": name,
                        "epoch": epoch,
                        "loss": round(total / n, 5),
                        "seconds": round(time.monotonic() - began, 1),
                        **_score(name, model, val),
                    }
                ),
                flush=True,
            )
            torch.save({"model": model.state_dict(), "epoch": epoch}, out / f"{name}.pt")


@torch.no_grad()
def _score(name: str, model: nn.Module, val: dict[str, np.ndarray]) -> dict[str, float]:
    model.eval()
    images = val["shots" if name == "corners" else "faces"]
    outputs = [model(_tensor(images[i : i + 256])) for i in range(0, len(images), 256)]
    seen = val["visible"] >= 0.6
    if name == "corners":
        guess, truth = torch.cat(outputs).view(-1, 4, 2), torch.from_numpy(val["corners"]).view(-1, 4, 2)
        error = torch.minimum(
            (guess - truth).norm(dim=2).mean(1), (guess - truth.roll(2, 1)).norm(dim=2).mean(1)
        ).numpy()
        return {"error_median": float(np.median(error[seen])), "error_p95": float(np.quantile(error[seen], 0.95))}
    logits = torch.cat([o[0] for o in outputs])
    right = (logits.argmax(1).numpy() == val["labels"])[seen]
    return {"right": float(right.mean()), "n": int(seen.sum())}
