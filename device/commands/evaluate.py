"""`ausguck evaluate`: how well the eyes read labelled pictures, with counts and confidence intervals."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vision.certainty import Fit
    from vision.evaluation import Scene
    from vision.reader import Reader

BARS = {"exact_roll": 0.99, "certain": 0.95, "silent_misreads": 0.002}
"""What `--check` asks for: at least, at least, at most."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("evaluate", help="accuracy with counts and confidence intervals")
    parser.add_argument("--json", action="store_true", help="one JSON object with all figures")
    parser.add_argument("--data", type=Path, help="folder of labelled pictures (as `ausguck dataset render` writes)")
    parser.add_argument("--split", default="val", help="which split of the folder (default: val)")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only one half of the sessions")
    parser.add_argument("--limit", type=int, help="at most so many pictures")
    parser.add_argument(
        "--out", type=Path, default=Path("out/evaluate"), help="folder for failing pictures (default: out/evaluate)"
    )
    parser.add_argument("--calibrate", metavar="DIR", type=Path, help="fit models/certainty.json on this folder first")
    parser.add_argument("--faces", metavar="DIR", type=Path, help="also read photographs of single faces from here")
    parser.add_argument("--models", type=Path, help="folder of the networks (default: those that came along)")
    parser.add_argument(
        "--raids",
        metavar="DIR",
        type=Path,
        nargs="?",
        const=Path("tests/replay"),
        help="whole raids: clips in this folder (default: tests/replay), and simulated ones",
    )
    parser.add_argument("--count", type=int, default=200, help="with --raids: how many simulated raids (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="with --raids: which simulated raids (default: 1)")
    parser.add_argument(
        "--disturb", action="store_true", help="also read every picture under other light: gains, casts, bands, shadow"
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 when a figure misses its bar")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Calibrate, evaluate, read single faces: whichever was asked for."""
    from vision.evaluation import DataError
    from vision.ncnn_net import ModelError
    from vision.photo import PhotoError

    if args.raids is not None:
        return _raids(args)
    if args.data is None and args.calibrate is None and args.faces is None:
        print(
            "expected labelled pictures (--data DIR), got none: render some with "
            "`ausguck dataset render --count 400 --seed 9000 --split test DIR`",
            file=sys.stderr,
        )
        return 2
    try:
        return _run(args)
    except (DataError, ModelError, PhotoError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2


def _raids(args: argparse.Namespace) -> int:
    """Whole raids: simulated ones, and clips where the folder has some."""
    from device.evaluate_raids import misses, report

    folder = args.raids if args.raids.is_dir() else None
    if folder is None and args.raids != Path("tests/replay"):
        print(f"expected a folder of clips, but there is no {args.raids}: check the name", file=sys.stderr)
        return 2
    try:
        answer = report(
            count=args.count,
            seed=args.seed,
            folder=folder,
            models=args.models,
            tell=lambda text: print(text, file=sys.stderr),
        )
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({"raids": answer}, ensure_ascii=False, indent=None if args.json else 1))
    return 1 if args.check and misses(answer) else 0


def _run(args: argparse.Namespace) -> int:
    from vision.reader import MODELS, Reader

    models = args.models or MODELS
    reader = Reader.load(models)
    answer: dict[str, Any] = {}
    if args.calibrate is not None:
        answer["calibration"] = _calibrate(args, reader, models)
    if args.data is not None:
        answer |= _evaluate(args, reader)
    if args.faces is not None:
        answer["real_faces"] = _faces(args.faces, reader)
    if args.json:
        print(json.dumps(answer, ensure_ascii=False))
    else:
        _tell(answer)
    return 1 if args.check and _misses(answer) else 0


def _scenes(args: argparse.Namespace, folder: Path) -> list[Scene]:
    from vision.evaluation import half, load_scenes

    scenes = load_scenes(folder, split=args.split)
    if args.half is not None:
        # Measuring on one half and calibrating on the other of the same folder never mixes sessions.
        same = args.calibrate is not None and args.data is not None and folder == args.calibrate
        scenes = half(scenes, 1 - args.half if same else args.half)
    return scenes[: args.limit]


def _calibrate(args: argparse.Namespace, reader: Reader, models: Path) -> dict[str, Any]:
    """Fit on labelled pictures, write `certainty.json` and the reliability diagram, and use the result."""
    import cv2

    from vision.certainty import fit
    from vision.evaluation import label
    from vision.photo import load_photo
    from vision.plot import reliability_diagram

    scenes = _scenes(args, args.calibrate)
    pictures = []
    for number, scene in enumerate(scenes):
        _progress("calibrating", number, len(scenes))
        image = load_photo(scene.path).image
        pictures.append(label(reader.examine(image, reader.find(image)), scene))
    sessions = len({scene.session for scene in scenes})
    fitted = fit(pictures, fitted_on=f"{len(scenes)} pictures of {sessions} sessions")
    fitted.calibration.save(models / "certainty.json")
    cv2.imwrite(str(models / "reliability.png"), reliability_diagram(fitted.bins, fitted.ece))
    reader.calibration = fitted.calibration
    return _fit_to_json(fitted)


def _fit_to_json(fitted: Fit) -> dict[str, Any]:
    c = fitted.calibration
    return {
        "dice": fitted.dice,
        "wrong": fitted.wrong,
        "ece": round(fitted.ece, 5),
        "brier": round(fitted.brier, 6),
        "temperature": c.temperature,
        "first_weight": c.first_weight,
        "certain_from": c.certain_from,
        "cocked_from": c.cocked_from,
        "foreign_from": c.foreign_from,
        "fitted_on": c.fitted_on,
    }


def _evaluate(args: argparse.Namespace, reader: Reader) -> dict[str, Any]:
    from vision.evaluation import Tally
    from vision.photo import load_photo

    tally = Tally()
    scenes = _scenes(args, args.data)
    for number, scene in enumerate(scenes):
        _progress("reading", number, len(scenes))
        image = load_photo(scene.path).image
        reading = reader.read(image, thorough=True)
        failure = tally.add(scene, reading)
        if failure:
            _keep(args.out / failure, scene, image, reading)
    answer = {"data": str(args.data), **tally.to_json(), "failing_pictures": str(args.out)}
    return answer | ({"disturbed": _disturbed(scenes, reader)} if args.disturb else {})


def _disturbed(scenes: Sequence[Scene], reader: Reader) -> dict[str, Any]:
    """Figures of the same pictures under each disturbance."""
    from vision.evaluation import Tally, disturbances
    from vision.photo import load_photo

    tallies = {name: Tally() for name in disturbances()}
    for number, scene in enumerate(scenes):
        _progress("disturbing", number, len(scenes))
        image = load_photo(scene.path).image
        for name, change in disturbances().items():
            tallies[name].add(scene, reader.read(change(image)))
    wanted = ("exact_roll", "silent_misreads", "silent_misreads_all", "certain")
    return {name: {key: tally.to_json()[key] for key in wanted} for name, tally in tallies.items()}


def _keep(folder: Path, scene: Scene, image: Any, reading: Any) -> None:
    """Write a failing picture with what was read drawn over it, and the truth in its headline."""
    import cv2

    from vision.annotate import annotate

    folder.mkdir(parents=True, exist_ok=True)
    truth = " ".join(f"{n}{face}" for face, n in sorted(scene.faces.items()))
    cv2.imwrite(str(folder / f"{scene.path.stem}.jpg"), annotate(image, reading, note=f"| truth: {truth}"))


def _faces(folder: Path, reader: Reader, sizes: Sequence[int] = (24, 30, 40, 50, 60)) -> dict[str, Any]:
    """Photographs of single real faces, laid as dice on plain tables: both looks, and the second look alone."""
    import numpy as np

    from vision.certainty import FACES
    from vision.evaluation import face_crops, share

    paths = [*sorted(folder.glob("*.png")), *sorted((folder / "posterised").glob("*.png"))]
    right: Counter[int] = Counter()
    second: Counter[int] = Counter()
    total: Counter[int] = Counter()
    wrong: list[dict[str, Any]] = []
    misread: Counter[str] = Counter()
    for path, face, size, image, box in face_crops(paths, sizes):
        total[size] += 1
        looks = reader.second.look(image, np.array([box], np.float32))
        seen = FACES[int(looks.log_probabilities[0, : len(FACES)].argmax())]
        second[size] += seen is face
        if seen is not face:
            misread[f"{path.name}, {size} px: {seen.value}"] += 1
        reading = reader.read(image, thorough=True)
        good = [die.face for die in reading.dice] == [face]
        right[size] += good
        if not good:
            wrong.append({"file": path.name, "size": size, "read": [die.face.value for die in reading.dice]})
    if not total:
        raise ValueError(f"expected photographs of faces (PNG with transparency) in {folder}, found none")
    return {
        "both_looks": {str(size): share(right[size], total[size]) for size in sizes},
        "second_look": {str(size): share(second[size], total[size]) for size in sizes},
        "wrong": wrong,
        "wrong_second_look": dict(misread),
    }


def _progress(what: str, number: int, of: int) -> None:
    if sys.stderr.isatty() and (number % 10 == 0 or number + 1 == of):
        print(f"\r{what} {number + 1}/{of}", end="\n" if number + 1 == of else "", file=sys.stderr, flush=True)


def _misses(answer: dict[str, Any]) -> list[str]:
    """Figures that miss their bar."""
    if "exact_roll" not in answer:
        return []
    missed = [key for key in ("exact_roll", "certain") if (answer[key]["share"] or 0) < BARS[key]]
    if (answer["silent_misreads"]["share"] or 0) > BARS["silent_misreads"]:
        missed.append("silent_misreads")
    return missed + [kind for kind, row in answer["never_certain"].items() if row["count"]]


def _tell(answer: dict[str, Any]) -> None:
    """The figures for people."""
    if "calibration" in answer:
        print(" ".join(f"{key}={value}" for key, value in answer["calibration"].items()))
    if "exact_roll" in answer:
        print(f"{answer['pictures']} pictures of {answer['sessions']} sessions in {answer['data']}")
        for key in ("exact_roll", "silent_misreads", "silent_misreads_all", "certain", "per_die", "dice_found"):
            _row(key.replace("_", " "), answer[key])
        for kind, row in answer["certain_by_kind"].items():
            _row(f"certain: {kind}", row)
        for name, rows in answer.get("disturbed", {}).items():
            for key in ("exact_roll", "silent_misreads_all", "certain"):
                _row(f"{name}: {key.replace('_', ' ')}", rows[key])
        print(f"doubted because: {answer['doubted_because']}")
        _table(answer["confusion"])
        print(f"failing pictures: {len(answer['failing'])}, annotated in {answer['failing_pictures']}")
    for look in ("both_looks", "second_look"):
        for size, row in answer.get("real_faces", {}).get(look, {}).items():
            _row(f"real faces, {size} px, {look.replace('_', ' ')}", row)


def _row(name: str, row: dict[str, Any]) -> None:
    value = "–" if row["share"] is None else f"{100 * row['share']:.2f} %"
    print(f"{name:34} {value:>9}  {row['count']}/{row['of']}  ({100 * row['low']:.2f}–{100 * row['high']:.2f} %)")


def _table(confusion: dict[str, Any]) -> None:
    print(" " * 12 + "".join(f"{name:>9}" for name in confusion["read"]) + "   (read)")
    for name, counts in zip(confusion["truth"], confusion["counts"], strict=True):
        print(f"{name:12}" + "".join(f"{n or '.':>9}" for n in counts))
