"""How fast the rules are: `python -m scorer.bench` prints it. Figures are CPU times, medians of several runs."""

from __future__ import annotations

import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable

from scorer.cards import Card
from scorer.editions import DEFAULT
from scorer.faces import DICE, Face
from scorer.game import Game
from scorer.operations import Change, DrawCard, EndRaid, NewGame, Operation, PlaceOnCard, Roll
from scorer.raid import Phase
from scorer.scoring import score_raid

RAIDS = 200
PLAYERS = ("Anna", "Bo", "Cleo", "Dan", "Eve")


def random_game(raids: int, seed: int = 0) -> list[Operation]:
    """The operations of a game of so many raids, rolled and ended at random; its target is out of reach."""
    chance = random.Random(seed)
    faces = tuple(Face)
    game = Game.new(NewGame(PLAYERS, house_rules=(("target", 1_000_000), ("nine_of_a_kind_wins", False))))
    operations: list[Operation] = list(game.operations)
    cards = tuple(Card)

    def do(change: Change) -> None:
        nonlocal game
        game = game.apply(change)
        operations.append(change)

    for _ in range(raids):
        do(DrawCard(chance.choice(cards)))
        do(Roll(tuple(chance.choice(faces) for _ in range(DICE))))
        while (raid := game.pad.raid) is not None:
            free = sorted(die for die in raid.rollable if raid.faces[die] is not Face.SKULL)
            must = raid.phase is Phase.SKULL_ISLAND or (raid.card is Card.ZOMBIE_ATTACK and raid.phase is Phase.ROLLING)
            places = tuple(chance.sample(free, min(len(free), chance.randint(raid.fewest_dice, DICE)))) if free else ()
            if raid.can_place_on_card(places[:2]) and chance.random() < 0.5:
                do(PlaceOnCard(places[:2]))
            elif raid.can_reroll(places) and (must or chance.random() < 0.6):
                rolled = {die: chance.choice(faces) for die in places}
                do(Roll(tuple(rolled.get(die, raid.faces[die]) for die in range(DICE)), places))
            else:
                do(EndRaid())
    return operations


def seconds(work: Callable[[], object], runs: int) -> float:
    """The median CPU time of one run: what else the machine does is left out."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> None:
    """Print the figures."""
    hands = list(itertools.combinations_with_replacement(Face, DICE))
    raids = len(hands) * len(Card)

    def score_all() -> None:
        for card in Card:
            for hand in hands:
                score_raid(card, hand, DEFAULT, players=4)

    operations = random_game(RAIDS)
    raid = seconds(score_all, 5) / raids
    game = seconds(lambda: Game.replay(operations), 9)
    print(f"Python {sys.version.split()[0]}")
    print(f"scoring a raid: {raid * 1e6:.1f} µs (mean over {raids} raids, median of 5 runs; at most 50)")
    print(
        f"replaying {RAIDS} raids in {len(operations)} operations: {game * 1e3:.1f} ms (median of 9 runs; at most 50)"
    )


if __name__ == "__main__":
    main()
