"""The panel beside the table: two buttons, a status light, perhaps a buzzer. All of it can be missing.

Edges of the buttons come in on gpiozero's thread, which only queues them; the panel's own thread makes presses of them
and plays the light. What a press means is for the table to say.

Wiring: each button between its pin and ground (no resistor: the Pi's pull-up is used). The light is an RGB light with
common cathode, or three single ones: each pin through 330 Ω. The buzzer is an active one, between its pin and ground.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import re
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Self

log = logging.getLogger(__name__)

FIRST_GOOD_FOR_PI_5 = "2.0.1.post3"
"""The gpiozero that knows that newer kernels number the Pi 5's pins from gpiochip0."""


class PressKind(StrEnum):
    """What a person did at the panel."""

    END_RAID = "end_raid"
    UNDO = "undo"
    NEXT_CARD = "next_card"


@dataclass(frozen=True, slots=True)
class Press:
    """One press, after debouncing."""

    kind: PressKind
    t: float
    """Seconds of `time.monotonic()` when the finger came down."""
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    """The command id, so that a press is done once however often it is sent."""


class Light(StrEnum):
    """What the status light says."""

    OFF = "off"
    READY = "ready"
    ROLLING = "rolling"
    DOUBTFUL = "doubtful"
    BUST = "bust"
    ERROR = "error"


class Sound(StrEnum):
    """What the buzzer says."""

    PRESS = "press"
    BUST = "bust"
    REFUSED = "refused"


_R, _G, _B, _YELLOW, _WHITE, _DARK = (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 1, 1), (0, 0, 0)
Pattern = tuple[tuple[tuple[int, int, int], float], ...]

PATTERNS: dict[Light, Pattern] = {
    Light.OFF: ((_DARK, 1.0),),
    Light.READY: ((_G, 1.0),),
    Light.ROLLING: ((_B, 0.6), (_DARK, 0.2)),
    Light.DOUBTFUL: ((_YELLOW, 0.15), (_DARK, 0.15), (_YELLOW, 0.15), (_DARK, 0.75)),
    Light.BUST: ((_R, 0.9), (_DARK, 0.1), (_R, 0.1), (_DARK, 0.1)),
    Light.ERROR: ((_R, 0.1), (_DARK, 0.1)),
}
"""Colour (red, green, blue) and seconds, repeated. Each has its own rhythm or brightness: colour alone says nothing."""

CONFIRM: Pattern = ((_WHITE, 0.12), (_DARK, 0.08), (_WHITE, 0.12))
"""Played once when the table has taken a press."""

SOUNDS: dict[Sound, tuple[float, ...]] = {
    Sound.PRESS: (0.03,),
    Sound.BUST: (0.5,),
    Sound.REFUSED: (0.06, 0.06, 0.06),
}
"""Seconds on, off, on, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSettings:
    """Pins are GPIO numbers (not the positions on the header); None leaves a part out."""

    end_pin: int | None = 17
    """The *end raid* button, to ground. Header position 11."""
    card_pin: int | None = 27
    """The *card* button, to ground. Header position 13."""
    red_pin: int | None = 22
    """Red of the status light, through a resistor. Header position 15."""
    green_pin: int | None = 23
    """Green. Header position 16."""
    blue_pin: int | None = 24
    """Blue. Header position 18."""
    buzzer_pin: int | None = None
    """An active buzzer, to ground; 18 (header position 12) in the wiring picture."""
    hold_s: float = 2.0
    """Seconds that *end raid* is held down to undo."""
    bounce_s: float = 0.03
    """Seconds that a contact must be at rest before it counts. Contacts bounce for up to 10 ms; longer makes quick
    taps be missed."""
    common_anode: bool = False
    """The light's common leg goes to 3.3 V instead of ground."""

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        """From `device.settings.Settings`; a negative pin there means that the part is left out."""
        pins = ("end_pin", "card_pin", "red_pin", "green_pin", "blue_pin", "buzzer_pin")
        numbers: dict[str, Any] = {name: getattr(settings, name) for name in pins}
        wanted: dict[str, Any] = {name: n if n >= 0 else None for name, n in numbers.items()}
        return cls(**wanted, hold_s=settings.hold)

    def pins(self) -> dict[str, int]:
        """The pins in use, by what hangs on them. Raises `ValueError` if one is used twice."""
        named = {
            "end raid button": self.end_pin,
            "card button": self.card_pin,
            "red light": self.red_pin,
            "green light": self.green_pin,
            "blue light": self.blue_pin,
            "buzzer": self.buzzer_pin,
        }
        used = {name: pin for name, pin in named.items() if pin is not None}
        for name, pin in used.items():
            others = [other for other, number in used.items() if number == pin and other != name]
            if others:
                raise ValueError(f"GPIO{pin} is set for the {name} and for the {others[0]}; give each its own pin.")
        return used


