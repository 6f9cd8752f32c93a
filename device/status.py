"""How this machine is, one line a check: for `ausguck selftest`, and for the status page.

Each check is a function that returns a `Check` and never raises. Whatever could take the process down (a network
compiled for another processor) runs in a process of its own.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from device.errors import DeviceError, StoreInUse
from device.store import Store

PROJECT = Path(__file__).resolve().parents[1]
MODELS = PROJECT / "models"
LEAST_FREE = 200 * 2**20
"""Bytes of disk below which the page warns."""
EARLIEST = datetime.date(2025, 1, 1)
"""A clock before this is not set: a Pi has no battery."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line."""

    name: str
    ok: bool
    message: str
    """A sentence: how it is, and if it is not well, what to do."""
    stands_in: bool = False
    """Not there, and something stands in for it (no camera: taps; no pins: the page's buttons). Not a failure."""

    def to_json(self) -> dict[str, Any]:
        """For `GET /api/status`."""
        return {"name": self.name, "ok": self.ok, "stands_in": self.stands_in, "message": self.message}

    @property
    def line(self) -> str:
        """As the self-test prints it."""
        word = "FAIL" if not self.ok else "none" if self.stands_in else "ok"
        return f"{word:<4}  {self.name:<9} {self.message}"


# -- what is installed ---------------------------------------------------------------------------------------

IMPORTS = ("numpy", "cv2", "ncnn", "flask", "flask_babel", "waitress", "gpiozero", "segno", "picamera2")
OPTIONAL = ("picamera2",)
_IMPORT_SCRIPT = """
import importlib, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
        found[name] = [True, str(getattr(module, "__version__", ""))]
    except ModuleNotFoundError as error:
        found[name] = [None if error.name == name else False, f"{type(error).__name__}: {error}"]
    except BaseException as error:
        found[name] = [False, f"{type(error).__name__}: {error}"]
    print(json.dumps({name: found[name]}), flush=True)
"""


def check_imports(names: Iterable[str] = IMPORTS, *, python: str = sys.executable) -> Check:
    """Import everything in one process, in this order, as the appliance does."""
    names = tuple(names)
    done = _python(python, _IMPORT_SCRIPT, *names)
    found: dict[str, list[Any]] = {}
    for line in done.stdout.splitlines():
        with_error = _json(line)
        found.update(with_error if isinstance(with_error, dict) else {})
    for name in names:
        if name not in found:
            return Check(
                "imports", False, f"import {name} ended the process ({_death(done)}): install the packages again"
            )
        good, text = found[name]
        if good is False:
            return Check("imports", False, f"import {name} failed ({text}): install the packages again, see deploy/")
        if good is None and name not in OPTIONAL:
            return Check("imports", False, f"{name} is not installed: run `make setup`, or deploy/install.sh")
    versions = ", ".join(f"{name} {found[name][1] or _version(name)}".strip() for name in names if found[name][0])
    absent = [name for name in names if found[name][0] is None]
    note = f"; without {', '.join(absent)}" if absent else ""
    return Check("imports", True, f"Python {platform.python_version()}, {versions}{note}")


def _version(name: str) -> str:
    try:
        return metadata.version(name.replace("_", "-"))
    except metadata.PackageNotFoundError:
        return ""


def _python(python: str, script: str, *args: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [python, "-c", script, *args], capture_output=True, text=True, timeout=timeout, cwd=PROJECT, check=False
        )
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(error.cmd, -signal.SIGALRM, "", "")
    except OSError as error:
        return subprocess.CompletedProcess([python], 127, "", str(error))


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _death(done: subprocess.CompletedProcess[str]) -> str:
    """Why a process ended, as a sentence's part."""
    if done.returncode == -signal.SIGILL:
        return "illegal instruction: it was built for a newer processor"
    if done.returncode == -signal.SIGALRM:
        return "it did not finish in time"
    if done.returncode < 0:
        return f"signal {signal.Signals(-done.returncode).name}"
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


# -- the networks --------------------------------------------------------------------------------------------

_MODEL_SCRIPT = """
import json, sys, time
import numpy as np
from pathlib import Path
from vision.reader import Reader
reader = Reader.load(Path(sys.argv[1]))
began = time.monotonic()
reader.read(np.full((480, 640, 3), 90, np.uint8))
print(json.dumps({"ms": 1000 * (time.monotonic() - began)}))
"""
_HASH = re.compile(r"\b[0-9a-f]{64}\b")


