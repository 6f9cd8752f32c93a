"""The clip that `ausguck demo` plays: two players, five raids; a bust, Skull Island, and a die that leans.

python -m datasets.clips.demo device/demo
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from scorer.cards import Card

from .film import Film, Look, Recorder
from .script import Play
from .session import draw_session
from .stage import State

FPS = 12.0
SEED = 31


def script() -> Play:
    """The five raids."""
    session = replace(draw_session(SEED, die_pixels=44, calm=True, clutter=False), exposure=1.3)
    play = Play(session, np.random.default_rng(SEED), rest_after=1.0)
    stage = play.stage
    stage.rest(1.0)

    play.card(Card.PIRATE)
    play.roll("coin coin diamond monkey sabers skull parrot coin")
    stage.set_aside([0, 1, 7, 2])
    play.reroll({3: "diamond", 4: "monkey", 6: "diamond"})
    play.end()

    stage.now = _next_player(stage.now)
    play.card(Card.SHIP_2)
    play.roll("skull coin sabers skull monkey parrot parrot diamond")
    play.reroll({4: "skull", 5: "sabers", 6: "parrot"}, rest=1.6)
    play.end()

    stage.now = _next_player(stage.now)
    play.card(Card.GOLD_COIN)
    play.roll("skull coin skull skull monkey skull parrot diamond", rest=1.4)
    play.reroll({1: "coin", 4: "skull", 6: "skull", 7: "diamond"})
    play.reroll({1: "coin", 7: "parrot"}, rest=1.6)
    play.end()

    stage.now = _next_player(stage.now)
    play.card(Card.TREASURE_ISLAND)
    play.roll("coin coin diamond diamond monkey skull parrot sabers")
    play.place([0, 1, 2])
    play.reroll({4: "coin", 6: "diamond", 7: "skull"}, lean=6, rest=1.6)
    play.end()

    stage.now = _next_player(stage.now)
    play.card(Card.ANIMALS)
    play.roll("monkey parrot monkey parrot coin monkey skull sabers")
    play.reroll({4: "monkey", 7: "parrot"}, rest=1.4)
    play.end(clear=False)
    stage.rest(1.0)
    return play


def _next_player(state: State) -> State:
    return replace(state, player=1 - state.player)


def make(out: Path) -> None:
    """Write `game.mp4` and `game.json` into `out`."""
    play = script()
    out.mkdir(parents=True, exist_ok=True)
    film = Film(play.stage, Look(FPS))
    expected = play.expected(
        FPS, names=["Anna", "Ben"], cues=[{**cue, "frame": int(cue["t"] * FPS)} for cue in play.cues]
    )
    print(f"{play.stage.seconds:.1f} s, {film.count} frames", flush=True)
    with Recorder(out / "game.mp4", play.session.camera.size, FPS, crf=25) as video:
        for number, picture in film.frames():
            video.write(picture)
            if number % 100 == 0:
                print(number, flush=True)
    (out / "game.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
