"""The worked examples and sentences of the rule books, each test named after its section."""

from __future__ import annotations

import pytest

from scorer.cards import Card
from scorer.editions import BGA, DE35, DE38, EN35, ISLA
from scorer.raid import Phase, Raid
from scorer.scoring import LineKind, Outcome, score_raid
from tests.scorer.hands import hand, worth

SIX_PLAIN = "2 monkey, 2 parrot, 2 sabers"


def points(text: str, card: Card | None = None, **more: object) -> int:
    return worth(text, card, **more).total  # type: ignore[arg-type]


class TestRulebook38:
    """The 38-card rulebook."""

    def test_the_dangers_of_the_raiding_dice_third_skull(self) -> None:
        score = worth("3 skull, 5 coin", later=True)
        assert (score.total, score.others, score.outcome) == (0, 0, Outcome.BUST)

    @pytest.mark.parametrize(("count", "expected"), [(3, 100), (4, 200), (5, 500), (6, 1000), (7, 2000)])
    def test_scoring_at_the_end_of_a_raid_combinations(self, count: int, expected: int) -> None:
        rest = {
            3: "2 parrot, 2 sabers, skull",
            4: "2 parrot, 2 sabers",
            5: "2 parrot, sabers",
            6: "2 parrot",
            7: "parrot",
        }
        assert points(f"{count} monkey, {rest[count]}") == expected

    def test_scoring_at_the_end_of_a_raid_eight_of_a_kind(self) -> None:
        assert points("8 monkey") == 4000 + 500

    def test_scoring_at_the_end_of_a_raid_four_gold_coins(self) -> None:
        assert points("4 coin, 2 monkey, 2 parrot") == 600

    def test_scoring_at_the_end_of_a_raid_full_treasure_chest(self) -> None:
        score = worth("4 coin, 3 monkey, diamond")
        assert score.total == 400 + 200 + 100 + 100 + 500
        assert [(line.what, line.points) for line in score.lines] == [
            ("set of 4 coins", 200),
            ("set of 3 monkeys", 100),
            ("4 coins", 400),
            ("1 diamond", 100),
            ("full chest", 500),
        ]

    def test_scoring_at_the_end_of_a_raid_no_bonus_with_a_skull(self) -> None:
        assert points("4 coin, 3 monkey, skull") == 700

    def test_skull_island(self) -> None:
        score = worth("5 skull, 3 coin")
        assert (score.total, score.others, score.outcome) == (0, -500, Outcome.SKULL_ISLAND)

    def test_skull_island_only_on_the_first_roll(self) -> None:
        assert worth("5 skull, 3 coin", later=True).outcome is Outcome.BUST

    def test_the_pirate_cards_treasure_island(self) -> None:
        faces = hand("3 skull, 2 coin, 2 monkey, coin")
        score = score_raid(Card.TREASURE_ISLAND, faces, on_card=hand("2 coin, 2 monkey"), island=False)
        assert (score.total, score.outcome) == (200, Outcome.BUST)

    def test_the_pirate_cards_treasure_island_sets_only_on_the_card_and_no_chest(self) -> None:
        faces = hand("3 skull, 5 coin")
        assert score_raid(Card.TREASURE_ISLAND, faces, on_card=hand("2 coin"), island=False).total == 200
        assert score_raid(Card.TREASURE_ISLAND, faces, on_card=hand("3 coin"), island=False).total == 400

    def test_the_pirate_cards_pirate(self) -> None:
        assert points("4 coin, 2 monkey, 2 parrot", Card.PIRATE) == 1200
        assert worth("4 skull, 4 coin", Card.PIRATE).others == -800

    def test_the_pirate_cards_watchwoman(self) -> None:
        raid = Raid.begin(Card.WATCHWOMAN).roll(hand("3 skull, 3 parrot, 2 sabers"))
        assert raid.phase is Phase.WATCHWOMAN
        assert raid.roll({0: hand("parrot")[0]}).phase is Phase.ROLLING

    def test_the_pirate_cards_skull(self) -> None:
        assert worth("2 skull, 6 coin", Card.SKULL_2).others == -400
        assert worth("skull, 7 coin", Card.SKULL_2).outcome is Outcome.BUST

    def test_the_pirate_cards_pirate_ship(self) -> None:
        assert points("4 sabers, 2 monkey, 2 parrot", Card.SHIP_4) == 200 + 1000
        assert points("3 sabers, 5 coin", Card.SHIP_4) == -1000
        lost = worth("4 sabers, 3 skull, coin", Card.SHIP_4, later=True)
        assert (lost.total, lost.others, lost.outcome) == (-1000, 0, Outcome.BUST)
        assert worth("5 skull, 3 sabers", Card.SHIP_2).outcome is Outcome.BUST

    def test_the_pirate_cards_pirate_ship_two_sabers_fill_the_chest(self) -> None:
        assert points("2 sabers, 6 coin", Card.SHIP_2) == 600 + 1000 + 300 + 500

    def test_the_pirate_cards_gold_coin_and_diamond(self) -> None:
        assert points("2 coin, skull, sabers, 2 monkey, 2 parrot", Card.GOLD_COIN) == 400
        assert points("2 coin, skull, sabers, 2 monkey, 2 parrot", Card.DIAMOND) == 300

    def test_the_pirate_cards_animals(self) -> None:
        assert points("2 parrot, 3 monkey, 2 sabers, skull", Card.ANIMALS) == 500
        assert points("2 parrot, 3 monkey, 2 sabers, skull") == 100

    def test_the_pirate_cards_peace(self) -> None:
        assert points("3 coin, 2 monkey, 2 parrot, skull", Card.PEACE) == 800
        assert points("3 coin, 2 sabers, 2 parrot, skull", Card.PEACE) == -1000
        assert points("3 skull, 2 sabers, 3 coin", Card.PEACE, later=True) == -1000
        island = worth("5 skull, sabers, 2 coin", Card.PEACE)
        assert (island.total, island.others) == (-500, 0)
        assert worth("5 skull, monkey, 2 coin", Card.PEACE).others == -500

    def test_the_pirate_cards_zombie_attack(self) -> None:
        assert points("5 sabers, 3 skull", Card.ZOMBIE_ATTACK) == 1200
        lost = worth("4 sabers, 4 skull", Card.ZOMBIE_ATTACK)
        assert (lost.total, lost.others, lost.outcome) == (0, 600, Outcome.ZOMBIE_LOST)

    @pytest.mark.parametrize(("players", "share"), [(2, 1200), (3, 600), (4, 400), (5, 300), (6, 240), (8, 171)])
    def test_the_pirate_cards_zombie_attack_shares(self, players: int, share: int) -> None:
        assert score_raid(Card.ZOMBIE_ATTACK, hand("8 skull"), players=players).others == share

    def test_the_pirate_cards_shipwreck(self) -> None:
        assert points("3 skull, 2 coin, 3 monkey", Card.SHIPWRECK) == 400
        assert points("4 coin, 4 diamond", Card.SHIPWRECK) == 2 * (400 + 800 + 500)

    def test_pirate_magic(self) -> None:
        assert worth("8 coin", Card.GOLD_COIN).outcome is Outcome.PIRATE_MAGIC
        assert worth("8 diamond", Card.DIAMOND).outcome is Outcome.PIRATE_MAGIC
        assert worth("8 diamond", Card.GOLD_COIN).outcome is Outcome.SCORED
        assert worth("7 coin, skull", Card.GOLD_COIN).outcome is Outcome.SCORED

    def test_example_of_a_raid(self) -> None:
        raid = Raid.begin(Card.PIRATE)
        raid = raid.roll(hand("skull, 3 sabers, 2 coin, monkey, parrot"))
        raid = raid.roll(dict(zip((6, 7), hand("2 coin"), strict=True)))
        raid = raid.roll(dict(zip((1, 2, 3), hand("skull, diamond, sabers"), strict=True)))
        score = raid.end().worth_now()
        assert score is not None
        assert [(line.kind, line.points) for line in score.lines] == [
            (LineKind.SET, 200),
            (LineKind.TREASURE, 400),
            (LineKind.TREASURE, 100),
            (LineKind.PIRATE, 700),
        ]
        assert score.total == 1400
        assert score.unchecked == ()


