"""A disk that is really full: said, the last good state kept, and on it goes when there is room again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]

SCRIPT = """
import pathlib, sys, time
import device.table
from device.errors import StoreFull
from device.orders import EnterRaid, NewGame, Picture
from device.store import Store
from device.table import Table
from tests.device.table_helpers import PLAIN, Card

device.table.PROBE = 0.1
place = pathlib.Path(sys.argv[1])
with Store.open(place / "data") as store, Table(store) as table:
    table.submit(NewGame(("Anna", "Ben"), house_rules={"target": 1000000}))
    ballast = open(place / "ballast", "wb", buffering=0)
    try:
        while True:
            ballast.write(bytes(4096))
    except OSError:
        pass
    done, refused = 0, None
    for n in range(2000):
        try:
            table.submit(EnterRaid(Card.GOLD_COIN, PLAIN, pictures=(Picture(bytes(20000)),)))
            done += 1
        except StoreFull as error:
            refused = error
            break
    assert refused is not None and "nothing was changed" in str(refused), refused
    state = table.snapshot.state
    assert len(state["raids"]) == done, (len(state["raids"]), done)
    assert state["store"]["state"] == "full" and state["messages"], state["store"]
    ballast.close()
    (place / "ballast").unlink()
    end = time.monotonic() + 10
    while table.snapshot.state["store"]["state"] != "ok" and time.monotonic() < end:
        time.sleep(0.05)
    assert table.snapshot.state["messages"] == [], table.snapshot.state["messages"]
    table.submit(EnterRaid(Card.GOLD_COIN, PLAIN))
    before = table.snapshot.state["players"]
with Store.open(place / "data") as store, Table(store) as table:
    assert table.snapshot.state["players"] == before
    assert len(table.snapshot.state["raids"]) == done + 1
print("resumed after", done)
"""


def test_on_a_small_file_system(tmp_path: Path) -> None:
    """A file system of 2 MB in memory, in a mount namespace of its own."""
    mount = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=2m none "$0" && exec "$@"', str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let us mount a small file system (unshare -rm)")
    done = subprocess.run(
        [*mount, sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=PROJECT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("resumed after")