class ButtonLogic:
    """Makes presses of what a contact does. Pure: it is told levels with their times, and asked.

    A level counts once it has held for `bounce_s`; whatever flickers within is one press or none. With `held`, a
    short press is told when the finger leaves, and `held` once after `hold_s`; without, it is told at once.
    """

    def __init__(self, short: PressKind, held: PressKind | None, *, bounce_s: float, hold_s: float) -> None:
        self._short, self._held = short, held
        self._bounce, self._hold = bounce_s, hold_s
        self._level = self._wanted = False  # True: pressed
        self._changed_at = 0.0
        self._pressed_at = 0.0
        self._told = False

    @property
    def is_closed(self) -> bool:
        """Whether the contact was closed at the last edge."""
        return self._wanted

    def edge(self, pressed: bool, t: float) -> None:
        """The contact closed or opened at `t`."""
        if pressed != self._wanted or t > self._changed_at:
            self._wanted, self._changed_at = pressed, t

    def presses(self, now: float) -> list[Press]:
        """What has come about until `now`."""
        found: list[Press] = []
        if self._wanted is not self._level and now >= self._changed_at + self._bounce:
            self._level = self._wanted
            if self._level:
                self._pressed_at, self._told = self._changed_at, False
                if self._held is None:
                    found.append(self._tell(self._short))
            elif not self._told:
                long_enough = self._changed_at >= self._pressed_at + self._hold
                found.append(self._tell(self._held if self._held and long_enough else self._short))
        if self._level and self._wanted and self._held and not self._told and now >= self._pressed_at + self._hold:
            found.append(self._tell(self._held))
        return found

    def next_look(self) -> float:
        """When `presses` has to be asked again without a further edge; infinite if never."""
        if self._wanted is not self._level:
            return self._changed_at + self._bounce
        if self._level and self._held is not None and not self._told:
            return self._pressed_at + self._hold
        return float("inf")

    def _tell(self, kind: PressKind) -> Press:
        self._told = True
        return Press(kind, self._pressed_at)


@dataclass(frozen=True, slots=True)
class PanelStatus:
    """What the status page says about the panel."""

    available: bool
    sentence: str

    def to_json(self) -> dict[str, object]:
        """For `GET /api/state` and the status page."""
        return {"available": self.available, "sentence": self.sentence}


_Edge = tuple[str, bool, float]


