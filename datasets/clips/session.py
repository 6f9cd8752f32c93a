"""One evening at one table: camera, lamps, table top, dice, hands, noise. All of it from one seed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from datasets.quick.body import Floats
from datasets.quick.cards import Picture
from datasets.quick.scene import Camera, Lighting, Skin, to_linear
from datasets.quick.skins import foreign_skin, own_skin
from datasets.quick.throw import EDGE, random_lighting

from .hand import HandLook

TEXTURE_MM = 0.7
"""Millimetres a pixel of the table top."""
NINTH = 8
"""Number of the die that does not belong to the game."""


@dataclass(frozen=True, slots=True, eq=False)
class Session:
    """Everything that stays the same while a clip runs."""

    seed: int
    camera: Camera
    lighting: Lighting
    skins: tuple[Skin, ...]
    """Eight of ours and a stranger."""
    table: Floats
    """(h, w, 3) linear albedo of the table top, its middle at the world's origin, `TEXTURE_MM` a pixel."""
    hands: tuple[HandLook, ...]
    """One a player."""
    half: tuple[float, float]
    """Half width and height of what the camera sees, mm."""
    die_pixels: float
    grain: float = 2.0
    exposure: float = 0.95
    vignette: float = 0.25
    blur: float = 0.55
    flicker: float = 0.004
    edge: float = EDGE

    def camera_at(self, shift: tuple[float, float, float]) -> Camera:
        """The camera, moved by mm in x and y and turned by degrees about the vertical."""
        if shift == (0.0, 0.0, 0.0):
            return self.camera
        a = np.deg2rad(shift[2])
        turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]], np.float32)
        position = turn @ self.camera.position + np.array([shift[0], shift[1], 0], np.float32)
        return replace(
            self.camera,
            position=position.astype(np.float32),
            rotation=(self.camera.rotation @ turn.T).astype(np.float32),
        )


def draw_session(
    seed: int,
    *,
    size: tuple[int, int] = (960, 720),
    die_pixels: float | None = None,
    sources: tuple[str, ...] = ("drawing",),
    clutter: bool = True,
    calm: bool = False,
) -> Session:
    """A session from its seed. `sources` as in `skins.own_skin`; `calm`: an evenly lit table, nothing lies about."""
    rng = np.random.default_rng([seed, 4711])
    pixels = float(die_pixels or rng.uniform(36, 48))
    across = size[0] * EDGE / pixels
    height = float(rng.uniform(430, 750))
    tilt = float(min(abs(rng.normal(0, 6)), 14))
    camera = Camera.looking_down(size, height, across=across, tilt=tilt, turn=0.0)
    skins = tuple(own_skin(rng, sources=sources) for _ in range(8))
    table = _table_top(rng, clutter=clutter and not calm and rng.random() < 0.5)
    return Session(
        seed=seed,
        camera=camera,
        lighting=_lighting(rng, calm),
        skins=(*skins, foreign_skin(rng)),
        table=table,
        hands=(HandLook.drawn(rng), HandLook.drawn(rng)),
        half=(across / 2, across / 2 * size[1] / size[0]),
        die_pixels=pixels,
        grain=float(rng.uniform(1.2, 3.2)),
        exposure=float(rng.uniform(0.8, 1.02)),
        vignette=float(rng.uniform(0.0, 0.45)),
        blur=float(rng.uniform(0.4, 0.75)),
        flicker=float(rng.uniform(0.0, 0.008)),
    )


def _lighting(rng: np.random.Generator, calm: bool) -> Lighting:
    """A lit room: a camera table that nobody can see anything on is no table to play at."""
    for _ in range(50):
        lighting = random_lighting(rng)
        if float(lighting.sky.mean()) > (0.4 if calm else 0.22):
            return lighting
    return lighting


def _table_top(rng: np.random.Generator, *, clutter: bool) -> Floats:
    """Painted, never photographed: what is shown may ship."""
    from datasets.quick.compose import _clutter
    from datasets.render.tables import PAINTERS

    names = sorted(PAINTERS)
    name = "print"
    while name == "print":  # a sheet of shapes to train on, no table that anybody plays at
        name = names[int(rng.integers(len(names)))]
    painted = PAINTERS[name](rng)
    side = round(700 / TEXTURE_MM)
    picture: Picture = np.ascontiguousarray(
        cv2.resize(np.clip(painted, 0, 255).astype(np.uint8)[..., ::-1], (side, side), interpolation=cv2.INTER_CUBIC)
    )
    if clutter:
        _clutter(picture, rng)
    return to_linear(picture)
