"""The loop: the latest frame wins, nothing piles up, and whoever fails is begun anew beside a living score pad."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable

import cv2
import numpy as np
import pytest

from device.backoff import Backoff
from device.cameras import CameraBroken, CameraKeeper, CameraMissing, CameraState, LatestFrame, open_camera
from device.cameras.keeper import CHECK_CABLE
from device.live import LiveView, draw_reading, evidence_jpeg, shrink
from device.loop import Loop, LoopState
from scorer.faces import Face
from vision.reading import CardReading, DieReading, Frame, Reading, Status

from .doubles import FakeCamera, FakeEvent, FakeWatcher, picture


def soon(is_so: Callable[[], bool], seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


class Running:
    """A loop with everything round it, stopped at the end."""

    def __init__(self, camera: Callable[[], FakeCamera], watcher: Callable[[], FakeWatcher], **options: object) -> None:
        self.events: list[FakeEvent] = []
        self.turns = 0
        self.keeper = CameraKeeper(camera, **options.pop("keeper", {}))  # type: ignore[arg-type]
        handle = options.pop("handle", lambda event, frame: self.events.append(event))
        self.loop = Loop(self.keeper, watcher, handle, each_turn=self._turn, **options)  # type: ignore[arg-type]

    def _turn(self) -> None:
        self.turns += 1

    def __enter__(self) -> Running:
        self.loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.stop()


def test_events_reach_the_referee_with_their_frame() -> None:
    seen: list[tuple[FakeEvent, int]] = []
    with Running(lambda: FakeCamera(fps=200), FakeWatcher, handle=lambda e, f: seen.append((e, f.number))):
        assert soon(lambda: len(seen) >= 3)
    assert all(event.frame == number for event, number in seen)


def test_latest_frame_wins_and_drops_are_counted() -> None:
    numbers: list[int] = []

    class Slow(FakeWatcher):
        def feed(self, frame: Frame) -> list[FakeEvent]:
            numbers.append(frame.number)
            return super().feed(frame)

    with Running(lambda: FakeCamera(fps=200), lambda: Slow(takes=0.05)) as running:
        assert soon(lambda: len(numbers) >= 6)
        status = running.loop.status
    gaps = np.diff(numbers[1:])
    assert gaps.mean() > 4, "frames queued up instead of being replaced"
    assert status.dropped >= gaps.sum() - len(gaps) - 2
    assert status.last_look_s >= 0.05


def test_never_more_than_two_frames_are_held() -> None:
    alive: list[weakref.ref[np.ndarray]] = []
    most = [0]

    def make(number: int) -> np.ndarray:
        most[0] = max(most[0], sum(one() is not None for one in alive))  # when the next one is about to be made
        image = picture()
        alive[:] = [one for one in alive if one() is not None]
        alive.append(weakref.ref(image))
        return image

    with Running(lambda: FakeCamera(fps=300, make=make), lambda: FakeWatcher(takes=0.01), live=LiveView()) as running:
        assert soon(lambda: running.loop.status.frames >= 40)
    assert 1 <= most[0] <= 2


def test_a_worker_that_fails_is_begun_anew_and_the_turning_goes_on() -> None:
    made: list[FakeWatcher] = []

    def make() -> FakeWatcher:
        made.append(FakeWatcher(every=1, fail_at=(3,) if len(made) < 2 else ()))
        return made[-1]

    with Running(lambda: FakeCamera(fps=100), make, backoff=Backoff(first=0.05)) as running:
        assert soon(lambda: running.loop.status.state is LoopState.FAILED)
        assert "the model fell over" in running.loop.status.sentence
        turns = running.turns
        assert soon(lambda: running.turns > turns + 2)
        assert soon(lambda: len(made) == 3 and made[-1].fed > 5)
        assert running.loop.status.state is LoopState.RUNNING
        assert running.loop.status.restarts == 2


def test_eyes_that_cannot_open_do_not_open_for_ever() -> None:
    tried = [0]

    def make() -> FakeWatcher:
        tried[0] += 1
        raise FileNotFoundError("there is no model in models/: run `make models`")

    with Running(lambda: FakeCamera(fps=100), make, backoff=Backoff(first=0.01, limit=3, pause=60)) as running:
        assert soon(lambda: tried[0] >= 3)
        time.sleep(0.4)
        assert tried[0] <= 5
        assert "there is no model" in running.loop.status.sentence
        turns = running.turns
        assert soon(lambda: running.turns > turns)


def test_a_referee_that_refuses_does_not_blind_the_eyes() -> None:
    def refuse(event: FakeEvent, frame: Frame) -> None:
        raise ValueError("not now")

    with Running(lambda: FakeCamera(fps=100), lambda: FakeWatcher(every=1), handle=refuse) as running:
        assert soon(lambda: running.loop.status.frames > 20)
        assert running.loop.status.state is LoopState.RUNNING
        assert running.loop.status.restarts == 0


def test_stuck_eyes_give_no_sign_of_life() -> None:
    stuck = threading.Event()

    class Stuck(FakeWatcher):
        def feed(self, frame: Frame) -> list[FakeEvent]:
            stuck.wait(10.0)
            return []

    with Running(lambda: FakeCamera(fps=100), Stuck) as running:
        time.sleep(0.3)
        turns = running.turns
        time.sleep(0.8)
        assert running.turns == turns, "the watchdog would be fed while the eyes hang"
        stuck.set()
        assert soon(lambda: running.turns > turns)


def test_without_frames_the_loop_still_turns() -> None:
    def missing() -> FakeCamera:
        raise CameraMissing("No USB webcam is plugged in.")

    with Running(missing, FakeWatcher) as running:
        assert soon(lambda: running.turns >= 3)
        assert running.keeper.status.state is CameraState.MISSING


def test_stop_twice_and_threads_are_gone() -> None:
    before = threading.active_count()
    running = Running(lambda: FakeCamera(fps=100), FakeWatcher)
    with running:
        assert soon(lambda: running.loop.status.frames > 3)
    running.loop.stop()
    assert soon(lambda: threading.active_count() == before)
    assert running.loop.status.state is LoopState.STOPPED


# The camera's keeper ------------------------------------------------------------------------------------------------


def test_latest_frame_holds_one() -> None:
    place = LatestFrame()
    assert place.take(0.0) is None
    for number in range(3):
        place.put(Frame(picture(), float(number), number))
    frame = place.take(0.0)
    assert frame is not None and frame.number == 2  # noqa: PT018
    assert place.take(0.0) is None
    assert place.dropped == 2


@pytest.mark.parametrize("deaf", [False, True], ids=["time-outs work", "the driver hangs"])
def test_a_camera_that_falls_silent_is_replaced(deaf: bool) -> None:
    cameras: list[FakeCamera] = []

    def opened() -> FakeCamera:
        cameras.append(FakeCamera(fps=100, hang_after=5 if not cameras else None, deaf=deaf))
        return cameras[-1]

    keeper = CameraKeeper(opened, patience=0.3)
    said: list[str] = []
    keeper.when_changed(lambda status: said.append(status.sentence))
    keeper.start()
    last = -1
    while len(cameras) < 2 or last < 10:
        frame = keeper.frames.take(5.0)
        assert frame is not None
        assert frame.number > last, "numbers go on through a restart"
        last = frame.number
    assert said == ["fake camera.", CHECK_CABLE, "fake camera."]
    assert keeper.status.restarts == 1
    cameras[0].released.set()
    keeper.stop()
    assert soon(lambda: cameras[0].closed_by == ["camera"]), "the thread that used it closes it"


def test_no_restart_storm() -> None:
    now = [0.0]
    backoff = Backoff()
    waits = []
    for _ in range(12):
        waits.append(backoff.failed(now[0]))
        now[0] += waits[-1]
    starts_in_first_minute = sum(1 for total in np.cumsum(waits) if total <= 60)
    assert starts_in_first_minute <= 6  # the first start and five restarts
    assert waits[-1] == 300
    now[0] += 1000
    assert backoff.failed(now[0]) == waits[0]


def test_constructor_that_raises_is_visible_at_once_and_tried_a_few_times() -> None:
    tried = [0]

    def refuse() -> FakeCamera:
        tried[0] += 1
        raise CameraBroken("picamera2 failed while opening the camera: AttributeError: no such method.")

    keeper = CameraKeeper(refuse, backoff=Backoff(first=0.01))
    keeper.start()
    assert soon(lambda: keeper.status.state is CameraState.BROKEN, 1.0)
    assert "no such method" in keeper.status.sentence
    time.sleep(1.0)
    assert tried[0] <= 6
    keeper.stop()


def test_any_exception_has_a_sentence() -> None:
    def refuse() -> FakeCamera:
        raise ZeroDivisionError

    keeper = CameraKeeper(refuse)
    keeper.start()
    assert soon(lambda: keeper.status.sentence == "The camera failed: ZeroDivisionError.", 1.0)
    keeper.stop()


def test_a_webcam_plugged_in_later_is_found() -> None:
    plugged = threading.Event()

    def look() -> FakeCamera:
        if not plugged.is_set():
            raise CameraMissing("No USB webcam is plugged in.")
        return FakeCamera(fps=100)

    keeper = CameraKeeper(look, look_again=0.05)
    keeper.start()
    assert soon(lambda: keeper.status.state is CameraState.MISSING)
    time.sleep(0.3)
    plugged.set()
    assert soon(lambda: keeper.status.state is CameraState.STREAMING)
    keeper.stop()


def test_no_camera_on_purpose_is_not_tried_again() -> None:
    keeper = CameraKeeper(lambda: open_camera("none"))
    keeper.start()
    assert soon(lambda: keeper.status.state is CameraState.OFF)
    time.sleep(0.3)
    assert keeper.status.restarts == 0
    keeper.stop()


def test_rate_is_measured() -> None:
    keeper = CameraKeeper(lambda: FakeCamera(fps=50))
    keeper.start()
    assert soon(lambda: keeper.status.frame_number > 30)
    assert keeper.status.frames_per_second == pytest.approx(50, rel=0.4)
    keeper.stop()


# The live picture ---------------------------------------------------------------------------------------------------

READING = Reading(
    Status.DOUBTFUL,
    (),
    (DieReading(Face.COIN, 0.99, (100, 100, 200, 200)),),
    CardReading("pirate", 0.98, ((400, 100), (600, 100), (600, 300), (400, 300))),
)


def big(number: int) -> np.ndarray:
    return picture(number % 200, (1920, 1080))


def test_nothing_is_copied_while_nobody_looks() -> None:
    live = LiveView()
    live.offer(Frame(big(1), 0.0, 1), READING)
    assert live._kept is None
    assert not live.is_wanted


def test_whoever_asks_gets_the_next_frame_and_not_an_old_one() -> None:
    live = LiveView(width=320)
    with Running(lambda: FakeCamera(fps=60, make=big), FakeWatcher, live=live) as running:
        last = -1
        for _ in range(10):
            before = running.keeper.status.frame_number
            shown = live.picture()
            assert shown is not None
            assert shown.number >= before, "an old picture was shown"
            assert shown.number > last
            last = shown.number
            image = cv2.imdecode(np.frombuffer(shown.jpeg, np.uint8), cv2.IMREAD_COLOR)
            assert image.shape == (180, 320, 3)


def test_a_picture_even_while_the_eyes_are_shut() -> None:
    def make() -> FakeWatcher:
        raise FileNotFoundError("no model")

    live = LiveView()
    with Running(lambda: FakeCamera(fps=60), make, live=live):
        assert live.picture() is not None


def test_no_picture_without_a_camera() -> None:
    assert LiveView().picture(timeout=0.05) is None


def test_all_who_look_share_one_encoding() -> None:
    live = LiveView()
    live.picture(timeout=0.0)
    got: list[object] = []
    threads = [threading.Thread(target=lambda: got.append(live.picture())) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    live.offer(Frame(picture(), time.monotonic(), 5))
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert all(one is got[0] for one in got)


def test_doubt_is_drawn_and_evidence_is_small() -> None:
    image = picture(80, (1920, 1080))
    small, scale = shrink(image, 960)
    drawn = draw_reading(small, READING, scale=scale)
    assert drawn.shape == (540, 960, 3)
    assert (drawn != small).any(axis=2).sum() > 200
    assert (small == 80).all(), "the given picture was drawn on"
    jpeg = evidence_jpeg(Frame(image, 0.0, 0), READING)
    assert jpeg[:2] == b"\xff\xd8"
    assert len(jpeg) < 100_000
