"""From raw maps to one box a die."""

from __future__ import annotations

import numpy as np
import pytest

from vision.detector import CLASSES
from vision.ncnn_net import ModelError
from vision.yolo import BINS, Looking, Region, YoloDetector, decode, join, suppress

from .fakes import found


def maps(h: int = 10, w: int = 13, channels: int = 4 * BINS + len(CLASSES)) -> list[np.ndarray]:
    """Empty maps of a 416×320 input at the strides 8, 16, 32."""
    answer = [np.full((channels, h * 4 // s, w * 4 // s), -12, np.float32) for s in (1, 2, 4)]
    return answer


def put(cells: np.ndarray, row: int, column: int, sides: tuple[int, int, int, int], name: str, logit: float) -> None:
    """A thing whose sides lie at whole bins."""
    for side, bin_ in enumerate(sides):
        cells[side * BINS + bin_, row, column] = 12
    cells[4 * BINS + CLASSES.index(name), row, column] = logit


def test_a_cell_becomes_a_box() -> None:
    given = maps()
    put(given[0], 5, 7, (1, 2, 3, 1), "parrot", 2.0)
    boxes, scores = decode(given, 0.1)
    assert boxes == pytest.approx(np.array([[(7.5 - 1) * 8, (5.5 - 2) * 8, (7.5 + 3) * 8, (5.5 + 1) * 8]]), abs=0.05)
    assert CLASSES[int(scores[0].argmax())] == "parrot"
    assert float(scores.max()) == pytest.approx(1 / (1 + np.exp(-2)))


def test_cells_below_the_threshold_cost_nothing() -> None:
    boxes, scores = decode(maps(), 0.1)
    assert boxes.shape == (0, 4)
    assert scores.shape == (0, len(CLASSES))


def test_maps_of_another_network_are_refused() -> None:
    with pytest.raises(ModelError, match="expected 73 channels"):
        decode(maps(channels=84), 0.1)


def test_heads_without_bins_are_read_too() -> None:
    given = maps(channels=4 + len(CLASSES))
    given[0][:4, 5, 7] = 2
    given[0][4, 5, 7] = 3
    boxes, _ = decode(given, 0.1)
    assert boxes == pytest.approx(np.array([[44, 28, 76, 60]]))


def test_cells_of_one_die_are_joined_and_a_second_class_stays_visible() -> None:
    given = found(("coin", 0.9, (10, 10, 50, 50)), ("skull", 0.6, (12, 10, 52, 50)), ("coin", 0.8, (10, 12, 50, 52)))
    joined = join(given.boxes, given.scores, 0.5)
    assert len(joined.boxes) == 1
    assert CLASSES[int(joined.scores[0].argmax())] == "coin"
    assert joined.scores[0, CLASSES.index("skull")] > 0.1
    assert joined.scores.max() == pytest.approx(0.9)


def test_a_card_does_not_swallow_the_die_on_it() -> None:
    given = found(("card", 0.9, (0, 0, 60, 60)), ("coin", 0.8, (2, 2, 58, 58)))
    assert len(join(given.boxes, given.scores, 0.5).boxes) == 2
    assert len(suppress(given).found.boxes) == 2


def test_a_box_within_a_box_is_one_die() -> None:
    given = found(("coin", 0.9, (0, 0, 60, 60)), ("skull", 0.8, (10, 10, 45, 45)))
    answer = suppress(given)
    assert len(answer.found.boxes) == 1
    assert answer.contested.tolist() == [True]


def test_a_faint_box_across_touching_dice_is_dropped_and_a_sure_one_is_a_die() -> None:
    four = [("coin", 0.9, (x, y, x + 40, y + 40)) for x in (0.0, 41.0) for y in (0.0, 41.0)]
    for score, dice in ((0.2, 4), (0.7, 5)):
        assert len(suppress(found(*four, ("coin", score, (20, 20, 61, 61)))).found.boxes) == dice


class Told:
    """A network that answers the same maps whatever it is shown, and remembers the sizes."""

    def __init__(self, sides: tuple[int, int, int, int]) -> None:
        self.sizes: list[tuple[int, int]] = []
        self.sides = sides

    def run_pixels(self, image: np.ndarray) -> list[np.ndarray]:
        h, w = image.shape[:2]
        self.sizes.append((w, h))
        given = maps(h // 32, w // 32)
        put(given[0], 6, 9, self.sides, "coin", 3.0)
        return given


def test_a_frame_is_shown_with_its_long_side_at_416_and_boxes_come_back_in_its_pixels() -> None:
    net = Told((1, 2, 2, 1))
    answer = YoloDetector(net).detect(np.zeros((960, 1280, 3), np.uint8))  # type: ignore[arg-type]
    assert net.sizes == [(416, 320)]
    scale = 1280 / 416
    wanted = np.array([[(9.5 - 1) * 8, (6.5 - 2) * 8, (9.5 + 2) * 8, (6.5 + 1) * 8]]) * scale
    assert answer.boxes == pytest.approx(wanted, abs=0.2)


def test_small_dice_are_looked_at_again_enlarged() -> None:
    net = Told((1, 1, 0, 0))  # 8 pixels: far below what can be named
    YoloDetector(net).detect(np.zeros((960, 1280, 3), np.uint8))  # type: ignore[arg-type]
    assert len(net.sizes) == 2


def test_small_pictures_are_not_enlarged_and_odd_ones_do_not_crash() -> None:
    net = Told((1, 1, 1, 1))
    detector = YoloDetector(net)  # type: ignore[arg-type]
    detector.detect(np.zeros((200, 300, 3), np.uint8))
    assert net.sizes[0] == (320, 224)


def test_the_region_shifts_boxes() -> None:
    net = Told((1, 1, 1, 1))
    detector = YoloDetector(net, Looking())  # type: ignore[arg-type]
    image = np.zeros((960, 1280, 3), np.uint8)
    inside = detector.look(image, Region(200, 100, 400, 320, 1.0))
    assert inside.boxes == pytest.approx(np.array([[200 + 68, 100 + 44, 200 + 84, 100 + 60]]), abs=0.1)
