"""How well whole raids are refereed: figures with counts, for `ausguck evaluate --raids --json`.

`simulated(count)` plays raids on the stand-in table of `datasets.simulated_raids` (every card, every rule, slides,
covers, bumps, darkness, and readings with errors) and compares what the eyes and the referee made of them with the
truth. `clips(folder)` does the same with clips: a video or a folder of pictures beside what is expected of it.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

from datasets.simulated_raids import FACES, ErrorRates, SimulatedReader, Stage, play
from device.commands.replay import open_clip, replay
from scorer.cards import Card
from scorer.editions import EDITIONS
from scorer.faces import DICE, Face
from scorer.raid import Phase, Raid
from vision.watcher import Reads

Line = dict[str, Any]

WHOLE_RAIDS = 0.95
"""Raids that must be right with no touch."""
NONE_OF = ("silently_wrong", "rolls_that_were_none", "settled_early", "cards_wrong_and_certain")
"""What must not happen at all."""


@dataclass(slots=True)
class RaidTally:
    """Counts over many raids."""

    raids: int = 0
    right: int = 0
    """Rolls, card and score right, and nothing asked."""
    score_right: int = 0
    asked: int = 0
    """Raids in which something was asked."""
    silently_wrong: int = 0
    """A wrong score, and no doubt raised."""
    extra_rolls: int = 0
    """Rolls told that nobody made: a slide, a cover."""
    missed_rolls: int = 0
    early: int = 0
    """Settled before the last die stopped."""
    late: int = 0
    """Settled more than half a second after."""
    delays: list[float] = field(default_factory=list)
    """Seconds from rest to the settled reading."""
    cards: int = 0
    cards_right: int = 0
    cards_wrong: int = 0
    failures: list[Line] = field(default_factory=list)

    def to_json(self) -> Line:
        """Figures with counts and 95 % intervals."""
        delays = sorted(self.delays)
        return {
            "raids": self.raids,
            "whole_raid_rate": rate(self.right, self.raids),
            "score_rate": rate(self.score_right, self.raids),
            "asked_rate": rate(self.asked, self.raids),
            "silently_wrong": self.silently_wrong,
            "rolls_that_were_none": self.extra_rolls,
            "rolls_missed": self.missed_rolls,
            "settled_early": self.early,
            "settled_late": self.late,
            "rest_to_settled_s": {"median": delays[len(delays) // 2], "worst": delays[-1]} if delays else None,
            "card_rate": rate(self.cards_right, self.cards),
            "cards_wrong_and_certain": self.cards_wrong,
            "failures": self.failures[:50],
        }


def rate(good: int, count: int) -> Line:
    """A share with its count and 95 % Wilson interval."""
    if not count:
        return {"rate": None, "good": 0, "count": 0, "interval": None}
    p, z = good / count, 1.96
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z * sqrt(p * (1 - p) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return {"rate": round(p, 4), "good": good, "count": count,
            "interval": [round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)]}


# -- simulated raids ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Played:
    """A raid as it really was."""

    stage: Stage
    raid: Raid
    card: Card


def play_raid(rng: random.Random, *, card: Card | None = None, trouble: float = 0.5) -> Played:
    """Direct a raid by the rules of the default edition: legal rolls, and between them what people do with dice.

    `trouble` is how likely something happens between two rolls that is no roll.
    """
    card = card or rng.choice(list(Card))
    stage = Stage(rng, fps=rng.choice((10.0, 15.0, 24.0, 30.0)), card=card.value)
    raid = Raid.begin(card, players=2)
    stage.rest(0.6)
    _throw(stage, rng, range(DICE))
    raid = raid.roll(stage.truths[-1].faces)
    rolls = rng.randint(1, 4)
    while raid.phase is not Phase.ENDED and (raid.rolls < rolls or not raid.can_end()):
        if rng.random() < trouble:
            _trouble(stage, rng)
        if card is Card.TREASURE_ISLAND and raid.phase is Phase.ROLLING:
            raid = _use_island(stage, rng, raid)
        ids = _choose(rng, raid)
        if not ids:
            break
        stage.pick_up(ids)
        if rng.random() < 0.6:
            stage.rest(rng.uniform(0.2, 0.8))
        _throw(stage, rng, ids)
        faces = stage.truths[-1].faces
        raid = raid.roll({i: faces[i] for i in ids})
    if rng.random() < trouble and raid.phase is not Phase.ENDED:
        _trouble(stage, rng)
    stage.rest(0.6)
    return Played(stage, raid, card)


def _throw(stage: Stage, rng: random.Random, ids: Sequence[int] | range) -> None:
    weights = [1.0] * 5 + [rng.choice((0.4, 0.4, 1.0, 4.0)) if len(ids) == DICE else 0.7]
    stage.throw(list(ids), rng.choices(FACES, weights, k=len(ids)))
    if rng.random() < 0.15:
        stage.spin(rng.choice(list(ids)), rng.uniform(0.3, 1.5))
    stage.rest(rng.uniform(0.8, 1.6))


def _choose(rng: random.Random, raid: Raid) -> list[int]:
    """Dice that may be rolled now, and that somebody would roll."""
    free = sorted(raid.rollable)
    if raid.card is Card.ZOMBIE_ATTACK:
        return [i for i in free if raid.faces[i] is not Face.SABERS]
    if raid.phase is Phase.SKULL_ISLAND:
        return [i for i in free if raid.faces[i] is not Face.SKULL]
    skulls = [i for i in free if raid.faces[i] is Face.SKULL]
    plain = [i for i in free if i not in skulls]
    for _ in range(20):
        ids = rng.sample(plain, min(len(plain), rng.randint(2, 5)))
        if skulls and (raid.phase is Phase.WATCHWOMAN or rng.random() < 0.5):
            ids = [rng.choice(skulls), *ids[: rng.randint(0, len(ids))]]
        if raid.can_reroll(ids):
            return ids
    return []


def _use_island(stage: Stage, rng: random.Random, raid: Raid) -> Raid:
    """Push dice onto Treasure Island, or one off it again."""
    x, y = stage.now.card_at
    spots = [(x - 14 + 28 * (k % 2), y - 33 + 22 * (k // 2)) for k in range(DICE)]
    free = [i for i in range(DICE) if raid.faces[i] is not Face.SKULL and i not in raid.on_card]
    count = min(rng.randint(0, 2), max(0, len(free) - 2))
    put = rng.sample(free, count)
    taken = {min(range(DICE), key=lambda k: abs(spots[k][0] - stage.dice[i].x) + abs(spots[k][1] - stage.dice[i].y))
             for i in raid.on_card}
    places = [spots[k] for k in range(DICE) if k not in taken][: len(put)]
    if not put:
        return raid
    stage.slide(put, places)
    stage.rest(0.8)
    return raid.place_on_card(put)


def _trouble(stage: Stage, rng: random.Random) -> None:
    """Something that is no roll and changes nothing."""
    x, y = stage.now.card_at
    off_card = [i for i in range(DICE) if not stage.dice[i].in_hand
                and not (abs(stage.dice[i].x - x) < 35 and abs(stage.dice[i].y - y) < 53)]
    some = rng.sample(off_card, min(len(off_card), rng.randint(1, 3)))
    what: list[Callable[[], None]] = [
        lambda: stage.cover(rng.uniform(0.4, 1.5), cloth=rng.random() < 0.5),
        stage.pass_shadow,
        lambda: stage.bump(rng.uniform(-15, 15), rng.uniform(-10, 10), rng.uniform(-4, 4)),
        lambda: stage.lights_off(rng.uniform(1, 3)),
        stage.ninth_die,
        lambda: stage.lamp(rng.choice((0.6, 0.8, 1.0, 1.15))),
    ]
    if some:
        ys = (60.0, 332.0)
        row = stage.row_places(len(some), y=rng.choice(ys))
        free = all(abs(d.x - p[0]) > 24 or abs(d.y - p[1]) > 24
                   for p in row for i, d in enumerate(stage.dice) if i not in some)
        if free:
            what += [lambda: stage.slide(some, row), lambda: stage.sweep(some, row)]
        what += [lambda: _lift(stage, rng, some)]
    rng.choice(what)()
    stage.rest(rng.uniform(0.4, 1.0))


def _lift(stage: Stage, rng: random.Random, ids: Sequence[int]) -> None:
    stage.pick_up(ids)
    stage.rest(rng.uniform(0.1, 0.8))
    stage.put_down(ids)


def simulated(count: int, *, seed: int = 1, errors: ErrorRates | None = None, trouble: float = 0.5,
              progress: Callable[[int], None] = lambda done: None) -> RaidTally:
    """Referee `count` simulated raids."""
    tally = RaidTally()
    for n in range(count):
        rng = random.Random(f"{seed}-{n}")
        played = play_raid(rng, trouble=trouble)
        reader = SimulatedReader(played.stage.scenes, rng, errors)
        lines: list[Line] = []
        desk = replay(play(played.stage, rng, errors=errors, flicker=rng.random() < 0.2), reader, lines.append)
        score = played.raid.worth_now()
        assert score is not None
        expected = {
            "name": f"{seed}-{n}", "fps": played.stage.fps, "card": played.card.value,
            "rolls": [{"frame": t.frame, "faces": [f.value for f in t.faces], "rerolled": list(t.rolled)}
                      for t in played.stage.truths],
            "score": {"total": score.total, "others": score.others},
        }
        judge(tally, expected, lines, asked=desk.asked > 0)
        progress(n + 1)
    return tally


# -- judging -----------------------------------------------------------------------------------------------------------


def judge(tally: RaidTally, expected: Line, lines: Sequence[Line], *, asked: bool | None = None) -> None:
    """Compare the events of one clip with what is expected of it, and count each of its raids.

    `expected`: `{"name", "fps", "card", "rolls": [{"frame", "faces", …}], "score": {"total", "others"}}`, or several of
    these under `raids`; `"doubtful": true` where a doubt is what is right. `asked`: whether anything was asked.
    """
    truths = expected.get("raids") or [expected]
    ended = [line for line in lines if line["event"] == "raid_ended"]
    for n, truth in enumerate(truths):
        told = ended[n] if n < len(ended) else None
        _judge_raid(tally, expected, truth, told, asked=asked, surplus=len(ended) - len(truths))
    rolls = [line for line in lines if line["event"] == "roll"]
    frames = [roll["frame"] for truth in truths for roll in truth["rolls"] if "frame" in roll]
    if len(rolls) == len(frames):
        _judge_times(tally, expected, [roll["frame"] for roll in rolls], frames)


def _judge_raid(tally: RaidTally, expected: Line, truth: Line, told: Line | None, *, asked: bool | None,
                surplus: int) -> None:
    true_rolls = [Counter(roll["faces"]) for roll in truth["rolls"]]
    rolls = [Counter(roll["faces"]) for roll in (told or {}).get("rolls", ())]
    card = ((told or {}).get("card") or {}).get("name")
    doubtful = bool(told and told.get("doubtful"))
    doubt = doubtful if asked is None else asked or doubtful
    score = (told or {}).get("score") or {}
    score_right = surplus == 0 and all(score.get(key) == truth["score"][key] for key in ("total", "others"))
    card_right = card == truth["card"]
    right = rolls == true_rolls and score_right and card_right and not doubt
    if expected.get("doubtful"):
        right = doubt
    tally.raids += 1
    tally.asked += doubt
    tally.score_right += score_right
    tally.right += right
    tally.silently_wrong += not score_right and not doubt
    tally.extra_rolls += max(0, len(rolls) - len(true_rolls))
    tally.missed_rolls += max(0, len(true_rolls) - len(rolls))
    tally.cards += 1
    tally.cards_right += card_right
    tally.cards_wrong += card is not None and not card_right and not doubt
    if not right:
        tally.failures.append({
            "name": expected["name"], "card": [card, truth["card"]], "asked": doubt, "score_right": score_right,
            "silent": not score_right and not doubt, "rolls": [len(rolls), len(true_rolls)],
            "total": [score.get("total"), truth["score"]["total"]],
        })


def _judge_times(tally: RaidTally, expected: Line, told: Sequence[int], frames: Sequence[int]) -> None:
    for frame, true in zip(told, frames, strict=True):
        delay = (frame - true) / expected["fps"]
        tally.delays.append(round(delay, 3))
        # The true frame is the first in which everything lies still; half a frame is what a clip can tell.
        early, late = delay < -0.5 / expected["fps"], delay > 0.5
        tally.early += early
        tally.late += late
        if early or late:
            tally.failures.append({"name": expected["name"], "delay_s": round(delay, 3), "frame": true})


# -- clips -------------------------------------------------------------------------------------------------------------


def clips(folder: Path, reader: Reads, *, tell: Callable[[str], None] = lambda name: None) -> RaidTally:
    """Referee every clip in `folder`: `NAME.json` (what is expected) beside `NAME.mp4` or a folder `NAME`."""
    tally = RaidTally()
    for truth in _truths(folder):
        expected = json.loads(truth.read_text(encoding="utf-8"))
        expected.setdefault("name", truth.stem)
        clip = _clip_of(truth)
        if clip is None or not ("rolls" in expected or "raids" in expected):
            continue
        tell(truth.stem)
        lines: list[Line] = []
        edition = EDITIONS[expected.get("edition", "de38")]
        replay(open_clip(clip, expected.get("fps")), reader, lines.append, edition=edition,
               players=expected.get("players", 2))
        judge(tally, expected, lines)
    return tally


def report(*, count: int, seed: int = 1, folder: Path | None = None, models: Path | None = None,
           tell: Callable[[str], None] = lambda text: None) -> Line:
    """Everything that `ausguck evaluate --raids` prints: simulated raids, and clips where a folder of them is named."""
    answer: Line = {}
    if count:
        tally = simulated(count, seed=seed, progress=lambda done: tell(f"simulated raid {done} of {count}"))
        answer["simulated"] = tally.to_json()
    if folder is not None and any(_truths(folder)):
        from vision.reader import Reader

        answer["clips"] = clips(folder, Reader.load(models), tell=tell).to_json()
    return answer


def misses(answer: Line) -> list[str]:
    """Which targets the figures miss, as sentences."""
    found = []
    for name, figures in answer.items():
        rate_ = figures["whole_raid_rate"]["rate"]
        if rate_ is not None and rate_ < WHOLE_RAIDS:
            found.append(f"{name}: {rate_:.1%} of the raids were right without a touch, expected {WHOLE_RAIDS:.0%}")
        found += [f"{name}: {figures[key]} {key.replace('_', ' ')}, expected none" for key in NONE_OF if figures[key]]
    return found


def _truths(folder: Path) -> Iterable[Path]:
    return sorted(folder.glob("*.json"))


def _clip_of(truth: Path) -> Path | None:
    for suffix in (".mp4", ".mkv", ".avi", ".webm", ""):
        clip = truth.with_suffix(suffix)
        if clip.exists() and clip != truth:
            return clip
    return None
