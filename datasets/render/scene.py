"""What lies where in a layer: poses of dice, lamps and the lens, drawn from a seed. Numpy only.

World: die edges of our dice (16 mm), the table is z = 0. Camera: x right, y down, z into the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from .shape import BodyShape, Floats, Mesh

EDGE_MM = 16.0


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """One die: `rotation` (3, 3) and `position` (3,) of its middle, edges; `size` relative to ours."""

    rotation: Floats
    position: Floats
    size: float = 1.0
    how: str = "flat"
    """"flat", "leaning" or "stacked"."""

    def to_world(self, points: Floats) -> Floats:
        """Die frame (n, 3) → table frame."""
        return np.asarray(points @ self.rotation.T * self.size + self.position)

    def to_die(self, points: Floats) -> Floats:
        """Table frame (n, 3) → die frame."""
        return np.asarray((points - self.position) @ self.rotation / self.size)


@dataclass(frozen=True, slots=True, eq=False)
class Lens:
    """A pinhole camera: `rotation` (3, 3) table → camera, `origin` (3,), focal length and size in pixels."""

    rotation: Floats
    origin: Floats
    target: Floats
    up: Floats
    focal: float
    width: int
    height: int
    tilt: float
    """Degrees off straight down."""

    def project(self, points: Floats) -> Floats:
        """Table frame (n, 3) → pixels (n, 2)."""
        p = (points - self.origin) @ self.rotation.T
        return np.asarray(p[:, :2] / p[:, 2:] * self.focal + np.array([self.width, self.height]) / 2)

    @property
    def homography(self) -> Floats:
        """(3, 3): table plane (x, y, 1) in edges → pixels."""
        k = np.array([[self.focal, 0, self.width / 2], [0, self.focal, self.height / 2], [0, 0, 1.0]])
        r = self.rotation
        return np.asarray(k @ np.stack([r[:, 0], r[:, 1], -r @ self.origin], 1))


@dataclass(frozen=True, slots=True, eq=False)
class Lamp:
    """A glowing rectangle aimed at the table's middle."""

    position: Floats
    half_width: float
    half_height: float
    radiance: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Lighting:
    """All lamps, the even light from around, and the table's reflectance."""

    lamps: tuple[Lamp, ...]
    ambient: Floats
    table: Floats


def _cube_turns() -> tuple[Floats, ...]:
    turns = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            m = np.zeros((3, 3))
            for row, (column, sign) in enumerate(zip(order, signs, strict=True)):
                m[row, column] = sign
            if np.linalg.det(m) > 0:
                turns.append(m)
    return tuple(turns)


CUBE_TURNS = _cube_turns()


def yaw(angle: float) -> Floats:
    """Turn about the vertical, radians."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


def about(axis: Floats, angle: float) -> Floats:
    """Turn about a unit `axis` (3,), radians."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k)


@dataclass(frozen=True, slots=True, eq=False)
class Packer:
    """Lays dice so that none cuts into another."""

    shape: BodyShape
    points: Floats
    """(n, 3) surface points of the body."""

    @classmethod
    def of(cls, shape: BodyShape, mesh: Mesh) -> Packer:
        """A packer for bodies of `shape`."""
        return cls(shape, mesh.vertices[::3])

    def cuts(self, a: Pose, b: Pose) -> bool:
        """Do two dice overlap?"""
        if np.linalg.norm(a.position - b.position) > 0.66 * (a.size + b.size) + 0.02:
            return False
        return bool(
            self.shape.distance(b.to_die(a.to_world(self.points))).min() < -0.008
            or self.shape.distance(a.to_die(b.to_world(self.points))).min() < -0.008
        )

    def free(self, pose: Pose, others: list[Pose]) -> bool:
        """Is there room for `pose`?"""
        return not any(self.cuts(pose, other) for other in others)

    def rest(self, rotation: Floats, xy: Floats, size: float, how: str) -> Pose:
        """Lower a die of this rotation until it touches the table."""
        z = -float((self.points @ rotation.T)[:, 2].min()) * size
        return Pose(rotation, np.array([xy[0], xy[1], z]), size, how)


