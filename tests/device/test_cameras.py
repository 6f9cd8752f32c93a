"""Cameras: never a frame older than the question, every refusal a sentence, every buffer given back."""

from __future__ import annotations

import http.server
import inspect
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from device.cameras import (
    Camera,
    CameraBroken,
    CameraEnded,
    CameraMissing,
    CameraOff,
    CameraSettings,
    CameraSilent,
    CameraState,
    ClipCamera,
    NoCamera,
    PiCamera,
    StreamCamera,
    UsbCamera,
    choose,
    open_camera,
    picamera,
    probe_cameras,
    usb,
)
from device.cameras.opencv import OpenCvCamera
from device.cameras.pixels import READABLE_FORMATS, to_bgr

from .doubles import PICAMERA2_SIGNATURES, FakePicamera2, picture

ROOT = Path(__file__).parents[2]


@pytest.fixture
def device() -> FakePicamera2:
    return FakePicamera2()


@pytest.fixture
def fresh_import() -> Iterator[None]:
    picamera.forget_import()
    yield
    sys.modules.pop("picamera2", None)
    picamera.forget_import()


@pytest.fixture
def no_webcams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    empty = tmp_path / "video4linux"
    empty.mkdir()
    monkeypatch.setattr(choose, "list_webcams", lambda: usb.list_webcams(empty))
    return empty


def pi_camera(device: FakePicamera2, **settings: object) -> PiCamera:
    return PiCamera(open_device=lambda number: device, settings=CameraSettings(**settings))  # type: ignore[arg-type]


# The Pi camera ------------------------------------------------------------------------------------------------------


def test_double_has_the_true_signatures() -> None:
    for name, signature in PICAMERA2_SIGNATURES.items():
        double = inspect.signature(inspect.getattr_static(FakePicamera2, name).__get__(None, FakePicamera2)
                                   if name == "global_camera_info" else getattr(FakePicamera2, name))  # fmt: skip
        ours = [one.name for one in double.parameters.values()]
        theirs = [part.split("=")[0].strip() for part in signature.strip("()").split(", ") if part]
        assert ours == theirs, name


def test_a_frame_is_never_older_than_the_question(device: FakePicamera2) -> None:
    with pi_camera(device) as camera:
        for _ in range(50):
            asked = time.monotonic()
            assert camera.latest(after=asked).t >= asked


def test_every_request_is_released_even_when_the_array_fails(device: FakePicamera2) -> None:
    device.pixel_format = "SRGGB10_CSI2P"
    with pi_camera(device) as camera:
        for _ in range(10):
            with pytest.raises(CameraBroken, match="delivers pixel format SRGGB10_CSI2P; expected one of RGB888"):
                camera.latest()
    assert (device.held, device.most_held) == (0, 1)


def test_configuration_asks_for_no_queued_frame_and_few_buffers(device: FakePicamera2) -> None:
    with pi_camera(device, fps=20.0, width=640, height=480):
        pass
    assert device.configuration["queue"] is False
    assert device.configuration["buffer_count"] == 4
    assert device.configuration["main"] == {"size": (640, 480), "format": "RGB888"}
    assert device.configuration["controls"]["FrameDurationLimits"] == (50000, 50000)


def test_focus_stands_still_and_flicker_is_named(device: FakePicamera2) -> None:
    with pi_camera(device, lens_position=2.5, flicker_hz=100):
        controls = device.configuration["controls"]
    assert (controls["AfMode"], controls["LensPosition"]) == (0, 2.5)
    assert (controls["AeFlickerMode"], controls["AeFlickerPeriod"]) == (1, 10000)


def test_a_camera_without_those_controls_is_not_asked_for_them(device: FakePicamera2) -> None:
    device.camera_controls = {"FrameDurationLimits": (16666, 33333, None), "FaceDetectMode": (0, 0, 0)}
    with pi_camera(device, fps=15.0) as camera:
        camera.latest()
    assert device.configuration["controls"] == {"FrameDurationLimits": (33333, 33333)}
    assert device.set_calls == []


