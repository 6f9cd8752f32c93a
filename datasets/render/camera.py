"""What a small camera and a room make of a scene: linear light in, an 8-bit JPEG-worn picture out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from .textures import Array


@dataclass(frozen=True, slots=True)
class Shot:
    """One camera setting."""

    exposure: float
    balance: tuple[float, float, float]
    vignette: float
    distortion: float
    """Radial k1, for radius 1 at half the diagonal."""
    blur: float
    """Defocus, sigma in pixels."""
    motion: tuple[float, float]
    """Length in pixels and direction in radians."""
    noise: float
    """Standard deviation of a mid grey, 0..1."""
    sharpen: float
    quality: int
    contrast: float
    saturation: float
    glare: int
    shadow: bool
    smear: bool


def draw_shot(rng: np.random.Generator, die_pixels: float) -> Shot:
    """A camera setting; blur is bound to the die's size, so that a person could still read it."""
    most = 0.035 * die_pixels
    blur = float(rng.uniform(0, min(most, 2.2))) if rng.random() < 0.75 else 0.0
    motion = float(rng.uniform(1.5, max(1.6, 0.11 * die_pixels))) if rng.random() < 0.12 else 0.0
    warm = rng.normal(0, 0.11)
    return Shot(
        exposure=float(np.exp(rng.normal(-0.05, 0.3))),
        balance=(float(np.exp(warm)), float(np.exp(rng.normal(0, 0.03))), float(np.exp(-warm + rng.normal(0, 0.05)))),
        vignette=float(rng.uniform(0, 0.45)) if rng.random() < 0.6 else 0.0,
        distortion=float(rng.normal(0, 0.05)) if rng.random() < 0.6 else 0.0,
        blur=blur,
        motion=(motion, float(rng.uniform(0, np.pi))),
        noise=float(np.exp(rng.uniform(np.log(0.003), np.log(0.05)))),
        sharpen=float(rng.uniform(0.2, 1.2)) if rng.random() < 0.45 else 0.0,
        quality=int(rng.integers(50, 97)),
        contrast=float(rng.normal(1.0, 0.1)),
        saturation=float(np.clip(rng.normal(1.0, 0.15), 0.4, 1.5)),
        glare=int(rng.integers(1, 3)) if rng.random() < 0.12 else 0,
        shadow=bool(rng.random() < 0.15),
        smear=bool(rng.random() < 0.1),
    )


def half_shadow(image: Array, rng: np.random.Generator) -> Array:
    """A hard shadow edge of something outside the picture."""
    h, w = image.shape[:2]
    angle = rng.uniform(0, 2 * np.pi)
    c, s = np.cos(angle), np.sin(angle)
    offset = rng.uniform(-0.3, 0.3) * max(h, w)
    field = ((np.arange(w, dtype=np.float32) - w / 2) * np.float32(c))[None] + (
        (np.arange(h, dtype=np.float32) - h / 2) * np.float32(s)
    )[:, None]
    edge = np.clip((field + np.float32(offset)) / np.float32(rng.uniform(1.5, 25)) + 0.5, 0, 1)
    floor = np.float32(rng.uniform(0.18, 0.7))
    return image * (floor + (1 - floor) * edge)[..., None]


