"""Settling: several looks agree, once, and never while a die still turns."""

from __future__ import annotations

import numpy as np
import pytest

from datasets.simulated_raids import Scene, SceneDie, draw
from scorer.faces import Face
from vision.events import SceneFlag
from vision.reading import CardReading, Problem, Reading, Status
from vision.settle import Settled, Settler, Stillness, elect_card, pair_up

from .readings import EIGHT, PLACES, C, D, M, X, dice, die, reading, shifted


def settle(looks: list[Reading], settler: Settler | None = None) -> tuple[Settled, int] | None:
    """The first settled reading, and which look brought it."""
    settler = settler or Settler()
    for n, look in enumerate(looks):
        settled = settler.look(look)
        if settled is not None:
            return settled, n
    return None


def looks(count: int, certainty: float = 0.99) -> list[Reading]:
    return [reading(dice(EIGHT, certainty=certainty), n) for n in range(count)]


def test_two_very_certain_looks_settle_after_a_tenth_of_a_second() -> None:
    result = settle(looks(10))
    assert result is not None
    settled, n = result
    assert n == 2
    assert settled.certain
    assert settled.reading.faces == EIGHT


def test_fairly_certain_looks_need_a_third() -> None:
    result = settle(looks(10, 0.93))
    assert result is not None
    assert result[1] in (2, 3)


def test_at_ten_frames_a_second_it_settles_within_half_a_second() -> None:
    result = settle([reading(dice(EIGHT), n, fps=10) for n in range(6)])
    assert result is not None
    assert result[0].reading.t <= 0.3


def test_a_die_that_shows_another_face_each_look_never_settles_certain() -> None:
    turning = [reading([die(face, PLACES[0]), *dice(EIGHT[1:], PLACES[1:])], n)
               for n, face in enumerate(list(Face) * 6)]
    result = settle(turning)
    assert result is None or not result[0].certain


def test_a_restless_die_starts_the_count_again() -> None:
    settler = Settler()
    for n in range(6):
        assert settler.look(reading(dice(EIGHT), n), restless=(3,)) is None


def test_a_die_that_creeps_starts_the_count_again() -> None:
    creeping = [shifted(reading(dice(EIGHT)), 8.0 * n, 0.0, n) for n in range(8)]
    assert settle(creeping) is None


def test_one_look_that_misses_a_die_does_not_count() -> None:
    seen = looks(8)
    seen[1] = reading(dice(EIGHT[:7]), 1)
    result = settle(seen)
    assert result is not None
    assert len(result[0].reading.dice) == 8


def test_a_look_that_misses_a_die_never_settles_without_it() -> None:
    for missed in range(1, 9):
        seen = looks(10)
        seen[missed] = reading(dice(EIGHT[:7]), missed)
        result = settle(seen)
        assert result is not None
        assert len(result[0].reading.dice) == 8
        assert result[1] <= 5


def test_one_wrong_look_is_outvoted() -> None:
    seen = looks(12)
    seen[1] = reading([die(X, PLACES[0], 0.6), *dice(EIGHT[1:], PLACES[1:])], 1)
    result = settle(seen)
    assert result is not None
    assert result[0].certain
    assert result[0].reading.faces == EIGHT


def test_looks_that_contradict_each_other_with_certainty_are_doubtful() -> None:
    seen = [reading([die(X if n % 2 else C, PLACES[0], 0.98), *dice(EIGHT[1:], PLACES[1:])], n) for n in range(30)]
    result = settle(seen)
    assert result is not None
    assert result[0].reading.status is Status.DOUBTFUL
    assert SceneFlag.UNSURE in result[0].flags


def test_a_doubt_that_every_look_shares_does_not_vanish_by_counting() -> None:
    unsure = die(C, PLACES[0], 0.92, Problem.UNSURE_FACE, other=D)
    result = settle([reading([unsure, *dice(EIGHT[1:], PLACES[1:])], n) for n in range(30)])
    assert result is not None
    settled = result[0]
    assert not settled.certain
    assert settled.reading.dice[0].alternatives[0][0] is D


def test_a_cocked_die_is_doubtful() -> None:
    leaning = die(C, PLACES[0], 0.99, Problem.COCKED)
    result = settle([reading([leaning, *dice(EIGHT[1:], PLACES[1:])], n) for n in range(30)])
    assert result is not None
    assert Problem.COCKED in result[0].reading.problems


