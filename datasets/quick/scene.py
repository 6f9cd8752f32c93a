"""Camera, lamps and dice → a layer of linear radiance with a label for every die, to lay over any table.

World: millimetres, the table is z = 0, z points up. Colours are linear RGB, float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from .body import FACE_AXES, Floats, march, normal, surface_points

SURFACE = surface_points()


@dataclass(frozen=True, slots=True, eq=False)
class Camera:
    """A pinhole camera over the table."""

    size: tuple[int, int]
    """Width and height in pixels."""
    focal: float
    """Focal length in pixels."""
    position: Floats
    """(3,) mm."""
    rotation: Floats
    """(3, 3): rows are the camera's right, down and forward axes in the world."""

    @staticmethod
    def looking_down(
        size: tuple[int, int], height: float, *, across: float, tilt: float = 0.0, turn: float = 0.0
    ) -> Camera:
        """A camera `height` mm above the table that sees `across` mm of its width; angles in degrees."""
        a, b = np.deg2rad(tilt), np.deg2rad(turn)
        forward = np.array([np.sin(a) * np.sin(b), np.sin(a) * np.cos(b), -np.cos(a)])
        right = np.array([np.cos(b), -np.sin(b), 0.0])
        down = np.cross(forward, right)
        rotation = np.stack([right, down, forward]).astype(np.float32)
        position = (-forward * height / np.cos(a)).astype(np.float32)
        return Camera(size, size[0] * height / np.cos(a) / across, position, rotation)

    def project(self, points: Floats) -> Floats:
        """World points (n, 3) mm → pixels (n, 2)."""
        local = (points - self.position) @ self.rotation.T
        centre = np.array([self.size[0] / 2, self.size[1] / 2], np.float32)
        return local[:, :2] / local[:, 2:] * np.float32(self.focal) + centre

    def rays(self, x: Floats, y: Floats) -> Floats:
        """Unit directions (n, 3) in the world through pixels."""
        local = np.stack([(x - self.size[0] / 2) / self.focal, (y - self.size[1] / 2) / self.focal, np.ones_like(x)], 1)
        world = local.astype(np.float32) @ self.rotation
        return np.asarray(world / np.sqrt(np.einsum("ij,ij->i", world, world))[:, None])

    def ground(self, x: Floats, y: Floats) -> Floats:
        """Where on the table (n, 3) mm pixels look."""
        d = self.rays(x, y)
        return self.position + d * (-self.position[2] / d[:, 2:])

    def homography(self) -> npt.NDArray[np.float64]:
        """(3, 3): table plane in mm (x, y) → pixels."""
        plane = np.array([[-100, -100, 0], [100, -100, 0], [100, 100, 0], [-100, 100, 0]], np.float32)
        return np.asarray(cv2.getPerspectiveTransform(plane[:, :2].copy(), self.project(plane).astype(np.float32)))


@dataclass(frozen=True, slots=True, eq=False)
class Skin:
    """The six painted sides of one die, at one resolution."""

    albedo: Floats
    """(6 * s, s, 3) linear RGB, side after side downward."""
    slope: Floats
    """(6 * s, s, 2): slope of the engraving along u (right) and v (down)."""
    gloss: Floats
    """(6 * s, s) 0..1: how glossy (paint more than plastic)."""
    faces: tuple[str, ...]
    """What is painted on side 0..5 (`body.FACE_AXES` order)."""

    @staticmethod
    def painted(
        sides: Sequence[tuple[Floats, Floats]], faces: Sequence[str], *, depth: float = 0.012, size: int = 128
    ) -> Skin:
        """From six (albedo (s, s, 3) linear, ink (s, s) 0..1) pairs; `depth` of the groove in die edges."""
        albedo, slope, gloss = [], [], []
        for colour, ink in sides:
            colour = cv2.resize(colour.astype(np.float32), (size, size), interpolation=cv2.INTER_AREA)
            ink = cv2.resize(ink.astype(np.float32), (size, size), interpolation=cv2.INTER_AREA)
            groove = -depth * cv2.GaussianBlur(ink, (0, 0), size / 90)
            slope.append(
                np.stack(
                    [
                        cv2.Sobel(groove, cv2.CV_32F, 1, 0, scale=size / 8),
                        cv2.Sobel(groove, cv2.CV_32F, 0, 1, scale=size / 8),
                    ],
                    2,
                )
            )
            albedo.append(colour)
            gloss.append(0.35 + 0.5 * ink)
        return Skin(
            np.concatenate(albedo), np.concatenate(slope), np.concatenate(gloss).astype(np.float32), tuple(faces)
        )

    def at(self, size: int) -> Skin:
        """The same skin with `size` pixels a side: what the camera can resolve, so that nothing aliases."""
        now = self.albedo.shape[1]
        if size >= now:
            return self

        def shrink(a: Floats) -> Floats:
            return cv2.resize(a, (size, 6 * size), interpolation=cv2.INTER_AREA)

        return Skin(shrink(self.albedo), shrink(self.slope), shrink(self.gloss), self.faces)


