"""Flat things that share the table with dice: pirate cards, playing cards, coins, pencils, phones, paper, tokens.

A `Sprite` is seen straight from above and has a size in millimetres; the compositor puts it in perspective.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from scorer.cards import Card
from scorer.faces import Face

from .textures import Array, our_drawing, reference_folder, soft_noise

CARD_MM = (62.0, 100.0)


@dataclass(frozen=True, slots=True, eq=False)
class Sprite:
    """A flat thing."""

    name: str
    rgb: Array
    """(h, w, 3) sRGB 0..255."""
    alpha: Array
    """(h, w) 0..1."""
    size_mm: tuple[float, float]
    is_card: bool = False
    thick_mm: float = 0.3


def rounded(h: int, w: int, radius: float) -> Array:
    """Coverage of a rounded rectangle."""
    yy, xx = np.mgrid[0:h, 0:w].astype(np.float32)
    dx = np.abs(xx + 0.5 - w / 2) - (w / 2 - radius)
    dy = np.abs(yy + 0.5 - h / 2) - (h / 2 - radius)
    d = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0)) + np.minimum(np.maximum(dx, dy), 0) - radius
    return np.clip(0.5 - d, 0, 1).astype(np.float32)


def _write(
    rgb: Array, text: str, at: tuple[int, int], font: int, scale: float, colour: tuple[float, float, float], thick: int
) -> None:
    """`cv2.putText` for float pictures."""
    mask = np.zeros(rgb.shape[:2], np.uint8)
    cv2.putText(mask, text, at, font, scale, 255, thick, cv2.LINE_AA)
    t = mask[..., None].astype(np.float32) / 255
    rgb[:] = rgb * (1 - t) + np.array(colour, np.float32) * t


REFERENCE_CARDS: dict[str, dict[str, str]] = {
    "a": {
        "BarcoPirata_Cuatro": "ship_4",
        "BarcoPirata_Dos": "ship_2",
        "BarcoPirata_Tres": "ship_3",
        "Botin": "treasure_island",
        "Calavera_Doble": "skull_2",
        "Calavera": "skull_1",
        "Diamante": "diamond",
        "Hechicera": "watchwoman",
        "Moneda": "gold_coin",
        "MonoLoro": "animals",
        "Pirata": "pirate",
    },
    "b": {
        "Back": "back",
        "ButinFourSwords": "ship_4",
        "ButinThreeSwords": "ship_3",
        "ButinTwoSwords": "ship_2",
        "Circus": "animals",
        "Coin": "gold_coin",
        "Diamond": "diamond",
        "OneSkull": "skull_1",
        "Pirate": "pirate",
        "PretresseOneSkull": "watchwoman",
        "Treasure": "treasure_island",
        "TwoSkull": "skull_2",
        "Rules": "unknown",
    },
    "c": {
        "BARCO_2X": "ship_2",
        "BARCO_3X": "ship_3",
        "BARCO_4X": "ship_4",
        "BRUJA": "watchwoman",
        "CALAVERA": "skull_1",
        "COFRE": "treasure_island",
        "DIAMANTE": "diamond",
        "DOBLE_CALAVERA": "skull_2",
        "MONO_LORO": "animals",
        "ORO": "gold_coin",
        "PIRATA": "pirate",
        "ayuda": "unknown",
    },
}
"""Folder → file stem without its prefix → our name."""

CARD_SETS = {"train": ("a", "c", "own"), "test": ("b", "own")}
"""Which art a split may show. Our own drawings serve both, in different shades."""


def _card_sprite(name: str, picture: np.ndarray, border: bool) -> Sprite:
    picture = cv2.resize(picture, (310, 500), interpolation=cv2.INTER_AREA).astype(np.float32)
    if border:
        frame = np.full((500, 310, 3), 244, np.float32)
        inner = cv2.resize(picture, (286, 476), interpolation=cv2.INTER_AREA)
        frame[12:-12, 12:-12] = inner
        picture = frame
    return Sprite(f"pirate:{name}", picture, rounded(500, 310, 20), CARD_MM, is_card=True)


@lru_cache(maxsize=4)
def pirate_cards(split: str) -> tuple[tuple[str, Sprite], ...]:
    """(set, card) of a split's art."""
    out = []
    folder = reference_folder()
    for group in CARD_SETS[split]:
        if group == "own":
            out += [("own", sprite) for sprite in _own_cards()]
        elif folder is not None:
            for path in sorted((folder / "cards" / group).glob("*.jpg")):
                stem = path.stem.split("_", 1)[-1] if group != "c" else path.stem.removeprefix("CARTA_")
                name = REFERENCE_CARDS[group].get(stem)
                picture = cv2.imread(str(path))
                if name is None or picture is None:
                    continue
                if group == "a":  # a sliver of what lay under the scanned card shows at its corners
                    picture = picture[3:-3, 3:-3]
                out.append((group, _card_sprite(name, picture[..., ::-1], border=group == "b")))
    return tuple(out)


