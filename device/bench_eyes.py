"""Measures of the eyes for `ausguck bench`: the whole read beside the stock YOLO26n in the same run, and memory.

The stock network is run from its exported structure (`models/baseline/`), whose numbers are made up here: they change
nothing about the time it takes, and 5 MB of weights need not be shipped. Runs are interleaved, so that whatever else
the machine does meets both alike.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]

SIZE = (1280, 960)
"""Width and height of the picture that is read."""
BASELINE = Path(__file__).resolve().parents[1] / "models" / "baseline" / "yolo26n-640.ncnn.param"
FLOAT16 = np.array(0x01306B47, np.uint32)
"""The mark that NCNN writes before weights of 16 bits."""


def eight_dice(*, size: tuple[int, int] = SIZE, die: int = 46, seed: int = 3) -> Image:
    """A drawn table with eight dice: (h, w, 3) uint8 BGR."""
    import cv2

    from datasets.drawings.faces import ink_mask, sample_ink
    from scorer.faces import Face

    rng = np.random.default_rng(seed)
    w, h = size
    image: np.ndarray = np.full((h, w, 3), (52, 84, 118), np.float32)
    image += cv2.GaussianBlur(rng.normal(0, 30, (h, w, 1)).astype(np.float32), (0, 0), 4)[..., None]
    for number in range(8):
        face = tuple(Face)[number % 6]
        x = round(w * (0.27 + 0.15 * (number % 4)) + rng.uniform(-15, 15))
        y = round(h * (0.4 + 0.2 * (number // 4)) + rng.uniform(-15, 15))
        art = np.full((die * 4, die * 4, 3), 232, np.float32)
        ink = np.asarray(ink_mask(face, die * 4), np.float32)[..., None]
        art = art * (1 - ink) + np.array(sample_ink(face, rng)[::-1], np.float32) * ink
        turn = cv2.getRotationMatrix2D((die * 2, die * 2), float(rng.uniform(0, 360)), 0.25)
        turn[:, 2] += np.array([x, y]) - die * 2
        body = np.zeros((die * 4, die * 4), np.float32)
        cv2.rectangle(body, (die, die), (die * 3, die * 3), 1, -1)
        body = np.minimum(cv2.dilate(body, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (die * 2 - 3,) * 2)), 1)
        shade = cv2.GaussianBlur(cv2.warpAffine(body, turn, (w, h)), (0, 0), die / 10)
        image *= (1 - 0.5 * np.roll(shade, (die // 10, die // 8), (0, 1)))[..., None]
        cover = cv2.warpAffine(body, turn, (w, h), flags=cv2.INTER_AREA)[..., None]
        image = image * (1 - cover) + cv2.warpAffine(art, turn, (w, h), flags=cv2.INTER_AREA) * cover
    image = cv2.GaussianBlur(image, (0, 0), 0.7) + rng.normal(0, 2.5, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def made_up_weights(param: str, seed: int = 1) -> bytes:
    """Weights that fit the structure `param` (NCNN text): every convolution in 16 bits, small and random."""
    rng = np.random.default_rng(seed)
    parts: list[bytes] = []
    for line in param.splitlines()[2:]:
        kind, *words = line.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        if kind in ("Convolution", "ConvolutionDepthWise", "InnerProduct"):
            outputs = int(options["0"])
            count = int(options["2" if kind == "InnerProduct" else "6"])
            biased = int(options.get("1" if kind == "InnerProduct" else "5", "0"))
            # He's rule keeps the activations in range whatever the depth: overflow or denormals would change the time.
            weights = rng.normal(0, (2 * outputs / count) ** 0.5 * 0.8, count).astype(np.float16).tobytes()
            parts += [FLOAT16.tobytes(), weights + b"\0" * (-len(weights) % 4)]
            if biased:
                parts.append(np.zeros(outputs, np.float32).tobytes())
        elif kind == "MemoryData":
            count = int(np.prod([int(options[key]) for key in ("0", "1", "2") if key in options]))
            parts.append(np.full(count, 8, np.float32).tobytes())
    return b"".join(parts)


def stock_network(folder: Path, threads: int) -> Callable[[], object]:
    """The stock network, ready to run once: inference alone, its input lies ready."""
    from vision.ncnn_net import NcnnNet

    text = BASELINE.read_text("utf-8")
    param = folder / "stock.ncnn.param"
    param.write_text(text, "utf-8")
    param.with_suffix(".bin").write_bytes(made_up_weights(text))
    net = NcnnNet(param, outputs=("out0",), threads=threads)
    x = np.random.default_rng(2).random((3, 640, 640), np.float32)
    return lambda: net.run(x)


def measure(
    *, runs: int = 30, threads: int = 2, models: Path | None = None, picture: Image | None = None
) -> dict[str, Any]:
    """Medians of `runs` interleaved runs, memory, versions. A value that cannot be had is None, its reason given."""
    from vision.ncnn_net import ModelError
    from vision.reader import Reader

    reasons: dict[str, str] = {}
    figures: dict[str, Any] = {"frame_ms": None, "baseline_ms": None, "ratio": None, "rss_mb": None}
    try:
        reader = Reader.load(models, threads=threads)
    except ModelError as error:
        reasons = dict.fromkeys(figures, str(error))
        return figures | {"reasons": reasons} | _about(threads, runs)
    image = eight_dice() if picture is None else picture
    with tempfile.TemporaryDirectory(prefix="ausguck-bench-") as folder:
        stock = stock_network(Path(folder), threads)
        times, work = interleaved(
            {
                "frame_ms": lambda: reader.read(image),
                "first_look_ms": lambda: reader.find(image),
                "baseline_ms": stock,
            },
            runs,
        )
    figures |= {name: round(1000 * statistics.median(taken), 2) for name, taken in times.items()}
    figures["ratio"] = round(figures["frame_ms"] / figures["baseline_ms"], 4)
    figures |= {f"{name[:-3]}_best_ms": round(1000 * min(taken), 2) for name, taken in times.items()}
    # Pairs of neighbouring runs met the same disturbances: on a busy machine this is the steadier figure.
    pairs = zip(times["frame_ms"], times["baseline_ms"], strict=True)
    figures["ratio_paired"] = round(statistics.median(frame / stock for frame, stock in pairs), 4)
    # Processor time over both threads: what the work costs, whatever else runs.
    figures |= {f"{name[:-3]}_cpu_ms": round(1000 * statistics.median(taken), 2) for name, taken in work.items()}
    figures["dice_read"] = len(reader.read(image).dice)
    if figures["dice_read"] < 8:
        reasons["dice_read"] = "the shipped networks did not find all eight dice of the drawn picture"
    figures |= memory(models, threads)
    if figures["rss_mb"] is None:
        reasons["rss_mb"] = "this system does not tell the memory of a process"
    return figures | {"reasons": reasons} | _about(threads, runs)


def interleaved(
    actions: dict[str, Callable[[], object]], runs: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds, and seconds of processor time, of each run of each action, taking turns.

    The first three rounds warm up and do not count.
    """
    times: dict[str, list[float]] = {name: [] for name in actions}
    work: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(runs + 3):
        for name, action in actions.items():
            began, worked = time.perf_counter(), time.process_time()
            action()
            if number >= 3:
                times[name].append(time.perf_counter() - began)
                work[name].append(time.process_time() - worked)
    return times, work


