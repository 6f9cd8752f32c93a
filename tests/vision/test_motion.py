"""The motion gate: what moves, what only seems to, and what flies by itself."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from datasets.simulated_raids import FACES, HEIGHT, WIDTH, Scene, SceneDie, Stage, draw
from scorer.faces import Face
from vision.motion import Motion, MotionGate, difference, small_grey
from vision.reading import Frame, Image

DICE = tuple(SceneDie(60 + 45.0 * i, 150 + 20.0 * (i % 3), 13.0 * i, FACES[i % 6]) for i in range(8))
STILL = Scene(DICE)
NOISE = np.random.default_rng(7)


def watch(pictures: Sequence[Image], gate: MotionGate | None = None, fps: float = 15.0) -> list[Motion]:
    gate = gate or MotionGate()
    return [gate.look(Frame(image, n / fps, n)) for n, image in enumerate(pictures)]


def moved(motions: Sequence[Motion], after: int = 3) -> list[int]:
    return [n for n, motion in enumerate(motions) if motion.moving and n >= after]


@pytest.mark.parametrize("sigma", [0.5, 2.0, 5.0])
def test_noise_is_quiet(sigma: float) -> None:
    assert moved(watch([draw(STILL, NOISE, sigma=sigma) for _ in range(40)])) == []


def test_a_lamp_that_flickers_is_quiet() -> None:
    assert moved(watch([draw(STILL, NOISE, band=0.1 + 2.4 * n) for n in range(40)])) == []


def test_light_that_drifts_is_quiet() -> None:
    pictures = [draw(Scene(DICE, light=1 - 0.004 * n), NOISE) for n in range(100)]
    assert moved(watch(pictures)) == []


def test_a_lamp_that_is_switched_is_quiet_again_at_once() -> None:
    pictures = [draw(Scene(DICE, light=1.0 if n < 10 else 0.55), NOISE) for n in range(30)]
    assert not moved(watch(pictures), after=13)


@pytest.mark.parametrize("step", [0.6, 1.5, 6.0])
def test_a_die_that_moves_is_seen_however_slowly(step: float) -> None:
    def scene(n: int) -> Scene:
        return Scene((SceneDie(100 + step * max(0, n - 10), 150, 0, Face.COIN), *DICE[1:]))

    motions = watch([draw(scene(n), NOISE) for n in range(60)])
    assert not moved(motions[:10])
    assert len(moved(motions, after=12)) >= (48 if step > 1 else 10)


def test_a_die_that_turns_in_its_place_moves() -> None:
    pictures = [draw(Scene((SceneDie(200, 90, 31.0 * n, FACES[n % 6]), *DICE)), NOISE) for n in range(30)]
    assert len(moved(watch(pictures))) == 27


def test_dark_is_not_motion_to_judge() -> None:
    pictures = [draw(Scene(DICE, light=0.02 if 10 <= n < 20 else 1.0), NOISE) for n in range(40)]
    motions = watch(pictures)
    assert [motion.dark for motion in motions] == [10 <= n < 20 for n in range(40)]
    assert not moved(motions, after=23)


def test_quiet_is_counted_in_seconds() -> None:
    motions = watch([draw(STILL, NOISE) for _ in range(16)], fps=10)
    assert motions[-1].quiet_for == pytest.approx(1.5)


def directed(play: Callable[[Stage], None]) -> list[Motion]:
    stage = Stage(random.Random(3))
    stage.dice = list(DICE)
    stage.rest(0.5)
    start = len(stage.scenes)
    play(stage)
    gate = MotionGate()
    motions = []
    for n, scene in enumerate(stage.scenes):
        motions.append(gate.look(Frame(draw(scene, NOISE), n / 15, n)))
        if n == start - 1:
            gate.settled(25.0)
    return motions[start:]


def test_thrown_dice_are_lone_spots() -> None:
    motions = directed(lambda stage: stage.throw(range(8), [Face.COIN] * 8))
    assert sum(motion.lone > 0 for motion in motions) >= 3


@pytest.mark.parametrize("play", [
    lambda stage: stage.slide([0, 5], [(60, 60), (90, 60)]),
    lambda stage: stage.sweep([1, 2, 3], [(100, 330), (130, 330), (160, 330)]),
    lambda stage: stage.pick_up([2, 3]),
    lambda stage: stage.cover(1.0),
    lambda stage: stage.pass_shadow(),
], ids=["slide", "sweep", "pick up", "cover", "shadow"])
def test_hands_and_shadows_have_no_lone_spots(play: Callable[[Stage], None]) -> None:
    assert sum(motion.lone > 0 for motion in directed(play)) <= 2


def test_the_small_picture_keeps_the_shape() -> None:
    assert small_grey(np.zeros((1080, 1920, 3), np.uint8)).shape == (90, 160)
    assert small_grey(np.zeros((HEIGHT, WIDTH, 3), np.uint8)).shape == (120, 160)


def test_a_brighter_copy_differs_by_nothing() -> None:
    grey = small_grey(draw(STILL, NOISE))
    assert float(np.abs(difference(np.float32(1.3) * grey, grey)).mean()) < 1.0


def test_a_hand_over_half_of_the_rows_is_no_lamp() -> None:
    with_hand = Scene(DICE, hand=(0.0, 0.0, WIDTH * 0.8, 200.0))
    motions = watch([draw(STILL, NOISE)] * 5 + [draw(with_hand, NOISE)])
    assert motions[-1].moving