def add_glare(image: Array, rng: np.random.Generator, count: int) -> Array:
    """Lamps mirrored in a glossy table or a dirty lens."""
    h, w = image.shape[:2]
    small = np.zeros((h // 8 + 1, w // 8 + 1), np.float32)
    for _ in range(count):
        centre = (int(rng.integers(small.shape[1])), int(rng.integers(small.shape[0])))
        radii = (int(rng.uniform(2, 0.16 * small.shape[1]) + 1), int(rng.uniform(2, 0.16 * small.shape[1]) + 1))
        cv2.ellipse(small, centre, radii, float(rng.uniform(0, 180)), 0, 360, float(rng.uniform(0.15, 1.3)), -1)
    small = cv2.GaussianBlur(small, (0, 0), float(rng.uniform(1, 8)))
    return image + cv2.resize(small, (w, h))[..., None]


def distort_points(points: npt.NDArray[Any], size: tuple[int, int], k1: float) -> npt.NDArray[Any]:
    """Where the lens puts ideal pixels (n, 2)."""
    w, h = size
    middle, radius = np.array([w, h]) / 2, np.hypot(w, h) / 2
    d = (points - middle) / radius
    ideal = np.hypot(d[:, 0], d[:, 1])
    # The picture at radius r shows what was ideally at r (1 + k1 r²): solve for r.
    r = ideal.copy()
    for _ in range(8):
        r = ideal / (1 + k1 * r * r)
    return np.asarray(d * (r / np.maximum(ideal, 1e-9))[:, None] * radius + middle)


def distortion_maps(size: tuple[int, int], k1: float) -> tuple[Array, Array]:
    """Maps for `cv2.remap` that match `distort_points`."""
    w, h = size
    radius = np.hypot(w, h) / 2
    x = ((np.arange(w, dtype=np.float32) - w / 2) / radius)[None]
    y = ((np.arange(h, dtype=np.float32) - h / 2) / radius)[:, None]
    grow = 1 + np.float32(k1) * (x * x + y * y)
    return (x * grow * radius + w / 2).astype(np.float32), (y * grow * radius + h / 2).astype(np.float32)


def _motion_kernel(length: float, direction: float) -> Array:
    n = int(np.ceil(length)) | 1
    kernel = np.zeros((n + 2, n + 2), np.float32)
    c = (n + 1) / 2
    d = np.array([np.cos(direction), np.sin(direction)]) * length / 2
    a, b = np.array([c, c]) - d, np.array([c, c]) + d
    cv2.line(kernel, tuple(int(v * 16) for v in a), tuple(int(v * 16) for v in b), 1.0, 1, cv2.LINE_AA, 4)
    return kernel / max(float(kernel.sum()), 1e-6)


GRAIN_MIX = (np.eye(3) * 0.6 + 0.17).astype(np.float32)
"""Noise of the three channels is partly common."""


@lru_cache(maxsize=1)
def _grain_pool() -> Array:
    return np.random.default_rng(9).standard_normal(3_000_017).astype(np.float32)


def _grain(rng: np.random.Generator, h: int, w: int) -> Array:
    """White noise (h, w, 3), cut from a pool at a random place."""
    pool, n = _grain_pool(), h * w * 3
    start = int(rng.integers(len(pool)))
    return np.resize(np.concatenate([pool[start : start + n], pool[: max(0, start + n - len(pool))]]), n).reshape(
        h, w, 3
    )


def _automatic(light: Array) -> float:
    """The gain that a camera's automatic exposure would choose: means near a mid grey, highlights mostly kept."""
    small = cv2.resize(light, (32, 32), interpolation=cv2.INTER_AREA).mean(2)
    by_mean = 0.22 / max(float(small.mean()), 1e-3)
    by_white = 0.85 / max(float(np.percentile(small, 98)), 1e-3)
    return float(np.clip(by_mean**0.6 * by_white**0.4, 0.5, 2.2))


def develop(light: Array, shot: Shot, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Linear RGB (h, w, 3), 1.0 = white paper, → BGR uint8 as the camera's file shows it."""
    h, w = light.shape[:2]
    image = light
    if shot.shadow:
        image = half_shadow(image, rng)
    if shot.glare:
        image = add_glare(image, rng, shot.glare)
    gain = np.float32(shot.exposure * _automatic(image)) * np.array(shot.balance, np.float32)
    image = image * gain
    if shot.vignette:
        x = np.linspace(-1, 1, w, dtype=np.float32)[None] ** 2
        y = np.linspace(-1, 1, h, dtype=np.float32)[:, None] ** 2
        image = image * (1 - np.float32(shot.vignette / 2) * (x + y))[..., None]
    if shot.blur > 0.25:
        image = cv2.GaussianBlur(image, (0, 0), shot.blur)
    if shot.motion[0] > 1:
        image = cv2.filter2D(image, -1, _motion_kernel(*shot.motion))
    image = np.clip(image, 0, 1.6)
    image = np.where(image > 0.8, 0.8 + (image - 0.8) * np.float32(0.35), image)  # soft shoulder
    root = cv2.pow(np.clip(image, 0, 1), 1 / 2.2)
    if rng.random() < 0.6:  # demosaicing and denoising make noise coarse
        grain = cv2.resize(_grain(rng, h // 2 + 1, w // 2 + 1), (w, h), interpolation=cv2.INTER_LINEAR) * np.float32(
            0.9
        )
        grain += np.float32(0.5) * _grain(rng, h, w)
    else:
        grain = _grain(rng, h, w)
    out = root + cv2.transform(grain, GRAIN_MIX) * (
        np.float32(shot.noise) * (np.float32(1.35) - np.float32(0.7) * root)
    )
    colour = shot.contrast * (np.eye(3) * shot.saturation + (1 - shot.saturation) / 3)
    out = cv2.transform(out, np.column_stack([colour, np.full(3, 0.5 - 0.5 * shot.contrast)]).astype(np.float32))
    if shot.sharpen:
        out = out + np.float32(shot.sharpen) * (out - cv2.GaussianBlur(out, (0, 0), 1.0))
    done: Array = np.ascontiguousarray((np.clip(out, 0, 1) * 255 + 0.5).astype(np.uint8)[..., ::-1])
    if shot.smear:
        done = cv2.medianBlur(done, 3)
    worn = cv2.imdecode(cv2.imencode(".jpg", done, [cv2.IMWRITE_JPEG_QUALITY, shot.quality])[1], cv2.IMREAD_COLOR)
    return np.asarray(worn, np.uint8)
