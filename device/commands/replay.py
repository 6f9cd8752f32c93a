"""`ausguck replay CLIP`: a clip through the eyes and the referee, one JSON line an event."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from device.referee import MOST_WAITING, Referee
from device.unattended import UnattendedDesk
from scorer.cards import Card
from scorer.editions import EDITIONS, Edition
from vision.events import Event, EventKind
from vision.reading import Frame
from vision.watcher import Reads, Watcher

PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
FPS = 15.0
"""Of a folder of pictures when nobody says."""


class BadClip(ValueError):
    """The clip cannot be read; the message is a sentence for people."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("replay", help="run a clip through the eyes, one event a line")
    parser.add_argument("clip", type=Path, metavar="CLIP", help="a video, or a folder of numbered pictures")
    parser.add_argument("--fps", type=float, help=f"frames a second (default: the video's own; {FPS:g} for pictures)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line (otherwise short lines for people)")
    parser.add_argument("--edition", choices=sorted(EDITIONS), default="de38", help="the rules (default: de38)")
    parser.add_argument("--card", choices=[card.value for card in Card], help="the first raid's card")
    parser.add_argument("--players", type=int, default=2, help="how many play (default: 2)")
    parser.add_argument("--models", type=Path, help="folder with other networks than the shipped ones")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the events. Exit codes: 0 done, 2 the clip or the networks cannot be read."""
    if args.fps is not None and not args.fps > 0:
        print(f"expected a number of frames a second above 0 after --fps, got {args.fps:g}", file=sys.stderr)
        return 2
    try:
        frames = open_clip(args.clip, args.fps)
        from vision.reader import Reader

        reader = Reader.load(args.models)
    except (BadClip, OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    show = _print_json if args.json else _print_short
    card = Card(args.card) if args.card else None
    replay(frames, reader, show, edition=EDITIONS[args.edition], card=card, players=args.players)
    return 0


def replay(frames: Iterator[Frame], reader: Reads, show: Callable[[dict[str, Any]], None], *,
           edition: Edition | None = None, card: Card | None = None, players: int = 2) -> UnattendedDesk:
    """Run `frames` through the eyes and the referee; `show(line)` gets each event. Answers with the desk."""
    lines: list[dict[str, Any]] = []
    desk = UnattendedDesk(lines.append, edition or EDITIONS["de38"], players, card)
    watcher = Watcher(reader)
    referee = Referee(desk, eyes=watcher)
    frame = None
    for frame in frames:
        for event in watcher.feed(frame):
            before = desk.number, len(desk.rolls)
            referee.handle(event)
            if event.roll is not None and not _asked_now(event, desk):
                _give_in(desk, referee)
            for line in (*_late_rolls(desk, before, lines), _event_line(event, desk, before, lines), *lines):
                show({"frame": event.frame, "t": round(event.t, 3), **line})
            lines.clear()
    _give_in(desk, referee)
    desk.finish()
    for line in lines:
        show({"frame": frame.number if frame else 0, "t": round(frame.t, 3) if frame else 0.0, **line})
    return desk


def _give_in(desk: UnattendedDesk, referee: Referee) -> None:
    """The game goes on and nobody answers: likeliest choices, until nothing waits any more."""
    for _ in range(2 * MOST_WAITING):
        if not desk.open:
            return
        desk.give_in()
        referee.tick()


def _asked_now(event: Event, desk: UnattendedDesk) -> bool:
    """Whether what is open is about this very roll: then it may still clear up."""
    return event.roll is not None and all(ask.group in (f"roll-{event.roll.serial}", "card") for ask in desk.open)


def _late_rolls(desk: UnattendedDesk, before: tuple[int, int], told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rolls that had to wait and were taken together with the newest: told first."""
    ended = next((one for one in told if one["event"] == "raid_ended"), None)
    rolls = ended["rolls"] if ended is not None else desk.rolls if desk.number == before[0] else []
    return [{"event": "roll", "roll": n + 1, "status": "certain", **rolls[n]} for n in range(before[1], len(rolls) - 1)]


def _event_line(event: Event, desk: UnattendedDesk, before: tuple[int, int],
                told: list[dict[str, Any]]) -> dict[str, Any]:
    """The event as the contract has it. A roll is numbered within its raid, and one only if the referee took it."""
    line = event.to_json()
    ended = next((one for one in told if one["event"] == "raid_ended"), None)
    rolls = ended["rolls"] if ended is not None and (desk.raid is None or not desk.rolls) else desk.rolls
    line["roll"] = len(rolls) or None
    if event.roll is None:
        return line
    taken = ended is not None or (desk.number, len(desk.rolls)) != before
    if taken and rolls and not any(one["event"] == "roll" for one in told):
        line |= {"event": "roll", "rerolled": rolls[-1]["rerolled"]}
    elif event.kind is EventKind.ROLL:
        line["event"] = "roll_ignored"
    return line


# -- clips -------------------------------------------------------------------------------------------------------------


def open_clip(path: Path, fps: float | None) -> Iterator[Frame]:
    """The frames of a video or a folder of numbered pictures. Raises `BadClip` before the first frame."""
    if path.is_dir():
        pictures = numbered_pictures(path)
        if not pictures:
            kinds = ", ".join(PICTURES)
            raise BadClip(f"expected numbered pictures ({kinds}) in {path}, found none: name another folder")
        return _folder(pictures, fps or FPS)
    if not path.exists():
        raise BadClip(f"expected a video or a folder of pictures, but there is no {path}: check the name")
    video = cv2.VideoCapture(str(path))
    if not video.isOpened():
        raise BadClip(f"expected a video, but {path} cannot be decoded: convert it to MP4, or to numbered pictures")
    own = float(video.get(cv2.CAP_PROP_FPS))
    return _video(video, fps or (own if 1 <= own <= 240 else FPS))


def numbered_pictures(folder: Path) -> list[tuple[int, Path]]:
    """(number, file) in order. The number is the last one in the name; where it repeats or lacks, files are counted."""
    files = [path for path in folder.iterdir() if path.suffix.lower() in PICTURES]
    found = [(re.findall(r"\d+", path.stem), path) for path in files]
    numbers = [int(digits[-1]) for digits, _ in found if digits]
    if len(numbers) == len(files) and len(set(numbers)) == len(files):
        return sorted((int(digits[-1]), path) for digits, path in found)
    return list(enumerate(sorted(files)))


def _folder(pictures: list[tuple[int, Path]], fps: float) -> Iterator[Frame]:
    for number, path in pictures:
        image = cv2.imread(str(path), cv2.IMREAD_COLOR)
        if image is None:
            print(f"{path} is no picture that can be read; it counts as a dropped frame", file=sys.stderr)
            continue
        yield Frame(np.asarray(image, np.uint8), number / fps, number)


def _video(video: cv2.VideoCapture, fps: float) -> Iterator[Frame]:
    number = 0
    while True:
        good, image = video.read()
        if not good:
            return
        yield Frame(np.asarray(image, np.uint8), number / fps, number)
        number += 1


# -- printing ----------------------------------------------------------------------------------------------------------


def _print_json(line: dict[str, Any]) -> None:
    print(json.dumps(line, ensure_ascii=False), flush=True)


def _print_short(line: dict[str, Any]) -> None:
    faces = line.get("faces") or [die["face"] for die in line.get("dice", ())]
    score = line.get("score")
    parts = [f"{line['t']:8.2f} s", f"{line['event']:<13}", " ".join(faces), line.get("note", "")]
    if score:
        parts.append(f"{score['outcome']} {score['total']:+d}, others {score['others']:+d}")
    print("  ".join(part for part in parts if part), flush=True)
