"""Measures a reader on labelled pictures: whole rolls first, then dice.

In: a reader, and pictures with what really lies there. Out: a `Tally` of counts, each with its Wilson interval. The
measure that must go to zero is the silent misread: a picture reported as certain and wrong.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from scorer.faces import DICE, Face

from .certainty import FACES, Evidence, Labelled
from .detector import CLASSES
from .ncnn_net import Floats
from .reading import Box, Image, Reading, Status
from .secondlook import LABELS
from .yolo import overlap

MATCHED = 0.4
"""A read box and a true one that share this much of their union are the same die."""
PRESENT = 0.3
"""A die of which at least this share can be seen counts as lying there."""
WHOLE = 0.9
"""A die of which less can be seen is partly covered: its picture is not one of eight dice lying open."""


class DataError(ValueError):
    """Labelled pictures that cannot be used. `str(error)` is a sentence."""


@dataclass(frozen=True, slots=True)
class TrueDie:
    """One die that really lies there."""

    face: str
    """A face, or "foreign_die"."""
    box: Box
    cocked: bool = False
    visible: float = 1.0
    at_border: bool = False
    size: float = 0.0
    """Edge in pixels; 0 where unknown."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One labelled picture."""

    path: Path
    session: str
    dice: tuple[TrueDie, ...]
    hand: bool = False
    card: str | None = None

    @property
    def present(self) -> tuple[TrueDie, ...]:
        """The dice that can be seen."""
        return tuple(die for die in self.dice if die.visible >= PRESENT)

    @property
    def faces(self) -> Counter[str]:
        """Our faces, with how often each lies there."""
        return Counter(die.face for die in self.present if die.face != "foreign_die")

    @property
    def kinds(self) -> frozenset[str]:
        """What is special: `plain`, or any of `seven`, `nine`, `foreign`, `cocked`, `border`, `covered`, `hand`."""
        ours = sum(self.faces.values())
        kinds = {
            "seven": ours < DICE,
            "nine": ours > DICE,
            "foreign": any(die.face == "foreign_die" for die in self.present),
            "cocked": any(die.cocked for die in self.present),
            "border": any(die.at_border for die in self.present),
            "covered": any(die.visible < WHOLE for die in self.dice),
            "hand": self.hand,
        }
        return frozenset(kind for kind, holds in kinds.items() if holds) or frozenset({"plain"})


NEVER = ("seven", "nine", "foreign", "cocked")
"""Kinds of picture that may never be reported as certain."""


def load_scenes(folder: Path, *, split: str = "val") -> list[Scene]:
    """The labelled pictures of a folder: `records/<split>/*.json` as our renderer writes them, or a JSON beside each
    picture, or YOLO text labels (`images/<split>`, `labels/<split>`). Raises DataError.
    """
    for place in (folder / "records" / split, folder / "records", folder):
        records = sorted(place.glob("*.json"))
        scenes = [scene for path in records if (scene := _from_record(path, folder, split)) is not None]
        if scenes:
            return scenes
    images = folder / "images" / split
    scenes = [_from_yolo(path, folder, split) for path in sorted(images.glob("*"))] if images.is_dir() else []
    if not scenes:
        raise DataError(
            f"expected labelled pictures in {folder} (a JSON record beside each, or images/ and labels/), found none: "
            "render some with `ausguck dataset render`"
        )
    return scenes


def _from_record(path: Path, folder: Path, split: str) -> Scene | None:
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise DataError(f"expected a JSON record in {path}, but it cannot be read: {error}") from error
    if not isinstance(data, dict) or "dice" not in data:
        return None
    name = Path(str(data.get("file", path.stem + ".jpg")))
    places = [path.parent / name, folder / name, folder / "images" / split / name.name, folder / "images" / name.name]
    picture = next((place for place in places if place.is_file()), None)
    if picture is None:
        raise DataError(f"expected the picture {name} that {path} labels, found none")
    cards = [str(card.get("name")) for card in data.get("cards", [])]
    return Scene(
        picture,
        str(data.get("session", path.stem)),
        tuple(_true_die(die) for die in data["dice"]),
        bool(data.get("hands")),
        cards[0] if len(cards) == 1 else None,
    )


def _true_die(die: dict[str, Any]) -> TrueDie:
    if die.get("face") not in CLASSES:
        raise DataError(f"expected a face among {', '.join(CLASSES[:7])}, got {die.get('face')!r}")
    x0, y0, x1, y1 = (float(v) for v in die["box"])
    return TrueDie(
        die["face"],
        (x0, y0, x1, y1),
        bool(die.get("cocked", False)),
        float(die.get("visible", 1.0)),
        bool(die.get("at_border", False)),
        float(die.get("px", 0.0)),
    )


