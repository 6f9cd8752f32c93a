"""`ausguck export GAME`: a game as CSV, JSON and (with `--zip`) a ZIP with the evidence.

`ausguck export --network …` writes a trained network instead; that needs the training environment.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

NETWORKS = ("detector", "secondlook", "cardcorners", "cardface")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("export", help="export a game, or the trained networks")
    parser.add_argument("game", nargs="?", help="number of the game (see `ausguck games`), or `last`")
    parser.add_argument("--zip", action="store_true", help="also a ZIP with the evidence pictures")
    parser.add_argument("--json", action="store_true", help="the game as one JSON line on standard output, no files")
    parser.add_argument("--out", type=Path, help="folder for the files (default: here; networks: models)")
    parser.add_argument("--data", type=Path, help="folder of the games (default: as `ausguck run`)")
    parser.add_argument("--network", choices=NETWORKS, help="export this trained network instead")
    parser.add_argument("--weights", type=Path, help="with --network: the trained weights (best.pt)")
    parser.add_argument("--format", choices=("ncnn", "onnx"), default="ncnn", help="with --network (default: ncnn)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Export one of the two."""
    if args.network is not None:
        return _export_network(args)
    if args.game is None:
        print("expected the number of a game (see `ausguck games`), `last`, or --network", file=sys.stderr)
        return 2
    return _export_game(args)


def _export_game(args: argparse.Namespace) -> int:
    from device.errors import DeviceError
    from device.export import export_game, game_to_json
    from device.settings import default_data_dir
    from device.store import Store

    try:
        with Store.open(args.data or default_data_dir(), read_only=True) as store:
            number = _number(args.game, [game.id for game in store.games()])
            if args.json:
                print(json.dumps(game_to_json(store, number), ensure_ascii=False))
                return 0
            for path in export_game(store, number, args.out or Path(), with_zip=args.zip):
                print(json.dumps({"file": str(path), "bytes": path.stat().st_size}, ensure_ascii=False))
            return 0
    except (DeviceError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2


def _number(text: str, known: list[int]) -> int:
    if text == "last" and known:
        return known[-1]
    if not text.isdecimal():
        raise ValueError(f"expected the number of a game (see `ausguck games`) or `last`, got {text!r}")
    return int(text)


def _export_network(args: argparse.Namespace) -> int:
    if args.weights is None or not args.weights.exists():
        print(
            f"expected trained weights with --weights, found nothing at {args.weights}: make some with `ausguck train`",
            file=sys.stderr,
        )
        return 2
    try:
        from models.recipes.export import export
    except ImportError as missing:
        print(
            f"exporting needs PyTorch and pnnx in an environment of its own, but {missing}: see models/README.md",
            file=sys.stderr,
        )
        return 2
    try:
        files = export(args.network, args.weights, args.out or Path("models"), args.format)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    for path in files:
        print(json.dumps({"file": str(path), "bytes": path.stat().st_size}))
    return 0
