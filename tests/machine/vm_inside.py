"""Runs inside the test machine: our panel on real gpiozero, lgpio and a kernel GPIO chip; our webcam code on real V4L2.

Fingers and cables are sysfs files of the kernel's gpio-sim and vivid drivers. Prints one line `RESULT <json>`.
"""

from __future__ import annotations

import faulthandler
import json
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path

faulthandler.dump_traceback_later(240, exit=True)

CHIP = next(Path("/sys/devices/platform").glob("gpio-sim.*/gpiochip*"))
DRIVER = Path("/sys/bus/platform/drivers/vivid")


class Contact:
    """A push button on a simulated pin: pulled up, and to ground while pressed."""

    def __init__(self, pin: int) -> None:
        self._pull = CHIP / f"sim_gpio{pin}" / "pull"

    def press(self) -> None:
        self._pull.write_text("pull-down")

    def release(self) -> None:
        self._pull.write_text("pull-up")

    def bounce(self, edges: int, pressed: bool) -> None:
        """`edges` changes, about a millisecond or two apart, that end pressed or not."""
        for number in range(edges):
            (self.press if ((edges - 1 - number) % 2 == 0) == pressed else self.release)()
            time.sleep(0.0015)


def level(pin: int) -> int:
    return int((CHIP / f"sim_gpio{pin}" / "value").read_text())


def panel() -> dict[str, object]:
    from gpiozero.pins.lgpio import LGPIOFactory

    from device.panel import Light, Panel, PanelSettings

    class SimulatedPi(LGPIOFactory):
        """The real factory; only the board's revision code is told, as there is no Pi to read it from (a Pi 4B)."""

        def _get_revision(self) -> int:
            return 0xC03115

    end, card = Contact(17), Contact(27)
    end.release(), card.release()
    presses: list[tuple[str, float]] = []
    began = time.monotonic()
    found: dict[str, object] = {}

    def told() -> list[str]:
        time.sleep(0.35)
        kinds = [kind for kind, _ in presses]
        presses.clear()
        return kinds

    settings = PanelSettings(hold_s=1.0, buzzer_pin=18)
    with Panel(
        lambda press: presses.append((press.kind.value, time.monotonic() - began)),
        settings=settings,
        pin_factory=SimulatedPi(chip=0),
    ) as it:
        found["status"] = it.status.sentence
        found["at_rest"] = told()
        end.bounce(7, True)
        time.sleep(0.25)
        end.bounce(7, False)
        found["short_with_bounces"] = told()
        end.bounce(5, True)
        time.sleep(1.5)
        end.bounce(5, False)
        found["held_with_bounces"] = told()
        for _ in range(3):
            card.bounce(5, True)
            time.sleep(0.2)
            card.bounce(3, False)
            time.sleep(0.2)
        found["card_three_times"] = told()
        lights = {}
        for light in (Light.READY, Light.ROLLING, Light.BUST, Light.OFF):
            it.show(light)
            time.sleep(0.15)
            lights[light.value] = [level(22), level(23), level(24)]
        found["lights"] = lights
        it.confirm()
        time.sleep(0.06)
        found["confirm"] = [level(22), level(23), level(24)]
        seen = set()
        for _ in range(150):
            seen.add(level(18))
            time.sleep(0.001)
        found["buzzer_ends"] = level(18)
    found["lgpio_notes_in"] = sorted(one.name[:7] for one in Path(os.environ["LG_WD"]).glob(".lgd*"))[:1]
    with Panel(lambda press: None, settings=settings, pin_factory=SimulatedPi(chip=0)) as again:
        found["pins_free_again"] = again.status.available
    return found


def sentence_of(doing: Callable[[], object]) -> str:
    from device.cameras import CameraError

    try:
        doing()
    except CameraError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def webcam() -> dict[str, object]:
    from device.cameras import CameraKeeper, CameraSettings, CameraState, UsbCamera, list_webcams, open_camera

    found: dict[str, object] = {"list": {str(number): name for number, name in list_webcams().items()}}
    settings = CameraSettings(width=640, height=360, fps=15.0)
    with open_camera("auto", settings=settings) as camera:
        found["auto"] = camera.description
    with UsbCamera(0, settings=settings) as camera:
        ages = []
        for _ in range(5):
            asked = time.monotonic()
            frame = camera.latest(after=asked, timeout=5.0)
            ages.append([frame.t - asked, time.monotonic() - frame.t])
        found["shape"] = list(frame.image.shape)
        found["ages"] = ages
        time.sleep(1.5)  # the driver's buffers fill up
        asked = time.monotonic()
        frame = camera.latest(after=asked, timeout=5.0)
        found["after_a_pause"] = [frame.t - asked, time.monotonic() - frame.t]
        found["in_use"] = sentence_of(lambda: UsbCamera(0, settings=settings))

    keeper = CameraKeeper(lambda: open_camera("auto", settings=settings), patience=4.0, look_again=0.5)
    states: list[str] = []
    keeper.when_changed(lambda status: states.append(f"{status.state.value}: {status.sentence}"))
    keeper.start()

    def wait_for(state: CameraState) -> bool:
        deadline = time.monotonic() + 20
        while keeper.status.state is not state and time.monotonic() < deadline:
            time.sleep(0.02)
        return keeper.status.state is state

    say("streaming from the webcam")
    found["streams"] = wait_for(CameraState.STREAMING)
    say("pulling its cable")
    before = time.monotonic()
    (DRIVER / "unbind").write_text("vivid.0")
    found["unplugged_seen"] = wait_for(CameraState.MISSING)
    found["unplugged_after_s"] = time.monotonic() - before
    time.sleep(1.0)
    say("plugging it in again")
    (DRIVER / "bind").write_text("vivid.0")
    before = time.monotonic()
    say("waiting for its picture")
    found["streams_again"] = wait_for(CameraState.STREAMING)
    found["replugged_after_s"] = time.monotonic() - before
    found["restarts"] = keeper.status.restarts
    say("closing")
    keeper.stop()
    found["states"] = states
    return found


def say(what: str) -> None:
    print(f"{time.monotonic():.1f} s: {what}", flush=True)


def guarded(part: Callable[[], dict[str, object]]) -> dict[str, object]:
    try:
        return part()
    except BaseException:
        return {"error": traceback.format_exc()}


result: dict[str, object] = {"kernel": os.uname().release}
for part in (panel, webcam):
    say(part.__name__)
    began = time.monotonic()
    result[part.__name__] = guarded(part)
    result[f"{part.__name__}_s"] = round(time.monotonic() - began, 1)
print("RESULT " + json.dumps(result), flush=True)
