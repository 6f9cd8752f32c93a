"""What a table can be set to, in one place: `settings.toml` in the data folder, over the defaults here.

A setting that nobody wrote down has the default; one that is unknown or out of range is a sentence, never a guess.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from device.errors import DeviceError


class BadSettings(DeviceError, ValueError):
    """The settings file says something that cannot be."""

    code = "bad_settings"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one table."""

    grace: float = 4.0
    """Seconds to say "no, that was misread" after the table has announced a bust or the end of an island raid; 0: at
    once."""
    command_timeout: float = 5.0
    """Seconds that a phone waits for its command to be on disk before it is told to try again."""
    queue: int = 256
    """Commands that may wait; beyond, the sender is told to try again."""
    upload_limit: int = 30 * 2**20
    """Bytes of one uploaded photo."""
    evidence_limit: int = 48 * 2**20
    """Bytes of pictures kept of one game."""
    language: str = ""
    """`de` or `en`; empty: as each phone asks."""
    end_pin: int = 17
    """GPIO number of the *end raid* button (to ground)."""
    card_pin: int = 27
    """GPIO number of the *card* button (to ground)."""
    red_pin: int = 22
    """GPIO number of the status light's red (through a resistor)."""
    green_pin: int = 23
    """… green."""
    blue_pin: int = 24
    """… blue."""
    buzzer_pin: int = -1
    """GPIO number of the buzzer; -1: none."""
    hold: float = 2.0
    """Seconds that *end raid* is held down to undo."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Tables of the file that belong to other rooms, as they stand there (`[camera]`, …)."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a settings file; a missing one gives the defaults. Raises `BadSettings`."""
        try:
            values = tomllib.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise BadSettings(f"the settings in {path} cannot be read ({error}): correct or remove the file") from error
        return cls().changed(values, where=str(path))

    def changed(self, values: dict[str, Any], *, where: str = "settings") -> Self:
        """These settings with `values` instead. Raises `BadSettings` for an unknown name or a wrong type."""
        known = {f.name: f for f in fields(self) if f.name != "extra"}
        extra = dict(self.extra)
        good: dict[str, Any] = {}
        for name, value in values.items():
            if isinstance(value, dict):
                extra[name] = value
                continue
            if name not in known:
                raise BadSettings(
                    f"{where}: expected one of {', '.join(known)}, got {name!r}: remove it or correct its name"
                )
            good[name] = _as(getattr(self, name), value, name, where)
        return replace(self, **good, extra=extra)


def _as(default: Any, value: Any, name: str, where: str) -> Any:
    kind = type(default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadSettings(f"{where}: expected {name} as {kind.__name__}, like {default!r}, got {value!r}")
    if kind in (int, float) and (value < 0 and not name.endswith("_pin")):
        raise BadSettings(f"{where}: expected {name} of 0 or more, got {value!r}")
    return value


def default_data_dir() -> Path:
    """`$XDG_DATA_HOME/ausguck`, or `~/.local/share/ausguck`; under systemd the unit's state folder."""
    if state := os.environ.get("STATE_DIRECTORY"):
        return Path(state.split(":")[0])
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "ausguck"
