"""What holds for every game: replay, undo and redo, corrections, sums, and refused actions."""

from __future__ import annotations

import json
from dataclasses import fields, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.bench import random_game
from scorer.cards import Card
from scorer.editions import EDITIONS
from scorer.errors import ScorerError, words
from scorer.faces import DICE, Face
from scorer.game import Game, Points, Result
from scorer.operations import (
    CorrectCard,
    CorrectDie,
    CorrectPoints,
    CorrectRaid,
    DrawCard,
    EndRaid,
    EnterPoints,
    EnterRaid,
    NewGame,
    Operation,
    PlaceOnCard,
    Redo,
    RenamePlayer,
    Roll,
    TakeOff,
    Undo,
    operation_from_json,
    operation_to_json,
)

CARDS = st.sampled_from([None, *Card])
FACES = st.tuples(*[st.sampled_from(Face)] * DICE)
DICE_OR_NONE = st.none() | st.sets(st.integers(0, DICE - 1)).map(tuple)
POINTS = st.integers(-20, 60).map(lambda hundreds: hundreds * 100)
ON_CARD = st.none() | st.lists(st.sampled_from(Face), max_size=3).map(tuple)
ROLLS = st.none() | st.lists(FACES, min_size=1, max_size=3).map(tuple)
SAILED = st.none() | st.booleans()

OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(DrawCard, CARDS),
    st.builds(Roll, FACES, DICE_OR_NONE),
    st.builds(Roll, FACES),
    st.builds(EndRaid),
    st.builds(EndRaid),
    st.builds(EnterRaid, CARDS, FACES, ON_CARD, ROLLS, SAILED),
    st.builds(EnterPoints, POINTS, POINTS),
    st.builds(CorrectDie, st.integers(0, DICE), st.sampled_from(Face)),
    st.builds(CorrectCard, CARDS),
    st.builds(PlaceOnCard, st.sets(st.integers(0, DICE - 1), max_size=3).map(tuple)),
    st.builds(TakeOff, st.sets(st.integers(0, DICE - 1), max_size=3).map(tuple)),
    st.builds(CorrectRaid, st.integers(0, 12), CARDS, FACES, ON_CARD, ROLLS, SAILED),
    st.builds(CorrectPoints, st.integers(0, 12), POINTS, POINTS),
    st.builds(RenamePlayer, st.integers(0, 3), st.sampled_from(["Ada", "Bo", ""])),
    st.builds(Undo),
    st.builds(Redo),
)
STARTS = st.builds(
    NewGame,
    st.sampled_from([("Anna", "Bo"), ("Anna", "Bo", "Cleo")]),
    st.sampled_from(list(EDITIONS)),
    st.sampled_from([(), (("target", 3000),), (("target", 1000), ("last_round", False))]),
)
RAIDS = st.one_of(st.builds(EnterRaid, CARDS, FACES), st.builds(EnterPoints, POINTS, POINTS))


def played(start: NewGame, wishes: list[Operation]) -> Game:
    """The game in which every wish that is allowed was done; a refused one changes nothing and says why."""
    game = Game.new(start)
    for wish in wishes:
        pad, operations = game.pad, game.operations
        refused = None
        try:
            game = game.apply(wish)
        except ScorerError as error:
            refused = error
        if refused is None:
            assert game.operations == (*operations, wish)
        else:
            assert (game.pad, game.operations) == (pad, operations)
            facts = {name: words(value) for name, value in refused.facts.items()}
            assert str(refused) == refused.template.format(**facts)
    return game


@settings(max_examples=150, deadline=None)
@given(STARTS, st.lists(OPERATIONS, max_size=30))
def test_replay_equals_live_and_json_brings_it_back(start: NewGame, wishes: list[Operation]) -> None:
    game = played(start, wishes)
    assert Game.replay(game.operations) == game
    text = json.dumps([operation_to_json(operation) for operation in game.operations])
    assert Game.replay(map(operation_from_json, json.loads(text))) == game


@settings(max_examples=150, deadline=None)
@given(STARTS, st.lists(OPERATIONS, max_size=25), st.integers(1, 25))
def test_undo_n_times_then_redo_n_times_is_the_identity(start: NewGame, wishes: list[Operation], n: int) -> None:
    game = played(start, wishes)
    back = game
    done = 0
    while done < n and back.can_undo:
        back = back.apply(Undo())
        done += 1
    for _ in range(done):
        back = back.apply(Redo())
    assert back.pad == game.pad
    assert (back.can_undo, back.can_redo) == (game.can_undo, game.can_redo)


@settings(max_examples=150, deadline=None)
@given(STARTS, st.lists(RAIDS, min_size=1, max_size=12), st.data())
def test_correcting_raid_k_equals_replaying_with_k_changed(
    start: NewGame, raids: list[EnterRaid | EnterPoints], data: st.DataObject
) -> None:
    game = played(start, list(raids))
    if not game.pad.records:
        return
    number = data.draw(st.integers(1, len(game.pad.records)))
    other = data.draw(RAIDS)
    try:
        corrected = game.apply(_correction(number, other))
    except ScorerError:
        return
    entered = list(game.operations)
    entered[number] = other
    again = Game.new(start)
    for operation in entered[1:]:
        if again.pad.over:
            break
        again = again.apply(operation)
    counting = [record for record in corrected.pad.records if record.counts]
    if [record.player for record in counting] != [record.player for record in again.pad.records]:
        return  # the order of play would have been another one; raids stay with those who made them
    assert corrected.pad.totals == again.pad.totals
    assert corrected.pad.stage == again.pad.stage
    assert corrected.pad.winners == again.pad.winners
    assert counting == list(again.pad.records)
    assert corrected.pad.next == again.pad.next or corrected.pad.over


def _correction(number: int, raid: EnterRaid | EnterPoints) -> Operation:
    if isinstance(raid, EnterPoints):
        return CorrectPoints(number, raid.points, raid.others)
    return CorrectRaid(number, raid.card, raid.faces, raid.on_card, raid.rolls, raid.island)


@settings(max_examples=150, deadline=None)
@given(STARTS, st.lists(OPERATIONS, max_size=30))
def test_totals_are_the_sum_of_the_lines(start: NewGame, wishes: list[Operation]) -> None:
    pad = played(start, wishes).pad
    totals = [0] * len(pad.players)
    for record in pad.records:
        if not record.counts:
            continue
        for seat in range(len(totals)):
            gets = sum(line.points for line in record.score.lines) if seat == record.player else record.score.others
            totals[seat] += gets
            if not pad.edition.negative_totals:
                totals[seat] = max(0, totals[seat])
        assert tuple(totals) == record.totals
    assert tuple(totals) == pad.totals


def test_a_long_game_rolled_at_random_replays_to_the_same_pad() -> None:
    operations = random_game(60, seed=3)
    game = Game.new(operations[0])  # type: ignore[arg-type]
    for operation in operations[1:]:
        game = game.apply(operation)
    assert Game.replay(operations) == game
    assert len(game.pad.records) == 60
    assert all(record.score.unchecked == () for record in game.pad.records)
    assert all(isinstance(record.entry, Result | Points) for record in game.pad.records)


def test_games_are_values() -> None:
    game = Game.new(NewGame(("Anna", "Bo")))
    assert replace(game) == game
    assert "_past" not in repr(game)
    assert {field.name for field in fields(game)} == {"pad", "operations", "_past", "_future"}
