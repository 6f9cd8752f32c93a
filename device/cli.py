"""The `ausguck` command: each subcommand lives in the room that does the work.

A subcommand module offers `add_parser(subparsers)`, which sets `run=function(args) -> int` as default.
Modules are imported only when their subcommand is asked for, so that `ausguck score` never loads OpenCV.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS: dict[str, tuple[str, str]] = {
    "score": ("device.commands.score", "what a raid is worth, line by line"),
    "rules": ("device.commands.rules", "check recorded raids and games against the rules"),
    "read": ("device.commands.read", "read photographs of dice"),
    "replay": ("device.commands.replay", "run a clip through the eyes, one event a line"),
    "evaluate": ("device.commands.evaluate", "accuracy with counts and confidence intervals"),
    "bench": ("device.commands.bench", "speed and memory, against a baseline in the same run"),
    "run": ("device.commands.run", "the appliance"),
    "demo": ("device.commands.demo", "play a rendered game through the real pipeline"),
    "games": ("device.commands.games", "list the games in the store"),
    "export": ("device.commands.export", "export a game, or the trained networks"),
    "selftest": ("device.commands.selftest", "check this machine, one line a check"),
    "dataset": ("device.commands.dataset", "render labelled scenes and clips"),
    "train": ("device.commands.train", "train the networks"),
}
"""Subcommand → the module that does it, and its line in the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `ausguck`. Exit codes: 0 done, 1 a check failed, 2 bad input (one sentence on standard error says which)."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="ausguck", description="The lookout above a Piraten Kapern table.")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((word for word in words if not word.startswith("-")), None)
    for name, (module, help_line) in COMMANDS.items():
        if name == wanted:
            importlib.import_module(module).add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=help_line, add_help=False)
    args = parser.parse_args(words)
    return int(args.run(args))


if __name__ == "__main__":
    raise SystemExit(main())
