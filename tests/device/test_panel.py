"""The panel: one press is one press, however the contact bounces; and without GPIO everything else goes on."""

from __future__ import annotations

import ast
import inspect
import queue
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest
from gpiozero.pins.mock import MockFactory
from hypothesis import given
from hypothesis import strategies as st

from device import panel as panel_module
from device.panel import (
    CONFIRM,
    PATTERNS,
    ButtonLogic,
    Light,
    Panel,
    PanelSettings,
    Press,
    PressKind,
    Sound,
    gpio_complaint,
)

QUICK = PanelSettings(hold_s=0.6, bounce_s=0.02)


@pytest.fixture
def pins() -> Iterator[MockFactory]:
    factory = MockFactory()
    yield factory
    factory.reset()


@pytest.fixture
def presses() -> queue.Queue[Press]:
    return queue.Queue()


@pytest.fixture
def panel(pins: MockFactory, presses: queue.Queue[Press]) -> Iterator[Panel]:
    with Panel(presses.put, settings=QUICK, pin_factory=pins) as panel:
        yield panel


def hold(pins: MockFactory, number: int, seconds: float) -> None:
    pins.pin(number).drive_low()
    time.sleep(seconds)
    pins.pin(number).drive_high()


def kinds(presses: queue.Queue[Press], wait: float = 0.3) -> list[PressKind]:
    time.sleep(wait)
    return [presses.get_nowait().kind for _ in range(presses.qsize())]


# The contact: levels with times in, presses out ---------------------------------------------------------------------


def logic(held: PressKind | None = PressKind.UNDO) -> ButtonLogic:
    return ButtonLogic(PressKind.END_RAID, held, bounce_s=0.03, hold_s=2.0)


def play(button: ButtonLogic, edges: list[tuple[float, bool]], until: float) -> list[tuple[PressKind, float]]:
    """Drive the logic as the panel's thread does: at each edge, and whenever it asked to be looked at."""
    told = []
    now = 0.0
    for at, pressed in [*edges, (until, None)]:
        while (look := button.next_look()) <= at:
            now = max(look, now)
            told += [(press.kind, round(now, 3)) for press in button.presses(now)]
        now = at
        if pressed is not None:
            button.edge(pressed, at)
        told += [(press.kind, round(now, 3)) for press in button.presses(now)]
    return told


def bounce(start: float, count: int, ends_pressed: bool, spacing: float = 0.002) -> list[tuple[float, bool]]:
    return [(start + n * spacing, ((count - 1 - n) % 2 == 0) == ends_pressed) for n in range(count)]


def test_short_press_is_told_when_the_finger_leaves() -> None:
    assert play(logic(), [(1.0, True), (1.2, False)], 5.0) == [(PressKind.END_RAID, 1.23)]


def test_five_edges_in_eight_milliseconds_are_one_press() -> None:
    edges = bounce(1.0, 5, True) + bounce(1.3, 5, False)
    assert [kind for kind, _ in play(logic(), edges, 5.0)] == [PressKind.END_RAID]


def test_two_presses_far_apart_are_two() -> None:
    edges = bounce(1.0, 5, True) + bounce(1.2, 3, False) + bounce(2.4, 5, True) + bounce(2.6, 3, False)
    assert [kind for kind, _ in play(logic(), edges, 5.0)] == [PressKind.END_RAID] * 2


def test_held_is_undo_once_and_its_release_is_nothing() -> None:
    edges = bounce(1.0, 5, True) + bounce(6.0, 5, False)
    assert play(logic(), edges, 9.0) == [(PressKind.UNDO, 3.008)]


def test_glitch_is_nothing() -> None:
    assert play(logic(), [(1.0, True), (1.004, False)], 5.0) == []


def test_contact_that_flickers_while_held_stays_held() -> None:
    edges = [(1.0, True), (1.9, False), (1.905, True), (2.4, False), (2.41, True), (4.0, False)]
    assert play(logic(), edges, 6.0) == [(PressKind.UNDO, 3.0)]


def test_card_button_is_told_at_once_and_once_however_long_it_is_held() -> None:
    assert play(logic(held=None), [*bounce(1.0, 5, True), (7.0, False)], 9.0) == [(PressKind.END_RAID, 1.038)]


