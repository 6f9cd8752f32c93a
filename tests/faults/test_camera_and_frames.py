"""Field faults A, 1 to 9: camera and frames. Those that need a Pi are in tests/hardware."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

from device.appliance import Appliance
from device.backoff import Backoff
from device.bench_loop import memory_flat
from device.cameras import (
    CameraBroken,
    CameraKeeper,
    CameraSettings,
    CameraState,
    PiCamera,
    choose,
    open_camera,
    picamera,
)
from device.cameras.keeper import CHECK_CABLE
from device.loop import Loop
from device.orders import NewGame
from device.status import check_camera
from tests.device.doubles import FakeCamera, FakePicamera2, FakeWatcher
from tests.device.test_bench_loop import QuickReader, table_top
from vision.reader import Reader
from vision.watcher import Watcher

ROOT = Path(__file__).parents[2]


def soon(is_so: Any, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.005)
    return bool(is_so())


def test_1_the_picture_is_not_older_than_the_question() -> None:
    device = FakePicamera2(stale_s=0.7)  # always hands out the previous frame first
    with PiCamera(open_device=lambda number: device) as camera:
        for _ in range(50):
            pressed = time.monotonic()
            assert camera.latest(after=pressed).t >= pressed
    assert device.held == 0


@pytest.fixture
def misfit(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """picamera2's import fails as it does beside another numpy."""
    sentence = "numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88"

    def refuse(name: str, package: str | None = None) -> Any:
        raise ValueError(sentence)

    picamera.forget_import()
    monkeypatch.setattr(picamera, "importlib", SimpleNamespace(import_module=refuse))
    monkeypatch.setattr(choose, "list_webcams", lambda: {})
    yield sentence
    picamera.forget_import()


def test_2_3_an_import_that_fails_is_told_in_its_own_words(misfit: str) -> None:
    keeper = CameraKeeper(lambda: open_camera("auto"))
    keeper.start()
    assert soon(lambda: keeper.status.state is CameraState.BROKEN, 5)
    assert misfit in keeper.status.sentence
    assert "no camera" not in keeper.status.sentence.lower()
    keeper.stop()


def test_3_the_status_page_says_it_and_the_self_test_fails(misfit: str, tmp_path: Path) -> None:
    check = check_camera("auto")
    assert not check.ok
    assert misfit in check.message
    with Appliance(tmp_path, port=0, host="127.0.0.1", panel_wanted=False, quiet=True) as running:
        assert soon(lambda: misfit in running.table.snapshot.state["camera"].get("message", ""), 5)
        assert any(misfit in one["message"] and not one["ok"] for one in running.checks())


def test_4_a_constructor_that_raises_leaves_everything_else_alive(tmp_path: Path) -> None:
    tried = [0]

    def refuse() -> FakeCamera:
        tried[0] += 1
        raise CameraBroken("picamera2 failed while opening the camera: AttributeError: 'Camera' has no attribute 'x'.")

    began = time.monotonic()
    with Appliance(tmp_path, camera=refuse, port=0, host="127.0.0.1", panel_wanted=False, quiet=True) as running:
        assert soon(lambda: "has no attribute" in running.table.snapshot.state["camera"].get("message", ""), 5)
        assert time.monotonic() - began < 5
        running.table.submit(NewGame(("Anne", "Jack")), id="new", source="test")
        assert len(running.table.snapshot.state["players"]) == 2
        time.sleep(2.0)
    assert tried[0] <= 5, "a restart storm"


def test_5_a_camera_that_falls_silent_is_replaced_within_ten_seconds() -> None:
    cameras: list[FakeCamera] = []

    def opened() -> FakeCamera:
        cameras.append(FakeCamera(fps=200, hang_after=100 if not cameras else None, deaf=True))
        return cameras[-1]

    keeper = CameraKeeper(opened)  # with the patience that ships
    loop = Loop(keeper, FakeWatcher, lambda event, frame: None)
    loop.start()
    assert soon(lambda: len(cameras) == 1 and cameras[0]._number >= 100)
    hung = time.monotonic()
    assert soon(lambda: keeper.status.sentence == CHECK_CABLE, 10.0)
    assert soon(lambda: len(cameras) == 2 and keeper.status.state is CameraState.STREAMING, 10.5)
    assert time.monotonic() - hung < 10.5
    loop.stop()
    cameras[0].released.set()


