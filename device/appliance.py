"""The appliance put together: store, table, camera, eyes, referee, panel, page. Whatever fails to start, the rest
runs.

Used by `ausguck run` and `ausguck demo`. Starting takes as long as the store and the page take; the camera and the
networks open in the background, and the status page says what stands in for what.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from device.errors import DeviceError
from device.orders import EndRaid, NextCard, Order, Undo
from device.settings import Settings
from device.snapshot import Snapshot
from device.status import Check, PowerWatch, check_power, quick_checks
from device.store import Store
from device.table import Table
from device.watchdog import Progress, Watchdog
from device.web import create_app
from device.web.serve import Server, addresses, say_where

if TYPE_CHECKING:
    from device.cameras import Camera, CameraKeeper
    from device.loop import Loop
    from device.panel import Panel, Press
    from vision.reading import Reading

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Appliance:
    """One running table.

        with Appliance(folder, camera="auto", port=8080) as ausguck:
            wait_for_signal(ausguck.close)

    `camera` is a word for `open_camera`, or a function that opens one. `data` is the folder of the games. Raises
    `StoreInUse`, `StoreError`, `BadSettings` and `OSError` (the port is taken); nothing else stops it.
    """

    data: Path
    camera: str | Callable[[], Camera] = "auto"
    host: str = "0.0.0.0"
    port: int = 8080
    models: Path | None = None
    settings: Settings | None = None
    panel_wanted: bool = True
    fps: float | None = None
    """Pace of a clip, frames a second."""
    quiet: bool = False
    """Say nothing on standard error."""
    reader: Any = field(default=None, repr=False)
    """A reader to use instead of the shipped networks."""

    def __post_init__(self) -> None:
        self._closing: list[Callable[[], None]] = []
        self.turns = 0
        """Turns of the loop, for the watchdog."""
        self.loop: Loop | None = None
        self.keeper: CameraKeeper | None = None
        self.panel: Panel | None = None
        self.live: Any = None
        self._model = Check("model", True, "the networks are loaded with the first picture", stands_in=True)
        self._photo_reader: Any = None
        self._photo_lock = threading.Lock()

    # -- life ------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start everything; returns when the page can be opened."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def _start(self) -> None:
        self.settings = self.settings or Settings.load(self.data / "settings.toml")
        self.store = Store.open(self.data, evidence_limit=self.settings.evidence_limit)
        self._closing.append(self.store.close)
        self.table = Table(self.store, settings=self.settings)
        self._closing.append(self.table.close)
        self.table.start()
        self._start_eyes()
        app = create_app(
            self.table,
            settings=self.settings,
            live=self.live,
            read_photo=self.read_photo,
            addresses=lambda: addresses(self.server.port, self.host),
            checks=self.checks,
        )
        self.server = Server(app, host=self.host, port=self.port)
        self._closing.append(self.server.close)
        self.server.start()
        self._start_panel()
        power = PowerWatch(self.table)
        self._closing.append(power.close)
        threading.Thread(target=power.start, name="power-first-look", daemon=True).start()
        self._start_watchdog()
        if not self.quiet:
            say_where(addresses(self.server.port, self.host), self.store.code)

    def close(self) -> None:
        """Stop everything, newest first. A second call does nothing."""
        while self._closing:
            try:
                self._closing.pop()()
            except Exception:
                log.exception("a part did not close")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.close()

    # -- eyes ------------------------------------------------------------------------------------------------

    def _start_eyes(self) -> None:
        """Camera, networks, referee; a fault in any of them is a sentence on the page."""
        try:
            self._connect_eyes()
        except Exception as error:
            log.exception("the eyes could not be started")
            sentence = f"The eyes could not be started ({type(error).__name__}: {error}); tap the faces in."
            self.table.show_status("camera", {"state": "broken", "sentence": sentence, "message": sentence})

    def _connect_eyes(self) -> None:
        from device.cameras import CameraKeeper, CameraSettings, open_camera
        from device.live import LiveView
        from device.loop import Loop
        from device.referee import Referee, TableDesk

        assert self.settings is not None
        camera_settings = CameraSettings.from_table(self.settings.extra.get("camera", {}))
        opener = (
            self.camera
            if callable(self.camera)
            else (lambda: open_camera(str(self.camera), settings=camera_settings, fps=self.fps))
        )
        self.keeper = CameraKeeper(opener)
        self.keeper.when_changed(lambda status: self.table.show_status("camera", with_message(status.to_json())))
        self.table.show_status("camera", with_message(self.keeper.status.to_json()))
        self.live = LiveView()
        self.referee = Referee(TableDesk(self.table), show=self.table.show_reading)
        self.loop = Loop(self.keeper, self._make_watcher, self.referee.handle, each_turn=self._turned, live=self.live)
        self._closing.append(self.loop.stop)
        self.loop.start()

    def _make_watcher(self) -> Any:
        from vision.watcher import Watcher

        try:
            reader = self.reader or self._load_reader()
        except Exception as error:
            self._tell_model(False, f"The networks cannot be loaded ({error}); tap the faces in.")
            raise
        self._tell_model(True, "The networks are loaded.")
        watcher = Watcher(reader)
        self.referee.attach(watcher)
        return watcher

    def _load_reader(self) -> Any:
        from vision.reader import Reader

        return Reader.load(self.models)

    def _tell_model(self, ok: bool, message: str) -> None:
        self._model = Check("model", ok, message)
        self.table.show_status("model", {"state": "ok" if ok else "missing", "message": "" if ok else message})

    def _turned(self) -> None:
        self.turns += 1
        self.referee.tick()

    def read_photo(self, data: bytes) -> Reading:
        """Read a picture that a phone took. Its networks are its own: the camera's are in use by the loop."""
        from device.photo import read_photo

        with self._photo_lock:
            if self._photo_reader is None:
                self._photo_reader = self.reader or self._load_reader()
            return read_photo(data, self._photo_reader)

    # -- panel -----------------------------------------------------------------------------------------------

    def _start_panel(self) -> None:
        if not self.panel_wanted:
            return
        assert self.settings is not None
        try:
            from device.panel import Panel, PanelSettings

            self.panel = Panel(self._pressed, settings=PanelSettings.from_settings(self.settings))
        except Exception as error:
            log.exception("the panel could not be started")
            message = f"button: not available ({type(error).__name__}: {error})"
            self.table.show_status(
                "panel", {"state": "none", "available": False, "sentence": message, "message": message}
            )
            return
        self._closing.append(self.panel.close)
        status = self.panel.status
        self.table.show_status(
            "panel", {"state": "ok" if status.available else "none", **status.to_json(), "message": status.sentence}
        )
        self.table.add_listener(self._light)
        self.panel.start()
        self._light(self.table.snapshot)

    def _pressed(self, press: Press) -> None:
        from device.panel import Sound

        orders: dict[str, Order] = {"end_raid": EndRaid(), "undo": Undo(), "next_card": NextCard()}
        assert self.panel is not None
        try:
            self.table.submit(orders[press.kind.value], id=press.id, source="button")
        except DeviceError as error:
            self.panel.sound(Sound.REFUSED)
            self.table.show_message(
                "refused", error.sentence, {"code": error.code, "args": error.details, "source": "button"}, level="info"
            )
            return
        self.panel.confirm()

    def _light(self, snapshot: Snapshot) -> None:
        from device.panel import Light

        if self.panel is None:
            return
        state = snapshot.state
        if state["store"].get("state") == "full" or state["camera"].get("state") in ("broken", "silent"):
            light = Light.ERROR
        elif state["status"] == "asking":
            light = Light.DOUBTFUL
        elif state["status"] == "announced" and any(q["kind"] == "bust" for q in state["questions"]):
            light = Light.BUST
        elif (state["reading"] or {}).get("phase") in ("moving", "settling", "hand"):
            light = Light.ROLLING
        else:
            light = Light.READY
        self.panel.show(light)

    # -- watching over it ------------------------------------------------------------------------------------

    def _start_watchdog(self) -> None:
        parts: dict[str, Callable[[], bool]] = {"table": lambda: bool(self.table.health()["alive"])}
        if self.loop is not None:
            parts["eyes"] = Progress(lambda: float(self.turns), patience=20.0)
        watchdog = Watchdog(parts)
        watchdog.start()
        self._closing.append(watchdog.close)

    def checks(self) -> list[dict[str, Any]]:
        """The status page's list."""
        found: list[Check] = [*quick_checks(self.data)]
        found += self._part_checks()
        found.append(check_power())
        return [check.to_json() for check in found]

    def _part_checks(self) -> Iterable[Check]:
        state = self.table.snapshot.state
        camera = state["camera"]
        off = camera.get("state") in ("off", "none", "missing", "ended")
        yield Check(
            "camera", camera.get("state") not in ("broken", "silent"), camera.get("message") or "running", stands_in=off
        )
        yield self._model
        panel = state["panel"]
        yield Check("pins", True, panel.get("message") or "not wanted", stands_in=panel.get("state") != "ok")
        yield Check(
            "store", state["store"]["state"] == "ok", state["store"]["message"] or f"games are kept in {self.data}"
        )
        if self.loop is not None:
            status = self.loop.status
            yield Check(
                "eyes",
                status.state.value != "failed",
                f"{status.sentence} {status.frames} frames looked at, "
                f"{status.dropped} skipped, the last took {1000 * status.last_look_s:.0f} ms.",
            )


def with_message(status: dict[str, Any]) -> dict[str, Any]:
    """A part's status as the state carries it: `message` is empty while all is well."""
    well = status.get("state") in ("streaming", "opening")
    return {**status, "name": status.get("description", ""), "message": "" if well else status.get("sentence", "")}


def uptime() -> Callable[[], float]:
    """Seconds since now."""
    began = time.monotonic()
    return lambda: time.monotonic() - began