def test_garbage_is_forgotten() -> None:
    """Fault 12: five seconds of garbage, then a good table: settled in less than two seconds."""
    rng = np.random.default_rng(5)
    settler = Settler()
    for n in range(75):
        places = [tuple(p) for p in rng.uniform(20, 300, (int(rng.integers(0, 12)), 2))]
        settled = settler.look(reading([die(list(Face)[n % 6], p, 0.7) for p in places], n))
        assert settled is None or not settled.certain or not settled.reading.dice
    good = [reading(dice(EIGHT), 75 + n) for n in range(30)]
    certain = [n for n, look in enumerate(good) if (s := settler.look(look)) is not None and s.certain]
    assert certain
    assert certain[0] / 15 < 2


def test_a_second_box_on_one_die_makes_it_doubtful_and_is_not_counted() -> None:
    twin = die(X, (PLACES[0][0] + 4, PLACES[0][1]), 0.6, Problem.UNSURE_FACE)
    result = settle([reading([*dice(EIGHT), twin], n) for n in range(30)])
    assert result is not None
    settled = result[0]
    assert not settled.certain
    assert len(settled.reading.dice) == 8
    unsure = [d for d in settled.reading.dice if d.problems]
    assert len(unsure) == 1
    assert {unsure[0].face, unsure[0].alternatives[0][0]} == {C, X}


def test_a_die_of_another_game_beside_the_eight_is_flagged_and_left_out() -> None:
    foreign = die(M, (350.0, 350.0), 0.9, Problem.FOREIGN_DIE)
    result = settle([reading([*dice(EIGHT), foreign], n) for n in range(30)])
    assert result is not None
    assert result[0].certain
    assert len(result[0].reading.dice) == 8
    assert SceneFlag.FOREIGN in result[0].flags


def test_nine_plain_dice_are_doubtful() -> None:
    result = settle([reading([*dice(EIGHT), die(M, (350.0, 350.0))], n) for n in range(30)])
    assert result is not None
    assert not result[0].certain
    assert SceneFlag.MORE in result[0].flags


def test_fewer_dice_settle_with_a_flag() -> None:
    result = settle([reading(dice(EIGHT[:5]), n) for n in range(30)])
    assert result is not None
    assert result[0].certain
    assert SceneFlag.FEWER in result[0].flags


def test_a_hand_beside_the_dice_does_not_spoil_them() -> None:
    result = settle([reading(dice(EIGHT), n, hands=((300.0, 0.0, 340.0, 60.0),)) for n in range(30)])
    assert result is not None
    assert result[0].certain
    assert SceneFlag.HAND in result[0].flags


def test_restart_forgets() -> None:
    settler = Settler()
    settler.look(looks(1)[0])
    settler.restart()
    assert settler.looks == 0


@pytest.mark.parametrize(("names", "expected"), [
    (["pirate"] * 5, "pirate"),
    (["pirate", "ship_2", "pirate", "pirate"], "pirate"),
    ([None, "pirate", "pirate"], "pirate"),
    ([None, None, None, "pirate"], None),
])
def test_the_card_is_elected(names: list[str | None], expected: str | None) -> None:
    cards = [None if name is None else CardReading(name, 0.98, ()) for name in names]
    elected = elect_card(cards)
    assert (elected.name if elected else None) == expected


def test_a_card_on_which_looks_differ_is_less_certain() -> None:
    cards = [CardReading(name, 0.98, ()) for name in ("ship_2", "ship_2", "ship_3", "ship_2")]
    elected = elect_card(cards)
    assert elected is not None
    assert elected.certainty < 0.9
    assert elected.alternatives[0][0] == "ship_3"


def test_stillness_sees_a_die_turn_at_full_resolution() -> None:
    noise = np.random.default_rng(1)
    stillness = Stillness()
    box = [(90.0, 90.0, 116.0, 116.0)]
    still = [draw(Scene((SceneDie(103, 103, 20, M),)), noise) for _ in range(6)]
    assert [stillness.restless(image, box) for image in still] == [()] * 6
    turned = draw(Scene((SceneDie(103, 103, 50, M),)), noise)
    assert stillness.restless(turned, box) == (0,)


def test_stillness_does_not_mind_another_light() -> None:
    noise = np.random.default_rng(1)
    stillness = Stillness()
    box = [(90.0, 90.0, 116.0, 116.0)]
    stillness.restless(draw(Scene((SceneDie(103, 103, 20, M),)), noise), box)
    assert stillness.restless(draw(Scene((SceneDie(103, 103, 20, M),), light=0.7), noise), box) == ()


def test_pairs_are_nearest_first() -> None:
    assert pair_up([(0, 0), (10, 0)], [(9, 0), (100, 0)], 20) == {1: 0}
    assert pair_up([], [(1, 1)], 5) == {}
