"""A second scorer, written in another way, for the enumeration to agree with.

It knows nothing of the first one but the names. Faces are letters (C coin, D diamond, M monkey, P parrot, S sabers,
X skull), the rules are typed again from `editions.md`, sets are found by brute force over every way to split a heap
into groups, and a die fills the chest if the raid would be worth less without it.
"""

from __future__ import annotations

from functools import cache

GROUP = {1: 0, 2: 0, 3: 100, 4: 200, 5: 500, 6: 1000, 7: 2000, 8: 4000}

#                        de38    de35    bga     isla    en35
TABLE = {
    "magic":            ("yes",  "yes",  "no",   "no",   "no"),
    "skull blocks":     ("yes",  "yes",  "yes",  "yes",  "no"),
    "beside":           ("yes",  "yes",  "no",   "yes",  "yes"),
    "peace":            ((2, 500), None, (1, 1000), (1, 1000), None),
    "wreck":            ("free", None,   4,      3,      None),
    "zombie":           (1200,   None,   None,   None,   None),
}  # fmt: skip
EDITIONS = ("de38", "de35", "bga", "isla", "en35")


def rule(name: str, edition: str) -> object:
    return TABLE[name][EDITIONS.index(edition)]


def has_card(card: str, edition: str) -> bool:
    special = {"peace": "peace", "shipwreck": "wreck", "zombie_attack": "zombie"}
    return card not in special or rule(special[card], edition) is not None


@cache
def heap(size: int) -> int:
    """The best way to split a heap of equal symbols into groups of at most eight."""
    return max((GROUP[part] + heap(size - part) for part in range(1, min(size, 8) + 1)), default=0)


@cache
def symbols(letters: str) -> int:
    """Sets, and 100 for each coin and diamond."""
    return sum(heap(letters.count(kind)) for kind in set(letters) - {"X"}) + 100 * sum(map("CD".count, letters))


@cache
def dice_worth(dice: str, card: str) -> int:
    """What these dice are worth with this card, the chest and all doubling aside."""
    letters = dice
    if card == "animals":
        letters = letters.replace("P", "M")
    if card == "shipwreck":
        letters = "".join(letter for letter in letters if letter in "CD")
    letters += {"gold_coin": "C", "diamond": "D"}.get(card, "")
    worth = symbols("".join(sorted(letters)))
    if card.startswith("ship_"):
        quota = int(card[-1])
        worth += {2: 300, 3: 500, 4: 1000}[quota] * (1 if dice.count("S") >= quota else -1)
    return worth


@cache
def chest(dice: str, card: str, edition: str) -> int:
    """500 if each of eight dice is missed when it is taken away."""
    if len(dice) < 8 or (card.startswith("skull") and rule("skull blocks", edition) == "yes"):
        return 0
    whole = dice_worth(dice, card)
    return 500 * all(dice_worth(dice[:k] + dice[k + 1 :], card) < whole for k in range(8))


def worth(
    dice: str, card: str, edition: str, on_card: str | None, first_roll: bool, players: int
) -> tuple[int, int, str]:
    """(total, each other's, outcome) of a raid that ends with these dice."""
    dead = dice.count("X") + (int(card[-1]) if card.startswith("skull") else 0)
    no_island = card.startswith("ship_") or card == "zombie_attack"
    if card == "shipwreck" and rule("wreck", edition) == "free":
        dead, no_island = 0, True
    sabers = dice.count("S")
    fine = -sabers * rule("peace", edition)[1] if card == "peace" else 0
    pays_as_island = card == "shipwreck" and rule("wreck", edition) != "free" and dead >= rule("wreck", edition)
    if (dead > 3 and first_roll and not no_island) or pays_as_island:
        return fine, 0 if fine else dead * (-200 if card == "pirate" else -100), "skull_island"
    if card == "zombie_attack":
        return (1200, 0, "scored") if sabers > 4 else (0, 1200 // (players - 1), "zombie_lost")
    if dead > 2:
        safe = dice_worth("".join(sorted(on_card or "")), "treasure_island") if card == "treasure_island" else 0
        ship = {"ship_2": -300, "ship_3": -500, "ship_4": -1000}.get(card, 0)
        return safe + fine + ship, 0, "bust"
    if card.startswith("ship_") and sabers < int(card[-1]):
        return {"2": -300, "3": -500, "4": -1000}[card[-1]], 0, "ship_lost"
    if fine:
        return fine, 0, "peace_broken"
    if card == "treasure_island" and rule("beside", edition) == "no" and on_card is not None:
        dice = "".join(sorted(on_card))
    elif card == "treasure_island" and rule("beside", edition) == "no":
        dice = dice.replace("X", "")
    total = dice_worth(dice, card) + chest(dice, card, edition)
    total *= {"pirate": 2, "shipwreck": 2, "peace": rule("peace", edition)[0] if card == "peace" else 1}.get(card, 1)
    magic = rule("magic", edition) == "yes" and (card, dice) in (("gold_coin", "C" * 8), ("diamond", "D" * 8))
    return total, 0, "pirate_magic" if magic else "scored"
