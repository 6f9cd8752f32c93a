"""Runs an exported network with NCNN: pictures in, arrays out. The only place that knows this runtime.

NCNN's worker threads wait by spinning. Beside any other busy process that costs hundreds of times the work itself, so
they are told to sleep at once; that has to be said before the library is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SPINS = 0
"""Turns that a waiting thread spins before it sleeps. Measured: none is fastest beside other work, and good alone."""

os.environ.setdefault("GOMP_SPINCOUNT", str(SPINS))  # GNU OpenMP: the wheels for x86 and ARM
os.environ.setdefault("KMP_BLOCKTIME", "0")  # LLVM OpenMP: builds with clang

import ncnn  # noqa: E402

Floats = npt.NDArray[np.float32]


class ModelError(RuntimeError):
    """A network that cannot be loaded or run. `str(error)` is a sentence."""


def default_threads() -> int:
    """Two, or one on a single core: more gain little at this size and starve the camera."""
    return max(1, min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


class NcnnNet:
    """One network with one input `in0`.

    `param` is the text file; the weights lie beside it with the ending `.bin`. `outputs` names the blobs wanted.
    Not safe to call from two threads at once.
    """

    def __init__(self, param: Path, *, outputs: Sequence[str], threads: int | None = None) -> None:
        self.param = Path(param)
        self.outputs = tuple(outputs)
        self.threads = threads or default_threads()
        weights = self.param.with_suffix(".bin")
        for path in (self.param, weights):
            if not path.is_file():
                raise ModelError(f"expected a network in {path}, found no such file: reinstall, or export one")
        self._net = ncnn.Net()
        self._net.opt.num_threads = self.threads
        self._net.opt.use_vulkan_compute = False
        # The library answers -1 in silence for a damaged text, but reads a short weight file as zeros: size is checked.
        if self._net.load_param(str(self.param)) != 0 or self._net.load_model(str(weights)) != 0:
            raise ModelError(f"expected an NCNN network in {self.param}, but it cannot be loaded: the file is damaged")
        missing = set(self.outputs) - {blob.name for blob in self._net.blobs()}
        if missing:
            raise ModelError(
                f"expected outputs {', '.join(self.outputs)} in {self.param}, found no {', '.join(sorted(missing))}"
            )

    def run(self, x: Floats) -> list[Floats]:
        """Answers for `x` ((3, h, w) float32, RGB 0..1)."""
        x = np.ascontiguousarray(x, dtype=np.float32)
        return self._extract(ncnn.Mat(x), x)

    def run_pixels(self, image: npt.NDArray[np.uint8]) -> list[Floats]:
        """Answers for `image` ((h, w, 3) uint8, BGR): converted inside the library, which is faster."""
        image = np.ascontiguousarray(image)
        h, w = image.shape[:2]
        mat = ncnn.Mat.from_pixels(image, ncnn.Mat.PixelType.PIXEL_BGR2RGB, w, h)
        mat.substract_mean_normalize([], [1 / 255.0] * 3)
        return self._extract(mat, image)

    def _extract(self, mat: Any, keep: object) -> list[Floats]:
        """`keep` is the memory that `mat` looks at: it must live until the answers are copied out."""
        extractor = self._net.create_extractor()
        if extractor.input("in0", mat) != 0:
            raise ModelError(f"the network {self.param} has no input in0: export it with `ausguck export`")
        answers = []
        for name in self.outputs:
            code, out = extractor.extract(name)
            if code != 0:
                raise ModelError(f"the network {self.param} failed at its output {name} (code {code})")
            answers.append(np.array(out, dtype=np.float32))
        del keep
        return answers
