"""Measures the table at work: how soon a throw is on the page, what a quiet table costs, whether memory stays flat.

Called by `ausguck bench --table`. Every function runs the real appliance (camera keeper, loop, eyes, table, store,
page) in a folder of its own on this machine, and answers with figures and their counts; nothing is estimated.

    python -m device.bench_loop CLIP [--fps 15]      # prints one JSON object
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vision.reading import Frame, Image

from .cameras import CameraEnded, CameraKeeper, ClipCamera
from .cameras.camera import CameraBase
from .loop import Loop, Watcher
from .status import memory_mb

_QUIET_LEVELS = 3.0  # grey levels that a block of the picture may change by from sensor noise alone
_BLOCKS = (40, 24)


class PictureCamera(CameraBase):
    """A camera that shows pictures round and round at `fps`, or with 0 as soon as `may_go` says so.

    It stands for a Pi camera, whose pictures cost the processor nothing to decode.
    """

    description = "pictures of the bench"

    def __init__(
        self, pictures: Sequence[Image], *, fps: float = 15.0, may_go: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__()
        self._pictures, self._fps, self._may_go = pictures, fps, may_go
        self._due = time.monotonic()

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        """The next picture."""
        number = self.next_number()
        while not self._may_go():
            time.sleep(0.0002)
        if self._fps:
            self._due = max(self._due + 1.0 / self._fps, time.monotonic() - 1.0)
            time.sleep(max(0.0, self._due - time.monotonic()))
        return Frame(self._pictures[number % len(self._pictures)].copy(), time.monotonic(), number)


@dataclass
class _Watched(CameraBase):
    """A clip's camera that notes when each frame was exposed and since when nothing moves in it."""

    clip: ClipCamera
    times: list[float] = field(default_factory=list)
    rests: list[int] = field(default_factory=list)
    """For each frame, the first frame of the quiet run that it belongs to."""
    ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__()
        self.description = self.clip.description
        self._before: Image | None = None

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        """As the clip's, with a note."""
        try:
            frame = self.clip.latest(after, timeout)
        except CameraEnded:
            self.ended.set()
            raise
        blocks = _blocks(frame.image)
        moved = self._before is None or float(np.abs(blocks - self._before).max()) > _QUIET_LEVELS
        self._before = blocks
        self.rests.append(len(self.times) if moved or not self.rests else self.rests[-1])
        self.times.append(frame.t)
        return frame


