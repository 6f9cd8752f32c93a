"""Clips: throws end as wished and as physics allows, handling changes no face, and films cost what they may."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'ausguck[datasets]'")
pytest.importorskip("resvg_py", reason="resvg-py is not installed: pip install 'ausguck[datasets]'")

from datasets.clips.film import Film, Look, Recorder
from datasets.clips.physics import CUBE_TURNS, Throw, leans, throw_well, turned_to_show, upward
from datasets.clips.script import Play
from datasets.clips.session import Session, draw_session
from datasets.clips.stage import Stage
from scorer.cards import Card
from scorer.errors import ScorerError
from scorer.faces import Face

FACES = [face.value for face in Face]


@cache
def session() -> Session:
    return draw_session(3, size=(480, 360), die_pixels=22)


def play(seed: int = 1) -> Play:
    return Play(session(), np.random.default_rng(seed), rest_after=0.3)


def test_a_cube_has_24_turns() -> None:
    assert len(CUBE_TURNS) == 24
    assert len({turn.tobytes() for turn in CUBE_TURNS}) == 24


def test_thrown_dice_fall_tumble_and_lie_flat_side_by_side() -> None:
    throw = Throw((0, -60, 50), (100, 700, -100), (-110, -110, 110, 110))
    flight = throw_well(throw, 8, np.random.default_rng(2))
    assert 0.4 < flight.seconds < 3
    assert float(flight.positions[:, :, 2].min()) > 6  # no deeper into the table than a soft mat gives
    at, turned = flight.positions[-1], flight.rotations[-1]
    assert np.allclose(at[:, 2], 8, atol=0.6)
    assert max(leans(r) for r in turned) < 2.5
    gaps = [float(np.linalg.norm(at[i] - at[j])) for i in range(8) for j in range(i)]
    assert min(gaps) > 15.5
    speed = np.linalg.norm(np.diff(flight.positions, axis=0), axis=2) * 120
    assert speed[:10].max() > 300
    assert speed[-3:].max() < 10


def test_a_skin_shows_whatever_face_is_wished() -> None:
    rng = np.random.default_rng(4)
    for skin in session().skins[:3]:
        for face in FACES:
            final = CUBE_TURNS[int(rng.integers(24))]
            turn = turned_to_show(face, skin, final, rng)
            assert skin.faces[upward(final @ turn)] == face


def test_handling_changes_no_face_and_leaves_dice_flat() -> None:
    stage = Stage(session(), np.random.default_rng(8))
    faces = ["coin", "skull", "diamond", "monkey", "parrot", "sabers", "coin", "skull"]
    stage.throw(dict(enumerate(faces)))
    stage.set_aside([0, 6])
    stage.push_together([1, 7])
    stage.swap(2, 3)
    stage.slide_die(4, stage.free_spot())
    stage.cover(0.2)
    stage.sheet(0.2)
    stage.stranger()
    stage.bump()
    assert stage.faces() == faces
    assert stage.flat()
    at = stage.now.positions[:8]
    assert min(float(np.linalg.norm(at[i] - at[j])) for i in range(8) for j in range(i)) > 15.5


def test_a_roll_shows_what_the_script_says_and_kept_dice_stay() -> None:
    game = play()
    game.card(Card.PIRATE)
    game.roll("coin coin diamond monkey sabers skull parrot coin")
    kept = game.stage.now.positions[[0, 1, 7]].copy()
    game.reroll({3: "diamond", 4: "coin"})
    game.end(by="clip_end")
    assert np.array_equal(kept, kept)
    assert game.raids[0]["rolls"][-1]["faces"] == [
        "coin",
        "coin",
        "diamond",
        "diamond",
        "coin",
        "skull",
        "parrot",
        "coin",
    ]
    assert game.raids[0]["score"]["total"] == 1600  # four coins, two diamonds, and the Pirate doubles it


def test_a_script_cannot_break_the_rules() -> None:
    game = play()
    game.card(Card.DIAMOND)
    game.roll("skull coin diamond monkey sabers coin parrot coin")
    with pytest.raises(ScorerError):
        game.reroll({0: "coin", 3: "coin"})


def test_what_does_not_move_is_cheap_and_what_moves_is_seen() -> None:
    game = play()
    game.stage.throw(dict(enumerate(["coin"] * 8)))
    settled = game.stage.seconds
    game.stage.rest(2)
    film = Film(game.stage, Look(20))
    flying = film.frame(int((settled - 0.6) * 20))
    first = film.frame(int(settled * 20) + 2)
    began = time.perf_counter()
    stills = [film.frame(int(settled * 20) + 3 + i) for i in range(20)]
    each = (time.perf_counter() - began) / 20
    assert each < 0.1
    noise = float(np.abs(first.astype(int) - stills[-1]).mean())
    change = float(np.abs(first.astype(int) - flying).mean())
    assert 0.3 < noise < 8  # never the same frame twice
    assert cv2.absdiff(first, flying).max() > 60
    assert change > noise


def test_hands_cover_and_lights_darken() -> None:
    stage = Stage(session(), np.random.default_rng(5))
    stage.throw(dict(enumerate(["skull"] * 8)))
    stage.rest(0.3)
    bare = Film(stage).frame(int(stage.seconds * 12))
    begun = stage.seconds
    stage.cover(0.6)
    stage.rest(0.2)
    film = Film(stage, Look(10))
    covered = film.frame(int((begun + 0.75) * 10))
    assert float((cv2.absdiff(covered, bare) > 25).any(2).mean()) > 0.06
    dark = Stage(replace(session()), np.random.default_rng(5))
    dark.lights(1.0)
    night = Film(dark, Look(10))
    assert night.frame(5).mean() < 0.25 * night.frame(0).mean()


def test_a_recorded_clip_can_be_read(tmp_path: Path) -> None:
    pytest.importorskip("av", reason="PyAV is not installed: pip install 'ausguck[datasets]'")
    path = tmp_path / "clip.mp4"
    with Recorder(path, (96, 64), 12.0) as video:
        for level in range(0, 250, 25):
            video.write(np.full((64, 96, 3), level, np.uint8))
    reading = cv2.VideoCapture(str(path))
    levels = []
    while True:
        good, picture = reading.read()
        if not good:
            break
        levels.append(float(picture.mean()))
    assert reading.get(cv2.CAP_PROP_FPS) == pytest.approx(12)
    assert len(levels) == 10
    assert np.allclose(levels, range(0, 250, 25), atol=6)


def test_generated_raids_are_legal_and_repeatable() -> None:
    from datasets.clips import generate

    generate.draw_session = lambda seed: session()  # type: ignore[assignment]
    try:
        first, again = (generate.play_raid(11, card=Card.TREASURE_ISLAND) for _ in range(2))
    finally:
        generate.draw_session = draw_session
    assert json.dumps(first.expected(10)) == json.dumps(again.expected(10))
    assert first.raids[0]["card"] == "treasure_island"
    assert all(set(roll["faces"]) <= set(FACES) for roll in first.raids[0]["rolls"])
