"""`ausguck train`: train one of the two networks (in the training environment, with PyTorch and Ultralytics)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("train", help="train the networks")
    parser.add_argument("network", choices=("detector", "secondlook"))
    parser.add_argument(
        "--data", type=Path, required=True, help="detector: data.yaml; secondlook: a folder with train/ and val/ shards"
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder for checkpoints (default: runs)")
    parser.add_argument("--name", help="name of this run (default: the network's)")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--weights", type=Path, help="detector: start from these weights instead of from scratch")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train; prints where the best weights lie."""
    if not args.data.exists():
        print(
            f"expected training data at {args.data}, found nothing: render some with `ausguck dataset`", file=sys.stderr
        )
        return 2
    name = args.name or args.network
    try:
        if args.network == "detector":
            from models.recipes.detector import train_detector

            best = train_detector(
                args.data, runs=args.runs, name=name, epochs=args.epochs, resume=args.resume, weights=args.weights
            )
        else:
            from models.recipes.secondlook import train_secondlook

            best = train_secondlook(
                args.data / "train", args.data / "val", args.runs / name, epochs=args.epochs, resume=args.resume
            )
    except ImportError as missing:
        print(
            f"training needs PyTorch and Ultralytics in an environment of its own, but {missing}: see models/README.md",
            file=sys.stderr,
        )
        return 2
    print(best)
    return 0