def _from_yolo(picture: Path, folder: Path, split: str) -> Scene:
    import cv2

    lines = (folder / "labels" / split / f"{picture.stem}.txt").read_text("utf-8").splitlines()
    image = cv2.imread(str(picture))
    if image is None:
        raise DataError(f"expected a picture in {picture}, but it cannot be read")
    h, w = image.shape[:2]
    dice, hand = [], False
    for line in lines:
        kind, *rest = line.split()
        x, y, bw, bh = (float(v) for v in rest)
        box = ((x - bw / 2) * w, (y - bh / 2) * h, (x + bw / 2) * w, (y + bh / 2) * h)
        border = box[0] <= 1 or box[1] <= 1 or box[2] >= w - 1 or box[3] >= h - 1
        hand |= CLASSES[int(kind)] == "hand"
        if int(kind) <= CLASSES.index("foreign_die"):
            dice.append(TrueDie(CLASSES[int(kind)], box, at_border=border))
    return Scene(picture, picture.stem.split("_")[0], tuple(dice), hand)


def half(scenes: Iterable[Scene], which: int) -> list[Scene]:
    """One half of the scenes, whole sessions only: one to calibrate on, the other to measure on."""
    return [scene for scene in scenes if zlib.crc32(scene.session.encode()) % 2 == which]


