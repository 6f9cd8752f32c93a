"""The measures: exact rolls, silent misreads, and what may never be certain."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from scorer.faces import Face
from vision.evaluation import DataError, Scene, Tally, TrueDie, face_of, half, load_scenes, match, share, wilson
from vision.reading import Status

from .fakes import EIGHT, eight, place
from .test_reader import read


def scene(faces: list[str], **more: object) -> Scene:
    dice = tuple(TrueDie(face, place(i), **more) for i, face in enumerate(faces))  # type: ignore[arg-type]
    return Scene(Path("picture.jpg"), "session 1", dice)


def test_wilson_interval() -> None:
    """Known values: 0 of 2,000 is at most 0.19 %; 50 of 100 is 40.4 to 59.6 %."""
    assert wilson(0, 2000)[1] == pytest.approx(0.00192, abs=1e-5)
    assert wilson(50, 100) == pytest.approx((0.404, 0.596), abs=1e-3)
    assert share(0, 0)["share"] is None


def test_a_right_certain_roll() -> None:
    tally = Tally()
    assert tally.add(scene([face.value for face in EIGHT]), read(eight())) is None
    figures = tally.to_json()
    assert figures["exact_roll"]["count"] == figures["certain"]["count"] == 1
    assert figures["silent_misreads"]["count"] == 0


def test_a_certain_wrong_roll_is_a_silent_misread() -> None:
    tally = Tally()
    assert tally.add(scene(["coin"] * 8), read(eight())) == "silent_misread"
    assert tally.to_json()["silent_misreads"]["count"] == 1


def test_seven_dice_that_were_read_as_eight_certain_ones_are_counted() -> None:
    tally = Tally()
    assert tally.add(scene([face.value for face in EIGHT][:7]), read(eight())) == "certain_seven"
    assert tally.to_json()["never_certain"]["seven"]["count"] == 1


def test_a_leaning_die_may_never_be_certain() -> None:
    reading = read(eight())
    assert reading.status is Status.CERTAIN
    assert Tally().add(scene([face.value for face in EIGHT], cocked=True), reading) == "certain_cocked"


def test_each_true_die_is_matched_once() -> None:
    dice = (TrueDie("coin", (0, 0, 10, 10)), TrueDie("skull", (20, 0, 30, 10)))
    boxes = np.array([[1, 0, 11, 10], [0, 0, 10, 10], [50, 50, 60, 60]], np.float32)
    assert match(boxes, dice) == [-1, 0, -1]


def test_records_are_loaded_and_halves_share_no_session(tmp_path: Path) -> None:
    for folder in ("records/val", "images/val"):
        (tmp_path / folder).mkdir(parents=True)
    for i in range(12):
        cv2.imwrite(str(tmp_path / f"images/val/{i}.jpg"), np.zeros((20, 20, 3), np.uint8))
        record = {
            "file": f"images/val/{i}.jpg",
            "session": f"s{i // 2}",
            "dice": [{"face": "coin", "box": [1, 2, 9, 9]}],
        }
        (tmp_path / f"records/val/{i}.json").write_text(json.dumps(record))
    scenes = load_scenes(tmp_path)
    assert len(scenes) == 12
    halves = [{s.session for s in half(scenes, which)} for which in (0, 1)]
    assert halves[0] & halves[1] == set()
    assert halves[0] | halves[1] == {f"s{i}" for i in range(6)}


def test_a_folder_without_labels_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected labelled pictures"):
        load_scenes(tmp_path)


def test_file_names_say_the_face() -> None:
    assert face_of(Path("3Loro.png")) is Face.PARROT
    assert face_of(Path("5Oro.png")) is Face.COIN
    assert face_of(Path("Dices_Swords.png")) is Face.SABERS
    assert face_of(Path("table.png")) is None
