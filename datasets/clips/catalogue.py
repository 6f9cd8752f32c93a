"""The clips of `tests/replay`: every card, every rule that needs more than one picture, and what goes wrong at tables.

    python -m datasets.clips.catalogue tests/replay [NAME …]

Clips that are there already stay. Each has a session of its own; sessions from `FIRST_SEED` on are never trained on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scorer.cards import Card

from .film import Film, Look, Recorder
from .script import Play
from .session import draw_session

FPS = 10.0
FIRST_SEED = 900_000

Script = Callable[[Play], dict[str, Any] | None]
CLIPS: dict[str, Script] = {}
"""Name → what is played. A script may return more keys for the expected result."""


def clip(script: Script) -> Script:
    """Add a script under its own name."""
    CLIPS[script.__name__] = script
    return script


@clip
def pirate_set_aside_in_a_row(play: Play) -> None:
    play.card(Card.PIRATE)
    play.roll("coin coin diamond monkey sabers skull parrot coin")
    play.stage.set_aside([0, 1, 7])
    play.stage.rest(0.9)
    play.reroll({3: "diamond", 4: "monkey", 6: "diamond"})
    play.end(by="clip_end", clear=False)


@clip
def gold_coin_slides_between_rolls(play: Play) -> None:
    play.card(Card.GOLD_COIN)
    play.roll("monkey coin monkey sabers monkey parrot skull coin")
    for die in (0, 5):
        play.stage.slide_die(die, play.stage.free_spot())
    play.stage.withdraw()
    play.stage.rest(0.9)
    play.reroll({3: "monkey", 5: "coin"})
    play.end(by="clip_end", clear=False)


@clip
def diamond_swap_by_hand(play: Play) -> None:
    play.card(Card.DIAMOND)
    play.roll("diamond sabers diamond parrot sabers coin monkey sabers")
    play.stage.swap(0, 3)
    play.stage.rest(0.9)
    play.reroll({3: "diamond", 6: "sabers"})
    play.end(by="clip_end", clear=False)


@clip
def skull_card_bust(play: Play) -> None:
    play.card(Card.SKULL_1)
    play.roll("skull coin parrot parrot monkey sabers diamond coin")
    play.reroll({4: "skull", 5: "coin", 2: "diamond"})
    play.end(clear=False)


@clip
def two_skulls_card_island(play: Play) -> None:
    play.card(Card.SKULL_2)
    play.roll("skull coin skull parrot monkey sabers diamond coin")
    play.reroll({1: "coin", 3: "skull", 4: "parrot", 5: "sabers", 6: "coin", 7: "monkey"})
    play.reroll({1: "diamond", 4: "parrot", 5: "sabers", 6: "sabers", 7: "coin"})
    play.end(clear=False)


@clip
def four_skulls_first_roll_island(play: Play) -> None:
    play.card(Card.PIRATE)
    play.roll("skull coin skull skull monkey skull parrot diamond")
    play.reroll({1: "coin", 4: "parrot", 6: "monkey", 7: "diamond"})
    play.end(clear=False)


@clip
def three_skulls_first_roll_bust(play: Play) -> None:
    play.card(Card.ANIMALS)
    play.roll("skull coin skull parrot monkey skull diamond coin")
    play.end(clear=False)


@clip
def watchwoman_saves_one_skull(play: Play) -> None:
    play.card(Card.WATCHWOMAN)
    play.roll("skull parrot skull parrot monkey skull parrot coin")
    play.reroll({2: "parrot", 4: "coin"})
    play.end(by="clip_end", clear=False)


@clip
def ship_2_won(play: Play) -> None:
    play.card(Card.SHIP_2)
    play.roll("sabers monkey coin monkey parrot skull diamond coin")
    play.reroll({1: "sabers", 3: "coin", 4: "diamond"})
    play.end(by="clip_end", clear=False)


@clip
def ship_3_bust(play: Play) -> None:
    play.card(Card.SHIP_3)
    play.roll("sabers skull coin skull parrot sabers diamond coin")
    play.reroll({4: "skull", 6: "sabers"})
    play.end(clear=False)


@clip
def ship_4_too_few_sabers(play: Play) -> None:
    play.card(Card.SHIP_4)
    play.roll("sabers monkey coin sabers parrot skull diamond coin")
    play.reroll({1: "parrot", 4: "sabers"})
    play.end(by="clip_end", clear=False)


@clip
def treasure_island_bust(play: Play) -> None:
    play.card(Card.TREASURE_ISLAND)
    play.roll("coin coin diamond coin monkey skull parrot sabers")
    play.place([0, 1, 2, 3])
    play.reroll({4: "skull", 6: "diamond", 7: "skull"})
    play.end(clear=False)


@clip
def treasure_island_on_and_off(play: Play) -> None:
    play.card(Card.TREASURE_ISLAND)
    play.roll("coin parrot diamond coin parrot monkey parrot sabers")
    play.place([0, 2, 5])
    play.take_off([5])
    play.reroll({5: "coin", 7: "parrot"})
    play.end(by="clip_end", clear=False)


@clip
def animals_together(play: Play) -> None:
    play.card(Card.ANIMALS)
    play.roll("monkey parrot monkey parrot coin monkey skull sabers")
    play.stage.push_together([0, 1, 2])
    play.stage.rest(0.9)
    play.reroll({4: "monkey", 7: "parrot"})
    play.end(by="clip_end", clear=False)


@clip
def peace_with_a_saber(play: Play) -> None:
    play.card(Card.PEACE)
    play.roll("sabers coin sabers monkey coin parrot diamond coin")
    play.reroll({0: "coin", 3: "monkey"})
    play.end(by="clip_end", clear=False)


@clip
def zombie_attack_to_the_end(play: Play) -> None:
    play.card(Card.ZOMBIE_ATTACK)
    play.roll("sabers sabers skull coin sabers monkey sabers diamond")
    play.reroll({3: "sabers", 5: "parrot", 7: "skull"})
    play.reroll({5: "sabers"})
    play.end(clear=False)


@clip
def shipwreck_two_rolls(play: Play) -> None:
    play.card(Card.SHIPWRECK)
    play.roll("coin skull diamond skull monkey skull coin parrot")
    play.reroll({4: "coin", 7: "diamond"})
    play.end(clear=False)


@clip
def covered_by_hand_and_paper(play: Play) -> None:
    play.card(Card.DIAMOND)
    play.roll("diamond coin diamond parrot coin skull monkey coin")
    play.stage.cover(0.8)
    play.stage.rest(0.8)
    play.stage.sheet(0.8)
    play.stage.rest(0.8)
    play.reroll({3: "coin", 6: "diamond"})
    play.end(by="clip_end", clear=False)


@clip
def table_bumped(play: Play) -> None:
    play.card(Card.PIRATE)
    play.roll("parrot coin parrot sabers parrot skull monkey coin")
    play.stage.bump((3.0, -2.0, 0.6))
    play.stage.rest(0.9)
    play.reroll({3: "parrot", 6: "coin"})
    play.stage.bump((-2.0, 3.0, -0.5))
    play.stage.rest(0.9)
    play.end(by="clip_end", clear=False)


@clip
def lights_off_three_seconds(play: Play) -> None:
    play.card(Card.GOLD_COIN)
    play.roll("coin sabers sabers coin sabers skull diamond monkey")
    play.stage.lights(3.0)
    play.stage.rest(1.2)
    play.reroll({6: "coin", 7: "sabers"})
    play.end(by="clip_end", clear=False)


@clip
def a_third_of_the_frames_lost(play: Play) -> dict[str, Any]:
    play.card(Card.SHIP_2)
    play.roll("sabers monkey monkey parrot sabers skull coin monkey")
    play.reroll({3: "coin", 6: "monkey"}, rest=1.3)
    play.end(by="clip_end", clear=False)
    return {"dropped": 0.3}


@clip
def begins_in_the_middle_of_a_raid(play: Play) -> dict[str, Any]:
    play.card(Card.PEACE)
    play.roll("coin coin monkey parrot diamond skull monkey coin")
    play.stage.rest(0.3)
    play.start_here()
    play.stage.rest(1.6)
    play.reroll({2: "coin", 3: "parrot", 6: "diamond"})
    play.end(by="clip_end", clear=False)
    return {"doubtful": True}


@clip
def a_ninth_die_rolls_through(play: Play) -> None:
    play.card(Card.ANIMALS)
    play.roll("parrot monkey monkey coin coin skull parrot sabers")
    play.stage.stranger()
    play.stage.rest(1.0)
    play.reroll({3: "monkey", 7: "parrot", 4: "coin"})
    play.end(by="clip_end", clear=False)


@clip
def camera_moved_and_turned(play: Play) -> None:
    play.card(Card.SHIP_3)
    play.roll("sabers monkey coin sabers parrot skull diamond coin")
    play.stage.move_camera((14.0, -14.0, 5.0))
    play.stage.rest(1.2)
    play.reroll({1: "sabers", 4: "coin"})
    play.end(by="clip_end", clear=False)


@clip
def a_shadow_passes(play: Play) -> None:
    play.card(Card.WATCHWOMAN)
    play.roll("coin monkey sabers sabers coin skull diamond sabers")
    play.stage.pass_by()
    play.stage.rest(0.9)
    play.reroll({1: "skull", 6: "sabers"})
    play.end(by="clip_end", clear=False)


@clip
def bust_cleared_and_the_next_raid(play: Play) -> None:
    play.card(Card.SKULL_1)
    play.roll("skull coin skull parrot monkey sabers diamond coin")
    play.end()
    play.card(Card.DIAMOND)
    play.roll("diamond coin parrot parrot parrot coin monkey sabers")
    play.end(by="clip_end", clear=False)


@clip
def a_die_that_leans_is_asked_about(play: Play) -> dict[str, Any]:
    play.card(Card.PIRATE)
    play.roll("coin monkey coin parrot sabers skull monkey monkey", lean=3, rest=1.8)
    play.end(by="clip_end", clear=False)
    return {"doubtful": True}


def direct(name: str) -> tuple[Play, dict[str, Any]]:
    """Play a clip's script; answers with the play and further keys of what is expected."""
    seed = FIRST_SEED + list(CLIPS).index(name)
    session = draw_session(seed)
    for attempt in range(5):
        play = Play(session, np.random.default_rng([seed, attempt]))
        play.stage.rest(0.4)
        try:
            more = CLIPS[name](play) or {}
        except RuntimeError:
            continue
        play.stage.rest(0.6)
        return play, more
    raise RuntimeError(f"expected room on the table for {name}, found none in five tries: take another seed")


def write_clip(play: Play, path: Path, fps: float, *, crf: int = 27, **more: Any) -> None:
    """Film `play` into `path` (.mp4) and write what is expected beside it (.json)."""
    film = Film(play.stage, Look(fps))
    with Recorder(path, play.session.camera.size, fps, crf=crf) as video:
        for _, picture in film.frames():
            video.write(picture)
    expected = play.expected(fps, name=path.stem, **more)
    path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


def main(out: Path, names: list[str]) -> None:
    """Write what is missing."""
    out.mkdir(parents=True, exist_ok=True)
    for name in names or list(CLIPS):
        path = out / f"{name}.mp4"
        if path.exists():
            continue
        play, more = direct(name)
        write_clip(play, path, FPS, **more)
        print(f"{name}: {play.stage.seconds:.1f} s, {path.stat().st_size // 1024} KB", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
