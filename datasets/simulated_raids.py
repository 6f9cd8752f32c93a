"""Raids played by a simple stand-in for a table: small drawn frames, and readings as faulty as real ones.

For checks of everything behind the reader (motion gate, settling, roll tracker, referee) in great numbers, where
rendering would take days. A `Stage` is directed like a play: `throw`, `pick_up`, `slide`, `cover`, `bump`,
`lights_off`, … each appends frames. `SimulatedReader` reads a frame of the stage with jitter, dropouts, ghosts, unsure
and wrong faces. The pictures are drawn for the motion gate only: no detector could be tested on them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from scorer.faces import DICE, Face
from vision.reading import Box, CardReading, DieReading, Frame, Image, Problem, Reading, Status

FACES = tuple(Face)
WIDTH, HEIGHT = 480, 360
DIE = 20.0
"""Edge of a die, pixels."""

_INK = {Face.COIN: (60, 160, 220), Face.DIAMOND: (150, 110, 40), Face.MONKEY: (60, 60, 100),
        Face.PARROT: (70, 110, 70), Face.SABERS: (120, 110, 100), Face.SKULL: (40, 40, 40)}


@dataclass(frozen=True, slots=True)
class SceneDie:
    """A die at one moment."""

    x: float
    y: float
    angle: float
    face: Face
    speed: float = 0.0
    """Pixels a frame; above a few it is blurred."""
    in_hand: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """The table at one moment."""

    dice: tuple[SceneDie, ...]
    hand: Box | None = None
    """What reaches in: always from the upper border."""
    cloth: Box | None = None
    """A sleeve or a sheet of paper over the dice: hides them, and no detector knows it."""
    card: str | None = None
    card_at: tuple[float, float] = (400.0, 250.0)
    light: float = 1.0
    shadow: float | None = None
    """x of the middle of a passing shadow."""
    camera: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Shift in pixels and turn in degrees of the whole picture."""
    ninth: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """How often a reading is wrong, and how. Shares of dice and frames."""

    jitter: float = 0.4
    """Standard deviation of a box's place, pixels."""
    dropout: float = 0.006
    """A die at rest that one frame misses."""
    flicker: float = 0.01
    """A die at rest that one frame reads wrong (with low certainty)."""
    hard: float = 0.006
    """A die at rest that stays unsure for as long as it lies like that."""
    hard_wrong: float = 0.35
    """How often a hard die is read wrong more often than not."""
    ghost: float = 0.002
    """A frame with a ninth box on one die."""
    dropped_frames: float = 0.0


@dataclass(slots=True)
class Truth:
    """A roll that was really made."""

    frame: int
    """The first frame in which all dice are at rest."""
    faces: tuple[Face, ...]
    rolled: tuple[int, ...]


