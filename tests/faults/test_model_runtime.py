"""Field faults D, 20 to 23: the model's run-time."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from device import status
from device.appliance import Appliance
from device.orders import NewGame
from vision.reader import Reader

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models"


def test_20_an_illegal_instruction_is_a_sentence(tmp_path: Path) -> None:
    """The networks run in a process of their own for the self-test; one that dies of SIGILL is told so."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nkill -{int(signal.SIGILL)} $$\n")
    python.chmod(0o755)
    checked = status.check_imports(("numpy", "ncnn"), python=str(python))
    assert not checked.ok
    assert "illegal instruction" in checked.message


def test_20_the_appliance_runs_on_taps_without_the_networks(tmp_path: Path) -> None:
    with Appliance(
        tmp_path / "data", camera="none", models=tmp_path, port=0, host="127.0.0.1", panel_wanted=False, quiet=True
    ) as running:
        running.table.submit(NewGame(("Anne", "Jack")), id="new", source="test")
        assert [one["name"] for one in running.table.snapshot.state["players"]] == ["Anne", "Jack"]


def test_21_the_shipped_files_are_those_of_the_model_cards() -> None:
    files = sorted([*MODELS.glob("*.bin"), *MODELS.glob("*.param")])
    if not files:
        pytest.skip("no networks are shipped yet")
    cards = "\n".join(card.read_text(encoding="utf-8") for card in MODELS.glob("*.md"))
    if not cards:
        pytest.skip("no model card is there yet")
    named = set(re.findall(r"\b[0-9a-f]{64}\b", cards))
    for file in files:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in named, f"{file.name} is not the one of its model card"


OFFLINE = """
import sys, time, numpy as np
began = time.monotonic()
from vision.reader import Reader
reader = Reader.load()
reader.read(np.full((720, 1280, 3), 90, np.uint8))
heavy = sorted(set(sys.modules) & {"torch", "ultralytics", "torchvision", "requests", "pip"})
print("FIRST", time.monotonic() - began, ",".join(heavy))
"""


def _networks() -> Any:
    try:
        return Reader.load()
    except Exception as error:
        pytest.skip(f"the networks are not there: {error}")


def test_22_the_first_look_needs_no_network() -> None:
    _networks()
    command = [sys.executable, "-c", OFFLINE]
    unshare = shutil.which("unshare", path="/usr/bin:/bin:/usr/sbin:/sbin")
    if unshare and os.geteuid() == 0:
        command = [unshare, "--net", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    _, seconds, heavy = done.stdout.splitlines()[-1].split(" ", 2)
    assert float(seconds) < 20
    assert not set(heavy.split(",")) & {"torch", "ultralytics", "torchvision", "pip"}


def test_22_no_name_is_ever_looked_up() -> None:
    """Not one attempt to reach anything: sockets of the internet are refused while the networks load and look."""
    _networks()
    guard = (
        "import socket, sys\n"
        "def hook(event, args):\n"
        "    if event in ('socket.getaddrinfo', 'socket.gethostbyname', 'socket.connect'):\n"
        "        raise SystemExit(f'reached out: {event} {args[1:]}')\n"
        "sys.addaudithook(hook)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", guard + OFFLINE], capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "reached out" not in done.stderr


class _Told:
    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}
        self.messages: dict[str, tuple[str, str]] = {}

    def show_status(self, part: str, status: dict[str, Any]) -> None:
        self.parts[part] = status

    def show_message(self, code: str, sentence: str, args: Any = None, *, level: str = "warning") -> None:
        self.messages[code] = (sentence, level)

    def clear_message(self, code: str) -> None:
        self.messages.pop(code, None)


def test_23_a_weak_power_supply_is_a_yellow_banner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "vcgencmd"
    fake.write_text("#!/bin/sh\necho throttled=0x50005\n")
    fake.chmod(0o755)
    flags = status.read_throttled(str(fake))
    assert flags == 0x50005
    told = _Told()
    watch = status.PowerWatch(told, read=lambda: flags)
    assert watch.look()
    sentence, level = told.messages["power_weak"]
    assert "power supply is too weak" in sentence
    assert level == "warning"
    assert not status.check_power(lambda: flags).ok
    assert status.PowerWatch(told, read=lambda: 0).look()
    assert told.messages == {}
