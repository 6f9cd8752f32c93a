"""`ausguck rules`: check recorded raids and games against the rules."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from device.commands.score import add_edition, edition_from
from scorer.cases import Json, Verdict, check_case, read_lines
from scorer.errors import FileNotRead, ScorerError
from scorer.flows import check_flow


def add_parser(subparsers: Any) -> None:
    """Add `rules` to the command line."""
    parser = subparsers.add_parser("rules", help="check recorded raids and games against the rules")
    actions = parser.add_subparsers(dest="action", metavar="check|replay", required=True)
    check = actions.add_parser("check", help="score single raids: one JSON object a line")
    check.add_argument("file", help="the cases")
    check.add_argument("--verbose", action="store_true", help="say of each case left out why")
    add_edition(check)
    check.set_defaults(run=run_check)
    replay = actions.add_parser("replay", help="play whole games: one JSON object a line")
    replay.add_argument("file", help="the games; their settings are house rules")
    replay.set_defaults(run=run_replay)


def run_check(args: argparse.Namespace) -> int:
    """Score every case that says something about the edition. Exit codes: 0 all agree, 1 mismatch, 2 bad input."""
    try:
        edition = edition_from(args)
        verdicts = _verdicts(args.file, lambda case, number: check_case(case, edition, number))
    except ScorerError as error:
        print(error, file=sys.stderr)
        return 2
    left_out = [verdict for verdict in verdicts if not verdict.checked]
    mismatches = _mismatches(verdicts)
    print(f"{len(verdicts) - len(left_out)} cases, {len(mismatches)} mismatches")
    print("\n".join(mismatches), end="\n" if mismatches else "")
    if left_out:
        print(f"{len(left_out)} cases say nothing about {edition.key} (--verbose says why).", file=sys.stderr)
    for verdict in left_out if args.verbose else ():
        print(f"{verdict.number} left out: {verdict.why_not}", file=sys.stderr)
    return 1 if mismatches else 0


def run_replay(args: argparse.Namespace) -> int:
    """Play every game that can be played. Exit codes: 0 all agree, 1 mismatch, 2 bad input."""
    try:
        verdicts = _verdicts(args.file, check_flow)
    except ScorerError as error:
        print(error, file=sys.stderr)
        return 2
    skipped = [verdict for verdict in verdicts if not verdict.checked]
    mismatches = _mismatches(verdicts)
    print(f"{len(verdicts) - len(skipped)} cases, {len(mismatches)} mismatches, {len(skipped)} skipped")
    print("\n".join(mismatches), end="\n" if mismatches else "")
    for verdict in skipped:
        print(f"{verdict.number} skipped: {verdict.why_not}")
    return 1 if mismatches else 0


def _verdicts(file: str, check: Callable[[Json, int], Verdict]) -> list[Verdict]:
    return [check(case, number) for number, case in enumerate(read_lines(_text(file), file), start=1)]


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileNotRead(file=file, why=(error.strerror or "unknown").lower()) from None
    except UnicodeDecodeError:
        raise FileNotRead(file=file, why="it is no UTF-8 text") from None


def _mismatches(verdicts: Sequence[Verdict]) -> list[str]:
    return [verdict.mismatch for verdict in verdicts if verdict.mismatch]
