"""Every clip gives the rolls, the cards and the score that were played in it, and no question where none was due."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scorer.cards import Card
from vision.watcher import Reads

from .clips import clips, differences, run

CLIPS = clips()


@pytest.fixture(scope="module")
def reader() -> Reads:
    """The shipped networks."""
    from vision.reader import Reader

    try:
        return Reader.load()
    except (OSError, RuntimeError, ValueError) as missing:
        pytest.skip(f"the networks are not there: {missing}")


def test_the_clips_cover_every_card_and_are_small() -> None:
    cards = {raid["card"] for path in CLIPS for raid in json.loads(path.read_text("utf-8"))["raids"]}
    assert cards == {card.value for card in Card}
    assert len(CLIPS) >= 20
    sizes = [path.with_suffix(".mp4").stat().st_size for path in CLIPS]
    assert max(sizes) < 700_000
    assert sum(sizes) < 12_000_000


@pytest.mark.slow
@pytest.mark.parametrize("path", CLIPS, ids=[path.stem for path in CLIPS])
def test_clip(path: Path, reader: Reads) -> None:
    expected, lines = run(path, reader)
    assert not differences(expected, lines)
