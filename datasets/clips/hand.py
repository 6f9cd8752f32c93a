"""A hand over the table: fingers, palm, arm and sleeve as a soft height field, shaded by the scene's lamps.

A hand is a few dozen tapered capsules in space, posed between `OPEN`, `PINCH` and `FIST`. From above, the highest
surface is what is seen, so a height a pixel is enough: normals, creases and shadows follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from datasets.quick.body import Floats
from datasets.quick.scene import Camera, Lighting

OPEN, PINCH, FIST = 0.0, 1.0, 2.0
"""Values of `Hand.pose`; all between are postures in between."""

_SHRINK = 2

# Joints in mm, four a finger (knuckle to tip), fingers from index to little; the thumb is the fifth. The grip is
# 0, 0, 0; x runs from the thumb's side to the little finger's, y where the fingers point.
_JOINTS = np.array(
    [
        [  # open, a little spread, fingertips low
            [(-27, -55, 28), (-29, -16, 25), (-31, 8, 17), (-32, 26, 9)],
            [(-9, -50, 30), (-9, -8, 27), (-9, 17, 18), (-9, 36, 9)],
            [(9, -52, 29), (11, -11, 25), (13, 13, 17), (14, 31, 9)],
            [(26, -60, 25), (31, -26, 21), (34, -6, 15), (36, 10, 8)],
            [(-30, -100, 24), (-46, -72, 20), (-55, -44, 14), (-56, -20, 9)],
        ],
        [  # thumb and first two fingers meet in the grip
            [(-25, -58, 46), (-17, -24, 44), (-9, -7, 28), (-4, 7, 13)],
            [(-8, -54, 49), (2, -24, 46), (5, -8, 29), (4, 6, 13)],
            [(10, -57, 47), (15, -31, 43), (17, -20, 29), (14, -13, 16)],
            [(26, -64, 42), (29, -42, 39), (29, -33, 28), (26, -27, 17)],
            [(-30, -94, 32), (-36, -56, 28), (-24, -29, 18), (-8, -11, 12)],
        ],
        [  # closed round dice
            [(-25, -52, 52), (-25, -14, 45), (-23, -6, 24), (-20, -25, 14)],
            [(-8, -49, 56), (-8, -8, 48), (-7, 0, 25), (-6, -22, 14)],
            [(10, -51, 54), (10, -12, 46), (9, -4, 25), (8, -24, 14)],
            [(26, -56, 48), (26, -22, 41), (24, -14, 24), (21, -30, 15)],
            [(-30, -92, 36), (-42, -58, 36), (-33, -30, 36), (-14, -14, 36)],
        ],
    ],
    np.float32,
)
_RADII = np.array(
    [[10.5, 9.2, 8.2, 7.0]] * 3 + [[9.2, 7.8, 7.0, 6.0], [14.0, 11.5, 10.2, 8.5]][:1] + [[14.0, 11.5, 10.0, 8.5]],
    np.float32,
)
_WRIST = np.array([0, -122, 36], np.float32)
_ELBOW = np.array([10, -470, 70], np.float32)


@dataclass(frozen=True, slots=True)
class Hand:
    """Where a hand is and what it does."""

    x: float
    y: float
    z: float = 0.0
    """Height of the whole hand above its lowest posture, mm."""
    heading: float = np.pi / 2
    """Where the fingers point, radians from the world's x axis."""
    pose: float = OPEN
    left: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class HandLook:
    """One player's hand."""

    skin: Floats
    """(3,) linear RGB."""
    sleeve: Floats
    """(3,) linear RGB."""
    size: float = 1.0
    sleeve_from: float = 0.35
    """Where the sleeve begins: 0 at the wrist, 1 at the elbow."""

    @staticmethod
    def drawn(rng: np.random.Generator) -> HandLook:
        """Some player's."""
        tones = np.array(
            [(0.62, 0.38, 0.28), (0.55, 0.32, 0.22), (0.44, 0.24, 0.15), (0.26, 0.13, 0.08), (0.12, 0.06, 0.04)]
        )
        skin = tones[int(rng.integers(len(tones)))] * rng.uniform(0.85, 1.12) * rng.uniform(0.95, 1.05, 3)
        sleeve = np.array([0.02, 0.02, 0.02]) + rng.uniform(0, 0.5) * rng.uniform(0.15, 1.0, 3)
        return HandLook(
            skin.astype(np.float32),
            sleeve.astype(np.float32),
            float(rng.uniform(0.86, 1.06)),
            float(rng.uniform(0.08, 0.6)),
        )


