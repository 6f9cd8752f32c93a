"""What the tests of table and page share."""

from __future__ import annotations

import uuid
from typing import Any

from device.orders import DrawCard, EndRaid, NewGame, Roll
from device.table import Table
from scorer.cards import Card
from scorer.faces import Face

C, D, M, P, S, X = Face.COIN, Face.DIAMOND, Face.MONKEY, Face.PARROT, Face.SABERS, Face.SKULL
PLAIN = (C, C, C, M, M, P, S, D)
"""Worth 600 with most cards: three coins as a set and one by one, one diamond, … and no skull."""
BUST = (X, X, X, M, M, P, S, D)
TWO_SKULLS = (X, X, C, M, M, P, S, D)
ISLAND = (X, X, X, X, M, P, S, D)


def begin(table: Table, *names: str, **house_rules: Any) -> None:
    """A game on the table."""
    table.submit(NewGame(names or ("Anna", "Ben"), "de38", house_rules))


def raid(table: Table, faces: tuple[Face, ...] = PLAIN, card: Card = Card.GOLD_COIN) -> None:
    """A whole raid of one roll."""
    table.submit(DrawCard(card))
    table.submit(Roll(faces))
    table.submit(EndRaid())


def command(kind: str, **values: Any) -> dict[str, Any]:
    """The body of a POST."""
    return {"id": str(uuid.uuid4()), "kind": kind, **values}
