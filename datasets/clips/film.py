"""Stage → frames: what has not moved is rendered once, what moves is blurred, and every frame has its own noise.

Per frame of 960 × 720: a few milliseconds while nothing moves, about a tenth of a second while dice fly.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from datasets.quick.body import Floats
from datasets.quick.cards import Picture, card_art
from datasets.quick.scene import Camera, Die, _trace, irradiance, to_linear, to_srgb

from .hand import hand_shadow, render_hand
from .session import TEXTURE_MM, Session
from .stage import Flat, Stage, State

EXPOSURE = 1 / 45
"""Seconds that a frame looks at."""


@cache
def _art(name: str) -> Picture:
    """(400, 248, 4) uint8 BGRA of a card or a sheet of paper. Only our own drawings: clips ship."""
    if name == "sheet":
        paper = np.full((594, 420, 3), 236, np.uint8)
        for y in range(60, 540, 22):
            cv2.line(paper, (40, y), (40 + (y * 7919) % 330, y), (150, 140, 135), 1, cv2.LINE_AA)
        return np.dstack([paper, np.full((594, 420), 255, np.uint8)])
    art = card_art(name, own=True, reference=False)[0]
    h, w = art.shape[:2]
    mask = np.zeros((h, w), np.uint8)
    r = int(0.042 * h)
    cv2.rectangle(mask, (r, 0), (w - 1 - r, h - 1), 255, -1)
    cv2.rectangle(mask, (0, r), (w - 1, h - 1 - r), 255, -1)
    for x, y in ((r, r), (w - 1 - r, r), (r, h - 1 - r), (w - 1 - r, h - 1 - r)):
        cv2.circle(mask, (x, y), r, 255, -1, cv2.LINE_AA)
    return np.dstack([art, mask])


def _laid(camera: Camera, flat: Flat) -> tuple[int, int, Floats, Floats] | None:
    """A flat thing in the picture: x, y, linear albedo (h, w, 3) and cover (h, w)."""
    w, h = camera.size
    corners = camera.project(flat.corners()).astype(np.float32)
    low = np.maximum(np.floor(corners.min(0)).astype(int) - 1, 0)
    high = np.minimum(np.ceil(corners.max(0)).astype(int) + 2, (w, h))
    if (high - low < 2).any():
        return None
    art = _art(flat.name)
    size = float(np.linalg.norm(corners[3] - corners[0]))
    shrink = min(1.0, size * 1.5 / art.shape[0])
    art = np.asarray(cv2.resize(art, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA), np.uint8)
    ah, aw = art.shape[:2]
    source = np.array([[0, 0], [aw, 0], [aw, ah], [0, ah]], np.float32)
    part = (int(high[0] - low[0]), int(high[1] - low[1]))
    matrix = cv2.getPerspectiveTransform(source, (corners - low).astype(np.float32))
    colour = cv2.warpPerspective(art[..., :3], matrix, part, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    cover = cv2.warpPerspective(art[..., 3], matrix, part, flags=cv2.INTER_LINEAR).astype(np.float32) / np.float32(255)
    return int(low[0]), int(low[1]), to_linear(np.asarray(colour, np.uint8)), np.asarray(cover, np.float32)


class _Cache(OrderedDict[Any, Any]):
    """The newest few of what was made."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: Any, value: Any) -> Any:
        self[key] = value
        if len(self) > self._most:
            self.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True)
class Look:
    """How the film is made."""

    fps: float = 12.0
    dropped: float = 0.0
    """Share of frames that are lost: the file has them not, the times of the others stay."""