def test_5_at_most_five_restarts_a_minute_then_it_is_left_alone() -> None:
    backoff, now, starts = Backoff(), 0.0, []
    for _ in range(20):
        now += 0.05 + backoff.failed(now)  # every camera dies at once
        starts.append(now)
    for begin in starts:
        assert sum(1 for at in starts if begin <= at < begin + 60) <= 6
    assert max(np.diff(starts)) >= 300


def test_6_the_camera_is_made_in_one_place() -> None:
    hits = [
        f"{path.relative_to(ROOT)}"
        for room in ("scorer", "vision", "device", "datasets")
        for path in (ROOT / room).rglob("*.py")
        if "Picamera2(" in path.read_text(encoding="utf-8")
    ]
    assert hits == ["device/cameras/picamera.py"]


def test_6_a_busy_camera_is_said_and_tried_again() -> None:
    tried = [0]

    def device(number: int) -> FakePicamera2:
        tried[0] += 1
        if tried[0] < 3:
            raise RuntimeError("Failed to acquire camera: Device or resource busy")
        return FakePicamera2()

    keeper = CameraKeeper(lambda: PiCamera(open_device=device), backoff=Backoff(first=0.2))
    keeper.start()
    assert soon(lambda: "Another program has the camera." in keeper.status.sentence, 5)
    assert soon(lambda: keeper.status.state is CameraState.STREAMING, 5)
    keeper.stop()


def test_7_no_more_than_two_frames_and_one_buffer_are_ever_held() -> None:
    device = FakePicamera2(stale_s=0.0)  # refuses when its four buffers are out
    keeper = CameraKeeper(lambda: PiCamera(open_device=lambda number: device))
    loop = Loop(keeper, lambda: FakeWatcher(takes=0.002), lambda event, frame: None)
    loop.start()
    assert soon(lambda: loop.status.frames > 300, 20)
    loop.stop()
    assert device.most_held == 1
    assert device.held == 0


@pytest.mark.slow
def test_7_memory_stays_flat_over_twenty_thousand_frames() -> None:
    """Through the real keeper, loop and watcher; every 500th frame moves. Only the networks are a double."""
    picture_of_dice = cv2.resize(table_top(), (320, 180))
    figures = memory_flat(lambda: Watcher(QuickReader()), picture_of_dice)
    assert figures["rss_frames"] >= 20_000, figures
    assert figures["rss_restarts"] == 0
    assert figures["rss_growth_mb"] < 20


def test_8_focus_stands_still() -> None:
    device = FakePicamera2()
    with PiCamera(open_device=lambda number: device, settings=CameraSettings(lens_position=2.0)) as camera:
        for _ in range(500):
            camera.latest()
    assert device.configuration["controls"]["LensPosition"] == 2.0
    assert not [one for one in device.set_calls if "LensPosition" in one or "AfMode" in one]


def test_9_exposure_and_white_balance_are_held_while_a_hand_comes_and_goes() -> None:
    now = [100.0]
    device = FakePicamera2(stale_s=0.0, clock=lambda: now[0])
    camera = PiCamera(open_device=lambda number: device, clock=lambda: now[0])
    for number in range(600):
        now[0] += 1 / 15
        device.level = 40 if 200 <= number % 300 < 240 else 100  # almost three seconds of a dark sleeve
        camera.latest()
    assert [one["AeEnable"] for one in device.set_calls] == [False]
    camera.close()


def test_9_flicker_of_the_lamp_is_named_to_the_camera() -> None:
    device = FakePicamera2()
    PiCamera(open_device=lambda number: device).close()
    assert device.configuration["controls"]["AeFlickerPeriod"] == 10_000  # 100 Hz, in microseconds


def test_8_blur_is_never_certain() -> None:
    """Reference or rendered pictures at σ = 3 are the eyes' business; here: a plain blurred die is not certain."""
    try:
        eyes = Reader.load()
    except Exception as error:
        pytest.skip(f"the networks are not there: {error}")
    image = np.full((720, 1280, 3), 90, np.uint8)
    for number in range(8):
        cv2.rectangle(image, (80 + 140 * number, 300), (150 + 140 * number, 370), (220, 228, 232), -1)
    blurred = cv2.GaussianBlur(image, (0, 0), 3)
    assert eyes.read(blurred).status.value == "doubtful"