class Panel:
    """Buttons, light and buzzer.

    Example:

        panel = Panel(lambda press: table.submit(order_of(press)))
        panel.start()
        panel.show(Light.READY)

    `on_press` is called on the panel's thread with each `Press`; what it raises is logged and the next press works.
    `pin_factory` is a gpiozero factory (the tests' mock, a simulated chip); by default lgpio on this Pi's pins.
    Without GPIO the panel is there and does nothing; `status` says why.
    """

    def __init__(
        self,
        on_press: Callable[[Press], None],
        *,
        settings: PanelSettings | None = None,
        pin_factory: Any = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_press, self._settings, self._clock = on_press, settings or PanelSettings(), clock
        self._edges: queue.Queue[_Edge | None] = queue.Queue(maxsize=256)
        self._parts: dict[str, Any] = {}
        self._logic: dict[str, ButtonLogic] = {}
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._light, self._light_began = Light.OFF, clock()
        self._confirm_began: float | None = None
        self._shown: tuple[int, int, int] | None = None
        self._sound: tuple[float, ...] = ()
        self._sound_began = 0.0
        self._status = self._connect(pin_factory)

    # What others may do ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen to the buttons and play the light. Does nothing without GPIO."""
        if self._status.available and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="panel", daemon=True)
            self._thread.start()

    def show(self, light: Light) -> None:
        """Show a state until another is shown. Never blocks."""
        if light is not self._light:
            self._light, self._light_began = light, self._clock()
            self._nudge()

    def confirm(self) -> None:
        """Flash white twice: the press was taken. Never blocks."""
        self._confirm_began = self._clock()
        self.sound(Sound.PRESS)

    def sound(self, sound: Sound) -> None:
        """Play a sound, if there is a buzzer. Never blocks."""
        self._sound, self._sound_began = SOUNDS[sound], self._clock()
        self._nudge()

    @property
    def status(self) -> PanelStatus:
        """Whether there are buttons and lights, and if not, why."""
        return self._status

    def close(self) -> None:
        """Let the pins go. Calling it again does nothing."""
        self._stopping = True
        self._nudge()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)
        parts, self._parts = self._parts, {}
        for part in parts.values():
            with contextlib.suppress(Exception):
                part.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The hardware ---------------------------------------------------------------------------------------------------

    def _connect(self, pin_factory: Any) -> PanelStatus:
        try:
            pins = self._settings.pins()
            factory, name = (pin_factory, type(pin_factory).__name__) if pin_factory is not None else _lgpio_factory()
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                self._make_parts(pins, factory)
        except Exception as error:
            for part in self._parts.values():
                part.close()
            self._parts.clear()
            return PanelStatus(False, f"button: not available ({_reason(error)})")
        parts = ", ".join(f"{what} on GPIO{pin}" for what, pin in pins.items())
        remarks = "".join(f" {one.message}." for one in said)
        return PanelStatus(True, f"{parts} (through {name}).{remarks}")

    def _make_parts(self, pins: dict[str, int], factory: Any) -> None:
        from gpiozero import Button, DigitalOutputDevice

        settings = self._settings
        for what, pin in pins.items():
            if what.endswith("button"):
                held = PressKind.UNDO if what == "end raid button" else None
                short = PressKind.END_RAID if what == "end raid button" else PressKind.NEXT_CARD
                self._logic[what] = ButtonLogic(short, held, bounce_s=settings.bounce_s, hold_s=settings.hold_s)
                # No bounce_time: the chip's filter would hide the edges that ButtonLogic judges by.
                button = Button(pin, pull_up=True, bounce_time=None, pin_factory=factory)
                button.when_pressed = self._handler(what, True)
                button.when_released = self._handler(what, False)
                self._parts[what] = button
            else:
                active_high = not (settings.common_anode and what.endswith("light"))
                self._parts[what] = DigitalOutputDevice(pin, active_high=active_high, pin_factory=factory)

    def _handler(self, what: str, pressed: bool) -> Callable[[], None]:
        def handler() -> None:  # runs on the pin library's only thread: it must neither wait nor raise
            with contextlib.suppress(queue.Full):
                self._edges.put_nowait((what, pressed, self._clock()))

        return handler

    # The panel's thread ---------------------------------------------------------------------------------------------

    def _nudge(self) -> None:
        with contextlib.suppress(queue.Full):
            self._edges.put_nowait(None)

    def _run(self) -> None:
        while not self._stopping:
            try:
                wait = self._turn()
            except Exception:
                log.exception("the panel stumbled")
                wait = 0.5
            with contextlib.suppress(queue.Empty):
                self._take(self._edges.get(timeout=wait))
                while True:
                    self._take(self._edges.get_nowait())
        self._set_light((0, 0, 0))

    def _take(self, edge: _Edge | None) -> None:
        if edge is not None:
            what, pressed, t = edge
            self._logic[what].edge(pressed, t)

    def _turn(self) -> float:
        """One round: presses, light, sound. Returns how many seconds may pass until the next."""
        now = self._clock()
        wake = now + 1.0
        for what, logic in self._logic.items():
            self._catch_up(what, logic, now)
            for press in logic.presses(now):
                self._press(press)
            wake = min(wake, logic.next_look())
        for next_step in (self._play_light(now), self._play_sound(now)):
            wake = min(wake, next_step)
        return max(0.001, wake - self._clock())

    def _catch_up(self, what: str, logic: ButtonLogic, now: float) -> None:
        """Ask the pin itself once a second: an edge that got lost must not leave a button stuck."""
        if logic.next_look() <= now or not self._edges.empty() or (button := self._parts.get(what)) is None:
            return
        if button.is_pressed is not logic.is_closed:
            logic.edge(button.is_pressed, now)

    def _press(self, press: Press) -> None:
        try:
            self._on_press(press)
        except Exception:  # the next press must work
            log.exception("the press %s was not taken", press.kind)

    def _play_light(self, now: float) -> float:
        if self._confirm_began is not None:
            step = _step_at(CONFIRM, now - self._confirm_began, repeat=False)
            if step is not None:
                self._set_light(step[0])
                return now + step[1]
            self._confirm_began = None
        step = _step_at(PATTERNS[self._light], now - self._light_began, repeat=True)
        assert step is not None
        self._set_light(step[0])
        return now + step[1]

    def _set_light(self, colour: tuple[int, int, int]) -> None:
        if colour == self._shown:
            return
        self._shown = colour
        for name, value in zip(("red light", "green light", "blue light"), colour, strict=True):
            if (part := self._parts.get(name)) is not None:
                part.value = value

    def _play_sound(self, now: float) -> float:
        buzzer = self._parts.get("buzzer")
        if buzzer is None or not self._sound:
            return float("inf")
        elapsed = now - self._sound_began
        for number, seconds in enumerate(self._sound):
            if elapsed < seconds:
                buzzer.value = 1 - number % 2
                return now + seconds - elapsed
            elapsed -= seconds
        buzzer.value = 0
        self._sound = ()
        return float("inf")


