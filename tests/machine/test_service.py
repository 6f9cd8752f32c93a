"""The service's unit and the installer, as far as they can be judged without a Pi."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import PROJECT

DEPLOY = PROJECT / "deploy"
MOST_EXPOSED = 2.5


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, with a program in its ExecStart that exists here (verify looks for it)."""
    if shutil.which("systemd-analyze") is None:
        if os.environ.get("CI") == "true" and os.geteuid() == 0:
            pytest.fail("systemd-analyze is missing; tests/machine/prepare.sh packages installs it")
        pytest.skip("systemd-analyze is not installed here")
    text = (DEPLOY / "ausguck.service").read_text(encoding="utf-8")
    assert "ExecStart=/opt/ausguck/venv/bin/ausguck run" in text
    copy = tmp_path / "ausguck.service"
    copy.write_text(text.replace("/opt/ausguck/venv/bin/ausguck", sys.executable), encoding="utf-8")
    return copy


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SYSTEMD_COLORS": "0", "COLUMNS": "200"}
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, env=environment, timeout=60)


def test_verify_is_silent(unit: Path) -> None:
    done = analyze("verify", str(unit))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


def test_verify_would_have_spoken(unit: Path) -> None:
    unit.write_text(unit.read_text().replace("Type=notify", "Type=notifyy"))
    assert "notifyy" in analyze("verify", str(unit)).stderr


def test_exposure_is_small(unit: Path) -> None:
    done = analyze("security", "--offline=true", str(unit))
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= MOST_EXPOSED


def test_unit_keeps_what_the_appliance_needs() -> None:
    text = (DEPLOY / "ausguck.service").read_text(encoding="utf-8")
    for line in (
        "Type=notify",
        "WatchdogSec=30",
        "SupplementaryGroups=video gpio",
        "StateDirectory=ausguck",
        "WorkingDirectory=/run/ausguck",
        "DeviceAllow=char-video4linux rw",
        "DeviceAllow=char-media rw",
        "DeviceAllow=char-dma_heap rw",
        "DeviceAllow=char-gpiochip rw",
    ):
        assert line in text.splitlines()
    assert "LG_WD=/run/ausguck" in text, "lgpio dies without a folder to write to"
    assert "ProcSubset=pid" not in [line.strip() for line in text.splitlines()], "hides which Pi this is"


def dry_run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(DEPLOY / "install.sh"), "--dry-run", *words], capture_output=True, text=True, timeout=60)


def test_dry_run_prints_each_step_and_changes_nothing() -> None:
    before = sorted(str(path) for folder in ("/opt", "/etc/systemd/system") for path in Path(folder).iterdir())
    done = dry_run()
    assert done.returncode == 0, done.stderr
    for word in (
        "apt-get install -y -q --no-install-recommends python3-venv python3-numpy python3-picamera2",
        "useradd --system",
        "usermod --append --groups video ausguck",
        "venv --system-site-packages /opt/ausguck/venv",
        "--only-binary=:all: --constraint /opt/ausguck/constraints.txt",
        "check_imports.py",
        "power_save off",
        "write /etc/systemd/system/ausguck.service",
        "systemctl enable ausguck.service",
    ):
        assert word in done.stdout
    assert sorted(str(path) for folder in ("/opt", "/etc/systemd/system") for path in Path(folder).iterdir()) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--port", "80"), "expected a port from 1024 to 65535, got 80"),
        (("--port", "x1"), "expected a port number after --port, got 'x1'"),
        (("--fast",), "unknown option '--fast'; expected --dry-run, --port N or --no-start"),
    ],
)
def test_bad_options_are_a_sentence(words: tuple[str, ...], sentence: str) -> None:
    done = dry_run(*words)
    assert (done.returncode, done.stderr) == (2, f"install: {sentence}\n")


def test_shell_scripts_are_sound() -> None:
    for script in (DEPLOY / "install.sh", PROJECT / "tests" / "machine" / "prepare.sh"):
        assert subprocess.run(["bash", "-n", str(script)], capture_output=True).returncode == 0
        assert os.access(script, os.X_OK)


def test_lgpio_and_numpy_come_from_the_system() -> None:
    lines = (DEPLOY / "requirements-pi.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.split("==")[0] for line in lines if line and not line.startswith("#")}
    assert not pinned & {"lgpio", "numpy", "picamera2", "rpi-lgpio"}
    assert all("==" in line for line in lines if line and not line.startswith("#"))


def load_check_imports():
    spec = importlib.util.spec_from_file_location("check_imports", DEPLOY / "check_imports.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_imports_are_tried_in_every_order() -> None:
    module = load_check_imports()
    orders = list(module.orders(("a", "b", "c", "d")))
    assert {order[0] for order in orders} == {"a", "b", "c", "d"}
    pairs = {(x, y) for order in orders for i, x in enumerate(order) for y in order[i + 1 :]}
    assert pairs == {(x, y) for x in "abcd" for y in "abcd" if x != y}


def test_a_package_that_does_not_fit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "misfit.py").write_text(
        "raise ValueError('numpy.dtype size changed, may indicate binary incompatibility')"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert load_check_imports().complaint(["json", "misfit"]).startswith("ValueError: numpy.dtype size changed")
    assert load_check_imports().complaint(["json", "re"]) == ""


@pytest.mark.slow
def test_every_pinned_package_has_a_wheel_for_the_pi() -> None:
    """Asks the package index whether a Pi with Debian 13 gets them all, with its own numpy kept."""
    platforms = [f"manylinux_2_{n}_aarch64" for n in (17, 24, 28, 31, 34)] + ["manylinux2014_aarch64"]
    command = [
        sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--only-binary=:all:",
        "--python-version", "3.13", "--implementation", "cp", "--abi", "cp313", "--abi", "abi3", "--abi", "none",
        *(word for name in platforms for word in ("--platform", name)),
        "--target", "/nonexistent", "--requirement", str(DEPLOY / "requirements-pi.txt"), "numpy==2.2.4",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if "Temporary failure in name resolution" in done.stderr or "NewConnectionError" in done.stderr:
        pytest.skip("no package index can be reached from here")
    assert done.returncode == 0, done.stderr[-1500:]
