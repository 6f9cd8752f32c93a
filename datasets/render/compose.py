"""Puts a traced layer on a table among other things, under a camera. Numpy and OpenCV only.

The layer's light falls on everything flat; homography and lens are shared, so cards lie in the dice's own plane.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from . import camera, layers, tables, things
from .scene import EDGE_MM
from .textures import Array, soft_noise

Matrix = npt.NDArray[Any]
LINEAR = ((np.arange(256, dtype=np.float32) / 255) ** 2.2).astype(np.float32)
LEAST_VISIBLE = 0.4
"""A die of which less than this is seen carries no label."""


@dataclass(frozen=True, slots=True)
class DieLabel:
    """One die in the picture."""

    face: str
    """A `Face` value, or "foreign_die"."""
    box: tuple[float, float, float, float]
    """Round what is seen of it, pixels."""
    cocked: bool
    tilt: float
    how: str
    visible: float
    on_card: bool
    px: float
    """Die edge in pixels."""
    at_border: bool


@dataclass(frozen=True, slots=True)
class CardLabel:
    """A pirate card in the picture."""

    name: str
    """A `Card` value, "back" or "unknown"."""
    art: str
    box: tuple[float, float, float, float]
    corners: tuple[tuple[float, float], ...]
    """Top left, top right, bottom right, bottom left of the upright card; may lie outside the picture."""
    visible: float


@dataclass(frozen=True, slots=True, eq=False)
class Composite:
    """A finished picture and what is on it."""

    image: npt.NDArray[Any]
    """(h, w, 3) BGR."""
    dice: tuple[DieLabel, ...]
    cards: tuple[CardLabel, ...]
    hands: tuple[tuple[float, float, float, float], ...]
    meta: dict[str, Any] = field(default_factory=dict)
    """session, split, layer, print_run, table, blur, …"""

    def record(self, name: str) -> dict[str, Any]:
        """The JSON record beside a picture."""
        h, w = self.image.shape[:2]
        return {
            "file": name,
            "width": w,
            "height": h,
            **self.meta,
            "dice": [
                {
                    "face": d.face,
                    "box": _rounded(d.box),
                    "cocked": d.cocked,
                    "tilt": round(d.tilt, 1),
                    "how": d.how,
                    "visible": round(d.visible, 3),
                    "on_card": d.on_card,
                    "px": round(d.px, 1),
                    "at_border": d.at_border,
                }
                for d in self.dice
            ],
            "cards": [
                {
                    "name": c.name,
                    "art": c.art,
                    "box": _rounded(c.box),
                    "corners": [_rounded(p) for p in c.corners],
                    "visible": round(c.visible, 3),
                }
                for c in self.cards
            ],
            "hands": [{"box": _rounded(h)} for h in self.hands],
        }


def _rounded(values: tuple[float, ...]) -> list[float]:
    return [round(v, 1) for v in values]


def table_from_mm(
    centre: npt.NDArray[Any], angle: float, size_mm: tuple[float, float], pixels: tuple[int, int]
) -> Matrix:
    """(3, 3): a sprite's pixels → the table plane in edges, seen from above and never mirrored."""
    w, h = pixels
    sx, sy = size_mm[0] / EDGE_MM / w, size_mm[1] / EDGE_MM / h
    c, s = np.cos(angle), np.sin(angle)
    # A picture's y runs down, the table's y runs up.
    return np.array(
        [
            [c * sx, s * sy, centre[0] - c * sx * w / 2 - s * sy * h / 2],
            [s * sx, -c * sy, centre[1] - s * sx * w / 2 + c * sy * h / 2],
            [0, 0, 1.0],
        ]
    )


def to_linear_fast(srgb: Array) -> Array:
    """sRGB 0..255 → linear, near enough for tables."""
    return cv2.pow(np.clip(srgb, 0, 255) * np.float32(1 / 255), 2.2)


def _apply(matrix: Matrix, points: Matrix) -> Matrix:
    p = points @ matrix[:, :2].T + matrix[:, 2]
    return np.asarray(p[:, :2] / p[:, 2:])