def check_model(models: Path = MODELS, *, python: str = sys.executable) -> Check:
    """Are the shipped networks whole (SHA-256 as their cards say), and do they run on this processor?"""
    complaint = check_hashes(models)
    if complaint:
        return Check("model", False, complaint)
    done = _python(python, _MODEL_SCRIPT, str(models))
    answer = _json(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else None
    if done.returncode != 0 or not isinstance(answer, dict):
        return Check(
            "model", False, f"the networks do not run here ({_death(done)}): tap the faces in until that is mended"
        )
    return Check("model", True, f"the networks run, one look took {answer['ms']:.0f} ms, files are as their cards say")


def check_hashes(models: Path = MODELS) -> str:
    """What is wrong with the weight files against the SHA-256 in the model cards; empty when nothing is."""
    files = sorted([*models.glob("*.bin"), *models.glob("*.param")])
    if not files:
        return f"there are no networks in {models}: reinstall, or tap the faces in"
    said = {h for card in models.glob("*.md") for h in _HASH.findall(card.read_text("utf-8"))}
    said |= {h for card in models.glob("*.json") for h in _HASH.findall(card.read_text("utf-8"))}
    for path in files:
        if hashlib.sha256(path.read_bytes()).hexdigest() not in said:
            return f"{path.name} is not the file that its model card describes (SHA-256 differs): reinstall"
    return ""


# -- what is plugged in --------------------------------------------------------------------------------------


def check_camera(spec: str = "auto", *, opener: Callable[[str], Any] | None = None) -> Check:
    """Open the camera and take one picture."""
    from device.cameras import CameraBroken, CameraError, CameraMissing, CameraOff, open_camera, wait_for_frame

    try:
        camera = (opener or open_camera)(spec)
    except CameraMissing as error:
        return Check("camera", spec == "auto", str(error), stands_in=spec == "auto")
    except CameraOff as error:
        return Check("camera", True, str(error), stands_in=True)
    except (CameraBroken, CameraError) as error:
        return Check("camera", False, str(error))
    except Exception as error:
        return Check("camera", False, f"{type(error).__name__}: {error}")
    try:
        if spec == "none":
            return Check("camera", True, camera.status.sentence, stands_in=True)
        frame = wait_for_frame(camera)
        height, width = frame.image.shape[:2]
        return Check("camera", True, f"{camera.description}, {width}×{height}")
    except Exception as error:
        return Check("camera", False, str(error) or type(error).__name__)
    finally:
        camera.close()


def check_pins() -> Check:
    """Buttons and lights."""
    try:
        from device.panel import Panel, gpio_complaint
    except Exception as error:
        return Check("pins", False, f"{type(error).__name__}: {error}")
    if complaint := gpio_complaint():
        return Check("pins", False, complaint)
    panel = Panel(lambda press: None)
    try:
        status = panel.status
    finally:
        panel.close()
    if status.available or not is_pi():
        sentence = status.sentence if status.available else f"{status.sentence}; the page has the buttons"
        return Check("pins", True, sentence, stands_in=not status.available)
    return Check("pins", False, f"{status.sentence}; the page has the buttons")


def is_pi(model_file: Path = Path("/proc/device-tree/model")) -> bool:
    """Is this a Raspberry Pi?"""
    try:
        return "Raspberry Pi" in model_file.read_text(errors="replace")
    except OSError:
        return False


# -- memory, disk, clock, power ------------------------------------------------------------------------------


def check_store(directory: Path) -> Check:
    """Write an operation into a store of its own on the same disk, and open the real one."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix="selftest-") as folder:
            with Store.open(Path(folder)) as store:
                game = store.begin_game("selftest", [{"op": {"kind": "selftest"}}])
            with Store.open(Path(folder)) as store:
                if len(store.operations(game)) != 1:
                    return Check(
                        "store", False, f"what was written to {directory} could not be read again: check the disk"
                    )
    except (DeviceError, OSError) as error:
        return Check("store", False, str(error))
    try:
        with Store.open(directory) as store:
            notes = " ".join(note.sentence for note in store.notes)
            return Check("store", True, f"{directory}: {len(store.games())} games. {notes}".strip())
    except StoreInUse:
        return Check("store", True, f"{directory}: in use by the running table")
    except DeviceError as error:
        return Check("store", False, str(error))


def check_disk(directory: Path) -> Check:
    """Room for games and pictures."""
    path = directory
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        free = shutil.disk_usage(path).free
    except OSError as error:
        return Check("disk", False, f"{directory}: {error.strerror}")
    text = f"{free / 2**20:,.0f} MB free at {directory}"
    return Check("disk", free >= LEAST_FREE, text if free >= LEAST_FREE else f"only {text}: free some space")


def check_clock(now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now().astimezone()) -> Check:
    """The wall clock labels the games; nothing is computed from it."""
    moment = now()
    text = moment.isoformat(sep=" ", timespec="minutes")
    if moment.date() < EARLIEST:
        return Check(
            "clock", False, f"the clock says {text}: set it, or connect to a network once (games carry its date)"
        )
    return Check("clock", True, text)


THROTTLED: tuple[tuple[int, str], ...] = (
    (0, "the power supply is too weak now (under-voltage)"),
    (1, "the processor is slowed down now"),
    (2, "the processor is throttled now"),
    (3, "the processor is hot now"),
    (16, "the power supply was too weak since the start"),
    (17, "the processor was slowed down since the start"),
    (18, "the processor was throttled since the start"),
    (19, "the processor was hot since the start"),
)
"""Bits of `vcgencmd get_throttled`."""
WEAK_SUPPLY = (1 << 0) | (1 << 16)


def read_throttled(command: str = "vcgencmd") -> int | None:
    """The throttled flags of a Pi; None elsewhere."""
    try:
        done = subprocess.run([command, "get_throttled"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"throttled=(0x[0-9a-fA-F]+)", done.stdout)
    return int(found[1], 16) if found else None


def check_power(read: Callable[[], int | None] = read_throttled) -> Check:
    """A weak supply makes a Pi slow for ever, or restarts it at the first look."""
    flags = read()
    if flags is None:
        return Check("power", True, "this machine does not tell (no vcgencmd)", stands_in=True)
    words = [text for bit, text in THROTTLED if flags >> bit & 1]
    if not words:
        return Check("power", True, "supply and temperature are fine")
    advice = ": use the official power supply" if flags & WEAK_SUPPLY else ": give it air"
    return Check("power", False, "; ".join(words) + advice)


class PowerWatch:
    """Looks at a Pi's power now and then, and puts up the yellow banner when the supply is too weak."""

    def __init__(self, table: Any, *, read: Callable[[], int | None] = read_throttled, every: float = 20.0) -> None:
        self._table, self._read, self._every = table, read, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="power", daemon=True)

    def start(self) -> None:
        """Look once at once, then regularly; on a machine that does not tell, only once."""
        if self.look():
            self._thread.start()

    def look(self) -> bool:
        """Tell the table how it is; False when this machine never tells."""
        flags = self._read()
        if flags is None:
            self._table.show_status("power", {"state": "unknown", "message": ""})
            return False
        check = check_power(lambda: flags)
        self._table.show_status(
            "power", {"state": "ok" if check.ok else "weak", "message": check.message, "flags": flags}
        )
        if flags & WEAK_SUPPLY:
            self._table.show_message(
                "power_weak",
                "The power supply is too weak: use the official one. The game is kept.",
                {"flags": flags},
                level="warning",
            )
        else:
            self._table.clear_message("power_weak")
        return True

    def _run(self) -> None:
        while not self._stop.wait(self._every):
            self.look()

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()


def all_checks(directory: Path, *, camera: str = "auto", models: Path = MODELS) -> Iterable[Check]:
    """The whole self-test, check by check."""
    yield check_imports()
    yield check_model(models)
    yield check_camera(camera)
    yield check_pins()
    yield check_store(directory)
    yield check_disk(directory)
    yield check_clock()
    yield check_power()


def quick_checks(directory: Path) -> list[Check]:
    """What the status page may ask at any time: nothing that opens a device or runs for long."""
    return [check_disk(directory), check_clock()]


def memory_mb() -> float:
    """Resident memory of this process, MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
