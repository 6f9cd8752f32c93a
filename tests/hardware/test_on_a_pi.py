"""What only a Pi can show: its sensor, its lens, its pins, its Wi-Fi. One test a field fault, by its number."""

from __future__ import annotations

import queue
import subprocess
import sys
import time
from pathlib import Path

import pytest

from device.cameras import CameraKeeper, CameraState, PiCamera
from device.cameras.keeper import CHECK_CABLE
from device.panel import Light, Panel, Press, PressKind, gpio_complaint

ROOT = Path(__file__).parents[2]


def test_1_no_frame_is_older_than_its_question() -> None:
    with PiCamera() as camera:
        for _ in range(50):
            asked = time.monotonic()
            frame = camera.latest(after=asked)
            assert asked <= frame.t < time.monotonic()


def test_2_packages_fit_together_in_every_order() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "deploy" / "check_imports.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.hands
def test_5_pull_the_ribbon_cable() -> None:
    keeper = CameraKeeper(PiCamera)
    keeper.start()
    while keeper.status.state is not CameraState.STREAMING:
        time.sleep(0.1)
    print("\nPull the camera's ribbon cable now.")
    deadline = time.monotonic() + 60
    while keeper.status.sentence != CHECK_CABLE and time.monotonic() < deadline:
        time.sleep(0.1)
    assert keeper.status.sentence == CHECK_CABLE
    keeper.stop()


def test_6_killed_twenty_times_and_it_still_opens() -> None:
    script = (
        "import time\nfrom device.cameras import PiCamera\n"
        "camera = PiCamera()\ncamera.latest()\nprint('up', flush=True)\ntime.sleep(60)\n"
    )
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        began = time.monotonic()
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        assert time.monotonic() - began < 15
        process.kill()
        process.wait()


def test_8_the_lens_stands_still() -> None:
    positions = set()
    with PiCamera() as camera:
        for _ in range(500):
            camera.latest()
            positions.add(camera._device.capture_metadata().get("LensPosition"))
    assert len(positions) == 1


def test_9_exposure_is_held_after_it_settled() -> None:
    with PiCamera() as camera:
        began = time.monotonic()
        while time.monotonic() - began < 4:
            camera.latest()
        exposures = {camera._device.capture_metadata()["ExposureTime"] for _ in range(50)}
    assert max(exposures) - min(exposures) < 100, "microseconds"


def test_sensor_delivers_the_colours_in_our_order() -> None:
    with PiCamera() as camera:
        assert camera.description.endswith("RGB888")
        frame = camera.latest()
    assert frame.image.shape == (1296, 2304, 3)


def test_18_pins_are_found() -> None:
    assert gpio_complaint() == ""
    with Panel(lambda press: None) as panel:
        assert panel.status.available, panel.status.sentence


@pytest.mark.hands
def test_16_a_real_button_is_pressed_ten_times() -> None:
    presses: queue.Queue[Press] = queue.Queue()
    with Panel(presses.put) as panel:
        panel.show(Light.READY)
        print("\nPress the end-raid button ten times, then hold it until the light flashes.")
        kinds = []
        while not kinds or kinds[-1] is not PressKind.UNDO:
            kinds.append(presses.get(timeout=60).kind)
            panel.confirm()
    assert kinds == [PressKind.END_RAID] * 10 + [PressKind.UNDO]


def test_30_wi_fi_does_not_nap() -> None:
    if not Path("/sys/class/net/wlan0").exists():
        pytest.skip("no wlan0 on this Pi")
    done = subprocess.run(["iw", "dev", "wlan0", "get", "power_save"], capture_output=True, text=True)
    assert done.stdout.strip() == "Power save: off"