def _step_at(pattern: Pattern, elapsed: float, *, repeat: bool) -> tuple[tuple[int, int, int], float] | None:
    """The colour at `elapsed` seconds and how long it stays; None after the end of a pattern played once."""
    length = sum(seconds for _, seconds in pattern)
    if repeat:
        elapsed %= length
    for colour, seconds in pattern:
        if elapsed < seconds:
            return colour, seconds - elapsed
        elapsed -= seconds
    return (pattern[0][0], pattern[0][1]) if repeat else None


def _lgpio_factory() -> tuple[Any, str]:
    """lgpio or nothing: which library drives the pins is never left to chance."""
    from gpiozero.pins.lgpio import LGPIOFactory

    return LGPIOFactory(), "lgpio"


def _reason(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} missing"
    if type(error).__name__ == "PinUnknownPi":
        return "this is not a Raspberry Pi"
    text = str(error) or type(error).__name__
    return text.rstrip(".") if isinstance(error, ValueError) else f"{type(error).__name__}: {text}".rstrip(".")


def gpio_complaint(
    *,
    model_file: Path = Path("/proc/device-tree/model"),
    version: Callable[[str], str] = metadata.version,
) -> str:
    """For the self-test: what is wrong with the pin libraries on this machine; empty if nothing is."""
    try:
        model = model_file.read_text(errors="replace").strip("\0\n ")
    except OSError:
        model = ""
    try:
        installed = version("gpiozero")
    except metadata.PackageNotFoundError:
        return "gpiozero is not installed; run deploy/install.sh."
    if "Raspberry Pi 5" in model and _version_key(installed) < _version_key(FIRST_GOOD_FOR_PI_5):
        return (
            f"gpiozero {installed} cannot find the pins of a Pi 5 with a new kernel; "
            f"expected {FIRST_GOOD_FOR_PI_5} or newer, run deploy/install.sh."
        )
    return ""


def _version_key(version: str) -> tuple[int, ...]:
    """`2.0.1.post3` → (2, 0, 1, 3), enough for the versions that gpiozero has."""
    return tuple(int(number) for number in re.findall(r"\d+", version))
