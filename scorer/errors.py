"""Every way in which the rules say no, each with the sentence that a player may read.

An error carries a `code` (stable), a `template` (the English sentence with `{names}`: the page translates it) and
`facts` (what goes into the names: numbers, faces, cards; dice are numbered from 1 there, as people count).
`str(error)` is the English sentence: what was expected, what came, what to do.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


def words(value: object) -> str:
    """A fact as a person reads it in English; the page has its own for other languages."""
    if isinstance(value, StrEnum):
        return str(value).replace("_", " ")
    if isinstance(value, (tuple, list, frozenset, set)):
        return ", ".join(words(item) for item in value)
    return str(value)


class ScorerError(Exception):
    """The root of all errors of this room."""

    code: ClassVar[str] = "scorer"
    template: ClassVar[str] = "The rules do not allow this."

    def __init__(self, **facts: object) -> None:
        self.facts = facts
        super().__init__(self.template.format(**{name: words(value) for name, value in facts.items()}))


# Input that means nothing, whatever the state of the game -----------------------------------------------------


class UnknownName(ScorerError, LookupError):
    """A name that is not in the game."""


class UnknownFace(UnknownName):
    code = "unknown_face"
    template = "“{came}” is no face of a raiding die; expected one of: {expected}."


class UnknownCard(UnknownName):
    code = "unknown_card"
    template = "“{came}” is no pirate card; expected one of: {expected}."


class UnknownEdition(UnknownName):
    code = "unknown_edition"
    template = "“{came}” is no edition; expected one of: {expected}."


class UnknownSetting(UnknownName):
    code = "unknown_setting"
    template = "“{came}” is no house rule; expected one of: {expected}."


class UnknownOperation(UnknownName):
    code = "unknown_operation"
    template = "“{came}” is nothing that can be done in a game; expected one of: {expected}."


class BadInput(ScorerError, ValueError):
    """A value of the right name and the wrong shape."""


class BadSetting(BadInput):
    code = "bad_setting"
    template = "The house rule “{setting}” cannot be {came}; expected {expected}."


class BadOperation(BadInput):
    code = "bad_operation"
    template = "In “{kind}”, “{field}” cannot be {came}; expected {expected}."


class WrongNumberOfDice(BadInput):
    code = "wrong_number_of_dice"
    template = "A raid has {expected} dice, but {came} came; name the face of every die."


class CardNotInEdition(BadInput):
    code = "card_not_in_edition"
    template = "{card} is no card of the edition {edition}; pick another card, or add it with the house rule “cards”."


class NoTreasureIsland(BadInput):
    code = "no_treasure_island"
    template = "Dice lie on the card only with Treasure Island, but the card is {card}; leave them beside it."


class SkullOnCard(BadInput):
    code = "skull_on_card"
    template = "A skull cannot be placed on Treasure Island; take die {die} off the card."


class NotInHand(BadInput):
    code = "not_in_hand"
    template = "{came} × {face} cannot lie on the card: the eight dice show only {there}; check the dice on the card."


class NoSuchDie(BadInput):
    code = "no_such_die"
    template = "There is no die {die}; the dice are numbered 1 to {expected}."


class NoCase(BadInput):
    code = "no_case"
    template = "Line {line} of {file} is no JSON object; expected one case a line."


class FileNotRead(BadInput):
    code = "file_not_read"
    template = "{file} cannot be read: {why}; name a text file with one case a line."


# Not allowed now: the raid ------------------------------------------------------------------------------------


class NotAllowed(ScorerError, RuntimeError):
    """A thing that can be done in this game, but not now."""


class RaidOver(NotAllowed):
    code = "raid_over"
    template = "This raid is over ({outcome}); end it, then the next player draws a card."


class NoRollYet(NotAllowed):
    code = "no_roll_yet"
    template = "No die was rolled in this raid yet; roll all eight first."


class FirstRollNeedsAll(NotAllowed):
    code = "first_roll_needs_all"
    template = "The first roll is made with all {expected} dice, but {came} came; roll all of them."


class NothingRolled(NotAllowed):
    code = "nothing_rolled"
    template = "No die was rolled: all of them show what they showed before; roll, or end the raid."


class TooFewDice(NotAllowed):
    code = "too_few_dice"
    template = "A roll takes at least {expected} dice, but only {came} was rolled; put it back, or roll one more."


class LockedSkull(NotAllowed):
    code = "locked_skull"
    template = "A skull stays until the end of the raid, but die {die} was one and now shows {face}; check that die."


class SecondSkull(NotAllowed):
    code = "second_skull"
    template = "The Watchwoman re-rolls one skull once in a raid, but dice {dice} were skulls; put the others back."


class WatchwomanGone(NotAllowed):
    code = "watchwoman_gone"
    template = "The Watchwoman has already re-rolled a skull in this raid, but die {die} was a skull; put it back."


class OnlyTheWatchwoman(NotAllowed):
    code = "only_the_watchwoman"
    template = "With three skulls only the Watchwoman helps: one of the skulls must be in this roll."


class NoMoreRolls(NotAllowed):
    code = "no_more_rolls"
    template = "With Shipwreck there are {expected} rolls, and they are made; end the raid."


class OnTheCard(NotAllowed):
    code = "on_the_card"
    template = "Die {die} lies on Treasure Island; take it off the card before rolling it."


class NotOnTheCard(NotAllowed):
    code = "not_on_the_card"
    template = "Die {die} does not lie on Treasure Island; name a die that does."


class AlreadyOnTheCard(NotAllowed):
    code = "already_on_the_card"
    template = "Die {die} already lies on Treasure Island; name one that does not."


class NoDice(NotAllowed):
    code = "no_dice"
    template = "No die was named; name at least one."


class UnrolledDieChanged(NotAllowed):
    code = "unrolled_die_changed"
    template = "Die {die} was not rolled, but showed {before} and now shows {after}; check that die."


class MustRollOn(NotAllowed):
    code = "must_roll_on"
    template = "{card} is not over: keep rolling the dice that are left; the raid ends by itself."


class OnSkullIsland(NotAllowed):
    code = "on_skull_island"
    template = "On Skull Island you roll the remaining dice until no skull falls; that ends the raid by itself."


# Not allowed now: the game ------------------------------------------------------------------------------------


class RaidRuns(NotAllowed):
    code = "raid_runs"
    template = "{player} is still on a raid; end that one first."


class NoRaid(NotAllowed):
    code = "no_raid"
    template = "Nobody is on a raid; {player} draws a card first."


class GameOver(NotAllowed):
    code = "game_over"
    template = "The game is over, {winners} won; undo the last step to go on, or start a new game."


class NotYourTurn(NotAllowed):
    code = "not_your_turn"
    template = "It is {expected}'s raid, not {came}'s."


class UnknownPlayer(ScorerError, LookupError):
    code = "unknown_player"
    template = "“{came}” does not play in this game; expected one of: {expected}."


class WrongNumberOfPlayers(BadInput):
    code = "wrong_number_of_players"
    template = "Expected {fewest} to {most} players, but {came} came; the house rule “max_players” allows up to 8."


class EmptyName(BadInput):
    code = "empty_name"
    template = "A player has no name; give everybody one."


class NameTaken(BadInput):
    code = "name_taken"
    template = "Two players are called “{came}”; give one of them another name."


class NoSuchRaid(ScorerError, LookupError):
    code = "no_such_raid"
    template = "There is no raid {came}; so far {expected} are written down."


class NothingToUndo(NotAllowed):
    code = "nothing_to_undo"
    template = "There is nothing to undo."


class NothingToRedo(NotAllowed):
    code = "nothing_to_redo"
    template = "There is nothing to redo."


class GameHasBegun(NotAllowed):
    code = "game_has_begun"
    template = "A game begins once; start another game for other players or rules."


def all_errors() -> dict[str, type[ScorerError]]:
    """Code → error, for those who translate the sentences."""
    found: dict[str, type[ScorerError]] = {}
    todo: list[type[ScorerError]] = [ScorerError]
    while todo:
        kind = todo.pop()
        if "code" in vars(kind):
            found[kind.code] = kind
        todo.extend(kind.__subclasses__())
    return found
