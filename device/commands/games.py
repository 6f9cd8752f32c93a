"""`ausguck games`: the games in the store, one JSON object a line."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("games", help="list the games in the store")
    parser.add_argument("--data", type=Path, help="folder of the games (default: as `ausguck run`)")
    parser.add_argument("--json", action="store_true", help="JSON (always; accepted for symmetry)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print them, oldest first; works beside a running table."""
    from device.errors import StoreError
    from device.settings import default_data_dir
    from device.store import Store

    try:
        with Store.open(args.data or default_data_dir(), read_only=True) as store:
            games = store.games()
    except StoreError as error:
        print(error, file=sys.stderr)
        return 2
    for game in games:
        line = {
            "id": game.id,
            "started": game.started,
            "finished": game.finished,
            "operations": game.operations,
            **game.summary,
        }
        print(json.dumps(line, ensure_ascii=False))
    if not games:
        print("no game has been played yet: start one with `ausguck run`", file=sys.stderr)
    return 0
