"""`ausguck score` and `ausguck rules`, as people and programs call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from device.cli import main


def call(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    code = main(line.split())
    out, err = capsys.readouterr()
    return code, out, err


EIGHT = "skull skull coin coin coin coin diamond sword"


def test_score_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, f"score --edition de38 --card pirate --json {EIGHT}")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "total": 1400,
        "others": 0,
        "outcome": "scored",
        "lines": [
            {"what": "set of 4 coins", "points": 200},
            {"what": "4 coins", "points": 400},
            {"what": "1 diamond", "points": 100},
            {"what": "Pirate ×2", "points": 700},
        ],
    }


def test_score_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, f"score --card pirate {EIGHT}")
    assert code == 0
    assert out.splitlines()[-2:] == ["total            +1400", "scored"]


def test_score_with_dice_on_the_card(capsys: pytest.CaptureFixture[str]) -> None:
    bust = "coin coin coin skull skull skull parrot parrot"
    for line in (
        f"score --card treasure_chest --json --on-card coin,coin {bust}",
        f"score --card treasure_island --json --on-card coin coin {bust}",
        f"score --card treasure_island --json {bust} --on-card coin --on-card coin",
    ):
        assert json.loads(call(capsys, line)[1])["total"] == 200
    assert json.loads(call(capsys, f"score --card treasure_island --json --on-card none {bust}")[1])["total"] == 0


def test_score_says_what_it_could_not_check(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "score --json skull skull skull skull coin coin coin coin")
    assert (code, json.loads(out)["outcome"]) == (0, "skull_island")
    assert err.startswith("Not checked: whether the skulls fell on the first roll")
    _, out, _ = call(capsys, "score --json --later-roll skull skull skull skull coin coin coin coin")
    assert json.loads(out)["outcome"] == "bust"


def test_score_with_a_history(capsys: pytest.CaptureFixture[str]) -> None:
    first = "skull,coin,coin,coin,coin,coin,coin,coin"
    last = "skull,skull,skull,skull,coin,coin,coin,coin"
    _, out, err = call(capsys, f"score --json --roll {first} --roll {last} {last}")
    assert (json.loads(out)["outcome"], err) == ("bust", "")


def test_score_shares(capsys: pytest.CaptureFixture[str]) -> None:
    lost = "score --card zombie_attack --json " + "skull " * 8
    assert json.loads(call(capsys, lost)[1])["others"] is None
    assert json.loads(call(capsys, lost + "--players 4")[1])["others"] == 400


def test_score_with_house_rules(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, f"score --card skull_1 --rule skull_card_blocks_chest=no --json {'monkey ' * 8}")
    assert json.loads(out)["total"] == 4500


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("score --card pirate coin coin coin coin coin coin coin", "8 dice, but 7 came"),
        ("score --card pirate " + "skull " * 9, "8 dice, but 9 came"),
        (f"score --card quark {EIGHT}", "“quark” is no pirate card"),
        (f"score --edition fr35 {EIGHT}", "“fr35” is no edition"),
        (f"score --card peace --edition de35 {EIGHT}", "no card of the edition de35"),
        (f"score --card treasure_island --on-card monkey {EIGHT}", "1 × monkey cannot lie on the card"),
        (f"score --card pirate --on-card coin {EIGHT}", "only with Treasure Island"),
        (f"score --rule moon=full {EIGHT}", "“moon” is no house rule"),
        (f"score --rule moon {EIGHT}", "expected NAME=VALUE"),
        ("rules check nowhere.jsonl", "nowhere.jsonl cannot be read"),
        ("rules replay nowhere.jsonl", "nowhere.jsonl cannot be read"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], line: str, sentence: str) -> None:
    code, out, err = call(capsys, line)
    assert (code, out) == (2, "")
    assert sentence in err


CASE = {"id": "one", "card": "pirate", "final_dice": EIGHT.split(), "expected_turn_score": 1400}


def test_rules_check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    cases = [CASE, {**CASE, "id": "two", "expected_turn_score": 700}, {**CASE, "conflict": {"rule": "moon"}}]
    file.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    code, out, err = call(capsys, f"rules check {file} --edition de38 --verbose")
    assert code == 1
    assert out.splitlines()[0] == "2 cases, 1 mismatches"
    assert out.splitlines()[1].startswith("two (pirate: ")
    assert "expected total 700" in out
    assert "ours total 1400" in out
    assert "one left out: sources differ: moon" in err
    file.write_text(json.dumps(CASE), encoding="utf-8")
    assert call(capsys, f"rules check {file}")[:2] == (0, "1 cases, 0 mismatches\n")
    file.write_text("no JSON", encoding="utf-8")
    assert call(capsys, f"rules check {file}")[0] == 2


def test_rules_replay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    game = {
        "id": "won",
        "edition_guess": "bga",
        "settings": {"threshold": 3000},
        "setup": {"totals": [2900, 0]},
        "turns": [{"player": "A", "turn_score": 100}, {"player": "B", "turn_score": 0}],
        "expected": {"game_over": True, "winner": ["A"]},
    }
    games = [game, {**game, "id": "lost", "expected": {"winner": ["B"]}}, {**game, "settings": {"moon": 1}}]
    file.write_text("\n".join(map(json.dumps, games)), encoding="utf-8")
    code, out, _ = call(capsys, f"rules replay {file}")
    assert code == 1
    assert out.splitlines() == [
        "2 cases, 1 mismatches, 1 skipped",
        "lost: winner: expected ['B'], ours ['A']",
        "won skipped: the setting “moon” (1) is no house rule",
    ]
    file.write_text("{", encoding="utf-8")
    assert call(capsys, f"rules replay {file}")[0] == 2
