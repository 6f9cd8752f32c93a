"""Measures the card reader on shots drawn with new seeds on tables held out from training, and calibrates it.

`python -m models.recipes.card_metrics calibrate` prints the fitted temperature and what each bound of certainty would
mean, for `models/cards.json`; `… score` prints counts, one JSON line a source of card art. Needs no PyTorch.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

from datasets.quick.cards import LABELS, card_art, card_shot
from vision.cards import BACK, UNKNOWN, CardCalibration, CardReader, Examined
from vision.ncnn_net import Floats

MODELS = Path(__file__).resolve().parents[1]
SOURCES = ("own", "a", "b", "c", "unknown")
SEEN = 0.6
"""Share of a card that has to show before not naming it is a fault."""
SIDE = 320
"""Pixels of the pictures measured on; the card is half as large."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One card, and what was measured on it."""

    source: str
    label: int
    visible: float
    seen: Examined
    corner_error: float
    """Mean distance of the corners found from the true ones, in lengths of the card."""


def draw(source: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int, float, np.ndarray]:
    """A picture, the card's box as a detector finds it, label, share that shows, true corners in pixels."""
    own, folder = source == "own", source if source in "abc" else ""
    if source == "unknown":
        label = "unknown"
    else:
        known = [name for name in LABELS[:UNKNOWN] if card_art(name, own=own, reference=not own, folder=folder)]
        label = str(rng.choice(known))
    shot = card_shot(
        rng, SIDE, label=label, own=own or source == "unknown", reference=not own, folder=folder,
        shrink=(1.0, 2.2), zoom=(1.8, 2.2), held_out=True,
    )  # fmt: skip
    corners, image, visible = shot.corners * SIDE, shot.image, shot.visible
    if rng.random() < 0.1:  # cut by the frame
        low, high = corners.min(0), corners.max(0)
        at = int(low[0] + rng.uniform(0.05, 0.35) * (high[0] - low[0]))
        mask = np.zeros((SIDE, SIDE), np.uint8)
        cv2.fillConvexPoly(mask, corners.astype(np.int32), 1)
        visible *= float(mask[:, at:].sum() / max(mask.sum(), 1))
        image, corners = np.ascontiguousarray(image[:, at:]), corners - np.array([at, 0])
    h, w = image.shape[:2]
    box = np.concatenate((corners.min(0), corners.max(0)))
    size = float(max(box[2] - box[0], box[3] - box[1]))
    box = (box + rng.normal(0, 0.02, 4) * size).clip(0, [w, h, w, h]).astype(np.float32)
    return image, box, shot.label, visible, corners


def _measure(job: tuple[str, int, int, Path]) -> list[Sample]:
    source, seed, count, models = job
    cv2.setNumThreads(1)
    reader, rng, samples = CardReader.load(models), np.random.default_rng(seed), []
    for _ in range(count):
        image, box, label, visible, truth = draw(source, rng)
        seen = reader.examine(image, box)
        samples.append(Sample(source, label, visible, seen, corner_error(seen.quad, truth)))
    return samples


def measure_scenes(folder: Path, models: Path) -> Iterator[Sample]:
    """The cards of whole rendered pictures (`images/val`, `records/val`), from boxes as wrong as a detector's."""
    reader, rng = CardReader.load(models), np.random.default_rng(1)
    for path in sorted((folder / "records" / "val").glob("*.json")):
        record = json.loads(path.read_text())
        image = cv2.imread(str(folder / "images" / "val" / record["file"])) if record["cards"] else None
        if image is None:
            continue
        for card in record["cards"]:
            box = np.array(card["box"], np.float32)
            size = float(max(box[2] - box[0], box[3] - box[1]))
            box = (box + rng.normal(0, 0.02, 4) * size).astype(np.float32)
            seen, truth = reader.examine(np.asarray(image, np.uint8), box), np.array(card["corners"])
            source = f"scenes {card.get('art', '')}".strip()
            yield Sample(source, LABELS.index(card["name"]), card["visible"], seen, corner_error(seen.quad, truth))


def corner_error(quad: Floats, truth: np.ndarray) -> float:
    """Mean distance of the corners from the true ones ((4, 2)), either way up, in lengths of the card."""
    length = float(np.linalg.norm(truth[3] - truth[0]))
    return min(float(np.linalg.norm(np.roll(quad, 2 * k, 0) - truth, axis=1).mean()) for k in (0, 1)) / length


