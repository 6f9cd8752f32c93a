"""The card reader: its geometry and its choices without any weights; with the shipped ones, drawn cards."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from datasets.quick.cards import LABELS as DRAWN
from datasets.quick.cards import card_art, card_shot
from vision.cards import (
    BACK,
    LABELS,
    UNKNOWN,
    UPSIDE_DOWN,
    CardCalibration,
    CardLook,
    CardReader,
    bounds,
    choose,
    cut,
    decode_corners,
    fit,
    inside_share,
    join,
    on_card,
    plausible,
    starts,
    straighten,
)
from vision.ncnn_net import Floats
from vision.reading import CardReading

MODELS = Path(__file__).resolve().parents[2] / "models"
CARD = np.array([[100, 100], [163, 100], [163, 200], [100, 200]], np.float32)
SURE = CardCalibration(temperature=1.0, certain_from=0.95)


def look(name: str, p: float, corners: Floats = CARD) -> CardLook:
    """A look that gives `name` the probability `p` and shares the rest out."""
    probabilities = np.full(len(LABELS), (1 - p) / (len(LABELS) - 1), np.float32)
    probabilities[LABELS.index(name)] = p
    return CardLook(probabilities, corners, np.zeros(4, np.float32))


def turned(degrees: float, corners: Floats = CARD) -> Floats:
    """`corners` turned clockwise about their middle."""
    a, middle = np.deg2rad(degrees), corners.mean(0)
    return np.asarray(
        (corners - middle) @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) + middle, np.float32
    )


def test_names_are_those_the_networks_learn() -> None:
    assert LABELS == DRAWN


@pytest.mark.parametrize("degrees", range(0, 360, 15))
def test_corners_survive_their_code(degrees: int) -> None:
    corners = turned(degrees) / 300 + np.array([[0, 0], [0.01, 0], [0, 0.02], [0, 0]], np.float32)
    halves = (corners[:2] - corners[2:]) / 2
    squares = (halves[:, 0] + 1j * halves[:, 1]) ** 2
    code = np.concatenate(
        ((corners[:2] + corners[2:]).ravel() / 2 - 0.5, np.stack((squares.real, squares.imag), 1).ravel())
    )
    found = decode_corners(code.astype(np.float32))
    assert min(np.abs(np.roll(found, 2 * k, 0) - corners).max() for k in (0, 1)) < 1e-5


def test_both_ways_up_are_weighed_together() -> None:
    first, second = np.full((2, len(LABELS) + 1), -8.0, np.float32)
    first[UPSIDE_DOWN], second[3] = -0.01, -0.01
    p, upright = join(first, second, 1.0)
    assert (int(p.argmax()), upright) == (3, 1)
    assert float(p[3]) > 0.99
    softer, _ = join(first, second, 3.0)
    assert 0.4 < float(softer[3]) < float(p[3])


def test_two_upright_names_are_doubt() -> None:
    first, second = np.full((2, len(LABELS) + 1), -8.0, np.float32)
    first[2], second[3] = -0.01, -0.01
    p, _ = join(first, second, 1.0)
    assert float(p.max()) < 0.6


def test_a_sure_card_is_named() -> None:
    reading = choose([look("pirate", 0.99)], SURE)
    assert (reading.name, reading.certainty) == ("pirate", pytest.approx(0.99))


def test_an_unsure_card_is_unknown_with_the_likeliest_first() -> None:
    reading = choose([look("ship_2", 0.8)], SURE)
    assert reading.name == "unknown"
    assert reading.certainty < 0.1
    assert reading.alternatives[0] == ("ship_2", pytest.approx(0.8))


def test_known_beats_unknown_beats_back() -> None:
    known, strange, back = (
        look("diamond", 0.99),
        look("unknown", 0.99, CARD + np.float32(200)),
        look("back", 0.99, CARD + np.float32(400)),
    )
    for looks in itertools.permutations((known, strange, back)):
        assert choose(list(looks), SURE).name == "diamond"
    assert choose([back, strange], SURE).name == "unknown"
    assert choose([back], SURE).name == "back"


def test_two_different_cards_are_doubt() -> None:
    reading = choose([look("diamond", 0.99), look("pirate", 0.99, CARD + np.float32(200))], SURE)
    assert reading.name == "unknown"
    assert {name for name, _ in reading.alternatives[:2]} == {"diamond", "pirate"}


def test_two_boxes_round_one_card_are_one_card() -> None:
    reading = choose([look("diamond", 0.99), look("pirate", 0.96, CARD + np.float32(5))], SURE)
    assert reading.name == "diamond"


def test_what_cannot_be_a_card_is_not_plausible() -> None:
    assert plausible(CARD)
    assert plausible(turned(37))
    assert not plausible(np.roll(CARD, 1, 0))  # a long side first
    assert not plausible(CARD[[0, 2, 1, 3]])  # crossed
    assert not plausible(CARD * np.array([0.3, 1], np.float32))  # far too slim
    assert not plausible(CARD[[0, 0, 0, 0]])


def test_share_inside_the_frame() -> None:
    assert inside_share(CARD, 640, 480) == 1
    assert inside_share(CARD, 640, 150) == pytest.approx(0.5)
    assert inside_share(CARD - np.float32(300), 640, 480) == 0


def test_corners_are_held_against_the_box() -> None:
    assert fit(CARD, bounds(CARD), 640, 480) == 1
    assert fit(CARD, np.array([100, 100, 163, 150], np.float32), 640, 150) == 1
    assert fit(CARD, bounds(CARD) + np.float32(500), 640, 480) == 0
    assert fit(CARD * 0, bounds(CARD) * 0, 640, 480) == 0


def test_a_card_that_leaves_the_frame_is_looked_for_outside() -> None:
    inside = starts(bounds(CARD), 640, 480)
    assert np.allclose(inside[0], bounds(CARD))
    assert inside[1][0] < 100 < 163 < inside[1][2]
    left = starts(bounds(CARD) - np.array([100, 0, 100, 0], np.float32), 640, 480)
    assert [round(float(b[0])) for b in left] == [0, -35, -70]
    assert {round(float(b[2])) for b in left} == {63}


def test_a_cut_out_that_leaves_the_frame_is_black_there() -> None:
    image = np.full((120, 160, 3), 200, np.uint8)
    shot = cut(image, np.array([-20, 20, 60, 100], np.float32))
    assert shot.image.shape == (100, 100, 3)
    assert shot.image[50, 5].max() == 0
    assert shot.image[50, 60].min() == 200
    assert np.allclose(shot.to_image(shot.to_frame(np.array([[0.25, 0.5]], np.float32))), [[25, 50]])


def test_a_large_card_is_shrunk_first() -> None:
    assert cut(np.zeros((1000, 1000, 3), np.uint8), np.array([100, 100, 900, 900], np.float32)).image.shape[0] == 176


def test_a_straight_card_stands_upright() -> None:
    image = np.zeros((300, 300, 3), np.uint8)
    image[100:150, 100:163] = 255  # its upper half is white
    assert straighten(image, CARD)[:60].mean() > 240
    assert straighten(image, np.roll(CARD, 2, 0))[:60].mean() < 15


def card_at(corners: Floats) -> CardReading:
    """The Treasure Island, lying there."""
    return CardReading("treasure_island", 0.99, tuple((float(x), float(y)) for x, y in corners))


def die_at(x: float, y: float, size: float = 18) -> list[float]:
    """The box of a die seen from above."""
    return [x - size / 2, y - size / 2, x + size / 2, y + size / 2]


def test_dice_on_the_card() -> None:
    boxes = [die_at(130, 150), die_at(102, 150), die_at(98, 150), die_at(90, 150), die_at(130, 211), die_at(300, 300)]
    assert on_card(card_at(CARD), np.array(boxes, np.float32)).tolist() == [True, True, True, False, False, False]
    assert on_card(card_at(CARD), np.zeros((0, 4), np.float32)).shape == (0,)
    assert not on_card(CardReading("unknown", 0.5, ()), np.array(boxes, np.float32)).any()


@pytest.mark.parametrize("turn", [0, 30, 90, 180, 250])
def test_dice_on_the_card_seen_at_a_slant(turn: int) -> None:
    """Seen at 35 degrees, a die that lies outside by a third of its edge is off, one inside by as much is on."""
    slant, scale = np.deg2rad(35), 2.0

    def seen(points: Floats, height: float = 0) -> Floats:
        flat = points * np.array([1, np.cos(slant)]) - np.array([0, height * np.sin(slant)])
        return np.asarray(flat * scale + 200, np.float32)

    card = turned(turn, CARD - CARD.mean(0))
    across, down = (card[1] - card[0]) / 63, (card[3] - card[0]) / 100
    places = [(side * (31.5 + gap), 0.0) for side in (-1, 1) for gap in (-5.5, 5.5)]
    places += [(0.0, side * (50 + gap)) for side in (-1, 1) for gap in (-5.5, 5.5)]
    middles = seen(np.array([a * across + b * down for a, b in places]), 8)
    boxes = np.concatenate((middles - 18, middles + 18), 1)
    assert on_card(card_at(seen(card)), boxes).tolist() == [True, False] * 4


def test_calibration_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cards.json"
    assert CardCalibration.load(path) == CardCalibration()
    path.write_text('{"temperature": 2.0, "certain_from": 0.98}')
    assert CardCalibration.load(path) == CardCalibration(2.0, 0.98)
    path.write_text('{"temperature": "warm"}')
    with pytest.raises(ValueError, match="expected temperature and certain_from"):
        CardCalibration.load(path)


@pytest.fixture(scope="module")
def reader() -> CardReader:
    """The shipped networks."""
    if not (MODELS / "cardface.ncnn.bin").is_file():
        pytest.skip("the card networks are not in models/")
    return CardReader.load(MODELS)


def show(reader: CardReader, name: str, seed: int, *, own: bool) -> tuple[CardReading, float, float]:
    """Draw a card on some table and read it; the reading, the share that shows, the error of the corners in sides."""
    shot = card_shot(np.random.default_rng(seed), 300, label=name, own=own, reference=not own,
                     shrink=(1.0, 1.8), zoom=(1.8, 2.2), held_out=True)  # fmt: skip
    corners = shot.corners * 300
    reading = reader.read(shot.image, bounds(corners).clip(0, 300)[None])
    assert reading is not None
    error = np.linalg.norm(np.array(reading.corners) - corners, axis=1).mean() / np.linalg.norm(corners[3] - corners[0])
    return reading, shot.visible, float(error)


@pytest.mark.parametrize("own", [True, False], ids=["own", "reference"])
def test_cards_are_named(reader: CardReader, own: bool) -> None:
    names = [name for name in LABELS[:BACK] if card_art(name, own=own, reference=not own)]
    if not names:
        pytest.skip("no reference pictures in ../shared/reference/cards")
    right, seen, upright = 0, 0, []
    for i, name in enumerate(names * 5):
        reading, visible, error = show(reader, name, 31000 + i, own=own)
        assert reading.name in (name, "unknown", "back"), f"{name} was taken for {reading.name}"
        seen += visible >= 0.6
        right += visible >= 0.6 and reading.name == name
        if reading.name == name:
            upright.append(error)
    assert right >= 0.9 * seen
    assert np.median(upright) < 0.03  # from the upright card's top left: turned by half it would be 1 and more


def test_sabers_are_right_or_doubtful(reader: CardReader) -> None:
    for i, name in enumerate(("ship_2", "ship_3", "ship_4") * 8):
        reading, _, _ = show(reader, name, 47000 + i, own=True)
        assert reading.name in (name, "unknown")


def test_other_cards_are_not_named(reader: CardReader) -> None:
    names = [show(reader, "unknown", 52000 + i, own=True)[0].name for i in range(25)]
    assert set(names) <= {"unknown", "back"}


def test_a_plain_table_is_no_known_card(reader: CardReader) -> None:
    rng = np.random.default_rng(3)
    for level in (0, 40, 128, 255):
        image = np.clip(level + rng.normal(0, 3, (200, 200, 3)), 0, 255).astype(np.uint8)
        reading = reader.read(image, np.array([[40, 40, 120, 150]], np.float32))
        assert reading is not None
        assert reading.name in ("unknown", "back")


def test_no_box_no_card(reader: CardReader) -> None:
    assert reader.read(np.zeros((100, 100, 3), np.uint8), np.zeros((0, 4), np.float32)) is None


def test_odd_boxes_do_no_harm(reader: CardReader) -> None:
    image = np.full((90, 120, 3), 90, np.uint8)
    for box in ([0, 0, 0, 0], [-50, -50, -10, -10], [0, 0, 120, 90], [119, 89, 500, 400], [60, 40, 61, 41]):
        reading = reader.read(image, np.array([box], np.float32))
        assert reading is not None
        assert reading.name in ("unknown", "back")


def test_unknown_label_is_last() -> None:
    assert LABELS[UNKNOWN] == "unknown"
    assert LABELS[BACK] == "back"