def test_light_is_held_once_settled_and_let_go_when_the_lamp_is_switched() -> None:
    now = [1000.0]
    device = FakePicamera2(stale_s=0.0, clock=lambda: now[0])
    camera = PiCamera(open_device=lambda n: device, settings=CameraSettings(lock_after_s=2.0), clock=lambda: now[0])

    def frames(seconds: float) -> None:
        for _ in range(int(seconds * 10)):
            now[0] += 0.1
            camera.latest()

    frames(1.5)
    assert device.set_calls == []
    frames(1.0)
    held = {"AeEnable": False, "ExposureTime": 10000, "AnalogueGain": 2.0, "AwbEnable": False,
            "ColourGains": (1.5, 1.4)}  # fmt: skip
    assert device.set_calls == [held]
    device.level = 200  # a hand with a torch, for three seconds
    frames(3.0)
    device.level = 100
    frames(3.0)
    assert device.set_calls == [held]
    device.level = 30  # the lamp goes off for good
    frames(10.0)
    assert device.set_calls == [held, {"AeEnable": True, "AwbEnable": True}, held]
    camera.relight()
    assert device.set_calls[-1] == {"AeEnable": True, "AwbEnable": True}
    camera.close()


def test_a_silent_camera_is_a_sentence_in_time_and_leaves_no_job_behind(device: FakePicamera2) -> None:
    with pi_camera(device) as camera:
        device.silent = True
        began = time.monotonic()
        with pytest.raises(CameraSilent, match=r"^camera not answering – check the cable$"):
            camera.latest(timeout=0.2)
        assert time.monotonic() - began < 1.0
        assert all(job.cancelled for job in device.jobs)


def test_close_twice_and_ask_after(device: FakePicamera2) -> None:
    camera = pi_camera(device)
    assert isinstance(camera, Camera)
    camera.close()
    camera.close()
    assert device.closed == 1
    assert camera.status.state is CameraState.MISSING
    with pytest.raises(CameraMissing, match="is closed"):
        camera.latest()


def test_a_device_that_does_not_start_is_closed_again(device: FakePicamera2) -> None:
    def start(config: object = None, show_preview: bool = False) -> None:
        raise RuntimeError("Failed to start camera: Device or resource busy")

    device.start = start  # type: ignore[method-assign]
    with pytest.raises(CameraBroken, match=r"starting the camera: RuntimeError: .* Another program has the camera\."):
        pi_camera(device)
    assert device.closed == 1


def test_constructor_that_raises_becomes_a_sentence() -> None:
    def refuse(number: int) -> object:
        raise RuntimeError("Camera __init__ sequence did not complete.") from AttributeError("'NoneType' has no 'at'")

    with pytest.raises(CameraBroken, match=r"opening the camera: .* \('NoneType' has no 'at'\)"):
        PiCamera(open_device=refuse)


def test_no_such_number() -> None:
    def refuse(number: int) -> object:
        raise RuntimeError(f"No camera number {number} found")

    with pytest.raises(CameraMissing, match="No Pi camera 3; check the ribbon cable at both ends"):
        PiCamera(3, open_device=refuse)


@pytest.mark.parametrize("pixel_format", [one for one in READABLE_FORMATS if one not in ("NV21", "YVU420", "UYVY")])
def test_formats_become_bgr(pixel_format: str) -> None:
    width, height = 32, 16
    bgr = np.zeros((height, width, 3), np.uint8)
    bgr[:] = (200, 60, 20)  # a blue that is not to be mixed up with red
    encoded = {
        "RGB888": lambda: bgr,
        "MJPEG": lambda: bgr[:, :, ::-1].copy(),
        "BGR888": lambda: bgr[:, :, ::-1].copy(),
        "XRGB8888": lambda: cv2.cvtColor(bgr, cv2.COLOR_BGR2BGRA),
        "XBGR8888": lambda: cv2.cvtColor(bgr, cv2.COLOR_BGR2RGBA),
        "YUV420": lambda: cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420),
        "NV12": lambda: _nv12(bgr),
        "YUYV": lambda: cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_YUYV),
    }[pixel_format]()
    for array in (encoded, np.pad(encoded, ((0, 0), (0, 32), (0, 0))) if pixel_format == "RGB888" else encoded):
        out = to_bgr(array, pixel_format, (width, height))
        assert out.shape == (height, width, 3)
        assert np.abs(out.astype(int) - bgr).max() <= 6


def test_padded_planar_rows_are_cut() -> None:
    bgr = np.zeros((16, 32, 3), np.uint8)
    bgr[:] = (200, 60, 20)
    tight = cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420)
    luma = np.pad(tight[:16], ((0, 0), (0, 32)))
    chroma = np.pad(tight[16:].reshape(-1, 16), ((0, 0), (0, 16))).reshape(-1, 64)
    out = to_bgr(np.concatenate([luma, chroma]), "YUV420", (32, 16))
    assert np.abs(out.astype(int) - bgr).max() <= 6


