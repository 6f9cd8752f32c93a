"""Runs a clip of this folder through `ausguck replay`'s own code and says what differs from what is expected of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from device.commands.replay import open_clip, replay
from scorer.editions import EDITIONS
from vision.reading import Frame
from vision.watcher import Reads

FOLDER = Path(__file__).parent


def clips() -> list[Path]:
    """What is expected of each clip: `NAME.json` beside `NAME.mp4`."""
    return sorted(path for path in FOLDER.glob("*.json") if path.with_suffix(".mp4").exists())


def frames_of(path: Path, expected: dict[str, Any]) -> Iterator[Frame]:
    """The clip's frames; where a share of them is to be lost, numbers and times of the others stay."""
    lost = np.random.default_rng(5)
    for frame in open_clip(path.with_suffix(".mp4"), expected["fps"]):
        if frame.number and lost.random() < expected.get("dropped", 0.0):
            continue
        yield frame


def run(path: Path, reader: Reads) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What is expected, and the lines that `ausguck replay --json` prints."""
    expected = json.loads(path.read_text("utf-8"))
    lines: list[dict[str, Any]] = []
    replay(
        frames_of(path, expected),
        reader,
        lines.append,
        edition=EDITIONS[expected["edition"]],
        players=expected["players"],
    )
    return expected, lines


def told_raids(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The raids as they were told in the end."""
    return [line for line in lines if line["event"] == "raid_ended"]


def was_asked(lines: list[dict[str, Any]]) -> bool:
    """Whether a person would have been asked something."""
    return any(line["doubtful"] for line in told_raids(lines))


def differences(expected: dict[str, Any], lines: list[dict[str, Any]]) -> list[str]:
    """What is not as it was played, in sentences; questions that were asked are no difference."""
    told = told_raids(lines)
    found = []
    if len(told) != len(expected["raids"]):
        found.append(f"{len(expected['raids'])} raids were played, {len(told)} were told")
    for number, (true, seen) in enumerate(zip(expected["raids"], told, strict=False), 1):
        found += [f"raid {number}: {what}" for what in _raid(true, seen)]
    return found


def _raid(true: dict[str, Any], seen: dict[str, Any]) -> Iterator[str]:
    card = (seen["card"] or {}).get("name")
    if card != true["card"]:
        yield f"the card was {true['card']}, told was {card}"
    if len(seen["rolls"]) != len(true["rolls"]):
        yield f"{len(true['rolls'])} rolls were made, {len(seen['rolls'])} were told"
    for n, (made, told) in enumerate(zip(true["rolls"], seen["rolls"], strict=False), 1):
        if Counter(made["faces"]) != Counter(told["faces"]):
            yield f"roll {n} showed {sorted(made['faces'])}, told was {sorted(told['faces'])}"
        if len(made["rerolled"]) != len(told["rerolled"]):
            yield f"roll {n} was of {len(made['rerolled'])} dice, told were {len(told['rerolled'])}"
        on, said = (Counter(r["faces"][die] for die in r["on_card"]) for r in (made, told))
        if n < len(true["rolls"]) and on != said:
            yield f"after roll {n}, {dict(on)} lay on the card, told was {dict(said)}"
    score, said = true["score"], seen["score"] or {}
    for key in ("total", "others", "outcome"):
        if score[key] != said.get(key):
            yield f"{key} is {score[key]}, told was {said.get(key)}"