def measure(count: int, seed: int, models: Path, processes: int) -> Iterator[Sample]:
    """`count` samples of each source."""
    part = 50
    jobs = [
        (source, seed + 1000 * s + i, part, models)
        for s, source in enumerate(SOURCES)
        for i in range(-(-count // part))
    ]
    with get_context("fork").Pool(processes) as pool:
        for samples in pool.imap(_measure, jobs):
            yield from samples


def calibrate(samples: list[Sample], temperatures: Floats | None = None) -> tuple[float, float]:
    """The temperature that makes cards that show likeliest, and its mean negative log-likelihood."""
    seen = [s for s in samples if s.visible >= SEEN]

    def loss(temperature: float) -> float:
        p = [s.seen.judge(temperature).probabilities[s.label] for s in seen]
        return float(-np.log(np.maximum(p, 1e-6)).mean())

    grid = np.geomspace(0.5, 8, 40) if temperatures is None else temperatures
    losses = [loss(float(t)) for t in grid]
    return float(grid[int(np.argmin(losses))]), min(losses)


def count(samples: list[Sample], calibration: CardCalibration) -> dict[str, float]:
    """How many cards were named, rightly and wrongly; every sample counts for the wrong ones, however little shows."""
    rows = [(s, s.seen.judge(calibration.temperature).probabilities) for s in samples]
    named = [(s, int(p.argmax())) for s, p in rows if p.argmax() < BACK and p.max() >= calibration.certain_from]
    wrong = [(s, label) for s, label in named if s.label != label]
    seen = [(s, p) for s, p in rows if s.visible >= SEEN and s.label < BACK]
    right = [1 for s, p in seen if int(p.argmax()) == s.label and p[s.label] >= calibration.certain_from]
    return {
        "shots": len(samples),
        "known_seen": len(seen),
        "recognised": sum(right),
        "likeliest_right": sum(int(p.argmax()) == s.label for s, p in seen),
        "named": len(named),
        "wrong": len(wrong),
        "wrong_seen": sum(bool(s.visible >= SEEN) for s, _ in wrong),
        "corner_error_median": round(float(np.median([s.corner_error for s in samples if s.visible >= SEEN])), 4),
        "corner_error_p95": round(float(np.quantile([s.corner_error for s in samples if s.visible >= SEEN], 0.95)), 4),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("calibrate", "score"))
    parser.add_argument("--count", type=int, default=300, help="shots of each source of card art")
    parser.add_argument("--seed", type=int, default=0, help="default: 5000000 to calibrate, 7000000 to score")
    parser.add_argument("--models", type=Path, default=MODELS)
    parser.add_argument("--scenes", type=Path, help="measure on these rendered pictures instead of new shots")
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    seed = args.seed or (5_000_000 if args.what == "calibrate" else 7_000_000)
    if args.scenes:
        samples = list(measure_scenes(args.scenes, args.models))
    else:
        samples = list(measure(args.count, seed, args.models, args.processes))
    if args.what == "calibrate":
        temperature, loss = calibrate(samples)
        for bound in (0.9, 0.93, 0.95, 0.97, 0.98, 0.985, 0.99, 0.995, 0.997):
            print(json.dumps({"certain_from": bound, **count(samples, CardCalibration(temperature, bound))}))
        print(json.dumps({"temperature": round(temperature, 3), "loss": round(loss, 4)}))
        return
    calibration = CardCalibration.load(args.models / "cards.json")
    for source in (*dict.fromkeys(s.source for s in samples), ""):
        some = [s for s in samples if source in ("", s.source)]
        print(json.dumps({"source": source or "all", **count(some, calibration)}))
    for s in samples:
        p = s.seen.judge(calibration.temperature).probabilities
        if p.argmax() < BACK and p.max() >= calibration.certain_from and p.argmax() != s.label:
            seen = {"visible": round(s.visible, 2), "corners": round(s.corner_error, 3), "p": round(float(p.max()), 4)}
            print(json.dumps({"source": s.source, "truth": LABELS[s.label], "named": LABELS[int(p.argmax())], **seen}))


if __name__ == "__main__":
    main()
