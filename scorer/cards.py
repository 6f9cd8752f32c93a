"""The fourteen kinds of pirate card, under the names that every interface uses."""

from __future__ import annotations

from enum import StrEnum


class Card(StrEnum):
    """A kind of pirate card."""

    GOLD_COIN = "gold_coin"
    DIAMOND = "diamond"
    SKULL_1 = "skull_1"
    SKULL_2 = "skull_2"
    PIRATE = "pirate"
    WATCHWOMAN = "watchwoman"
    SHIP_2 = "ship_2"
    SHIP_3 = "ship_3"
    SHIP_4 = "ship_4"
    TREASURE_ISLAND = "treasure_island"
    ANIMALS = "animals"
    PEACE = "peace"
    ZOMBIE_ATTACK = "zombie_attack"
    SHIPWRECK = "shipwreck"