def memory(models: Path | None, threads: int) -> dict[str, Any]:
    """Megabytes of a fresh process that reads ten frames: at the end, and at most."""
    command = [sys.executable, "-m", "device.bench_eyes", str(threads), *([str(models)] if models else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        return {"rss_mb": None}


def _about(threads: int, runs: int) -> dict[str, Any]:
    import cv2
    import ncnn

    return {
        "threads": threads,
        "runs": runs,
        "frame_size": list(SIZE),
        "baseline": "Ultralytics YOLO26n, 640×640, NCNN, inference alone (structure as exported, made-up weights)",
        "versions": {
            "python": platform.python_version(),
            "ncnn": ncnn.__version__,
            "opencv": cv2.__version__,
            "numpy": np.__version__,
        },
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _from_status(key: str) -> float | None:
    """Megabytes from the kernel's word about this process; `ru_maxrss` would still know the process that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next((line for line in status.read_text().splitlines() if line.startswith(key)), None)
    return round(int(line.split()[1]) / 1024, 1) if line else None


def main(words: list[str]) -> int:
    """Read ten frames and print this process's memory: what `memory` starts."""
    from vision.reader import Reader

    reader = Reader.load(Path(words[1]) if len(words) > 1 else None, threads=int(words[0]))
    # Noise, not the drawn table: drawing would load rooms that a process that reads does not need.
    image = np.random.default_rng(1).integers(0, 255, (SIZE[1], SIZE[0], 3), np.uint8)
    boxes = np.array([[100 * i, 100, 100 * i + 50, 150] for i in range(8)], np.float32)
    for _ in range(10):
        reader.read(image)
        reader.second.look(image, boxes)
    print(json.dumps({"rss_mb": _from_status("VmRSS"), "rss_most_mb": _from_status("VmHWM")}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
