"""A game: order, last round, sudden death, ties, shares, undo and corrections."""

from __future__ import annotations

import pytest

from scorer.cards import Card
from scorer.errors import (
    BadOperation,
    EmptyName,
    GameHasBegun,
    GameOver,
    NameTaken,
    NoRaid,
    NoSuchRaid,
    NothingToRedo,
    NothingToUndo,
    NotInHand,
    NotYourTurn,
    RaidRuns,
    UnknownPlayer,
    UnknownSetting,
    WrongNumberOfDice,
    WrongNumberOfPlayers,
)
from scorer.faces import Face
from scorer.game import Game
from scorer.operations import (
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
    Stage,
    TakeOff,
    Undo,
)
from tests.scorer.hands import hand

NAMES = ("Anna", "Bo", "Cleo")


def game(*totals: int, edition: str = "de38", **rules: object) -> Game:
    """A game of as many players as there are totals, with house rules."""
    start = NewGame(NAMES[: len(totals)], edition, tuple(rules.items()), totals=totals)
    return Game.new(start)


def play(game: Game, *operations: Operation | int) -> Game:
    """Numbers are raids of so many points."""
    for operation in operations:
        game = game.apply(EnterPoints(operation) if isinstance(operation, int) else operation)
    return game


# Order and last round


def test_players_raid_in_order() -> None:
    after = play(game(0, 0, 0), 100, 200, 300, 400)
    assert after.pad.totals == (500, 200, 300)
    assert after.pad.next == 1
    assert [record.player for record in after.pad.records] == [0, 1, 2, 0]


def test_a_raid_roll_by_roll() -> None:
    after = play(
        game(0, 0, 0),
        DrawCard(Card.TREASURE_ISLAND),
        Roll(hand("3 coin, skull, 4 monkey")),
        PlaceOnCard((0, 1, 2)),
        TakeOff((2,)),
        Roll(hand("3 coin, 3 skull, 2 monkey"), (4, 5)),
        EndRaid(),
    )
    assert after.pad.totals == (200, 0, 0)
    record = after.pad.records[0]
    assert (record.number, record.player, record.score.unchecked) == (1, 0, ())


def test_everybody_else_has_one_more_raid_and_the_most_points_win() -> None:
    last = play(game(7900, 0, 0), 100)
    assert (last.pad.stage, last.pad.reached_by, last.pad.pending) == (Stage.LAST_ROUND, 0, (1, 2))
    over = play(last, 500, 500)
    assert (over.pad.stage, over.pad.winners) == (Stage.OVER, (0,))
    with pytest.raises(GameOver, match="Anna won"):
        over.apply(DrawCard(Card.PIRATE))


def test_a_topped_leader_has_one_more_raid_in_the_german_editions() -> None:
    topped = play(game(7900, 7900, 0), 100, 500, 0)
    assert (topped.pad.stage, topped.pad.next) == (Stage.LEADERS_RAID, 0)
    assert play(topped, 1000).pad.winners == (0,)
    assert play(topped, 0).pad.winners == (1,)
    assert play(game(5900, 5900, 0, edition="bga"), 100, 500, 0).pad.winners == (1,)


def test_a_tie_with_the_leader_does_not_top() -> None:
    assert play(game(7900, 7900, 0), 100, 100, 0).pad.winners == (0, 1)


def test_nobody_at_the_target_sudden_death() -> None:
    """All last raids are played; then the first to be at the target wins at once."""
    fallen = play(game(8000, 0, 0), 0, EnterPoints(0, -500))
    assert (fallen.pad.stage, fallen.pad.pending) == (Stage.LAST_ROUND, (2,))
    sudden = play(fallen, 0)
    assert (sudden.pad.stage, sudden.pad.next) == (Stage.SUDDEN_DEATH, 0)
    assert play(sudden, 500).pad.winners == (0,)


def test_nobody_at_the_target_new_last_round() -> None:
    """The last round is called off, and whoever gets there again starts a new one."""
    fallen = play(game(6000, 0, 0, edition="isla"), 0, EnterPoints(0, -500))
    assert (fallen.pad.stage, fallen.pad.next) == (Stage.OPEN, 2)
    again = play(fallen, 0, 500)
    assert (again.pad.stage, again.pad.pending) == (Stage.LAST_ROUND, (1, 2))


