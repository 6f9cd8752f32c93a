"""From two readings of a die to one face and an honest probability that it is right.

The first look's class scores and the second look's probabilities are fused (a weighted product). How often such a
reading is right is then learnt on a validation set that training never saw: logistic regression on what both looks
said, how far turned views differed, and how well the die was seen. `ausguck evaluate --calibrate` fits it; the numbers
lie in `models/certainty.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.faces import Face

from .ncnn_net import Floats, ModelError
from .quality import Quality
from .secondlook import LABELS, Looks, log_softmax

FACES = tuple(Face)
FOREIGN, NOTHING = LABELS.index("foreign_die"), LABELS.index("nothing")
FEATURES = (
    "second look: log odds of the face",
    "both: log ratio to the runner-up",
    "second look: spread of the views",
    "first look: log odds of the face among dice",
    "first look: surest score",
    "size, log2 of pixels / 40",
    "sharpness",
    "likeness to the face's middle embedding",
)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that was fitted. The defaults serve until `certainty.json` exists."""

    temperature: float = 1.0
    """Divides the second look's logits."""
    first_weight: float = 0.35
    """Weight of the first look in the fused log probabilities."""
    centre: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    """Bias first, then one a feature (standardised by `centre` and `scale`). Empty: the fused probability is taken."""
    certain_from: float = 0.97
    """A die is certain from this probability on."""
    cocked_from: float = 0.5
    foreign_from: float = 0.3
    differ_from: float = 0.5
    """The readers are in conflict when the first look gives another face this share of its scores for dice."""
    middles: tuple[tuple[float, ...], ...] = ()
    """One middle embedding a face (unit length); empty until fitted."""
    likeness: tuple[float, ...] = ()
    """The least likeness (cosine) to its middle that a face of ours may have."""
    fitted_on: str = ""

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """Read `certainty.json`. A file that is missing gives the defaults; one that is damaged raises ModelError."""
        if not path.is_file():
            return cls()
        try:
            data = json.loads(path.read_text("utf-8"))
            known = {f.name for f in fields(cls)}
            return cls(**{key: _tuples(value) for key, value in data.items() if key in known})
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"expected fitted certainties in {path}, but it cannot be read ({error})") from error

    def save(self, path: Path) -> None:
        """Write as JSON, one key a line."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """All that is known of n dice of one frame before anything is decided."""

    boxes: Floats
    """(n, 4) float32 xyxy, pixels."""
    scores: Floats
    """(n, classes) float32: the first look."""
    looks: Looks
    qualities: tuple[Quality, ...]
    contested: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What the fused readings say of n dice."""

    fused: Floats
    """(n, len(LABELS)) probabilities."""
    faces: npt.NDArray[np.int64]
    """(n,) index of the likeliest face."""
    certainty: Floats
    """(n,) calibrated probability that the face is right."""
    features: Floats
    """(n, len(FEATURES))."""


def fuse(evidence: Evidence, calibration: Calibration) -> Floats:
    """Probabilities over `LABELS` from both looks, (n, len(LABELS))."""
    second = log_softmax(evidence.looks.log_probabilities / calibration.temperature)
    return np.exp(log_softmax(second + calibration.first_weight * _first_log(evidence.scores)))


def _first_log(scores: Floats) -> Floats:
    """The first look's scores as log probabilities over `LABELS`: what is left of certainty goes to "nothing"."""
    dice = scores[:, : FOREIGN + 1]
    seen = np.concatenate([dice, 1 - dice.max(1, keepdims=True, initial=0)], 1)
    seen = np.maximum(seen, 0.01)
    return np.asarray(np.log(seen / seen.sum(1, keepdims=True)), np.float32)


