"""`kill -9` at random moments: nothing acknowledged is ever lost, nothing is done twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from device.pad import Pad
from device.store import Store

KILLS = 200
BUDGET = 60.0
"""Seconds; a slow machine does fewer kills rather than hold everybody up, but never fewer than 50."""


@pytest.mark.slow
def test_killed_at_random_moments(folder: Path) -> None:
    rng = random.Random(4)
    acknowledged: list[str] = []
    script = Path(__file__).with_name("killed_player.py")
    began, kills, deaths_at_work = time.monotonic(), 0, 0
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=script.parents[2]
    ) as player:
        assert player.stdin is not None
        assert player.stdout is not None
        while kills < KILLS and (kills < 50 or time.monotonic() - began < BUDGET):
            player.stdin.write(f"{folder}\n")
            player.stdin.flush()
            pid, patience = 0, rng.choice((0, 0, rng.randrange(1, 12), rng.randrange(1, 40)))
            for line in player.stdout:
                word, _, value = line.strip().partition(" ")
                if word == "pid":
                    pid = int(value)
                elif word == "done":
                    acknowledged.append(value)
                    patience -= 1
                elif word == "dead":
                    break
                if pid and patience <= 0:
                    time.sleep(rng.random() * 0.004)
                    os.kill(pid, signal.SIGKILL)
                    deaths_at_work += word == "done"
                    pid = 0
            kills += 1
        player.stdin.close()
    assert deaths_at_work > kills // 4, "most tables should die at work"
    with Store.open(folder) as store:
        stored = store.operations(1)
        commands = [operation.command for operation in stored]
        assert set(acknowledged) <= set(commands), "an acknowledged command was lost"
        assert len(commands) == len(set(commands)), "a command was done twice"
        assert [operation.seq for operation in stored] == list(range(len(stored)))
        pad, broken = Pad.replay(stored)
        assert broken is None
        assert pad is not None
    print(f"{kills} kills, {deaths_at_work} at work, {len(acknowledged)} commands acknowledged, {len(stored)} stored")