class TestRulebook35:
    """The German 35-card edition."""

    def test_punkte_vier_goldmuenzen(self) -> None:
        assert points("4 coin, 2 monkey, 2 parrot", edition=DE35) == 600

    def test_punkte_affen_und_papageien_nur_mit_der_karte(self) -> None:
        assert points("2 parrot, 3 monkey, 2 sabers, skull", Card.ANIMALS, edition=DE35) == 500
        assert points("2 parrot, 3 monkey, 2 sabers, skull", edition=DE35) == 100

    def test_totenkopf_kein_bonus_fuer_die_volle_schatzkiste(self) -> None:
        assert points("8 monkey", Card.SKULL_1, edition=DE35) == 4000

    def test_piratenmagie(self) -> None:
        assert worth("8 coin", Card.GOLD_COIN, DE35).outcome is Outcome.PIRATE_MAGIC


class TestBoardGameArena:
    """Piraten Kapern as Board Game Arena plays it."""

    def test_nine_of_a_kind_is_points(self) -> None:
        score = worth("8 coin", Card.GOLD_COIN, BGA)
        assert (score.total, score.outcome) == (5400, Outcome.SCORED)

    def test_pirate_ship(self) -> None:
        assert [points("8 monkey", card, edition=BGA) for card in (Card.SHIP_2, Card.SHIP_3, Card.SHIP_4)] == [
            -300,
            -500,
            -1000,
        ]

    def test_treasure_island_only_the_dice_on_the_card(self) -> None:
        faces = hand("3 coin, 3 monkey, 2 skull")
        assert score_raid(Card.TREASURE_ISLAND, faces, BGA, on_card=hand("3 coin")).total == 400
        assert score_raid(Card.TREASURE_ISLAND, faces, BGA, on_card=()).total == 0
        unknown = score_raid(Card.TREASURE_ISLAND, faces, BGA)
        assert unknown.total == 500
        assert unknown.unchecked

    def test_after_the_storm(self) -> None:
        assert points("3 coin, 3 monkey, 2 skull", Card.SHIPWRECK, edition=BGA) == 800
        assert worth("3 coin, 2 monkey, 3 skull", Card.SHIPWRECK, BGA, later=True).outcome is Outcome.BUST
        assert worth("3 coin, monkey, 4 skull", Card.SHIPWRECK, BGA, later=True).others == -400

    def test_after_the_storm_one_reroll_on_skull_island(self) -> None:
        raid = Raid.begin(Card.SHIPWRECK, BGA).roll(hand("4 skull, 4 coin"))
        assert raid.phase is Phase.SKULL_ISLAND
        assert raid.roll({7: hand("skull")[0], 6: hand("coin")[0]}).phase is Phase.ENDED

    def test_peace(self) -> None:
        assert points("3 coin, 2 monkey, 2 parrot, skull", Card.PEACE, edition=BGA) == 400
        assert points("3 coin, 2 sabers, 2 parrot, skull", Card.PEACE, edition=BGA) == -2000
        island = worth("5 skull, sabers, 2 coin", Card.PEACE, BGA)
        assert (island.total, island.others) == (-1000, 0)


