"""The trees and the virtual machine that the machine tests run in; each test says why it skips where it cannot run."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
CACHE = Path(os.environ.get("AUSGUCK_MACHINE_CACHE", "/var/cache/ausguck-tests"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.machine)


def need_root() -> None:
    """Skip where chroots and mounts are not allowed."""
    if os.geteuid() != 0:
        pytest.skip("machine tests need root; .ci/run has it")


@functools.cache
def prepared(stage: str) -> str:
    """Build a stage with prepare.sh if need be (seconds when it is there); returns its complaint, or nothing."""
    if shutil.which("apt-get") is None:
        return "machine tests need a Debian machine (apt-get builds what they run in)"
    may_install = os.environ.get("CI") == "true" or (CACHE / stage).is_dir()
    if not may_install:
        return (
            f"not built here; run `tests/machine/prepare.sh` as root (it installs packages), or let CI do it ({stage})"
        )
    command = [str(HERE / "prepare.sh"), "packages", stage]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    return "" if done.returncode == 0 else f"prepare.sh {stage} failed: {done.stderr[-2000:]}"


def require(stage: str) -> Path:
    """The stage's folder. In CI a stage that cannot be built is a failure, elsewhere a reason to skip."""
    need_root()
    complaint = prepared(stage)
    if complaint and os.environ.get("CI") == "true":
        pytest.fail(complaint)
    if complaint:
        pytest.skip(complaint)
    return CACHE / stage


class Chroot:
    """The Debian 13 tree with libcamera and picamera2; the project lies read-only in /opt/project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._mounts: list[Path] = []

    def enter(self) -> None:
        self._mount("-t", "proc", "proc", "/proc")
        self._mount("--bind", "/dev", "/dev")
        self._mount("--bind", str(PROJECT), "/opt/project")

    def _mount(self, *words: str) -> None:
        target = self.root / words[-1].lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", *words[:-1], str(target)], check=True)
        self._mounts.append(target)

    def leave(self) -> None:
        for target in reversed(self._mounts):
            subprocess.run(["umount", "-l", str(target)], check=False)
        self._mounts.clear()

    def python(self, script: Path, *args: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a script of the project with the tree's Python."""
        inside = Path("/opt/project") / script.relative_to(PROJECT)
        environment = {
            "PATH": "/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "PYTHONPATH": "/opt/project",
            "PYTHONDONTWRITEBYTECODE": "1", "LIBCAMERA_LOG_LEVELS": "*:ERROR",
        }  # fmt: skip
        # Preloaded inside only: the host's chroot command has no business with it.
        command = ["/usr/bin/env", "LD_PRELOAD=/opt/fake_dma_heap.so", "/opt/venv/bin/python", str(inside), *args]
        return subprocess.run(
            [shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin") or "chroot", str(self.root), *command],
            env=environment, capture_output=True, text=True, timeout=timeout,
        )  # fmt: skip


@pytest.fixture(scope="session")
def chroot() -> Iterator[Chroot]:
    tree = Chroot(require("camera"))
    try:
        tree.enter()
        yield tree
    finally:
        tree.leave()
