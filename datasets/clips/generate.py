"""Random but legal raids, played by a simple policy, with all that people do with dice in between: clips for measuring.

    ausguck dataset clips --count 20 --seed 7 OUT

Every clip is one raid in a session of its own; beside each `NAME.mp4` lies `NAME.json` with what is expected.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scorer.cards import Card
from scorer.faces import DICE, Face
from scorer.raid import Phase, Raid

from .catalogue import write_clip
from .script import Play
from .session import draw_session

FACES = [face.value for face in Face]
FIRST_SEED = 1_000_000
"""Sessions of generated clips; those of `tests/replay` lie below."""


def _random_faces(rng: np.random.Generator, n: int, skulls: float) -> list[str]:
    weights = np.array([skulls if face == "skull" else 1.0 for face in FACES])
    return [str(face) for face in rng.choice(FACES, n, p=weights / weights.sum())]


def choose_dice(rng: np.random.Generator, raid: Raid) -> list[int]:
    """Which dice a player who likes big sets rolls again; none: the raid is ended."""
    free = sorted(raid.rollable)
    faces = raid.faces
    skulls = [die for die in free if faces[die] is Face.SKULL]
    plain = [die for die in free if faces[die] is not Face.SKULL]
    if raid.phase is Phase.SKULL_ISLAND:
        return plain
    if raid.card is Card.ZOMBIE_ATTACK:
        return [die for die in plain if faces[die] is not Face.SABERS]
    liked = Counter(faces[die] for die in plain).most_common(1)
    keep = {Face.COIN, Face.DIAMOND, liked[0][0]} if liked else set()
    if raid.card in (Card.SHIP_2, Card.SHIP_3, Card.SHIP_4):
        keep = {Face.SABERS, Face.COIN}
    dice = [die for die in plain if faces[die] not in keep]
    if raid.watchwoman_ready and skulls and (raid.phase is Phase.WATCHWOMAN or rng.random() < 0.5):
        dice = [int(rng.choice(skulls)), *dice]
    if len(dice) < raid.fewest_dice and len(plain) >= 2:
        dice = sorted({*dice, *(int(d) for d in rng.choice(plain, 2, replace=False))})
    return dice if raid.can_reroll(dice) else []


def _handling(play: Play) -> None:
    """Something that is no roll."""
    stage, rng = play.stage, play.rng
    raid = play.raid
    assert raid is not None
    loose = [die for die in range(DICE) if die not in raid.on_card]
    some = [int(d) for d in rng.choice(loose, min(len(loose), int(rng.integers(1, 4))), replace=False)]

    def slide() -> None:
        for die in some[:2]:
            stage.slide_die(die, stage.free_spot())
        stage.withdraw()

    things: list[Callable[[], None]] = [
        slide,
        slide,
        lambda: stage.set_aside(some),
        lambda: stage.push_together(some),
        lambda: stage.swap(loose[0], loose[-1]),
        lambda: stage.cover(float(rng.uniform(0.4, 1.5))),
        lambda: stage.sheet(float(rng.uniform(0.5, 1.2))),
        stage.pass_by,
        stage.stranger,
        lambda: stage.bump((float(rng.normal(0, 2.5)), float(rng.normal(0, 2.5)), float(rng.normal(0, 0.5)))),
        lambda: stage.lights(float(rng.uniform(0.8, 3.0)), float(rng.choice([0.0, 0.5]))),
        lambda: stage.move_camera((float(rng.normal(0, 10)), float(rng.normal(0, 10)), float(rng.normal(0, 3)))),
    ]
    weights = np.array([2, 2, 3, 2, 1, 2, 1, 1, 0.5, 0.7, 0.5, 0.3])
    things[int(rng.choice(len(things), p=weights / weights.sum()))]()
    stage.rest(play.rest_after)


def _use_island(play: Play) -> None:
    """Put some good dice on Treasure Island."""
    raid = play.raid
    assert raid is not None
    good = [d for d in range(DICE) if raid.faces[d] in (Face.COIN, Face.DIAMOND) and d not in raid.on_card]
    if good and len(good) + len(raid.on_card) <= 5 and play.rng.random() < 0.7:
        play.place(good[:3])


def play_raid(seed: int, *, card: Card | None = None, handling: float = 0.5) -> Play:
    """Direct one random raid. `handling` is how likely something else happens between two rolls."""
    rng = np.random.default_rng([seed, 12])
    play = Play(draw_session(seed), rng)
    play.stage.pace = float(rng.uniform(0.8, 1.35))
    play.stage.rest(0.5)
    play.card(card or list(Card)[int(rng.integers(len(Card)))])
    play.roll(_random_faces(rng, DICE, float(rng.choice([0.5, 1.0, 1.0, 4.0]))))
    wanted = int(rng.integers(1, 5))
    while play.raid is not None and play.raid.phase is not Phase.ENDED:
        if play.raid.rolls >= wanted and play.raid.can_end():
            break
        if play.raid.card is Card.TREASURE_ISLAND and play.raid.phase is Phase.ROLLING:
            _use_island(play)
        if rng.random() < handling:
            _handling(play)
        dice = choose_dice(rng, play.raid)
        if not dice or (play.raid.rolls >= 6 and play.raid.can_end()):
            break
        play.reroll(dict(zip(dice, _random_faces(rng, len(dice), 1.2), strict=True)))
    if rng.random() < handling * 0.5 and play.raid is not None and play.raid.phase is not Phase.ENDED:
        _handling(play)
    play.end(by="clip_end", clear=False)
    play.stage.rest(0.6)
    return play


def write_clips(out: Path, count: int, seed: int, *, progress: Callable[[str], None] = print) -> None:
    """Write `count` clips and `manifest.jsonl`, a line a clip, into `out`. What is there already stays."""
    out.mkdir(parents=True, exist_ok=True)
    cards = list(Card)
    for number in range(count):
        path = out / f"clip_{seed:03d}_{number:04d}.mp4"
        if path.exists() and path.with_suffix(".json").exists():
            continue
        first = FIRST_SEED + seed * 100_000 + number * 10
        play = _first_that_works(first, cards[number % len(cards)])
        fps = float(np.random.default_rng(first).choice([10, 12, 15, 24, 30]))
        write_clip(play, path, fps)
        progress(f"{path.name}: {play.raids[0]['card']}, {play.stage.seconds:.0f} s")
    _write_manifest(out)


def _first_that_works(first: int, card: Card) -> Play:
    """A raid whose dice find room on the table; a few tries are enough."""
    for attempt in range(10):
        try:
            return play_raid(first + attempt, card=card)
        except RuntimeError:
            continue
    raise RuntimeError(f"expected a raid with {card.value} to fit on the table, none of ten did: take another seed")


def _write_manifest(out: Path) -> None:
    lines: list[dict[str, Any]] = []
    for path in sorted(out.glob("*.json")):
        lines.append({"clip": path.with_suffix(".mp4").name, **json.loads(path.read_text("utf-8"))})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (out / "manifest.jsonl").write_text(text, encoding="utf-8")
