"""The two card networks: `CardCorners` finds a card's four corners in a cut-out, `CardFace` names the straight card.

CardCorners: (n, 3, 96, 96) RGB 0..1 → `corners` (n, 8), the corners in a form that does not change when the card turns
by half (`encode_corners`): named one by one they would have to change places somewhere.
CardFace: (n, 3, 128, 80) → `logits` (n, len(LABELS) + 1), the last of them "upside down", and `embedding` (n, 64).
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
from vision.cards import decode_corners

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
        return self.corners(self.body(x).flatten(1))


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


def encode_corners(corners: np.ndarray) -> np.ndarray:
    """Corners ((n, 4, 2) or (n, 8) in cut-out sides) as the network gives them, (n, 8): see `decode_corners`.

    Middles of both diagonals from the middle of the cut-out, then both half diagonals squared as complex numbers.
    """
    p = corners.reshape(-1, 4, 2)
    middles = (p[:, :2] + p[:, 2:]) / 2 - 0.5
    x, y = ((p[:, :2] - p[:, 2:]) / 2).transpose(2, 0, 1)
    squares = np.stack((x * x - y * y, 2 * x * y), 2)
    return np.concatenate((middles, squares), 1).reshape(-1, 8).astype(np.float32)


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


def _turned(shots: np.ndarray, corners: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Every cut-out in one of its eight views by turning and mirroring: where corners are does not depend on it."""
    shots, points = shots.copy(), corners.reshape(-1, 4, 2).copy()
    for i, (turn, mirror) in enumerate(zip(rng.integers(0, 4, len(shots)), rng.random(len(shots)) < 0.5, strict=True)):
        if mirror:  # clockwise again: top right, top left, bottom left, bottom right
            shots[i], points[i] = shots[i, :, ::-1].copy(), points[i][[1, 0, 3, 2]]
            points[i, :, 0] = 1 - points[i, :, 0]
        for _ in range(turn):
            points[i] = np.stack((points[i, :, 1], 1 - points[i, :, 0]), 1)
        shots[i] = np.rot90(shots[i], turn)
    return shots, points.reshape(-1, 8)


def _shaken(faces: np.ndarray, rng: np.random.Generator, strength: float = 0.02) -> np.ndarray:
    """Straightened cards as they come out when their corners are found a little beside the true ones."""
    w, h = FACE_SIZE
    source = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
    noise = (rng.normal(0, strength, (len(faces), 4, 2)) + rng.normal(0, strength, (len(faces), 1, 2))) * h
    return np.stack(
        [
            cv2.warpPerspective(
                face,
                cv2.getPerspectiveTransform(source, source + shift.astype(np.float32)),
                (w, h),
                borderMode=cv2.BORDER_REFLECT_101,
            )
            for face, shift in zip(faces, noise, strict=True)
        ]
    )


def _rate(done: float, highest: float) -> float:
    """Learning rate after the share `done` of the training: a short rise, then half a cosine to almost nothing."""
    rise = 0.06
    return highest * (done / rise if done < rise else 0.5 * (1 + np.cos(np.pi * (done - rise) / (1 - rise)))) + 1e-5


def train_cards(
    folder: Path,
    out: Path,
    *,
    minutes: float,
    batch: int = 32,
    lr: float = 2e-3,
    seed: int = 1,
    rescan: float = 0.2,
    corners_per_face: int = 1,
    resume: Path | None = None,
) -> None:
    """Train both for `minutes`, batch about, from `folder`/train and /val; writes `<out>/corners.pt` and `face.pt`.

    Trained by the clock, so that a busy machine costs steps, not the end of the schedule. Shards that were drawn
    meanwhile are taken in whenever the share `rescan` of the time has passed; then both are also scored and kept.
    `corners_per_face`: steps of the corner network, which learns more slowly, for one of the other. `resume`: a folder
    with weights to start from.
    """
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    models = {
        name: model.to(memory_format=torch.channels_last)
        for name, model in (("corners", CardCorners()), ("face", CardFace()))
    }
    if resume is not None:
        for name, model in models.items():
            model.load_state_dict(torch.load(resume / f"{name}.pt", weights_only=False)["model"])
    optimisers = {name: torch.optim.AdamW(m.parameters(), lr=lr, weight_decay=0.02) for name, m in models.items()}
    train, val = _load(folder / "train"), _load(folder / "val")
    began, told, steps = time.monotonic(), 0.0, 0
    total = dict.fromkeys(models, 0.0)
    while True:
        order = rng.permutation(len(train["labels"]))
        for start in range(0, len(order) - batch + 1, batch):
            done = (time.monotonic() - began) / (minutes * 60)
            if done >= 1 or done - told >= rescan:
                break
            index = np.sort(order[start : start + batch])
            for name, model in models.items():
                if name == "face" and steps % corners_per_face:
                    continue
                for group in optimisers[name].param_groups:
                    group["lr"] = _rate(done, lr)
                total[name] = 0.98 * total[name] + 0.02 * _step(name, model, optimisers[name], train, index, rng)
            steps += 1
        if done >= 1 or done - told >= rescan:
            told = done
            for name, model in models.items():
                report = {"net": name, "done": round(done, 3), "steps": steps, "loss": round(total[name], 5)}
                print(json.dumps({**report, "shots": len(order), **_score(name, model, val)}), flush=True)
                torch.save({"model": model.state_dict(), "steps": steps}, out / f"{name}.pt")
            if done >= 1:
                return
            train = _load(folder / "train")


def _step(
    name: str,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    train: dict[str, np.ndarray],
    index: np.ndarray,
    rng: np.random.Generator,
) -> float:
    """One step of one network on the shots `index`; returns the loss."""
    model.train()
    if name == "corners":
        pictures, corners = _turned(train["shots"][index], train["corners"][index], rng)
    else:
        pictures = _shaken(train["faces"][index], rng)
    x = _tensor(pictures, rng).to(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16):
        output = model(x)
    if name == "corners":
        loss = F.smooth_l1_loss(output.float(), torch.from_numpy(encode_corners(corners)), beta=0.01)
    else:
        # A card that hardly shows is nobody's fault: it counts less, not as another card.
        weight = torch.from_numpy(np.clip((train["visible"][index] - 0.3) * 2, 0.05, 1))
        truth = torch.from_numpy(train["labels"][index])
        loss = (F.cross_entropy(output[0].float(), truth, reduction="none") * weight).mean()
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    optimiser.step()
    return float(loss.detach())


@torch.no_grad()
def _score(name: str, model: nn.Module, val: dict[str, np.ndarray]) -> dict[str, float]:
    model.eval()
    images = val["shots" if name == "corners" else "faces"]
    outputs = [model(_tensor(images[i : i + 256])) for i in range(0, len(images), 256)]
    seen = val["visible"] >= 0.6
    if name == "corners":
        guess = np.stack([decode_corners(row) for row in torch.cat(outputs).numpy()])
        truth = val["corners"].reshape(-1, 4, 2)
        error = np.minimum(*(np.linalg.norm(np.roll(guess, k, 1) - truth, axis=2).mean(1) for k in (0, 2)))
        return {"error_median": float(np.median(error[seen])), "error_p95": float(np.quantile(error[seen], 0.95))}
    logits = torch.cat([o[0] for o in outputs])
    right = (logits.argmax(1).numpy() == val["labels"])[seen]
    return {"right": float(right.mean()), "n": int(seen.sum())}