def _nv12(bgr: np.ndarray) -> np.ndarray:
    planar = cv2.cvtColor(bgr, cv2.COLOR_BGR2YUV_I420)
    height, width = bgr.shape[:2]
    u, v = planar[height:].reshape(2, -1)
    return np.concatenate([planar[:height].reshape(-1), np.stack([u, v], 1).reshape(-1)]).reshape(-1, width)


# Import failures are diagnoses --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("fresh_import", "no_webcams")
def test_not_installed_is_missing_and_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "picamera2", None)
    monkeypatch.delitem(sys.modules, "picamera2")
    monkeypatch.setattr(picamera.importlib, "import_module", _raiser(ModuleNotFoundError("x", name="libcamera")))
    with pytest.raises(CameraMissing, match=r"not installed \(no module libcamera\).* No USB webcam is plugged in\."):
        open_camera("auto")


@pytest.mark.usefixtures("fresh_import", "no_webcams")
def test_binary_mismatch_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    mismatch = ValueError("numpy.dtype size changed, may indicate binary incompatibility")
    monkeypatch.setattr(picamera.importlib, "import_module", _raiser(mismatch))
    with pytest.raises(CameraBroken, match=r"numpy\.dtype size changed, may indicate binary incompatibility"):
        open_camera("auto")
    assert probe_cameras()[0].broken


@pytest.mark.usefixtures("fresh_import", "no_webcams")
def test_auto_takes_the_pi_camera(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("picamera2")
    module.Picamera2 = type("Picamera2", (FakePicamera2,), {"__init__": lambda self, n=0: FakePicamera2.__init__(self)})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "picamera2", module)
    with open_camera("auto") as camera:
        assert camera.description == "Pi camera (imx708), 64×48 RGB888"
    assert [probe.sentence for probe in probe_cameras()] == ["Pi camera: imx708.", "No USB webcam is plugged in."]


def _raiser(error: Exception):
    def raise_it(*_: object) -> object:
        raise error

    return raise_it


def test_picamera2_is_made_in_one_place_only() -> None:
    hits = [
        path.name
        for room in ("device", "vision", "scorer", "datasets")
        for path in (ROOT / room).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "Picamera2(" in line
    ]
    assert hits == ["picamera.py"]


# Webcams ------------------------------------------------------------------------------------------------------------


def test_webcams_are_listed_without_metadata_nodes_and_codecs(tmp_path: Path) -> None:
    for node, name, index in (
        ("video0", "HD Pro Webcam", "0"),
        ("video1", "HD Pro Webcam", "1"),
        ("video10", "bcm2835-codec-decode", "0"),
        ("video2", "unicam-image", "0"),
        ("video11", "Table cam", "0"),
    ):
        (tmp_path / node).mkdir()
        (tmp_path / node / "name").write_text(name + "\n")
        (tmp_path / node / "index").write_text(index + "\n")
    assert usb.list_webcams(tmp_path) == {0: "HD Pro Webcam", 11: "Table cam"}


def test_webcam_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CameraMissing, match="There is no webcam 7; webcams that are plugged in: none"):
        UsbCamera(7, video_class=tmp_path)


class BufferingCapture:
    """Like a driver: frames that were taken while nobody looked come at once, a new one takes its time."""

    def __init__(self, buffered: int, interval: float = 0.02) -> None:
        self.buffered, self.interval, self.grabbed = buffered, interval, 0
        self.unplugged = False

    def grab(self) -> bool:
        if self.unplugged:
            return False
        if self.buffered:
            self.buffered -= 1
        else:
            time.sleep(self.interval)
        self.grabbed += 1
        return True

    def retrieve(self):
        return True, picture(self.grabbed)

    def release(self) -> None:
        self.unplugged = True


def test_buffered_frames_are_thrown_away() -> None:
    capture = BufferingCapture(buffered=4)
    with OpenCvCamera(capture, fps=50.0) as camera:
        asked = time.monotonic()
        frame = camera.latest(after=asked)
    assert frame.t >= asked
    assert frame.image[0, 0, 0] > 4, "a buffered frame was handed out"


def test_unplugged_while_reading() -> None:
    capture = BufferingCapture(buffered=0)
    camera = OpenCvCamera(capture, fps=50.0)
    camera.latest()
    capture.unplugged = True
    with pytest.raises(CameraMissing, match="no longer answers; check its cable"):
        camera.latest()


# Clips --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clip")
    for number in range(12):
        cv2.imwrite(str(path / f"{number}.png"), picture(number * 10))
    return path


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("video") / "clip.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), 10, (64, 48))
    for number in range(12):
        writer.write(picture(number * 20))
    writer.release()
    return path


