"""What a reading says of what both looks saw: certain only for eight flat, whole, agreed dice of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import pytest

from scorer.faces import Face
from vision.ncnn_net import ModelError
from vision.reader import MODELS, Reader, scaled
from vision.reading import Problem, Reading, Status

from .fakes import EIGHT, FakeDetector, FakeSecondLook, eight, found, picture, place

Thing = tuple[str, float, tuple[float, float, float, float]]


def read(things: Sequence[Thing], image: Any = None, second: FakeSecondLook | None = None) -> Reading:
    reader = Reader(FakeDetector(found(*things)), second or FakeSecondLook.of(things))
    boxes = [box for name, _, box in things if name not in ("card", "hand")]
    return reader.read(picture(boxes) if image is None else image)


def test_eight_dice_on_which_both_agree_are_certain() -> None:
    reading = read(eight())
    assert reading.status is Status.CERTAIN
    assert reading.problems == ()
    assert sorted(reading.faces) == sorted(EIGHT)
    assert all(die.certainty > 0.97 and not die.cocked for die in reading.dice)


def test_alternatives_share_what_certainty_leaves() -> None:
    for die in read(eight()).dice:
        assert len(die.alternatives) == 5
        assert die.face not in dict(die.alternatives)
        assert sum(p for _, p in die.alternatives) == pytest.approx(1 - die.certainty, abs=1e-6)


@pytest.mark.parametrize("count", range(0, 12))
def test_only_eight_dice_can_be_certain(count: int) -> None:
    things = [(EIGHT[i % 8].value, 0.9, place(i)) for i in range(count)]
    reading = read(things)
    expected = {0: Problem.NO_DICE, **dict.fromkeys(range(1, 8), Problem.TOO_FEW_DICE)}
    if count == 8:
        assert reading.status is Status.CERTAIN
    else:
        assert expected.get(count, Problem.TOO_MANY_DICE) in reading.problems


def test_a_die_found_twice_with_another_class_is_one_doubtful_die() -> None:
    """Field fault 10: eight dice and a ninth box 4 px aside, of another class, nearly as sure."""
    things = eight()
    x0, y0, x1, y1 = things[3][2]
    reading = read(
        [*things[:3], (things[3][0], 0.6, things[3][2]), *things[4:], ("skull", 0.55, (x0 + 4, y0, x1 + 4, y1))]
    )
    assert len(reading.dice) == 8
    assert reading.status is Status.DOUBTFUL
    assert [Problem.READERS_DIFFER in die.problems for die in reading.dice].count(True) == 1


def test_dice_edge_to_edge_stay_eight() -> None:
    """Field fault 10: boxes of turned dice that touch share about a tenth."""
    things = eight(gap=33)  # boxes of 40 px: intersection over union 0.1
    assert len(read(things).dice) == 8


def test_two_readers_that_differ_are_doubt() -> None:
    things = eight()
    second = FakeSecondLook.of([*things[:-1], ("skull", 0.9, things[-1][2])])
    reading = read(things, second=second)
    assert Problem.READERS_DIFFER in reading.problems


def test_an_unsure_second_look_is_doubt() -> None:
    reading = read(eight(), second=FakeSecondLook.of(eight(), sure=2.0))
    assert reading.status is Status.DOUBTFUL
    assert Problem.UNSURE_FACE in reading.problems


def test_a_die_that_leans_is_doubt() -> None:
    reading = read(eight(), second=FakeSecondLook.of(eight(), cocked=[2]))
    assert reading.problems == (Problem.COCKED,)
    assert sum(die.cocked for die in reading.dice) == 1


def test_a_foreign_die_is_doubt_and_not_counted_among_ours() -> None:
    reading = read([*eight(), ("foreign_die", 0.8, place(9))])
    assert Problem.FOREIGN_DIE in reading.problems
    assert Problem.TOO_MANY_DICE not in reading.problems
    reading = read([*eight()[:7], ("foreign_die", 0.8, place(9))])
    assert {Problem.FOREIGN_DIE, Problem.TOO_FEW_DICE} <= set(reading.problems)


def test_what_both_call_nothing_is_dropped_and_what_one_calls_a_die_is_doubted() -> None:
    faint = ("coin", 0.2, place(9))
    sure = ("coin", 0.9, place(9))
    unseen = FakeSecondLook.of(eight())
    assert read([*eight(), faint], second=unseen).status is Status.CERTAIN
    doubted = read([*eight(), sure], second=unseen)
    assert doubted.status is Status.DOUBTFUL
    assert len(doubted.dice) == 9


def test_a_faint_ninth_die_that_the_second_look_sees_counts() -> None:
    assert Problem.TOO_MANY_DICE in read([*eight(), ("coin", 0.12, place(9))]).problems


def test_a_die_at_the_border_is_doubt() -> None:
    things = [*eight()[:7], ("coin", 0.9, (0.0, 200.0, 30.0, 240.0))]
    assert Problem.AT_BORDER in read(things).problems


def test_a_hand_over_a_die_is_doubt_and_one_beside_is_not() -> None:
    over = read([*eight(), ("hand", 0.8, (90, 90, 130, 300))])
    assert Problem.HAND in over.problems
    assert len(over.hands) == 1
    assert read([*eight(), ("hand", 0.8, (500, 300, 620, 470))]).status is Status.CERTAIN


def test_a_frame_out_of_focus_is_doubt() -> None:
    """Field fault 8: blur of sigma 3 pixels."""
    sharp = picture([box for *_, box in eight()])
    blurred = np.asarray(cv2.GaussianBlur(sharp, (0, 0), 3), np.uint8)
    assert Problem.BLURRED in read(eight(), blurred).problems
    assert read(eight(), sharp).status is Status.CERTAIN


def test_darkness_is_doubt() -> None:
    dark = (picture([box for *_, box in eight()]) * 0.1).astype(np.uint8)
    assert Problem.TOO_DARK in read(eight(), dark).problems
    black = read([], np.zeros((480, 640, 3), np.uint8))
    assert set(black.problems) == {Problem.NO_DICE, Problem.TOO_DARK}


def test_dice_lie_on_the_card_by_their_middle() -> None:
    reading = read([*eight(), ("card", 0.9, (90, 90, 225, 300))])
    assert reading.card is not None
    assert reading.card.name == "unknown"
    assert sum(die.on_card for die in reading.dice) == 4


def test_the_contract_of_the_json() -> None:
    line = read([*eight(), ("card", 0.9, (90, 90, 225, 300))]).to_json()
    assert set(line) == {"status", "problems", "dice", "card"}
    dice: Any = line["dice"]
    assert set(dice[0]) == {"face", "certainty", "box", "alternatives", "cocked", "on_card"}
    assert {die["face"] for die in dice} <= {face.value for face in Face}


def test_boxes_grow_with_the_picture() -> None:
    reading = read([*eight(), ("card", 0.9, (90, 90, 225, 300))])
    grown = scaled(reading, 2)
    assert grown.dice[0].box == tuple(2 * v for v in reading.dice[0].box)
    assert grown.card is not None
    assert grown.card.corners[0] == (180, 180)


def test_missing_networks_are_said_in_a_sentence(tmp_path: Any) -> None:
    with pytest.raises(ModelError, match=r"expected a network in .*detector\.ncnn\.param, found no such file"):
        Reader.load(tmp_path)


def test_a_damaged_network_is_said_in_a_sentence(tmp_path: Any) -> None:
    (tmp_path / "detector.ncnn.param").write_text("nonsense\n")
    (tmp_path / "detector.ncnn.bin").write_bytes(b"")
    with pytest.raises(ModelError, match="damaged"):
        Reader.load(tmp_path)


@pytest.mark.skipif(not (MODELS / "detector.ncnn.bin").exists(), reason="no trained networks here")
def test_the_shipped_networks_answer() -> None:
    reader = Reader.load()
    assert reader.read(np.zeros((480, 640, 3), np.uint8)).problems[0] is Problem.NO_DICE
    for size in ((1, 1, 3), (1, 4000, 3), (3, 7, 3)):
        assert reader.read(np.full(size, 128, np.uint8), thorough=True).status is Status.DOUBTFUL