@dataclass(frozen=True, slots=True)
class _Limb:
    a: Floats
    b: Floats
    ra: float
    rb: float
    kind: str


def _limbs(hand: Hand, look: HandLook) -> list[_Limb]:
    """The capsules in the world."""
    low = int(np.clip(np.floor(hand.pose), 0, 1))
    mix = np.float32(np.clip(hand.pose - low, 0, 1))
    joints = (_JOINTS[low] * (1 - mix) + _JOINTS[low + 1] * mix) * np.float32(look.size)
    c, s = np.cos(hand.heading - np.pi / 2), np.sin(hand.heading - np.pi / 2)
    flip = -1.0 if hand.left else 1.0
    turn = np.array([[c * flip, s * flip, 0], [-s, c, 0], [0, 0, 1]], np.float32)
    move = np.array([hand.x, hand.y, hand.z], np.float32)

    def put(p: npt.NDArray[np.floating[Any]]) -> Floats:
        return np.asarray(p @ turn + move, np.float32)

    size = np.float32(look.size)
    wrist, elbow = _WRIST * size, _ELBOW * size
    limbs = []
    cuff = wrist + (elbow - wrist) * np.float32(look.sleeve_from)
    limbs.append(_Limb(put(wrist), put(cuff), 24.0, 28.0, "skin"))
    limbs.append(_Limb(put(cuff), put(elbow), 35.0, 47.0, "sleeve"))
    for i in range(4):
        heel = wrist + np.array([(i - 1.5) * 11, 14, 0], np.float32)
        limbs.append(_Limb(put(heel), put(joints[i, 0]), 19.0, 13.0, "skin"))
    limbs.append(_Limb(put(wrist + np.array([-10, 12, 0], np.float32)), put(joints[4, 0]), 19.0, 17.0, "skin"))
    limbs.append(
        _Limb(
            put(joints[4, 1]),
            put((joints[0, 0] + joints[1, 0]) / 2 + np.array([0, -14, -4], np.float32)),
            11.0,
            11.0,
            "skin",
        )
    )
    for finger, radii in zip(joints, _RADII, strict=True):
        for j in range(3):
            kind = "tip" if j == 2 else "skin"
            limbs.append(_Limb(put(finger[j]), put(finger[j + 1]), float(radii[j]), float(radii[j + 1]), kind))
    return [_Limb(limb.a, limb.b, limb.ra * look.size, limb.rb * look.size, limb.kind) for limb in limbs]


@dataclass(frozen=True, slots=True, eq=False)
class HandLayer:
    """A hand as it lies over a picture."""

    x: int
    y: int
    colour: Floats
    """(h, w, 3) linear radiance, premultiplied."""
    cover: Floats
    """(h, w)."""
    mask_box: tuple[float, float, float, float]
    """xyxy of what shows."""

    def over(self, picture: Floats) -> None:
        """Lay it over `picture` in place."""
        h, w = self.cover.shape
        part = picture[self.y : self.y + h, self.x : self.x + w]
        part *= (1 - self.cover)[..., None]
        part += self.colour


