"""Recorded games as tests of the rules: one JSON object a line, with what its source says happens.

A case names its settings (they become house rules), the state it begins in and its turns, each by its rolls or only by
its points; or it shows eight dice and asks what may be done with them. What cannot be played here is skipped, with
the reason. Where sources are in conflict the case is played all the same, but differing is no mismatch then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scorer.cards import Card
from scorer.cases import Json, Verdict, conflict_rule, lay_on_card, outcome_named, sheet
from scorer.editions import EDITIONS, SETTINGS, Edition, NobodyAtTarget
from scorer.errors import ScorerError
from scorer.faces import DICE, Face
from scorer.game import FEWEST_PLAYERS, Game
from scorer.names import card_named, face_named, faces_named
from scorer.operations import Change, EnterPoints, EnterRaid, NewGame, Redo, Stage, Undo
from scorer.raid import FEWEST_DICE, Phase, Raid

EDITION_HINTS: Final = (
    ("isla", "isla"),
    ("bga", "bga"),
    ("en35", "en35"),
    ("de35", "de35"),
    ("de2012", "de35"),
    ("de38", "de38"),
    ("en38", "de38"),
    # The French and the Hebrew edition have no profile: they end a game as the German ones of their size do.
    ("fr-", "de35"),
    ("otzarot", "de38"),
)
"""A piece of `edition_guess`, and the edition that it means; the first that fits."""

MOST_SEATS: Final = 8


class Skip(Exception):
    """The case asks for something that cannot be played here."""


@dataclass
class _Run:
    """A case while it is played."""

    game: Game
    seats: int
    names: list[str]
    differences: list[str] = field(default_factory=list)
    totals_after: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Totals after each turn, counted from 1."""
    over_after: dict[int, bool] = field(default_factory=dict)
    turns: int = 0

    def name(self, seat: int) -> str:
        return self.names[seat]

    def expect(self, what: str, expected: object, ours: object) -> None:
        if expected != ours:
            self.differences.append(f"{what}: expected {expected}, ours {ours}")


def check_flow(case: Json, number: int = 0) -> Verdict:
    """Play a case and compare."""
    name = str(case.get("id", f"case {number}"))
    try:
        differences = _play(case)
    except Skip as reason:
        return Verdict(name, checked=False, why_not=str(reason))
    except ScorerError as error:
        differences = [f"refused: {error}"]
    if not differences:
        return Verdict(name, checked=True)
    if case.get("conflict"):
        return Verdict(name, checked=False, why_not=f"sources differ: {conflict_rule(case)}")
    return Verdict(name, checked=True, mismatch=f"{name}: " + "; ".join(differences))


def _play(case: Json) -> list[str]:
    edition = edition_of(case)
    setup = _mapping(case.get("setup"))
    expected = _mapping(case.get("expected"))
    turns = [_mapping(turn) for turn in _list(case.get("turns"))]
    unknown = [key for key in expected if not _known(key)]
    if unknown:
        raise Skip(f"“{unknown[0]}” is not part of the rules that are kept here")
    if not any(key != "note" for key in expected) and not any("totals_after" in turn for turn in turns):
        raise Skip("it states no result")
    if "dice" in setup:
        return _Hand(edition, setup).play(turns, expected)
    return _play_game(edition, case, setup, turns, expected)


# Settings -----------------------------------------------------------------------------------------------------


def edition_of(case: Json) -> Edition:
    """The edition of a case, with its settings as house rules. Raises `Skip`, and the errors of house rules."""
    settings = dict(_mapping(case.get("settings")))
    guess = str(settings.pop("edition", None) or case.get("edition") or case.get("edition_guess") or "de38").lower()
    key = next((key for hint, key in EDITION_HINTS if hint in guess), "de38")
    # A recorded raid may use any card; which ones are in the deck is not what is looked at.
    rules: dict[str, object] = {"cards": tuple(Card), "max_players": MOST_SEATS}
    for name, value in settings.items():
        if value is None or name == "players":
            continue
        rules.update(_house_rule(name, value))
    return EDITIONS[key].with_house_rules(**rules)