def _blocks(image: Image) -> Any:
    grey = cv2.cvtColor(cv2.resize(image, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    return cv2.resize(grey, _BLOCKS, interpolation=cv2.INTER_AREA).astype(np.float32)


@contextmanager
def _appliance(camera: Callable[[], Any], reader: Any = None) -> Iterator[Any]:
    from .appliance import Appliance

    with (
        tempfile.TemporaryDirectory(prefix="ausguck-bench-") as folder,
        Appliance(
            Path(folder), camera=camera, host="127.0.0.1", port=0, panel_wanted=False, quiet=True, reader=reader
        ) as running,
    ):
        yield running


def rest_to_page(clip: Path, *, fps: float = 15.0, reader: Any = None) -> dict[str, Any]:
    """Seconds from the frame in which the last die stops until a phone that watches has the reading.

    `clip` is played once at `fps`; each settled or doubtful reading of dice counts. The page is asked over HTTP with
    `GET /api/state?since=…`, as phones do. Answers with median, worst and count.
    """
    cameras: list[_Watched] = []

    def opened() -> _Watched:
        cameras.append(_Watched(ClipCamera(clip, fps=fps)))
        return cameras[-1]

    seen: dict[int, float] = {}
    with _appliance(opened, reader) as running:
        address = f"http://127.0.0.1:{running.server.port}/api/state"
        version = -1
        while not (cameras and cameras[0].ended.is_set()):
            state = _get(f"{address}?since={version}" if version >= 0 else address)
            version = state["version"]
            reading = state.get("reading") or {}
            if reading.get("phase") in ("settled", "doubtful", "roll") and reading.get("dice"):
                seen.setdefault(int(reading["frame"]), time.monotonic())
        dropped = running.loop.status.dropped
    camera = cameras[0]
    first: dict[int, float] = {}  # rest frame → when its reading was on the page
    for frame, at in seen.items():
        if frame < len(camera.rests):
            first.setdefault(camera.rests[frame], at)
    waits = [at - camera.times[rest] for rest, at in first.items()]
    return {
        "rest_to_page_s": round(statistics.median(waits), 3) if waits else None,
        "rest_to_page_worst_s": round(max(waits), 3) if waits else None,
        "rest_to_page_n": len(waits),
        "frames": len(camera.times),
        "frames_dropped": dropped,
        **({} if waits else {"reason": f"no dice settled in {clip.name}"}),
    }


def _get(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(address, timeout=40) as answer:
        return json.load(answer)  # type: ignore[no-any-return]


def noisy(picture: Image, count: int = 6, sigma: float = 1.5, seed: int = 1) -> list[Image]:
    """`picture` as a camera sees it again and again: with fresh sensor noise (standard deviation in grey levels)."""
    rng = np.random.default_rng(seed)
    return [
        np.clip(picture + rng.normal(0, sigma, picture.shape), 0, 255).round().astype(np.uint8) for _ in range(count)
    ]


def idle_cpu(picture: Image, *, fps: float = 15.0, seconds: float = 10.0, reader: Any = None) -> dict[str, Any]:
    """Share of one core that the whole process needs while nothing happens, after `picture` has settled."""
    with _appliance(lambda: PictureCamera(noisy(picture), fps=fps), reader) as running:
        settled = _wait(lambda: _phase(running) not in ("moving", "settling", "hand", None), 20.0)
        time.sleep(2.0)
        frames, wall, cpu = running.loop.status.frames, time.monotonic(), time.process_time()
        time.sleep(seconds)
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
        frames = running.loop.status.frames - frames
        return {
            "idle_cpu": round(cpu / wall, 4),
            "idle_fps": round(frames / wall, 1),
            "idle_settled": settled,
            "idle_rss_mb": round(memory_mb(), 1),
        }


def _phase(running: Any) -> str | None:
    return (running.table.snapshot.state.get("reading") or {}).get("phase")


def _wait(is_so: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_so()


def memory_flat(
    make_watcher: Callable[[], Watcher], picture: Image, *, frames: int = 20_000, first: int = 2_000
) -> dict[str, Any]:
    """Resident memory after `first` and after `frames` frames, as fast as they are looked at; every 500th moves."""
    pictures = [*noisy(picture, 3)] * 166 + [np.ascontiguousarray(picture[:, ::-1])] * 2
    keeper = CameraKeeper(lambda: PictureCamera(pictures, fps=0.0, may_go=lambda: not keeper.frames.is_waiting))
    loop = Loop(keeper, make_watcher, lambda event, frame: None)
    loop.start()
    try:
        started = _wait(lambda: loop.status.frames >= first, 600.0)
        before = memory_mb()
        done = started and _wait(lambda: loop.status.frames >= frames, 1200.0)
        after = memory_mb()
        status = loop.status
    finally:
        loop.stop()
    return {
        "rss_mb": round(after, 1),
        "rss_growth_mb": round(after - before, 1),
        "rss_frames": status.frames,
        "rss_restarts": status.restarts,
        **({} if done else {"reason": f"only {status.frames} frames in time: {status.sentence}"}),
    }


def cold_start(picture: Path) -> dict[str, Any]:
    """Seconds from starting the program until its page shows the first reading of `picture` (an image file)."""
    began = time.monotonic()
    command = [sys.executable, "-m", "device.bench_loop", "--cold", str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode or not done.stdout.strip():
        return {"cold_start_s": None, "reason": (done.stderr.strip().splitlines() or ["no reading came"])[-1]}
    return {"cold_start_s": round(float(done.stdout.split()[-1]) - began, 3)}


def _cold(picture: Path) -> int:
    image = cv2.imread(str(picture))
    if image is None:
        print(f"{picture} is no picture that can be read", file=sys.stderr)
        return 2
    shown = np.asarray(image, dtype=np.uint8)
    with _appliance(lambda: PictureCamera(noisy(shown, 2))) as running:
        address = f"http://127.0.0.1:{running.server.port}/api/state"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            reading = _get(address).get("reading") or {}
            if reading.get("phase") in ("settled", "doubtful", "roll") and reading.get("dice"):
                print(time.monotonic())
                return 0
            time.sleep(0.01)
    print("no reading within 60 s", file=sys.stderr)
    return 1


def last_still(clip: Path, *, fps: float = 15.0) -> Image:
    """A picture of the clip in which nothing has moved for half a second: the last one, else its last frame."""
    still: Image | None = None
    before, quiet = None, 0
    for frame in ClipCamera(clip, fps=fps, paced=False).frames():
        blocks = _blocks(frame.image)
        quiet = quiet + 1 if before is not None and float(np.abs(blocks - before).max()) <= _QUIET_LEVELS else 0
        before = blocks
        if still is None or quiet >= fps / 2:
            still = frame.image
    if still is None:
        raise CameraEnded(f"{clip.name} has no frames.")
    return still


def table_figures(clip: Path, *, fps: float = 15.0, frames: int = 20_000, reader: Any = None) -> dict[str, Any]:
    """Everything above on one clip, for `ausguck bench --table --json`."""
    from vision.reader import Reader
    from vision.watcher import Watcher as Eyes

    picture = last_still(clip, fps=fps)
    figures = rest_to_page(clip, fps=fps, reader=reader)
    figures |= idle_cpu(picture, fps=fps, reader=reader)
    with tempfile.TemporaryDirectory(prefix="ausguck-bench-") as folder:
        path = Path(folder) / "picture.png"
        cv2.imwrite(str(path), picture)
        figures |= cold_start(path)
    figures |= memory_flat(lambda: Eyes(reader or Reader.load()), picture, frames=frames)
    return figures


def main() -> int:
    """Print the figures of one clip."""
    parser = argparse.ArgumentParser(prog="python -m device.bench_loop", description=__doc__)
    parser.add_argument("clip", type=Path)
    parser.add_argument("--fps", type=float, default=15.0)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--cold", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cold:
        return _cold(args.clip)
    print(json.dumps(table_figures(args.clip, fps=args.fps, frames=args.frames)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
