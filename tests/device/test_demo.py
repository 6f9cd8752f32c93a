"""The demo's stand-ins: a clip that waits, and a host that presses the button and answers only when nobody does."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
import pytest

from device.commands.demo import DemoCamera, Host, Teller, likely_answer, read_manifest
from device.demo import CLIP
from device.orders import Answer, EndRaid
from scorer.cards import Card

MANIFEST = {
    "cues": [
        {"frame": 3, "what": "card", "raid": 0, "rolls": 0, "card": "pirate", "faces": []},
        {"frame": 5, "what": "roll", "raid": 0, "rolls": 1, "card": "pirate", "faces": ["coin"] * 8},
        {"frame": 7, "what": "end_raid", "raid": 0, "rolls": 1, "card": "pirate", "faces": ["coin"] * 8},
        {"frame": 9, "what": "roll", "raid": 1, "rolls": 1, "card": "ship_2", "faces": ["coin"] * 8},
    ]
}


@dataclass
class Snapshot:
    state: dict[str, Any]
    version: int = 1


@dataclass
class FakeTable:
    state: dict[str, Any] = field(default_factory=lambda: {"raids": [], "raid": None, "questions": [], "players": []})
    orders: list[Any] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(self.state)

    def submit(self, order: Any, **_: Any) -> None:
        self.orders.append(order)

    def show_message(self, code: str, sentence: str, args: Any = None, *, level: str = "") -> None:
        self.messages.append(code)

    def clear_message(self, code: str) -> None:
        self.messages.append(f"-{code}")


class FakeVideo:
    def __init__(self, frames: int) -> None:
        self.left = list(range(frames))

    def read(self) -> tuple[bool, Any]:
        if not self.left:
            return False, None
        return True, np.full((4, 4, 3), self.left.pop(0), np.uint8)


def make_host(table: FakeTable) -> tuple[Host, list[float]]:
    now = [0.0]
    return Host(table, MANIFEST, say=lambda line: None, clock=lambda: now[0], patience=5.0), now


def test_the_clip_stands_still_at_a_cue_until_it_may_go_on() -> None:
    allowed: list[int] = []
    camera = DemoCamera(FakeVideo(5), 200.0, [2], lambda frame: frame in allowed)
    shown = [int(camera.latest().image[0, 0, 0]) for _ in range(5)]
    assert shown == [0, 1, 2, 2, 2]
    allowed.append(2)
    frames = [camera.latest() for _ in range(4)]
    assert [int(f.image[0, 0, 0]) for f in frames] == [3, 4, 4, 4]
    assert [f.number for f in frames] == [5, 6, 7, 8]
    assert camera.over
    assert np.allclose(np.diff([f.t for f in frames]), 1 / 200)


def test_a_slow_taker_misses_at_most_two_frames_in_a_row() -> None:
    camera = DemoCamera(FakeVideo(60), 50.0, [30], lambda frame: False)
    shown = [int(camera.latest().image[0, 0, 0])]
    times = [camera._t]
    for _ in range(14):
        time.sleep(0.11)
        frame = camera.latest()
        shown.append(int(frame.image[0, 0, 0]))
        times.append(frame.t)
    assert max(np.diff(shown)) == 3
    assert shown[-1] == 30  # and never one at which the clip has to wait
    assert np.diff(times).max() <= 3 / 50 + 1e-9


def test_a_camera_that_is_opened_again_goes_on_where_it_was() -> None:
    camera = DemoCamera(FakeVideo(5), 200.0, [], lambda frame: True)
    camera.latest()
    camera.close()
    assert int(camera.open().latest().image[0, 0, 0]) == 1


def test_the_clip_waits_for_eyes_that_are_slow() -> None:
    looks = iter([0, 0, 0, 1, 2, 2, 3, 4])
    asked = []

    def looked() -> int:
        asked.append(next(looks, 99))
        return asked[-1]

    camera = DemoCamera(FakeVideo(5), 200.0, [], lambda frame: True, looked=looked)
    for _ in range(3):
        camera.latest()
    assert len(asked) >= 5


def test_the_host_waits_for_what_the_clip_showed_and_then_presses() -> None:
    table = FakeTable()
    host, now = make_host(table)
    assert not host.may_go_on(3)
    table.state["raid"] = {"card": "pirate", "rolls": 0}
    assert host.may_go_on(3)
    assert not host.may_go_on(5)
    table.state["raid"] = {"card": "pirate", "rolls": 1}
    assert host.may_go_on(5)
    assert not host.may_go_on(7)
    now[0] += 1.5
    assert not host.may_go_on(7)
    assert [type(order) for order in table.orders] == [EndRaid]
    table.state["raids"] = [{}]
    assert host.may_go_on(7)
    assert len(table.orders) == 1


def test_the_host_does_not_wait_for_ever_except_for_questions() -> None:
    table = FakeTable()
    host, now = make_host(table)
    assert not host.may_go_on(5)
    now[0] += 20
    assert host.may_go_on(5)
    table.state["questions"] = [{"id": "q", "kind": "face"}]
    assert not host.may_go_on(9)
    now[0] += 100
    assert not host.may_go_on(9)


def test_a_question_is_left_to_the_visitor_for_a_while_and_answered_visibly_then() -> None:
    table = FakeTable()
    host, now = make_host(table)
    question = {
        "id": "q1",
        "kind": "face",
        "default": None,
        "sentence": "Die 2: diamond or coin?",
        "choices": [{"value": "diamond"}, {"value": "coin"}],
    }
    table.state["questions"] = [question]
    host._answer(table.state)
    now[0] += 4.9
    host._answer(table.state)
    assert table.orders == []
    assert table.messages == ["demo"]
    now[0] += 0.2
    host._answer(table.state)
    assert table.orders == [Answer("q1", "diamond")]
    assert "demo_answered" in table.messages
    table.state["questions"] = []
    host._answer(table.state)
    assert "-demo" in table.messages


def test_an_answered_question_is_left_alone() -> None:
    table = FakeTable()
    host, now = make_host(table)
    table.state["questions"] = [{"id": "q1", "kind": "bust", "default": "yes", "sentence": "", "choices": []}]
    host._answer(table.state)
    now[0] += 60
    host._answer(table.state)
    assert table.orders == []  # a bust is the table's own announcement


def test_likely_answers() -> None:
    faces = {"kind": "face", "default": None, "choices": [{"value": "coin"}, {"value": "skull"}]}
    card = {"kind": "card", "default": None, "choices": [{"value": "pirate"}, {"value": "ship_2"}]}
    again = {"kind": "rolled_again", "default": "no", "choices": [{"value": "yes"}, {"value": "no"}]}
    assert likely_answer(faces, "pirate") == "coin"
    assert likely_answer(card, "ship_2") == "ship_2"
    assert likely_answer(card, None) == "pirate"
    assert likely_answer(again, None) == "no"


def test_the_terminal_hears_each_thing_once() -> None:
    lines: list[str] = []
    teller = Teller(FakeTable(), say=lines.append)
    state = {
        "raids": [],
        "players": [{"name": "Anna", "total": 0}],
        "raid": {
            "player": "Anna",
            "card": "pirate",
            "rolls": 1,
            "dice": [{"face": "coin"}] * 8,
            "worth_now": {"total": 9000},
        },
    }
    teller.tell(state)
    teller.tell(state)
    assert len(lines) == 2
    assert "+9000" in lines[1]
    raid = {"player": "Anna", "card": "pirate", "outcome": "scored", "total": 9000, "others": 0}
    teller.tell({"raids": [raid], "players": [{"name": "Anna", "total": 9000}], "raid": None})
    assert "Anna 9000" in lines[2]


def test_the_shipped_clip_is_what_the_demo_needs() -> None:
    manifest = read_manifest()
    raids = manifest["raids"]
    assert len(manifest["names"]) == 2
    assert len(raids) >= 4
    assert len({raid["card"] for raid in raids}) >= 4
    assert {raid["card"] for raid in raids} <= {card.value for card in Card}
    outcomes = {raid["score"]["outcome"] for raid in raids}
    assert {"bust", "skull_island"} <= outcomes
    assert CLIP.stat().st_size < 4_000_000
    video = cv2.VideoCapture(str(CLIP))
    assert video.get(cv2.CAP_PROP_FPS) == pytest.approx(manifest["fps"])
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) > max(cue["frame"] for cue in manifest["cues"])
    assert json.dumps(manifest)