@dataclass(frozen=True, slots=True, eq=False)
class Die:
    """A die somewhere above the table."""

    skin: Skin
    position: Floats
    """(3,) mm, the centre; a die that lies flat has z = edge / 2."""
    rotation: Floats
    """(3, 3): columns are the die's axes in the world."""
    edge: float = 16.0

    @property
    def up(self) -> tuple[str, float]:
        """The upward face, and how far (degrees) its side leans from level."""
        ups = [sign * float(self.rotation[2, axis]) for axis, sign in FACE_AXES]
        best = int(np.argmax(ups))
        return self.skin.faces[best], float(np.rad2deg(np.arccos(min(ups[best], 1.0))))

    def moved(self, position: Floats, rotation: Floats) -> Die:
        """The same die elsewhere."""
        return replace(self, position=position.astype(np.float32), rotation=rotation.astype(np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class Lamp:
    """A round area lamp."""

    position: Floats
    colour: Floats
    """(3,) irradiance on a level surface straight below, linear."""
    radius: float = 40.0
    """mm: the larger, the softer the shadows."""


@dataclass(frozen=True, slots=True, eq=False)
class Lighting:
    """Everything that shines."""

    lamps: tuple[Lamp, ...]
    sky: Floats = field(default_factory=lambda: np.full(3, 0.35, np.float32))
    """(3,) irradiance from above without direction."""
    bounce: Floats = field(default_factory=lambda: np.full(3, 0.12, np.float32))
    """(3,) irradiance from the table upward."""


@dataclass(frozen=True, slots=True)
class DieLabel:
    """The truth about one die in a picture."""

    face: str
    box: tuple[float, float, float, float]
    """xyxy pixels of what is visible."""
    visible: float
    """Share of its outline that is neither hidden nor outside the frame."""
    lean: float
    """Degrees from level."""


def _falloff(lamp: Lamp, points: Floats) -> tuple[Floats, Floats]:
    """Unit directions to the lamp and its strength at points, 1 straight below the lamp on the table."""
    to = lamp.position - points
    d2 = np.einsum("ij,ij->i", to, to)[:, None]
    return to / np.sqrt(d2), np.float32(lamp.position[2] ** 2) / d2[:, 0]


def _lamp_samples(lamp: Lamp, n: int) -> list[Floats]:
    if n == 1 or lamp.radius < 3:
        return [lamp.position]
    golden = np.pi * (3 - np.sqrt(5))
    return [
        lamp.position
        + lamp.radius * np.sqrt((i + 0.5) / n) * np.array([np.cos(i * golden), np.sin(i * golden), 0], np.float32)
        for i in range(n)
    ]


def irradiance(camera: Camera, dice: Sequence[Die], lighting: Lighting, *, samples: int = 8) -> Floats:
    """(h, w, 3) irradiance on the table with the dice's shadows, full resolution."""
    w, h = camera.size
    shrink = 2
    small = (w // shrink, h // shrink)
    gx, gy = np.meshgrid((np.arange(16) + 0.5) * w / 16, (np.arange(12) + 0.5) * h / 12)
    ground = camera.ground(gx.ravel().astype(np.float32), gy.ravel().astype(np.float32))
    total = np.empty((small[1], small[0], 3), np.float32)
    total[:] = lighting.sky
    hulls = [die.position + (SURFACE @ die.rotation.T) * np.float32(die.edge) for die in dice]
    contact = np.zeros((small[1], small[0]), np.float32)
    for die, points in zip(dice, hulls, strict=True):
        flat = points.copy()
        flat[:, 2] = 0
        _fill(contact, camera, flat, shrink, strength=float(np.exp(-max(die.position[2] - die.edge / 2, 0) / die.edge)))
    size = camera.focal / float(camera.position[2]) * 16 / shrink
    occlusion = np.maximum(
        cv2.GaussianBlur(contact, (0, 0), max(size * 0.28, 0.5)),
        cv2.GaussianBlur(contact, (0, 0), max(size * 0.10, 0.4)) * 0.9,
    )
    total *= (1 - 0.75 * np.clip(occlusion, 0, 1))[..., None]
    for lamp in lighting.lamps:
        direction, strength = _falloff(lamp, ground)
        level = (strength * np.maximum(direction[:, 2], 0)).reshape(12, 16)
        smooth = cv2.resize(level.astype(np.float32), small, interpolation=cv2.INTER_CUBIC)
        shadow: Floats = np.zeros((small[1], small[0]), np.float32)
        places = _lamp_samples(lamp, samples)
        for place in places:
            once = np.zeros((small[1], small[0]), np.float32)
            for points in hulls:
                scale = place[2] / np.maximum(place[2] - points[:, 2:3], 1e-3)
                cast = place + (points - place) * scale
                cast[:, 2] = 0
                _fill(once, camera, cast, shrink)
            shadow += once
        shadow = cv2.GaussianBlur(shadow / len(places), (0, 0), 0.8)
        total += (smooth * (1 - shadow))[..., None] * lamp.colour
    return cv2.resize(total, (w, h), interpolation=cv2.INTER_LINEAR)


def _fill(mask: Floats, camera: Camera, points: Floats, shrink: int, strength: float = 1.0) -> None:
    pixels = camera.project(points) / shrink
    hull = cv2.convexHull((pixels * 16).astype(np.int32))
    cv2.fillConvexPoly(mask, hull, strength, lineType=cv2.LINE_AA if mask.dtype == np.uint8 else cv2.LINE_8, shift=4)


def _shade(
    die: Die, skin: Skin, points: Floats, normals: Floats, view: Floats, others: Sequence[Die], lighting: Lighting
) -> Floats:
    """Radiance (n, 3) of surface points given in the die's frame; `view` is the unit direction to the camera, world."""
    s = skin.albedo.shape[1]
    side_axis = np.abs(points).argmax(1)
    sign = np.sign(points[np.arange(len(points)), side_axis])
    side = np.zeros(len(points), np.int64)
    for number, (axis, sgn) in enumerate(FACE_AXES):
        side[(side_axis == axis) & (sign == sgn)] = number
    first, second = (side_axis + 1) % 3, (side_axis + 2) % 3
    rows = np.arange(len(points))
    u = 0.5 + sign * points[rows, first]
    v = 0.5 - points[rows, second]
    mapx = np.clip(u * s - 0.5, 0, s - 1).astype(np.float32)
    mapy = (np.clip(v * s - 0.5, 0, s - 1) + side * s).astype(np.float32)

    # OpenCV remaps at most 32,767 rows: fold the list of points into a rectangle.
    padding = (0, -len(points) % 256)
    grid_x, grid_y = np.pad(mapx, padding).reshape(-1, 256), np.pad(mapy, padding).reshape(-1, 256)

    def sample(texture: Floats) -> Floats:
        values = cv2.remap(texture, grid_x, grid_y, cv2.INTER_LINEAR)
        return values.reshape(-1, *values.shape[2:])[: len(points)]

    albedo, slope, gloss = sample(skin.albedo), sample(skin.slope), sample(skin.gloss).reshape(-1)
    bent = normals.copy()
    bent[rows, first] -= slope[:, 0] * sign
    bent[rows, second] += slope[:, 1]
    bent /= np.sqrt(np.einsum("ij,ij->i", bent, bent))[:, None]
    n = bent @ die.rotation.T
    world = die.position + (points @ die.rotation.T) * np.float32(die.edge)
    upness = 0.5 + 0.5 * n[:, 2:3]
    open_sky = np.ones(len(points), np.float32)
    for other in others:
        to = other.position - world
        d = np.sqrt(np.einsum("ij,ij->i", to, to))
        facing = np.maximum(np.einsum("ij,ij->i", n, to) / d, 0)
        open_sky *= 1 - 0.55 * facing * np.clip((other.edge * 0.6 / d) ** 2, 0, 1)
    near = np.clip(world[:, 2] / die.edge, 0.15, 1)[:, None] ** 0.5
    light = (lighting.sky * upness * near + lighting.bounce * (1 - upness)) * open_sky[:, None]
    along_view = np.einsum("ij,ij->i", n, view)
    mirror = 2 * along_view[:, None] * n - view
    shine = np.zeros_like(light)
    fresnel = 0.04 + 0.5 * np.clip(1 - along_view, 0, 1) ** 5
    shine += (fresnel * np.clip(mirror[:, 2] * 0.5 + 0.5, 0, 1))[:, None] * lighting.sky * 0.8
    for lamp in lighting.lamps:
        direction, strength = _falloff(lamp, world)
        reach = np.ones(len(points), np.float32)
        for other in others:
            to = other.position - world
            along = np.einsum("ij,ij->i", to, direction)
            miss = np.sqrt(np.maximum(np.einsum("ij,ij->i", to, to) - along * along, 0))
            soft = other.edge * 0.12 + lamp.radius * 0.05
            blocked = np.clip((other.edge * 0.58 + soft - miss) / (2 * soft), 0, 1) * (along > 0)
            reach *= 1 - blocked
        lit = np.maximum(np.einsum("ij,ij->i", n, direction), 0) * strength * reach
        light += lit[:, None] * lamp.colour
        spread = np.float32(lamp.radius / max(float(lamp.position[2]), 1.0))
        power = 18 / (0.02 + spread + (1 - gloss) * 0.25) ** 1.3
        glint = np.clip(np.einsum("ij,ij->i", mirror, direction), 0, 1) ** power
        shine += (glint * gloss * 0.9 * reach * strength * (n[:, 2] > -0.2))[:, None] * lamp.colour
    return albedo * light + shine


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The dice of one instant and the light they leave on the table, ready to lie over any table."""

    dice: Floats
    """(h, w, 4) linear radiance, premultiplied, and coverage."""
    irradiance: Floats
    """(h, w, 3) light on the table, shadows included."""
    owner: npt.NDArray[np.int16]
    """(h, w): which die a pixel shows, -1 for none."""
    labels: tuple[DieLabel, ...]
    """In the order of the dice rendered."""

    def over(self, table: Floats) -> Floats:
        """(h, w, 3) linear radiance over a table's linear albedo of the same size."""
        return np.asarray(table * self.irradiance * (1 - self.dice[..., 3:]) + self.dice[..., :3])


def render(camera: Camera, dice: Sequence[Die], lighting: Lighting, *, supersample: int = 2, shadows: int = 8) -> Layer:
    """Render one instant of dice over an invisible table."""
    w, h = camera.size
    picture = np.zeros((h, w, 4), np.float32)
    owner = np.full((h, w), -1, np.int16)
    outlines = [0.0] * len(dice)
    for i in sorted(range(len(dice)), key=lambda i: -float(np.linalg.norm(dice[i].position - camera.position))):
        patch = _trace(camera, dice, i, lighting, supersample)
        outlines[i] = patch.outline
        if patch.layer is None:
            continue
        part = (slice(patch.y, patch.y + patch.layer.shape[0]), slice(patch.x, patch.x + patch.layer.shape[1]))
        picture[part] = picture[part] * (1 - patch.layer[..., 3:]) + patch.layer
        owner[part][patch.layer[..., 3] > 0.5] = i
    labels = tuple(_label(die, owner == i, outlines[i]) for i, die in enumerate(dice))
    return Layer(picture, irradiance(camera, dice, lighting, samples=shadows), owner, labels)


@dataclass(frozen=True, slots=True, eq=False)
class _Patch:
    x: int
    y: int
    outline: float
    layer: Floats | None


def _trace(camera: Camera, dice: Sequence[Die], i: int, lighting: Lighting, k: int) -> _Patch:
    """One die alone, `k` rays a pixel each way, as a premultiplied patch of the frame."""
    w, h = camera.size
    die = dice[i]
    pixels = camera.project(die.position + (SURFACE @ die.rotation.T) * np.float32(die.edge))
    outline = float(cv2.contourArea(cv2.convexHull(pixels.astype(np.float32))))
    x0, y0 = np.maximum(np.floor(pixels.min(0)).astype(int) - 1, 0)
    x1, y1 = np.minimum(np.ceil(pixels.max(0)).astype(int) + 2, (w, h))
    if x1 <= x0 or y1 <= y0:
        return _Patch(0, 0, outline, None)
    xs, ys = np.meshgrid(x0 + (np.arange((x1 - x0) * k) + 0.5) / k, y0 + (np.arange((y1 - y0) * k) + 0.5) / k)
    rays = camera.rays(xs.ravel().astype(np.float32), ys.ravel().astype(np.float32))
    origin = ((camera.position - die.position) @ die.rotation / np.float32(die.edge)).astype(np.float32)
    points, hit = march(np.broadcast_to(origin, rays.shape), rays @ die.rotation)
    layer = np.zeros((len(rays), 4), np.float32)
    if hit.any():
        points = points[hit]
        skin = die.skin.at(int(np.clip(float(np.ptp(pixels[:, 0])) * k * 0.8, 24, 256)))
        others = [o for j, o in enumerate(dice) if j != i and np.linalg.norm(o.position - die.position) < 4 * die.edge]
        layer[hit, :3], layer[hit, 3] = _shade(die, skin, points, normal(points), -rays[hit], others, lighting), 1
    size = (int(x1 - x0), int(y1 - y0))
    return _Patch(
        int(x0),
        int(y0),
        outline,
        cv2.resize(layer.reshape(size[1] * k, size[0] * k, 4), size, interpolation=cv2.INTER_AREA),
    )


def _label(die: Die, seen: npt.NDArray[np.bool_], outline: float) -> DieLabel:
    face, lean = die.up
    columns, rows = np.flatnonzero(seen.any(0)), np.flatnonzero(seen.any(1))
    if not len(columns):
        return DieLabel(face, (0.0, 0.0, 0.0, 0.0), 0.0, lean)
    box = (float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))
    return DieLabel(face, box, min(float(seen.sum()) / max(outline, 1.0), 1.0), lean)


def _srgb_curve(x: Floats) -> Floats:
    return np.where(x < 0.0031308, 12.92 * x, 1.055 * np.power(x, 1 / 2.4) - 0.055).astype(np.float32)


# Tables, since powers of whole frames would cost more than the rest of a frame. Fine steps where the curve is steep.
_STEPS = 1 << 14
_TO_SRGB = (_srgb_curve((np.arange(_STEPS + 1, dtype=np.float32) / _STEPS) ** 2) * 255 + 0.5).astype(np.uint8)
_BYTES = np.arange(256, dtype=np.float32) / 255
_TO_LINEAR = np.where(_BYTES < 0.04045, _BYTES / 12.92, ((_BYTES + 0.055) / 1.055) ** 2.4).astype(np.float32)


def to_srgb(linear: Floats) -> npt.NDArray[np.uint8]:
    """Linear RGB float → (h, w, 3) uint8 BGR, sRGB curve."""
    x: Any = cv2.sqrt(np.clip(linear, 0, 1).astype(np.float32, copy=False))
    steps: Any = x * np.float32(_STEPS)
    return np.asarray(cv2.cvtColor(_TO_SRGB[steps.astype(np.uint16)], cv2.COLOR_RGB2BGR))


def to_linear(srgb: npt.NDArray[np.uint8]) -> Floats:
    """(h, w, 3) uint8 BGR → linear RGB float32."""
    return np.ascontiguousarray(_TO_LINEAR[srgb][..., ::-1])
