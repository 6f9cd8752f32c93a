"""`ausguck selftest`: check this machine, one line a check. Exit code 0 when all is well, 1 when not."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("selftest", help="check this machine, one line a check")
    parser.add_argument("--data", type=Path, help="folder of the games (default: as `ausguck run`)")
    parser.add_argument("--camera", default="auto", help="which camera to try (default: auto)")
    parser.add_argument("--models", type=Path, help="folder of the networks (default: the shipped ones)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run all checks; each line is printed as soon as it is known."""
    from device.settings import default_data_dir
    from device.status import MODELS, all_checks

    failed = 0
    for check in all_checks(args.data or default_data_dir(), camera=args.camera, models=args.models or MODELS):
        failed += not check.ok
        print(json.dumps(check.to_json(), ensure_ascii=False) if args.json else check.line, flush=True)
    if failed:
        print(f"{failed} check(s) failed; the table works with taps until they are mended", file=sys.stderr)
    return 1 if failed else 0