@dataclass(slots=True)
class Stage:
    """Directs a clip, frame by frame. Dice are numbered 0 to 7 here; the tracker has numbers of its own."""

    rng: random.Random
    fps: float = 15.0
    card: str | None = None
    scenes: list[Scene] = field(default_factory=list)
    truths: list[Truth] = field(default_factory=list)
    dice: list[SceneDie] = field(default_factory=list)
    now: Scene = field(default_factory=lambda: Scene(()))

    def __post_init__(self) -> None:
        if not self.dice:
            self.dice = [SceneDie(0, 0, 0, Face.COIN, in_hand=True) for _ in range(DICE)]
        self.now = replace(self.now, card=self.card)

    # -- directing ------------------------------------------------------------------------------------------------

    def rest(self, seconds: float) -> None:
        """Nothing happens."""
        for _ in range(max(1, round(seconds * self.fps))):
            self._shoot()

    def throw(self, ids: Sequence[int], faces: Sequence[Face]) -> None:
        """Dice leave a hand at the border, tumble over the table, and lie. The roll is noted."""
        targets = self._free_places(len(ids), [i for i in range(DICE) if i not in ids])
        start = self.rng.uniform(120, 360)
        length = [self.rng.uniform(0.45, 1.1) for _ in ids]
        frames = max(2, math.ceil(max(length) * self.fps))
        for n in range(1, frames + 1):
            for k, i in enumerate(ids):
                s = min(1.0, n / (length[k] * self.fps))
                way = 1 - (1 - s) ** 2
                x = start + (targets[k][0] - start) * way
                y = -10 + (targets[k][1] + 10) * way - 30 * abs(math.sin(3 * math.pi * s)) * (1 - s)
                old = self.dice[i]
                speed = math.hypot(x - old.x, y - old.y) if n > 1 else 30.0
                face = faces[k] if s > 0.93 else self.rng.choice(FACES)
                # It lies at the angle that it turned to last.
                angle = old.angle if s >= 1.0 and not old.in_hand and old.speed == 0 else self.rng.uniform(0, 90)
                self.dice[i] = SceneDie(x, y, angle, face, 0.0 if s >= 1.0 else max(speed, 2.5))
            self._shoot(hand=(start - 45, 0, start + 45, 70) if n < 0.3 * self.fps else None)
        for k, i in enumerate(ids):
            self.dice[i] = replace(self.dice[i], x=targets[k][0], y=targets[k][1], face=faces[k], speed=0.0)
        self.truths.append(Truth(len(self.scenes), tuple(die.face for die in self.dice), tuple(sorted(ids))))

    def pick_up(self, ids: Sequence[int]) -> None:
        """A hand takes dice, one after the other, and leaves with them."""
        for i in ids:
            die = self.dice[i]
            for n in range(max(2, round(0.25 * self.fps))):
                reach = min(1.0, (n + 1) / (0.15 * self.fps))
                self._shoot(hand=self._hand_over(die.x, die.y, reach))
            self.dice[i] = replace(die, in_hand=True)
        last = self.dice[ids[-1]]
        for n in range(max(2, round(0.25 * self.fps))):
            self._shoot(hand=self._hand_over(last.x, last.y, 1 - (n + 1) / (0.25 * self.fps)))

    def put_down(self, ids: Sequence[int], places: Sequence[tuple[float, float]] | None = None) -> None:
        """A hand puts dice down again as they were."""
        where = list(places or self._free_places(len(ids), [i for i in range(DICE) if i not in ids]))
        for i, (x, y) in zip(ids, where, strict=True):
            for n in range(max(2, round(0.3 * self.fps))):
                self._shoot(hand=self._hand_over(x, y, min(1.0, (n + 1) / (0.15 * self.fps))))
            self.dice[i] = SceneDie(x, y, self.rng.uniform(0, 90), self.dice[i].face)
        for n in range(max(2, round(0.25 * self.fps))):
            self._shoot(hand=self._hand_over(*where[-1], 1 - (n + 1) / (0.25 * self.fps)))

    def slide(self, ids: Sequence[int], places: Sequence[tuple[float, float]], *, seconds: float = 0.6) -> None:
        """A finger pushes dice, one after the other; most of the die stays in view."""
        for i, (x, y) in zip(ids, places, strict=True):
            old = self.dice[i]
            frames = max(3, round(seconds * self.fps))
            turn = self.rng.uniform(-30, 30)
            for n in range(1, frames + 1):
                s = 0.5 - 0.5 * math.cos(math.pi * n / frames)
                nx, ny = old.x + (x - old.x) * s, old.y + (y - old.y) * s
                speed = math.hypot(x - old.x, y - old.y) / frames
                self.dice[i] = SceneDie(nx, ny, old.angle + turn * s, old.face, speed)
                self._shoot(hand=(nx - 14, 0, nx + 14, ny - 4))
            self.dice[i] = replace(self.dice[i], speed=0.0)
        self._withdraw(self.dice[ids[-1]].x, self.dice[ids[-1]].y)

    def sweep(self, ids: Sequence[int], places: Sequence[tuple[float, float]]) -> None:
        """A whole hand lies over dice and pushes them together: they are out of view."""
        old = [self.dice[i] for i in ids]
        frames = max(4, round(0.9 * self.fps))
        for n in range(1, frames + 1):
            s = n / frames
            for k, i in enumerate(ids):
                x, y = old[k].x + (places[k][0] - old[k].x) * s, old[k].y + (places[k][1] - old[k].y) * s
                self.dice[i] = replace(self.dice[i], x=x, y=y, speed=0.0)
            spots = [self.dice[i] for i in ids]
            left, right = min(d.x for d in spots) - 25, max(d.x for d in spots) + 25
            self._shoot(hand=(left, 0, right, max(d.y for d in spots) + 25))
        spots = [self.dice[i] for i in ids]
        self._withdraw((min(d.x for d in spots) + max(d.x for d in spots)) / 2, max(d.y for d in spots) + 10)

    def cover(self, seconds: float, *, cloth: bool = True) -> None:
        """Something lies over part of the table for a while: a sleeve (unknown to the detector) or a hand."""
        x = self.rng.uniform(60, 220)
        box = (x, 0.0, x + self.rng.uniform(120, 220), self.rng.uniform(200, 330))
        frames = max(2, round(0.2 * self.fps))
        for n in range(frames):
            self._cover(box, (n + 1) / frames, cloth)
        for _ in range(max(1, round(seconds * self.fps))):
            self._cover(box, 1.0, cloth)
        for n in range(frames):
            self._cover(box, 1 - (n + 1) / frames, cloth)

    def pass_shadow(self) -> None:
        """Somebody leans between lamp and table."""
        frames = max(3, round(1.2 * self.fps))
        for n in range(frames):
            self._shoot(shadow=-100 + 700 * n / frames)

    def bump(self, dx: float, dy: float, degrees: float) -> None:
        """The camera or the table is knocked: the picture jumps, wobbles, and stays shifted."""
        for wobble in (1.4, 0.8, 1.1, 1.0):
            self.now = replace(self.now, camera=(dx * wobble, dy * wobble, degrees * wobble))
            self._shoot()

    def lights_off(self, seconds: float) -> None:
        """Dark for a while."""
        for _ in range(max(1, round(seconds * self.fps))):
            self._shoot(light=0.02)

    def lamp(self, gain: float) -> None:
        """Somebody switches a lamp: from now on it is brighter or darker."""
        self.now = replace(self.now, light=gain)
        self._shoot()

    def ninth_die(self) -> None:
        """A die of another game rolls through the picture."""
        y = self.rng.uniform(60, 300)
        frames = max(4, round(0.9 * self.fps))
        for n in range(frames):
            self._shoot(ninth=(-15 + 520 * n / frames, y + 20 * math.sin(n)))

    def spin(self, die: int, seconds: float) -> None:
        """A die turns on a corner in its place before it falls; the last roll is at rest only afterwards."""
        self.truths[-1].frame += max(1, round(seconds * self.fps))
        final = self.dice[die]
        for n in range(max(1, round(seconds * self.fps))):
            face = FACES[n % 6] if n % 3 else final.face
            self.dice[die] = replace(final, angle=final.angle + 37.0 * (n + 1), face=face, speed=1.5)
            self._shoot()
        self.dice[die] = final

    def place_card(self, name: str | None) -> None:
        """A hand lays a card, or (None) takes it away."""
        x, y = self.now.card_at
        for n in range(max(2, round(0.3 * self.fps))):
            self._shoot(hand=(x - 30, 0, x + 30, y * (n + 1) / (0.3 * self.fps)))
        self.now = replace(self.now, card=name)
        self._withdraw(x, y)

    def row_places(self, count: int, *, y: float = 60.0) -> list[tuple[float, float]]:
        """Places for dice set aside in a row."""
        x0 = self.rng.uniform(60, 120)
        return [(x0 + k * 1.25 * DIE, y) for k in range(count)]

    # -- shooting -------------------------------------------------------------------------------------------------

    def _shoot(self, *, hand: Box | None = None, cloth: Box | None = None, shadow: float | None = None,
               light: float | None = None, ninth: tuple[float, float] | None = None) -> None:
        scene = replace(self.now, dice=tuple(self.dice), hand=hand, cloth=cloth, shadow=shadow, ninth=ninth,
                        light=self.now.light if light is None else light)
        self.scenes.append(scene)

    def _cover(self, box: Box, share: float, cloth: bool) -> None:
        part = (box[0], box[1], box[2], box[3] * share)
        self._shoot(cloth=part if cloth else None, hand=None if cloth else part)

    def _hand_over(self, x: float, y: float, reach: float) -> Box:
        return (x - 22, 0.0, x + 22, max(1.0, (y + 14) * min(1.0, max(0.0, reach))))

    def _withdraw(self, x: float, y: float) -> None:
        frames = max(2, round(0.2 * self.fps))
        for n in range(frames):
            self._shoot(hand=self._hand_over(x, y, 1 - (n + 1) / frames))

    def _free_places(self, count: int, standing: Sequence[int]) -> list[tuple[float, float]]:
        taken = [(self.dice[i].x, self.dice[i].y) for i in standing if not self.dice[i].in_hand]
        places: list[tuple[float, float]] = []
        while len(places) < count:
            x, y = self.rng.uniform(50, 340), self.rng.uniform(110, 310)
            if all(math.hypot(x - a, y - b) > 1.45 * DIE for a, b in taken + places):
                places.append((x, y))
        return places


