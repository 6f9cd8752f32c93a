"""A raid in progress: what may be rolled, what ends it, and the sentence when something may not be."""

from __future__ import annotations

import pytest

from scorer.cards import Card
from scorer.editions import BGA, DE35, DE38, Edition
from scorer.errors import (
    AlreadyOnTheCard,
    CardNotInEdition,
    FirstRollNeedsAll,
    LockedSkull,
    MustRollOn,
    NoDice,
    NoMoreRolls,
    NoRollYet,
    NoSuchDie,
    NothingRolled,
    NotOnTheCard,
    NoTreasureIsland,
    OnlyTheWatchwoman,
    OnSkullIsland,
    OnTheCard,
    RaidOver,
    ScorerError,
    SecondSkull,
    SkullOnCard,
    TooFewDice,
    UnrolledDieChanged,
    WatchwomanGone,
    WrongNumberOfDice,
)
from scorer.faces import Face
from scorer.raid import ALL_DICE, Phase, Raid
from scorer.scoring import NoteKind, Outcome
from tests.scorer.hands import hand

QUIET = "coin, diamond, 2 monkey, 2 parrot, 2 sabers"


def raid(text: str, card: Card | None = None, edition: Edition = DE38) -> Raid:
    """A raid after this first roll."""
    return Raid.begin(card, edition, players=3).roll(hand(text))


def faces(**places: str) -> dict[int, Face]:
    """`faces(d3="coin")`: place 3 shows a coin."""
    return {int(name[1:]): Face(face) for name, face in places.items()}


# Rolling


def test_first_roll_is_made_with_all_eight() -> None:
    start = Raid.begin(None)
    assert start.phase is Phase.AWAITING_FIRST_ROLL
    assert start.worth_now() is None
    assert start.fewest_dice == 8
    with pytest.raises(
        FirstRollNeedsAll, match=r"^The first roll is made with all 8 dice, but 2 came; roll all of them\.$"
    ):
        start.verify_roll(faces(d0="coin", d1="coin"))
    with pytest.raises(FirstRollNeedsAll):
        start.verify_reroll({0, 1})
    assert start.can_reroll(ALL_DICE)


def test_seven_faces_are_no_roll() -> None:
    with pytest.raises(WrongNumberOfDice, match="8 dice, but 7 came"):
        Raid.begin(None).roll(hand("7 coin"))


def test_a_card_that_is_not_in_the_deck() -> None:
    with pytest.raises(CardNotInEdition, match="peace is no card of the edition de35"):
        Raid.begin(Card.PEACE, DE35)


def test_a_roll_takes_at_least_two_dice() -> None:
    with pytest.raises(TooFewDice, match="at least 2 dice, but only 1"):
        raid(QUIET).verify_roll(faces(d0="skull"))
    assert raid(QUIET).can_roll(faces(d0="skull", d1="coin"))


def test_all_eight_may_be_rolled_again_when_there_is_no_skull() -> None:
    assert raid(QUIET).can_reroll(ALL_DICE)


def test_a_locked_skull_that_is_gone_is_doubted() -> None:
    with pytest.raises(LockedSkull, match="but die 1 was one and now shows coin"):
        raid("skull, 7 coin").verify_roll(hand("8 coin"))
    with pytest.raises(LockedSkull):
        raid("skull, 7 coin").verify_reroll({0, 1})


def test_nothing_rolled_is_doubted() -> None:
    with pytest.raises(NothingRolled):
        raid(QUIET).verify_roll(hand(QUIET))
    with pytest.raises(NothingRolled):
        raid(QUIET).verify_reroll(())


def test_one_face_changed_may_be_two_dice_rolled() -> None:
    assert raid(QUIET).can_roll(hand("skull, diamond, 2 monkey, 2 parrot, 2 sabers"))
    assert not raid(QUIET).can_roll(hand("skull, diamond, 2 monkey, 2 parrot, 2 sabers"), [0])


def test_a_die_that_was_not_rolled_stays_the_same() -> None:
    with pytest.raises(UnrolledDieChanged, match="Die 3 was not rolled, but showed monkey and now shows coin"):
        raid(QUIET).verify_roll(hand("2 coin, coin, monkey, 2 parrot, 2 sabers"), [0, 1])


@pytest.mark.parametrize("die", [-1, 8, True, "1"])
def test_there_are_eight_dice(die: object) -> None:
    with pytest.raises(NoSuchDie):
        raid(QUIET).verify_reroll([die])  # type: ignore[list-item]


@pytest.mark.parametrize("text", ["3 skull, 5 coin", "2 skull, 6 coin"])
def test_the_third_skull_ends_the_raid(text: str) -> None:
    ended = raid(text)
    if ended.phase is Phase.ROLLING:
        ended = ended.roll({6: Face.SKULL, 7: Face.SKULL})  # four in a later roll: a bust too, no island
    assert ended.phase is Phase.ENDED
    score = ended.worth_now()
    assert score is not None
    assert (score.total, score.outcome) == (0, Outcome.BUST)
    assert ended.rollable == frozenset()
    with pytest.raises(RaidOver, match="over \\(bust\\)"):
        ended.verify_reroll({5, 6})


