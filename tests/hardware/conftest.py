"""Tests for a real Raspberry Pi with camera and panel: `.venv/bin/pytest tests/hardware -s` on the Pi itself.

Some ask a person to do something (press a button, pull the cable); those need `AUSGUCK_HANDS=1`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def is_pi() -> bool:
    try:
        return "Raspberry Pi" in Path("/proc/device-tree/model").read_text(errors="replace")
    except OSError:
        return False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        if not is_pi():
            item.add_marker(pytest.mark.skip(reason="needs a Raspberry Pi with camera and panel"))
        elif item.get_closest_marker("hands") and os.environ.get("AUSGUCK_HANDS") != "1":
            item.add_marker(pytest.mark.skip(reason="asks a person to act; set AUSGUCK_HANDS=1"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "hands: asks a person to press or pull something")