class Film:
    """Renders a stage.

    for number, picture in Film(stage).frames():
        ...
    """

    def __init__(self, stage: Stage, look: Look | None = None) -> None:
        self.stage, self.look = stage, look or Look()
        self.session: Session = stage.session
        self._rng = np.random.default_rng([self.session.seed, 99])
        self._grounds, self._patches, self._lights, self._whole = _Cache(6), _Cache(64), _Cache(3), _Cache(3)
        w, h = self.session.camera.size
        yy, xx = np.mgrid[0:h, 0:w].astype(np.float32)
        r2 = ((xx / w - 0.5) ** 2 + (yy / h - 0.5) ** 2)[..., None]
        self._gain = (self.session.exposure * (1 - self.session.vignette * r2)).astype(np.float32)
        self._noise = [self._grain((h + 32, w + 32)) for _ in range(4)]

    def _grain(self, size: tuple[int, int]) -> Floats:
        grain = self._rng.standard_normal((*size, 3), np.float32)
        return np.rint(cv2.GaussianBlur(grain, (0, 0), 0.6) * 1.9 * self.session.grain).astype(np.int16)

    @property
    def count(self) -> int:
        """Frames from the beginning to the end."""
        return int(self.stage.seconds * self.look.fps) + 1

    def frames(self) -> Iterator[tuple[int, Picture]]:
        """(number, (h, w, 3) uint8 BGR): numbers of lost frames are left out."""
        lost = np.random.default_rng([self.session.seed, 5])
        for number in range(self.count):
            if lost.random() < self.look.dropped and number:
                continue
            yield number, self.frame(number)

    def frame(self, number: int) -> Picture:
        """One finished frame."""
        t = number / self.look.fps
        clean = self._clean(t)
        s = self.session
        gain = 1 + s.flicker * np.sin(t * 2 * np.pi * 7.3) + self._rng.normal(0, 0.0015)
        noise = self._noise[int(self._rng.integers(len(self._noise)))]
        y, x = (int(v) for v in self._rng.integers(0, 32, 2))
        h, w = clean.shape[:2]
        bright = cv2.convertScaleAbs(clean, alpha=float(gain))
        return np.asarray(np.clip(bright + noise[y : y + h, x : x + w], 0, 255).astype(np.uint8))

    # -- without noise ----------------------------------------------------------------------------------------

    def _clean(self, t: float) -> Picture:
        end, start = self.stage.at(t), self.stage.at(max(t - EXPOSURE, 0.0))
        key = None
        if _same(start, end):
            key = _key(end)
            if key in self._whole:
                return self._whole[key]  # type: ignore[no-any-return]
        picture = self._linear(t, start, end)
        picture *= self._gain * np.float32(end.light)
        done = to_srgb(np.asarray(cv2.GaussianBlur(picture, (0, 0), self.session.blur), np.float32))
        return self._whole.keep(key, done) if key is not None else done

    def _linear(self, t: float, start: State, end: State) -> Floats:
        camera = self.session.camera_at(end.camera)
        middle = self.stage.at(max(t - EXPOSURE / 2, 0.0))
        dice = [self._die(middle, i) for i in range(9)]
        shown = [i for i in range(9) if end.shown[i] and start.shown[i]]
        under, over = [c for c in end.cards if c.z < 0.25], [c for c in end.cards if c.z >= 0.25]
        picture = self._ground(camera, end.camera, tuple(under)) * self._light(
            camera, end.camera, [dice[i] for i in shown]
        )
        for i in sorted(shown, key=lambda i: -float(np.linalg.norm(dice[i].position - camera.position))):
            self._lay_die(picture, camera, end.camera, i, shown, t, start, middle, end)
        self._lay_flats(picture, camera, over)
        if end.shadow is not None:
            self._shadow(picture, camera, end.shadow)
        if end.hand is not None:
            self._lay_hand(picture, camera, start, end)
        return picture

    def _die(self, state: State, i: int) -> Die:
        return Die(self.session.skins[i], state.positions[i], state.rotations[i], self.session.edge)

    def _ground(self, camera: Camera, shift: tuple[float, float, float], cards: tuple[Flat, ...]) -> Floats:
        """Linear albedo of table and cards."""
        key = (shift, cards)
        if key in self._grounds:
            return self._grounds[key]  # type: ignore[no-any-return]
        w, h = camera.size
        side = self.session.table.shape[0]
        to_mm = np.array([[TEXTURE_MM, 0, -side / 2 * TEXTURE_MM], [0, -TEXTURE_MM, side / 2 * TEXTURE_MM], [0, 0, 1]])
        ground = cv2.warpPerspective(
            self.session.table,
            camera.homography() @ to_mm,
            (w, h),
            flags=cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REFLECT,
        )
        for card in cards:
            laid = _laid(camera, card)
            if laid is None:
                continue
            x, y, colour, cover = laid
            part = ground[y : y + cover.shape[0], x : x + cover.shape[1]]
            soft = cv2.GaussianBlur(cover, (0, 0), 1.6)[..., None]
            part[:] = part * (1 - 0.45 * soft * (1 - cover[..., None]))
            part[:] = part * (1 - cover[..., None]) + colour * cover[..., None]
        return self._grounds.keep(key, ground)  # type: ignore[no-any-return]

    def _light(self, camera: Camera, shift: tuple[float, float, float], dice: list[Die]) -> Floats:
        key = (shift, *(d.position.tobytes() + d.rotation.tobytes() for d in dice))
        if key in self._lights:
            return self._lights[key]  # type: ignore[no-any-return]
        return self._lights.keep(key, irradiance(camera, dice, self.session.lighting, samples=5))  # type: ignore[no-any-return]

    def _lay_die(
        self,
        picture: Floats,
        camera: Camera,
        shift: tuple[float, float, float],
        i: int,
        shown: list[int],
        t: float,
        start: State,
        middle: State,
        end: State,
    ) -> None:
        travel = float(
            np.abs(camera.project(start.positions[i : i + 1]) - camera.project(end.positions[i : i + 1])).max()
        )
        turned = float(np.abs(start.rotations[i] - end.rotations[i]).max())
        near = [
            j for j in shown if j != i and np.linalg.norm(end.positions[j] - end.positions[i]) < 3.2 * self.session.edge
        ]
        if travel < 0.05 and turned < 0.004:
            dice = [self._die(end, i), *(self._die(end, j) for j in near)]
            key = (shift, i, *(d.position.tobytes() + d.rotation.tobytes() for d in dice))
            patch = self._patches.get(key) or self._patches.keep(key, _trace(camera, dice, 0, self.session.lighting, 2))
            _over(picture, patch.x, patch.y, patch.layer)
            return
        moments = int(np.clip(np.ceil(max(travel / 3, turned * 5)), 2, 4))
        neighbours = [self._die(middle, j) for j in near]
        layers: list[tuple[int, int, Floats]] = []
        for k in range(moments):
            state = self.stage.at(max(t - EXPOSURE * (1 - k / (moments - 1)), 0.0))
            patch = _trace(camera, [self._die(state, i), *neighbours], 0, self.session.lighting, 1)
            if patch.layer is not None:
                layers.append((patch.x, patch.y, patch.layer))
        if not layers:
            return
        x0, y0 = min(x for x, _, _ in layers), min(y for _, y, _ in layers)
        x1, y1 = max(x + a.shape[1] for x, _, a in layers), max(y + a.shape[0] for _, y, a in layers)
        smear = np.zeros((y1 - y0, x1 - x0, 4), np.float32)
        for x, y, layer in layers:
            smear[y - y0 : y - y0 + layer.shape[0], x - x0 : x - x0 + layer.shape[1]] += layer / np.float32(moments)
        _over(picture, x0, y0, smear)

    def _lay_flats(self, picture: Floats, camera: Camera, flats: list[Flat]) -> None:
        """Cards in the air and sheets over dice."""
        lighting = self.session.lighting
        level = lighting.sky + sum((lamp.colour for lamp in lighting.lamps), np.zeros(3, np.float32))
        for flat in flats:
            laid = _laid(camera, flat)
            if laid is None:
                continue
            x, y, colour, cover = laid
            h, w = camera.size[1], camera.size[0]
            pad = 20
            big = np.zeros((cover.shape[0] + 2 * pad, cover.shape[1] + 2 * pad), np.float32)
            big[pad:-pad, pad:-pad] = cover
            soft = cv2.GaussianBlur(big, (0, 0), 1.5 + flat.z * 0.35)
            y0, x0, y1, x1 = (
                max(y - pad, 0),
                max(x - pad, 0),
                min(y + cover.shape[0] + pad, h),
                min(x + cover.shape[1] + pad, w),
            )
            soft = soft[y0 - y + pad : y1 - y + pad, x0 - x + pad : x1 - x + pad]
            picture[y0:y1, x0:x1] *= (1 - 0.4 * soft)[..., None]
            part = picture[y : y + cover.shape[0], x : x + cover.shape[1]]
            part[:] = part * (1 - cover[..., None]) + colour * level * cover[..., None]

    def _shadow(self, picture: Floats, camera: Camera, x: float) -> None:
        """Somebody stands between lamp and table."""
        w = camera.size[0]
        at = camera.project(np.array([[x, 0, 0]], np.float32))[0, 0]
        xs = np.arange(w, dtype=np.float32)
        dark = 1 - 0.38 * np.exp(-(((xs - at) / (w * 0.16)) ** 2))
        picture *= dark[None, :, None]

    def _lay_hand(self, picture: Floats, camera: Camera, start: State, end: State) -> None:
        hand, look = end.hand, self.session.hands[end.player % len(self.session.hands)]
        assert hand is not None
        picture *= hand_shadow(camera, hand, look, self.session.lighting)
        travel = None
        if start.hand is not None:
            here, there = (camera.project(np.array([[v.x, v.y, v.z]], np.float32))[0] for v in (hand, start.hand))
            travel = there - here
        layer = render_hand(camera, hand, look, self.session.lighting, travel)
        if layer is not None:
            layer.over(picture)


