"""The editions of the game: one frozen record of settings each, and every setting a house rule.

Nothing else in the rules knows which edition is played; it only asks the settings. To play with another rule,
`edition.with_house_rules(target=5000)`; to show all of them to a table, `SETTINGS`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from scorer.cards import Card
from scorer.errors import BadSetting, UnknownEdition, UnknownSetting
from scorer.names import card_named, normal

HouseRule = bool | int | str | frozenset[Card]
"""What a setting may be."""


class NobodyAtTarget(StrEnum):
    """How play goes on when, after the last round, nobody is at the target any more."""

    FIRST_WINS = "first_wins"
    """All last raids are played; then the first to be at the target wins at once."""
    NEW_LAST_ROUND = "new_last_round"
    """The last round is called off as soon as nobody is at the target; whoever gets there again starts a new one."""


class SettingKind(StrEnum):
    """Which control the set-up form shows for a setting."""

    YES_NO = "yes_no"
    NUMBER = "number"
    CHOICE = "choice"
    CARDS = "cards"


@dataclass(frozen=True)
class Setting:
    """One house rule, as a set-up form needs it."""

    name: str
    """The field of `Edition`, and the key in every file."""
    kind: SettingKind
    description: str
    """An English sentence (the page translates it)."""
    least: int = 0
    """Smallest number allowed."""
    most: int = 0
    """Largest number allowed."""
    choices: tuple[str, ...] = ()
    """The names to choose from, for `CHOICE` and `CARDS`."""

    def read(self, value: object) -> HouseRule:
        """The setting's value from JSON, a form or Python. Raises `BadSetting`."""
        if self.kind is SettingKind.YES_NO:
            return self._yes_no(value)
        if self.kind is SettingKind.NUMBER:
            return self._number(value)
        if self.kind is SettingKind.CHOICE:
            return self._choice(value)
        return self._cards(value)

    def _refuse(self, value: object, expected: str) -> BadSetting:
        return BadSetting(setting=self.name, came=repr(value), expected=expected)

    def _yes_no(self, value: object) -> bool:
        said = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and normal(value) in said:
            return said[normal(value)]
        raise self._refuse(value, "yes or no")

    def _number(self, value: object) -> int:
        expected = f"a whole number from {self.least} to {self.most}"
        if isinstance(value, str):
            try:
                value = int(value)
            except ValueError:
                raise self._refuse(value, expected) from None
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise self._refuse(value, expected)
        return value

    def _choice(self, value: object) -> str:
        if isinstance(value, str) and normal(value) in self.choices:
            return NobodyAtTarget(normal(value))
        raise self._refuse(value, "one of " + ", ".join(self.choices))

    def _cards(self, value: object) -> frozenset[Card]:
        names = value.replace(",", " ").split() if isinstance(value, str) else value
        if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in names):
            raise self._refuse(value, "a list of card names")
        cards = frozenset(card for card in map(card_named, names) if card is not None)
        if not cards:
            raise self._refuse(value, "at least one card")
        return cards


def _yes_no(description: str) -> Mapping[str, object]:
    return {"kind": SettingKind.YES_NO, "description": description}


def _number(description: str, least: int, most: int) -> Mapping[str, object]:
    return {"kind": SettingKind.NUMBER, "description": description, "least": least, "most": most}


PLAIN_CARDS = frozenset(Card) - {Card.PEACE, Card.ZOMBIE_ATTACK, Card.SHIPWRECK}
PROMO_CARDS = PLAIN_CARDS | {Card.PEACE, Card.SHIPWRECK}


