"""`ausguck replay`: clips in, one event a line out."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from datasets.simulated_raids import ErrorRates, SimulatedReader, Stage, play
from device.cli import main
from device.commands.replay import BadClip, numbered_pictures, open_clip, replay
from device.evaluate_raids import judge, rate, simulated
from scorer.cards import Card
from scorer.faces import Face

PERFECT = ErrorRates(dropout=0, flicker=0, hard=0, ghost=0)
C, D, M, P, S, X = Face.COIN, Face.DIAMOND, Face.MONKEY, Face.PARROT, Face.SABERS, Face.SKULL


def replayed(stage: Stage, errors: ErrorRates = PERFECT, card: Card | None = None) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    reader = SimulatedReader(stage.scenes, random.Random(1), errors)
    replay(play(stage, random.Random(2)), reader, lambda line: lines.append(json.loads(json.dumps(line))), card=card)
    return lines


def staged(*rolls: tuple[tuple[int, ...], tuple[Face, ...]], card: str | None = "pirate") -> Stage:
    stage = Stage(random.Random(4), card=card)
    stage.rest(0.5)
    for n, (ids, faces) in enumerate(rolls):
        if n:
            stage.pick_up(ids)
        stage.throw(ids, faces)
        stage.rest(1.2)
    return stage


ALL = tuple(range(8))


def test_a_raid_that_is_still_open_at_the_end() -> None:
    lines = replayed(staged((ALL, (C, C, C, M, M, P, S, D)), ((3, 4), (C, D))))
    rolls = [line for line in lines if line["event"] == "roll"]
    assert [line["roll"] for line in rolls] == [1, 2]
    assert sorted(rolls[1]["faces"]) == sorted(["coin"] * 4 + ["parrot", "sabers", "diamond", "diamond"])
    assert len(rolls[1]["rerolled"]) == 2
    assert [line["event"] for line in lines[-2:]] == ["raid_open", "raid_ended"]
    assert lines[-1]["by"] == "clip_end"
    assert lines[-1]["score"]["total"] == 2 * (200 + 400 + 200)
    assert not lines[-1]["doubtful"]
    for line in lines:
        assert {"frame", "t", "event"} <= set(line)


def test_a_bust_is_told_the_moment_it_settles() -> None:
    lines = replayed(staged((ALL, (X, X, C, M, M, P, S, D)), ((2, 3), (X, D))))
    kinds = [line["event"] for line in lines]
    assert kinds.index("bust") > kinds.index("roll")
    frames = {line["event"]: line["frame"] for line in lines}
    assert frames["bust"] == frames["raid_ended"] == frames["roll"]
    assert lines[-1]["score"] == {"total": 0, "others": 0, "outcome": "bust", "lines": lines[-1]["score"]["lines"]}


def test_skull_island() -> None:
    lines = replayed(staged((ALL, (X, X, X, X, M, P, S, D)), ((4, 5, 6, 7), (X, D, D, C)), ((5, 6, 7), (C, C, M)),
                            card="gold_coin"))
    assert [line["event"] for line in lines if line["event"] in ("island", "raid_ended")] == ["island", "raid_ended"]
    assert lines[-1]["by"] == "rules"
    assert lines[-1]["score"]["others"] == -500


def test_two_raids_of_one_clip() -> None:
    stage = staged((ALL, (C, C, X, M, M, P, S, D)))
    stage.pick_up(ALL)
    stage.place_card(None)
    stage.rest(1)
    stage.place_card("diamond")
    stage.throw(ALL, (D, D, D, D, C, C, M, P))
    stage.rest(1.2)
    ended = [line for line in replayed(stage) if line["event"] == "raid_ended"]
    assert [line["card"]["name"] for line in ended] == ["pirate", "diamond"]


def test_the_card_given_beforehand_stays() -> None:
    lines = replayed(staged((ALL, (C, C, C, M, M, P, S, D)), card=None), card=Card.PIRATE)
    assert lines[-1]["card"] == {"name": "pirate"}
    assert not lines[-1]["doubtful"]


def test_without_a_card_the_raid_is_doubtful() -> None:
    assert replayed(staged((ALL, (C, C, C, M, M, P, S, D)), card=None))[-1]["doubtful"]


@pytest.mark.slow
def test_simulated_raids_are_never_wrong_in_silence() -> None:
    tally = simulated(8, seed=11).to_json()
    assert tally["silently_wrong"] == 0
    assert tally["rolls_that_were_none"] == 0
    assert tally["cards_wrong_and_certain"] == 0
    assert tally["settled_early"] == 0
    assert tally["whole_raid_rate"]["good"] >= 5


def test_a_judge_counts_a_wrong_score_in_silence() -> None:
    tally = simulated(0)
    expected = {"name": "x", "fps": 15, "card": "pirate", "rolls": [{"frame": 3, "faces": ["coin"] * 8}],
                "score": {"total": 100, "others": 0}}
    told = [{"event": "roll", "frame": 6, "faces": ["coin"] * 8},
            {"event": "raid_ended", "card": {"name": "pirate"}, "score": {"total": 200, "others": 0}}]
    judge(tally, expected, told)
    assert (tally.right, tally.silently_wrong, tally.early, tally.late) == (0, 1, 0, 0)
    assert rate(95, 100)["rate"] == 0.95


# -- clips -------------------------------------------------------------------------------------------------------------


def write(folder: Path, *names: str) -> None:
    for name in names:
        cv2.imwrite(str(folder / name), np.zeros((30, 40, 3), np.uint8))


def test_pictures_are_taken_by_number(tmp_path: Path) -> None:
    write(tmp_path, "f2.png", "f10.png", "f1.png")
    assert [number for number, _ in numbered_pictures(tmp_path)] == [1, 2, 10]
    frames = list(open_clip(tmp_path, 10))
    assert [frame.t for frame in frames] == [0.1, 0.2, 1.0]


def test_pictures_without_numbers_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "b.png", "a.png")
    assert [path.name for _, path in numbered_pictures(tmp_path)] == ["a.png", "b.png"]


def test_a_broken_picture_is_a_dropped_frame(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "1.png", "3.png")
    (tmp_path / "2.png").write_bytes(b"nothing")
    assert [frame.number for frame in open_clip(tmp_path, 15)] == [1, 3]
    assert "2.png" in capsys.readouterr().err


def test_a_video_has_its_own_pace(tmp_path: Path) -> None:
    path = tmp_path / "clip.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 20, (64, 48))
    for _ in range(5):
        writer.write(np.full((48, 64, 3), 80, np.uint8))
    writer.release()
    frames = list(open_clip(path, None))
    assert len(frames) == 5
    assert frames[4].t == pytest.approx(0.2)
    assert list(open_clip(path, 10))[4].t == pytest.approx(0.4)


@pytest.mark.parametrize("make", [
    lambda path: None,
    lambda path: path.mkdir(),
    lambda path: path.write_bytes(b"no video at all"),
], ids=["missing", "empty folder", "no video"])
def test_a_bad_clip_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str], make: Any) -> None:
    path = tmp_path / "clip"
    make(path)
    with pytest.raises(BadClip, match="expected"):
        open_clip(path, None)
    assert main(["replay", str(path), "--json"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "expected" in err


def test_a_bad_pace_is_refused(tmp_path: Path) -> None:
    assert main(["replay", str(tmp_path), "--fps", "0"]) == 2
