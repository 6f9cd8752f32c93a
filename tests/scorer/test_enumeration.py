"""Every hand of eight dice, with every card, in every edition: two scorers written in two ways agree."""

from __future__ import annotations

import itertools

import pytest

from scorer.cards import Card
from scorer.editions import EDITIONS, PLAIN_CARDS
from scorer.errors import CardNotInEdition
from scorer.faces import DICE, Face
from scorer.scoring import score_raid
from tests.scorer import second_scorer

LETTERS = {
    Face.COIN: "C",
    Face.DIAMOND: "D",
    Face.MONKEY: "M",
    Face.PARROT: "P",
    Face.SABERS: "S",
    Face.SKULL: "X",
}
HANDS = list(itertools.combinations_with_replacement(Face, DICE))
CARDS = (None, *Card)


def test_there_are_1287_hands() -> None:
    assert len(HANDS) == 1287


def _letters(faces: tuple[Face, ...]) -> str:
    return "".join(sorted(LETTERS[face] for face in faces))


def _on_cards(card: Card | None, hand: tuple[Face, ...]) -> list[tuple[Face, ...] | None]:
    """What may lie on Treasure Island: unknown, nothing, and every shorter row of the hand's dice."""
    if card is not Card.TREASURE_ISLAND:
        return [None]
    free = tuple(face for face in hand if face is not Face.SKULL)
    return [None, *(free[start:end] for start in range(len(free)) for end in range(start + 1, len(free) + 1)), ()]


@pytest.mark.slow
@pytest.mark.parametrize("key", EDITIONS)
def test_two_scorers_agree(key: str) -> None:
    edition = EDITIONS[key]
    differences = []
    compared = 0
    for card, hand in itertools.product(CARDS, HANDS):
        if card is not None and card not in edition.cards:
            continue
        letters, name = _letters(hand), card or "none"
        for on_card, first, players in itertools.product(_on_cards(card, hand), (True, False), (2, 5)):
            if players == 5 and card is not Card.ZOMBIE_ATTACK:
                continue  # only zombies share out
            ours = score_raid(card, hand, edition, on_card=on_card, island=None if first else False, players=players)
            lying = None if on_card is None else _letters(on_card)
            theirs = second_scorer.worth(letters, name, key, lying, first, players)
            compared += 1
            if (ours.total, ours.others, ours.outcome) != theirs:
                differences.append((name, letters, lying, first, ours, theirs))
            assert ours.total == sum(line.points for line in ours.lines)
    assert not differences, f"{len(differences)} of {compared}, first: {differences[0]}"


@pytest.mark.parametrize("key", EDITIONS)
def test_each_card_is_in_the_deck_or_refused(key: str) -> None:
    edition = EDITIONS[key]
    for card in Card:
        assert second_scorer.has_card(card, key) == (card in edition.cards)
        if card not in edition.cards:
            with pytest.raises(CardNotInEdition):
                score_raid(card, HANDS[0], edition)
    assert edition.cards >= PLAIN_CARDS
