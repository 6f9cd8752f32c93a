"""The recorded raids and games of other scorers and rule books: all usable ones pass, and the others are explained."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from scorer.cases import check_case, expectations, read_lines, score_case, why_no_oracle
from scorer.editions import EDITIONS, SETTINGS, edition_named
from scorer.errors import ScorerError
from scorer.flows import check_flow
from tests.scorer.conflicts import CASES, FLOWS, Conflict

RULES = Path(__file__).parents[3] / "shared" / "rules"


def _load(name: str) -> list[Any]:
    path = RULES / name
    if not path.exists():
        return []
    return [dict(case) for case in read_lines(path.read_text(encoding="utf-8"), name)]


RAIDS = _load("cases.jsonl")
GAMES = _load("game_flow.jsonl")
needs_rules = pytest.mark.skipif(not RAIDS or not GAMES, reason="the recorded cases lie in ../shared/rules")


@needs_rules
@pytest.mark.parametrize(("key", "fewest"), [("de38", 400), ("de35", 380), ("bga", 400), ("isla", 380), ("en35", 380)])
def test_all_usable_raids_pass(key: str, fewest: int) -> None:
    verdicts = [check_case(case, EDITIONS[key]) for case in RAIDS]
    assert [verdict.mismatch for verdict in verdicts if verdict.mismatch] == []
    assert sum(verdict.checked for verdict in verdicts) >= fewest


@needs_rules
def test_all_usable_games_pass() -> None:
    verdicts = [check_flow(case) for case in GAMES]
    assert [verdict.mismatch for verdict in verdicts if verdict.mismatch] == []
    skipped = {verdict.number for verdict in verdicts if not verdict.checked}
    assert skipped - _ids(FLOWS) == {"F103"}, "F103 counts the cards of a deck; the deck lies on the table"
    assert all(verdict.checked or verdict.why_not for verdict in verdicts)


def _ids(table: tuple[Conflict, ...]) -> set[str]:
    return {name for conflict in table for name in conflict.ids.split()}


@needs_rules
@pytest.mark.parametrize(("cases", "table"), [(RAIDS, CASES), (GAMES, FLOWS)], ids=["raids", "games"])
def test_every_conflict_is_explained(cases: list[Any], table: tuple[Conflict, ...]) -> None:
    named = {case["id"]: case["conflict"]["rule"] for case in cases if case["conflict"]}
    explained = {name: conflict.rule for conflict in table for name in conflict.ids.split()}
    assert explained == named
    assert all(conflict.reading or conflict.settings for conflict in table)
    assert {name for conflict in table for name in conflict.settings} <= set(SETTINGS)
    assert max(Counter(name for conflict in table for name in conflict.ids.split()).values()) == 1


@needs_rules
@pytest.mark.parametrize("conflict", [conflict for conflict in CASES if conflict.settings], ids=lambda c: c.rule)
def test_the_setting_explains_the_conflict(conflict: Conflict) -> None:
    """With the setting we say what the source says; without it something else."""
    printed = edition_named(conflict.edition)
    ruled = printed.with_house_rules(**conflict.settings)
    for case in RAIDS:
        if case["id"] not in conflict.ids.split():
            continue
        (said, *_) = expectations(case, printed)
        assert said.agrees(score_case(case, ruled)), case["id"]


@needs_rules
@pytest.mark.parametrize("conflict", [conflict for conflict in CASES if not conflict.settings], ids=lambda c: c.ids[:5])
def test_no_setting_is_behind_the_other_conflicts(conflict: Conflict) -> None:
    for case in RAIDS:
        if case["id"] not in conflict.ids.split():
            continue
        (said, *_) = expectations(case, EDITIONS["de38"])
        try:
            assert not said.agrees(score_case(case, EDITIONS["de38"])), case["id"]
        except ScorerError:
            assert case["id"] == "C0671"


@needs_rules
@pytest.mark.parametrize("conflict", [conflict for conflict in FLOWS if conflict.settings], ids=lambda c: c.ids)
def test_the_setting_explains_the_games_in_conflict(conflict: Conflict) -> None:
    for case in GAMES:
        if case["id"] in conflict.ids.split():
            told = {**case, "settings": {**case["settings"], **conflict.settings}}
            told["settings"].pop("leader_last_raid", None)
            assert check_flow(told).checked, case["id"]


@needs_rules
def test_a_wrong_case_is_found() -> None:
    """The check is no rubber stamp: change what any usable case says, and it is a mismatch."""
    edition = EDITIONS["de38"]
    usable = [case for case in RAIDS if not why_no_oracle(case, edition)]
    for case in usable:
        wrong = copy.deepcopy(case)
        wrong["expected_turn_score"] = (case["expected_turn_score"] or 0) + 100
        assert check_case(wrong, edition).mismatch, case["id"]


@needs_rules
def test_a_wrong_game_is_found() -> None:
    for case in GAMES:
        totals = case["expected"].get("totals")
        if totals and check_flow(case).checked and not case["conflict"]:
            wrong = copy.deepcopy(case)
            wrong["expected"]["totals"][0] += 100
            assert check_flow(wrong).mismatch, case["id"]


RAID: dict[str, Any] = {
    "id": "own",
    "card": "sea_battle_2",
    "rolls": [["sword", "sword", "coin", "coin", "coin", "coin", "coin", "coin"]],
    "expected_turn_score": 2400,
}
GAME: dict[str, Any] = {"id": "own", "setup": {"totals": [0, 0]}, "expected": {"totals": [100, 0]}}


def test_a_case_needs_few_keys() -> None:
    assert check_case(RAID, EDITIONS["de38"]).checked
    assert not check_case(RAID, EDITIONS["de38"]).mismatch
    assert "2400" in check_case({**RAID, "expected_turn_score": 2300}, EDITIONS["de38"]).mismatch


@pytest.mark.parametrize(
    "broken", [{"card": "quark"}, {"rolls": [["coin"]]}, {"rolls": []}, {"kept_on_chest": ["skull"]}]
)
def test_a_case_that_cannot_be_is_refused_with_a_sentence(broken: dict[str, Any]) -> None:
    assert "refused: " in check_case({**RAID, **broken}, EDITIONS["de38"]).mismatch


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"settings": {"moon": "full"}}, "moon"),
        ({"settings": {"tie": "first_in_order"}}, "shared win"),
        ({"setup": {"totals": [0, 0], "round": 14}}, "round"),
        ({"turns": [{"deduction_each": -100}]}, "no player"),
        ({"turns": [{"player": "A", "action": "sing"}]}, "sing"),
        ({"turns": [{"player": "A", "turn_score": "lots"}]}, "neither rolls nor points"),
        ({"expected": {"parrots": 3}}, "parrots"),
        ({"expected": {}}, "no result"),
        ({"setup": {}, "turns": [], "expected": {"game_over": False}}, "neither players nor totals"),
    ],
)
def test_what_cannot_be_played_is_skipped_with_a_reason(change: dict[str, Any], why: str) -> None:
    verdict = check_flow({**GAME, **change})
    assert not verdict.checked
    assert why in verdict.why_not


def test_a_game_of_points_only_and_of_rolls() -> None:
    by_points = {**GAME, "turns": [{"player": "A", "turn_score": 100}]}
    roll = ["coin", "skull", "sword", "sword", "parrot", "parrot", "monkey", "monkey"]
    by_rolls = {**GAME, "turns": [{"player": "A", "card": "none", "rolls": [roll]}]}
    assert [check_flow(case).mismatch for case in (by_points, by_rolls)] == ["", ""]
    assert check_flow(by_rolls).checked


@pytest.mark.parametrize("text", ["[1]", "{", "[{]", '{"a":1}\n3'])
def test_a_file_that_is_none(text: str) -> None:
    with pytest.raises(ScorerError, match=r"Line . of f is no JSON object"):
        list(read_lines(text, "f"))


def test_a_list_of_cases_is_read_too() -> None:
    assert list(read_lines(json.dumps([RAID]), "f")) == [RAID]
