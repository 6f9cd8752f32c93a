"""Our own fronts of the fourteen pirate cards, and their back, as pictures of any size.

The SVG files beside this module are the source. Turning them into pixels needs `resvg-py` (the optional
`datasets` extra: a 3 MB wheel without system libraries, for aarch64 too); the faces do without it.
"""

from __future__ import annotations

import functools
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from scorer.cards import Card

FOLDER = Path(__file__).with_name("cards")
BACK = "back"
NAMES: tuple[str, ...] = (*(card.value for card in Card), BACK)
"""Every picture there is: the cards by their names, then the back."""

WIDTH_TO_HEIGHT = 0.63
CORNER = 0.042
"""Radius of a card's rounded corner as a fraction of its height."""

Image = NDArray[np.uint8]


def card_svg(name: Card | str) -> Path:
    """The drawing of a card or of the `back`. Raises ValueError for a name that is neither."""
    key = name.value if isinstance(name, Card) else name
    if key not in NAMES:
        raise ValueError(f"Expected a card's name or {BACK!r}, got {key!r}: choose from {', '.join(NAMES)}.")
    return FOLDER / f"{key}.svg"


@functools.lru_cache(maxsize=64)
def _bgra(name: str, height_px: int) -> Image:
    pixels = rasterise(card_svg(name).read_text(encoding="utf-8"), height_px)
    pixels.flags.writeable = False
    return pixels


def card_picture(name: Card | str, height_px: int) -> Image:
    """A card seen straight on: uint8 BGR (height_px, about 0.63 height_px, 3); its corners are filled white.

    Raises ValueError for an unknown name or a height below 8, ImportError where `resvg-py` is missing.
    Use `card_alpha` to cut the rounded corners.
    """
    bgra = _bgra(card_svg(name).stem, height_px)
    alpha = bgra[..., 3:].astype(np.uint16)
    # Colours come with straight alpha: over white they keep the border's tone up to the very corner.
    return ((bgra[..., :3] * alpha + 255 * (255 - alpha)) // 255).astype(np.uint8)


def card_alpha(height_px: int) -> NDArray[np.float32]:
    """Where there is card: float32 (height_px, width) 0..1, the same rounded outline for every card."""
    return (_bgra(BACK, height_px)[..., 3] / np.float32(255)).astype(np.float32)


def rasterise(svg: str, height_px: int) -> Image:
    """Paint an SVG document: uint8 BGRA with straight alpha, `height_px` high, width by its viewBox."""
    pixels = cv2.imdecode(np.frombuffer(paint_png(svg, height_px), np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.ndim != 3 or pixels.shape[2] != 4:
        raise ValueError("Expected the drawing to paint as a coloured picture; check the SVG's viewBox.")
    return np.ascontiguousarray(pixels, dtype=np.uint8)


def paint_png(svg: str, height_px: int) -> bytes:
    """Paint an SVG document as a PNG file of `height_px`. Raises ImportError where `resvg-py` is missing."""
    if height_px < 8:
        raise ValueError(f"Expected a height of at least 8 pixels, got {height_px}: ask for a larger picture.")
    try:
        import resvg_py
    except ImportError as missing:
        raise ImportError(
            "Painting cards needs resvg-py, which is not installed: pip install 'ausguck[datasets]'."
        ) from missing
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, height=height_px, skip_system_fonts=True))
