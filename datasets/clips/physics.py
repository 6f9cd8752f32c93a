"""Throws eight dice with rigid-body physics (MuJoCo) and says where each is, moment by moment, until all lie still.

Inside, lengths are centimetres and masses grams: dice of 1.6 cm would be badly conditioned in metres. Outside, all is
millimetres and seconds, as everywhere in the renderer. Which face comes up is not left to chance: a throw is simulated,
and `turned_to_show` then finds the turn of the die in the hand that brings the wanted face up in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from datasets.quick.body import FACE_AXES, Floats
from datasets.quick.scene import Skin

RATE = 120
"""Poses kept a second."""
_STEP = 0.001
_GRAVITY = 981.0
_MASS = 5.0
_LONGEST_S = 3.0

Area = tuple[float, float, float, float]
"""x0, y0, x1, y1 in mm on the table."""


class ThrowFailed(RuntimeError):
    """No throw in many ended as wished (a die leaned, or lay on what it must not lie on)."""


@dataclass(frozen=True, slots=True, eq=False)
class Flight:
    """A simulated throw: `n` dice over time, `RATE` poses a second."""

    positions: Floats
    """(frames, n, 3) mm."""
    rotations: Floats
    """(frames, n, 3, 3)."""

    @property
    def seconds(self) -> float:
        """From the release to the moment in which the last die lies still."""
        return (len(self.positions) - 1) / RATE

    def at(self, t: float) -> tuple[Floats, Floats]:
        """Positions (n, 3) and rotations (n, 3, 3), `t` seconds after the release."""
        i = int(np.clip(round(t * RATE), 0, len(self.positions) - 1))
        return self.positions[i], self.rotations[i]


@dataclass(frozen=True, slots=True)
class Throw:
    """How dice leave the hand."""

    start: tuple[float, float, float]
    """Where the hand opens, mm."""
    velocity: tuple[float, float, float]
    """mm a second."""
    area: Area
    """What the dice cannot roll out of."""


def _world(edge: float, throw: Throw, thrown: int, lying: Floats) -> str:
    x0, y0, x1, y1 = (v / 10 for v in throw.area)
    half = edge / 20
    box = f'type="box" size="{half} {half} {half}"'
    walls = "".join(
        f'<geom type="plane" size="60 60 1" pos="{x} {y} 0" zaxis="{ax} {ay} 0" friction="0.2 0.002 0.0001"/>'
        for x, y, ax, ay in ((x0, 0, 1, 0), (x1, 0, -1, 0), (0, y0, 0, 1), (0, y1, 0, -1))
    )
    fixed = "".join(f'<geom {box} pos="{p[0] / 10} {p[1] / 10} {half}"/>' for p in lying)
    dice = "".join(f'<body name="d{i}"><freejoint/><geom {box} mass="{_MASS}"/></body>' for i in range(thrown))
    return f"""<mujoco><option timestep="{_STEP}" gravity="0 0 -{_GRAVITY}" integrator="implicitfast" cone="elliptic"/>
      <default><geom friction="0.34 0.003 0.0001" solref="-60000 -70" condim="4" margin="0.005"/></default>
      <worldbody><geom type="plane" size="60 60 1"/>{walls}{fixed}{dice}</worldbody></mujoco>"""


def _heap(n: int, edge: float, rng: np.random.Generator) -> Floats:
    """(n, 3) places in cm, none through another: how dice lie in a closed hand."""
    gap = edge / 10 * 1.75  # a cube's diagonal is 1.73 edges
    cells = np.array([(x, y, z) for z in range(2) for y in (-0.5, 0.5) for x in (-0.5, 0.5)], np.float32)
    return (cells[rng.permutation(len(cells))[:n]] * gap).astype(np.float32)


def _random_turns(n: int, rng: np.random.Generator) -> Floats:
    q = rng.standard_normal((n, 4))
    return (q / np.linalg.norm(q, axis=1, keepdims=True)).astype(np.float32)


def simulate(
    throw: Throw, thrown: int, rng: np.random.Generator, *, edge: float = 16.0, lying: Sequence[Floats] = ()
) -> Flight:
    """Throw up to eight dice; `lying` are (3,) places of dice that stay where they are, whatever hits them."""
    model = mujoco.MjModel.from_xml_string(_world(edge, throw, thrown, np.array(lying, np.float32).reshape(-1, 3)))
    data = mujoco.MjData(model)
    x0, y0, x1, y1 = throw.area
    room = 1.7 * edge  # the heap in the hand must not begin inside a wall
    x, y = np.clip(throw.start[0], x0 + room, x1 - room), np.clip(throw.start[1], y0 + room, y1 - room)
    start = np.array([x, y, throw.start[2]]) / 10 + _heap(thrown, edge, rng)
    speed = np.array(throw.velocity) / 10
    for i in range(thrown):
        data.qpos[7 * i : 7 * i + 3] = start[i]
        data.qpos[7 * i + 3 : 7 * i + 7] = _random_turns(1, rng)[0]
        data.qvel[6 * i : 6 * i + 3] = speed * rng.uniform(0.75, 1.2) + rng.normal(0, 7, 3)
        data.qvel[6 * i + 3 : 6 * i + 6] = rng.normal(0, 16, 3)
    mujoco.mj_forward(model, data)  # poses of the very first moment
    each = round(1 / RATE / _STEP)
    positions, rotations = [], []
    still = 0
    for _ in range(int(_LONGEST_S * RATE)):
        positions.append(data.xpos[1:].astype(np.float32) * 10)
        rotations.append(data.xmat[1:].reshape(-1, 3, 3).astype(np.float32))
        mujoco.mj_step(model, data, each)
        speeds = data.qvel.reshape(-1, 6)
        quiet = np.abs(speeds[:, :3]).max() < 0.9 and np.abs(speeds[:, 3:]).max() < 1.3
        still = still + 1 if quiet else 0
        if still >= 7:
            break
    else:
        raise ThrowFailed(f"expected dice to lie still within {_LONGEST_S} s: throw them again")
    return Flight(np.array(positions), np.array(rotations))


def leans(rotation: Floats) -> float:
    """Degrees between the most upward side of a die and level."""
    return float(np.rad2deg(np.arccos(min(1.0, float(np.abs(rotation[2]).max())))))


CUBE_TURNS: tuple[npt.NDArray[np.float32], ...] = tuple(
    np.array(m, np.float32)
    for m in (
        np.stack([np.eye(3)[axis] * sign for axis, sign in zip(axes, signs, strict=True)], 1)
        for axes in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
        for signs in ((a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1))
    )
    if np.linalg.det(m) > 0
)
"""The 24 turns that carry a cube onto itself."""


def upward(rotation: Floats) -> int:
    """Number of the side (as in `body.FACE_AXES`) that looks up."""
    return int(np.argmax([sign * rotation[2, axis] for axis, sign in FACE_AXES]))


def turned_to_show(face: str, skin: Skin, final: Floats, rng: np.random.Generator) -> Floats:
    """(3, 3) turn of the die's own body, so that `skin` shows `face` upward when its body lies as `final` says.

    Multiply the rotations of a whole flight by it from the right. Raises `ValueError` for a face that is not on it.
    """
    ways = [turn for turn in CUBE_TURNS if skin.faces[upward(final @ turn)] == face]
    if not ways:
        raise ValueError(f"expected one of the faces {skin.faces}, got {face!r}: choose another skin")
    return ways[int(rng.integers(len(ways)))]


def throw_well(
    throw: Throw,
    thrown: int,
    rng: np.random.Generator,
    *,
    edge: float = 16.0,
    lying: Sequence[Floats] = (),
    forbidden: Sequence[Floats] = (),
    tries: int = 40,
) -> Flight:
    """Throw until all dice lie flat, side by side, and none on a `forbidden` convex area ((k, 2) mm each).

    Raises `ThrowFailed` after `tries`.
    """
    import cv2

    for _ in range(tries):
        try:
            flight = simulate(throw, thrown, rng, edge=edge, lying=lying)
        except ThrowFailed:
            continue
        at, turned = flight.positions[-1], flight.rotations[-1]
        flat = all(leans(r) < 2.5 for r in turned) and all(abs(p[2] - edge / 2) < edge * 0.12 for p in at)
        free = all(
            cv2.pointPolygonTest(area.astype(np.float32), (float(p[0]), float(p[1])), True) < -edge * 0.75
            for area in forbidden
            for p in at
        )
        if flat and free:
            return flight
    raise ThrowFailed(
        f"expected a throw of {thrown} dice to end flat and beside the card, none of {tries} did: give it more room"
    )


def by_number(faces: Mapping[int, str] | Sequence[str]) -> dict[int, str]:
    """Faces by die, from a list of all eight or a mapping."""
    return dict(faces) if isinstance(faces, Mapping) else dict(enumerate(faces))
