"""Every name under which a face, a card or an edition is known, and the words that a person reads.

Other scorers, cards and languages call our sabers swords and our Watchwoman a sorceress. Names come in from
files and from keyboards; out of here come only `Face` and `Card`.
"""

from __future__ import annotations

from collections.abc import Iterable

from scorer.cards import Card
from scorer.errors import UnknownCard, UnknownFace
from scorer.faces import Face

FACE_ALIASES: dict[str, Face] = {
    "coins": Face.COIN,
    "gold_coin": Face.COIN,
    "gold": Face.COIN,
    "diamonds": Face.DIAMOND,
    "monkeys": Face.MONKEY,
    "parrots": Face.PARROT,
    "saber": Face.SABERS,
    "sabre": Face.SABERS,
    "sabres": Face.SABERS,
    "sword": Face.SABERS,
    "swords": Face.SABERS,
    "skulls": Face.SKULL,
}
"""Other names of the six faces."""

CARD_ALIASES: dict[str, Card] = {
    "coin": Card.GOLD_COIN,
    "gold": Card.GOLD_COIN,
    "captain": Card.PIRATE,
    "sorceress": Card.WATCHWOMAN,
    "witch": Card.WATCHWOMAN,
    "treasure_chest": Card.TREASURE_ISLAND,
    "chest": Card.TREASURE_ISLAND,
    "sea_battle_2": Card.SHIP_2,
    "sea_battle_3": Card.SHIP_3,
    "sea_battle_4": Card.SHIP_4,
    "pirate_ship_2": Card.SHIP_2,
    "pirate_ship_3": Card.SHIP_3,
    "pirate_ship_4": Card.SHIP_4,
    "monkey_business": Card.ANIMALS,
    "truce": Card.PEACE,
    "zombie": Card.ZOMBIE_ATTACK,
    "zombies": Card.ZOMBIE_ATTACK,
    "after_the_storm": Card.SHIPWRECK,
    "storm": Card.SHIPWRECK,
}
"""Other names of the pirate cards."""

NO_CARD = "none"
"""A raid on which no card has any effect: an input for checks, no card of the deck."""

CARD_WORDS: dict[Card, str] = {
    Card.GOLD_COIN: "Gold Coin",
    Card.DIAMOND: "Diamond",
    Card.SKULL_1: "Skull (1)",
    Card.SKULL_2: "Skull (2)",
    Card.PIRATE: "Pirate",
    Card.WATCHWOMAN: "Watchwoman",
    Card.SHIP_2: "Pirate Ship (2 sabers)",
    Card.SHIP_3: "Pirate Ship (3 sabers)",
    Card.SHIP_4: "Pirate Ship (4 sabers)",
    Card.TREASURE_ISLAND: "Treasure Island",
    Card.ANIMALS: "Animals",
    Card.PEACE: "Peace",
    Card.ZOMBIE_ATTACK: "Zombie Attack",
    Card.SHIPWRECK: "Shipwreck",
}
"""What a person calls the cards, in English."""

FACE_WORDS: dict[Face, tuple[str, str]] = {
    Face.COIN: ("coin", "coins"),
    Face.DIAMOND: ("diamond", "diamonds"),
    Face.MONKEY: ("monkey", "monkeys"),
    Face.PARROT: ("parrot", "parrots"),
    Face.SABERS: ("saber", "sabers"),
    Face.SKULL: ("skull", "skulls"),
}
"""One of a face, several of a face, in English."""


def normal(name: str) -> str:
    """`Sea Battle-2` and `sea_battle_2` are the same name."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def face_named(name: str) -> Face:
    """The face under one of its names. Raises `UnknownFace`."""
    key = normal(name)
    if key in FACE_ALIASES:
        return FACE_ALIASES[key]
    try:
        return Face(key)
    except ValueError:
        raise UnknownFace(came=name, expected=tuple(map(str, Face))) from None


def faces_named(names: Iterable[str]) -> tuple[Face, ...]:
    """Several faces at once. Raises `UnknownFace` for the first that is none."""
    return tuple(face_named(name) for name in names)


def card_named(name: str | None) -> Card | None:
    """The card under one of its names; `None` for `none`, the raid without a card. Raises `UnknownCard`."""
    if name is None or normal(name) == NO_CARD:
        return None
    key = normal(name)
    if key in CARD_ALIASES:
        return CARD_ALIASES[key]
    try:
        return Card(key)
    except ValueError:
        raise UnknownCard(came=name, expected=tuple(map(str, Card))) from None


def counted(count: int, face: Face) -> str:
    """`1 saber`, `4 monkeys`."""
    one, several = FACE_WORDS[face]
    return f"{count} {one if count == 1 else several}"
