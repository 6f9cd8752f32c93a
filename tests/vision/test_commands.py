"""`ausguck read`, `evaluate` and `bench` keep their contracts: JSON lines, sentences for people, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from device.bench_eyes import BASELINE, eight_dice, interleaved, made_up_weights
from device.cli import main
from scorer.faces import Face
from vision.reader import MODELS

needs_networks = pytest.mark.skipif(not (MODELS / "detector.ncnn.bin").exists(), reason="no trained networks here")
REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference"


@needs_networks
def test_good_photographs_are_read_although_one_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, out = tmp_path / "table.png", tmp_path / "text.jpg", tmp_path / "drawn"
    cv2.imwrite(str(good), np.full((120, 160, 3), 90, np.uint8))
    bad.write_text("no picture")
    code = main(["read", "--json", "--annotate", str(out), str(bad), str(good)])
    captured = capsys.readouterr()
    assert code == 2
    (line,) = [json.loads(line) for line in captured.out.splitlines()]
    assert line["file"] == str(good)
    assert line["status"] == "doubtful"
    assert line["problems"] == ["no_dice"]
    assert (line["dice"], line["card"]) == ([], None)
    assert "text.jpg is none" in captured.err
    assert cv2.imread(str(out / "table.jpg")).shape == (120, 160, 3)


@needs_networks
def test_all_black_and_one_pixel_are_doubtful(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, size in (("black.jpg", (480, 640, 3)), ("one.png", (1, 1, 3))):
        cv2.imwrite(str(tmp_path / name), np.zeros(size, np.uint8))
        assert main(["read", "--json", str(tmp_path / name)]) == 0
        line = json.loads(capsys.readouterr().out)
        assert line["status"] == "doubtful"
        assert line["problems"] == ["no_dice", "too_dark"]


def test_missing_networks_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["read", "--json", "--models", str(tmp_path), "x.jpg"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "expected a network" in captured.err


def test_evaluate_without_pictures_says_how_to_get_some(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "--json"]) == 2
    assert "ausguck dataset render" in capsys.readouterr().err


def test_the_stock_network_gets_weights_that_fit() -> None:
    """As many bytes as the exported file has: two a weight, four a bias, four for each mark."""
    assert len(made_up_weights(BASELINE.read_text("utf-8"))) == 4_936_616


def test_runs_take_turns() -> None:
    order: list[str] = []
    times, work = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2)
    assert order == ["a", "b"] * 5
    assert [len(times[name]) for name in "ab"] == [len(work[name]) for name in "ab"] == [2, 2]


def test_the_drawn_table_is_always_the_same() -> None:
    picture = eight_dice(size=(320, 240), die=16)
    assert picture.shape == (240, 320, 3)
    assert (picture == eight_dice(size=(320, 240), die=16)).all()


@needs_networks
@pytest.mark.slow
def test_bench_prints_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--json", "--runs", "2"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {"frame_ms", "baseline_ms", "ratio", "rss_mb", "idle_cpu", "rest_to_page_s", "cold_start_s"} <= set(figures)
    assert all(
        figures["reasons"].get(name) for name, value in figures.items() if value is None and name != "load_before"
    )
    assert figures["rss_mb"] is None or figures["rss_mb"] < 250
    assert figures["versions"]["ncnn"]


@needs_networks
@pytest.mark.skipif(not (REFERENCE / "dice").exists(), reason="the reference pictures are not here")
def test_photographs_of_real_faces_are_read() -> None:
    """Photographs of the six real faces, as dice of 24 to 60 pixels: the second look alone reads every one."""
    from vision.evaluation import face_crops, face_of
    from vision.reader import Reader

    second = Reader.load().second
    paths = sorted((REFERENCE / "dice").glob("*.png"))
    assert {face_of(path) for path in paths} == set(Face)
    for path, face, size, image, box in face_crops(paths, (24, 30, 45, 60)):
        looks = second.look(image, np.array([box], np.float32))
        assert tuple(Face)[int(looks.log_probabilities[0, :6].argmax())] is face, (path.name, size)