def _house_rule(name: str, value: object) -> Mapping[str, object]:
    if name in SETTINGS:
        return {name: value}
    if name in _SETTING_READERS:
        return _SETTING_READERS[name](value)
    raise Skip(f"the setting “{name}” ({value}) is no house rule")


def _nine(value: object) -> Mapping[str, object]:
    if value in ("win", "wins", "instant_win", True):
        return {"nine_of_a_kind_wins": True}
    if value in ("points", "scored", "score", 5400, False):
        return {"nine_of_a_kind_wins": False}
    raise Skip(f"nine of a kind as “{value}” is no house rule")


def _tie(value: object) -> Mapping[str, object]:
    if value != "shared":
        raise Skip(f"a tie is a shared win, never “{value}”")
    return {}


def _end(value: object) -> Mapping[str, object]:
    if value in ("immediate", "first_wins", "at_once"):
        return {"last_round": False}
    if value in ("last_round", "final_round"):
        return {"last_round": True}
    raise Skip(f"a game that ends “{value}” is no house rule")


def _strict(value: object) -> Mapping[str, object]:
    if value:
        raise Skip("at the target is as good as above it")
    return {}


def _sudden_death(value: object) -> Mapping[str, object]:
    return {"nobody_at_target": NobodyAtTarget.FIRST_WINS if value else NobodyAtTarget.NEW_LAST_ROUND}


_SETTING_READERS: Final[Mapping[str, Callable[[object], Mapping[str, object]]]] = {
    "threshold": lambda value: {"target": value},
    "target_score": lambda value: {"target": value},
    "floor_zero": lambda value: {"negative_totals": not value},
    "leader_last_raid": lambda value: {"topped_leader_raids_again": value},
    "nine_of_a_kind": _nine,
    "tie": _tie,
    "end": _end,
    "strict": _strict,
    "sudden_death": _sudden_death,
}
"""Other names of settings."""


# Whole games --------------------------------------------------------------------------------------------------


def _play_game(edition: Edition, case: Json, setup: Json, turns: list[Json], expected: Json) -> list[str]:
    run = _begin(edition, case, setup, turns, expected)
    for number, turn in enumerate(turns, start=1):
        _turn(run, number, turn)
    for key, value in expected.items():
        _compare(run, key, value)
    return run.differences


def _begin(edition: Edition, case: Json, setup: Json, turns: list[Json], expected: Json) -> _Run:
    for key in setup:
        if key not in ("totals", "reached_by", "final_round", "sudden_death", "next_player", "players", "leaders_raid"):
            raise Skip(f"a game that begins with “{key}” ({setup[key]}) cannot be set up")
    totals = [_whole(total) for total in _list(setup.get("totals"))]
    mentioned = _mentioned(setup, turns, expected)
    players = _mapping(case.get("settings")).get("players") or setup.get("players") or 0
    if isinstance(players, list):
        players = len(players)
    longest = max((len(_list(expected.get(key))) for key in expected if key.startswith("totals")), default=0)
    seats = max(len(totals), _whole(players), len(mentioned), longest)
    if seats == 0:
        raise Skip("it names neither players nor totals")
    names = _seat_names(mentioned, max(seats, FEWEST_PLAYERS))
    if len(names) > MOST_SEATS:
        raise Skip(f"{len(names)} players are more than can play")
    # A game needs two: where a case knows one only, somebody else looks on.
    start = NewGame(
        players=tuple(names),
        edition=edition.key,
        house_rules=tuple(edition.house_rules.items()),
        first=_first(setup, turns, names),
        totals=tuple(totals + [0] * (len(names) - len(totals))),
        stage=_stage(setup),
        reached_by=_seat(names, setup["reached_by"]) if setup.get("reached_by") is not None else None,
    )
    return _Run(Game.new(start), seats, names)


