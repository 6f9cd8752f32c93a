"""Field faults F (33 is in `tests/device/test_store.py`), and 20, 22, 23 as far as the appliance is concerned."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from device import status
from device.orders import CorrectDie, CorrectRaid, DrawCard, EndRaid, EnterRaid, NewGame, Redo, Roll, Undo
from device.settings import Settings
from device.store import Store
from device.table import Table
from scorer.cards import Card
from scorer.faces import Face
from tests.device.conftest import folder, store, table
from tests.device.table_helpers import PLAIN, C, begin, raid

__all__ = ["folder", "store", "table"]
PROJECT = Path(__file__).resolve().parents[2]


def state(table: Table) -> dict[str, Any]:
    return table.snapshot.to_json()


def winning(table: Table) -> None:
    """Anna reaches the target, Ben has his last raid: the game is over."""
    begin(table, "Anna", "Ben", target=600)
    table.submit(EnterRaid(Card.GOLD_COIN, PLAIN))
    table.submit(EnterRaid(Card.GOLD_COIN, (Face.MONKEY,) * 2 + (Face.PARROT,) * 2 + (Face.SABERS,) * 2 + (C, C)))


def test_34_undo_after_the_end_opens_the_game_again(table: Table) -> None:
    winning(table)
    assert state(table)["status"] == "finished"
    assert state(table)["winners"] == [0]
    table.submit(Undo())
    assert state(table)["status"] == "waiting"
    assert state(table)["winners"] == []
    assert state(table)["last_round"]["left"] == [1]
    table.submit(Redo())
    assert state(table)["status"] == "finished"


def test_34_a_corrected_raid_gives_the_pad_of_a_game_in_which_it_was_so(folder: Path) -> None:
    rng = random.Random(11)
    turns = [(rng.choice(list(Card)), tuple(rng.choices(list(Face), k=8))) for _ in range(12)]
    changed = (Card.PIRATE, PLAIN)
    for k in (0, 5, 11):
        pads = []
        for name, played in (("a", turns), ("b", [*turns[:k], changed, *turns[k + 1 :]])):
            with Store.open(folder / f"{name}{k}") as store, Table(store, settings=Settings(grace=60)) as table:
                table.submit(NewGame(("Anna", "Ben", "Cem"), house_rules={"target": 100_000}))
                for card, faces in played:
                    table.submit(EnterRaid(card, faces))
                if name == "a":
                    table.submit(CorrectRaid(k, *changed))
                now = state(table)
                pads.append([now["players"], [(r["total"], r["others"], r["totals"]) for r in now["raids"]]])
        assert pads[0] == pads[1]


def test_35_a_correction_is_told_as_one_new_total(table: Table) -> None:
    begin(table)
    table.submit(DrawCard(Card.GOLD_COIN))
    table.submit(Roll(PLAIN))
    told: list[int] = []
    table.add_listener(lambda snapshot: told.append(snapshot.state["raid"]["worth_now"]["total"]))
    table.submit(CorrectDie(0, Face.DIAMOND))
    assert len(told) == 1


def test_35_clearing_the_table_starts_nothing(table: Table) -> None:
    begin(table)
    raid(table)
    for phase in ("hand", "taken_away", "empty", "moving", "empty"):
        table.show_reading({"phase": phase, "dice": []})
    table.wait(table.snapshot.version, 0.5)
    now = state(table)
    assert (now["turn"], now["raid"], len(now["raids"])) == (1, None, 1)


class TestRunTime:
    def test_20_an_illegal_instruction_is_a_sentence(self, tmp_path: Path) -> None:
        python = tmp_path / "python"
        python.write_text("#!/bin/sh\nkill -ILL $$\n")
        python.chmod(0o755)
        (tmp_path / "net.bin").write_bytes(b"weights")
        (tmp_path / "net.md").write_text(status.hashlib.sha256(b"weights").hexdigest())
        check = status.check_model(tmp_path, python=str(python))
        assert not check.ok
        assert "built for a newer processor" in check.message
        assert "tap the faces in" in check.message

    def test_21_weights_that_are_not_those_of_the_card(self, tmp_path: Path) -> None:
        (tmp_path / "net.bin").write_bytes(b"other")
        (tmp_path / "net.md").write_text("SHA-256 " + "0" * 64)
        assert "net.bin is not the file that its model card describes" in status.check_model(tmp_path).message

    def test_2_an_import_that_fails_is_quoted(self, tmp_path: Path) -> None:
        (tmp_path / "picamera2.py").write_text("raise ValueError('numpy.dtype size changed')")
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        check = status.check_imports(("json", "picamera2"), python=str(python))
        assert not check.ok
        assert "numpy.dtype size changed" in check.message

    @pytest.mark.parametrize(
        ("flags", "ok", "word"),
        [
            (0x0, True, "fine"),
            (0x50005, False, "too weak now"),
            (0x10000, False, "since the start"),
            (0x8, False, "hot"),
        ],
    )
    def test_23_the_power_supply(self, flags: int, ok: bool, word: str) -> None:
        check = status.check_power(lambda: flags)
        assert check.ok is ok
        assert word in check.message

    def test_23_vcgencmd_is_asked(self, tmp_path: Path) -> None:
        tool = tmp_path / "vcgencmd"
        tool.write_text("#!/bin/sh\necho throttled=0x50005\n")
        tool.chmod(0o755)
        assert status.read_throttled(str(tool)) == 0x50005
        assert status.read_throttled(str(tmp_path / "missing")) is None

    def test_23_a_banner_and_the_game_is_kept(self, table: Table) -> None:
        begin(table)
        flags = [0x50005]
        watch = status.PowerWatch(table, read=lambda: flags[0])
        assert watch.look()
        version = table.snapshot.version
        now = table.wait(version, 1.0).state if not state(table)["messages"] else state(table)
        assert now["messages"][0]["code"] == "power_weak"
        assert now["status"] == "waiting"
        flags[0] = 0
        watch.look()
        table.wait(table.snapshot.version, 1.0)
        assert state(table)["messages"] == []

    def test_22_nothing_is_asked_of_the_internet(self, folder: Path) -> None:
        """A whole start in a network of its own: no name is looked up, nothing hangs."""
        if shutil.which("unshare") is None or subprocess.run(["unshare", "-rn", "true"], check=False).returncode:
            pytest.skip("this machine does not let us make a network of our own (unshare -rn)")
        script = (
            "import pathlib, socket, sys, time\n"
            "asked = []\n"
            "real = socket.getaddrinfo\n"
            "def watch(host, *rest, **more):\n    asked.append(host); return real(host, *rest, **more)\n"
            "socket.getaddrinfo = watch\n"
            "from device.appliance import Appliance\n"
            "began = time.monotonic()\n"
            "with Appliance(pathlib.Path(sys.argv[1]), camera='none', host='127.0.0.1', port=0, quiet=True) as a:\n"
            "    a.table.snapshot\n"
            "print(time.monotonic() - began, [h for h in asked if str(h).strip('.0123456789')])\n"
        )
        done = subprocess.run(
            ["unshare", "-rn", sys.executable, "-c", script, str(folder)],
            capture_output=True,
            text=True,
            timeout=90,
            cwd=PROJECT,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        seconds, asked = done.stdout.split(maxsplit=1)
        assert float(seconds) < 20
        assert asked.strip() == "[]"


def test_selftest_is_a_line_a_check(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "device.cli", "selftest", "--camera", "none", "--data", str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=PROJECT,
        check=False,
    )
    names = [line.split()[1] for line in done.stdout.splitlines()]
    assert names == ["imports", "model", "camera", "pins", "store", "disk", "clock", "power"]
    assert done.returncode == int("FAIL" in done.stdout)


def test_end_raid_twice_is_refused_with_a_reason(table: Table) -> None:
    """Field fault 16: the second press, with no new roll, is refused in words."""
    begin(table)
    table.submit(DrawCard(Card.GOLD_COIN))
    table.submit(Roll(PLAIN))
    table.submit(EndRaid(), source="button")
    with pytest.raises(Exception, match="Nobody is on a raid"):
        table.submit(EndRaid(), source="button")
