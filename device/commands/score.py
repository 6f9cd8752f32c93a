"""`ausguck score`: what a raid is worth, line by line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from scorer.editions import DEFAULT, EDITIONS, Edition, edition_named
from scorer.errors import BadSetting, ScorerError
from scorer.faces import DICE, Face
from scorer.names import NO_CARD, card_named, faces_named
from scorer.scoring import RaidScore, score_raid

EXAMPLE = """
ausguck score --card pirate skull skull coin coin coin coin diamond sabers
ausguck score --card treasure_island --on-card coin,coin --json coin coin skull skull skull parrot parrot sabers
ausguck score --rule target=5000 --rule negative_totals=no …
"""


def add_parser(subparsers: Any) -> None:
    """Add `score` to the command line."""
    parser = subparsers.add_parser(
        "score",
        help="what a raid is worth, line by line",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("faces", nargs="*", metavar="FACE", help="the eight dice at the end of the raid")
    add_edition(parser)
    parser.add_argument("--card", default=NO_CARD, help="the pirate card (default: none, a raid without a card)")
    parser.add_argument(
        "--on-card",
        nargs="*",
        action="append",
        metavar="FACE",
        help="dice on Treasure Island, with commas between them; “none” if there are none (left out: not known)",
    )
    parser.add_argument(
        "--roll",
        action="append",
        metavar="FACES",
        help="eight faces with commas between them after one roll; once for each roll, the last one included",
    )
    parser.add_argument("--later-roll", action="store_true", help="these faces did not fall on the first roll")
    parser.add_argument("--players", type=int, help="how many play, to share out points")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.set_defaults(run=run)


def add_edition(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which rules hold."""
    parser.add_argument("--edition", default=DEFAULT.key, help=f"one of {', '.join(EDITIONS)} (default: {DEFAULT.key})")
    parser.add_argument("--rule", action="append", default=[], metavar="NAME=VALUE", help="a house rule")


def edition_from(args: argparse.Namespace) -> Edition:
    """The edition with its house rules. Raises a `ScorerError`."""
    changes = {}
    for rule in args.rule:
        name, equals, value = rule.partition("=")
        if not equals:
            raise BadSetting(setting=name, came="nothing", expected="NAME=VALUE")
        changes[name.strip()] = value.strip()
    return edition_named(args.edition).with_house_rules(**changes)


def run(args: argparse.Namespace) -> int:
    """Score the raid. Exit codes: 0 done, 2 bad input."""
    try:
        score = _score(args)
    except ScorerError as error:
        print(error, file=sys.stderr)
        return 2
    for note in score.unchecked:
        print(f"Not checked: {note.what}.", file=sys.stderr)
    print(json.dumps(to_json(score), ensure_ascii=False) if args.json else _table(score))
    return 0


def _score(args: argparse.Namespace) -> RaidScore:
    faces, on_card = _dice(args)
    rolls = [faces_named(_words([roll])) for roll in args.roll or ()]
    return score_raid(
        card_named(args.card),
        faces,
        edition_from(args),
        on_card=on_card,
        rolls=rolls or None,
        island=False if args.later_roll else None,
        players=args.players,
    )


def _dice(args: argparse.Namespace) -> tuple[tuple[Face, ...], tuple[Face, ...] | None]:
    """The eight dice, and those on the card: `--on-card` takes all words after it, of which the last eight are dice."""
    words = _words(args.faces)
    if args.on_card is None:
        return faces_named(words), None
    lying = _words([word for words in args.on_card for word in words])
    if not words:
        words, lying = lying[-DICE:], lying[:-DICE]
    return faces_named(words), faces_named(word for word in lying if word != NO_CARD)


def _words(texts: Sequence[str]) -> list[str]:
    return [word for text in texts for word in text.replace(",", " ").split()]


def to_json(score: RaidScore) -> dict[str, object]:
    """A score sheet as JSON; `others` is null where it depends on how many play."""
    open_share = score.pot and not score.others
    return {
        "total": score.total,
        "others": None if open_share else score.others,
        "outcome": str(score.outcome),
        "lines": [{"what": line.what, "points": line.points} for line in score.lines],
    }


def _table(score: RaidScore) -> str:
    rows = [(line.what, line.points) for line in score.lines] + [("total", score.total)]
    if score.others:
        rows.append(("each other player", score.others))
    wide = max(len(what) for what, _ in rows)
    sheet = "\n".join(f"{what:<{wide}} {points:>+7}" for what, points in rows)
    return f"{sheet}\n{str(score.outcome).replace('_', ' ')}"
