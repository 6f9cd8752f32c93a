"""Recorded raids as tests of the rules: one JSON object a line, with what its source says the raid is worth.

A case is an oracle for an edition if its `agrees_with` names the edition, nothing is in `conflict` and no dice were
made up (`padded`). Two readings belong to this format: one recorded roll that only repeats the final dice need not
be the first roll, so a stated bust or Skull Island settles which it was; and `kept_on_chest` says which dice lay on
Treasure Island before the last roll, so at a voluntary end the others are taken as placed there too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scorer.cards import Card
from scorer.editions import BGA, EDITION_ALIASES, ISLA, Edition
from scorer.errors import CardNotInEdition, NoCase, ScorerError
from scorer.faces import Face
from scorer.names import card_named, faces_named, normal
from scorer.scoring import DEADLY_SKULLS, Outcome, RaidScore, score_raid, skulls_of

Json = Mapping[str, object]

OUTCOME_ALIASES: Final[dict[str, Outcome]] = {
    "win": Outcome.PIRATE_MAGIC,
    "sea_battle_lost": Outcome.SHIP_LOST,
}
"""Other names of outcomes."""

SERVES: Final[dict[str, tuple[str, ...]]] = {ISLA.key: (ISLA.key, BGA.key)}
"""Editions that are served by another one's cases, where the two agree."""


@dataclass(frozen=True)
class Expected:
    """What a source says; `None` where it says nothing."""

    total: int | None
    others: int | None
    outcome: Outcome | None

    def agrees(self, score: RaidScore) -> bool:
        """Whether the score sheet is what the source says."""
        return (
            self.total in (None, score.total)
            and self.others in (None, score.others)
            and self.outcome in (None, score.outcome)
        )

    def __str__(self) -> str:
        said = (("total", self.total), ("others", self.others), ("outcome", self.outcome))
        return ", ".join(f"{name} {value}" for name, value in said if value is not None) or "nothing"


@dataclass(frozen=True)
class Verdict:
    """What became of a case."""

    number: str
    checked: bool
    mismatch: str = ""
    """Both score sheets on one line, if they differ."""
    why_not: str = ""
    """Why it was not checked."""


def read_lines(text: str, file: str) -> Iterator[Json]:
    """The objects of a file with one JSON object a line, or one list of them. Raises `NoCase`."""
    if text.lstrip().startswith("["):
        yield from _read_list(text, file)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError:
            raise NoCase(line=number, file=file) from None
        if not isinstance(found, dict):
            raise NoCase(line=number, file=file)
        yield found


def _read_list(text: str, file: str) -> Iterator[Json]:
    try:
        found = json.loads(text)
    except ValueError:
        raise NoCase(line=1, file=file) from None
    for item in found:
        if not isinstance(item, dict):
            raise NoCase(line=1, file=file)
        yield item


def why_no_oracle(case: Json, edition: Edition) -> str:
    """Why this case says nothing about this edition; empty if it does."""
    if case.get("conflict"):
        return f"sources differ: {conflict_rule(case)}"
    if case.get("padded"):
        return "some of its dice were made up"
    agrees = case.get("agrees_with")
    if not isinstance(agrees, list):
        return ""
    keys = {EDITION_ALIASES.get(normal(str(name)), normal(str(name))) for name in agrees}
    if keys.isdisjoint(SERVES.get(edition.key, (edition.key,))):
        return f"it says nothing about {edition.key}"
    if edition.key not in keys and score_case(case, BGA) != score_case(case, edition):
        return f"{edition.key} and {BGA.key} differ in it"
    return ""


def conflict_rule(case: Json) -> str:
    """The rule in which sources differ."""
    conflict = case.get("conflict")
    if isinstance(conflict, Mapping):
        return " – ".join(str(conflict[key]) for key in ("rule", "explanation") if conflict.get(key))
    return str(conflict)


