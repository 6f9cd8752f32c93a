"""Names that come in, editions and their house rules, operations as JSON, and the sentences of errors."""

from __future__ import annotations

import string

import pytest

from scorer.cards import Card
from scorer.editions import DE35, DE38, EDITIONS, SETTINGS, NobodyAtTarget, SettingKind, edition_named
from scorer.errors import (
    BadOperation,
    BadSetting,
    UnknownCard,
    UnknownEdition,
    UnknownFace,
    UnknownOperation,
    UnknownSetting,
    all_errors,
)
from scorer.faces import Face
from scorer.names import card_named, face_named
from scorer.operations import OPERATIONS, NewGame, Roll, operation_from_json, operation_to_json
from scorer.scoring import LINE_TEXTS, NOTE_TEXTS, Line, LineKind, NoteKind


@pytest.mark.parametrize(
    ("name", "face"), [("sword", Face.SABERS), ("Sabers", Face.SABERS), ("COIN", Face.COIN), ("skulls", Face.SKULL)]
)
def test_other_names_of_faces(name: str, face: Face) -> None:
    assert face_named(name) is face


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("sorceress", Card.WATCHWOMAN),
        ("treasure_chest", Card.TREASURE_ISLAND),
        ("sea_battle_2", Card.SHIP_2),
        ("Sea Battle 4", Card.SHIP_4),
        ("after-the-storm", Card.SHIPWRECK),
        ("none", None),
    ],
)
def test_other_names_of_cards(name: str, card: Card | None) -> None:
    assert card_named(name) is card


def test_unknown_names_say_what_was_expected() -> None:
    with pytest.raises(UnknownFace, match="“anchor” is no face of a raiding die; expected one of: coin, diamond"):
        face_named("anchor")
    with pytest.raises(UnknownCard, match="“anchor” is no pirate card; expected one of: gold_coin"):
        card_named("anchor")
    with pytest.raises(UnknownEdition, match="expected one of: de38, de35, bga, isla, en35"):
        edition_named("fr35")


def test_other_names_of_editions() -> None:
    assert edition_named("de2012") is DE35
    assert edition_named("DE38") is DE38


def test_every_setting_is_a_house_rule_with_a_description() -> None:
    for name, setting in SETTINGS.items():
        assert setting.name == name
        assert setting.description.endswith(".")
        for edition in EDITIONS.values():
            assert setting.read(getattr(edition, name)) == getattr(edition, name)
    assert {setting.kind for setting in SETTINGS.values()} == set(SettingKind)


def test_house_rules_from_a_form() -> None:
    edition = DE38.with_house_rules(
        target="5000", negative_totals="no", nobody_at_target="new_last_round", cards="peace"
    )
    assert (edition.target, edition.negative_totals) == (5000, False)
    assert edition.nobody_at_target is NobodyAtTarget.NEW_LAST_ROUND
    assert set(edition.house_rules) == {"target", "negative_totals", "nobody_at_target", "cards"}
    assert DE38.house_rules == {}
    assert edition.with_house_rules(**DE38.house_rules) == edition


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("target", 5, "a whole number from 100"),
        ("target", "many", "a whole number"),
        ("target", True, "a whole number"),
        ("negative_totals", "perhaps", "yes or no"),
        ("negative_totals", 1, "yes or no"),
        ("nobody_at_target", "dance", "one of first_wins, new_last_round"),
        ("cards", 3, "a list of card names"),
        ("cards", [], "at least one card"),
    ],
)
def test_bad_house_rules(name: str, value: object, expected: str) -> None:
    with pytest.raises(BadSetting, match=f"“{name}” cannot be .*; expected {expected}"):
        DE38.with_house_rules(**{name: value})


def test_unknown_house_rule() -> None:
    with pytest.raises(UnknownSetting, match="“moon” is no house rule"):
        DE38.with_house_rules(moon="full")


def test_an_operation_as_json() -> None:
    start = NewGame(("Anna", "Bo"), "bga", (("target", 5000), ("cards", frozenset({Card.PEACE}))))
    found = operation_to_json(start)
    assert found["house_rules"] == {"target": 5000, "cards": ["peace"]}
    assert operation_from_json(found) == start
    assert operation_from_json({"kind": "new_game", "players": ["Anna", "Bo"]}) == NewGame(("Anna", "Bo"))
    assert operation_from_json({"kind": "roll", "faces": ["sword"] * 8, "extra": 1}) == Roll((Face.SABERS,) * 8)


@pytest.mark.parametrize(
    "found",
    [
        {"kind": "roll"},
        {"kind": "roll", "faces": "coin"},
        {"kind": "roll", "faces": [1]},
        {"kind": "roll", "faces": [], "dice": "all"},
        {"kind": "correct_die", "die": True, "face": "coin"},
        {"kind": "enter_raid", "card": 3, "faces": []},
        {"kind": "enter_raid", "card": None, "faces": [], "island": 1},
        {"kind": "new_game", "players": "Anna"},
        {"kind": "new_game", "players": ["Anna"], "stage": "sometime"},
        {"kind": "new_game", "players": ["Anna"], "house_rules": [1]},
    ],
)
def test_bad_json(found: dict[str, object]) -> None:
    with pytest.raises(BadOperation, match=r"In “.*”, “.*” cannot be .*; expected "):
        operation_from_json(found)


@pytest.mark.parametrize("found", [{}, {"kind": "dance"}, {"kind": 3}])
def test_unknown_operations(found: dict[str, object]) -> None:
    with pytest.raises(UnknownOperation):
        operation_from_json(found)


def test_operation_names_are_stable() -> None:
    """A game written today is read in years: these names never change, others may be added."""
    assert set(OPERATIONS) >= {
        "new_game",
        "draw_card",
        "correct_card",
        "roll",
        "correct_die",
        "place_on_card",
        "take_off",
        "end_raid",
        "enter_raid",
        "enter_points",
        "correct_raid",
        "correct_points",
        "rename_player",
        "undo",
        "redo",
    }


def test_every_text_is_there_and_fills_in() -> None:
    assert set(LINE_TEXTS) == set(LineKind)
    assert set(NOTE_TEXTS) == set(NoteKind)
    assert [Line(kind, 100, Face.MONKEY, 4).what for kind in LineKind]
    assert Line(LineKind.SET, 100, Face.SABERS, 1).what == "set of 1 saber"


def test_error_codes_are_unique_sentences() -> None:
    errors = all_errors()
    assert len(errors) > 40
    for error in errors.values():
        assert error.template.endswith(".")
        assert all(name is None or name.isidentifier() for _, name, _, _ in string.Formatter().parse(error.template))
