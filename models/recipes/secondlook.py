"""The second look: a small network that reads one die from its full-resolution crop.

In: (n, 3, 64, 64) float RGB 0..1. Out: `logits` (n, 8) over `LABELS`, `embedding` (n, 64), `cocked` (n, 1).
Trained from shards of crops (npz: images uint8, labels, cocked) that `datasets.render.crops` writes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

LABELS = ("coin", "diamond", "monkey", "parrot", "sabers", "skull", "foreign_die", "nothing")
SIDE = 64


class ConvBlock(nn.Sequential):
    """Convolution, batch norm, ReLU: what every runtime fuses into one layer."""

    def __init__(self, inp: int, out: int, stride: int = 1) -> None:
        super().__init__(nn.Conv2d(inp, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True))


class Residual(nn.Module):
    """Two convolutions round a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = ConvBlock(channels, channels)
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.second(self.first(x)))


class SecondLook(nn.Module):
    """Reads a 64×64 crop; the embedding is what teaching compares."""

    def __init__(self, width: int = 16, embedding: int = 64) -> None:
        super().__init__()
        w = width
        self.body = nn.Sequential(
            ConvBlock(3, w, 2),
            ConvBlock(w, 2 * w, 2),
            Residual(2 * w),
            ConvBlock(2 * w, 4 * w, 2),
            Residual(4 * w),
            ConvBlock(4 * w, 6 * w, 2),
            Residual(6 * w),
        )
        self.embed = nn.Linear(6 * w, embedding)
        self.classify = nn.Linear(embedding, len(LABELS))
        self.tilt = nn.Linear(6 * w, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        features = self.body(x).mean((2, 3))
        embedding = self.embed(features)
        return self.classify(embedding), embedding, self.tilt(features)


def augment(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Turn, shift, scale and recolour a batch ((n, 3, 64, 64) float 0..1): what lamps and boxes do to a crop."""
    n = len(x)

    def uniform(low: float, high: float, *shape: int) -> torch.Tensor:
        return torch.rand(n, *shape, generator=generator) * (high - low) + low

    angle = uniform(-np.pi, np.pi)
    scale = uniform(0.88, 1.12)
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    shift = uniform(-0.08, 0.08, 2)
    matrix = torch.stack([torch.stack([cos, -sin, shift[:, 0]], 1), torch.stack([sin, cos, shift[:, 1]], 1)], 1)
    x = F.grid_sample(
        x, F.affine_grid(matrix, list(x.shape), align_corners=False), padding_mode="reflection", align_corners=False
    )
    gain = uniform(0.75, 1.25, 1, 1, 1) * uniform(0.9, 1.1, 3, 1, 1)
    contrast = uniform(0.8, 1.2, 1, 1, 1)
    mean = x.mean((1, 2, 3), keepdim=True)
    x = ((x - mean) * contrast + mean) * gain
    noise = torch.randn(x.shape, generator=generator) * uniform(0, 0.03, 1, 1, 1)
    return (x + noise).clamp_(0, 1)


def load_shards(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All shards of a folder: images (n, 64, 64, 3) uint8 RGB, labels (n,) int64, cocked (n,) float32 (-1: unknown)."""
    images, labels, cocked = [], [], []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as shard:
            images.append(shard["images"])
            labels.append(shard["labels"].astype(np.int64))
            cocked.append(shard["cocked"].astype(np.float32))
    if not images:
        raise FileNotFoundError(
            f"expected crop shards (*.npz) in {folder}, found none: write some with `ausguck dataset crops`"
        )
    return np.concatenate(images), np.concatenate(labels), np.concatenate(cocked)


def _batches(n: int, size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    order = rng.permutation(n)
    for start in range(0, n - size + 1, size):
        yield np.sort(order[start : start + size])


def to_tensor(images: np.ndarray) -> torch.Tensor:
    """(n, 64, 64, 3) uint8 RGB → (n, 3, 64, 64) float 0..1."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(255)


@torch.no_grad()
def evaluate(model: SecondLook, images: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Accuracy of one look, on real faces and over all labels."""
    model.eval()
    guesses = np.concatenate(
        [model(to_tensor(images[i : i + 512]))[0].argmax(1).numpy() for i in range(0, len(images), 512)]
    )
    faces = labels < 6
    return {
        "all": float((guesses == labels).mean()),
        "faces": float((guesses == labels)[faces].mean()),
        "n": len(labels),
        "n_faces": int(faces.sum()),
    }


def train_secondlook(
    train: Path,
    val: Path,
    out: Path,
    *,
    epochs: int,
    batch: int = 256,
    lr: float = 3e-3,
    width: int = 16,
    seed: int = 1,
    resume: bool = False,
    weights: Path | None = None,
) -> Path:
    """Train from crop shards, from scratch or from `weights`; `<out>/last.pt` is written each epoch, and `best.pt`."""
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    images, labels, cocked = load_shards(train)
    val_images, val_labels, _ = load_shards(val)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = SecondLook(width).to(device, memory_format=torch.channels_last)
    if weights is not None:
        model.load_state_dict(torch.load(weights, weights_only=False)["model"])
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.02)
    steps = epochs * (len(labels) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, lr, total_steps=max(steps, 2), pct_start=0.1)
    start, best = 0, 0.0
    if resume and (out / "last.pt").exists():
        state = torch.load(out / "last.pt", weights_only=False)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        schedule.load_state_dict(state["schedule"])
        start, best = state["epoch"] + 1, state["best"]
    counts = np.bincount(labels, minlength=len(LABELS)).clip(1)
    weight = torch.tensor((counts.mean() / counts) ** 0.5, dtype=torch.float32, device=device)
    for epoch in range(start, epochs):
        model.train()
        began, total, seen = time.monotonic(), 0.0, 0
        for index in _batches(len(labels), batch, rng):
            x = augment(to_tensor(images[index]), generator).to(device, memory_format=torch.channels_last)
            y, tilt = torch.from_numpy(labels[index]).to(device), torch.from_numpy(cocked[index]).to(device)
            with torch.autocast(device, torch.bfloat16):
                logits, _, leaning = model(x)
            loss = F.cross_entropy(logits.float(), y, weight=weight)
            known = tilt >= 0
            if known.any():
                loss = loss + 0.3 * F.binary_cross_entropy_with_logits(leaning.float()[known, 0], tilt[known])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total, seen = total + loss.item() * len(index), seen + len(index)
        scores = evaluate(model, val_images, val_labels)
        line = {
            "epoch": epoch,
            "loss": round(total / max(seen, 1), 5),
            "seconds": round(time.monotonic() - began, 1),
            **scores,
        }
        print(json.dumps(line), flush=True)
        state = {
            "model": model.state_dict(),
            "optimiser": optimiser.state_dict(),
            "schedule": schedule.state_dict(),
            "epoch": epoch,
            "best": max(best, scores["all"]),
            "width": width,
        }
        torch.save(state, out / "last.pt")
        if scores["all"] >= best:
            best = scores["all"]
            torch.save({"model": model.state_dict(), "width": width, "epoch": epoch, **scores}, out / "best.pt")
    return out / "best.pt"