def weigh(evidence: Evidence, calibration: Calibration) -> Verdict:
    """Decide the face of each die, and how certain it is."""
    fused = fuse(evidence, calibration)
    n = len(fused)
    faces = fused[:, : len(FACES)].argmax(1) if n else np.zeros(0, np.int64)
    features = _features(evidence, fused, faces, calibration)
    if calibration.weights:
        x = (features - np.array(calibration.centre)) / np.array(calibration.scale)
        certainty = _sigmoid(calibration.weights[0] + x @ np.array(calibration.weights[1:]))
    else:
        certainty = fused[np.arange(n), faces] * (1 - 0.5 * evidence.looks.spread)
    return Verdict(fused, faces, np.asarray(certainty, np.float32), features)


def other_share(evidence: Evidence, verdict: Verdict) -> Floats:
    """How strongly the first look names another face: that face's share of its scores for dice, (n,)."""
    dice = evidence.scores[:, : FOREIGN + 1].copy()
    total = np.maximum(dice.sum(1), 1e-6)
    dice[np.arange(len(dice)), verdict.faces] = 0
    return np.asarray(dice.max(1, initial=0) / total, np.float32)


def likeness(evidence: Evidence, faces: npt.NDArray[np.int64], calibration: Calibration) -> Floats:
    """Cosine between each die's embedding and the middle of its face, (n,); 1 while nothing is fitted."""
    if not calibration.middles or len(faces) == 0:
        return np.ones(len(faces), np.float32)
    middles = np.array(calibration.middles, np.float32)[faces]
    if middles.shape != evidence.looks.embeddings.shape:
        return np.ones(len(faces), np.float32)
    return np.asarray((middles * evidence.looks.embeddings).sum(1), np.float32)


def _features(evidence: Evidence, fused: Floats, faces: npt.NDArray[np.int64], calibration: Calibration) -> Floats:
    n = len(faces)
    rows = np.arange(n)
    second = np.exp(evidence.looks.log_probabilities)[rows, faces]
    ordered = np.sort(fused, 1)
    ratio = np.log(np.maximum(fused[rows, faces], 1e-9) / np.maximum(_best_other(fused, faces, ordered), 1e-9))
    dice = evidence.scores[:, : FOREIGN + 1]
    share = dice[rows, faces] / np.maximum(dice.sum(1), 1e-6)
    size = np.array([q.size for q in evidence.qualities], np.float32)
    columns = [
        np.clip(_logit(second), -10, 10),
        np.clip(ratio, -5, 12),
        evidence.looks.spread,
        np.clip(_logit(share), -6, 6),
        dice.max(1, initial=0),
        np.clip(np.log2(np.maximum(size, 1) / 40), -2, 2),
        np.array([q.sharpness for q in evidence.qualities], np.float32),
        likeness(evidence, faces, calibration),
    ]
    return np.stack(columns, 1).astype(np.float32) if n else np.zeros((0, len(FEATURES)), np.float32)


def _best_other(fused: Floats, faces: npt.NDArray[np.int64], ordered: Floats) -> Floats:
    """The largest probability of any other label."""
    if len(fused) == 0:
        return np.zeros(0, np.float32)
    chosen = fused[np.arange(len(faces)), faces]
    return np.where(chosen >= ordered[:, -1], ordered[:, -2], ordered[:, -1])


def _logit(p: Floats) -> Floats:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(p / (1 - p)), np.float32)


def _sigmoid(x: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -30, 30))))


# --- fitting ---


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Evidence of one picture with the truth for each die found: index of its label in `LABELS`, and cocked or not."""

    evidence: Evidence
    labels: npt.NDArray[np.int64]
    """(n,) index into LABELS; "nothing" where no die lies."""
    cocked: npt.NDArray[np.bool_]
    """(n,)."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A calibration, and how it did on what it was fitted on."""

    calibration: Calibration
    ece: float
    """Expected calibration error over the dice, ten bins of equal count."""
    brier: float
    dice: int
    wrong: int
    bins: tuple[tuple[float, float, int], ...] = field(default=())
    """For the diagram: mean certainty, share that was right, count."""