class TestIslaCalavera:
    """Isla Calavera."""

    def test_isla_calavera_ends_without_two_dice(self) -> None:
        raid = Raid.begin(None, ISLA).roll(hand("7 skull, coin"))
        assert raid.phase is Phase.ENDED
        assert Raid.begin(None, DE38).roll(hand("7 skull, coin")).phase is Phase.SKULL_ISLAND

    def test_tras_la_tormenta_three_skulls_pay_as_on_the_island(self) -> None:
        score = worth("3 coin, 2 monkey, 3 skull", Card.SHIPWRECK, ISLA)
        assert (score.total, score.others, score.outcome) == (0, -300, Outcome.SKULL_ISLAND)

    def test_animales(self) -> None:
        assert points("2 parrot, 3 monkey, 2 sabers, skull", Card.ANIMALS, edition=ISLA) == 500

    def test_botin(self) -> None:
        faces = hand("2 coin, 3 skull, 3 monkey")
        assert score_raid(Card.TREASURE_ISLAND, faces, ISLA, on_card=hand("2 coin"), island=False).total == 200


def test_english_35_cards_a_skull_card_does_not_block_the_full_chest() -> None:
    assert points("8 monkey", Card.SKULL_1, edition=EN35) == 4500
    assert points("7 monkey, skull", Card.SKULL_1, edition=EN35) == 2000
