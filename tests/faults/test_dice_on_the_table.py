"""Faults that people reported of dice on a table (B 10 to 13), and of scores that came twice (F 35)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from datasets.simulated_raids import ErrorRates, SceneDie, SimulatedReader, Stage, play
from device.commands.replay import replay
from scorer.cards import Card
from scorer.faces import Face
from vision.events import Event, EventKind
from vision.reading import DieReading, Image, Problem, Reading, Status
from vision.watcher import Watcher

FIRST = (Face.COIN, Face.COIN, Face.MONKEY, Face.PARROT, Face.SABERS, Face.DIAMOND, Face.MONKEY, Face.SKULL)
PERFECT = ErrorRates(dropout=0, flicker=0, hard=0, ghost=0)


def stage_with_a_roll(seed: int = 3) -> Stage:
    stage = Stage(random.Random(seed), card="pirate")
    stage.rest(0.5)
    stage.throw(range(8), FIRST)
    stage.rest(1.2)
    return stage


def events_of(stage: Stage, reader: Any = None) -> list[Event]:
    watcher = Watcher(reader or SimulatedReader(stage.scenes, random.Random(1), PERFECT))
    return [event for frame in play(stage, random.Random(2)) for event in watcher.feed(frame)]


def rolls(events: list[Event]) -> list[Event]:
    return [event for event in events if event.kind is EventKind.ROLL]


def raids(stage: Stage, card: Card | None = None) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    replay(
        play(stage, random.Random(2)), SimulatedReader(stage.scenes, random.Random(1), PERFECT), lines.append, card=card
    )
    return lines


class Spoilt:
    """A reader whose readings somebody spoils."""

    def __init__(self, stage: Stage, spoil: Callable[[Reading, int], Reading]) -> None:
        self._reader, self._spoil = SimulatedReader(stage.scenes, random.Random(1), PERFECT), spoil

    def read(self, image: Image, *, t: float = 0.0, number: int = 0) -> Reading:
        return self._spoil(self._reader.read(image, t=t, number=number), number)


def test_10_a_ninth_box_on_one_die_is_never_a_certain_reading() -> None:
    def twin(reading: Reading, number: int) -> Reading:
        if len(reading.dice) != 8:
            return reading
        first = min(reading.dice, key=lambda die: die.box[0])
        x0, y0, x1, y1 = first.box
        face = Face.SKULL if first.face is not Face.SKULL else Face.COIN
        other = replace(first, face=face, box=(x0 + 4, y0, x1 + 4, y1), problems=(Problem.UNSURE_FACE,))
        return replace(reading, dice=(*reading.dice, other), status=Status.DOUBTFUL, problems=(Problem.TOO_MANY_DICE,))

    stage = stage_with_a_roll()
    stage.rest(2)
    events = events_of(stage, Spoilt(stage, twin))
    assert not rolls(events)
    assert [event for event in events if event.kind is EventKind.DOUBTFUL and event.roll and event.roll.unsure]


@pytest.mark.parametrize(
    "handle",
    [
        lambda stage: (stage.cover(2.0, cloth=False), stage.rest(1)),
        lambda stage: (stage.pick_up([1, 4]), stage.rest(0.5), stage.put_down([1, 4]), stage.rest(1)),
        lambda stage: (stage.bump(6, 2, 1), stage.rest(1)),
    ],
    ids=["a hand rests", "lifted and put back", "tray bumped"],
)
def test_11_handled_dice_are_no_roll(handle: Callable[[Stage], object]) -> None:
    stage = stage_with_a_roll()
    handle(stage)
    assert len(rolls(events_of(stage))) == 1


def test_11_a_nudged_die_is_marked_as_changed_after_it_settled() -> None:
    stage = stage_with_a_roll()
    die = stage.dice[0]
    for n in range(5):
        stage.dice[0] = SceneDie(die.x + 2 * n, die.y, die.angle + 9 * n, die.face, 2.0)
        stage._shoot()
    stage.dice[0] = SceneDie(die.x + 8, die.y, die.angle, Face.DIAMOND)
    stage.rest(1.5)
    events = events_of(stage)
    assert len(rolls(events)) == 1
    assert [event.kind for event in events if event.roll][1:] == [EventKind.CHANGED]


def test_12_five_seconds_of_garbage_and_then_a_good_table() -> None:
    rng = random.Random(5)

    def garbage(reading: Reading, number: int) -> Reading:
        if not start <= number < start + 75:
            return reading
        seen = tuple(
            DieReading(
                rng.choice(list(Face)), rng.uniform(0.3, 0.8), (x, y, x + 25, y + 25), problems=(Problem.UNSURE_FACE,)
            )
            for x, y in ((rng.uniform(0, 400), rng.uniform(0, 300)) for _ in range(rng.randint(0, 11)))
        )
        return replace(reading, dice=seen, status=Status.DOUBTFUL)

    stage = stage_with_a_roll()
    stage.pass_shadow()
    start = len(stage.scenes) - 10
    stage.rest(8)
    events = events_of(stage, Spoilt(stage, garbage))
    assert len(rolls(events)) == 1
    good = [
        event
        for event in events
        if event.frame >= start + 75 and event.kind in (EventKind.SETTLED, EventKind.UNCHANGED)
    ]
    assert good
    assert (good[0].frame - start - 75) / 15 < 2


def test_12_a_locked_skull_that_vanished_is_a_question_and_the_next_raid_is_right() -> None:
    stage = stage_with_a_roll()
    stage.pick_up([6, 7])
    stage.throw([6, 7], (Face.COIN, Face.DIAMOND))  # number 7 was a skull
    stage.rest(1.5)
    lines = raids(stage)
    asked = [line for line in lines if line["event"] == "desync"]
    assert asked[0]["kind"] == "roll_impossible"
    assert "skull" in asked[0]["note"].lower()
    assert lines[-1]["doubtful"]

    stage.pick_up(list(range(8)))
    stage.place_card("ship_2")
    stage.throw(range(8), (Face.SABERS,) * 3 + (Face.COIN,) * 5)
    stage.rest(1.5)
    last = raids(stage)[-1]
    assert last["card"] == {"name": "ship_2"}
    assert last["faces"].count("sabers") == 3


@pytest.mark.parametrize(("dx", "degrees"), [(15.0, 0.0), (0.0, 3.0), (15.0, 3.0)])
def test_13_a_bumped_camera_does_not_lose_the_raid(dx: float, degrees: float) -> None:
    stage = stage_with_a_roll()
    stage.bump(dx, 0, degrees)
    stage.rest(1.2)
    stage.pick_up([0, 2, 3])
    stage.throw([0, 2, 3], (Face.SKULL, Face.DIAMOND, Face.DIAMOND))
    stage.rest(1.2)
    events = events_of(stage)
    assert len(rolls(events)) == 2
    assert any(event.kind is EventKind.CAMERA_MOVED for event in events)
    second = rolls(events)[1].roll
    assert second is not None
    assert second.certain
    assert len(second.rolled) == 3


def test_35_clearing_the_tray_is_no_raid_for_the_next_player() -> None:
    stage = stage_with_a_roll()
    stage.pick_up([0, 1])
    stage.throw([0, 1], (Face.SKULL, Face.SKULL))  # with the one that lay there: bust
    stage.rest(1.2)
    stage.sweep(list(range(8)), [(200 + 26 * (i % 4), 150 + 26 * (i // 4)) for i in range(8)])
    stage.rest(1)
    stage.pick_up(list(range(8)))
    stage.rest(2)
    ended = [line for line in raids(stage) if line["event"] == "raid_ended"]
    assert [(line["by"], line["score"]["outcome"]) for line in ended] == [("rules", "bust")]