def _mentioned(setup: Json, turns: list[Json], expected: Json) -> list[str]:
    """All names in a case, in the order in which they appear."""
    found: dict[str, None] = {}
    for turn in turns:
        if turn.get("player") is not None:
            found[str(turn["player"])] = None
    for key in ("winner", "next_player", "pending_last_turns", "last_raid_for", "best"):
        value = expected.get(key)
        for name in value if isinstance(value, list) else [value]:
            if name is not None:
                found[str(name)] = None
    for key in ("reached_by", "next_player"):
        if setup.get(key) is not None:
            found[str(setup[key])] = None
    return list(found)


def _seat_names(mentioned: list[str], seats: int) -> list[str]:
    """A name for each seat: P1, P2, … and A, B, … say which; other names sit as they appear."""
    for pattern, usual in ((r"P\d+", [f"P{seat + 1}" for seat in range(MOST_SEATS)]), (r"[A-H]", list("ABCDEFGH"))):
        if mentioned and all(re.fullmatch(pattern, name) and name in usual for name in mentioned):
            return usual[: max(seats, *(usual.index(name) + 1 for name in mentioned))]
    return mentioned + [f"P{seat + 1}" for seat in range(len(mentioned), seats)]


def _first(setup: Json, turns: list[Json], names: list[str]) -> int:
    if setup.get("next_player") is not None:
        return _seat(names, setup["next_player"])
    return next((_seat(names, turn["player"]) for turn in turns if turn.get("player") is not None), 0)


def _stage(setup: Json) -> Stage:
    if setup.get("sudden_death"):
        return Stage.SUDDEN_DEATH
    if setup.get("leaders_raid"):
        return Stage.LEADERS_RAID
    return Stage.LAST_ROUND if setup.get("final_round") or setup.get("reached_by") is not None else Stage.OPEN


def _seat(names: list[str], name: object) -> int:
    if str(name) not in names:
        raise Skip(f"“{name}” has no seat in this game")
    return names.index(str(name))


def _turn(run: _Run, number: int, turn: Json) -> None:
    action = turn.get("action")
    if action in ("undo", "redo"):
        run.game = run.game.apply(Undo() if action == "undo" else Redo())
    elif action is not None:
        raise Skip(f"“{action}” is nothing that is done in a game")
    else:
        _raid(run, number, turn)
    run.turns = number
    run.totals_after[number] = run.game.pad.totals
    run.over_after[number] = run.game.pad.over
    if isinstance(turn.get("totals_after"), list):
        _expect_totals(run, f"totals after turn {number}", turn["totals_after"], run.game.pad.totals)


def _raid(run: _Run, number: int, turn: Json) -> None:
    if turn.get("player") is None:
        raise Skip(f"turn {number} names no player")
    seat = _seat(run.names, turn["player"])
    for _ in run.names:
        if run.game.pad.over or run.game.pad.next == seat:
            break
        run.game = run.game.apply(EnterPoints(0))  # somebody sits out
    if run.game.pad.over:
        run.differences.append(f"turn {number}: the game is over before it")
        return
    run.game = run.game.apply(_entry(number, turn))
    score = run.game.pad.records[-1].score
    points, others = turn.get("turn_score"), turn.get("opponents_each")
    if isinstance(points, int) and points != score.total:
        run.differences.append(f"turn {number}: expected {points}, ours {sheet(score)}")
    if isinstance(others, int) and others != score.others:
        run.differences.append(f"turn {number}: expected others {others}, ours {sheet(score)}")