def fit(pictures: Sequence[Labelled], start: Calibration | None = None, *, fitted_on: str = "") -> Fit:
    """Fit a calibration on labelled pictures. Order: fusion, middles of the faces, certainty, thresholds."""
    calibration = _fit_fusion(pictures, start or Calibration(temperature=1.0))
    calibration = _fit_middles(pictures, replace(calibration, weights=(), middles=(), likeness=()))
    x, right = _rows(pictures, calibration)
    if len(x) < 50:
        raise ValueError(f"expected at least 50 labelled dice to fit on, got {len(x)}: give more pictures")
    centre, scale = x.mean(0), np.maximum(x.std(0), 1e-3)
    weights = _logistic((x - centre) / scale, right)
    calibration = replace(
        calibration, centre=_plain(centre), scale=_plain(scale), weights=_plain(weights), fitted_on=fitted_on
    )
    calibration = _fit_thresholds(pictures, calibration)
    certainty = _sigmoid(weights[0] + ((x - centre) / scale) @ weights[1:])
    bins = reliability(certainty, right)
    ece = sum(abs(p - share) * n for p, share, n in bins) / max(len(right), 1)
    return Fit(calibration, ece, float(((certainty - right) ** 2).mean()), len(right), int((~right).sum()), bins)


def _plain(values: npt.NDArray[np.floating]) -> tuple[float, ...]:
    return tuple(round(float(v), 5) for v in values)


def _fit_fusion(pictures: Sequence[Labelled], start: Calibration) -> Calibration:
    """Temperature and weight of the first look, by trying: fewest misread dice of ours, then the least log loss.

    Log loss alone would cool the second look, for the sake of its rare errors, until the first look's many prevail.
    """
    full = [p for p in pictures if len(p.labels)]
    labels = np.concatenate([p.labels for p in full])
    ours = labels < len(FACES)
    labels = labels[ours]
    second = np.concatenate([p.evidence.looks.log_probabilities for p in full])[ours]
    first = np.concatenate([_first_log(p.evidence.scores) for p in full])[ours]
    rows = np.arange(len(labels))

    def loss(temperature: float, weight: float) -> float:
        cooled = log_softmax(np.asarray(second / temperature, np.float32))
        logs = log_softmax(np.asarray(cooled + weight * first, np.float32))
        misread = float((logs[:, : len(FACES)].argmax(1) != labels).mean())
        return 10 * misread - float(np.maximum(logs[rows, labels], -12).mean())

    tried = [(loss(t, w), t, w) for t in np.geomspace(0.7, 2.8, 9) for w in np.linspace(0.05, 1.0, 12)]
    _, temperature, weight = min(tried)
    return replace(start, temperature=round(float(temperature), 4), first_weight=round(float(weight), 4))


def _fit_middles(pictures: Sequence[Labelled], calibration: Calibration) -> Calibration:
    embeddings = np.concatenate([p.evidence.looks.embeddings for p in pictures if len(p.labels)])
    labels = np.concatenate([p.labels for p in pictures if len(p.labels)])
    middles, least = [], []
    for face in range(len(FACES)):
        mine = embeddings[labels == face]
        if len(mine) < 5:
            return calibration
        middle = mine.mean(0)
        middle = middle / max(float(np.linalg.norm(middle)), 1e-6)
        middles.append(tuple(round(float(v), 4) for v in middle))
        likes = mine @ middle
        low = float(np.quantile(likes, 0.001))
        least.append(round(low - 0.25 * (float(np.median(likes)) - low), 4))
    return replace(calibration, middles=tuple(middles), likeness=tuple(least))