def check_case(case: Json, edition: Edition, number: int = 0) -> Verdict:
    """Score a case and compare."""
    name = str(case.get("id", f"case {number}"))
    try:
        why_not = why_no_oracle(case, edition)
        if why_not:
            return Verdict(name, checked=False, why_not=why_not)
        score = score_case(case, edition)
    except CardNotInEdition as error:
        return Verdict(name, checked=False, why_not=str(error))
    except ScorerError as error:
        return Verdict(name, checked=True, mismatch=f"{name} {_hand(case)}: refused: {error}")
    for expected in expectations(case, edition):
        if not expected.agrees(score):
            return Verdict(
                name, checked=True, mismatch=f"{name} {_hand(case)}: expected {expected}; ours {sheet(score)}"
            )
    return Verdict(name, checked=True)


def expectations(case: Json, edition: Edition) -> list[Expected]:
    """What the case says: of itself, and for this edition."""
    found = [
        Expected(
            _number(case.get("expected_turn_score")),
            _number(case.get("expected_opponent_delta")),
            outcome_named(case.get("outcome")),
        )
    ]
    scores = case.get("seed_scores")
    aliases = [alias for alias, key in EDITION_ALIASES.items() if key == edition.key]
    for key in (edition.key, *aliases):
        said = scores.get(key) if isinstance(scores, Mapping) else None
        if isinstance(said, Mapping):
            found.append(
                Expected(
                    _number(said.get("score")),
                    _number(said.get("opponents_each")),
                    outcome_named(said.get("outcome")),
                )
            )
    return found


def outcome_named(name: object) -> Outcome | None:
    """The outcome under one of its names; `None` for one that nobody is sure of."""
    if not isinstance(name, str):
        return None
    if name in OUTCOME_ALIASES:
        return OUTCOME_ALIASES[name]
    return Outcome(name) if name in tuple(Outcome) else None


def score_case(case: Json, edition: Edition) -> RaidScore:
    """What the raid of a case is worth. Raises the errors of `score_raid` and of names."""
    card = card_named(_text(case.get("card")))
    rolls = tuple(faces_named(_texts(roll)) for roll in _items(case.get("rolls")))
    final = case.get("final_dice") or case.get("dice") or case.get("faces")
    faces = faces_named(_texts(final)) if final else (rolls[-1] if rolls else ())
    kept = faces_named(_texts(case.get("kept_on_chest") or case.get("on_card")))
    return score_raid(
        card,
        faces,
        edition,
        on_card=lay_on_card(card, faces, kept),
        rolls=rolls or None,
        island=_island(case, card, faces, rolls, edition),
        players=_number(case.get("players")),
    )


def lay_on_card(card: Card | None, faces: tuple[Face, ...], kept: tuple[Face, ...]) -> tuple[Face, ...] | None:
    """What lay on Treasure Island at the end, from what lay there before the last roll."""
    ends_by_will = card is Card.TREASURE_ISLAND and skulls_of(card, faces) < DEADLY_SKULLS
    return None if ends_by_will and Face.SKULL not in kept else kept


def _island(
    case: Json, card: Card | None, faces: tuple[Face, ...], rolls: tuple[tuple[Face, ...], ...], edition: Edition
) -> bool | None:
    """Whether the raid went to Skull Island, if the case says so in another way than by its rolls."""
    if case.get("first_roll") is False:
        return False
    only_the_end = not rolls or (len(rolls) == 1 and sorted(rolls[0]) == sorted(faces))
    said = outcome_named(case.get("outcome"))
    return False if only_the_end and said is Outcome.BUST else None


def sheet(score: RaidScore) -> str:
    """A score sheet on one line."""
    lines = " ".join(f"[{line.what} {line.points:+d}]" for line in score.lines)
    return f"total {score.total}, others {score.others}, outcome {score.outcome} {lines}".rstrip()


def _hand(case: Json) -> str:
    dice = case.get("final_dice") or (_items(case.get("rolls")) or [[]])[-1]
    kept = _texts(case.get("kept_on_chest"))
    beside = f" with {' '.join(kept)} on the card" if kept else ""
    return f"({case.get('card', 'none')}: {' '.join(_texts(dice))}{beside})"


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return value.replace(",", " ").split()
    return [str(item) for item in value] if isinstance(value, Iterable) else []
