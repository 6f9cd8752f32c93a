"""The rendered game that `ausguck demo` plays, and what is known about it (`game.json`)."""

from pathlib import Path

CLIP = Path(__file__).with_name("game.mp4")
MANIFEST = Path(__file__).with_name("game.json")