def test_a_last_round_goes_on_while_somebody_is_at_the_target() -> None:
    after = play(game(6000, 6000, 0, edition="bga"), 0, EnterPoints(500, -500))
    assert after.pad.stage is Stage.LAST_ROUND
    assert play(after, 0).pad.winners == (1,)


def test_without_a_last_round_the_first_at_the_target_wins() -> None:
    assert play(game(7900, 0, last_round=False), 100).pad.winners == (0,)


def test_passing_the_target_on_somebody_elses_raid() -> None:
    """Zombie shares: reached then, the lucky one started the last round, and the raider raids once more."""
    lost = EnterRaid(Card.ZOMBIE_ATTACK, hand("8 skull"))
    after = play(game(0, 0, 7500), lost)
    assert after.pad.totals == (0, 600, 8100)
    assert (after.pad.stage, after.pad.reached_by, after.pad.pending) == (Stage.LAST_ROUND, 2, (1, 0))
    assert play(after, 0, 0).pad.winners == (2,)


def test_two_pass_the_target_at_once_the_one_with_more_started_it() -> None:
    after = play(game(0, 7500, 7600), EnterRaid(Card.ZOMBIE_ATTACK, hand("8 skull")))
    assert (after.pad.reached_by, after.pad.pending) == (2, (1, 0))


def test_pirate_magic_wins_at_once() -> None:
    magic = EnterRaid(Card.GOLD_COIN, hand("8 coin"))
    after = play(game(0, 7999, 0), magic)
    assert (after.pad.stage, after.pad.winners) == (Stage.OVER, (0,))
    assert play(game(0, 0, 0, edition="bga"), magic).pad.totals[0] == 5400


def test_totals_below_zero_or_not() -> None:
    island = EnterRaid(None, hand("5 skull, 3 coin"))
    assert play(game(0, 100, 900), island).pad.totals == (0, -400, 400)
    assert play(game(0, 100, 900, edition="en35"), island).pad.totals == (0, 0, 400)


def test_a_game_goes_on_from_a_score_pad_on_paper() -> None:
    start = NewGame(NAMES, totals=(8000, 7800, 0), stage=Stage.LAST_ROUND, reached_by=0, first=1)
    after = play(Game.new(start), 500, 0)
    assert (after.pad.stage, after.pad.next) == (Stage.LEADERS_RAID, 0)


# What is refused


@pytest.mark.parametrize(
    ("start", "error"),
    [
        (NewGame(("Anna",)), WrongNumberOfPlayers),
        (NewGame(tuple("ABCDEF")), WrongNumberOfPlayers),
        (NewGame(("Anna", " ")), EmptyName),
        (NewGame(("Anna", "Anna")), NameTaken),
        (NewGame(NAMES, first=3), UnknownPlayer),
        (NewGame(NAMES, totals=(1, 2)), BadOperation),
        (NewGame(NAMES, stage=Stage.OVER), BadOperation),
        (NewGame(NAMES, house_rules=(("moon", 1),)), UnknownSetting),
    ],
)
def test_a_game_that_cannot_begin(start: NewGame, error: type[Exception]) -> None:
    with pytest.raises(error):
        Game.new(start)


def test_eight_players_with_a_house_rule() -> None:
    assert Game.new(NewGame(tuple("ABCDEFGH"), house_rules=(("max_players", 8),))).pad.totals == (0,) * 8


