"""Certainty is a probability: fitted on labelled dice, it says how often such a reading is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vision.certainty import Calibration, Evidence, Labelled, fit, reliability, weigh
from vision.detector import CLASSES
from vision.ncnn_net import ModelError
from vision.quality import Quality
from vision.secondlook import LABELS, Looks, log_softmax


def made_up(rng: np.random.Generator, dice: int = 8, noise: float = 2.2) -> Labelled:
    """Dice whose readers are right about as often as their logits say."""
    labels = rng.integers(0, 6, dice)
    logits = rng.normal(0, noise, (dice, len(LABELS))).astype(np.float32)
    logits[np.arange(dice), labels] += 6
    scores = np.full((dice, len(CLASSES)), 0.02, np.float32)
    first = np.where(rng.random(dice) < 0.9, labels, rng.integers(0, 6, dice))
    scores[np.arange(dice), first] = rng.uniform(0.5, 0.95, dice)
    embeddings = np.eye(8, dtype=np.float32)[labels] + rng.normal(0, 0.05, (dice, 8)).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    looks = Looks(
        log_softmax(logits),
        rng.uniform(0, 0.2, dice).astype(np.float32),
        rng.uniform(0, 0.2, dice).astype(np.float32),
        embeddings,
        np.zeros((dice, 64, 64, 3), np.uint8),
    )
    quality = Quality(40, 0.4, 220, 0, 180, True)
    boxes = np.zeros((dice, 4), np.float32)
    return Labelled(
        Evidence(boxes, scores, looks, (quality,) * dice, np.zeros(dice, bool)), labels, np.zeros(dice, bool)
    )


def test_fitted_certainty_is_honest_on_dice_that_it_never_saw() -> None:
    rng = np.random.default_rng(7)
    fitted = fit([made_up(rng) for _ in range(300)])
    assert fitted.wrong > 20
    certainty, right = [], []
    for _ in range(300):
        picture = made_up(rng)
        verdict = weigh(picture.evidence, fitted.calibration)
        certainty.append(verdict.certainty)
        right.append(verdict.faces == picture.labels)
    bins = reliability(np.concatenate(certainty), np.concatenate(right))
    assert sum(abs(p - share) * n for p, share, n in bins) / sum(n for *_, n in bins) < 0.02


def test_no_mistake_of_the_set_passes_the_threshold() -> None:
    rng = np.random.default_rng(8)
    pictures = [made_up(rng, noise=1.8) for _ in range(200)]
    calibration = fit(pictures).calibration
    for picture in pictures:
        verdict = weigh(picture.evidence, calibration)
        wrong = verdict.faces != picture.labels
        assert (verdict.certainty[wrong] < max(calibration.certain_from, 0.999)).all()
    assert 0.9 <= calibration.certain_from <= 0.999


def test_a_set_without_mistakes_promises_no_perfection() -> None:
    rng = np.random.default_rng(9)
    fitted = fit([made_up(rng, noise=0.3) for _ in range(40)])
    verdict = weigh(made_up(rng, noise=0.3).evidence, fitted.calibration)
    assert (verdict.certainty < 1).all()


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    calibration = fit([made_up(rng) for _ in range(30)], fitted_on="made-up dice").calibration
    calibration.save(tmp_path / "certainty.json")
    assert Calibration.load(tmp_path / "certainty.json") == calibration


def test_missing_is_default_and_damaged_is_said(tmp_path: Path) -> None:
    path = tmp_path / "certainty.json"
    assert Calibration.load(path) == Calibration()
    path.write_text("[1, 2")
    with pytest.raises(ModelError, match="cannot be read"):
        Calibration.load(path)


def test_too_few_dice_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 50 labelled dice"):
        fit([made_up(np.random.default_rng(1))])
