"""`ausguck dataset`: labelled scenes for training and measuring, rendered from our own drawings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add `dataset` with `layers`, `render`, `clips` and `crops`."""
    parser = subparsers.add_parser("dataset", help="render labelled scenes and clips")
    parts = parser.add_subparsers(dest="part", metavar="PART", required=True)
    layers = _part(parts, "layers", "path-trace layers of dice (needs the `datasets` extra)", _layers)
    layers.add_argument("out", type=Path, metavar="OUT")
    layers.add_argument(
        "--everything", action="store_true", help="let train use every source of faces, for the final weights"
    )
    layers.add_argument("--samples", type=_positive, default=12, help="light paths a pixel (default 12)")
    render = _part(parts, "render", "write labelled pictures: images, YOLO labels, records, manifest", _render)
    render.add_argument("out", type=Path, metavar="OUT")
    render.add_argument(
        "--layers", type=Path, metavar="DIR", help="layers to use again; without it they are traced into OUT/layers"
    )
    render.add_argument(
        "--scenes", type=_positive, help="layers to trace where there are none (default: a fourth of COUNT)"
    )
    render.add_argument(
        "--resolutions",
        choices=["small", "all"],
        default="small",
        help="small: 416 to 640 for training; all: 640×480 to 2304×1296",
    )
    render.add_argument(
        "--eight", action="store_true", help="only rolls of eight flat dice of ours, whole, without hands"
    )
    clips = _part(parts, "clips", "film random legal raids, with what is expected beside each clip", _clips)
    clips.add_argument("out", type=Path, metavar="OUT")
    crops = _part(parts, "crops", "write shards of die crops for the second look", _crops)
    crops.add_argument("out", type=Path, metavar="OUT")
    crops.add_argument("--layers", type=Path, metavar="DIR", required=True)


def _part(parts: Any, name: str, words: str, run: Any) -> argparse.ArgumentParser:
    part: argparse.ArgumentParser = parts.add_parser(name, help=words, description=words)
    part.add_argument("--count", type=_positive, required=True, help="how many")
    part.add_argument("--seed", type=int, default=0, help="the same seed gives the same data")
    part.add_argument(
        "--split", choices=["train", "test"], default="train", help="whose sessions, faces, tables and cards"
    )
    part.add_argument("--processes", type=int, default=0, metavar="N", help="default: one a core")
    part.set_defaults(run=run)
    return part


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text}")
    return value


def _guarded(work: Any) -> int:
    try:
        work()
    except (FileNotFoundError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _layers(args: argparse.Namespace) -> int:
    from datasets.render.farm import trace_many

    return _guarded(
        lambda: trace_many(
            args.out,
            count=args.count,
            seed=args.seed,
            split=args.split,
            processes=args.processes,
            everything=args.everything,
            samples=args.samples,
        )
    )


def _render(args: argparse.Namespace) -> int:
    from datasets.render import farm, write

    def work() -> None:
        layers = args.layers
        if layers is None:
            layers = args.out / "layers"
            farm.trace_many(
                layers,
                count=args.scenes or max(1, args.count // 4),
                seed=args.seed,
                split=args.split,
                processes=args.processes,
            )
        write.write_pictures(
            args.out,
            layers,
            count=args.count,
            seed=args.seed,
            split=args.split,
            processes=args.processes,
            sizes=write.SMALL if args.resolutions == "small" else write.SIZES,
            eight=args.eight,
        )

    return _guarded(work)


def _clips(args: argparse.Namespace) -> int:
    try:
        from datasets.clips.generate import write_clips
    except ImportError as missing:
        words = "Filming clips needs MuJoCo, resvg-py and PyAV: pip install 'ausguck[datasets]'"
        print(f"{words} ({missing}).", file=sys.stderr)
        return 2
    return _guarded(
        lambda: write_clips(args.out, args.count, args.seed, progress=lambda line: print(line, file=sys.stderr))
    )


def _crops(args: argparse.Namespace) -> int:
    from datasets.render import write

    return _guarded(
        lambda: write.write_crops(
            args.out, args.layers, count=args.count, seed=args.seed, split=args.split, processes=args.processes
        )
    )