def _over(picture: Floats, x: int, y: int, layer: Floats | None) -> None:
    if layer is None:
        return
    part = picture[y : y + layer.shape[0], x : x + layer.shape[1]]
    part *= 1 - layer[..., 3:]
    part += layer[..., :3]


def _same(a: State, b: State) -> bool:
    return a is b or (_key(a) == _key(b))


def _key(s: State) -> tuple[object, ...]:
    return (
        s.positions.tobytes(),
        s.rotations.tobytes(),
        s.shown,
        s.cards,
        s.hand,
        s.light,
        s.camera,
        s.shadow,
        s.player,
    )


class Recorder:
    """Writes H.264, which OpenCV everywhere reads and no OpenCV writes.

    with Recorder(path, (960, 720), fps) as video:
        video.write(picture)
    """

    def __init__(self, path: Path, size: tuple[int, int], fps: float, *, crf: int = 25) -> None:
        from fractions import Fraction

        import av

        self._av = av
        self._part = path.with_suffix(".part.mp4")
        self._path = path
        self._file = av.open(str(self._part), "w")
        self._stream = self._file.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
        self._stream.width, self._stream.height = size
        self._stream.pix_fmt = "yuv420p"
        self._stream.options = {"crf": str(crf), "preset": "medium", "g": "60", "bf": "0"}
        self._stream.codec_context.thread_count = 1

    def __enter__(self) -> Recorder:
        return self

    def write(self, picture: Picture) -> None:
        """One frame, (h, w, 3) uint8 BGR."""
        for packet in self._stream.encode(self._av.VideoFrame.from_ndarray(picture, format="bgr24")):
            self._file.mux(packet)

    def __exit__(self, *error: object) -> None:
        for packet in self._stream.encode():
            self._file.mux(packet)
        self._file.close()
        if error[0] is None:
            self._part.rename(self._path)
        else:
            self._part.unlink(missing_ok=True)