def render_hand(
    camera: Camera, hand: Hand, look: HandLook, lighting: Lighting, travel: Floats | None = None
) -> HandLayer | None:
    """The hand as the camera sees it, blurred along `travel` pixels; None where it is out of view."""
    w, h = camera.size
    limbs = _limbs(hand, look)
    ends = np.concatenate([np.stack([limb.a, limb.b]) for limb in limbs])
    pixels = camera.project(ends).reshape(-1, 2, 2)
    depth = np.abs((ends - camera.position) @ camera.rotation[2]).reshape(-1, 2)
    scale = camera.focal / depth
    reach = np.array([[limb.ra, limb.rb] for limb in limbs]) * scale
    low = np.maximum((pixels - reach[..., None]).reshape(-1, 2).min(0) - 3, 0).astype(int)
    high = np.minimum((pixels + reach[..., None]).reshape(-1, 2).max(0) + 3, (w, h)).astype(int)
    low -= low % _SHRINK
    if (high - low < 8).any():
        return None
    size = (high - low + _SHRINK - 1) // _SHRINK
    height = np.full((size[1], size[0]), -100, np.float32)
    cover = np.zeros_like(height)
    sleeve, nail = np.zeros_like(height), np.zeros_like(height)
    for limb, (pa, pb), (sa, sb) in zip(limbs, pixels, scale, strict=True):
        _stamp(
            limb, (pa - low) / _SHRINK, (pb - low) / _SHRINK, sa / _SHRINK, sb / _SHRINK, height, cover, sleeve, nail
        )
    if cover.max() < 0.5:
        return None
    colour = _shade(height, cover, sleeve, nail, float(scale.mean()) / _SHRINK, hand, look, lighting)
    if travel is not None and float(np.hypot(*travel)) > 1.5:
        colour, cover = _smear(colour, travel / _SHRINK), _smear(cover, travel / _SHRINK)
    full = (int(high[0] - low[0]), int(high[1] - low[1]))
    large = (int(size[0]) * _SHRINK, int(size[1]) * _SHRINK)
    colour, cover = (
        np.asarray(cv2.resize(part, large, interpolation=cv2.INTER_LINEAR), np.float32)[: full[1], : full[0]]
        for part in (colour, cover)
    )
    ys, xs = np.flatnonzero((cover > 0.5).any(1)), np.flatnonzero((cover > 0.5).any(0))
    box = (
        (0.0, 0.0, 0.0, 0.0)
        if not len(xs)
        else (float(xs[0] + low[0]), float(ys[0] + low[1]), float(xs[-1] + 1 + low[0]), float(ys[-1] + 1 + low[1]))
    )
    return HandLayer(int(low[0]), int(low[1]), np.ascontiguousarray(colour), np.ascontiguousarray(cover), box)


def _smear(image: Floats, way: npt.NDArray[np.floating[Any]]) -> Floats:
    """Motion blur along `way` pixels."""
    n = int(min(max(abs(float(way[0])), abs(float(way[1]))), 30)) + 1
    kernel = np.zeros((2 * n + 1, 2 * n + 1), np.float32)
    tip = (round(n - float(way[0]) / 2), round(n - float(way[1]) / 2))
    tail = (round(n + float(way[0]) / 2), round(n + float(way[1]) / 2))
    cv2.line(kernel, tip, tail, 1.0, 1)
    return np.asarray(cv2.filter2D(image, -1, kernel / max(float(kernel.sum()), 1e-6), borderType=cv2.BORDER_REPLICATE))


def _stamp(
    limb: _Limb, a: Floats, b: Floats, sa: float, sb: float, height: Floats, cover: Floats, sleeve: Floats, nail: Floats
) -> None:
    """Raise one capsule in the height field."""
    rows, columns = height.shape
    ra, rb = limb.ra * sa, limb.rb * sb
    x0, y0 = np.maximum(np.floor(np.minimum(a - ra, b - rb)) - 1, 0).astype(int)
    x1, y1 = np.minimum(np.ceil(np.maximum(a + ra, b + rb)) + 2, (columns, rows)).astype(int)
    if x1 <= x0 or y1 <= y0:
        return
    yy, xx = np.mgrid[y0:y1, x0:x1].astype(np.float32)
    along = b - a
    length = max(float(along @ along), 1e-3)
    t = np.clip(((xx - a[0]) * along[0] + (yy - a[1]) * along[1]) / length, 0, 1)
    d = np.sqrt((xx - a[0] - t * along[0]) ** 2 + (yy - a[1] - t * along[1]) ** 2)
    r = ra + (rb - ra) * t
    mm = limb.ra + (limb.rb - limb.ra) * t
    share = d / r
    z = limb.a[2] + (limb.b[2] - limb.a[2]) * t + mm * np.sqrt(np.maximum(1 - share * share, 0))
    part = (slice(y0, y1), slice(x0, x1))
    edge = np.clip(r - d + 0.5, 0, 1)
    z = np.where(share < 1, z, -100).astype(np.float32)
    k = np.float32(5.0)
    mix = np.clip(0.5 + 0.5 * (z - height[part]) / k, 0, 1)
    top = mix > 0.5
    height[part] = np.where(
        (z > -50) & (height[part] > -50),
        height[part] * (1 - mix) + z * mix + k * mix * (1 - mix) * 0.6,
        np.maximum(z, height[part]),
    )
    cover[part] = np.maximum(cover[part], edge)
    sleeve[part] = np.where(top & (edge > 0), float(limb.kind == "sleeve"), sleeve[part])
    here = ((t > 0.45) & (share < 0.62)) if limb.kind == "tip" else np.zeros_like(top)
    nail[part] = np.where(top & (edge > 0), here, nail[part])


