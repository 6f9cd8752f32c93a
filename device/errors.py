"""What can go wrong in the appliance: one small tree, each with a sentence that a player may read on a phone.

Every error carries a `code` and `args` besides its English sentence, so that the page can say it in another language.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class DeviceError(Exception):
    """Base of all. `str(error)` is the sentence."""

    code = "device_error"

    def __init__(self, sentence: str, *, code: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        if code is not None:
            self.code = code
        self.details: dict[str, Any] = dict(details or {})

    def to_json(self) -> dict[str, Any]:
        """`{"error", "code", "args"}`, as every refused command is answered."""
        return {"error": self.sentence, "code": self.code, "args": self.details}


class StoreError(DeviceError, OSError):
    """The games cannot be read or written."""

    code = "store_error"


class StoreInUse(StoreError):
    """Another Ausguck holds this data folder."""

    code = "store_in_use"


class StoreFull(StoreError):
    """Nothing was written: the disk is full or refuses."""

    code = "store_full"


class TableError(DeviceError):
    """A command that was not done; the game is unchanged."""

    code = "refused"


class BadCommand(TableError, ValueError):
    """A command that cannot be understood."""

    code = "bad_command"


class NotAllowed(TableError):
    """A command that is understood, but not allowed now."""

    code = "not_allowed"


class TableBusy(TableError, TimeoutError):
    """The table did not get to the command in time; sending it again with the same id is safe."""

    code = "busy"