def levels(frames: list) -> list[int]:
    return [int(frame.image[0, 0, 0]) for frame in frames]


def test_folder_in_the_order_of_its_numbers_and_every_frame(folder: Path) -> None:
    frames = list(ClipCamera(folder, paced=False).frames())
    assert levels(frames) == [number * 10 for number in range(12)]
    assert [frame.number for frame in frames] == list(range(12))
    assert frames[3].t == pytest.approx(3 / 15)


def test_video_has_its_own_rate(video: Path) -> None:
    camera = ClipCamera(video, paced=False)
    frames = list(camera.frames())
    assert camera.fps == 10
    assert len(frames) == 12
    assert levels(frames) == pytest.approx([number * 20 for number in range(12)], abs=6)
    with pytest.raises(CameraEnded, match=r"clip clip\.mp4 at 10 frames a second is over\."):
        camera.latest()


@pytest.mark.parametrize("source", ["folder", "video"])
def test_loop_counts_on(source: str, request: pytest.FixtureRequest) -> None:
    camera = ClipCamera(request.getfixturevalue(source), paced=False, loop=True)
    frames = [camera.latest(after=-1) for _ in range(30)]
    assert [frame.number for frame in frames] == list(range(30))
    assert levels(frames[12:24]) == levels(frames[:12])


def test_paced_clip_keeps_time_and_a_late_caller_misses_frames(folder: Path) -> None:
    now = [50.0]
    camera = ClipCamera(folder, fps=10, clock=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s))
    first, second = camera.latest(), camera.latest()
    assert (first.t, second.t) == (50.0, pytest.approx(50.1))
    assert now[0] == pytest.approx(50.1)
    now[0] += 0.52  # the eyes were busy
    third = camera.latest()
    assert third.number == 6
    assert now[0] - 0.1 < third.t <= now[0]
    asked = now[0] + 0.05
    assert camera.latest(after=asked).t >= asked


def test_bad_clips(tmp_path: Path) -> None:
    with pytest.raises(CameraMissing, match=r"There is no clip .*nowhere\.mp4"):
        open_camera(str(tmp_path / "nowhere.mp4"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(CameraMissing, match="folder empty holds no pictures"):
        open_camera(str(tmp_path / "empty"))
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    with pytest.raises(CameraBroken, match=r"broken\.mp4 is no video that can be read here"):
        open_camera(str(tmp_path / "broken.mp4"))
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "0.jpg").write_bytes(b"")
    with pytest.raises(CameraBroken, match=r"0\.jpg is no picture"):
        ClipCamera(tmp_path / "half").latest()
    with pytest.raises(CameraBroken, match=r"between 0\.1 and 1000"):
        ClipCamera(tmp_path / "half", fps=0.0)


# Streams and words --------------------------------------------------------------------------------------------------


class _Mjpeg(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        self.end_headers()
        try:
            for number in range(60):
                jpeg = cv2.imencode(".jpg", picture(number * 3))[1].tobytes()
                head = b"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(jpeg)
                self.wfile.write(head + jpeg + b"\r\n")
                time.sleep(0.01)
        except OSError:
            pass


@pytest.fixture
def mjpeg_url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Mjpeg)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://someone:secret@127.0.0.1:{server.server_port}/video?key=secret"
    server.shutdown()
    server.server_close()
    thread.join()


def test_stream_over_http_until_it_stops(mjpeg_url: str) -> None:
    with open_camera(mjpeg_url) as camera:
        assert isinstance(camera, StreamCamera)
        assert camera.description.endswith("/video, 64×48")
        assert "secret" not in camera.description
        assert camera.latest().image.shape == (48, 64, 3)
        with pytest.raises(CameraMissing, match="stopped; is the other device still on"):
            _read_on(camera)


def _read_on(camera: Camera) -> None:
    for _ in range(100):
        camera.latest()


def test_stream_that_is_not_there() -> None:
    with pytest.raises(CameraMissing, match=r"No stream at http://127\.0\.0\.1:9/x; open the address in a browser"):
        open_camera("http://127.0.0.1:9/x")


def test_none_is_off_and_says_what_to_do() -> None:
    camera = open_camera("none")
    assert isinstance(camera, NoCamera)
    assert camera.status.state is CameraState.OFF
    with pytest.raises(CameraOff, match="tap the faces in"):
        camera.latest()


@pytest.mark.parametrize("spec", ["webcam", "usb:left", "picamera:x", ""])
def test_words_that_name_no_camera(spec: str) -> None:
    with pytest.raises(CameraMissing, match="names no camera; expected"):
        open_camera(spec)