@given(
    presses=st.lists(st.tuples(st.floats(0.05, 1.8), st.floats(0.1, 3.0)), max_size=6),
    bounces=st.integers(0, 4),
)
def test_as_many_presses_as_fingers_however_it_bounces(presses: list[tuple[float, float]], bounces: int) -> None:
    edges, now = [], 1.0
    for down, up in presses:
        edges += bounce(now, 2 * bounces + 1, True)
        now += 2 * bounces * 0.002 + down
        edges += bounce(now, 2 * bounces + 1, False)
        now += 2 * bounces * 0.002 + up
    told = [kind for kind, _ in play(logic(), edges, now + 3.0)]
    assert told == [PressKind.END_RAID] * len(presses)


# gpiozero with its mock pins ----------------------------------------------------------------------------------------


def test_short_long_and_card(panel: Panel, pins: MockFactory, presses: queue.Queue[Press]) -> None:
    hold(pins, 17, 0.06)
    assert kinds(presses) == [PressKind.END_RAID]
    hold(pins, 17, 0.9)
    assert kinds(presses) == [PressKind.UNDO]
    hold(pins, 27, 0.06)
    hold(pins, 27, 0.0)
    time.sleep(0.05)
    hold(pins, 27, 0.3)
    assert kinds(presses) == [PressKind.NEXT_CARD] * 2


def test_each_press_has_its_own_id_and_the_time_of_the_finger(
    panel: Panel, pins: MockFactory, presses: queue.Queue[Press]
) -> None:
    began = time.monotonic()
    hold(pins, 17, 0.06)
    first = presses.get(timeout=1)
    assert 0 <= first.t - began < 0.5
    hold(pins, 17, 0.06)
    assert presses.get(timeout=1).id != first.id


def test_handler_neither_raises_nor_waits_when_the_queue_is_full(pins: MockFactory) -> None:
    panel = Panel(lambda press: None, settings=QUICK, pin_factory=pins)  # not started: nobody empties the queue
    began = time.monotonic()
    for _ in range(400):
        hold(pins, 17, 0.0)
    assert time.monotonic() - began < 20.0, "it waited for room"
    assert panel._edges.full()
    panel.close()


def test_a_lost_release_does_not_leave_the_button_stuck(pins: MockFactory, presses: queue.Queue[Press]) -> None:
    with Panel(presses.put, settings=QUICK, pin_factory=pins) as panel:
        button = panel._parts["end raid button"]
        release, button.when_released = button.when_released, None
        hold(pins, 17, 0.06)
        button.when_released = release
        assert kinds(presses, 0.9) == [PressKind.UNDO]  # as far as anybody knows it is still held
        time.sleep(1.0)  # the pin itself is asked once a second
        hold(pins, 17, 0.06)
        assert kinds(presses) == [PressKind.END_RAID]


def test_handlers_only_queue() -> None:
    tree = ast.parse(textwrap.dedent(inspect.getsource(Panel._handler)))
    handler = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "handler")
    assert len(handler.body) == 1
    assert ast.unparse(handler.body[0]).splitlines() == [
        "with contextlib.suppress(queue.Full):",
        "    self._edges.put_nowait((what, pressed, self._clock()))",
    ]


def colours(pins: MockFactory) -> tuple[bool, bool, bool]:
    return tuple(bool(pins.pin(number).state) for number in (22, 23, 24))  # type: ignore[return-value]


def test_light_shows_each_state(panel: Panel, pins: MockFactory) -> None:
    expected = {
        Light.READY: (False, True, False),
        Light.ROLLING: (False, False, True),
        Light.DOUBTFUL: (True, True, False),
        Light.BUST: (True, False, False),
        Light.ERROR: (True, False, False),
        Light.OFF: (False, False, False),
    }
    for light, lit in expected.items():
        panel.show(light)
        assert _soon(lambda lit=lit: colours(pins) == lit), light


def test_confirm_flashes_white_and_the_state_comes_back(panel: Panel, pins: MockFactory) -> None:
    panel.show(Light.READY)
    assert _soon(lambda: colours(pins) == (False, True, False))
    pins.pin(24).clear_states()
    panel.confirm()
    time.sleep(sum(seconds for _, seconds in CONFIRM) + 0.1)
    pins.pin(24).assert_states([False, True, False, True, False])
    assert colours(pins) == (False, True, False)


def test_no_two_states_look_alike_without_colour() -> None:
    def rhythm(light: Light) -> tuple[tuple[bool, float], ...]:
        return tuple((any(colour), seconds) for colour, seconds in PATTERNS[light])

    assert len({rhythm(light) for light in Light}) == len(Light)


