"""The referee: what the eyes saw becomes the table's raids, and doubt becomes a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from device.orders import Answer, CorrectDie, DrawCard, EndRaid, NewGame, Undo
from device.referee import Referee, TableDesk, match_faces
from device.settings import Settings
from device.store import Store
from device.table import Table
from scorer.cards import Card
from scorer.faces import Face
from vision.events import Doubt, Event, EventKind, Roll, SceneFlag
from vision.reading import CardReading, DieReading, Frame, Reading, Status

C, D, M, P, S, X = Face.COIN, Face.DIAMOND, Face.MONKEY, Face.PARROT, Face.SABERS, Face.SKULL
PLAIN = (C, C, C, M, M, P, S, D)
CORNERS = ((0.0, 0.0), (60.0, 0.0), (60.0, 100.0), (0.0, 100.0))


class Eyes:
    """Says what the eyes would say."""

    def __init__(self) -> None:
        self.corrected: list[tuple[int, Face]] = []

    def correct(self, die: int, face: Face) -> None:
        self.corrected.append((die, face))

    def not_rolled(self) -> None:
        pass


class Play:
    """A table, a referee, and a hand that rolls."""

    def __init__(self, table: Table) -> None:
        self.table, self.eyes = table, Eyes()
        self.referee = Referee(TableDesk(table), eyes=self.eyes)
        self.faces: tuple[Face, ...] = ()
        self.on_card: tuple[int, ...] = ()
        self.serial = self.frame_number = 0
        self.frame = Frame(np.zeros((60, 80, 3), np.uint8), 1.0, 7)

    def say(self, kind: EventKind, **parts: Any) -> None:
        self.frame_number += 1
        self.referee.handle(Event(kind, self.frame_number, self.frame_number / 15, **parts), self.frame)

    def card(self, name: str, *, sure: bool = True, alternatives: Sequence[tuple[str, float]] = ()) -> None:
        seen = CardReading(name, 0.99 if sure else 0.6, CORNERS, tuple(alternatives))
        self.say(EventKind.CARD, card=seen, flags=SceneFlag.NONE if sure else SceneFlag.CARD_UNSURE)

    def roll(self, faces: Sequence[Face], dice: Sequence[int] | None = None, *, doubts: tuple[Doubt, ...] = (),
             unsure: tuple[int, ...] = (), kind: EventKind = EventKind.ROLL, serial: int | None = None,
             flying: bool = True, before: bool = True) -> Roll:
        """Roll `dice` (all eight by default) and see `faces` on them."""
        rolled = tuple(range(8)) if dice is None else tuple(dice)
        after = list(self.faces or faces)
        for i, face in zip(rolled, faces, strict=True):
            after[i] = face
        self.serial = serial or self.serial + 1
        old = self.faces if before else ()
        roll = Roll(2, self.seen(after, unsure), rolled, old, self.on_card, doubts, unsure, self.serial, flying)
        self.faces = tuple(after)
        reading = Reading(Status.CERTAIN, (), roll.dice)
        self.say(kind, roll=roll, reading=reading, numbered=True)
        return roll

    def seen(self, faces: Sequence[Face], unsure: Sequence[int] = ()) -> tuple[DieReading, ...]:
        return tuple(
            DieReading(face, 0.6 if i in unsure else 0.99, (30.0 * i, 0.0, 30.0 * i + 20, 20.0),
                       ((X if face is not X else C, 0.3), (M if face is not M else C, 0.1)), False, i in self.on_card)
            for i, face in enumerate(faces))

    def put(self, *dice: int) -> None:
        """These dice lie on the card now, and the scene is settled."""
        self.on_card = dice
        self.say(EventKind.SETTLED, reading=Reading(Status.CERTAIN, (), self.seen(self.faces)), numbered=True)

    # -- what the table says --

    @property
    def state(self) -> dict[str, Any]:
        return self.table.snapshot.to_json()

    @property
    def raid(self) -> dict[str, Any]:
        raid = self.state["raid"]
        assert raid is not None
        return raid

    @property
    def questions(self) -> list[dict[str, Any]]:
        return self.state["questions"]

    @property
    def shown(self) -> list[str]:
        return [die["face"] for die in self.raid["dice"]]

    def answer(self, choice: str, kind: str | None = None) -> None:
        question = next(q for q in self.questions if kind in (None, q["kind"]))
        self.table.submit(Answer(question["id"], choice))
        self.referee.tick()

    def wait_for_end(self) -> None:
        for _ in range(100):
            if self.state["raid"] is None:
                return
            self.table.wait(self.table.snapshot.version, 0.1)
        raise AssertionError("the raid did not end")


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    with Store.open(tmp_path) as store, Table(store, settings=Settings(grace=0.3)) as table:
        table.submit(NewGame(("Anna", "Ben")))
        yield Play(table)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Play]:
    """With a grace that does not pass during a test."""
    with Store.open(tmp_path) as store, Table(store, settings=Settings(grace=60)) as table:
        table.submit(NewGame(("Anna", "Ben")))
        yield Play(table)


def test_card_and_rolls_become_a_raid(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.roll((C, D), (3, 4))
    assert play.raid["card"] == "pirate"
    assert play.raid["rolls"] == 2
    assert play.shown == ["coin", "coin", "coin", "coin", "diamond", "parrot", "sabers", "diamond"]
    assert not play.questions


def test_a_roll_before_the_card_begins_a_raid_too(play: Play) -> None:
    play.roll(PLAIN)
    assert [q["kind"] for q in play.questions] == ["card"]
    play.card("gold_coin")
    assert play.raid["card"] == "gold_coin"
    assert not play.questions


def test_a_bust_ends_the_raid_by_itself(play: Play) -> None:
    play.card("pirate")
    play.roll((X, X, X, C, C, M, P, S))
    assert [q["kind"] for q in play.questions] == ["bust"]
    play.wait_for_end()
    assert play.state["raids"][0]["outcome"] == "bust"


def test_no_that_was_misread(slow: Play) -> None:
    slow.card("pirate")
    slow.roll((X, X, X, C, C, M, P, S))
    slow.answer("misread")
    slow.table.submit(CorrectDie(0, C))
    slow.referee.tick()
    assert slow.raid["phase"] == "rolling"
    assert slow.eyes.corrected == [(0, C)]


def test_skull_island_goes_on_until_no_skull_falls(slow: Play) -> None:
    slow.card("pirate")
    slow.roll((X, X, X, X, C, M, P, S))
    assert slow.raid["phase"] == "island"
    slow.roll((X, M, P, S), (4, 5, 6, 7))
    assert slow.raid["phase"] == "island"
    slow.roll((M, P, S), (5, 6, 7), doubts=(Doubt.SAME_FACES,), kind=EventKind.DOUBTFUL)
    assert slow.questions[0]["default"] is None  # here it counts whether it was a roll
    slow.answer("yes")
    assert [q["kind"] for q in slow.questions] == ["island"]


def test_clearing_and_passing_the_dice_starts_nothing(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.table.submit(EndRaid())
    play.say(EventKind.MOVED, dice=(0, 1))
    play.roll((M, P, C), (0, 1, 2))  # two tumble over while they are pushed away
    play.say(EventKind.TAKEN_AWAY, dice=tuple(range(8)))
    play.say(EventKind.EMPTY, reading=Reading(Status.DOUBTFUL, (), ()))
    assert play.state["raid"] is None
    assert len(play.state["raids"]) == 1
    play.card("ship_2")
    play.roll(PLAIN)
    assert play.raid["player"] == "Ben"
    assert play.raid["card"] == "ship_2"


def test_the_next_throw_during_the_grace_confirms_the_bust(slow: Play) -> None:
    slow.card("pirate")
    slow.roll((X, X, X, C, C, M, P, S))
    slow.card("diamond")
    slow.roll(PLAIN)
    assert len(slow.state["raids"]) == 1
    assert slow.raid["card"] == "diamond"
    assert slow.raid["player"] == "Ben"


def test_an_unsure_die_is_asked_and_then_rolled(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN, doubts=(Doubt.FACE,), unsure=(3,), kind=EventKind.DOUBTFUL)
    assert play.raid["dice"] == []
    question = play.questions[0]
    assert (question["kind"], question["die"]) == ("face", 3)
    assert [c["value"] for c in question["choices"]][:2] == ["monkey", "skull"]
    play.answer("skull")
    assert play.shown[3] == "skull"
    assert play.eyes.corrected == [(3, X)]


def test_a_doubt_that_clears_up_takes_its_question_back(play: Play) -> None:
    play.card("pirate")
    roll = play.roll(PLAIN, doubts=(Doubt.FACE,), unsure=(3,), kind=EventKind.DOUBTFUL)
    play.say(EventKind.ROLL, roll=replace(roll, doubts=(), unsure=()))
    assert not play.questions
    assert play.raid["rolls"] == 1


def test_a_disputed_die_is_asked_before_the_roll_is_entered(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.roll((X, D), (0, 1), doubts=(Doubt.FACE,), unsure=(7,))
    assert play.raid["rolls"] == 1
    assert (play.questions[0]["kind"], play.questions[0]["die"]) == ("face", 7)
    play.answer("skull")
    assert play.raid["rolls"] == 2
    assert play.shown[7] == "skull"
    assert play.shown[:2] == ["skull", "diamond"]


def test_later_rolls_wait_for_the_answer(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN, doubts=(Doubt.FACE,), unsure=(3,), kind=EventKind.DOUBTFUL)
    play.roll((X, D), (0, 1))
    assert play.raid["rolls"] == 0
    play.answer("monkey")
    assert play.raid["rolls"] == 2
    assert play.shown[:2] == ["skull", "diamond"]


def test_a_doubt_about_a_die_that_is_rolled_again_is_moot(play: Play) -> None:
    play.card("pirate")
    play.roll((X, C, C, M, M, P, S, D), doubts=(Doubt.FACE,), unsure=(3,), kind=EventKind.DOUBTFUL)
    play.roll((D, D), (3, 4))
    assert not play.questions
    assert play.raid["rolls"] == 2
    assert play.shown[3:5] == ["diamond", "diamond"]


def test_with_the_watchwoman_it_may_have_been_a_skull(play: Play) -> None:
    play.card("watchwoman")
    play.roll((C, C, C, M, M, P, S, D), doubts=(Doubt.FACE,), unsure=(3,), kind=EventKind.DOUBTFUL)
    play.roll((D, D), (3, 4))
    assert play.questions[0]["kind"] == "face"


def test_a_locked_skull_that_is_gone_is_asked_about(play: Play) -> None:
    play.card("pirate")
    play.roll((X, C, C, M, M, P, S, D))
    play.roll((M, X), (0, 1))
    question = play.questions[0]
    assert question["kind"] == "roll_impossible"
    assert "skull" in question["sentence"]
    assert play.raid["rolls"] == 1


def test_a_skull_that_never_was_one(play: Play) -> None:
    play.card("pirate")
    play.roll((X, C, C, M, M, P, S, D))
    play.roll((M, D, P), (0, 1, 2))
    play.answer("never_skull")
    assert play.raid["rolls"] == 2
    assert play.shown[:3] == ["monkey", "diamond", "parrot"]


def test_a_skull_that_only_was_covered_stays(play: Play) -> None:
    play.card("pirate")
    play.roll((X, C, C, M, M, P, S, D))
    play.roll((X, D, P), (0, 1, 2))
    assert not play.questions
    assert play.raid["rolls"] == 2


def test_a_single_die_is_asked_about(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.roll((D,), (0,), doubts=(Doubt.SINGLE,), kind=EventKind.CHANGED)
    assert play.questions[0]["kind"] == "changed"
    play.answer("misread")
    assert play.shown[0] == "diamond"
    assert play.raid["rolls"] == 1


def test_a_single_die_is_a_roll_where_the_rules_say_so(play: Play) -> None:
    play.card("zombie_attack")
    play.roll((X, S, S, S, S, S, S, D))
    play.roll((S,), (7,), doubts=(Doubt.SINGLE,))
    assert not [q for q in play.questions if q["kind"] == "changed"]
    assert play.raid["rolls"] == 2


def test_a_third_roll_with_shipwreck_is_asked_about(slow: Play) -> None:
    slow.card("shipwreck")
    slow.roll(PLAIN)
    slow.roll((D, D), (3, 4))
    slow.roll((C, C), (5, 6))
    assert slow.raid["rolls"] == 2
    assert slow.state["raid"]["worth_now"] is not None


def test_a_card_that_contradicts_is_asked_about_once(play: Play) -> None:
    play.table.submit(DrawCard(Card.GOLD_COIN))
    play.card("diamond")
    play.say(EventKind.UNCHANGED)
    assert play.questions[0]["code"] == "card_differs"
    play.answer("gold_coin")
    play.card("diamond")
    play.say(EventKind.UNCHANGED)
    assert not play.questions
    assert play.raid["card"] == "gold_coin"


def test_another_card_and_eight_dice_are_the_next_raid(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.card("diamond")
    play.frame_number -= 1  # told in the same frame
    play.roll(PLAIN)
    assert play.questions[0]["code"] == "raid_not_ended"
    play.answer("yes")
    assert play.state["raids"][0]["card"] == "pirate"
    assert play.raid["card"] == "diamond"


def test_an_uncertain_card_is_asked_likeliest_first(play: Play) -> None:
    play.card("ship_2", sure=False, alternatives=[("ship_3", 0.3)])
    choices = [c["value"] for c in play.questions[0]["choices"]]
    assert choices[:2] == ["ship_2", "ship_3"]
    assert len(choices) == len(Card)
    play.answer("ship_3")
    assert play.raid["card"] == "ship_3"


def test_the_back_of_a_card_is_no_card(play: Play) -> None:
    play.card("back", sure=False)
    assert not play.questions


def test_treasure_island_keeps_what_lay_there_before_the_fatal_roll(slow: Play) -> None:
    slow.card("treasure_island")
    slow.roll((X, X, C, C, C, M, P, S))
    slow.put(2, 3, 4)
    assert [die["index"] for die in slow.raid["dice"] if die["on_card"]] == [2, 3, 4]
    slow.put(2, 3)
    slow.on_card = (2, 3, 5)  # a die of the fatal roll rolls onto the card
    slow.roll((D, X), (5, 6))
    assert slow.questions[0]["kind"] == "bust"
    slow.answer("yes")
    raid = slow.state["raids"][0]
    assert raid["on_card"] == [2, 3]
    assert raid["total"] == 200


def test_a_die_taken_off_the_card_and_rolled(play: Play) -> None:
    play.card("treasure_island")
    play.roll(PLAIN)
    play.put(0, 1)
    play.on_card = (1,)
    play.roll((D, D), (0, 3))
    assert not play.questions
    assert play.raid["rolls"] == 2
    assert [die["index"] for die in play.raid["dice"] if die["on_card"]] == [1]


def test_new_eyes_in_the_middle_of_a_raid_find_the_dice_again(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    other = (D, S, P, M, M, C, C, C)
    play.faces = ()
    play.roll(other, doubts=(Doubt.UNSEEN,), before=False, serial=50)
    assert not play.questions
    play.faces = other
    play.roll((X, X), (1, 2))  # the eyes' second and third die: sabers and parrot on the table
    assert play.raid["rolls"] == 2
    assert sorted(play.shown) == sorted(f.value for f in (C, C, C, M, M, D, X, X))


def test_new_eyes_that_find_other_dice_ask(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.faces = ()
    play.roll((D, D, P, M, M, C, C, C), doubts=(Doubt.UNSEEN,), before=False, serial=50)
    assert play.questions[0]["kind"] == "desync"
    play.answer("ignore")
    assert play.raid["rolls"] == 1


def test_all_eight_with_a_locked_skull_asks_whether_the_raid_was_over(play: Play) -> None:
    play.card("pirate")
    play.roll((X, C, C, M, M, P, S, D))
    play.roll(PLAIN)
    assert play.questions[0]["code"] == "raid_not_ended"
    play.answer("yes")
    assert len(play.state["raids"]) == 1
    assert play.shown == [face.value for face in PLAIN]


def test_all_eight_again_without_a_skull_is_a_second_roll(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.roll((C, C, C, C, M, M, P, D))
    assert play.raid["rolls"] == 2


def test_eight_dice_that_lay_there_are_asked_about(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN, doubts=(Doubt.UNSEEN,), before=False)
    assert play.questions[0]["code"] == "found_lying"
    play.answer("yes")
    assert play.raid["rolls"] == 1


def test_each_roll_leaves_a_picture(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.roll((C, D), (3, 4))
    photos = play.raid["photos"]
    assert [photo["roll"] for photo in photos] == [1, 2]
    jpeg = play.table.photo(0, 0)
    assert jpeg is not None
    assert jpeg[:2] == b"\xff\xd8"


def test_a_correction_is_one_new_total_and_no_second_raid(play: Play) -> None:
    """Fault 35."""
    play.card("pirate")
    play.roll(PLAIN)
    play.table.submit(CorrectDie(7, C))
    play.referee.tick()
    play.table.submit(EndRaid())
    play.say(EventKind.TAKEN_AWAY, dice=tuple(range(8)))
    play.say(EventKind.EMPTY, reading=Reading(Status.DOUBTFUL, (), ()))
    assert len(play.state["raids"]) == 1
    assert play.state["raid"] is None


def test_the_same_roll_is_not_entered_twice(play: Play) -> None:
    play.card("pirate")
    roll = play.roll(PLAIN)
    play.say(EventKind.ROLL, roll=roll)
    assert play.raid["rolls"] == 1


def test_undo_takes_back_what_the_camera_entered(play: Play) -> None:
    play.card("pirate")
    play.roll(PLAIN)
    play.table.submit(Undo())
    assert play.raid["rolls"] == 0


def test_without_a_game_nothing_happens(tmp_path: Path) -> None:
    with Store.open(tmp_path) as store, Table(store) as table:
        play = Play(table)
        play.card("pirate")
        play.roll(PLAIN)
        assert play.state["status"] == "no_game"


def test_dice_are_matched_by_face() -> None:
    assert match_faces((C, X, C), (X, C, C)) == [1, 0, 2]
    assert sorted(match_faces((C, C, C), (X, C, M))) == [0, 1, 2]