def _own_cards() -> list[Sprite]:
    try:
        from datasets.drawings.cards import card_picture

        return [_card_sprite(name, card_picture(name, 500)[..., ::-1], border=False) for name in [*Card, "back"]]
    except ImportError:
        return []


def pirate_card(rng: np.random.Generator, split: str) -> Sprite | None:
    """A pirate card: worn, printed a little darker or lighter, now and then in a sleeve."""
    cards = pirate_cards(split)
    if not cards:
        return None
    group, sprite = cards[rng.integers(len(cards))]
    rgb = sprite.rgb * np.exp(rng.normal(0, 0.08, 3) + rng.normal(0, 0.1)).astype(np.float32)
    if rng.random() < 0.3:
        grey = rgb.mean(2, keepdims=True)
        rgb = grey + (rgb - grey) * rng.uniform(0.5, 1.2)
    if rng.random() < 0.2:  # rubbed edges
        h, w = sprite.alpha.shape
        edge = 1 - cv2.GaussianBlur(rounded(h, w, 20), (0, 0), 6)
        t = np.clip(edge * 1.2 + 0.15 * soft_noise(rng, (h, w), 5) - 0.2, 0, 0.8)[..., None]
        rgb = rgb * (1 - t) + 225 * t
    size, alpha = sprite.size_mm, sprite.alpha
    if rng.random() < 0.15:  # a sleeve: a clear rim and a veil
        pad = int(rng.integers(8, 18))
        rgb = cv2.copyMakeBorder(rgb * 0.92 + 14, pad, pad, pad, pad, cv2.BORDER_CONSTANT, value=(150, 150, 150))
        alpha = np.maximum(cv2.copyMakeBorder(alpha, pad, pad, pad, pad, cv2.BORDER_CONSTANT, value=0), 0.35)
        size = (size[0] * (310 + 2 * pad) / 310, size[1] * (500 + 2 * pad) / 500)
    return Sprite(f"{sprite.name}:{group}", np.clip(rgb, 0, 255).astype(np.float32), alpha, size, True)


