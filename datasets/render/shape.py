"""The body of a tumbled die: its distance function, a mesh with one texture tile a side, and where each side looks.

Lengths are in die edges; the body fills [-0.5, 0.5] on each axis, apart from its rounded edges and corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]

FLAT_RADIUS = 0.42
"""The flat part of a side is a circle of 0.84 edges across."""

SIDES: tuple[tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]], ...] = (
    ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
    ((0, 0, -1), (1, 0, 0), (0, -1, 0)),
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((-1, 0, 0), (0, -1, 0), (0, 0, 1)),
    ((0, 1, 0), (-1, 0, 0), (0, 0, 1)),
    ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
)
"""Per side: outward normal, right and up as seen from outside (right × up = normal)."""

ATLAS_COLUMNS, ATLAS_ROWS = 3, 2


@dataclass(frozen=True, slots=True)
class BodyShape:
    """How strongly a die is tumbled."""

    edge_radius: float = 0.11
    sphere_radius: float = float(np.hypot(0.5, FLAT_RADIUS)) + 0.01
    blend: float = 0.03

    def distance(self, p: Floats) -> Floats:
        """Signed distance (a lower bound outside) of points (n, 3) from the body, (n,)."""
        q = np.abs(p) - (0.5 - self.edge_radius)
        cube = np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(1), 0) - self.edge_radius
        ball = np.linalg.norm(p, axis=1) - self.sphere_radius
        h = np.maximum(self.blend - np.abs(cube - ball), 0) / self.blend
        return np.asarray(np.maximum(cube, ball) + h * h * self.blend / 4)

    def surface(self, directions: Floats) -> Floats:
        """Where rays from the middle along unit `directions` (n, 3) leave the body, (n, 3)."""
        low, high = np.full(len(directions), 0.3), np.full(len(directions), 0.95)
        for _ in range(32):
            middle = (low + high) / 2
            inside = self.distance(directions * middle[:, None]) < 0
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.asarray(directions * low[:, None])

    def normals(self, p: Floats) -> Floats:
        """Outward unit normals (n, 3) at surface points (n, 3)."""
        g = np.empty_like(p)
        for axis in range(3):
            step = np.zeros(3)
            step[axis] = 1e-4
            g[:, axis] = self.distance(p + step) - self.distance(p - step)
        return np.asarray(g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-12))


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Triangles of a body, with atlas coordinates (v counts downward from the atlas's top row)."""

    vertices: Floats
    normals: Floats
    uv: Floats
    triangles: npt.NDArray[np.int32]


def die_mesh(shape: BodyShape, n: int = 20) -> Mesh:
    """A mesh of 6 × n × n quads; each side's texture tile is laid on it straight from above."""
    line = np.tan(np.linspace(-np.pi / 4, np.pi / 4, n + 1))
    gu, gv = (a.ravel() for a in np.meshgrid(line, line))
    vertices, normals, uvs, triangles = [], [], [], []
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    quads = np.stack([corner, corner + 1, corner + n + 2, corner + n + 1], 1)
    for side, (normal, right, up) in enumerate(SIDES):
        d = np.outer(gu, right) + np.outer(gv, up) + np.asarray(normal)
        p = shape.surface(d / np.linalg.norm(d, axis=1, keepdims=True))
        u, v = p @ np.asarray(right) + 0.5, p @ np.asarray(up) + 0.5
        column, row = side % ATLAS_COLUMNS, side // ATLAS_COLUMNS
        uvs.append(np.stack([(column + u) / ATLAS_COLUMNS, (row + 1 - v) / ATLAS_ROWS], 1))
        vertices.append(p)
        normals.append(shape.normals(p))
        both = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]) + side * (n + 1) ** 2
        triangles.append(both.astype(np.int32))
    return Mesh(np.concatenate(vertices), np.concatenate(normals), np.concatenate(uvs), np.concatenate(triangles))


def write_ply(mesh: Mesh, path: Path) -> None:
    """Write a binary PLY that the path tracer loads."""
    rows = np.concatenate([mesh.vertices, mesh.normals, mesh.uv], 1).astype("<f4")
    faces = np.empty(len(mesh.triangles), dtype=[("n", "u1"), ("i", "<i4", 3)])
    faces["n"], faces["i"] = 3, mesh.triangles
    names = ("x", "y", "z", "nx", "ny", "nz", "u", "v")
    header = "ply\nformat binary_little_endian 1.0\n" + f"element vertex {len(rows)}\n"
    header += "".join(f"property float {name}\n" for name in names)
    header += f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    path.write_bytes(header.encode("ascii") + rows.tobytes() + faces.tobytes())


def upward_side(rotation: Floats) -> tuple[int, float]:
    """Which side looks most upward under `rotation` (3, 3), and its tilt from straight up in degrees."""
    up = np.array([rotation @ np.asarray(normal) for normal, _, _ in SIDES])[:, 2]
    side = int(up.argmax())
    return side, float(np.degrees(np.arccos(np.clip(up[side], -1, 1))))