def draw(scene: Scene, noise: np.random.Generator, *, sigma: float = 2.0, band: float = 0.0) -> Image:
    """A frame of `scene` ((360, 480, 3) uint8 BGR) with sensor noise and, if wanted, 100 Hz bands of phase `band`."""
    image = _TABLE.copy()
    if scene.card:
        x, y = scene.card_at
        cv2.rectangle(image, (int(x - 30), int(y - 48)), (int(x + 30), int(y + 48)), (190, 200, 215), -1)
        cv2.circle(image, (int(x), int(y)), 20, (60, 60, 140), -1)
    for die in scene.dice:
        if not die.in_hand:
            _draw_die(image, die)
    if scene.ninth:
        _draw_die(image, SceneDie(*scene.ninth, angle=scene.ninth[0] * 3, face=Face.SKULL, speed=20))
    for box, colour in ((scene.cloth, (70, 50, 40)), (scene.hand, (120, 150, 200))):
        if box and box[3] > 1:
            cv2.rectangle(image, (int(box[0]), int(box[1])), (int(box[2]), int(box[3])), colour, -1)
    if any(scene.camera):
        image = _shift(image, scene.camera)
    if scene.shadow is None and not band:
        lit = cv2.convertScaleAbs(image, alpha=scene.light) if scene.light != 1 else image
        return _noisy(np.asarray(lit, dtype=np.uint8), noise, sigma)
    picture = image.astype(np.float32) * scene.light
    if scene.shadow is not None:
        across = np.arange(WIDTH, dtype=np.float32)
        picture *= (1 - 0.35 * np.exp(-(((across - scene.shadow) / 90) ** 2)))[None, :, None]
    if band:
        picture *= (1 + 0.06 * np.sin(np.arange(HEIGHT, dtype=np.float32) / 25 + band))[:, None, None]
    return _noisy(np.clip(picture, 0, 255).astype(np.uint8), noise, sigma)


