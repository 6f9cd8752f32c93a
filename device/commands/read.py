"""`ausguck read`: photographs of dice to readings, one a line."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vision.photo import Photo
    from vision.reading import Reading


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("read", help="read photographs of dice")
    parser.add_argument("photos", nargs="+", metavar="PHOTO", type=Path, help="JPEG, PNG or WebP, up to 50 megapixels")
    parser.add_argument("--json", action="store_true", help="one JSON object a photograph")
    parser.add_argument(
        "--annotate",
        metavar="OUT",
        type=Path,
        help="write the picture with the boxes drawn: a file for one photograph, a folder for several",
    )
    parser.add_argument("--models", type=Path, help="folder of the networks (default: those that came along)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read each photograph. 2 when one of them was no picture (the others are read all the same)."""
    from vision.ncnn_net import ModelError
    from vision.photo import PhotoError, load_photo
    from vision.reader import Reader, scaled

    try:
        reader = Reader.load(args.models)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 2
    code = 0
    for path in args.photos:
        try:
            photo = load_photo(path)
            reading = reader.read(photo.image, thorough=True)
            if args.annotate is not None:
                _annotate(photo, reading, path, args.annotate, several=len(args.photos) > 1)
        except (PhotoError, OSError) as error:
            print(error, file=sys.stderr)
            code = 2
            continue
        reading = scaled(reading, photo.scale)
        if args.json:
            print(json.dumps({"file": str(path), **reading.to_json()}, ensure_ascii=False), flush=True)
        else:
            print(describe(path, reading), flush=True)
    return code


def describe(path: Path, reading: Reading) -> str:
    """A reading in one line for people."""
    faces = ", ".join(f"{die.face.value}{'?' if die.problems else ''}" for die in reading.dice) or "no dice"
    problems = f" ({', '.join(problem.value.replace('_', ' ') for problem in reading.problems)})"
    card = f"; card: {reading.card.name}" if reading.card else ""
    return f"{path}: {reading.status.value}: {faces}{problems if reading.problems else ''}{card}"


def _annotate(photo: Photo, reading: Reading, path: Path, out: Path, *, several: bool) -> None:
    """Write the annotated picture. Raises OSError with a sentence."""
    import cv2

    from vision.annotate import annotate

    target = out / f"{path.stem}.jpg" if several or out.is_dir() else out
    target.parent.mkdir(parents=True, exist_ok=True)
    kind = target.suffix.lower() if target.suffix.lower() in (".jpg", ".jpeg", ".png", ".webp") else ".jpg"
    done, data = cv2.imencode(kind, annotate(photo.image, reading))
    if not done:
        raise OSError(f"the picture for {target} cannot be encoded")
    target.write_bytes(data.tobytes())
