"""Do the packages of the system and of the environment fit together, in whatever order they are imported?

A compiled module that was built for another numpy fails only if it comes after the wrong one: so every rotation of
the list is tried, forwards and backwards, each in a fresh process. Exit code 1 and one line a failure.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator, Sequence

WANTED = ("numpy", "cv2", "picamera2", "gpiozero", "flask", "ncnn")
NEEDED = ("numpy", "cv2", "gpiozero", "flask", "ncnn")


def orders(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every rotation, forwards and backwards: each module comes first once, and each pair in both orders."""
    for turned in (tuple(names), tuple(reversed(names))):
        for start in range(len(turned)):
            yield turned[start:] + turned[:start]


def complaint(order: Sequence[str]) -> str:
    """What goes wrong when these are imported one after the other; empty if nothing does."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "import " + ", ".join(order)], capture_output=True, text=True
    )
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        return f"the process died of signal {-done.returncode}"
    return (done.stderr.strip().splitlines() or ["no message"])[-1]


def main() -> int:
    """Print one line a failure, or one that all is well."""
    present = [name for name in WANTED if importlib.util.find_spec(name) is not None]
    missing = [name for name in NEEDED if name not in present]
    bad = [f"{name} is not installed" for name in missing]
    for order in orders(present):
        if problem := complaint(order):
            bad.append(f"import {', '.join(order)}: {problem}")
    for line in bad:
        print(f"imports: {line}")
    if not bad:
        print(f"imports: {', '.join(present)} fit together in {2 * len(present)} orders")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
