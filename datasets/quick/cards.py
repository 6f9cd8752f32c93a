"""Pictures of single pirate cards as a camera cuts them out, with their corners: what the card networks learn from.

Card art: our own drawings, and the photographs and scans of `../shared/reference/cards` where they exist
(they never ship).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from datasets.drawings.faces import ink_mask, sample_ink
from scorer.cards import Card
from scorer.faces import Face

from .body import Floats
from .skins import reference_folder

Picture = npt.NDArray[Any]
"""(h, w, 3) uint8, BGR."""

LABELS = (*(card.value for card in Card), "back", "unknown")
"""What the card reader names, in the order of its class ids."""

ASPECT = 0.62
"""Width over height of a pirate card."""

ART = {
    "ship_4": ("a/Carta_BarcoPirata_Cuatro", "b/Cards_ButinFourSwords", "c/CARTA_BARCO_4X"),
    "ship_3": ("a/Carta_BarcoPirata_Tres", "b/Cards_ButinThreeSwords", "c/CARTA_BARCO_3X"),
    "ship_2": ("a/Carta_BarcoPirata_Dos", "b/Cards_ButinTwoSwords", "c/CARTA_BARCO_2X"),
    "treasure_island": ("a/Carta_Botin", "b/Cards_Treasure", "c/CARTA_COFRE"),
    "skull_1": ("a/Carta_Calavera", "b/Cards_OneSkull", "c/CARTA_CALAVERA"),
    "skull_2": ("a/Carta_Calavera_Doble", "b/Cards_TwoSkull", "c/CARTA_DOBLE_CALAVERA"),
    "diamond": ("a/Carta_Diamante", "b/Cards_Diamond", "c/CARTA_DIAMANTE"),
    "watchwoman": ("a/Carta_Hechicera", "b/Cards_PretresseOneSkull", "c/CARTA_BRUJA"),
    "gold_coin": ("a/Carta_Moneda", "b/Cards_Coin", "c/CARTA_ORO"),
    "animals": ("a/Carta_MonoLoro", "b/Cards_Circus", "c/CARTA_MONO_LORO"),
    "pirate": ("a/Carta_Pirata", "b/Cards_Pirate", "c/CARTA_PIRATA"),
    "back": ("b/Cards_Back",),
    "unknown": ("b/Cards_Rules", "c/ayuda"),
}
"""Reference pictures by what they show; `unknown` are cards of the game that no raid is played with."""


@dataclass(frozen=True, slots=True, eq=False)
class CardShot:
    """One cut-out round a card."""

    image: Picture
    """(side, side, 3) uint8 BGR."""
    corners: Floats
    """(4, 2) in units of the cut-out's side, from the upright card's top left clockwise."""
    label: int
    """Index into `LABELS`."""
    visible: float
    """Share of the card that shows."""


def _with_border(art: Picture) -> Picture:
    """Scans without their white border get one; all come out 248 × 400."""
    art = np.asarray(cv2.resize(art, (248, 400), interpolation=cv2.INTER_AREA))
    edge = float(np.concatenate([art[:, :4].reshape(-1, 3), art[:, -4:].reshape(-1, 3)]).min(1).mean())
    if edge > 190:
        return art
    inner = cv2.resize(art, (228, 380), interpolation=cv2.INTER_AREA)
    framed = np.full((400, 248, 3), 244, np.uint8)
    framed[10:390, 10:238] = inner
    return framed


@cache
def card_art(label: str, *, own: bool = True, reference: bool = True, folder: str = "") -> tuple[Picture, ...]:
    """All pictures of a card, (400, 248, 3) uint8 BGR, upright. `folder`: of the reference, only from this one."""
    pictures = []
    if own and label != "unknown":
        from datasets.drawings.cards import card_picture

        pictures.append(
            np.asarray(cv2.resize(card_picture(label, 400)[..., :3], (248, 400), interpolation=cv2.INTER_AREA))
        )
    if reference:
        for name in ART.get(label, ()):
            if not name.startswith(folder):
                continue
            art = cv2.imread(str(reference_folder() / "cards" / f"{name}.jpg"))
            if art is not None:
                pictures.append(_with_border(art))
                if min(art.shape[:2]) > 0 and name.startswith("b/"):
                    pictures.append(np.asarray(cv2.resize(art, (248, 400), interpolation=cv2.INTER_AREA)))
    return tuple(pictures)


@cache
def _photographs() -> tuple[tuple[Picture, bool], ...]:
    """Photographs of tables, and whether dice lie in their middle."""
    pictures = []
    for folder, dice in (("negatives", False), ("scenes/symbol_dice", True), ("scenes/pip_dice_light", True)):
        found = [
            p for p in sorted((reference_folder() / folder).rglob("*")) if p.suffix.lower() in (".jpg", ".jpeg", ".png")
        ]
        for path in found[:60]:
            picture = cv2.imread(str(path))
            if picture is None or min(picture.shape[:2]) < 100:
                continue
            shrink = min(1.0, 1100 / max(picture.shape[:2]))
            pictures.append(
                (np.asarray(cv2.resize(picture, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)), dice)
            )
    return tuple(pictures)


def _noise_picture(rng: np.random.Generator, h: int, w: int) -> Picture:
    """Cloth, wood or paper that was never anywhere."""
    hue, strength, level = rng.uniform(0, 180), rng.beta(1.2, 2.5) * 230, rng.uniform(15, 240)
    base = cv2.cvtColor(np.array([[[hue, strength, level]]], np.float32).astype(np.uint8), cv2.COLOR_HSV2BGR)[0, 0]
    picture = np.tile(base.astype(np.float32), (h, w, 1))
    for _ in range(int(rng.integers(1, 4))):
        stretch = np.exp(rng.normal(0, 1.6))
        cells = float(np.exp(rng.uniform(np.log(2), np.log(min(h, w) / 2))))
        rows, columns = (int(np.clip(cells * s, 2, n)) for s, n in ((stretch**0.5, h), (stretch**-0.5, w)))
        coarse = rng.standard_normal((rows, columns), np.float32) * np.float32(np.exp(rng.uniform(0.5, 3.3)))
        tint = base.astype(np.float32) / max(float(base.mean()), 1) * 0.7 + 0.3
        picture += cv2.resize(coarse, (w, h), interpolation=cv2.INTER_CUBIC)[..., None] * tint
    return np.clip(picture, 0, 255).astype(np.uint8)


def background(rng: np.random.Generator, h: int, w: int, *, held_out: bool = False) -> Picture:
    """A piece of some table, (h, w, 3); every fifth photograph is held out for tests."""
    photographs = [p for i, p in enumerate(_photographs()) if (i % 5 == 0) == held_out]
    if not photographs or rng.random() < 0.5:
        return _noise_picture(rng, h, w)
    picture, dice = photographs[int(rng.integers(len(photographs)))]
    picture = np.rot90(picture, int(rng.integers(4)))
    ph, pw = picture.shape[:2]
    share = rng.uniform(0.16, 0.26) if dice else rng.uniform(0.3, 1.0)  # a corner of a table with dice shows none
    side = max(int(share * min(ph, pw)), 16)
    y, x = (0, 0) if dice else (int(rng.integers(ph - side + 1)), int(rng.integers(pw - side + 1)))
    piece = np.ascontiguousarray(picture[y : y + side, x : x + side])
    grow = cv2.INTER_CUBIC if side < max(h, w) else cv2.INTER_AREA
    out = cv2.resize(piece, (w, h), interpolation=grow).astype(np.int16)
    if side < max(h, w):  # enlarged pixels have no grain left
        out += rng.integers(-5, 6, (h, w, 1), dtype=np.int16)
    return np.clip(out, 0, 255).astype(np.uint8)


def unknown_art(rng: np.random.Generator, *, own: bool = True, reference: bool = True) -> Picture:
    """A card of no kind we know: other games, help cards, shuffled art, plain patterns."""
    kind = rng.random()
    if kind < 0.3:
        art = background(rng, 400, 248)
    elif kind < 0.5 and (known := card_art(str(rng.choice(LABELS[: len(Card)])), own=own, reference=reference)):
        source = known[-1]
        art = source.copy()
        for _ in range(8):  # our colours, not our pictures
            h, w = int(rng.integers(60, 220)), int(rng.integers(50, 140))
            y0, x0, y1, x1 = (int(rng.integers(0, n)) for n in (400 - h, 248 - w, 400 - h, 248 - w))
            art[y1 : y1 + h, x1 : x1 + w] = source[y0 : y0 + h, x0 : x0 + w][::-1]
    elif kind < 0.65 and (known := card_art("unknown", own=own, reference=reference)):
        art = known[int(rng.integers(len(known)))].copy()
    else:  # a playing card: white with marks
        art = np.full((400, 248, 3), int(rng.uniform(215, 250)), np.uint8)
        colour = tuple(map(int, rng.choice([[20, 20, 20], [30, 30, 190], [160, 60, 20], [40, 120, 40]])))
        for _ in range(int(rng.integers(1, 11))):
            centre = int(rng.uniform(50, 198)), int(rng.uniform(50, 350))
            size = int(rng.uniform(12, 50))
            if rng.random() < 0.5:
                cv2.circle(art, centre, size, colour, -1, cv2.LINE_AA)
            else:
                points = np.array(centre) + rng.uniform(-size, size, (int(rng.integers(3, 7)), 2))
                cv2.fillPoly(art, [points.astype(np.int32)], colour, cv2.LINE_AA)
        if rng.random() < 0.7:
            cv2.putText(
                art,
                str(rng.choice(list("A23456789JQK"))),
                (14, 50),
                cv2.FONT_HERSHEY_SIMPLEX,
                1.6,
                colour,
                4,
                cv2.LINE_AA,
            )
    if rng.random() < 0.5:
        art = _with_border(art)
    return np.asarray(art)


def _rounded(rng: np.random.Generator) -> Floats:
    mask = np.zeros((400, 248), np.float32)
    r = int(rng.uniform(0, 20))
    cv2.rectangle(mask, (r, 0), (247 - r, 399), 1.0, -1)
    cv2.rectangle(mask, (0, r), (247, 399 - r), 1.0, -1)
    for x, y in ((r, r), (247 - r, r), (r, 399 - r), (247 - r, 399 - r)):
        cv2.circle(mask, (x, y), r, 1.0, -1)
    return mask


def _quad(rng: np.random.Generator) -> Floats:
    """Corners of a card turned anyhow and seen at up to 30 degrees, centred on 0, its box about 1 across."""
    half = np.array([[-ASPECT, -1], [ASPECT, -1], [ASPECT, 1], [-ASPECT, 1]], np.float32) / 2
    turn, heading, tilt = rng.uniform(0, 2 * np.pi), rng.uniform(0, 2 * np.pi), np.deg2rad(abs(rng.normal(0, 13)))

    def spin(a: float) -> Floats:
        return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]], np.float32)

    flat = half @ spin(turn).T @ spin(heading).T
    depth = 1 + flat[:, 1:] * np.sin(tilt) * rng.uniform(0.1, 0.35)
    seen = flat * np.array([1, np.cos(tilt)], np.float32) / depth
    seen = seen @ spin(-heading).T
    seen -= (seen.min(0) + seen.max(0)) / 2
    return (seen / np.ptp(seen, axis=0).max()).astype(np.float32)


@cache
def _die_faces(seed: int) -> tuple[tuple[Picture, Floats], ...]:
    """Flat stand-ins for dice that lie on a card."""
    rng = np.random.default_rng(seed)
    faces = []
    for i in range(60):
        mask = ink_mask(list(Face)[i % 6], 96, rng)[..., None]
        ink = np.array(sample_ink(list(Face)[i % 6], rng))[::-1]
        body = np.full(3, rng.uniform(200, 245))
        cover = np.zeros((96, 96), np.float32)
        cv2.rectangle(cover, (18, 4), (77, 91), 1.0, -1)
        cv2.rectangle(cover, (4, 18), (91, 77), 1.0, -1)
        for x in (20, 75):
            for y in (20, 75):
                cv2.circle(cover, (x, y), 17, 1.0, -1)
        shade = 1 - 0.35 * (1 - cv2.GaussianBlur(cover, (0, 0), 9))[..., None]
        faces.append((np.clip((body * (1 - mask) + ink * mask) * shade, 0, 255).astype(np.uint8), cover))
    return tuple(faces)


def _lay_dice(image: Picture, corners: Floats, shown: Floats, rng: np.random.Generator) -> None:
    """Dice on the card and round it, a fifth to a quarter of its width, with a shadow."""
    side = image.shape[0]
    width = float(np.linalg.norm(corners[1] - corners[0])) * side
    for _ in range(int(rng.integers(1, 6))):
        picture, cover = _die_faces(1)[int(rng.integers(60))]
        size = width * 16 / 63 * rng.uniform(0.9, 1.15)
        angle = rng.uniform(0, 360)
        mix = rng.dirichlet(np.ones(4))
        at = (mix @ corners * 1.2 - corners.mean(0) * 0.2) * side
        matrix = cv2.getRotationMatrix2D((48, 48), angle, size / 96)
        matrix[:, 2] += at - 48
        alpha = cv2.warpAffine(cover, matrix, (side, side))
        shadow = np.roll(cv2.GaussianBlur(alpha, (0, 0), max(size / 8, 0.5)), tuple(rng.integers(-3, 4, 2)), (0, 1))
        image[:] = image * (1 - 0.5 * shadow[..., None])
        image[:] = image * (1 - alpha[..., None]) + cv2.warpAffine(picture, matrix, (side, side)) * alpha[..., None]
        shown *= 1 - alpha


def _light(image: Floats, rng: np.random.Generator, corners: Floats) -> Floats:
    """Sleeve, glare, shadow, exposure, colour cast."""
    side = image.shape[0]
    yy, xx = np.mgrid[0:side, 0:side].astype(np.float32) / side
    if rng.random() < 0.35:
        angle = rng.uniform(0, 6.3)
        along = (xx - rng.uniform(0.2, 0.8)) * np.cos(angle) + (yy - rng.uniform(0.2, 0.8)) * np.sin(angle)
        band = np.exp(-((along / rng.uniform(0.03, 0.2)) ** 2)) * rng.uniform(20, 120)
        inside = np.zeros((side, side), np.float32)
        cv2.fillConvexPoly(inside, (corners * side).astype(np.int32), 1.0)
        image = image + (band * inside)[..., None]
    if rng.random() < 0.3:
        angle, at = rng.uniform(0, 6.3), rng.uniform(0.3, 0.7)
        edge = ((xx - at) * np.cos(angle) + (yy - at) * np.sin(angle)) / rng.uniform(0.01, 0.2)
        image = image * (1 - rng.uniform(0.2, 0.6) / (1 + np.exp(-np.clip(edge, -20, 20))))[..., None]
    warm = rng.normal(0, 0.12)
    gain = np.float32(rng.uniform(0.55, 1.35)) * np.array([1 - warm, 1 + rng.normal(0, 0.03), 1 + warm], np.float32)
    gamma = rng.uniform(0.8, 1.25)
    image = 255 * np.clip(image / 255, 0, 1) ** np.float32(gamma) * gain
    return np.clip(image, 0, 255).astype(np.float32)


def card_shot(
    rng: np.random.Generator,
    side: int,
    *,
    label: str | None = None,
    own: bool = True,
    reference: bool = True,
    shrink: tuple[float, float] = (1.0, 3.0),
    folder: str = "",
    zoom: tuple[float, float] = (1.1, 1.45),
    held_out: bool = False,
) -> CardShot:
    """Draw one cut-out of `side` pixels: square round the card's box, about a quarter larger than the box.

    `folder`: reference art from this one only. `zoom`: side of the cut-out in sides of the box. `held_out`: the
    photographs below are those that nothing learns from.
    """
    name = label or str(rng.choice([*LABELS[:-1], "unknown", "unknown", "unknown"]))
    choices = card_art(name, own=own, reference=reference, folder=folder) if name != "unknown" else ()
    art = choices[int(rng.integers(len(choices)))] if choices else unknown_art(rng, own=own, reference=reference)
    quad = _quad(rng)
    share = 1 / rng.uniform(*zoom)
    corners = (quad * share + 0.5 + rng.uniform(-0.5, 0.5, 2) * (1 - share) * 0.8).astype(np.float32)
    long = float(max(np.linalg.norm(corners[i] - corners[i - 1]) for i in range(4))) * side
    shrunk = min(1.0, long * 1.25 / 400)  # near the size it is seen at, so that nothing aliases
    art, outline = (
        cv2.resize(p, None, fx=shrunk, fy=shrunk, interpolation=cv2.INTER_AREA) for p in (art, _rounded(rng))
    )
    h, w = art.shape[:2]
    source = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
    matrix = cv2.getPerspectiveTransform(source, corners * side)
    shown = cv2.warpPerspective(outline, matrix, (side, side), flags=cv2.INTER_LINEAR)
    laid = cv2.warpPerspective(art, matrix, (side, side), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    image: Any = background(rng, side, side, held_out=held_out).astype(np.float32)
    drop = np.roll(cv2.GaussianBlur(shown, (0, 0), side / 60), tuple(rng.integers(-3, 4, 2)), (0, 1))
    image *= 1 - 0.35 * drop[..., None]
    image = image * (1 - shown[..., None]) + laid * shown[..., None]
    whole = max(float(shown.sum()), 1.0)
    if rng.random() < 0.4:
        _lay_dice(image, corners, shown, rng)
    if rng.random() < 0.12:  # reaching out of the frame
        edge, axis = int(rng.uniform(0.08, 0.3) * side), int(rng.integers(2))
        region = (slice(None, edge), slice(None)) if axis else (slice(None), slice(None, edge))
        image[region], shown[region] = rng.uniform(0, 20), 0
    image = _light(image, rng, corners)
    factor = float(np.exp(rng.uniform(np.log(shrink[0]), np.log(shrink[1]))))
    if factor > 1.1:  # the camera had fewer pixels than this cut-out
        small = cv2.resize(image, None, fx=1 / factor, fy=1 / factor, interpolation=cv2.INTER_AREA)
        image = cv2.resize(small, (side, side), interpolation=cv2.INTER_CUBIC)
    if rng.random() < 0.5:
        image = cv2.GaussianBlur(image, (0, 0), rng.uniform(0.3, 1.3))
    image = np.clip(
        image + rng.standard_normal(image.shape, np.float32) * np.float32(rng.uniform(0.5, 9)), 0, 255
    ).astype(np.uint8)
    if rng.random() < 0.5:
        image = cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.uniform(45, 95))])[1], 1)
    return CardShot(np.asarray(image), corners, LABELS.index(name), float(shown.sum()) / whole)
