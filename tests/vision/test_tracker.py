"""The roll tracker: rolled, moved, taken away, back. And never a slide taken for a roll."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.faces import Face
from vision.events import Doubt, EventKind, Roll
from vision.reading import Problem, Reading
from vision.tracker import Change, RollTracker, rigid_fit

from .readings import EIGHT, PLACES, C, D, M, P, S, X, dice, die, reading, shifted

FACES = tuple(Face)
ELSEWHERE = tuple((70.0 + 45 * (i % 4), 230.0 + 50 * (i // 4)) for i in range(8))


def watching(faces: tuple[Face, ...] = EIGHT) -> RollTracker:
    """A tracker that has seen a first roll."""
    tracker = RollTracker()
    tracker.motion(5)
    changes = tracker.settle(reading(dice(faces)))
    assert [change.kind for change in changes] == [EventKind.ROLL]
    return tracker


def kinds(changes: tuple[Change, ...]) -> list[EventKind]:
    return [change.kind for change in changes]


def the_roll(changes: tuple[Change, ...]) -> Roll:
    return next(change.roll for change in changes if change.roll is not None)


def fly(tracker: RollTracker, frames: int = 6) -> None:
    for _ in range(frames):
        tracker.motion(2)


def handle(tracker: RollTracker, frames: int = 6) -> None:
    for _ in range(frames):
        tracker.motion(0)


def out_of_sight(tracker: RollTracker, *ids: int, start: int = 1) -> None:
    """Glimpses in which these dice are in a hand."""
    roll = tracker.roll
    assert roll is not None
    for n in range(start, start + 12):
        tracker.glimpse(reading([d for i, d in enumerate(roll.dice) if i not in ids], n))


def test_eight_dice_thrown_are_the_first_roll() -> None:
    roll = the_roll((RollTracker()).settle(reading(dice(EIGHT))))
    assert roll.doubts == (Doubt.UNSEEN,)  # nobody saw them fly
    roll = watching().roll
    assert roll is not None
    assert (roll.number, roll.all_eight, roll.certain, sorted(roll.faces)) == (1, True, True, sorted(EIGHT))


def test_the_same_reading_again_is_nothing() -> None:
    assert watching().settle(reading(dice(EIGHT))) == ()


def test_three_dice_rolled_again() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    out_of_sight(tracker, 0, 2, 5)
    fly(tracker)
    after = [d for i, d in enumerate(before.dice) if i not in (0, 2, 5)] + dice((X, D, P), ELSEWHERE)
    roll = the_roll(tracker.settle(reading(after, 20)))
    assert roll.rolled == (0, 2, 5)
    assert roll.number == 2
    assert roll.certain
    assert roll.before == before.faces
    assert sorted(roll.faces[i] for i in (0, 2, 5)) == sorted((X, D, P))
    kept = [i for i in range(8) if i not in (0, 2, 5)]
    assert all(roll.faces[i] is before.faces[i] for i in kept)


def test_a_rolled_die_may_show_the_same_face_again() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    out_of_sight(tracker, 1, 3)
    fly(tracker)
    after = [d for i, d in enumerate(before.dice) if i not in (1, 3)]
    after += dice((before.faces[1], X), ELSEWHERE)
    roll = the_roll(tracker.settle(reading(after, 20)))
    assert roll.rolled == (1, 3)


def test_a_slide_with_the_face_in_view_is_a_move() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    for n in range(1, 11):
        moving = list(before.dice)
        x, y = before.dice[4].centre
        moving[4] = die(before.faces[4], (x + 12.0 * n, y + 8.0 * n))
        tracker.motion(0)
        tracker.glimpse(reading(moving, 2 * n))
    changes = tracker.settle(reading(moving, 24))
    assert kinds(changes) == [EventKind.MOVED]
    assert changes[0].dice == (4,)


def test_dice_swept_under_a_hand_and_set_in_a_row_are_moved() -> None:
    tracker = watching()
    out_of_sight(tracker, *range(8))
    handle(tracker)
    changes = tracker.settle(reading(dice(EIGHT, ELSEWHERE), 20))
    assert kinds(changes) == [EventKind.MOVED]


def test_two_dice_swapped_by_hand_are_moved() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    out_of_sight(tracker, 0, 7)
    after = list(before.dice)
    after[0], after[7] = die(before.faces[7], before.dice[0].centre), die(before.faces[0], before.dice[7].centre)
    assert kinds(tracker.settle(reading(after, 20))) == [EventKind.MOVED]


def test_covered_for_a_while_changes_nothing() -> None:
    tracker = watching()
    out_of_sight(tracker, 0, 1, 2, 3, 4)
    assert tracker.settle(reading(dice(EIGHT), 20)) == ()


def test_taken_away_and_put_back() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    assert kinds(tracker.settle(reading(before.dice[:5], 10))) == [EventKind.TAKEN_AWAY]
    back = [*before.dice[:5], *dice(before.faces[5:], ELSEWHERE)]
    changes = tracker.settle(reading(back, 20))
    assert kinds(changes) == [EventKind.BACK]
    assert changes[0].dice == (5, 6, 7)


def test_taken_away_and_rolled() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    tracker.settle(reading(before.dice[:5], 10))
    fly(tracker)
    roll = the_roll(tracker.settle(reading([*before.dice[:5], *dice((C, C, C), ELSEWHERE)], 20)))
    assert roll.rolled == (5, 6, 7)


def test_dice_that_land_one_after_the_other_are_one_roll() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    out_of_sight(tracker, 5, 6, 7)
    fly(tracker)
    first = tracker.settle(reading([*before.dice[:5], die(X, ELSEWHERE[0])], 20))
    assert EventKind.ROLL not in kinds(first)
    assert tracker.incomplete
    fly(tracker)
    roll = the_roll(tracker.settle(reading([*before.dice[:5], *dice((X, C, C), ELSEWHERE)], 40)))
    assert roll.rolled == (5, 6, 7)


def test_one_die_that_shows_another_face_in_its_place_is_asked_about() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    after = list(before.dice)
    other = C if before.faces[3] is not C else D
    after[3] = die(other, before.dice[3].centre)
    tracker.motion(0)
    changes = tracker.settle(reading(after, 20))
    assert kinds(changes) == [EventKind.CHANGED]
    assert Doubt.SINGLE in the_roll(changes).doubts
    assert changes[0].note


def test_a_die_that_lay_still_and_is_read_otherwise_is_disputed() -> None:
    """One of the two certain readings is wrong; it must not pass for a rolled die."""
    tracker = watching()
    before = tracker.roll
    assert before is not None
    out_of_sight(tracker, 0, 1)
    fly(tracker)
    still = list(before.dice[2:])
    other = C if before.faces[7] is not C else D
    still[5] = die(other, before.dice[7].centre)
    after = [*still, *dice((P, S), ELSEWHERE)]
    roll = the_roll(tracker.settle(reading(after, 20)))
    assert roll.rolled == (0, 1)
    assert roll.unsure == (7,)
    assert {roll.dice[7].face, roll.dice[7].alternatives[0][0]} == {other, before.faces[7]}
    assert tracker.refine(reading(after, 30)) is None  # looking again does not settle it
    tracker.correct(7, other)
    assert tracker.settle(reading(after, 40)) == ()


def test_dice_that_lay_still_and_are_read_otherwise_are_no_roll() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    tracker.motion(0)
    after = [die(C if f is not C else D, d.centre) if i in (2, 5) else d
             for i, (d, f) in enumerate(zip(before.dice, before.faces, strict=True))]
    changes = tracker.settle(reading(after, 20))
    assert kinds(changes) == [EventKind.CHANGED]
    assert changes[0].dice == (2, 5)


@pytest.mark.parametrize(("frames", "lone", "kind"), [
    (6, 2, EventKind.ROLL),      # several flew for long
    (3, 1, EventKind.DOUBTFUL),  # one flew, or ran on by itself
    (1, 1, EventKind.MOVED),
])
def test_the_same_faces_again(frames: int, lone: int, kind: EventKind) -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    out_of_sight(tracker, 0, 1)
    for _ in range(frames):
        tracker.motion(lone)
    after = [*before.dice[2:], *dice(before.faces[:2], ELSEWHERE)]
    changes = tracker.settle(reading(after, 20))
    assert kinds(changes) == [kind]
    if kind is EventKind.DOUBTFUL:
        assert the_roll(changes).doubts == (Doubt.SAME_FACES,)


def test_dice_that_change_in_the_dark_are_asked_about() -> None:
    tracker = watching()
    before = tracker.roll
    assert before is not None
    tracker.motion(0)
    tracker.blind()
    changes = tracker.settle(reading([*before.dice[:6], *dice((C, C), ELSEWHERE)], 60))
    assert Doubt.UNSEEN in the_roll(changes).doubts


def test_all_eight_again_is_a_first_roll() -> None:
    tracker = watching()
    assert kinds(tracker.settle(reading((), 10))) == [EventKind.TAKEN_AWAY]
    fly(tracker)
    roll = the_roll(tracker.settle(reading(dice((X, X, X, X, C, C, C, C), ELSEWHERE), 30)))
    assert (roll.number, roll.all_eight) == (1, True)


def test_dice_on_the_card_before_the_roll_are_told() -> None:
    tracker = RollTracker()
    tracker.motion(3)
    lying = [die(face, place, on_card=i < 2) for i, (face, place) in enumerate(zip(EIGHT, PLACES, strict=True))]
    tracker.settle(reading(lying))
    before = tracker.roll
    assert before is not None
    on = before.on_card
    assert len(on) == 2
    rolled = [i for i in range(8) if i not in on][:3]
    out_of_sight(tracker, *rolled)
    fly(tracker)
    after = [d for i, d in enumerate(before.dice) if i not in rolled] + dice((X, X, X), ELSEWHERE)
    assert the_roll(tracker.settle(reading(after, 20))).on_card_before == on


def test_an_unsure_face_is_told_and_cleared_by_a_later_look() -> None:
    tracker = RollTracker()
    tracker.motion(3)
    unsure = die(X, PLACES[0], 0.6, Problem.UNSURE_FACE, other=C)
    roll = the_roll(tracker.settle(reading([unsure, *dice(EIGHT[1:], PLACES[1:])])))
    assert roll.doubts == (Doubt.FACE,)
    assert len(roll.unsure) == 1
    cleared = tracker.refine(reading([die(C, PLACES[0]), *dice(EIGHT[1:], PLACES[1:])], 10))
    assert cleared is not None
    assert cleared.certain
    assert cleared.serial == roll.serial
    assert cleared.faces[roll.unsure[0]] is C


def test_a_person_clears_an_unsure_face() -> None:
    tracker = RollTracker()
    tracker.motion(3)
    unsure = die(X, PLACES[0], 0.6, Problem.UNSURE_FACE, other=C)
    roll = the_roll(tracker.settle(reading([unsure, *dice(EIGHT[1:], PLACES[1:])])))
    tracker.correct(roll.unsure[0], C)
    assert tracker.roll is not None
    assert tracker.roll.certain
    assert tracker.settle(reading([die(C, PLACES[0]), *dice(EIGHT[1:], PLACES[1:])], 20)) == ()


def test_a_die_known_for_certain_stays_known_in_bad_light() -> None:
    tracker = watching()
    base = reading(dice(EIGHT))
    weak = die(D, PLACES[2], 0.5, Problem.UNSURE_FACE, other=EIGHT[2])
    recalled = tracker.recall(reading([*base.dice[:2], weak, *base.dice[3:]], 5))
    assert recalled.dice[2].face is EIGHT[2]
    assert tracker.settle(recalled) == ()


@pytest.mark.parametrize(("dx", "dy", "degrees"), [(15, 0, 0), (0, -20, 3), (12, 9, -5)])
def test_a_shift_of_the_whole_picture_is_found(dx: float, dy: float, degrees: float) -> None:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    moved = tuple((c * x - s * y + dx, s * x + c * y + dy) for x, y in PLACES)
    tracker = watching()
    after = reading(dice(EIGHT, moved), 20)
    transform = tracker.constellation(after)
    assert transform is not None
    tracker.carry(transform)
    assert tracker.settle(after) == ()


def test_nothing_moved_is_no_shift() -> None:
    assert watching().constellation(reading(dice(EIGHT), 5)) is None


def test_a_roll_is_no_shift() -> None:
    old = [(p, f) for p, f in zip(PLACES, EIGHT, strict=True)]
    new = [(p, f) for p, f in zip(ELSEWHERE, (X, X, D, D, S, P, M, C), strict=True)]
    assert rigid_fit(old, new, reach=7.0) is None


# -- properties ------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.lists(st.sampled_from(FACES), min_size=8, max_size=8))
def test_handling_is_never_a_roll(seed: int, faces: list[Face]) -> None:
    """Whatever hands do with dice that keep their faces, in whatever order they are seen, no roll comes of it."""
    rng = random.Random(seed)
    tracker = watching(tuple(faces))
    number = 0
    for _ in range(4):
        assert tracker.roll is not None
        lying = list(tracker.in_order(reading(_known(tracker))).dice)
        hidden = rng.sample(range(8), rng.randint(0, 8))
        for _ in range(rng.randint(0, 8)):
            number += rng.randint(1, 4)
            tracker.motion(0)
            tracker.glimpse(reading([d for i, d in enumerate(lying) if i not in hidden], number))
        if rng.random() < 0.3:
            number += 5
            tracker.settle(reading([d for i, d in enumerate(lying) if i not in hidden], number))
        spots = rng.sample([(60.0 + 30 * i, 60.0 + 30 * j) for i in range(9) for j in range(9)], 8)
        after = [die(d.face, spots[i]) if i in hidden else d for i, d in enumerate(lying)]
        after = _apart(after, hidden)
        number += 20
        changes = tracker.settle(_noisy(reading(rng.sample(after, 8), number), rng))
        assert all(change.roll is None for change in changes)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.lists(st.sampled_from(FACES), min_size=8, max_size=8))
def test_a_seen_throw_is_a_roll_of_those_dice(seed: int, faces: list[Face]) -> None:
    rng = random.Random(seed)
    tracker = watching(tuple(faces))
    before = tracker.roll
    assert before is not None
    ids = sorted(rng.sample(range(8), rng.randint(2, 7)))
    landed = [rng.choice(FACES) for _ in ids]
    out_of_sight(tracker, *ids)
    fly(tracker)
    after = [d for i, d in enumerate(before.dice) if i not in ids] + dice(landed, ELSEWHERE)
    changes = tracker.settle(_noisy(reading(rng.sample(after, 8), 40), rng))
    roll = the_roll(changes)
    assert roll.rolled == tuple(ids)
    assert sorted(roll.faces) == sorted([f for i, f in enumerate(before.faces) if i not in ids] + landed)


def _known(tracker: RollTracker) -> list:
    return [known.at_rest for known in tracker._dice]


def _apart(lying: list, hidden: list[int]) -> list:
    """Moved dice must not lie on others: put those that would into a free row."""
    row = iter((70.0 + 30 * k, 420.0) for k in range(8))
    for i in hidden:
        near = any(math.dist(lying[i].centre, d.centre) < 25 for k, d in enumerate(lying) if k != i)
        if near:
            lying[i] = die(lying[i].face, next(row))
    return lying


def _noisy(seen: Reading, rng: random.Random) -> Reading:
    return shifted(seen, rng.gauss(0, 0.5), rng.gauss(0, 0.5))