def test_pirate_magic_ends_the_raid() -> None:
    assert raid("8 coin", Card.GOLD_COIN).phase is Phase.ENDED
    assert raid("8 coin", Card.GOLD_COIN, BGA).phase is Phase.ROLLING


# Watchwoman


def test_watchwoman_saves_one_skull_of_three() -> None:
    saving = raid("3 skull, 5 coin", Card.WATCHWOMAN)
    assert saving.phase is Phase.WATCHWOMAN
    assert saving.watchwoman_ready
    with pytest.raises(OnlyTheWatchwoman):
        saving.verify_roll(faces(d6="monkey", d7="monkey"))
    saved = saving.roll(faces(d0="coin"))
    assert (saved.phase, saved.skulls, saved.watchwoman_ready) == (Phase.ROLLING, 2, False)
    with pytest.raises(WatchwomanGone, match="die 2 was a skull"):
        saved.verify_roll(faces(d1="coin", d2="skull"))


def test_watchwoman_with_other_dice_and_only_one_skull() -> None:
    before = raid("2 skull, 6 coin", Card.WATCHWOMAN)
    assert before.can_reroll({0, 5, 6})
    with pytest.raises(SecondSkull, match="dice 1, 2 were skulls"):
        before.verify_reroll({0, 1, 5})


def test_watchwoman_who_rolls_a_skull_again_or_is_not_asked_is_a_bust() -> None:
    saving = raid("3 skull, 5 coin", Card.WATCHWOMAN)
    assert saving.roll(faces(d0="skull")).phase is Phase.ENDED
    score = saving.end().worth_now()
    assert score is not None
    assert score.outcome is Outcome.BUST


def test_watchwoman_does_not_save_four_skulls_of_a_later_roll() -> None:
    assert raid("2 skull, 6 coin", Card.WATCHWOMAN).roll(faces(d6="skull", d7="skull")).phase is Phase.ENDED


def test_watchwoman_on_skull_island() -> None:
    island = raid("4 skull, 4 coin", Card.WATCHWOMAN)
    assert island.phase is Phase.SKULL_ISLAND
    less = island.roll(faces(d0="parrot"))
    assert (less.phase, less.skulls) == (Phase.SKULL_ISLAND, 3)
    assert less.roll(faces(d0="coin", d4="coin", d5="coin", d6="coin", d7="coin")).phase is Phase.ENDED


# Skull Island


def test_skull_island_goes_on_while_skulls_fall() -> None:
    island = raid("4 skull, 4 coin")
    with pytest.raises(OnSkullIsland):
        island.verify_end()
    more = island.roll(faces(d4="skull", d5="coin", d6="coin", d7="coin"))
    assert more.phase is Phase.SKULL_ISLAND
    over = more.roll(more.faces)  # the same faces again: no skull fell
    assert over.phase is Phase.ENDED
    score = over.worth_now()
    assert score is not None
    assert (score.others, score.unchecked) == (-500, ())


def test_skull_island_last_die() -> None:
    assert raid("7 skull, coin").can_reroll({7})
    assert raid("7 skull, coin", edition=BGA).phase is Phase.ENDED
    assert raid("8 skull").phase is Phase.ENDED


def test_skull_card_counts_for_skull_island() -> None:
    assert raid("2 skull, 6 coin", Card.SKULL_2).phase is Phase.SKULL_ISLAND
    assert raid("skull, 7 coin", Card.SKULL_2).phase is Phase.ENDED


@pytest.mark.parametrize("card", [Card.SHIP_2, Card.SHIP_3, Card.SHIP_4])
def test_nobody_sails_to_skull_island_with_a_ship(card: Card) -> None:
    assert raid("5 skull, 3 coin", card).phase is Phase.ENDED


# Treasure Island


def test_treasure_island_on_and_off() -> None:
    before = raid("2 coin, skull, 5 monkey", Card.TREASURE_ISLAND)
    with pytest.raises(SkullOnCard, match="take die 3 off"):
        before.verify_place_on_card({2})
    placed = before.place_on_card({0, 1})
    assert placed.on_card == {0, 1}
    assert placed.faces_on_card == (Face.COIN, Face.COIN)
    with pytest.raises(AlreadyOnTheCard):
        placed.verify_place_on_card({0})
    with pytest.raises(OnTheCard, match="Die 1 lies on Treasure Island"):
        placed.verify_roll(faces(d0="coin", d3="coin"))
    assert placed.take_off({0}).on_card == {1}
    with pytest.raises(NotOnTheCard):
        placed.verify_take_off({5})
    with pytest.raises(NoDice):
        placed.verify_take_off(())


