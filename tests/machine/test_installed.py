"""The installer really run in a Debian 13 tree, and the service really booted there under systemd, sandbox and all.

Not here: Raspberry Pi OS's own packages (picamera2, lgpio through apt), its kernel, its Wi-Fi.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import CACHE, PROJECT, require
from .installed_inside import PORT

pytestmark = pytest.mark.slow

CHECK_UNIT = """
[Unit]
After=ausguck.service
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /check.py
ExecStopPost=/usr/bin/systemctl --no-block poweroff
TimeoutStartSec=400
[Install]
WantedBy=multi-user.target
"""


def sh(*words: str, timeout: float = 60, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
    }
    return subprocess.run(
        words, capture_output=True, text=True, timeout=timeout, env=environment, errors="replace", **options
    )


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    """A throw-away copy of the Debian 13 tree: an overlay, so that the kept one stays as it is."""
    lower = require("camera")
    if shutil.which("systemd-nspawn") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("systemd-nspawn is missing; tests/machine/prepare.sh packages installs systemd-container")
        pytest.skip("systemd-nspawn is not installed; tests/machine/prepare.sh packages brings it")
    work = Path(tempfile.mkdtemp(prefix="installed-", dir=CACHE))
    for name in ("upper", "work", "root"):
        (work / name).mkdir()
    root = work / "root"
    options = f"lowerdir={lower},upperdir={work / 'upper'},workdir={work / 'work'}"
    done = sh("mount", "-t", "overlay", "overlay", "-o", options, str(root))
    if done.returncode:
        shutil.rmtree(work)
        pytest.skip(f"no overlay file system here: {done.stderr.strip()}")
    try:
        yield root
    finally:
        for name in ("proc", "dev", "opt/project"):
            sh("umount", "-l", str(root / name))
        sh("umount", "-l", str(root))
        shutil.rmtree(work, ignore_errors=True)


@pytest.fixture(scope="module")
def installed(tree: Path) -> subprocess.CompletedProcess[str]:
    (tree / "opt" / "project").mkdir(exist_ok=True)
    sh("mount", "-t", "proc", "proc", str(tree / "proc"))
    sh("mount", "--bind", "/dev", str(tree / "dev"))
    sh("mount", "--bind", "-o", "ro", str(PROJECT), str(tree / "opt" / "project"))
    done = sh("chroot", str(tree), "/opt/project/deploy/install.sh", "--port", str(PORT), timeout=900)
    for name in ("opt/project", "dev", "proc"):
        sh("umount", "-l", str(tree / name))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done


def test_installer_brings_packages_that_fit_together(installed: subprocess.CompletedProcess[str]) -> None:
    assert "numpy, cv2, gpiozero, flask, ncnn fit together in 10 orders" in installed.stdout
    assert "no picamera2 in this system's packages; a USB webcam will do" in installed.stderr


def test_numpy_stays_the_systems(installed: subprocess.CompletedProcess[str], tree: Path) -> None:
    site = next((tree / "opt/ausguck/venv/lib").glob("python3*/site-packages"))
    assert not (site / "numpy").exists()
    assert (site / "cv2").exists()
    assert (tree / "opt/ausguck/constraints.txt").read_text().startswith("numpy==")


def test_wi_fi_and_user(installed: subprocess.CompletedProcess[str], tree: Path) -> None:
    assert "wifi.powersave = 2" in (tree / "etc/NetworkManager/conf.d/ausguck-wifi.conf").read_text()
    assert any(line.startswith("ausguck:") for line in (tree / "etc/passwd").read_text().splitlines())
    groups = (tree / "etc/group").read_text().splitlines()
    assert any(line.startswith("video:") and "ausguck" in line for line in groups)


CLIP_SCRIPT = """
import cv2, numpy as np, tempfile, time
from device.cameras import ClipCamera, CameraError, open_camera
from device.cameras.opencv import say_less
from device.live import evidence_jpeg
say_less()
with tempfile.TemporaryDirectory() as folder:
    writer = cv2.VideoWriter(f"{folder}/c.mp4", cv2.VideoWriter.fourcc(*"mp4v"), 10, (64, 48))
    for level in range(12):
        writer.write(np.full((48, 64, 3), level * 20, np.uint8))
    writer.release()
    frames = list(ClipCamera(f"{folder}/c.mp4", paced=False).frames())
    assert len(evidence_jpeg(frames[-1])) > 100
try:
    open_camera("http://127.0.0.1:9/x")
except CameraError as error:
    print(cv2.__version__, np.__version__, len(frames), error.code)
"""


def test_our_camera_code_runs_with_the_pinned_opencv(installed: subprocess.CompletedProcess[str], tree: Path) -> None:
    done = sh("chroot", str(tree), "/opt/ausguck/venv/bin/python", "-c", CLIP_SCRIPT)
    assert done.stdout.split()[2:] == ["12", "camera_missing"], done.stderr[-1500:]
    assert done.stdout.split()[0].startswith("4.12")


@pytest.fixture(scope="module")
def booted(installed: subprocess.CompletedProcess[str], tree: Path) -> dict[str, Any]:
    shutil.copy(Path(__file__).with_name("installed_inside.py"), tree / "check.py")
    units = tree / "etc/systemd/system"
    (units / "ausguck-check.service").write_text(CHECK_UNIT)
    (units / "multi-user.target.wants").mkdir(exist_ok=True)
    (units / "multi-user.target.wants/ausguck-check.service").symlink_to("/etc/systemd/system/ausguck-check.service")
    (units / "ausguck.service.d").mkdir(exist_ok=True)
    # Half a minute is for a busy Pi; here nobody need wait so long.
    (units / "ausguck.service.d/quick.conf").write_text("[Service]\nWatchdogSec=9\n")
    done = sh(
        "systemd-nspawn", "-D", str(tree), "--boot", "--register=no", "--keep-unit", "--console=pipe",
        "--private-network", "systemd.mask=systemd-logind.service", timeout=450, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    result = tree / "result.json"
    assert result.exists(), done.stdout[-3000:] + done.stderr[-1000:]
    found: dict[str, Any] = json.loads(result.read_text())
    assert "error" not in found, found["error"] + found["journal"]
    return found


def test_service_comes_up_and_the_page_answers(booted: dict[str, Any]) -> None:
    assert booted["up_after_s"] >= 0
    assert booted["unit"]["SubState"] == "running"
    assert booted["state"]["store"]["state"] == "ok"
    assert booted["state"]["panel"]["sentence"].startswith("button: not available (")
    assert "picamera2 is not installed" in booted["state"]["camera"]["message"]


def test_service_is_shut_in(booted: dict[str, Any]) -> None:
    process = booted["process"]
    assert process["Uid"].split()[0] != "0"
    assert (process["NoNewPrivs"], process["Seccomp"]) == ("1", "2")
    assert int(process["CapEff"], 16) == 0
    assert booted["data"]
    assert not booted["others_may_read_the_games"]


def test_killed_or_hanging_it_is_started_again(booted: dict[str, Any]) -> None:
    assert 0 <= booted["up_after_kill_s"] < 15
    assert 0 <= booted["up_after_hang_s"] < 40
    assert booted["restarts"] == 2
    assert booted["answers_after"]


def test_it_stops_in_time_and_by_itself(booted: dict[str, Any]) -> None:
    assert booted["stops_in_s"] < 12
    assert booted["ended"]["ActiveState"] == "inactive", "it had to be killed"