def _table() -> Image:
    rng = np.random.default_rng(3)
    wood = rng.normal(0, 10, (HEIGHT // 4, WIDTH // 16)).astype(np.float32)
    grain = cv2.resize(wood, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
    base = np.array([70, 95, 125], dtype=np.float32)
    return np.clip(base + grain[..., None], 0, 255).astype(np.uint8)


_TABLE = _table()
_GRAIN: dict[float, tuple[Image, Image]] = {}


def _noisy(image: Image, noise: np.random.Generator, sigma: float) -> Image:
    """Noise by a random cut from a bigger field: as good for this purpose, and many times faster."""
    if sigma not in _GRAIN:
        field_ = np.random.default_rng(5).normal(0, sigma, (HEIGHT + 64, WIDTH + 64, 1)).repeat(3, axis=2)
        brighter, darker = (np.clip(np.rint(part), 0, 255).astype(np.uint8) for part in (field_, -field_))
        _GRAIN[sigma] = brighter, darker
    dx, dy = noise.integers(0, 64, 2)
    cut = (slice(dy, dy + HEIGHT), slice(dx, dx + WIDTH))
    brighter, darker = (part[cut] for part in _GRAIN[sigma])
    return np.asarray(cv2.subtract(cv2.add(image, brighter), darker), dtype=np.uint8)


def _draw_die(image: Image, die: SceneDie) -> None:
    corners = cv2.boxPoints(((die.x, die.y), (DIE, DIE), die.angle))
    cv2.fillConvexPoly(image, corners.astype(np.int32), (228, 232, 235), lineType=cv2.LINE_AA)
    c, s = math.cos(math.radians(die.angle)), math.sin(math.radians(die.angle))
    n = FACES.index(die.face)
    mark = np.array([[-6, -6], [6, -5 + n], [4 - n, 6]], dtype=np.float64) @ np.array([[c, s], [-s, c]])
    cv2.fillConvexPoly(image, (mark + np.array([die.x, die.y])).astype(np.int32), _INK[die.face], lineType=cv2.LINE_AA)


def _matrix(camera: tuple[float, float, float]) -> np.ndarray:
    matrix = cv2.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), camera[2], 1.0)
    matrix[:, 2] += np.array(camera[:2])
    return np.asarray(matrix)


def _shift(image: Image, camera: tuple[float, float, float]) -> Image:
    return cv2.warpAffine(image, _matrix(camera), (WIDTH, HEIGHT), borderMode=cv2.BORDER_REFLECT).astype(np.uint8)


class SimulatedReader:
    """Reads frames of a stage by their number, about as well and as badly as a real reader."""

    def __init__(self, scenes: Sequence[Scene], rng: random.Random, errors: ErrorRates | None = None) -> None:
        self._scenes, self._rng, self._errors = scenes, rng, errors or ErrorRates()
        self._hard: dict[tuple[int, float, float, Face], tuple[Face, float] | None] = {}

    def read(self, image: Image, *, t: float = 0.0, number: int = 0) -> Reading:
        """What the reader makes of frame `number`."""
        scene = self._scenes[number]
        if scene.light < 0.1:
            return Reading(Status.DOUBTFUL, (Problem.TOO_DARK, Problem.NO_DICE), (), None, t, number)
        dice = [self._die(n, die, scene) for n, die in enumerate(scene.dice) if self._seen(die, scene)]
        seen = [die for die in dice if die is not None]
        if scene.ninth and self._rng.random() < 0.6:
            seen.append(self._box(SceneDie(*scene.ninth, 0, Face.SKULL), Face.SKULL, 0.5, scene))
        if seen and self._rng.random() < self._errors.ghost:
            twin = self._rng.choice(seen)
            x0, y0, x1, y1 = twin.box
            box = (x0 + 8, y0 + 2, x1 + 8, y1 + 2)
            seen.append(replace(twin, box=box, certainty=0.5, problems=(Problem.UNSURE_FACE,)))
        self._rng.shuffle(seen)
        problems = {p for die in seen for p in die.problems}
        if len(seen) != DICE:
            problems.add(Problem.NO_DICE if not seen else
                         Problem.TOO_FEW_DICE if len(seen) < DICE else Problem.TOO_MANY_DICE)
        hands: tuple[Box, ...] = ()
        if scene.hand and scene.hand[3] > 25 and self._rng.random() < 0.9:
            hands = (self._carry(scene.hand, scene),)
            problems.add(Problem.HAND)
        status = Status.DOUBTFUL if problems else Status.CERTAIN
        ordered = tuple(p for p in Problem if p in problems)
        return Reading(status, ordered, tuple(seen), self._card(scene), t, number, hands)

    def _seen(self, die: SceneDie, scene: Scene) -> bool:
        if die.in_hand or die.y < 5:
            return False
        for box in (scene.hand, scene.cloth):
            if box and box[0] - 4 <= die.x <= box[2] + 4 and die.y <= box[3] + 2:
                return False
        if die.speed > 4:
            return self._rng.random() < 0.6
        return self._rng.random() >= self._errors.dropout

    def _die(self, n: int, die: SceneDie, scene: Scene) -> DieReading:
        rng = self._rng
        if die.speed > 1:
            sure = rng.uniform(0.3, 0.9)
            face = die.face if rng.random() < sure else rng.choice(FACES)
            return self._box(die, face, sure, scene)
        hard = self._hardness(n, die)
        if hard is not None:
            face = hard[0] if rng.random() < 0.85 else die.face
            return self._box(die, face, min(0.94, max(0.4, rng.gauss(hard[1], 0.08))), scene)
        if rng.random() < self._errors.flicker:
            return self._box(die, rng.choice(FACES), rng.uniform(0.4, 0.85), scene)
        return self._box(die, die.face, min(1.0, 1 - abs(rng.gauss(0, 0.012))), scene)

    def _hardness(self, n: int, die: SceneDie) -> tuple[Face, float] | None:
        key = (n, round(die.x, 1), round(die.y, 1), die.face)
        if key not in self._hard:
            self._hard[key] = None
            if self._rng.random() < self._errors.hard:
                wrong = self._rng.random() < self._errors.hard_wrong
                other = self._rng.choice([face for face in FACES if face is not die.face])
                self._hard[key] = (other if wrong else die.face, self._rng.uniform(0.55, 0.85))
        return self._hard[key]

    def _box(self, die: SceneDie, face: Face, certainty: float, scene: Scene) -> DieReading:
        j = self._errors.jitter
        x, y = self._place(die.x + self._rng.gauss(0, j), die.y + self._rng.gauss(0, j), scene)
        half = DIE * 0.62
        others = [f for f in FACES if f is not face]
        rest = (1 - certainty) / len(others)
        alternatives = tuple((f, rest) for f in others)
        if certainty < 0.9 and face is not die.face:
            alternatives = ((die.face, 1 - certainty), *((f, 0.0) for f in others if f is not die.face))
        problems = (Problem.UNSURE_FACE,) if certainty < 0.9 else ()
        on_card = scene.card is not None and _on_card(die, scene)
        box = (x - half, y - half, x + half, y + half)
        return DieReading(face, certainty, box, alternatives, False, on_card, problems)

    def _place(self, x: float, y: float, scene: Scene) -> tuple[float, float]:
        if not any(scene.camera):
            return x, y
        nx, ny = _matrix(scene.camera) @ np.array([x, y, 1.0])
        return float(nx), float(ny)

    def _carry(self, box: Box, scene: Scene) -> Box:
        x0, y0 = self._place(box[0], box[1], scene)
        x1, y1 = self._place(box[2], box[3], scene)
        return (x0, y0, x1, y1)

    def _card(self, scene: Scene) -> CardReading | None:
        if scene.card is None:
            return None
        x, y = scene.card_at
        for box in (scene.hand, scene.cloth):
            if box and box[0] < x + 25 and box[2] > x - 25 and box[3] > y - 40:
                return None
        covered = sum(_on_card(die, scene) and not die.in_hand for die in scene.dice)
        if covered >= 4:
            return None
        corners = tuple(self._place(x + dx, y + dy, scene) for dx, dy in ((-30, -48), (30, -48), (30, 48), (-30, 48)))
        certainty = min(1.0, 1 - abs(self._rng.gauss(0, 0.015))) if covered < 3 else self._rng.uniform(0.6, 0.95)
        return CardReading(scene.card, certainty, corners)


def _on_card(die: SceneDie, scene: Scene) -> bool:
    return abs(die.x - scene.card_at[0]) <= 30 and abs(die.y - scene.card_at[1]) <= 48


def play(stage: Stage, rng: random.Random, *, errors: ErrorRates | None = None,
         flicker: bool = False) -> Iterator[Frame]:
    """The frames of a stage, some of them dropped, with noise and (if wanted) lamp flicker."""
    noise = np.random.default_rng(rng.randrange(1 << 30))
    dropped = (errors or ErrorRates()).dropped_frames
    for number, scene in enumerate(stage.scenes):
        if dropped and rng.random() < dropped:
            continue
        band = 2.4 * number if flicker else 0.0
        yield Frame(draw(scene, noise, band=band), number / stage.fps, number)
