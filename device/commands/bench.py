"""`ausguck bench`: speed and memory of the eyes beside a stock network in the same run; `--table`: of the appliance."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

NOT_ASKED = "measured by `ausguck bench --table`"
TABLE_ROWS = ("idle_cpu", "rest_to_page_s", "cold_start_s")
DEMO = Path(__file__).resolve().parents[1] / "demo" / "game.mp4"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser("bench", help="speed and memory, against a baseline in the same run")
    parser.add_argument("--json", action="store_true", help="one JSON object with all figures")
    parser.add_argument("--table", action="store_true", help="also the whole appliance: page, store, camera to phone")
    parser.add_argument("--clip", type=Path, default=DEMO, help="with --table: a clip of a throw (default: the demo's)")
    parser.add_argument("--fps", type=float, default=15.0, help="with --table: pictures a second of the clip")
    parser.add_argument("--runs", type=int, default=30, help="interleaved runs of each (default: 30)")
    parser.add_argument("--threads", type=int, default=2, help="threads of both networks (default: 2)")
    parser.add_argument("--picture", type=Path, help="read this picture instead of the drawn table with eight dice")
    parser.add_argument("--models", type=Path, help="folder of the networks (default: those that came along)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure and print."""
    from device.bench_eyes import measure
    from vision.photo import PhotoError, load_photo

    if args.runs < 1 or args.threads < 1:
        print(f"expected at least one run and one thread, got {args.runs} and {args.threads}", file=sys.stderr)
        return 2
    try:
        picture = load_photo(args.picture).image if args.picture else None
    except PhotoError as error:
        print(error, file=sys.stderr)
        return 2
    figures = measure(runs=args.runs, threads=args.threads, models=args.models, picture=picture)
    reasons: dict[str, str] = figures.pop("reasons")
    figures |= dict.fromkeys(TABLE_ROWS)
    if args.table:
        figures |= _table(args, reasons)
    else:
        reasons |= dict.fromkeys(TABLE_ROWS, NOT_ASKED)
    figures["reasons"] = {name: reason for name, reason in reasons.items() if figures.get(name) is None or reason}
    if args.json:
        print(json.dumps(figures, ensure_ascii=False))
    else:
        for name, value in figures.items():
            print(f"{name:20} {value}")
    return 0


def _table(args: argparse.Namespace, reasons: dict[str, str]) -> dict[str, Any]:
    """The appliance's own rows: the page and the store first, then the loop on a clip."""
    from device import bench_loop, bench_table

    figures = bench_table.measure()
    if args.clip.exists():
        figures |= _without_reasons(bench_loop.table_figures(args.clip, fps=args.fps), reasons)
    else:
        reasons |= dict.fromkeys(TABLE_ROWS, f"expected a clip of a throw at {args.clip}, found none: give --clip")
    return _without_reasons(figures, reasons)


def _without_reasons(figures: dict[str, Any], reasons: dict[str, str]) -> dict[str, Any]:
    reasons |= figures.pop("reasons", {})
    return figures
