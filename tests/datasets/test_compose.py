"""Composites of a small stored layer: labels that fit, splits that never meet, crops and pictures on disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from datasets.render import compose, crops, layers, tables, things, write
from device.cli import main
from vision.detector import CLASSES

LAYER = Path(__file__).parent / "layer" / "train-000404.npz"


@pytest.fixture(autouse=True)
def _own_drawings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUSGUCK_REFERENCE", "/nonexistent")
    for cache in (tables.photographs, things.pirate_cards, write._compositor):
        cache.cache_clear()


@pytest.fixture(scope="module")
def layer() -> layers.Layer:
    return layers.load(LAYER)


def draw(layer: layers.Layer, seed: int, size: tuple[int, int] = (416, 416), pixels: float = 40.0) -> compose.Composite:
    return compose.compose(np.random.default_rng(seed), layer, size=size, die_pixels=pixels)


def test_same_seed_same_picture(layer: layers.Layer) -> None:
    a, b = draw(layer, 5), draw(layer, 5)
    assert (a.image == b.image).all()
    assert a.dice == b.dice
    assert a.cards == b.cards
    assert (a.image != draw(layer, 6).image).any()


def test_labels_lie_in_the_picture_and_fit_the_dice(layer: layers.Layer) -> None:
    found = 0
    for seed in range(12):
        composite = draw(layer, seed, (480, 352), 36)
        assert composite.image.shape == (352, 480, 3)
        assert composite.image.dtype == np.uint8
        for die in composite.dice:
            found += 1
            x0, y0, x1, y1 = die.box
            assert 0 <= x0 < x1 <= 480
            assert 0 <= y0 < y1 <= 352
            assert die.face in CLASSES
            assert 0.4 <= die.visible <= 1
            if not die.at_border and die.visible > 0.95:
                assert min(x1 - x0, y1 - y0) > 0.8 * 36
                assert max(x1 - x0, y1 - y0) < 2.1 * 36
        for card in composite.cards:
            (ax, ay), (bx, by), (cx, cy), _ = card.corners
            assert (bx - ax) * (cy - by) - (by - ay) * (cx - bx) > 0  # clockwise on the screen: not mirrored
            across, along = np.hypot(bx - ax, by - ay), np.hypot(cx - bx, cy - by)
            assert 1.2 < along / across < 2.2
            assert across == pytest.approx(36 * 62 / 16, rel=0.45)
    assert found > 50


def test_boxes_are_brighter_than_a_black_table(layer: layers.Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    black = tables.Table("black", np.zeros((64, 64, 3), np.uint8), 5.0)
    monkeypatch.setattr(tables, "draw_table", lambda rng, split: (black, np.ones(3, np.float32)))
    monkeypatch.setattr(compose, "_lay_things", lambda *args: [])
    monkeypatch.setattr(compose, "_hand", lambda *args: pytest.skip("a hand came in"))
    composite = draw(layer, 3)
    grey = composite.image.mean(2)
    inside = np.zeros(grey.shape, bool)
    for die in composite.dice:
        x0, y0, x1, y1 = (round(v) for v in die.box)
        inside[y0:y1, x0:x1] = True
        assert grey[y0 + 8 : y1 - 8, x0 + 8 : x1 - 8].mean() > 1.5 * np.median(grey)
    assert grey[inside].mean() > 2 * grey[~inside].mean()


def test_cards_under_dice_are_noticed(layer: layers.Layer) -> None:
    on = [die.on_card for seed in range(25) for die in draw(layer, seed).dice]
    assert any(on)
    assert not all(on)


def test_hands_come_and_carry_a_box(layer: layers.Layer) -> None:
    with_hands = [
        composite for composite in (draw(layer, seed, (320, 320), 24) for seed in range(40)) if composite.hands
    ]
    assert 1 <= len(with_hands) <= 12
    for composite in with_hands:
        x0, y0, x1, y1 = composite.hands[0]
        assert 0 <= x0 < x1 <= 320
        assert 0 <= y0 < y1 <= 320


def test_splits_share_no_table_clutter_or_photographed_card() -> None:
    names = {}
    for split in ("train", "test"):
        names[split] = {tables.draw_table(np.random.default_rng(k), split)[0].name for k in range(25)}
    assert not names["train"] & names["test"]
    assert set(things.CARD_SETS["train"]) & set(things.CARD_SETS["test"]) == {"own"}
    first = [things._clutter(4, split).size_mm for split in ("train", "test")]
    assert first[0] != first[1]


def test_manifest_refuses_a_session_on_both_sides(tmp_path: Path) -> None:
    for folder, session in (("train", "a"), ("val", "b")):
        (tmp_path / "records" / folder).mkdir(parents=True)
        record = {"session": session, "print_run": folder, "table": folder}
        (tmp_path / "records" / folder / "1.json").write_text(json.dumps(record))
    write.write_manifest(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["train"]["sessions"] == ["a"]
    assert manifest["test"]["sessions"] == ["b"]
    (tmp_path / "records" / "val" / "2.json").write_text(json.dumps({"session": "a", "print_run": "x", "table": "y"}))
    with pytest.raises(ValueError, match="sessions on one side"):
        write.write_manifest(tmp_path)


def test_crop_is_centred_and_unturned() -> None:
    image = np.zeros((200, 300, 3), np.uint8)
    image[80:120, 130:170] = 255
    for side in (50.0, 80.0, 150.0):
        ys, xs = np.nonzero(crops.cut(image, (150, 100), side)[..., 0] > 127)
        assert abs(xs.mean() - 31.5) < 0.8
        assert abs(ys.mean() - 31.5) < 0.8
        assert np.ptp(xs) + 1 == pytest.approx(40 * 64 / side, abs=2.5)


def test_crops_have_labels_of_dice_and_of_nothing(layer: layers.Layer) -> None:
    found = crops.CropSet()
    rng = np.random.default_rng(1)
    for seed in range(6):
        crops.draw_crops(draw(layer, seed), rng, found)
    assert {tuple(image.shape) for image in found.images} == {(64, 64, 3)}
    assert {crops.NOTHING} < set(found.labels)
    assert all(
        (cocked == -1) == (label >= crops.FOREIGN) for cocked, label in zip(found.cocked, found.labels, strict=True)
    )
    assert 1 in found.cocked
    assert 0 in found.cocked


def test_render_command_writes_and_goes_on(tmp_path: Path) -> None:
    source = tmp_path / "layers"
    source.mkdir()
    shutil.copy(LAYER, source / "train-000404.npz")
    out = tmp_path / "out"
    words = ["dataset", "render", "--seed", "3", "--layers", str(source), "--processes", "1", str(out)]
    assert main([*words, "--count", "2"]) == 0
    pictures = sorted((out / "images" / "train").glob("*.jpg"))
    assert len(pictures) == 2
    assert (out / "data.yaml").exists()
    times = [path.stat().st_mtime_ns for path in pictures]
    assert main([*words, "--count", "3"]) == 0
    assert [path.stat().st_mtime_ns for path in pictures] == times  # not drawn again
    assert len(list((out / "labels" / "train").glob("*.txt"))) == 3
    for path in (out / "labels" / "train").glob("*.txt"):
        for line in path.read_text().split("\n")[:-1]:
            number, *box = line.split()
            assert 0 <= int(number) < len(CLASSES)
            assert all(0 <= float(v) <= 1 for v in box)
    record = json.loads(next((out / "records" / "train").glob("*.json")).read_text())
    assert record["session"] == "train-404"
    assert {"face", "box", "cocked", "on_card", "px"} <= set(record["dice"][0])


def test_crops_command(tmp_path: Path) -> None:
    source = tmp_path / "layers"
    source.mkdir()
    shutil.copy(LAYER, source / "train-000404.npz")
    words = ["dataset", "crops", "--count", "30", "--layers", str(source), "--processes", "1", str(tmp_path / "crops")]
    assert main(words) == 0
    with np.load(next((tmp_path / "crops" / "train").glob("*.npz"))) as shard:
        assert shard["images"].shape[1:] == (64, 64, 3)
        assert len(shard["labels"]) == len(shard["images"]) >= 30


def test_missing_layers_are_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dataset", "render", "--count", "1", "--layers", str(tmp_path), "--processes", "1", str(tmp_path / "o")]
    assert main(words) == 2
    assert "expected layers" in capsys.readouterr().err


def test_tracing_without_mitsuba_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cv2")
    try:
        import mitsuba  # noqa: F401
    except ImportError:
        words = ["dataset", "layers", "--count", "1", "--processes", "1", str(tmp_path)]
        assert main(words) == 2
        assert "Mitsuba" in capsys.readouterr().err
    else:
        pytest.skip("Mitsuba is installed here")
