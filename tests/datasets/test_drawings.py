"""The drawings: true to the measured dice, each die different yet readable, cards and page pictures whole."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cv2
import numpy as np
import pytest

from datasets.drawings import cards, export_web, faces
from datasets.drawings.paths import flatten, parse_path
from scorer.cards import Card
from scorer.faces import Face

# Measured on photographs of real dice, in % of the die's edge; then the separate pieces of ink.
MEASURED = {
    Face.COIN: (69, 69, 1),
    Face.DIAMOND: (64, 48, 1),
    Face.MONKEY: (69, 77, 3),
    Face.PARROT: (56, 77, 2),
    Face.SABERS: (57, 72, 3),
    Face.SKULL: (79, 62, 5),
}
CUT_OUTS = {Face.COIN: 14, Face.DIAMOND: 6}
REFERENCE = Path(__file__).parents[3] / "shared" / "reference"
DEPLOY = Path(__file__).parents[2] / "deploy"
ALL_FACES = pytest.mark.parametrize("face", list(Face))
ALL_CARDS = pytest.mark.parametrize("name", cards.NAMES)


def ink_of(face: Face, size: int = 400) -> np.ndarray:
    return (faces.ink_mask(face, size) > 0.5).astype(np.uint8)


@ALL_FACES
def test_symbol_has_the_measured_size_and_sits_in_the_middle(face: Face) -> None:
    rows, columns = np.nonzero(ink_of(face))
    width, height, _ = MEASURED[face]
    assert (np.ptp(columns) + 1) / 4 == pytest.approx(width, abs=1)
    assert (np.ptp(rows) + 1) / 4 == pytest.approx(height, abs=1)
    assert (columns.min() + columns.max() + 1) / 8 == pytest.approx(50, abs=1)
    assert (rows.min() + rows.max() + 1) / 8 == pytest.approx(50, abs=1)


@ALL_FACES
def test_pieces_of_ink(face: Face) -> None:
    count, _ = cv2.connectedComponents(ink_of(face), connectivity=4)
    assert count - 1 == MEASURED[face][2]


@pytest.mark.parametrize("face", list(CUT_OUTS))
def test_cut_outs_are_holes_that_show_the_body(face: Face) -> None:
    count, _ = cv2.connectedComponents(1 - ink_of(face), connectivity=4)
    assert count - 2 == CUT_OUTS[face]  # less the label of the ink, less the ground around it


def test_the_coin_is_nearly_the_same_all_round_and_the_monkey_is_not() -> None:
    def turned(face: Face) -> float:
        mask = faces.ink_mask(face, 100)
        return float(np.corrcoef(mask.ravel(), np.rot90(mask).ravel())[0, 1])

    assert turned(Face.COIN) > 0.5
    assert turned(Face.MONKEY) < 0.5


@ALL_FACES
@pytest.mark.parametrize("size", [4, 24, 97, 640])
def test_masks_are_coverages_of_any_size(face: Face, size: int) -> None:
    for mask in (faces.ink_mask(face, size), faces.ink_mask(face, size, np.random.default_rng(1), wear=1)):
        assert mask.shape == (size, size)
        assert mask.dtype == np.float32
        assert mask.min() >= 0
        assert mask.max() <= 1
        assert 0.05 < mask.mean() < 0.6


def test_a_die_comes_again_from_its_seed_and_differs_from_the_next() -> None:
    first, again, other = (faces.ink_mask(Face.SKULL, 64, np.random.default_rng(seed)) for seed in (7, 7, 8))
    assert np.array_equal(first, again)
    assert np.abs(first - other).mean() > 0.005


def test_worn_dice_stay_readable() -> None:
    """Even sloppy, badly worn dice look most like the face that they bear."""
    size = 32
    clean = np.array([faces.ink_mask(face, size).ravel() for face in Face])
    rng = np.random.default_rng(3)
    for number, face in enumerate(Face):
        for _ in range(12):
            worn = faces.ink_mask(face, size, rng, wobble=1.5, wear=0.9).ravel()
            likeness = np.corrcoef(np.vstack([worn, clean]))[0, 1:]
            assert likeness.argmax() == number, face


PHOTOGRAPHS = {
    Face.COIN: "Coin",
    Face.DIAMOND: "Diamond",
    Face.MONKEY: "Monkey",
    Face.PARROT: "Perroquet",
    Face.SABERS: "Swords",
    Face.SKULL: "Skull",
}


@ALL_FACES
def test_real_symbols_overlap_most_with_their_own_drawing(face: Face) -> None:
    file = REFERENCE / "dice" / f"Dices_{PHOTOGRAPHS[face]}.png"
    if not file.is_file():
        pytest.skip(f"no reference photographs at {REFERENCE}")
    picture = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
    assert picture is not None
    rows, columns = np.nonzero(picture[..., 3] > 128)
    cut = picture[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    width, height, _ = MEASURED[face]
    cut = cv2.resize(cut, (2 * width, 2 * height), interpolation=cv2.INTER_AREA)
    darkest, spread = cut[..., :3].min(axis=2), np.ptp(cut[..., :3].astype(int), axis=2)
    real = np.zeros((200, 200), bool)
    top, left = (200 - 2 * height) // 2, (200 - 2 * width) // 2
    body = (darkest > 150) & (spread < 70)
    real[top : top + 2 * height, left : left + 2 * width] = (cut[..., 3] > 128) & ~body
    drawn = {other: faces.ink_mask(other, 200) > 0.5 for other in Face}
    overlap = {other: (ink & real).sum() / (ink | real).sum() for other, ink in drawn.items()}
    assert max(overlap, key=lambda other: overlap[other]) == face
    assert overlap[face] > 0.75


@ALL_FACES
def test_grooves_are_deepest_inside_and_level_outside(face: Face) -> None:
    mask = faces.ink_mask(face, 256)
    depth = faces.height_map(mask)
    assert depth.shape == mask.shape
    assert depth.dtype == np.float32
    assert depth.min() == 0
    assert 0.6 < depth.max() <= 1
    assert depth[mask == 0].mean() < 0.02
    middle = cv2.distanceTransform((mask > 0.5).astype(np.uint8), cv2.DIST_L2, 5)
    assert depth[middle > 6].mean() > 2 * depth[(middle > 0) & (middle < 2)].mean()


@ALL_FACES
def test_inks_are_dark_enough_to_read_and_scatter_within_reason(face: Face) -> None:
    rng = np.random.default_rng(5)
    sampled = np.array([faces.sample_ink(face, rng) for _ in range(50)])
    assert len(faces.INKS[face]) >= 3
    assert sampled.std(axis=0).max() > 2
    assert sampled.min() >= 0
    assert sampled.max() <= 255
    body = np.array(faces.BODIES, float).mean()
    assert np.abs(sampled - body).max(axis=1).min() > 60


def test_unknown_faces_and_tiny_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="anchor"):
        faces.ink_mask("anchor", 64)
    with pytest.raises(ValueError, match="at least 4 pixels"):
        faces.ink_mask(Face.COIN, 3)


@ALL_FACES
def test_a_face_is_one_ink_on_nothing(face: Face) -> None:
    root = ElementTree.parse(faces.FOLDER / f"{face.value}.svg").getroot()
    assert root.get("viewBox") == "0 0 100 100"
    fills = {element.get("fill") for element in root.iter() if element.get("fill")}
    assert fills == {"#{:02x}{:02x}{:02x}".format(*faces.INKS[face][0])}


def test_path_commands_agree_with_each_other() -> None:
    absolute = parse_path("M10 10H30V30L10 30Z M50 50C50 60 60 60 60 50Q65 40 70 50T80 50Z")
    relative = parse_path("m10 10h20v20l-20 0z m40 40c0 10 10 10 10 0q5-10 10 0t10 0z")
    assert len(absolute) == len(relative) == 2
    for one, other in zip(absolute, relative, strict=True):
        assert np.allclose(one, other)
    square = flatten(absolute[0], steps=4)
    assert cv2.contourArea(square.astype(np.float32)) == pytest.approx(400)
    smooth = parse_path("M0 0C0 10 10 10 10 0S20-10 20 0Z")[0]
    assert np.allclose(smooth[1, 1], (10, -10))


@pytest.mark.parametrize("bad", ["M0 0A5 5 0 0 1 9 9Z", "12 4Z", "M0 0L5Z"])
def test_paths_that_cannot_be_read_are_named(bad: str) -> None:
    with pytest.raises(ValueError, match="Expected"):
        parse_path(bad)


@ALL_CARDS
def test_card_drawings_are_small_and_self_contained(name: str) -> None:
    text = cards.card_svg(name).read_text(encoding="utf-8")
    assert len(text) <= 12 * 1024
    root = ElementTree.fromstring(text)
    assert root.get("viewBox") == "0 0 630 1000"
    assert root[0].tag.endswith("title")
    assert "<image" not in text
    assert "<text" not in text
    assert not re.search(r'href="(?!#)', text)
    known = set(re.findall(r'\bid="([^"]+)"', text))
    used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert used <= known


@ALL_CARDS
def test_cards_paint_with_a_white_border_and_rounded_corners(name: str) -> None:
    pytest.importorskip("resvg_py", reason="painting cards needs the datasets extra")
    picture = cards.card_picture(name, 200)
    assert picture.shape == (200, 126, 3)
    assert picture.dtype == np.uint8
    assert picture[100, 2].min() > 250
    assert picture[30:170, 20:106].std() > 10
    alpha = cards.card_alpha(200)
    assert alpha.shape == (200, 126)
    assert alpha[0, 0] == 0
    assert alpha[100, 63] == 1


def test_no_two_cards_look_alike() -> None:
    pytest.importorskip("resvg_py", reason="painting cards needs the datasets extra")
    small = [cards.card_picture(name, 200).astype(np.float32) for name in cards.NAMES]
    for number, one in enumerate(small):
        for other in small[number + 1 :]:
            assert np.abs(one - other).mean() > 0.5


def test_every_card_has_its_drawing_and_others_are_refused() -> None:
    assert set(cards.NAMES) == {card.value for card in Card} | {"back"}
    assert {file.stem for file in cards.FOLDER.glob("*.svg")} == set(cards.NAMES)
    with pytest.raises(ValueError, match="kraken"):
        cards.card_svg("kraken")


def test_page_pictures_match_the_drawings() -> None:
    assert export_web.stale() == []
    for size in export_web.ICON_SIZES:
        icon = cv2.imread(str(export_web.STATIC / f"icon-{size}.png"), cv2.IMREAD_UNCHANGED)
        assert icon is not None
        assert icon.shape == (size, size, 4)


def test_a_changed_drawing_is_noticed_and_written(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="painting the icon needs the datasets extra")
    export_web.write(tmp_path)
    assert export_web.stale(tmp_path) == []
    (tmp_path / "faces" / "coin.svg").write_text("<svg/>")
    assert export_web.stale(tmp_path) == ["faces/coin.svg"]
    assert export_web.write(tmp_path) == ["faces/coin.svg"]


def test_the_wiring_picture_shows_the_pins_that_the_panel_uses() -> None:
    panel = pytest.importorskip("device.panel", reason="the panel is not there")
    text = (DEPLOY / "wiring.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag.endswith("svg")
    shown = set(re.findall(r"GPIO(\d+) · pin \d+", text))
    assert shown == {str(pin) for pin in panel.PanelSettings(buzzer_pin=18).pins().values()}
    assert "330 Ω" in text


def test_the_mounting_picture_shows_the_height() -> None:
    text = (DEPLOY / "mounting.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "45–60 cm" in text
