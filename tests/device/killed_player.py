"""A table that plays until it is killed. Started by `test_kill.py`; forks one table after another, each killed by
its parent.

Standard input: a line a round, `FOLDER`. Standard output: `pid` of the fork, then `done ID` for each acknowledged
command.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from device.orders import NewGame, RenamePlayer, Undo
from device.settings import Settings
from device.store import Store
from device.table import Table


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def play(folder: Path) -> None:
    """Commands with ids that follow on from what is in the store; each is said when it is acknowledged."""
    with Store.open(folder) as store, Table(store, settings=Settings(grace=60)) as table:
        if table.snapshot.pad is None:
            table.submit(NewGame(("Anna", "Ben")), id="begin-0000")
            say("done begin-0000")
        n = len(store.operations(1))
        say("ready")
        while True:
            name = f"command-{n:06d}"
            order = Undo() if n % 7 == 3 else RenamePlayer(n % 2, f"name {n}")
            table.submit(order, id=name)
            say(f"done {name}")
            n += 1


def main() -> None:
    """Fork a table for each line."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                play(Path(line.strip()))
            finally:
                os._exit(1)
        say(f"pid {child}")
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
