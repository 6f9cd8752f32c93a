"""The bench measures what it says: a throw whose rest is known, with eyes that read at once."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from device import bench_loop
from scorer.faces import Face
from vision.reading import DieReading, Image, Reading, Status
from vision.watcher import Watcher

FPS = 15
REST = 20  # the first frame in which nothing moves any more


def table_top(shift: int = 0) -> Image:
    image = np.full((360, 640, 3), 70, np.uint8)
    for number in range(8):
        x, y = 60 + 65 * number, 160
        cv2.rectangle(image, (x + shift, y), (x + shift + 40, y + 40), (225, 230, 235), -1)
        cv2.circle(image, (x + shift + 20, y + 20), 9, (40, 40, 160), -1)
    return image


class QuickReader:
    """Sees the same eight dice whatever it is shown."""

    def read(self, image: Image, *, t: float = 0.0, number: int = 0) -> Reading:
        dice = tuple(
            DieReading(Face.COIN, 0.999, (60.0 + 65 * n, 160.0, 100.0 + 65 * n, 200.0), ((Face.COIN, 0.999),))
            for n in range(8)
        )
        return Reading(Status.CERTAIN, (), dice, None, t, number)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("throw")
    rng = np.random.default_rng(3)
    for number in range(60):
        image = table_top(shift=9 * (REST - number) if number < REST else 0)
        noise = rng.normal(0, 1.2, image.shape)
        cv2.imwrite(str(folder / f"{number:03d}.png"), np.clip(image + noise, 0, 255).astype(np.uint8))
    return folder


def test_rest_to_page_is_measured_from_the_first_frame_at_rest(clip: Path) -> None:
    figures = bench_loop.rest_to_page(clip, fps=FPS, reader=QuickReader())
    assert figures["rest_to_page_n"] == 1
    assert 0.0 < figures["rest_to_page_s"] < 2.0
    assert figures["frames"] == 60


def test_no_throw_is_a_reason_and_not_a_figure(tmp_path: Path) -> None:
    for number in range(6):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.full((360, 640, 3), 5 * number, np.uint8))
    figures = bench_loop.rest_to_page(tmp_path, fps=FPS, reader=type("Blind", (), {"read": _nothing})())
    assert figures["rest_to_page_s"] is None
    assert "no dice settled" in figures["reason"]


def _nothing(self: object, image: Image, *, t: float = 0.0, number: int = 0) -> Reading:
    return Reading(Status.DOUBTFUL, (), (), None, t, number)


def test_idle_cpu(clip: Path) -> None:
    figures = bench_loop.idle_cpu(table_top(), fps=FPS, seconds=2.0, reader=QuickReader())
    assert figures["idle_settled"]
    assert 0 < figures["idle_cpu"] < 1.0
    assert figures["idle_fps"] == pytest.approx(FPS, rel=0.4)


def test_last_still_is_at_rest(clip: Path) -> None:
    still = bench_loop.last_still(clip, fps=FPS)
    assert np.abs(still.astype(int) - table_top()).mean() < 3


def test_memory_is_measured_between_two_counts_of_frames() -> None:
    picture = cv2.resize(table_top(), (320, 180))
    figures = bench_loop.memory_flat(lambda: Watcher(QuickReader()), picture, frames=1_200, first=400)
    assert "reason" not in figures, figures
    assert figures["rss_frames"] >= 1_200
    assert figures["rss_restarts"] == 0
    assert figures["rss_mb"] > 0