def test_what_is_refused_says_why_and_changes_nothing() -> None:
    running = play(game(0, 0, 0), DrawCard(Card.PIRATE))
    refused: list[tuple[Game, Operation, type[Exception], str]] = [
        (running, DrawCard(Card.PIRATE), RaidRuns, "Anna is still on a raid"),
        (running, EnterPoints(100), RaidRuns, "Anna is still on a raid"),
        (running, Roll(hand("7 coin")), WrongNumberOfDice, "8 dice, but 7 came"),
        (running, Roll(hand("5 coin, 4 skull")), WrongNumberOfDice, "8 dice, but 9 came"),
        (game(0, 0, 0), Roll(hand("8 coin")), NoRaid, "Anna draws a card first"),
        (game(0, 0, 0), EndRaid(), NoRaid, "Anna draws a card first"),
        (game(0, 0, 0), DrawCard(Card.PIRATE, player=1), NotYourTurn, "It is Anna's raid, not Bo's"),
        (game(0, 0, 0), DrawCard(Card.PIRATE, player=7), UnknownPlayer, "expected one of: Anna, Bo, Cleo"),
        (
            game(0, 0, 0),
            EnterRaid(Card.TREASURE_ISLAND, hand("8 monkey"), on_card=hand("coin")),
            NotInHand,
            "1 × coin cannot lie on the card",
        ),
        (game(0, 0, 0), Undo(), NothingToUndo, "nothing to undo"),
        (game(0, 0, 0), Redo(), NothingToRedo, "nothing to redo"),
        (game(0, 0, 0), NewGame(NAMES), GameHasBegun, "begins once"),
        (game(0, 0, 0), CorrectPoints(1, 0), NoSuchRaid, "no raid 1; so far 0"),
        (game(0, 0, 0), RenamePlayer(0, "Bo"), NameTaken, "Two players"),
        (game(0, 0, 0), RenamePlayer(3, "Dan"), UnknownPlayer, "expected one of"),
    ]
    for before, operation, error, sentence in refused:
        with pytest.raises(error, match=sentence):
            before.apply(operation)
        assert not before.can(operation)


def test_a_seat_by_name() -> None:
    assert game(0, 0, 0).pad.seat("Bo") == 1
    with pytest.raises(UnknownPlayer, match="“Zed” does not play"):
        game(0, 0, 0).pad.seat("Zed")


# Undo, redo, corrections


def test_undo_opens_a_game_that_was_won() -> None:
    over = play(game(7900, 0), 100, 0)
    assert over.pad.over
    opened = play(over, Undo())
    assert (opened.pad.stage, opened.pad.next, opened.can_redo) == (Stage.LAST_ROUND, 1, True)
    assert play(opened, Redo()).pad == over.pad


def test_something_new_forgets_what_was_undone() -> None:
    after = play(game(0, 0), 100, Undo(), 200)
    assert not after.can_redo
    assert after.pad.totals == (200, 0)


def test_correcting_a_raid_computes_everything_after_it_again() -> None:
    before = play(game(0, 0, edition="en35"), 100, EnterPoints(0, -500), 300)
    assert before.pad.totals == (300, 0)
    after = play(before, CorrectRaid(1, Card.PIRATE, hand("4 coin, 2 monkey, 2 parrot")))
    assert after.pad.totals == (1000, 0)
    assert [record.totals for record in after.pad.records] == [(1200, 0), (700, 0), (1000, 0)]
    assert play(after, Undo()).pad == before.pad


def test_correcting_the_winning_raid_opens_the_game() -> None:
    over = play(game(7900, 0), 100, 0)
    assert play(over, CorrectPoints(1, 0)).pad.stage is Stage.OPEN


def test_raids_after_an_earlier_end_do_not_count() -> None:
    before = play(game(7000, 0), 0, 0, 500, 500)
    after = play(before, CorrectPoints(1, 1000))
    assert after.pad.winners == (0,)
    assert [record.counts for record in after.pad.records] == [True, True, False, False]
    assert after.pad.totals == (8000, 0)


def test_a_raid_in_progress_survives_a_correction() -> None:
    running = play(game(0, 0), 100, DrawCard(Card.PIRATE), Roll(hand("8 monkey")))
    after = play(running, CorrectPoints(1, 300))
    assert after.pad.raid == running.pad.raid
    assert (after.pad.next, after.pad.totals) == (1, (300, 0))


def test_correcting_a_die_in_the_raid_in_progress() -> None:
    after = play(game(0, 0), DrawCard(None), Roll(hand("3 skull, 5 coin")), CorrectDie(0, Face.COIN), EndRaid())
    assert after.pad.totals == (1600, 0)


def test_renaming_is_kept_by_a_correction() -> None:
    after = play(game(0, 0), 100, RenamePlayer(0, "Ada"), CorrectPoints(1, 200))
    assert after.pad.players == ("Ada", "Bo")


def test_a_replay_begins_with_a_new_game() -> None:
    with pytest.raises(BadOperation):
        Game.replay([Undo()])
    with pytest.raises(BadOperation):
        Game.replay([])