@dataclass(frozen=True)
class Edition:
    """The rules of one edition. Defaults are those of the 38-card rulebook."""

    key: str
    """Its name in every interface, e.g. `de38`."""
    title: str
    """What a person calls it."""

    # How a game ends
    target: int = dataclasses.field(default=8000, metadata=_number("Points that start the last round.", 100, 1_000_000))
    last_round: bool = dataclasses.field(
        default=True,
        metadata=_yes_no("At the target everybody else has one more raid; otherwise the first there wins at once."),
    )
    topped_leader_raids_again: bool = dataclasses.field(
        default=True, metadata=_yes_no("Whoever started the last round and was topped in it has one more raid.")
    )
    nobody_at_target: NobodyAtTarget = dataclasses.field(
        default=NobodyAtTarget.FIRST_WINS,
        metadata={
            "kind": SettingKind.CHOICE,
            "description": "If nobody is at the target after the last round: the first to get there again wins at once,"
            " or starts a new last round.",
            "choices": tuple(NobodyAtTarget),
        },
    )
    negative_totals: bool = dataclasses.field(
        default=True, metadata=_yes_no("Totals may go below zero; otherwise they stop at zero.")
    )
    nine_of_a_kind_wins: bool = dataclasses.field(
        default=True,
        metadata=_yes_no("Pirate magic: nine of a kind (coin or diamond card and eight such dice) wins at once."),
    )
    max_players: int = dataclasses.field(default=5, metadata=_number("The most players in a game.", 2, 8))

    # What a raid is worth
    skull_card_blocks_chest: bool = dataclasses.field(
        default=True, metadata=_yes_no("A Skull card blocks the full chest, as a skull among the dice does.")
    )
    two_sabers_fill_chest: bool = dataclasses.field(
        default=True, metadata=_yes_no("The two sabers of a won 2-saber ship count as scoring dice for the full chest.")
    )
    beside_island_counts: bool = dataclasses.field(
        default=True,
        metadata=_yes_no("Treasure Island: after a voluntary end the dice beside the card count too."),
    )
    island_fewest_dice: int = dataclasses.field(
        default=1, metadata=_number("Fewest dice in a roll on Skull Island.", 1, 2)
    )
    peace_factor: int = dataclasses.field(
        default=2, metadata=_number("Peace: a raid without a saber counts this many times.", 1, 2)
    )
    peace_penalty: int = dataclasses.field(
        default=500, metadata=_number("Peace: points lost for each saber shown at the end.", 0, 10_000)
    )
    peace_broken_spares_others: bool = dataclasses.field(
        default=True, metadata=_yes_no("Peace: a saber at the end on Skull Island spares the other players.")
    )
    shipwreck_ignores_skulls: bool = dataclasses.field(
        default=True, metadata=_yes_no("Shipwreck: skulls are ignored, and nobody sails to Skull Island.")
    )
    shipwreck_island_skulls: int = dataclasses.field(
        default=4,
        metadata=_number("Shipwreck: this many skulls pay as on Skull Island (where skulls are not ignored).", 3, 4),
    )
    zombie_sabers: int = dataclasses.field(
        default=5, metadata=_number("Zombie Attack: sabers that beat the zombies.", 1, 8)
    )
    zombie_points: int = dataclasses.field(
        default=1200, metadata=_number("Zombie Attack: points for the raider, or for the others to share.", 0, 10_000)
    )
    cards: frozenset[Card] = dataclasses.field(
        default=frozenset(Card),
        metadata={
            "kind": SettingKind.CARDS,
            "description": "The kinds of pirate card in the deck.",
            "choices": tuple(Card),
        },
    )

    def with_house_rules(self, **changes: object) -> Edition:
        """This edition with other settings; values as in JSON or a form. Raises `UnknownSetting`, `BadSetting`."""
        for name in changes:
            if name not in SETTINGS:
                raise UnknownSetting(came=name, expected=tuple(SETTINGS))
        return dataclasses.replace(
            self,
            **{name: SETTINGS[name].read(value) for name, value in changes.items()},  # type: ignore[arg-type]
        )

    @cached_property
    def house_rules(self) -> dict[str, HouseRule]:
        """What differs from the edition of this key."""
        printed = EDITIONS[self.key]
        return {name: getattr(self, name) for name in SETTINGS if getattr(self, name) != getattr(printed, name)}


def _settings() -> dict[str, Setting]:
    return {
        field.name: Setting(name=field.name, **field.metadata)
        for field in dataclasses.fields(Edition)
        if "kind" in field.metadata
    }


SETTINGS: dict[str, Setting] = _settings()
"""Name → setting, in the order of a set-up form."""


DE38 = Edition(key="de38", title="Piraten Kapern, 38 cards, 8000 points")
DE35 = Edition(key="de35", title="Piraten Kapern, 35 cards, 6000 points", target=6000, cards=PLAIN_CARDS)
BGA = Edition(
    key="bga",
    title="Piraten Kapern as on Board Game Arena",
    target=6000,
    nine_of_a_kind_wins=False,
    topped_leader_raids_again=False,
    nobody_at_target=NobodyAtTarget.NEW_LAST_ROUND,
    island_fewest_dice=2,
    beside_island_counts=False,
    peace_factor=1,
    peace_penalty=1000,
    shipwreck_ignores_skulls=False,
    shipwreck_island_skulls=4,
    cards=PROMO_CARDS,
)
ISLA = Edition(
    key="isla",
    title="Isla Calavera",
    target=6000,
    nine_of_a_kind_wins=False,
    topped_leader_raids_again=False,
    nobody_at_target=NobodyAtTarget.NEW_LAST_ROUND,
    island_fewest_dice=2,
    peace_factor=1,
    peace_penalty=1000,
    shipwreck_ignores_skulls=False,
    shipwreck_island_skulls=3,
    cards=PROMO_CARDS,
)
EN35 = Edition(
    key="en35",
    title="English edition, 35 cards, 6000 points",
    target=6000,
    negative_totals=False,
    nine_of_a_kind_wins=False,
    skull_card_blocks_chest=False,
    topped_leader_raids_again=False,
    nobody_at_target=NobodyAtTarget.NEW_LAST_ROUND,
    cards=PLAIN_CARDS,
)

EDITIONS: dict[str, Edition] = {edition.key: edition for edition in (DE38, DE35, BGA, ISLA, EN35)}
"""Key → edition, as printed."""

DEFAULT = DE38

EDITION_ALIASES: dict[str, str] = {"de2012": "de35", "en38": "de38", "isla_calavera": "isla"}
"""Other names of the editions."""


def edition_named(name: str) -> Edition:
    """The edition under one of its names, as printed. Raises `UnknownEdition`."""
    key = normal(name)
    key = EDITION_ALIASES.get(key, key)
    if key not in EDITIONS:
        raise UnknownEdition(came=name, expected=tuple(EDITIONS))
    return EDITIONS[key]
