"""Every recorded case in which sources differ, with what explains it: a setting, or a reading that all editions share.

`settings` names the house rules that bring about what the source says, and they are tried; where there are none,
`reading` says why we score otherwise (numbers: the shared readings of the editions table).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Conflict:
    rule: str
    ids: str
    reading: str
    edition: str = "de38"
    settings: dict[str, object] = field(default_factory=dict)


CASES = (
    Conflict(
        "nine_of_a_kind",
        "C0022",
        "nine of a kind wins, or is worth what eight and the ninth symbol are",
        settings={"nine_of_a_kind_wins": False},
    ),
    Conflict("nine_of_a_kind", "C0646", "nine of a kind wins at once", settings={"nine_of_a_kind_wins": True}),
    Conflict("nine_of_a_kind", "C0573", "no edition has 8000 for nine of a kind"),
    Conflict(
        "full_chest_with_skull_card",
        "C0313 C0462 C0739",
        "a Skull card blocks the full chest, or not",
        settings={"skull_card_blocks_chest": False},
    ),
    Conflict(
        "full_chest_with_skull_card",
        "C0577",
        "a Skull card blocks the full chest, or not",
        edition="en35",
        settings={"skull_card_blocks_chest": True},
    ),
    Conflict(
        "edition_difference_peace",
        "C0590 C0592 C0595 C0666 C0667 C0807 C0808 C0809 C0812 C0816 C0817 C0821 C0822 C0823 C0825 C0826 C0827",
        "Peace doubles and a saber costs 500, or it does not and a saber costs 1000",
        settings={"peace_factor": 1, "peace_penalty": 1000},
    ),
    Conflict(
        "edition_difference_peace",
        "C0686",
        "Peace doubles and a saber costs 500, or it does not and a saber costs 1000",
        edition="bga",
        settings={"peace_factor": 2, "peace_penalty": 500},
    ),
    Conflict(
        "full_chest_two_swords",
        "C0556",
        "1: the two sabers of a won ship earn something",
        settings={"two_sabers_fill_chest": False},
    ),
    Conflict(
        "peace_on_skull_island",
        "C0675",
        "a saber at the end on Skull Island spares the others",
        settings={"peace_broken_spares_others": False, "peace_penalty": 1000},
    ),
    Conflict(
        "edition_difference_shipwreck_skulls",
        "C0609 C0849 C0850 C0851",
        "skulls are ignored or pay as on the island; nowhere is it 0 and 0",
    ),
    Conflict(
        "sea_battle_value",
        "C0472 C0473 C0475 C0476 C0478",
        "the ships' values are printed on the cards: 300, 500, 1000",
    ),
    Conflict(
        "sea_battle_value",
        "C0651 C0652 C0654 C0655 C0656",
        "the ships' values are printed on the cards: 300, 500, 1000",
    ),
    Conflict(
        "failed_sea_battle_penalty",
        "C0493 C0495",
        "3: too few sabers cost the card's value, and the dice count nothing",
    ),
    Conflict("source_defect", "C0502 C0504 C0507 C0508", "the source contradicts its own test"),
    Conflict("full_chest_two_swords", "C0722", "1: a monkey and a parrot earn nothing there, whatever the sabers do"),
    Conflict("shipwreck_doubling", "C0661", "all points of a Shipwreck are doubled"),
    Conflict("skull_on_treasure_chest", "C0671", "5: skulls cannot be placed on Treasure Island"),
    Conflict("bust_penalty", "C0678 C0688", "a bust is worth nothing; lost zombies are shared out"),
    Conflict("full_chest_definition", "C0718 C0720", "1: each die must earn something, not only be no skull"),
    Conflict("full_chest_missing", "C0724", "1: the full chest is a bonus in every edition"),
    Conflict("island_penalty_hits_roller", "C0728", "4: on the island only the others pay"),
)

FLOWS = (
    Conflict("sudden_death_after_leader_drops", "F002 F076", "", settings={"nobody_at_target": "new_last_round"}),
    Conflict("leader_last_raid", "F004 F008", "", settings={"topped_leader_raids_again": False}),
    Conflict("leader_last_raid", "F052", "the case does not state it", settings={"topped_leader_raids_again": False}),
    Conflict("negative_totals", "F014 F016 F018 F024", "", settings={"negative_totals": False}),
    Conflict("negative_totals", "F027", "it takes points from everybody without a raid"),
    Conflict(
        "nine_of_a_kind / leader_last_raid",
        "F029",
        "",
        settings={"nine_of_a_kind_wins": False, "topped_leader_raids_again": False},
    ),
    Conflict("end_of_game", "F031 F078", "", settings={"last_round": False}),
    Conflict("tie", "F039 F040 F042", "11: a tie is a shared win"),
    Conflict("tie", "F043", "11: a tie is a shared win"),
    Conflict("house_rule", "F068", "no text counts rounds"),
    Conflict("threshold_inclusive", "F079", "the target or more"),
    Conflict("reroll_all_eight", "F083", "no die has to be set aside"),
    Conflict("reroll_all_non_skulls", "F085 F086", "no die has to be set aside"),
    Conflict("skull_on_treasure_chest", "F093", "5: skulls cannot be placed on Treasure Island"),
    Conflict("island_single_die", "F097", "", settings={"island_fewest_dice": 1}),
)
