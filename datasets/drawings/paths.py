"""A small reader of SVG path data, enough for our own drawings: M L H V C S Q T Z, absolute and relative.

Every piece of a path becomes cubic Bézier segments, so that a caller can push the nodes about before
it flattens the curve to a polygon. Arcs are left out on purpose: none of our faces uses one.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

Segments = NDArray[np.float64]
"""One closed piece of outline as cubic Bézier segments: shape (segments, 4 points, xy)."""

_TOKEN = re.compile(r"([MmLlHhVvCcSsQqTtZz])|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|([A-Za-z])")
_TAKES = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2}


def parse_path(data: str) -> list[Segments]:
    """Read a `d` attribute into closed pieces. Raises ValueError for a command that is not listed above."""
    pieces: list[Segments] = []
    current: list[NDArray[np.float64]] = []
    at = start = np.zeros(2)
    handle: NDArray[np.float64] | None = None  # last control point, for the smooth commands
    handle_of = ""

    def straight(to: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([at, at + (to - at) / 3, at + (to - at) * 2 / 3, to])

    def finish() -> None:
        nonlocal current
        if current:
            if not np.allclose(at, start):
                current.append(straight(start))
            pieces.append(np.array(current))
        current = []

    for command, numbers in _commands(data):
        kind, relative = command.upper(), command.islower()
        if kind == "Z":
            finish()
            at, handle = start, None
            continue
        points = _absolute(kind, numbers, at, relative)
        if kind == "M":
            finish()
            at = start = points[0]
            handle = None
            continue
        if kind in "LHV":
            current.append(straight(points[0]))
        elif kind in "CS":
            mirrored = 2 * at - handle if handle is not None and handle_of == "C" else at
            first = points[0] if kind == "C" else mirrored
            current.append(np.array([at, first, points[-2], points[-1]]))
            handle, handle_of = points[-2], "C"
        else:
            mirrored = 2 * at - handle if handle is not None and handle_of == "Q" else at
            middle = points[0] if kind == "Q" else mirrored
            end = points[-1]
            current.append(np.array([at, at + (middle - at) * 2 / 3, end + (middle - end) * 2 / 3, end]))
            handle, handle_of = middle, "Q"
        if kind in "LHV":
            handle = None
        at = points[-1]
    finish()
    return pieces


def _commands(data: str) -> list[tuple[str, list[float]]]:
    """Split path data into (command, its numbers), one entry for each repetition."""
    out: list[tuple[str, list[float]]] = []
    command = ""
    numbers: list[float] = []
    for letter, number, unknown in _TOKEN.findall(data):
        if unknown:
            raise ValueError(f"Expected a path of M L H V C S Q T Z, found {unknown!r}: redraw that part.")
        if letter:
            if numbers:
                wanted = _TAKES[command.upper()]
                raise ValueError(f"Expected {wanted} numbers after {command}, found {len(numbers)}: add the rest.")
            command = letter
            if letter in "Zz":
                out.append((letter, []))
            continue
        if command in ("", "Z", "z"):
            raise ValueError(f"Expected a path command before the number {number}.")
        numbers.append(float(number))
        if len(numbers) == _TAKES[command.upper()]:
            out.append((command, numbers))
            numbers = []
            command = {"M": "L", "m": "l"}.get(command, command)
    return out


def _absolute(kind: str, numbers: list[float], at: NDArray[np.float64], relative: bool) -> list[NDArray[np.float64]]:
    if kind == "H":
        return [np.array([numbers[0] + (at[0] if relative else 0), at[1]])]
    if kind == "V":
        return [np.array([at[0], numbers[0] + (at[1] if relative else 0)])]
    shift = at if relative else np.zeros(2)
    return [np.array(numbers[i : i + 2]) + shift for i in range(0, len(numbers), 2)]


def flatten(segments: Segments, steps: int = 8) -> NDArray[np.float64]:
    """The piece as a polygon, `steps` points a segment: shape (points, xy), not repeated at the end."""
    t = np.arange(steps)[:, None] / steps
    weights = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
    points: NDArray[np.float64] = np.einsum("tk,skd->std", weights, segments).reshape(-1, 2)
    return points


def read_svg_paths(file: Path) -> list[Segments]:
    """All pieces of all `<path>` elements of an SVG file, in its viewBox units."""
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    paths = [e.get("d", "") for e in root.iter() if e.tag.endswith("}path") or e.tag == "path"]
    pieces = [piece for d in paths for piece in parse_path(d)]
    if not pieces:
        raise ValueError(f"Expected a drawing with at least one path in {file.name}, found none.")
    return pieces