def _entry(number: int, turn: Json) -> Change:
    rolls = tuple(faces_named(map(str, _list(roll))) for roll in _list(turn.get("rolls")))
    final = _list(turn.get("final_dice") or turn.get("dice"))
    if not rolls and not final:
        points = turn.get("turn_score", 0)
        if isinstance(points, str) and points.startswith("any"):
            points = 0  # any points will do
        if not isinstance(points, int) or isinstance(points, bool):
            raise Skip(f"turn {number} has neither rolls nor points")
        return EnterPoints(points, _whole(turn.get("opponents_each") or 0))
    card = card_named(None if turn.get("card") is None else str(turn["card"]))
    faces = faces_named(map(str, final)) if final else rolls[-1]
    kept = faces_named(map(str, _list(turn.get("kept_on_chest"))))
    island = False if turn.get("first_roll") is False else None
    return EnterRaid(card, faces, lay_on_card(card, faces, kept), rolls or None, island)


def _expect_totals(run: _Run, what: str, expected: object, ours: tuple[int, ...]) -> None:
    said = _list(expected)
    run.expect(what, said, list(ours[: len(said)]))


def _names(value: object) -> list[str]:
    if value is None:
        return []
    return [str(name) for name in value] if isinstance(value, list) else [str(value)]


_STATES: Final[Mapping[str, Callable[[_Run], object]]] = {
    "game_over": lambda run: run.game.pad.over,
    "final_round": lambda run: run.game.pad.stage in (Stage.LAST_ROUND, Stage.LEADERS_RAID),
    "sudden_death": lambda run: run.game.pad.stage is Stage.SUDDEN_DEATH,
    "threshold_reached": lambda run: bool(run.game.pad.at_target),
    "leader_still_above_threshold": lambda run: bool(run.game.pad.at_target),
    "next_player": lambda run: run.name(run.game.pad.next),
    "history_length": lambda run: len(run.game.pad.records),
}
"""What a case may expect of the game at its end, and what ours is."""

_PLAYERS: Final[Mapping[str, Callable[[_Run], tuple[int, ...]]]] = {
    "winner": lambda run: run.game.pad.winners if run.turns else run.game.pad.leaders,
    "best": lambda run: run.game.pad.leaders,
    "pending_last_turns": lambda run: run.game.pad.pending,
    "last_raid_for": lambda run: (run.game.pad.next,) if run.game.pad.stage is Stage.LEADERS_RAID else (),
}
"""The same for players."""

_HAND_KEYS: Final = (
    "allowed",
    "first_allowed",
    "second_allowed",
    "turn_over",
    "card_available",
    "skulls",
    "island",
    "outcome",
    "opponents_each",
    "turn_score",
)
_AFTER_TURN: Final = re.compile(r"(totals_after_turn|continues_after_turn|not_over_before_turn)_?(\d*)")


def _known(key: str) -> bool:
    return (
        key in ("totals", "note", "notes")
        or key in _STATES
        or key in _PLAYERS
        or key in _HAND_KEYS
        or _AFTER_TURN.fullmatch(key) is not None
    )


def _compare(run: _Run, key: str, value: object) -> None:
    if key in ("note", "notes"):
        return
    after = _AFTER_TURN.fullmatch(key)
    if key == "totals":
        _expect_totals(run, key, value, run.game.pad.totals)
    elif key in _STATES:
        run.expect(key, value, _STATES[key](run))
    elif key in _PLAYERS:
        run.expect(key, _names(value), [run.name(seat) for seat in _PLAYERS[key](run)])
    elif after is None:
        raise Skip(f"“{key}” is asked of a game")
    elif after[1] == "totals_after_turn":
        turn = _whole(after[2] or 0)
        _expect_totals(run, key, value, run.totals_after.get(turn, ()))
    else:
        turn = _whole(value) - (1 if after[1] == "not_over_before_turn" else 0)
        run.expect(f"over after turn {turn}", False, any(run.over_after.get(n, False) for n in range(1, turn + 1)))


# Eight dice, and what may be done with them -------------------------------------------------------------------


