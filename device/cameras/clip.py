"""A video file or a folder of numbered pictures, played as if it were a camera."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from vision.reading import Frame, Image

from .camera import CameraBase, CameraBroken, CameraEnded, CameraMissing

PICTURE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
_DEFAULT_FPS = 15.0


class _Source(Protocol):
    fps: float

    def read(self) -> Image | None: ...
    def skip(self) -> bool: ...
    def rewind(self) -> None: ...
    def close(self) -> None: ...


class _Video:
    """A video file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._capture: Any = cv2.VideoCapture(str(path))
        if not self._capture.isOpened():
            raise CameraBroken(f"{path.name} is no video that can be read here; expected MP4, MKV, WebM or AVI.")
        fps = float(self._capture.get(cv2.CAP_PROP_FPS))
        self.fps = fps if 0.1 <= fps <= 1000 else _DEFAULT_FPS

    def read(self) -> Image | None:
        ok, image = self._capture.read()
        return np.asarray(image, dtype=np.uint8) if ok else None

    def skip(self) -> bool:
        return bool(self._capture.grab())

    def rewind(self) -> None:
        self._capture.release()
        self._capture = cv2.VideoCapture(str(self._path))

    def close(self) -> None:
        self._capture.release()


class _Folder:
    """Pictures in a folder, in the order of the numbers in their names."""

    fps = _DEFAULT_FPS

    def __init__(self, folder: Path) -> None:
        self._files = sorted(
            (one for one in folder.iterdir() if one.suffix.lower() in PICTURE_SUFFIXES), key=_number_order
        )
        if not self._files:
            raise CameraMissing(f"The folder {folder.name} holds no pictures; expected numbered JPEG or PNG files.")
        self._next = 0

    def read(self) -> Image | None:
        if self._next >= len(self._files):
            return None
        path = self._files[self._next]
        self._next += 1
        image = cv2.imdecode(np.fromfile(path, dtype=np.uint8), cv2.IMREAD_COLOR) if path.stat().st_size else None
        if image is None:
            raise CameraBroken(f"{path.name} is no picture that can be read; remove it from the folder.")
        return np.asarray(image, dtype=np.uint8)

    def skip(self) -> bool:
        self._next += 1
        return self._next <= len(self._files)

    def rewind(self) -> None:
        self._next = 0

    def close(self) -> None:
        self._next = len(self._files)


def _number_order(path: Path) -> tuple[tuple[int, int | str], ...]:
    """`9.jpg` before `10.jpg`."""
    return tuple((0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", path.stem) if part)


class ClipCamera(CameraBase):
    """A clip played as a camera.

    Example:

        with ClipCamera("game.mp4", loop=True) as camera:
            frame = camera.latest(after=time.monotonic())

    `path` is a video or a folder of numbered pictures. `fps` overrides the clip's own rate (a folder's is 15).
    `paced`: frames come at that rate by `clock` and late callers miss frames, as with a real camera; otherwise every
    frame comes as fast as it is asked for, with `t` = frame number / fps, and `after` is compared with that.
    `loop` starts again at the end; otherwise `CameraEnded` is raised there.
    Raises `CameraMissing` for a path that is not there, `CameraBroken` for one that cannot be read.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        fps: float | None = None,
        paced: bool = True,
        loop: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__()
        path = Path(path)
        if not path.exists():
            raise CameraMissing(f"There is no clip {path}; expected a video file or a folder of pictures.")
        if fps is not None and not 0.1 <= fps <= 1000:
            raise CameraBroken(f"Expected between 0.1 and 1000 frames a second, got {fps}.")
        self._source: _Source = _Folder(path) if path.is_dir() else _Video(path)
        self.fps = fps or self._source.fps
        self._paced, self._loop, self._clock, self._sleep = paced, loop, clock, sleep
        self._start: float | None = None
        self._index = 0  # of the next frame, counted on through the loops
        self._in_round = 0  # frames read since the last rewind
        self.description = f"clip {path.name} at {self.fps:g} frames a second"

    def latest(self, after: float = 0.0, timeout: float = 2.0) -> Frame:
        """The clip's frame of now, or the next one if not paced; see `Camera.latest`."""
        if self._closed:
            raise CameraMissing(f"{self.description} is closed.")
        if self._paced:
            self._keep_pace(after)
        while self._time_of(self._index) < after - 1e-9:
            self._pass_over()
        image = self._read()
        t, self._index = self._time_of(self._index), self._index + 1
        self._number = self._index - 1
        return Frame(image, t, self._number)

    def frames(self) -> Iterator[Frame]:
        """Every frame to the end of the clip (for ever if it loops)."""
        while True:
            try:
                yield self.latest(after=-1.0)
            except CameraEnded:
                return

    def _time_of(self, index: int) -> float:
        return (self._start or 0.0) + index / self.fps

    def _keep_pace(self, after: float) -> None:
        """Pass over what the caller was too late for, then wait until the next frame is due."""
        if self._start is None:
            self._start = self._clock()
        while self._time_of(self._index + 1) <= self._clock():
            self._pass_over()
        due = max(self._time_of(self._index), after)
        if (wait := due - self._clock()) > 0:
            self._sleep(wait)

    def _pass_over(self) -> None:
        if not self._source.skip():
            self._again()
            self._source.skip()
        self._in_round += 1
        self._index += 1

    def _read(self) -> Image:
        image = self._source.read()
        if image is None:
            self._again()
            image = self._source.read()
        if image is None:
            raise CameraBroken(f"{self.description}: no frame can be read.")
        self._in_round += 1
        return image

    def _again(self) -> None:
        if not self._loop or not self._in_round:
            raise CameraEnded(f"{self.description} is over.")
        self._source.rewind()
        self._in_round = 0

    def _release(self) -> None:
        self._source.close()
