"""The eyes at work, on clips of a stand-in table: what is told, when, and what is not."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from datasets.simulated_raids import FACES, ErrorRates, SimulatedReader, Stage, play
from scorer.faces import Face
from vision.events import Doubt, Event, EventKind, SceneFlag
from vision.reading import Frame, Image, Problem, Reading, Status
from vision.settle import SettleState
from vision.watcher import Watcher, WatchSettings, register

PERFECT = ErrorRates(dropout=0, flicker=0, hard=0, ghost=0)
FIRST = (Face.COIN, Face.COIN, Face.MONKEY, Face.PARROT, Face.SABERS, Face.DIAMOND, Face.MONKEY, Face.SKULL)


class Table:
    """A stage, and the watcher that watches it."""

    def __init__(self, seed: int = 1, fps: float = 15.0, errors: ErrorRates = PERFECT, card: str | None = None) -> None:
        self.rng = random.Random(seed)
        self.stage = Stage(self.rng, fps=fps, card=card)
        self.errors = errors
        self.watcher: Watcher | None = None

    def first_roll(self, faces: tuple[Face, ...] = FIRST) -> Table:
        self.stage.rest(0.6)
        self.stage.throw(range(8), faces)
        self.stage.rest(1.0)
        return self

    def roll(self, *ids: int, faces: tuple[Face, ...] | None = None) -> None:
        self.stage.pick_up(ids)
        self.stage.throw(ids, faces or [f for f in FACES if f is not self.stage.dice[ids[0]].face][: len(ids)])
        self.stage.rest(1.0)

    def watch(self, *, flicker: bool = False) -> list[Event]:
        reader = SimulatedReader(self.stage.scenes, self.rng, self.errors)
        self.watcher = Watcher(reader)
        return [event for frame in play(self.stage, self.rng, errors=self.errors, flicker=flicker)
                for event in self.watcher.feed(frame)]


def rolls(events: list[Event]) -> list[Event]:
    return [event for event in events if event.kind is EventKind.ROLL]


def kinds(events: list[Event]) -> list[EventKind]:
    return [event.kind for event in events]


def same_rolls(events: list[Event], stage: Stage) -> bool:
    told = [Counter(event.roll.faces) for event in rolls(events) if event.roll]
    return told == [Counter(truth.faces) for truth in stage.truths]


@pytest.mark.parametrize("fps", [10.0, 15.0, 30.0])
def test_a_raid_of_three_rolls(fps: float) -> None:
    table = Table(fps=fps).first_roll()
    table.roll(0, 1, 3)
    table.roll(2, 4)
    events = table.watch()
    assert same_rolls(events, table.stage)
    for event, truth in zip(rolls(events), table.stage.truths, strict=True):
        assert 0 <= event.frame - truth.frame <= 0.5 * fps
        assert event.roll is not None
        assert len(event.roll.rolled) == len(truth.rolled)
        assert event.roll.certain


def test_a_reading_is_settled_once() -> None:
    table = Table().first_roll()
    table.stage.rest(5)
    assert kinds(table.watch()).count(EventKind.SETTLED) == 1


@pytest.mark.parametrize("seconds", [0.5, 1.5])
def test_never_before_a_spinning_die_falls(seconds: float) -> None:
    for seed in range(4):
        table = Table(seed)
        table.stage.rest(0.3)
        table.stage.throw(range(8), FIRST)
        table.stage.spin(3, seconds)
        table.stage.rest(1)
        first = rolls(table.watch())[0]
        assert 0 <= first.frame - table.stage.truths[0].frame <= 7


def swap(stage: Stage, a: int, b: int) -> None:
    places = [(stage.dice[i].x, stage.dice[i].y) for i in (a, b)]
    stage.pick_up([a, b])
    stage.put_down([b, a], places)


NO_ROLL: dict[str, Callable[[Stage], None]] = {
    "slide": lambda s: s.slide([0, 3], s.row_places(2)),
    "sweep": lambda s: s.sweep([1, 2, 4, 5], s.row_places(4, y=332)),
    "all eight in a row": lambda s: s.sweep(list(range(8)), s.row_places(8, y=332)),
    "lifted and put back": lambda s: (s.pick_up([2, 6]), s.rest(0.7), s.put_down([2, 6])),
    "swapped": lambda s: swap(s, 0, 4),
    "sleeve": lambda s: s.cover(2.0),
    "hand": lambda s: s.cover(2.0, cloth=False),
    "shadow": lambda s: s.pass_shadow(),
    "bump": lambda s: s.bump(15, 0, 3),
    "two centimetres and five degrees": lambda s: s.bump(18, 8, 5),
    "dark": lambda s: s.lights_off(3),
    "lamp": lambda s: s.lamp(0.6),
    "ninth die": lambda s: s.ninth_die(),
}


@pytest.mark.parametrize("what", NO_ROLL)
def test_what_is_no_roll(what: str) -> None:
    for seed in range(2):
        table = Table(seed).first_roll()
        NO_ROLL[what](table.stage)
        table.stage.rest(1.2)
        table.roll(1, 5)
        events = table.watch()
        assert same_rolls(events, table.stage), (what, seed)
        assert not [event for event in events if event.roll and not event.roll.certain], (what, seed)


def test_a_bump_is_named() -> None:
    table = Table().first_roll()
    table.stage.bump(15, 4, 3)
    table.stage.rest(1)
    events = table.watch()
    assert EventKind.CAMERA_MOVED in kinds(events)
    assert table.watcher is not None
    assert SceneFlag.CAMERA_MOVED in table.watcher.flags


def test_darkness_is_named_and_recovered_from() -> None:
    table = Table().first_roll()
    table.stage.lights_off(3)
    table.stage.rest(1)
    told = kinds(table.watch())
    assert told.index(EventKind.DARK) < told.index(EventKind.LIGHT)
    assert told[-1] is EventKind.UNCHANGED


def test_a_hand_is_named() -> None:
    table = Table().first_roll()
    table.stage.cover(2, cloth=False)
    assert EventKind.HAND in kinds(table.watch())


def test_dice_in_a_hand_are_taken_away_and_back() -> None:
    table = Table().first_roll()
    table.stage.pick_up([3, 4])
    table.stage.rest(1.5)
    table.stage.put_down([3, 4])
    table.stage.rest(1)
    told = kinds(table.watch())
    assert told.index(EventKind.TAKEN_AWAY) < told.index(EventKind.BACK)


def test_one_nudged_die_is_changed_not_rolled() -> None:
    table = Table().first_roll()
    stage = table.stage
    die = stage.dice[2]
    for n in range(8):
        stage._shoot(hand=(die.x - 20, 0, die.x + 20, (die.y + 8) * min(1, n / 4)))
    stage.dice[2] = type(die)(die.x + 3, die.y, 40.0, Face.DIAMOND)
    for n in range(8):
        stage._shoot(hand=(die.x - 20, 0, die.x + 20, (die.y + 8) * (1 - n / 8)))
    stage.rest(1.5)
    events = table.watch()
    assert len(rolls(events)) == 1
    changed = [event for event in events if event.kind is EventKind.CHANGED]
    assert len(changed) == 1
    assert changed[0].roll is not None
    assert Doubt.SINGLE in changed[0].roll.doubts


def test_a_clip_that_starts_mid_raid_says_so() -> None:
    table = Table().first_roll()
    start = len(table.stage.scenes)
    table.stage.rest(1)
    table.roll(1, 2)
    reader = SimulatedReader(table.stage.scenes, table.rng, PERFECT)
    watcher = Watcher(reader)
    events = [event for frame in play(table.stage, table.rng) if frame.number >= start for event in watcher.feed(frame)]
    first, second = rolls(events)
    assert first.roll is not None
    assert first.roll.doubts == (Doubt.UNSEEN,)
    assert SceneFlag.STARTED_MID_RAID in first.flags
    assert second.roll is not None
    assert second.roll.certain


def test_a_third_of_the_frames_lost() -> None:
    right = 0
    for seed in range(4):
        table = Table(seed, errors=ErrorRates(dropout=0, flicker=0, hard=0, ghost=0, dropped_frames=0.3)).first_roll()
        table.stage.slide([0], table.stage.row_places(1))
        table.stage.rest(0.8)
        table.roll(1, 5, 6)
        right += same_rolls(table.watch(), table.stage)
    assert right >= 3


def test_a_doubtful_roll_that_is_picked_up_soon_is_not_lost() -> None:
    table = Table()
    table.stage.rest(0.6)
    table.stage.throw(range(8), FIRST)
    table.stage.rest(0.45)
    unsure = table.stage.dice[0]
    table.roll(1, 2, 4)
    inner = SimulatedReader(table.stage.scenes, table.rng, PERFECT)

    class Unsure:
        def read(self, image: Image, *, t: float = 0.0, number: int = 0) -> Reading:
            reading = inner.read(image, t=t, number=number)
            dice = tuple(
                replace(die, certainty=0.7, problems=(Problem.UNSURE_FACE,), alternatives=((Face.SKULL, 0.3),))
                if abs(die.centre[0] - unsure.x) < 5 and abs(die.centre[1] - unsure.y) < 5 else die
                for die in reading.dice)
            return replace(reading, dice=dice, status=Status.DOUBTFUL)

    watcher = Watcher(Unsure())
    told = [event.roll for frame in play(table.stage, table.rng) for event in watcher.feed(frame) if event.roll]
    serials = {roll.serial: roll for roll in told}
    assert len(serials) == 2
    assert len(serials[1].unsure) == 1
    assert len(serials[2].rolled) == 3


def test_flicker_and_noise_change_nothing() -> None:
    table = Table(errors=ErrorRates()).first_roll()
    table.roll(1, 5, 6)
    assert same_rolls(table.watch(flicker=True), table.stage)


def test_seven_dice_after_a_throw_are_doubtful() -> None:
    table = Table()
    table.stage.rest(0.5)
    table.stage.throw(range(8), FIRST)
    table.stage.dice[3] = type(table.stage.dice[3])(0, 0, 0, Face.COIN, in_hand=True)  # fell off the table
    table.stage.rest(5)
    doubtful = [event for event in table.watch() if event.kind is EventKind.DOUBTFUL]
    assert doubtful
    assert "7 of the eight" in doubtful[0].note


def test_a_card_is_told_once_and_remembered_under_dice() -> None:
    table = Table(card="treasure_island").first_roll()
    x, y = table.stage.now.card_at
    table.stage.slide([0, 1, 2, 3], [(x - 14, y - 30), (x + 14, y - 30), (x - 14, y), (x + 14, y)])
    table.stage.rest(1)
    events = table.watch()
    cards = [event for event in events if event.kind is EventKind.CARD]
    assert [event.card.name for event in cards if event.card] == ["treasure_island"]
    assert EventKind.CARD_GONE not in kinds(events)
    last = events[-1]
    assert last.reading is not None
    assert sum(die.on_card for die in last.reading.dice) == 4
    assert last.card is not None
    assert last.card.name == "treasure_island"


def test_another_card_is_told_and_a_card_taken_away_is_gone() -> None:
    table = Table(card="pirate")
    table.stage.rest(1)
    table.stage.place_card(None)
    table.stage.rest(1)
    table.stage.place_card("ship_2")
    table.stage.rest(1)
    told = [event for event in table.watch() if event.kind in (EventKind.CARD, EventKind.CARD_GONE)]
    assert [(event.kind, event.card.name if event.card else "") for event in told] == [
        (EventKind.CARD, "pirate"), (EventKind.CARD_GONE, "pirate"), (EventKind.CARD, "ship_2")]


def test_a_quiet_table_costs_no_looks() -> None:
    table = Table().first_roll()
    table.watch()
    assert table.watcher is not None
    before = table.watcher.looks
    last = len(table.stage.scenes)
    table.stage.rest(12)
    noise = random.Random(2)
    for frame in play(table.stage, noise):
        if frame.number >= last:
            table.watcher.feed(frame)
    assert table.watcher.looks - before <= 3


def test_a_wrong_roll_is_never_believed_against_a_correction() -> None:
    table = Table().first_roll()
    reader = SimulatedReader(table.stage.scenes, table.rng, PERFECT)
    watcher = Watcher(reader)
    for frame in play(table.stage, table.rng):
        watcher.feed(frame)
    watcher.correct(0, Face.SKULL)
    watcher.feed(Frame(np.full((360, 480, 3), 90, np.uint8), 99.0, 0))
    assert watcher._tracker._dice[0].at_rest.face is Face.SKULL


def test_forget_makes_the_next_eight_a_first_roll() -> None:
    table = Table().first_roll()
    watcher = Watcher(SimulatedReader(table.stage.scenes, table.rng, PERFECT))
    frames = list(play(table.stage, table.rng))
    for frame in frames:
        watcher.feed(frame)
    watcher.forget()
    last = frames[-1]
    again = [event for n in range(10) for event in watcher.feed(Frame(last.image, 5.0 + n / 15, last.number))]
    assert [event.kind for event in rolls(again)] == [EventKind.ROLL]
    assert watcher.state is SettleState.SETTLED


def test_settings_reach_the_reader() -> None:
    table = Table().first_roll()
    watcher = Watcher(SimulatedReader(table.stage.scenes, table.rng, PERFECT), settings=WatchSettings(glimpse_every=10))
    for frame in play(table.stage, table.rng):
        watcher.feed(frame)
    assert watcher.looks < 12


@pytest.mark.parametrize(("dx", "dy", "degrees"), [(8, 3, 0), (0, 0, 4), (-6, 5, -3)])
def test_a_picture_is_registered_by_its_background(dx: float, dy: float, degrees: float) -> None:
    from vision.motion import small_grey

    table = Table().first_roll()
    still = small_grey(list(play(table.stage, table.rng))[-1].image)
    table.stage.bump(dx, dy, degrees)
    moved = small_grey(list(play(table.stage, table.rng))[-1].image)
    transform = register(still, moved)
    assert transform is not None
    centre = transform @ np.array([80.0, 60.0, 1.0])
    assert centre == pytest.approx([80 + dx / 3, 60 + dy / 3], abs=0.5)
    assert register(still, still) is None


def test_events_are_json() -> None:
    import json

    table = Table(card="pirate").first_roll()
    for event in table.watch():
        line = json.loads(json.dumps(event.to_json()))
        assert {"frame", "t", "event", "roll"} <= set(line)
        if event.kind is EventKind.ROLL:
            assert len(line["dice"]) == len(line["faces"]) == 8
            assert line["card"]["name"] == "pirate"
