"""The six faces of a raiding die, under the names that every interface uses."""

from __future__ import annotations

from enum import StrEnum


class Face(StrEnum):
    """What lies upward on a die."""

    COIN = "coin"
    DIAMOND = "diamond"
    MONKEY = "monkey"
    PARROT = "parrot"
    SABERS = "sabers"
    SKULL = "skull"


DICE = 8
"""A raid is rolled with eight dice."""
