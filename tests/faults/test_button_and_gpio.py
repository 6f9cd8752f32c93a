"""Field faults C, 16 to 19: button and GPIO. A real kernel's edges: tests/machine; a real button: tests/hardware."""

from __future__ import annotations

import queue
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpiozero.pins.mock import MockFactory

from device.appliance import Appliance
from device.orders import EndRaid, NewGame
from device.panel import Panel, PanelSettings, Press, PressKind, gpio_complaint
from device.store import Store
from device.table import Table

SETTINGS = PanelSettings(hold_s=2.0)


@pytest.fixture
def pins() -> Iterator[MockFactory]:
    factory = MockFactory()
    yield factory
    factory.reset()


def bounce(pins: MockFactory, edges: int, pressed: bool) -> None:
    """Edges two milliseconds apart, as a contact makes them; gpiozero's mock pins never do by themselves."""
    for number in range(edges):
        down = ((edges - 1 - number) % 2 == 0) == pressed
        (pins.pin(17).drive_low if down else pins.pin(17).drive_high)()
        if number < edges - 1:
            time.sleep(0.002)


def press(pins: MockFactory) -> None:
    bounce(pins, 5, True)
    time.sleep(0.15)
    bounce(pins, 3, False)
    time.sleep(0.1)


def test_16_one_press_acts_once(pins: MockFactory) -> None:
    presses: queue.Queue[Press] = queue.Queue()
    with Panel(presses.put, settings=SETTINGS, pin_factory=pins):
        press(pins)
        assert [presses.get(timeout=1).kind] == [PressKind.END_RAID]
        time.sleep(1.2)
        assert presses.empty()
        press(pins)
        assert [presses.get(timeout=1).kind] == [PressKind.END_RAID]
        time.sleep(0.3)
        assert presses.empty()


def test_16_the_second_end_of_the_same_raid_is_refused_with_a_reason(pins: MockFactory, tmp_path: Path) -> None:
    answers: list[str] = []
    with Store.open(tmp_path) as store:
        table = Table(store)
        table.start()
        try:
            table.submit(NewGame(("Anne", "Jack")), id="new", source="test")

            def end(press: Press) -> None:
                try:
                    table.submit(EndRaid(), id=press.id, source="button")
                    answers.append("done")
                except Exception as error:
                    answers.append(str(error))

            with Panel(end, settings=SETTINGS, pin_factory=pins):
                press(pins)
                time.sleep(1.2)
                press(pins)
                time.sleep(0.3)
        finally:
            table.close()
    assert len(answers) == 2, "two presses are two decisions"
    assert all(len(answer) > 10 and answer != "done" for answer in answers), answers  # nothing was rolled: both say why


def test_17_an_exception_does_not_kill_later_presses(pins: MockFactory) -> None:
    taken: list[PressKind] = []

    def table(press: Press) -> None:
        taken.append(press.kind)
        if len(taken) == 1:
            raise RuntimeError("the table fell over")

    with Panel(table, settings=SETTINGS, pin_factory=pins):
        press(pins)
        press(pins)
        time.sleep(0.2)
    assert taken == [PressKind.END_RAID] * 2


def test_17_a_full_queue_does_not_raise(pins: MockFactory) -> None:
    panel = Panel(lambda press: None, settings=SETTINGS, pin_factory=pins)  # nobody empties it
    for _ in range(300):
        pins.pin(17).drive_low()
        pins.pin(17).drive_high()
    panel.close()


def test_18_an_old_gpiozero_on_a_pi_5_fails_the_self_test(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.write_bytes(b"Raspberry Pi 5 Model B Rev 1.0\0")
    assert "2.0.1.post3" in gpio_complaint(model_file=model, version=lambda name: "2.0.1")
    assert gpio_complaint(model_file=model, version=lambda name: "2.0.1.post3") == ""


def test_19_without_lgpio_it_is_said_and_nothing_stands_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "lgpio", None)
    monkeypatch.delitem(sys.modules, "gpiozero.pins.lgpio", raising=False)
    monkeypatch.setenv("GPIOZERO_PIN_FACTORY", "native")  # what would stand in silently
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        panel = Panel(lambda press: None)
    assert panel.status.sentence == "button: not available (lgpio missing)"
    assert not said, "a warning that nobody reads"
    with Appliance(tmp_path, camera="none", port=0, host="127.0.0.1", quiet=True) as running:
        deadline = time.monotonic() + 10  # the panel's word goes through the table's queue
        while "sentence" not in running.table.snapshot.state["panel"] and time.monotonic() < deadline:
            time.sleep(0.02)
        assert running.table.snapshot.state["panel"]["sentence"] == "button: not available (lgpio missing)"