def _rows(pictures: Sequence[Labelled], calibration: Calibration) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Features, and right or wrong, of every die that would be read (not of what is thrown out)."""
    xs, rights = [], []
    for picture in pictures:
        verdict = weigh(picture.evidence, calibration)
        read = verdict.fused[:, NOTHING] < 0.5
        xs.append(verdict.features[read])
        rights.append((verdict.faces == picture.labels)[read])
    return np.concatenate(xs), np.concatenate(rights)


def _logistic(
    x: npt.NDArray[np.floating], right: npt.NDArray[np.bool_], ridge: float = 1.0
) -> npt.NDArray[np.floating]:
    """Logistic regression by Newton's method; the ridge keeps it finite where nothing is ever wrong."""
    design = np.concatenate([np.ones((len(x), 1)), x], 1).astype(np.float64)
    # Never quite 0 or 1 (Platt): a set without errors must not promise certainty.
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    target = np.where(right, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 0.01
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        p = _sigmoid(design @ weights)
        gradient = design.T @ (p - target) + penalty * weights
        curve = (design * (p * (1 - p))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curve, gradient)
        weights -= step / max(1.0, float(np.abs(step).max()) / 2)
        if np.abs(step).max() < 1e-6:
            break
    return weights


def _fit_thresholds(pictures: Sequence[Labelled], calibration: Calibration) -> Calibration:
    """Thresholds that let no mistake of the validation set pass, with room, within what keeps most right ones."""
    certainty, right, cocked, leaning, foreign, is_foreign, others = [], [], [], [], [], [], []
    for picture in pictures:
        verdict = weigh(picture.evidence, calibration)
        read = verdict.fused[:, NOTHING] < 0.5
        certainty.append(verdict.certainty[read])
        right.append((verdict.faces == picture.labels)[read])
        cocked.append(picture.cocked[read])
        leaning.append(picture.evidence.looks.cocked[read])
        foreign.append(verdict.fused[read, FOREIGN])
        is_foreign.append((picture.labels == FOREIGN)[read])
        others.append(other_share(picture.evidence, verdict)[read])
    sure, good = np.concatenate(certainty), np.concatenate(right)
    is_cocked, lean = np.concatenate(cocked), np.concatenate(leaning)
    strange, is_strange = np.concatenate(foreign), np.concatenate(is_foreign)
    flat = good & ~is_cocked
    # Only a face taken for another face counts here: leaning and foreign dice have thresholds of their own.
    worst = float(sure[~good & ~is_strange & ~is_cocked].max(initial=0.0))
    wanted = worst + 0.3 * (1 - worst)
    affordable = float(np.quantile(sure[flat], MOST_DOUBTED)) if flat.any() else LEAST_CERTAIN
    return replace(
        calibration,
        certain_from=round(float(np.clip(min(wanted, affordable), LEAST_CERTAIN, 0.999)), 4),
        cocked_from=_cut_between(lean[flat], lean[is_cocked], 0.5),
        foreign_from=_cut_between(strange[flat], strange[is_strange], 0.3),
        differ_from=round(max(0.5, float(np.quantile(np.concatenate(others)[flat], 1 - MOST_DOUBTED))), 4)
        if flat.any()
        else calibration.differ_from,
    )


LEAST_CERTAIN = 0.9
"""No die is certain below this, however clean the validation set was."""
MOST_DOUBTED = 0.004
"""Share of right, flat dice that one threshold may doubt: eight dice a roll make it about 3 % of the rolls."""
MOST_ASKED = 0.008
"""The same for the thresholds of leaning and foreign dice, which must never pass as certain."""


def _cut_between(no: Floats, yes: Floats, default: float) -> float:
    """A threshold below nearly every `yes`, unless that would doubt more than `MOST_ASKED` of the `no`."""
    if len(no) < 20 or len(yes) < 5:
        return default
    affordable = float(np.quantile(no, 1 - MOST_ASKED))
    wanted = 0.7 * float(np.quantile(yes, 0.01))
    # From even odds on, a die that leans or is a stranger is always asked about.
    return round(min(max(wanted, affordable, 0.02), 0.5), 4)


def reliability(
    certainty: npt.NDArray[np.floating], right: npt.NDArray[np.bool_], bins: int = 10
) -> tuple[tuple[float, float, int], ...]:
    """Mean certainty, share right and count, in bins of equal count: nearly all dice are near 1."""
    order = np.argsort(certainty)
    return tuple(
        (float(certainty[part].mean()), float(right[part].mean()), len(part))
        for part in np.array_split(order, bins)
        if len(part)
    )