def test_buzzer_plays_and_ends_silent(pins: MockFactory) -> None:
    with Panel(lambda press: None, settings=PanelSettings(buzzer_pin=18), pin_factory=pins) as panel:
        panel.sound(Sound.REFUSED)
        time.sleep(0.4)
        pins.pin(18).assert_states([False, True, False, True, False])


def test_common_anode_is_inverted(pins: MockFactory) -> None:
    with Panel(lambda press: None, settings=PanelSettings(common_anode=True), pin_factory=pins) as panel:
        panel.show(Light.READY)
        assert _soon(lambda: colours(pins) == (True, False, True))


def test_close_twice_and_pins_are_free_again(pins: MockFactory) -> None:
    panel = Panel(lambda press: None, pin_factory=pins)
    panel.start()
    panel.close()
    panel.close()
    again = Panel(lambda press: None, pin_factory=pins)
    assert again.status.available
    again.close()


def _soon(is_so: Callable[[], bool], seconds: float = 1.5) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


# Settings, and no GPIO ----------------------------------------------------------------------------------------------


def test_status_names_what_is_where(pins: MockFactory) -> None:
    with Panel(lambda press: None, settings=PanelSettings(blue_pin=None), pin_factory=pins) as panel:
        assert panel.status.sentence == (
            "end raid button on GPIO17, card button on GPIO27, red light on GPIO22, green light on GPIO23 "
            "(through MockFactory)."
        )


def test_a_pin_used_twice_is_refused_in_a_sentence(pins: MockFactory) -> None:
    panel = Panel(lambda press: None, settings=PanelSettings(card_pin=17), pin_factory=pins)
    assert panel.status.sentence == (
        "button: not available (GPIO17 is set for the end raid button and for the card button; give each its own pin)"
    )
    assert not panel.status.available


def test_settings_of_the_table_are_understood() -> None:
    from device.settings import Settings

    settings = PanelSettings.from_settings(Settings(end_pin=5, blue_pin=-1, hold=1.5))
    assert (settings.end_pin, settings.card_pin, settings.blue_pin, settings.hold_s) == (5, 27, None, 1.5)


def test_not_a_pi_is_said_and_everything_is_a_quiet_no_op() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Panel(lambda press: None) as panel:
            panel.show(Light.READY)
            panel.confirm()
            panel.sound(Sound.BUST)
    assert not panel.status.available
    assert panel.status.sentence.startswith("button: not available (")
    assert not [one for one in threading.enumerate() if one.name == "panel"]


def test_without_lgpio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lgpio", None)
    monkeypatch.delitem(sys.modules, "gpiozero.pins.lgpio", raising=False)
    assert Panel(lambda press: None).status.sentence == "button: not available (lgpio missing)"


@pytest.mark.parametrize(
    ("model", "version", "good"),
    [
        ("Raspberry Pi 5 Model B Rev 1.0", "2.0.1", False),
        ("Raspberry Pi 5 Model B Rev 1.0", "2.0.1.post2", False),
        ("Raspberry Pi 5 Model B Rev 1.0", "2.0.1.post3", True),
        ("Raspberry Pi 5 Model B Rev 1.0", "2.1", True),
        ("Raspberry Pi 4 Model B Rev 1.5", "2.0.1", True),
        (None, "2.0.1", True),
    ],
)
def test_old_gpiozero_on_a_pi_5_is_a_complaint(tmp_path: Path, model: str | None, version: str, good: bool) -> None:
    file = tmp_path / "model"
    if model is not None:
        file.write_bytes(model.encode() + b"\0")
    complaint = gpio_complaint(model_file=file, version=lambda name: version)
    assert (complaint == "") is good
    assert good or f"gpiozero {version} cannot find the pins of a Pi 5" in complaint


def test_no_gpiozero_is_a_complaint(tmp_path: Path) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    assert "not installed" in gpio_complaint(model_file=tmp_path / "none", version=missing)


def test_default_pins_are_those_of_the_wiring_page() -> None:
    page = Path(__file__).parents[2] / "deploy" / "README.md"
    text = page.read_text(encoding="utf-8")
    for name, pin in PanelSettings(buzzer_pin=18).pins().items():
        assert f"GPIO{pin}" in text, f"{name} on GPIO{pin} is not on the wiring page"
    assert panel_module.__doc__
    assert all(a != b for a, b in pairwise(sorted(PanelSettings().pins().values())))