def _flat(rng: np.random.Generator, angle: float) -> Floats:
    return np.asarray(yaw(angle) @ CUBE_TURNS[rng.integers(24)])


def _flat_dice(rng: np.random.Generator, packer: Packer, sizes: list[float], reach: float) -> list[Pose]:
    pattern = str(rng.choice(["spread", "cluster", "row", "block"], p=[0.5, 0.3, 0.1, 0.1]))
    out: list[Pose] = []
    base = rng.uniform(0, 2 * np.pi)
    columns = len(sizes) if pattern == "row" else int(np.ceil(np.sqrt(len(sizes)) * rng.uniform(0.9, 1.6)))
    for k, size in enumerate(sizes):
        for attempt in range(60):
            if pattern in ("row", "block") and attempt == 0 and size == 1.0:
                gap = 1.002 + rng.choice([0.0, 0.0, 0.02, 0.1])
                cell = np.array([k % columns - (columns - 1) / 2, k // columns - len(sizes) / columns / 2])
                xy = (yaw(base)[:2, :2] @ (cell * gap)) + rng.normal(0, 0.003, 2)
                angle = base + rng.normal(0, 0.01)
            else:
                wide = reach if pattern == "spread" else reach * (0.32 + attempt / 90)
                xy = rng.uniform(-wide, wide, 2)
                angle = rng.uniform(0, 2 * np.pi)
            if np.abs(xy).max() > reach * 1.05:
                continue
            pose = packer.rest(_flat(rng, angle), xy, size, "flat")
            if packer.free(pose, out):
                out.append(pose)
                break
    return out


def _lean(rng: np.random.Generator, packer: Packer, host: Pose, others: list[Pose]) -> Pose | None:
    """A cocked die: tilted 8 to 35 degrees, slid against `host` until they touch."""
    tilt = np.radians(rng.uniform(8, 35))
    heading = rng.uniform(0, 2 * np.pi)
    way = np.array([np.cos(heading), np.sin(heading), 0.0])
    axis = np.cross([0, 0, 1.0], -way) * (1 if rng.random() < 0.8 else -1)
    turn = heading if rng.random() < 0.6 else rng.uniform(0, 2 * np.pi)
    rotation = about(axis, tilt) @ yaw(turn + rng.normal(0, 0.1)) @ CUBE_TURNS[rng.integers(24)]
    near, far = 0.4, 2.0
    for _ in range(14):
        middle = (near + far) / 2
        pose = packer.rest(rotation, host.position[:2] + way[:2] * middle, 1.0, "leaning")
        near, far = (middle, far) if packer.cuts(pose, host) else (near, middle)
    pose = packer.rest(rotation, host.position[:2] + way[:2] * far, 1.0, "leaning")
    return pose if packer.free(pose, others) else None


def _stack(rng: np.random.Generator, packer: Packer, host: Pose, others: list[Pose]) -> Pose | None:
    top = host.position[2] + host.size / 2
    xy = host.position[:2] + rng.uniform(-0.33, 0.33, 2)
    pose = Pose(_flat(rng, rng.uniform(0, 2 * np.pi)), np.array([*xy, top + 0.5]), 1.0, "stacked")
    return pose if packer.free(pose, others) else None


def lay_dice(
    rng: np.random.Generator, packer: Packer, ours: int, foreign_sizes: list[float], reach: float
) -> tuple[list[Pose], int]:
    """Poses of our dice first, then of foreign ones; returns them and how many are ours."""
    cocked = int(rng.integers(1, 4)) if rng.random() < 0.35 else 0
    stacked = int(rng.integers(1, 3)) if rng.random() < 0.1 else 0
    cocked, stacked = min(cocked, max(ours - 1, 0)), min(stacked, max(ours - 1 - cocked, 0))
    flat = _flat_dice(rng, packer, [1.0] * (ours - cocked - stacked) + foreign_sizes, reach)
    mine = [p for p in flat if p.size == 1.0][: ours - cocked - stacked]
    foreign = [p for p in flat if not any(p is q for q in mine)]
    everything = list(flat)
    for make, count in ((_lean, cocked), (_stack, stacked)):
        for _ in range(count):
            for _ in range(12):
                host = everything[rng.integers(len(everything))] if everything else None
                pose = make(rng, packer, host, everything) if host is not None and host.how == "flat" else None
                if pose is not None:
                    mine.append(pose)
                    everything.append(pose)
                    break
    return mine + foreign, len(mine)


def draw_lens(rng: np.random.Generator, pixels_per_edge: float, width: int, height: int) -> Lens:
    """A camera 35 to 80 cm above the table, tilted 0 to 25 degrees, such that a die is about `pixels_per_edge` wide."""
    distance = rng.uniform(350, 800) / EDGE_MM
    tilt = float(np.clip(abs(rng.normal(0, 11)), 0, 25))
    around = rng.uniform(0, 2 * np.pi)
    s, c = np.sin(np.radians(tilt)), np.cos(np.radians(tilt))
    out = np.array([s * np.cos(around), s * np.sin(around), c])
    target = np.array([0, 0, 0.4])
    origin = target + out * distance
    roll = rng.uniform(0, 2 * np.pi)
    up = np.array([np.cos(roll), np.sin(roll), 0.0])
    forward = -out
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    return Lens(
        np.stack([right, down, forward]), origin, target, -down, pixels_per_edge * (distance - 0.6), width, height, tilt
    )


def _tint(rng: np.random.Generator, spread: float) -> Floats:
    warm = rng.normal(0, spread)
    return np.array([np.exp(warm), np.exp(rng.normal(0, spread / 6)), np.exp(-warm)])


def draw_lighting(rng: np.random.Generator, held_out: bool = False) -> Lighting:
    """Lamps of a session. Held-out sessions take their lamp azimuths from the half that training never uses."""
    lamps = []
    kind = str(rng.choice(["room", "room", "window", "hard", "lamp"]))
    ambient = {"room": 0.5, "window": 0.25, "hard": 0.18, "lamp": 0.3}[kind] * rng.uniform(0.4, 1.8)
    count = {
        "room": int(rng.integers(1, 4)),
        "window": int(rng.integers(1, 3)),
        "hard": 1,
        "lamp": int(rng.integers(1, 3)),
    }[kind]
    common = _tint(rng, 0.09)
    for k in range(count):
        azimuth = rng.uniform(0, np.pi) + rng.choice([0, np.pi]) if not held_out else rng.uniform(0, 2 * np.pi)
        if kind == "window" and k == 0:
            elevation, far, size = rng.uniform(20, 50), rng.uniform(90, 200), rng.uniform(25, 60)
        elif kind == "hard":
            elevation, far, size = rng.uniform(30, 75), rng.uniform(60, 150), rng.uniform(0.3, 2.5)
        else:
            elevation, far, size = rng.uniform(35, 88), rng.uniform(70, 140), rng.uniform(2, 18)
        e = np.radians(elevation)
        way = np.array([np.cos(e) * np.cos(azimuth), np.cos(e) * np.sin(azimuth), np.sin(e)])
        aspect = np.exp(rng.normal(0, 0.4))
        power = rng.uniform(0.4, 1.0) * far**2 / (4 * size * size * aspect * max(way[2], 0.3))
        lamps.append(Lamp(way * far, size, size * aspect, power * common * _tint(rng, 0.05)))
    table = np.clip(rng.uniform(0.12, 0.5) * np.array([1.0, 1.0, 1.0]), 0.05, 0.8)
    return Lighting(tuple(lamps), ambient / np.pi * common * _tint(rng, 0.05), table)
