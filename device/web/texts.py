"""Every sentence that the table can say, by its code, for translation.

The state is one JSON for all phones and speaks English; each carries a `code` and `args`, and the page makes the
sentence from these in its own language. Where the rules hold the sentence (`scorer.errors`, score sheets, house
rules), it is taken from there, so that no sentence is written down twice.

`catalogue(translations)` is what a page's scripts are given; `extract` hands the rules' sentences to Babel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache
from gettext import NullTranslations
from typing import IO, Any

from scorer.cards import Card
from scorer.editions import EDITIONS, SETTINGS, NobodyAtTarget
from scorer.errors import all_errors
from scorer.faces import Face
from scorer.names import CARD_WORDS, FACE_WORDS
from scorer.scoring import LINE_TEXTS, NOTE_TEXTS, Outcome

TABLE_TEXTS: dict[str, str] = {
    # joining and sending
    "join_needed": "To play along, join the table first: scan its QR code, or enter its code.",
    "wrong_code": "That is not the table's code: look at the phone of somebody who has joined, or scan its QR code.",
    "slow_down": "That was tried often: wait a moment, then try again.",
    "foreign_origin": "This came from another site's page, and was refused.",
    "busy": "The table is busy: wait a moment, then try again.",
    "fault": "The table made a mistake and wrote it down; nothing was changed: try again.",
    "too_big": "That is too big: at most {limit} MB can be sent. Take a smaller picture.",
    "too_many_watchers": "Too many phones are watching live: this one asks again in a moment.",
    "not_found": "There is nothing at this address: go back to the score pad.",
    "wrong_method": "This address cannot be asked in that way.",
    # pictures
    "no_photo": "No picture came: choose one, or take it again.",
    "bad_photo": "That picture cannot be read (JPEG or PNG are expected): take it again.",
    "no_model": "Pictures cannot be read here, no network is loaded: tap the faces in.",
    "no_camera": "There is no camera: take a picture with the phone, or tap the faces in.",
    "camera_silent": "The camera does not answer: check its cable.",
    "no_picture": "There is no such picture.",
    # names and games
    "name_empty": "A player needs a name of at least one character.",
    "name_too_long": "A name has at most {limit} characters, this one has {length}: shorten it.",
    "same_name": "Two players are called {name}: give them different names.",
    "no_game": "There is no game yet: begin one with the players' names.",
    "no_raids": "No raid is written down yet.",
    "other_raid": "That was meant for raid {meant}, but the table is at raid {now} already: look at the pad, "
    "somebody else was quicker.",
    "card_unknown": "Which pirate card was drawn? Choose it, then end the raid.",
    # questions
    "question_open": "Not yet, something is doubtful: {why}",
    "question_gone": "That question is settled already.",
    "doubtful_die": "Die {die}: {first} or {second}?",
    "cocked_die": "Die {die} leans on something: {first} or {second}?",
    "which_card": "Which pirate card was drawn?",
    "doubtful_card": "The card in view is not certain. Which one is it?",
    "card_differs": "{seen} lies there, but {entered} was entered. Which card is it?",
    "desync": "Too much was rolled while a question was open. Check the dice on this page.",
    "raid_not_ended": "All eight dice were rolled, but the raid before was not ended. Has the next raid begun?",
    "rolled_again": "{dice} dice lie elsewhere with the same faces. Were they rolled again?",
    "die_changed": "Die {die} now shows {face} and showed {before}. Was it rolled, read wrong before, or only nudged?",
    "not_all_eight": "No raid is running, and {rolled} dice were rolled. Is this a first roll?",
    "dice_missing": "Only {dice} of the eight dice could be seen after that throw. Check the dice on this page.",
    "found_lying": "Eight dice lay here before anybody could watch. Does this raid begin with them?",
    "found_changed": "The dice are not as the table knows them, and nobody saw why. Were they rolled again?",
    "unseen": "{dice} dice changed while nobody could see them. Were they rolled?",
    "bust": "{skulls} skulls: {player}'s raid is over, it brings {total}.",
    "island_ended": "Skull Island is over: {player} has {skulls} skulls, each other player gets {others}.",
    "raid_ended": "{player}'s raid is over by the rules, it brings {total}.",
    # banners
    "store_full": "The disk is full or refuses: nothing new is written down until there is room. The game is kept.",
    "store_rebuilt": "The store of games was damaged; {operations} steps were read from it, and the damaged file is "
    "kept as {file}.",
    "store_restored": "The store had lost its last steps ({operations}); they were restored from the second copy.",
    "store_lost": "The last steps ({operations}) could not be read any more: please compare the score pad with your "
    "memory.",
    "replay_stopped": "Step {number} of {of} of the saved game cannot be repeated; the game goes on before it.",
    "demo": "Tap an answer. If nobody does, the demo answers in {seconds} seconds.",
    "demo_answered": "Nobody tapped: the demo answered “{choice}”.",
    "power_weak": "The power supply is too weak: use the official one. The game is kept.",
}
"""Code → English sentence with `{args}`; those of the rules are added by `sentences`."""

OUTCOME_TEXTS: dict[Outcome, str] = {
    Outcome.SCORED: "scored",
    Outcome.BUST: "bust",
    Outcome.SKULL_ISLAND: "Skull Island",
    Outcome.SHIP_LOST: "ship lost",
    Outcome.PEACE_BROKEN: "Peace broken",
    Outcome.ZOMBIE_LOST: "zombies won",
    Outcome.PIRATE_MAGIC: "pirate magic",
}

CHOICE_TEXTS: dict[str, str] = {
    NobodyAtTarget.FIRST_WINS: "the first to get there again wins at once",
    NobodyAtTarget.NEW_LAST_ROUND: "a new last round begins",
}


@cache
def sentences() -> dict[str, str]:
    """Code → English sentence, of rules and table together."""
    return {
        **{code: error.template for code, error in all_errors().items()},
        **{str(kind): text for kind, text in NOTE_TEXTS.items()},
        **{f"line.{kind}": text for kind, text in LINE_TEXTS.items()},
        **{f"outcome.{outcome}": text for outcome, text in OUTCOME_TEXTS.items()},
        **TABLE_TEXTS,
    }


def form_texts() -> list[str]:
    """What the set-up form says about editions and house rules."""
    return [
        *(edition.title for edition in EDITIONS.values()),
        *(setting.description for setting in SETTINGS.values()),
        *CHOICE_TEXTS.values(),
    ]


def catalogue(translations: NullTranslations) -> dict[str, Any]:
    """What scripts need to speak a language: sentences by code, words, and their own messages by English text."""
    say = translations.gettext
    return {
        "plural": "".join(str(_form(translations, n)) for n in range(100)),
        "sentences": {code: say(text) for code, text in sentences().items()},
        "faces": {face: _forms(translations, *FACE_WORDS[face]) for face in Face},
        "cards": {card: say(CARD_WORDS[card]) for card in Card},
        "messages": _messages(translations),
    }


def _form(translations: NullTranslations, n: int) -> int:
    rule: Callable[[int], int] | None = getattr(translations, "plural", None)
    return rule(n) if rule is not None else int(n != 1)


def _forms(translations: NullTranslations, one: str, many: str) -> list[str]:
    return [translations.ngettext(one, many, 1), translations.ngettext(one, many, 2)]


def _messages(translations: NullTranslations) -> dict[str, str | list[str]]:
    """The scripts' messages: those of the catalogue that are no sentence of the table."""
    known = {*sentences().values(), *form_texts(), *CARD_WORDS.values()} | {one for one, _ in FACE_WORDS.values()}
    found: dict[str, str | list[str]] = {}
    plurals: dict[str, dict[int, str]] = {}
    for key, text in getattr(translations, "_catalog", {}).items():
        if isinstance(key, tuple):
            plurals.setdefault(key[0], {})[key[1]] = text
        elif key and key not in known:
            found[key] = text
    for one, forms in plurals.items():
        if one not in known:
            found[one] = [forms[index] for index in sorted(forms)]
    return found


def extract(
    fileobj: IO[bytes], keywords: Collection[str], comment_tags: Collection[str], options: dict[str, Any]
) -> Iterator[tuple[int, str | None, str | tuple[str, str], list[str]]]:
    """Babel's extraction method for sentences that live in the rules and in this module (see `babel.cfg`)."""
    for text in dict.fromkeys([*sentences().values(), *form_texts(), *CARD_WORDS.values()]):
        yield 0, None, text, []
    for words in FACE_WORDS.values():
        yield 0, "ngettext", words, []