def playing_card(rng: np.random.Generator) -> Sprite:
    """An ordinary playing card, or a card of some other game."""
    h, w = 264, 180
    rgb = np.full((h, w, 3), 246, np.float32)
    ink = (200.0, 20.0, 30.0) if rng.random() < 0.5 else (20.0, 20.0, 25.0)
    kind = rng.random()
    if kind < 0.3:  # a back
        colour = rng.uniform(10, 200, 3)
        rgb[10:-10, 10:-10] = colour
        for k in range(-h, w, int(rng.integers(8, 20))):
            cv2.line(rgb, (k, 0), (k + h, h), tuple(float(v) for v in colour * 0.6 + 80), 2, cv2.LINE_AA)
        rgb[:10], rgb[-10:], rgb[:, :10], rgb[:, -10:] = 246, 246, 246, 246
    elif kind < 0.65:
        text = str(rng.choice(list("A23456789JQK")))
        _write(rgb, text, (10, 40), cv2.FONT_HERSHEY_DUPLEX, 1.2, ink, 2)
        for _ in range(int(rng.integers(1, 11))):
            x, y = int(rng.integers(45, 135)), int(rng.integers(50, 215))
            size = int(rng.integers(9, 20))
            corners = np.array([[x, y - size], [x + size, y], [x, y + size], [x - size, y]])
            if rng.random() < 0.5:
                cv2.fillPoly(rgb, [corners], ink, cv2.LINE_AA)
            else:
                cv2.circle(rgb, (x, y), size // 2 + 3, ink, -1, cv2.LINE_AA)
    else:
        field = np.dstack([soft_noise(rng, (h, w), g) for g in (20, 35, 50)])
        rgb[14:-14, 14:-14] = np.clip(rng.uniform(40, 200, 3) + 45 * field, 0, 255)[14:-14, 14:-14]
    return Sprite("playing_card", rgb, rounded(h, w, 11), (59, 89))


def coin(rng: np.random.Generator) -> Sprite:
    """A metal coin."""
    n = 96
    yy, xx = np.mgrid[0:n, 0:n].astype(np.float32) - n / 2 + 0.5
    r = np.hypot(xx, yy)
    metal = np.array([(190, 150, 90), (185, 185, 182), (150, 95, 60), (205, 170, 80)][rng.integers(4)], np.float32)
    shade = 1 + 0.25 * np.sin(np.arctan2(yy, xx) * 2 + rng.uniform(0, 6)) + 0.2 * soft_noise(rng, (n, n), 8) * (r < 36)
    shade = shade * np.where((r > 40) & (r < 43), 0.6, 1)
    return Sprite(
        "coin",
        np.clip(metal * shade[..., None] * rng.uniform(0.5, 1.1), 0, 255).astype(np.float32),
        np.clip(n / 2 - r, 0, 1).astype(np.float32),
        (rng.uniform(16, 28),) * 2,
        thick_mm=2,
    )


def pencil(rng: np.random.Generator) -> Sprite:
    """A pencil or pen."""
    h, w = 24, 420
    colour = rng.uniform(10, 240, 3)
    across = np.sin(np.linspace(0.15, np.pi - 0.15, h, dtype=np.float32))[:, None]
    rgb = np.broadcast_to((colour * (0.35 + 0.75 * across)[..., None]), (h, w, 3)).astype(np.float32).copy()
    alpha = np.ones((h, w), np.float32)
    tip = np.arange(w)[None] - (w - 50)
    alpha[np.abs(np.arange(h)[:, None] - h / 2 + 0.5) > (h / 2) * (1 - np.maximum(tip, 0) / 50)] = 0
    rgb[:, w - 50 : w - 12] = np.array([222, 186, 140]) * (0.5 + 0.5 * across)[..., None]
    rgb[:, w - 12 :] = 40
    if rng.random() < 0.5:
        rgb[:, :26] = rng.uniform(60, 230, 3) * (0.5 + 0.5 * across)[..., None]
    return Sprite("pencil", np.clip(rgb, 0, 255), alpha, (rng.uniform(110, 185), rng.uniform(7, 11)), thick_mm=7)


def phone(rng: np.random.Generator) -> Sprite:
    """A phone, dark or lit."""
    h, w = 300, 148
    rgb = np.full((h, w, 3), rng.uniform(8, 60), np.float32)
    if rng.random() < 0.3:
        rgb[10:-10, 8:-8] = np.clip(
            rng.uniform(20, 240, 3) + 40 * np.dstack([soft_noise(rng, (h, w), 50)] * 3), 0, 255
        )[10:-10, 8:-8]
    return Sprite("phone", rgb, rounded(h, w, 20), (72, 148), thick_mm=8)


def paper(rng: np.random.Generator) -> Sprite:
    """A score sheet, a rule leaf or a printed picture of the faces: white, with ink, and no die at all."""
    h, w = 360, 270
    rgb = np.full((h, w, 3), rng.uniform(200, 250), np.float32) + rng.normal(0, 4, 3).astype(np.float32)
    kind = rng.random()
    ink = tuple(float(v) for v in rng.uniform(10, 120, 3))
    drawing = our_drawing()
    if kind < 0.35:
        for y in range(24, h - 20, int(rng.integers(10, 22))):
            x = 18
            while x < w - 30:
                word = int(rng.integers(6, 40))
                cv2.line(rgb, (x, y), (min(x + word, w - 18), y), ink, int(rng.integers(1, 4)))
                x += word + 6
    elif kind < 0.65 or drawing is None:
        for x in np.linspace(15, w - 15, int(rng.integers(3, 8))):
            cv2.line(rgb, (int(x), 15), (int(x), h - 15), ink, 1, cv2.LINE_AA)
        for y in np.linspace(15, h - 15, int(rng.integers(5, 14))):
            cv2.line(rgb, (15, int(y)), (w - 15, int(y)), ink, 1, cv2.LINE_AA)
        for _ in range(int(rng.integers(2, 12))):
            at = (int(rng.integers(15, w - 70)), int(rng.integers(30, h - 15)))
            _write(rgb, str(int(rng.integers(1, 90)) * 100), at, cv2.FONT_HERSHEY_SIMPLEX, 0.6, (40.0, 50.0, 130.0), 1)
    else:
        for face in Face:
            size = int(rng.integers(40, 80))
            mask = drawing(face, size, rng)
            x, y = int(rng.integers(5, w - size - 5)), int(rng.integers(5, h - size - 5))
            patch = rgb[y : y + size, x : x + size]
            patch[:] = patch * (1 - mask[..., None]) + rng.uniform(10, 190, 3) * mask[..., None]
    return Sprite(
        "paper",
        np.clip(rgb, 0, 255),
        np.ones((h, w), np.float32),
        (rng.uniform(80, 210), rng.uniform(110, 297)),
        thick_mm=0.2,
    )


def token(rng: np.random.Generator) -> Sprite:
    """A small coloured piece: an eraser, a counter, a white cube from above."""
    n = 64
    rgb = (
        np.full((n, n, 3), 1, np.float32) * rng.uniform(20, 250, 3)
        if rng.random() < 0.6
        else np.full((n, n, 3), rng.uniform(200, 250))
    )
    rgb = (rgb * (1 + 0.06 * soft_noise(rng, (n, n), 20))[..., None]).astype(np.float32)
    alpha = rounded(n, n, float(rng.uniform(2, 31)))
    return Sprite(
        "token", np.clip(rgb, 0, 255), alpha, (float(rng.uniform(8, 40)), float(rng.uniform(8, 30))), thick_mm=4
    )


MAKERS = (playing_card, playing_card, coin, coin, pencil, phone, paper, paper, paper, token)
CLUTTER = 60


@lru_cache(maxsize=2 * CLUTTER)
def _clutter(number: int, split: str) -> Sprite:
    rng = np.random.default_rng([number, {"train": 3, "test": 4}[split]])
    sprite = MAKERS[number % len(MAKERS)](rng)
    return Sprite(sprite.name, sprite.rgb.astype(np.float32), sprite.alpha, sprite.size_mm, thick_mm=sprite.thick_mm)


def clutter(rng: np.random.Generator, split: str) -> Sprite:
    """Something from around the house, out of a split's own drawer."""
    return _clutter(int(rng.integers(CLUTTER)), split)


def art_id(sprite: Sprite) -> int:
    """A short number for manifests."""
    return zlib.crc32(sprite.name.encode()) % 1000


def reference_cards_folder() -> Path | None:
    """Where photographed cards lie."""
    folder = reference_folder()
    return folder / "cards" if folder else None
