"""Short ways to write hands in tests: `hand("4 coin, skull, 3 sabers")`."""

from __future__ import annotations

from scorer.cards import Card
from scorer.editions import DEFAULT, Edition
from scorer.faces import Face
from scorer.names import face_named
from scorer.scoring import RaidScore, score_raid


def hand(text: str) -> tuple[Face, ...]:
    """Faces from `4 coin, skull`; the words are those of `scorer.names`."""
    found: list[Face] = []
    for part in text.split(","):
        *count, name = part.split()
        found += [face_named(name)] * (int(count[0]) if count else 1)
    return tuple(found)


def worth(text: str, card: Card | None = None, edition: Edition = DEFAULT, *, later: bool = False) -> RaidScore:
    """The score sheet of a raid that ends so; `later`: not on the first roll."""
    return score_raid(card, hand(text), edition, island=False if later else None, players=3)