def wilson(hits: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    if of == 0:
        return 0.0, 1.0
    p, z2 = hits / of, z * z
    middle = (p + z2 / (2 * of)) / (1 + z2 / of)
    reach = z / (1 + z2 / of) * float(np.sqrt(p * (1 - p) / of + z2 / (4 * of * of)))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def share(hits: int, of: int) -> dict[str, float | int | None]:
    """A count as JSON: the share, its interval, and the counts themselves."""
    low, high = wilson(hits, of)
    return {
        "share": round(hits / of, 5) if of else None,
        "count": hits,
        "of": of,
        "low": round(low, 5),
        "high": round(high, 5),
    }


def match(boxes: Floats, dice: tuple[TrueDie, ...]) -> list[int]:
    """For each of the boxes (n, 4) the number of the true die that it lies on, or -1; each die at most once."""
    if len(boxes) == 0 or not dice:
        return [-1] * len(boxes)
    truth = np.array([die.box for die in dice], np.float32)
    shared = np.stack([overlap(box, truth)[0] for box in boxes])
    found = [-1] * len(boxes)
    while shared.max() >= MATCHED:
        i, j = np.unravel_index(int(shared.argmax()), shared.shape)
        found[int(i)] = int(j)
        shared[i], shared[:, j] = 0, 0
    return found


def label(evidence: Evidence, scene: Scene) -> Labelled:
    """The truth for every die of the evidence, to calibrate on."""
    found = match(evidence.boxes, scene.dice)
    labels = [LABELS.index(scene.dice[j].face) if j >= 0 else LABELS.index("nothing") for j in found]
    return Labelled(
        evidence, np.array(labels, np.int64), np.array([j >= 0 and scene.dice[j].cocked for j in found], bool)
    )


@dataclass(slots=True)
class Tally:
    """Counts over pictures."""

    pictures: int = 0
    sessions: set[str] = field(default_factory=set)
    plain: int = 0
    exact: int = 0
    plain_certain: int = 0
    certain: int = 0
    silent: int = 0
    silent_plain: int = 0
    dice: int = 0
    dice_found: int = 0
    dice_right: int = 0
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    kinds_certain: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    """Of plain pictures that were doubted: why."""
    failing: list[dict[str, Any]] = field(default_factory=list)

    def add(self, scene: Scene, reading: Reading) -> str | None:
        """Count one picture; returns what failed, or None."""
        self.pictures += 1
        self.sessions.add(scene.session)
        certain = reading.status is Status.CERTAIN
        exact = Counter(die.face.value for die in reading.ours) == scene.faces
        self.certain += certain
        for kind in scene.kinds:
            self.kinds[kind] += 1
            self.kinds_certain[kind] += certain
        self._add_dice(scene, reading)
        if "plain" in scene.kinds:
            self.plain += 1
            self.exact += exact
            self.plain_certain += certain
            self.silent_plain += certain and not exact
            if not certain:
                self.problems.update(problem.value for problem in reading.problems)
        self.silent += certain and not exact
        failure = self._failure(scene, certain, exact)
        if failure:
            self.failing.append(
                {
                    "file": scene.path.name,
                    "failure": failure,
                    "kinds": sorted(scene.kinds),
                    "read": [face.value for face in reading.faces],
                    "truth": sorted(scene.faces.elements()),
                    "problems": [problem.value for problem in reading.problems],
                }
            )
        return failure

    @staticmethod
    def _failure(scene: Scene, certain: bool, exact: bool) -> str | None:
        never = sorted(set(NEVER) & scene.kinds)
        if certain and never:
            return "certain_" + "_".join(never)
        if certain and not exact:
            return "silent_misread"
        if "plain" in scene.kinds and not exact:
            return "not_exact"
        return "doubted" if "plain" in scene.kinds and not certain else None

    def _add_dice(self, scene: Scene, reading: Reading) -> None:
        boxes = np.array([die.box for die in reading.dice], np.float32).reshape(-1, 4)
        found = match(boxes, scene.dice)
        for die, j in zip(reading.dice, found, strict=True):
            truth = scene.dice[j] if j >= 0 else None
            self.confusion[truth.face if truth else "nothing", die.face.value] += 1
            if truth and _counts(truth):
                self.dice_found += 1
                self.dice_right += truth.face == die.face.value
        for j, truth in enumerate(scene.dice):
            self.dice += _counts(truth)
            if j not in found and truth.visible >= PRESENT:
                self.confusion[truth.face, "nothing"] += 1

    def to_json(self) -> dict[str, Any]:
        """All figures, with counts and 95 % intervals."""
        rows = [*(face.value for face in FACES), "foreign_die", "nothing"]
        columns = [*(face.value for face in FACES), "nothing"]
        return {
            "pictures": self.pictures,
            "sessions": len(self.sessions),
            "exact_roll": share(self.exact, self.plain),
            "silent_misreads": share(self.silent_plain, self.plain),
            "silent_misreads_all": share(self.silent, self.pictures),
            "certain": share(self.plain_certain, self.plain),
            "per_die": share(self.dice_right, self.dice),
            "dice_found": share(self.dice_found, self.dice),
            "never_certain": {kind: share(self.kinds_certain[kind], self.kinds[kind]) for kind in NEVER},
            "certain_by_kind": {kind: share(self.kinds_certain[kind], n) for kind, n in sorted(self.kinds.items())},
            "doubted_because": dict(self.problems.most_common()),
            "confusion": {
                "truth": rows,
                "read": columns,
                "counts": [[self.confusion[row, column] for column in columns] for row in rows],
            },
            "failing": self.failing,
        }


def _counts(die: TrueDie) -> bool:
    """Whether per-die accuracy counts this die: ours, flat, whole and open."""
    return die.face != "foreign_die" and not die.cocked and not die.at_border and die.visible >= WHOLE


# --- real photographs of single faces ---

FACE_WORDS: dict[Face, tuple[str, ...]] = {
    Face.COIN: ("coin", "oro"),
    Face.DIAMOND: ("diamond", "diamante"),
    Face.MONKEY: ("monkey", "mono"),
    Face.PARROT: ("parrot", "perroquet", "loro"),
    Face.SABERS: ("saber", "sword", "sable"),
    Face.SKULL: ("skull", "calavera"),
}
"""Words in a file's name that say which face it shows (English, French, Spanish)."""


def face_of(path: Path) -> Face | None:
    """Which face the file's name promises."""
    name = path.stem.lower()
    found = [(len(word), face) for face, words in FACE_WORDS.items() for word in words if word in name]
    # The longest word counts: "loro" (parrot) holds "oro" (gold).
    return max(found)[1] if found else None


def face_crops(
    paths: Iterable[Path], sizes: Iterable[int], *, seed: int = 0
) -> Iterator[tuple[Path, Face, int, Image, Box]]:
    """Photographs of faces (with transparency) as dice on plain tables: path, face, die size, picture, box.

    A cut-out of a symbol is laid on a white body with round corners; a whole face is taken as it is. Each comes in
    four turns on different tables.
    """
    rng = np.random.default_rng(seed)
    for path in paths:
        face = face_of(path)
        if face is None:
            continue
        art = _die_art(path)
        for size in sizes:
            for turn in range(4):
                image, box = _lay(art, size, 90 * turn + float(rng.uniform(-30, 30)), rng)
                yield path, face, size, image, box


ART = 480
"""Side of the large picture of a die from which small ones are made; the die itself is two thirds of it."""


def _die_art(path: Path) -> np.ndarray:
    """(ART, ART, 4) float32: premultiplied BGR and alpha."""
    import cv2

    source = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    if source is None or source.ndim != 3 or source.shape[2] != 4:
        raise DataError(f"expected a picture with transparency in {path}, found none")
    edge = ART * 2 // 3
    alpha = source[..., 3].astype(np.float32) / 255
    solid = float(alpha.mean()) > 0.9
    # Symbols fill their picture; on a die they take about 0.76 of the edge. Whole faces are all of it.
    side = edge if solid else round(0.76 * edge)
    small = cv2.resize(source, (side, side), interpolation=cv2.INTER_AREA).astype(np.float32)
    body = np.zeros((edge, edge, 4), np.float32)
    y, x = np.mgrid[0:edge, 0:edge].astype(np.float32)
    reach = np.maximum(np.abs(x - edge / 2 + 0.5), np.abs(y - edge / 2 + 0.5)) / (edge / 2)
    rounded = (np.abs(x - edge / 2 + 0.5) / (edge / 2)) ** 5 + (np.abs(y - edge / 2 + 0.5) / (edge / 2)) ** 5 <= 1
    body[rounded] = (232, 233, 235, 1)
    body[..., :3] *= (1 - 0.18 * np.clip(reach - 0.8, 0, 1) / 0.2)[..., None]
    low = (edge - side) // 2
    part = body[low : low + side, low : low + side]
    cover = (small[..., 3:] / 255) * part[..., 3:]
    part[..., :3] = part[..., :3] * (1 - cover) + small[..., :3] * cover
    art = np.zeros((ART, ART, 4), np.float32)
    low = (ART - edge) // 2
    art[low : low + edge, low : low + edge] = body
    art[..., :3] *= art[..., 3:]
    return art


def _lay(art: np.ndarray, size: int, angle: float, rng: np.random.Generator) -> tuple[Image, Box]:
    """One die of `size` pixels, turned by `angle` degrees, in the middle of a plain table."""
    import cv2

    edge, side = ART * 2 // 3, max(96, 3 * size)
    turn = cv2.getRotationMatrix2D((ART / 2 - 0.5, ART / 2 - 0.5), angle, 1.0)
    turned = cv2.warpAffine(art, turn, (ART, ART), flags=cv2.INTER_LINEAR)
    scale = size / edge
    small = cv2.resize(turned, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    colours = ((60, 95, 140), (70, 110, 60), (90, 80, 75), (150, 160, 165), (40, 45, 50))
    colour = np.array(colours[int(rng.integers(len(colours)))], np.float32)
    grain = cv2.GaussianBlur(rng.normal(0, 14, (side, side, 1)).astype(np.float32), (0, 0), 1.5)
    table = colour + grain.reshape(side, side, 1)
    low = (side - small.shape[0]) // 2
    part = table[low : low + small.shape[0], low : low + small.shape[1]]
    part[:] = part * (1 - small[..., 3:]) + small[..., :3]
    ys, xs = np.nonzero(small[..., 3] > 0.5)
    box = (low + float(xs.min()), low + float(ys.min()), low + float(xs.max()) + 1, low + float(ys.max()) + 1)
    return np.clip(table + rng.normal(0, 2, table.shape), 0, 255).astype(np.uint8), box


# --- what lamps do to a picture ---


def disturbances() -> dict[str, Callable[[Image], Image]]:
    """Changes of light under which a reading must stay right or become doubtful, by name (a lamp, a window, a hand)."""
    gains = {f"gain {gain}": _times(gain, gain, gain) for gain in (0.6, 0.8, 1.2, 1.5)}
    casts = {
        "red +15 %": _times(1, 1, 1.15),
        "red -15 %": _times(1, 1, 0.85),
        "blue +15 %": _times(1.15, 1, 1),
        "blue -15 %": _times(0.85, 1, 1),
    }
    return {**gains, **casts, "lamp bands": _bands, "half shadow": _half_shadow, "blur 3 px": _blur}


def _times(blue: float, green: float, red: float) -> Callable[[Image], Image]:
    factors = np.array([blue, green, red], np.float32)
    return lambda image: np.clip(image * factors, 0, 255).astype(np.uint8)


def _bands(image: Image) -> Image:
    """Mains flicker of a lamp (100 Hz) on a rolling shutter: bright and dark bands over the rows."""
    rows = 1 + 0.18 * np.sin(np.linspace(0, 5.3 * 2 * np.pi, image.shape[0], dtype=np.float32))
    return np.clip(image * rows[:, None, None], 0, 255).astype(np.uint8)


def _half_shadow(image: Image) -> Image:
    """The shadow of an arm over one half, with a soft edge."""
    w = image.shape[1]
    edge = 1 / (1 + np.exp(-(np.arange(w, dtype=np.float32) - w / 2) / (0.01 * w)))
    return np.clip(image * (0.5 + 0.5 * edge)[None, :, None], 0, 255).astype(np.uint8)


def _blur(image: Image) -> Image:
    import cv2

    return np.asarray(cv2.GaussianBlur(image, (0, 0), 3), np.uint8)