class _Hand:
    """A raid that begins with its dice on the table."""

    def __init__(self, edition: Edition, setup: Json) -> None:
        card = card_named(None if setup.get("card") is None else str(setup["card"]))
        faces = faces_named(map(str, _list(setup.get("dice"))))
        raid = Raid.begin(card, edition)
        if setup.get("first_roll") is False:
            raid = raid.roll([Face.MONKEY if face is Face.SKULL else face for face in faces])
            raid = raid.roll(faces, [die for die in range(DICE) if faces[die] is Face.SKULL] or None)
        else:
            raid = raid.roll(faces)
        if bool(setup.get("on_island")) != raid.island and "on_island" in setup:
            raise Skip("these dice do not lie on Skull Island in this edition")
        self.raid = raid
        self.allowed: list[bool] = []

    def play(self, turns: list[Json], expected: Json) -> list[str]:
        """Do all actions; what differs at the end."""
        for turn in turns:
            self._act(turn)
        differences = []
        for key, value in expected.items():
            if key in ("note", "notes"):
                continue
            ours = self._state(key)
            value = outcome_named(value) if key == "outcome" else value
            if value != ours:
                differences.append(f"{key}: expected {value}, ours {ours}")
        return differences

    def _act(self, turn: Json) -> None:
        action = turn.get("action")
        if action in ("reroll", "roll"):
            self._reroll(turn)
        elif action in ("keep_on_chest", "place_on_card"):
            self._place(self._find(_list(turn.get("dice"))))
        elif action in ("end", "stop"):
            self.allowed.append(self.raid.can_end())
        else:
            raise Skip(f"“{action}” is nothing that is done in a raid")

    def _reroll(self, turn: Json) -> None:
        places = self._chosen(turn)
        allowed = places is not None and self.raid.can_reroll(places)
        self.allowed.append(allowed)
        result = faces_named(map(str, _list(turn.get("result"))))
        if allowed and places and len(result) == len(places):
            self.raid = self.raid.roll(dict(zip(places, result, strict=True)))

    def _chosen(self, turn: Json) -> list[int] | None:
        """Places of the dice of a roll; `None` if there are no such dice."""
        if turn.get("dice"):
            return self._find(_list(turn["dice"]))
        free = [die for die in sorted(self.raid.rollable) if self.raid.faces[die] is not Face.SKULL]
        if turn.get("includes") is not None:
            named = self._find(_list(turn["includes"]) or [turn["includes"]])
            return None if named is None else named + [die for die in free if die not in named][: FEWEST_DICE - 1]
        count = _whole(turn.get("count") or 0)
        return free[:count] if count <= len(free) else None

    def _place(self, places: list[int] | None) -> None:
        allowed = places is not None and self.raid.can_place_on_card(places)
        self.allowed.append(allowed)
        if allowed and places is not None:
            self.raid = self.raid.place_on_card(places)

    def _find(self, names: list[object]) -> list[int] | None:
        """Different dice that show these faces."""
        found: list[int] = []
        for name in names:
            face = face_named(str(name))
            places = [die for die in range(DICE) if self.raid.faces[die] is face and die not in found]
            if not places:
                return None
            found.append(places[0])
        return found

    def _state(self, key: str) -> object:
        score = self.raid.worth_now()
        if key in ("allowed", "first_allowed", "second_allowed"):
            index = {"allowed": -1, "first_allowed": 0, "second_allowed": 1}[key]
            if not -len(self.allowed) <= index < len(self.allowed):
                raise Skip("it asks whether something is allowed that nobody does")
            return self.allowed[index]
        states: dict[str, object] = {
            "turn_over": self.raid.phase is Phase.ENDED,
            "card_available": self.raid.watchwoman_ready,
            "skulls": self.raid.skulls,
            "island": self.raid.island,
            "outcome": score.outcome if score else None,
            "opponents_each": score.others if score else None,
            "turn_score": score.total if score else None,
        }
        if key not in states:
            raise Skip(f"“{key}” is asked of a raid")
        return states[key]


def _mapping(value: object) -> Json:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _whole(value: object) -> int:
    if isinstance(value, str) and value.isdigit():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Skip(f"{value!r} is no whole number")
    return value
