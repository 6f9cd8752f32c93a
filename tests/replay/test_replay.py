"""Every clip gives the rolls, the cards and the score that were played in it, and no question where none was due."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scorer.cards import Card
from vision.watcher import Reads

from .clips import FOLDER, clips, differences, run, was_asked

CLIPS = clips()
FLOOR = 0.5
"""Share of the clips that must go through untouched."""


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


_results: dict[str, tuple[bool, list[str]]] = {}
"""Clip → whether something was asked, and what differed: filled clip by clip, judged as a whole at the end."""


@pytest.mark.slow
@pytest.mark.parametrize("path", CLIPS, ids=[path.stem for path in CLIPS])
def test_no_clip_is_scored_wrong_without_a_doubt(path: Path, reader: Reads) -> None:
    """What is told without a question is what was played; and what has to be asked about is."""
    expected, lines = run(path, reader)
    asked, wrong = was_asked(lines), differences(expected, lines)
    _results[path.stem] = asked, wrong
    if expected.get("doubtful"):
        assert asked
    elif not asked:
        assert not wrong


@pytest.mark.slow
def test_most_clips_need_nobody(reader: Reads) -> None:
    """Right rolls, card and score with no question: a floor below which the eyes must not fall."""
    if len(_results) < len(CLIPS):
        pytest.skip("needs all clips of this file to have run before")
    plain = [name for name in _results if not json.loads((FOLDER / f"{name}.json").read_text("utf-8")).get("doubtful")]
    alone = [name for name in plain if _results[name] == (False, [])]
    print("needed somebody:", {name: _results[name] for name in plain if name not in alone})
    assert len(alone) >= FLOOR * len(plain)