def test_treasure_island_keeps_what_lay_there_at_a_bust() -> None:
    bust = raid("3 coin, skull, 4 monkey", Card.TREASURE_ISLAND).place_on_card({0, 1, 2})
    bust = bust.roll(faces(d4="skull", d5="skull", d6="coin"))
    assert bust.phase is Phase.ENDED
    score = bust.worth_now()
    assert score is not None
    assert (score.total, score.outcome, score.unchecked) == (400, Outcome.BUST, ())
    with pytest.raises(RaidOver):
        bust.verify_place_on_card({6})


def test_dice_lie_on_the_card_only_with_treasure_island() -> None:
    with pytest.raises(NoTreasureIsland, match="the card is pirate"):
        raid(QUIET, Card.PIRATE).verify_place_on_card({0})
    with pytest.raises(NoRollYet):
        Raid.begin(Card.TREASURE_ISLAND).verify_place_on_card({0})
    with pytest.raises(OnSkullIsland):
        raid("4 skull, 4 coin", Card.TREASURE_ISLAND).verify_place_on_card({5})


# Shipwreck and Zombie Attack


def test_shipwreck_has_two_rolls() -> None:
    first = raid("4 skull, 4 coin", Card.SHIPWRECK)
    assert first.phase is Phase.ROLLING
    second = first.roll(faces(d6="coin", d7="diamond"))
    assert second.phase is Phase.ENDED
    with pytest.raises(NoMoreRolls, match="there are 2 rolls"):
        second.verify_roll(faces(d6="coin", d7="coin"))
    with pytest.raises(LockedSkull):
        first.verify_reroll({0, 7})


def test_shipwreck_may_be_ended_after_one_roll() -> None:
    assert raid("4 skull, 4 coin", Card.SHIPWRECK).can_end()


def test_zombies_are_rolled_on_until_skulls_and_sabers_lie_there() -> None:
    fight = raid("4 skull, 3 sabers, coin", Card.ZOMBIE_ATTACK)
    assert (fight.phase, fight.fewest_dice) == (Phase.ROLLING, 1)
    with pytest.raises(MustRollOn, match="zombie attack is not over"):
        fight.verify_end()
    lost = fight.roll(faces(d7="sabers"))
    assert lost.phase is Phase.ENDED
    score = lost.worth_now()
    assert score is not None
    assert (score.others, score.outcome) == (600, Outcome.ZOMBIE_LOST)


# Ending and correcting


def test_a_raid_is_ended_after_a_roll_and_once_over_it_can_be_closed() -> None:
    with pytest.raises(NoRollYet):
        Raid.begin(None).verify_end()
    assert raid(QUIET).end().phase is Phase.ENDED
    assert raid("3 skull, 5 coin").can_end()


def test_correcting_a_die_changes_what_follows() -> None:
    bust = raid("3 skull, 5 coin")
    assert bust.phase is Phase.ENDED
    corrected = bust.correct_die(2, Face.SABERS)
    assert corrected.phase is Phase.ROLLING
    assert corrected == raid("2 skull, sabers, 5 coin")


def test_correcting_a_die_goes_back_to_its_last_roll() -> None:
    later = raid(QUIET).roll(faces(d0="monkey", d1="monkey")).roll(faces(d6="skull", d7="coin"))
    corrected = later.correct_die(0, Face.DIAMOND)
    assert [roll[0] for roll in corrected.history] == [Face.COIN, Face.DIAMOND, Face.DIAMOND]
    assert corrected.faces[1:] == later.faces[1:]


def test_correcting_a_die_on_the_card_to_a_skull_takes_it_off() -> None:
    placed = raid("2 coin, 6 monkey", Card.TREASURE_ISLAND).place_on_card({0, 1})
    assert placed.correct_die(0, Face.SKULL).on_card == {1}


def test_correcting_the_past_to_what_cannot_be_is_noted() -> None:
    later = raid("2 skull, 6 coin").roll(faces(d6="monkey", d7="monkey"))
    corrected = later.correct_die(2, Face.SKULL)
    assert corrected.phase is Phase.ENDED
    score = corrected.worth_now()
    assert score is not None
    assert [note.kind for note in score.unchecked] == [NoteKind.ROLLED_ON]


def test_correcting_the_card() -> None:
    sailed = raid("4 skull, 4 coin", Card.SHIP_2).correct_card(Card.PIRATE)
    assert sailed == raid("4 skull, 4 coin", Card.PIRATE)
    with pytest.raises(CardNotInEdition):
        raid(QUIET, edition=DE35).correct_card(Card.PEACE)


def test_every_sentence_says_what_to_do_and_carries_its_facts() -> None:
    with pytest.raises(ScorerError) as caught:
        raid(QUIET).verify_roll(faces(d0="coin"))
    assert caught.value.code == "too_few_dice"
    assert caught.value.facts == {"expected": 2, "came": 1}
    assert caught.value.template.format(**caught.value.facts) == str(caught.value)