def _shade(
    height: Floats,
    cover: Floats,
    sleeve: Floats,
    nail: Floats,
    scale: float,
    hand: Hand,
    look: HandLook,
    lighting: Lighting,
) -> Floats:
    ground = np.maximum(height, 0)
    smooth = cv2.GaussianBlur(ground, (0, 0), max(0.6, scale * 1.1))
    gx = np.clip(cv2.Sobel(smooth, cv2.CV_32F, 1, 0, scale=scale / 8), -2.2, 2.2)
    gy = np.clip(cv2.Sobel(smooth, cv2.CV_32F, 0, 1, scale=scale / 8), -2.2, 2.2)
    # The picture's y runs towards the player, the world's away.
    steep = np.dstack([-gx, gy, np.ones_like(gx)]).astype(np.float32)
    n = steep / np.linalg.norm(steep, axis=2, keepdims=True)
    wide = cv2.GaussianBlur(ground, (0, 0), max(1.0, scale * 7))
    crease = np.clip(1 - (wide - smooth) / 26, 0.35, 1.0)[..., None]
    rng = np.random.default_rng(7)  # the same blotches in every frame
    spots = cv2.resize(
        rng.standard_normal((24, 24)).astype(np.float32), height.shape[::-1], interpolation=cv2.INTER_CUBIC
    )
    red = 0.5 + 0.5 * np.tanh((28 - height) / 14)  # fingertips are redder than the back of the hand
    skin = look.skin * (1 + 0.035 * spots[..., None] + 0.10 * red[..., None] * np.array([1, -0.35, -0.25], np.float32))
    skin = skin * (1 + nail[..., None] * np.array([0.12, 0.2, 0.22], np.float32))
    albedo = skin * (1 - sleeve[..., None]) + look.sleeve * sleeve[..., None]
    place = np.array([hand.x, hand.y, hand.z + 45], np.float32)
    light = lighting.sky * (0.5 + 0.5 * n[..., 2:]) * crease
    for lamp in lighting.lamps:
        to = lamp.position - place
        distance = float(np.linalg.norm(to))
        facing = n @ (to / distance)
        wrapped = np.clip((facing + 0.3) / 1.3, 0, None)[..., None]
        strength = float(lamp.position[2]) ** 2 / distance**2
        light = light + wrapped * strength * lamp.colour * (0.5 + 0.5 * crease)
    light = light + lighting.bounce * (0.5 - 0.5 * n[..., 2:])
    return (albedo * light * cover[..., None]).astype(np.float32)


def hand_shadow(camera: Camera, hand: Hand, look: HandLook, lighting: Lighting, shrink: int = 6) -> Floats:
    """(h, w, 3) share of the light that still reaches the table; full size."""
    w, h = camera.size
    small = (w // shrink, h // shrink)
    limbs = _limbs(hand, look)
    left = np.array(lighting.sky, np.float32)
    whole = left + sum((lamp.colour for lamp in lighting.lamps), np.zeros(3, np.float32))
    per_mm = camera.focal / float(camera.position[2]) / shrink

    def cast(lift: float, place: Floats | None) -> Floats:
        mask = np.zeros((small[1], small[0]), np.float32)
        for limb in limbs:
            a, b = limb.a.copy(), limb.b.copy()
            weight = 1.0
            if place is not None:
                for p in (a, b):
                    p += (p - place) * (p[2] / max(float(place[2] - p[2]), 1.0))
            else:
                weight = float(np.exp(-max(min(a[2], b[2]) - 8, 0) / lift))
            a[2] = b[2] = 0
            pa, pb = camera.project(np.stack([a, b])) / shrink
            if np.abs([*pa, *pb]).max() > 8000:
                continue
            thick = max(1, int((limb.ra + limb.rb) * per_mm))
            cv2.line(mask, (int(pa[0]), int(pa[1])), (int(pb[0]), int(pb[1])), weight, thick)
        return mask

    near = cv2.GaussianBlur(cast(28.0, None), (0, 0), max(0.8, 9 * per_mm))
    reach = left * (1 - 0.8 * near)[..., None]
    for lamp in lighting.lamps:
        soft = lamp.radius * 50 / max(float(lamp.position[2]) - 50, 50) * per_mm
        shadow = cv2.GaussianBlur(cast(1.0, lamp.position), (0, 0), max(0.6, soft))
        reach = reach + lamp.colour * (1 - shadow)[..., None]
    return np.asarray(cv2.resize((reach / whole).astype(np.float32), (w, h), interpolation=cv2.INTER_LINEAR))