class _Canvas:
    """The table top as albedo, with shade from thick things."""

    def __init__(self, albedo: Array) -> None:
        self.albedo = albedo
        self.owner = np.zeros(albedo.shape[:2], np.uint8)

    def lay(self, sprite: things.Sprite, matrix: Matrix, shade: Matrix, owner: int) -> npt.NDArray[Any] | None:
        """Warp a sprite into place; returns its corners, or None where it would not be seen."""
        h, w = self.albedo.shape[:2]
        sh, sw = sprite.alpha.shape
        corners = _apply(matrix, np.array([[0, 0], [sw, 0], [sw, sh], [0, sh]], np.float64))
        x0, y0 = np.floor(corners.min(0) - 4).astype(int)
        x1, y1 = np.ceil(corners.max(0) + 5).astype(int)
        x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, w), min(y1, h)
        if x1 - x0 < 6 or y1 - y0 < 6:
            return None
        rgb, alpha = sprite.rgb, sprite.alpha
        scale = float(np.linalg.norm(corners[1] - corners[0])) / sw
        moved = np.array([[1, 0, -x0], [0, 1, -y0], [0, 0, 1.0]]) @ matrix
        if scale < 0.7:  # warping does not average
            nw, nh = max(2, round(sw * scale)), max(2, round(sh * scale))
            rgb, alpha = (
                cv2.resize(rgb, (nw, nh), interpolation=cv2.INTER_AREA),
                cv2.resize(alpha, (nw, nh), interpolation=cv2.INTER_AREA),
            )
            moved = moved @ np.diag([sw / nw, sh / nh, 1.0])
        size = (x1 - x0, y1 - y0)
        cover = cv2.warpPerspective(alpha, moved, size, flags=cv2.INTER_LINEAR)[..., None]
        colour = cv2.warpPerspective(rgb, moved, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        patch = self.albedo[y0:y1, x0:x1]
        drop = np.array([[1, 0, shade[0]], [0, 1, shade[1]]], np.float64)
        shadow = cv2.warpAffine(cv2.GaussianBlur(cover[..., 0], (0, 0), max(0.6, shade[2])), drop, size)[..., None]
        patch *= 1 - np.float32(0.45) * shadow * (1 - cover)
        patch[:] = patch * (1 - cover) + to_linear_fast(colour) * cover
        self.owner[y0:y1, x0:x1][cover[..., 0] > 0.5] = owner
        return corners


def _fitted_light(light: Array) -> npt.NDArray[Any]:
    """(6, 3) coefficients of a gentle log-light surface over the layer, for what lies outside it."""
    small = cv2.resize(light, (24, 24), interpolation=cv2.INTER_AREA)
    v, u = np.mgrid[0:24, 0:24] / 23 - 0.5
    basis = np.stack([np.ones(576), u.ravel(), v.ravel(), u.ravel() ** 2, u.ravel() * v.ravel(), v.ravel() ** 2], 1)
    log = np.log(np.maximum(small.reshape(-1, 3), 1e-3))
    weight = (log.mean(1) > np.percentile(log.mean(1), 35)).astype(float)[:, None]
    found = np.linalg.lstsq(basis * weight, log * weight, rcond=None)[0]
    found[3:] *= 0.3
    return np.asarray(found)


def _light_in_frame(layer: layers.Layer, light: Array, affine: Matrix, size: tuple[int, int]) -> Array:
    """The layer's light over the whole frame (h, w, 3)."""
    w, h = size
    lw, lh = layer.size
    gw, gh = w // 16 + 1, h // 16 + 1
    back = cv2.invertAffineTransform(affine)
    gx, gy = np.meshgrid((np.arange(gw) + 0.5) * 16, (np.arange(gh) + 0.5) * 16)
    uv = np.stack([gx.ravel(), gy.ravel()], 1) @ back[:, :2].T + back[:, 2]
    u, v = uv[:, 0] / lw - 0.5, uv[:, 1] / lh - 0.5
    u, v = np.clip(u, -1.2, 1.2), np.clip(v, -1.2, 1.2)
    basis = np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], 1)
    far = np.exp(np.clip(basis @ _fitted_light(layer.light), -2.5, 0.7)).reshape(gh, gw, 3).astype(np.float32)
    far = cv2.resize(far, (gw * 16, gh * 16), interpolation=cv2.INTER_LINEAR)[:h, :w]
    feather: Array = np.zeros((light.shape[0], light.shape[1]), np.float32)
    rim = max(8, light.shape[0] // 16)
    feather[rim:-rim, rim:-rim] = 1
    feather = cv2.blur(feather, (rim, rim))
    scale = light.shape[1] / lw
    adapt = affine @ np.diag([1 / scale, 1 / scale, 1.0])
    near = cv2.warpAffine(light, adapt, size, flags=cv2.INTER_LINEAR)
    t = cv2.warpAffine(feather, adapt, size, flags=cv2.INTER_LINEAR)[..., None]
    return np.asarray(near * t + far * (1 - t), np.float32)


def _hand(rng: np.random.Generator, size: tuple[int, int], px_mm: float) -> tuple[Array, Array]:
    """Colour (h, w, 3) linear and coverage (h, w) of a hand and sleeve that reach in from an edge."""
    w, h = size
    tone = np.array(
        [(225, 180, 155), (198, 145, 115), (150, 100, 72), (95, 62, 45), (240, 200, 180)][rng.integers(5)], np.float32
    )
    tone *= np.exp(rng.normal(0, 0.08))
    side = rng.integers(4)
    entry = np.array(
        [
            (rng.uniform(0, w), -20.0),
            (rng.uniform(0, w), h + 20.0),
            (-20.0, rng.uniform(0, h)),
            (w + 20.0, rng.uniform(0, h)),
        ][side]
    )
    target = np.array([rng.uniform(0.1, 0.9) * w, rng.uniform(0.1, 0.9) * h])
    way = target - entry
    way /= max(float(np.linalg.norm(way)), 1.0)
    across = np.array([-way[1], way[0]])
    skin, sleeve = np.zeros((h, w), np.uint8), np.zeros((h, w), np.uint8)
    palm = target - way * 70 * px_mm

    def limb(mask: np.ndarray, a: np.ndarray, b: np.ndarray, wide_mm: float) -> None:
        cv2.line(
            mask, tuple(int(v) for v in a), tuple(int(v) for v in b), 255, max(2, int(wide_mm * px_mm)), cv2.LINE_AA
        )

    limb(skin, palm - way * 120 * px_mm, palm - way * 30 * px_mm, 55)
    limb(skin, palm - way * 20 * px_mm + across * 8 * px_mm, palm + way * 20 * px_mm + across * 8 * px_mm, 62)
    limb(skin, palm - way * 20 * px_mm - across * 8 * px_mm, palm + way * 20 * px_mm - across * 8 * px_mm, 62)
    curl = rng.uniform(0.35, 1.0)
    for k in range(4):
        root = palm + way * 35 * px_mm + across * (k - 1.5) * 19 * px_mm
        bend = way + across * rng.normal(0, 0.12) + across * (k - 1.5) * 0.12
        middle = root + bend * 38 * curl * px_mm
        limb(skin, root, middle, 17)
        limb(skin, middle, middle + (bend + across * rng.normal(0, 0.2)) * 32 * curl * px_mm, 15)
    thumb = 1 if rng.random() < 0.5 else -1
    limb(skin, palm + across * thumb * 30 * px_mm, palm + across * thumb * 55 * px_mm + way * 35 * px_mm, 19)
    limb(sleeve, palm - way * rng.uniform(50, 110) * px_mm, palm - way * 900 * px_mm, rng.uniform(65, 120))
    both = cv2.max(skin, sleeve)
    cover = cv2.GaussianBlur(both.astype(np.float32) / 255, (0, 0), max(0.7, 1.2 * px_mm))
    depth = cv2.distanceTransform((both > 127).astype(np.uint8), cv2.DIST_L2, 3)
    round_shade = np.clip(depth / max(10 * px_mm, 1), 0, 1) ** 0.5
    field = (
        np.where((sleeve > 127)[..., None], rng.uniform(10, 220, 3), tone)
        * (0.55 + 0.5 * round_shade + 0.05 * soft_noise(rng, (h, w), 14))[..., None]
    )
    return to_linear_fast(field.astype(np.float32)), cover


class Compositor:
    """Draws composites from the layers of a folder. Cheap to make; banks of tables and cards load on first use."""

    def __init__(self, folder: Path | str, split: str, *, eight: bool = False) -> None:
        """`eight`: only layers of exactly eight dice, all ours, all flat."""
        self.split, self.eight = split, eight
        self.paths = sorted(Path(folder).glob(f"{split}-*.npz"))
        if not self.paths:
            raise FileNotFoundError(
                f"expected layers ({split}-*.npz) in {folder}, found none: trace some with `ausguck dataset layers`"
            )

        if eight:
            self.paths = [path for path in self.paths if _eight_flat(layers.load_meta(path))]
            if not self.paths:
                raise FileNotFoundError(
                    f"expected a layer of eight flat dice in {folder}, found none: trace more layers"
                )

    def draw(
        self,
        rng: np.random.Generator,
        size: tuple[int, int] = (640, 640),
        *,
        die_pixels: float | None = None,
        plain: bool = False,
        path: Path | None = None,
    ) -> Composite:
        """One composite of `size` (w, h). `plain`: eight flat dice's kind of picture, no hands, milder camera."""
        layer = layers.load(path or self.paths[rng.integers(len(self.paths))])
        return compose(rng, layer, size=size, die_pixels=die_pixels, split=self.split, plain=plain or self.eight)


def _eight_flat(meta: dict[str, Any]) -> bool:
    dice = meta["dice"]
    return len(dice) == 8 and all(d["ours"] and d["whole"] and d["how"] == "flat" and d["visible"] > 0.85 for d in dice)


def _draw_pixels(rng: np.random.Generator, size: tuple[int, int]) -> float:
    """Die edge in pixels: most 24 to 60, some 18 to 75; large pictures see 30 to 75 cm of the table."""
    if max(size) > 900:
        return float(np.clip(max(size) * EDGE_MM / rng.uniform(300, 750), 18, 95))
    low, high = (18, 75) if rng.random() < 0.25 else (24, 60)
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _choose_place(
    rng: np.random.Generator, layer: layers.Layer, scale: float, size: tuple[int, int], inside: bool
) -> Matrix:
    """(2, 3): layer pixels → frame pixels. Nine times in ten all dice stay inside, where they fit."""
    whole = [d for d in layer.meta["dice"] if d["box"] and d["whole"]]
    angle = rng.uniform(0, 2 * np.pi)
    c, s = np.cos(angle) * scale, np.sin(angle) * scale
    turn = np.array([[c, -s], [s, c]])
    if not whole:
        centre = np.array(layer.size) / 2
        return np.column_stack([turn, np.array(size) / 2 - turn @ centre])
    spots = np.array([d["middle"] for d in whole]) @ turn.T
    margin = layer.meta["pixels_per_edge"] * scale * (0.95 if inside or rng.random() < 0.88 else -0.1)
    low, high = margin - spots.min(0), np.array(size) - margin - spots.max(0)
    shift = np.where(
        high > low, rng.uniform(0, 1, 2) * (high - low) + low, (low + high) / 2 + rng.normal(0, 0.1, 2) * np.array(size)
    )
    return np.column_stack([turn, shift])


def _contour(ids: npt.NDArray[Any], die: dict[str, Any]) -> Matrix:
    x0, y0, x1, y1 = die["box"]
    mask = (ids[y0:y1, x0:x1] == die["id"]).astype(np.uint8)
    pieces, _ = cv2.findContours(
        cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE
    )
    largest = max(pieces, key=len)
    return np.asarray(largest[:, 0] + np.array([x0 - 0.5, y0 - 0.5]))


def compose(
    rng: np.random.Generator,
    layer: layers.Layer,
    *,
    size: tuple[int, int] = (640, 640),
    die_pixels: float | None = None,
    split: str = "train",
    plain: bool = False,
) -> Composite:
    """One composite of `size` (w, h), dice about `die_pixels` wide (drawn if None)."""
    if die_pixels is None:
        die_pixels = _draw_pixels(rng, size)
    scale = die_pixels / layer.meta["pixels_per_edge"]
    affine = _choose_place(rng, layer, scale, size, plain)
    to_frame = np.vstack([affine, [0, 0, 1]]) @ np.array(layer.meta["homography"])
    px_mm = die_pixels / EDGE_MM

    table, tint = tables.draw_table(rng, split)
    texture_to_table = table_from_mm(
        rng.uniform(-4, 4, 2),
        rng.uniform(0, 2 * np.pi),
        (table.picture.shape[1] * table.mm_per_pixel, table.picture.shape[0] * table.mm_per_pixel),
        (table.picture.shape[1], table.picture.shape[0]),
    )
    flat = cv2.warpPerspective(
        table.picture, to_frame @ texture_to_table, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT
    )
    canvas = _Canvas(np.minimum(LINEAR[flat] * tint, 1))
    frame_to_table = np.linalg.inv(to_frame)
    laid = _lay_things(rng, canvas, layer, to_frame, frame_to_table, px_mm, split)

    dice, cover, light = layer.dice, layer.cover, layer.light
    cut = [d["id"] for d in layer.meta["dice"] if d["box"] and not d["whole"]]
    if cut:  # dice that the layer's own edge cuts are taken away
        away = cv2.dilate(np.isin(layer.ids, cut).astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
        away &= ~np.isin(layer.ids, [d["id"] for d in layer.meta["dice"] if d["whole"]])
        dice, cover = np.where(away[..., None], 0, dice), np.where(away, 0, cover)
    packed = np.dstack([dice, cover])
    adapt = affine
    if scale < 0.8:
        small = (max(8, round(layer.size[0] * scale)), max(8, round(layer.size[1] * scale)))
        packed = cv2.resize(packed, small, interpolation=cv2.INTER_AREA)
        light = cv2.resize(light, small, interpolation=cv2.INTER_AREA)
        adapt = affine @ np.diag([layer.size[0] / small[0], layer.size[1] / small[1], 1.0])
    packed = cv2.warpAffine(packed, adapt, size, flags=cv2.INTER_LINEAR)
    lit = _light_in_frame(layer, light, affine, size)
    picture: Array = canvas.albedo * lit * (1 - packed[..., 3:]) + packed[..., :3]

    hand_cover: Array | None = None
    if not plain and rng.random() < 0.1:
        colour, hand_cover = _hand(rng, size, px_mm)
        shadow = cv2.GaussianBlur(hand_cover, (0, 0), 5 * px_mm + 1)
        move = np.array([[1, 0, rng.normal(0, 9) * px_mm], [0, 1, rng.normal(0, 9) * px_mm]])
        shadow = cv2.warpAffine(shadow, move, size)
        picture = picture * (1 - 0.6 * shadow[..., None]) * (1 - hand_cover[..., None]) + colour * hand_cover[
            ..., None
        ] * float(lit.mean())

    shot = camera.draw_shot(rng, die_pixels)
    k1 = shot.distortion
    if k1:
        maps = camera.distortion_maps(size, k1)
        picture = cv2.remap(picture, *maps, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        if hand_cover is not None:
            hand_cover = cv2.remap(hand_cover, *maps, cv2.INTER_LINEAR)

    labels = _die_labels(layer, cut, affine, size, k1, hand_cover, laid, die_pixels)
    cards = _card_labels(laid, size, k1, canvas.owner, packed[..., 3], hand_cover)
    hands = _hand_boxes(hand_cover)
    image = camera.develop(np.ascontiguousarray(picture, np.float32), shot, rng)
    meta = {
        "session": layer.meta["session"],
        "split": split,
        "print_run": layer.meta["print_run"],
        "source": layer.meta["source"],
        "table": table.name,
        "camera_tilt": round(layer.meta["tilt"], 1),
        "blur": round(shot.blur, 2),
        "motion": round(shot.motion[0], 2),
        "noise": round(shot.noise, 4),
        "glare": shot.glare,
        "die_pixels": round(die_pixels, 1),
    }
    return Composite(image, labels, cards, hands, meta)


@dataclass(frozen=True, slots=True, eq=False)
class _Laid:
    sprite: things.Sprite
    number: int
    corners: Matrix
    ground: Matrix
    """Corners on the table plane, edges."""


def _lay_things(
    rng: np.random.Generator,
    canvas: _Canvas,
    layer: layers.Layer,
    to_frame: Matrix,
    frame_to_table: Matrix,
    px_mm: float,
    split: str,
) -> list[_Laid]:
    h, w = canvas.albedo.shape[:2]
    direction = rng.uniform(0, 2 * np.pi)
    todo: list[things.Sprite] = [things.clutter(rng, split) for _ in range(int(rng.choice([0, 0, 0, 1, 2, 3])))]
    for _ in range(int(rng.choice([0, 1, 1, 2, 4], p=[0.4, 0.3, 0.12, 0.1, 0.08]))):
        card = things.pirate_card(rng, split)
        if card is not None:
            todo.append(card)
    laid: list[_Laid] = []
    ground = np.array([d["ground"][:2] for d in layer.meta["dice"]]).reshape(-1, 2)
    for number, sprite in enumerate(todo, 1):
        if sprite.is_card and len(ground) and rng.random() < 0.4:  # under or beside dice
            centre = ground[rng.integers(len(ground))] + rng.normal(0, 2.0, 2)
        else:
            centre = _apply(frame_to_table, np.array([[rng.uniform(0, w), rng.uniform(0, h)]]))[0]
        sh, sw = sprite.alpha.shape
        place = table_from_mm(centre, rng.uniform(0, 2 * np.pi), sprite.size_mm, (sw, sh))
        reach = sprite.thick_mm * px_mm * 0.8
        shade = np.array([np.cos(direction) * reach, np.sin(direction) * reach, reach * 0.5])
        corners = canvas.lay(sprite, to_frame @ place, shade, number)
        if corners is not None:
            laid.append(
                _Laid(
                    sprite, number, corners, _apply(place, np.array([[0, 0], [sw, 0], [sw, sh], [0, sh]], np.float64))
                )
            )
    return laid


def _inside(point: npt.NDArray[Any], quad: Matrix) -> bool:
    return bool(cv2.pointPolygonTest(quad.astype(np.float32), (float(point[0]), float(point[1])), False) >= 0)


def _die_labels(
    layer: layers.Layer,
    cut: list[int],
    affine: Matrix,
    size: tuple[int, int],
    k1: float,
    hand: Array | None,
    laid: list[_Laid],
    die_pixels: float,
) -> tuple[DieLabel, ...]:
    labels = []
    for die in layer.meta["dice"]:
        if die["box"] is None or die["id"] in cut or die["visible"] < LEAST_VISIBLE:
            continue
        rim = _contour(layer.ids, die) @ affine[:, :2].T + affine[:, 2]
        if k1:
            rim = camera.distort_points(rim, size, k1)
        area = cv2.contourArea(rim.astype(np.float32))
        low, high = np.maximum(rim.min(0), 0), np.minimum(rim.max(0), size)
        x0, y0, x1, y1 = (int(v) for v in (*np.floor(low), *np.ceil(high)))
        if x1 - x0 < 3 or y1 - y0 < 3:
            continue
        mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
        cv2.fillPoly(mask, [np.rint((rim - [x0, y0]) * 16).astype(np.int32)], 1, shift=4)
        border = bool(rim.min() < 0 or (rim.max(0) > size).any())
        if hand is not None:
            hidden = hand[y0:y1, x0:x1] > 0.5
            if (mask.astype(bool) & hidden).any():
                mask[hidden] = 0
                ys, xs = np.nonzero(mask)
                if not len(xs):
                    continue
                low, high = np.array([x0 + xs.min(), y0 + ys.min()]), np.array([x0 + xs.max() + 1, y0 + ys.max() + 1])
        visible = die["visible"] * min(1.0, float(mask.sum()) / max(area, 1.0))
        if visible < LEAST_VISIBLE:
            continue
        ground = np.array(die["ground"][:2])
        labels.append(
            DieLabel(
                die["face"],
                (float(low[0]), float(low[1]), float(high[0]), float(high[1])),
                bool(die["cocked"]),
                float(die["tilt"]),
                str(die["how"]),
                float(visible),
                any(_inside(ground, x.ground) for x in laid if x.sprite.is_card),
                die_pixels * float(die["size"]),
                border,
            )
        )
    return tuple(labels)


def _card_labels(
    laid: list[_Laid], size: tuple[int, int], k1: float, owner: npt.NDArray[Any], dice: Array, hand: Array | None
) -> tuple[CardLabel, ...]:
    out = []
    bare = dice < 0.5
    if hand is not None:
        bare &= hand < 0.5
    for thing in laid:
        if not thing.sprite.is_card:
            continue
        area = abs(cv2.contourArea(thing.corners.astype(np.float32)))
        visible = float(((owner == thing.number) & bare).sum()) / max(area, 1.0)
        corners = camera.distort_points(thing.corners, size, k1) if k1 else thing.corners
        low, high = np.maximum(corners.min(0), 0), np.minimum(corners.max(0), size)
        if visible < 0.2 or (high - low < 4).any():
            continue
        _, name, art = thing.sprite.name.split(":")
        out.append(
            CardLabel(
                name,
                art,
                (float(low[0]), float(low[1]), float(high[0]), float(high[1])),
                tuple((float(x), float(y)) for x, y in corners),
                min(1.0, visible),
            )
        )
    return tuple(out)


def _hand_boxes(hand: Array | None) -> tuple[tuple[float, float, float, float], ...]:
    if hand is None:
        return ()
    ys, xs = np.nonzero(hand > 0.5)
    if len(xs) < 200:
        return ()
    return ((float(xs.min()), float(ys.min()), float(xs.max() + 1), float(ys.max() + 1)),)


def quiet_opencv() -> None:
    """One thread a process: many processes share the machine."""
    cv2.setNumThreads(1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
