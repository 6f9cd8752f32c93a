"""A game as files: a table for a spreadsheet (CSV), everything as JSON, and both with the evidence in a ZIP.

In: a store, a game's number. Out: files whose names carry the number. The JSON holds the pad as the page shows it,
and the log of operations from which anybody can count it again.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from device.errors import StoreError
from device.pad import Pad
from device.store import Store, StoredPicture, replace_file

COLUMNS = (
    "raid",
    "player",
    "card",
    "faces",
    "on_card",
    "rolls",
    "total",
    "others",
    "outcome",
    "lines",
    "corrected",
    "pictures",
)


class NoSuchGame(StoreError, LookupError):
    """There is no such game in the store."""

    code = "no_game"


def game_to_json(store: Store, game: int) -> dict[str, Any]:
    """Everything about a game. Raises `NoSuchGame`."""
    stored = store.operations(game)
    listed = {g.id: g for g in store.games()}
    if not stored or game not in listed:
        known = ", ".join(str(number) for number in listed) or "none"
        raise NoSuchGame(
            f"expected the number of a game in the store ({known}), got {game}: see `ausguck games`",
            details={"game": game},
        )
    pad, bad = Pad.replay(stored)
    if pad is None:
        raise NoSuchGame(
            f"game {game} cannot be replayed ({bad.reason if bad else 'it is empty'})", details={"game": game}
        )
    pictures = pad.pictures_by_raid(store.pictures(game))
    return {
        "id": game,
        "started": listed[game].started,
        "finished": listed[game].finished,
        **pad.summary_view(),
        "evidence": [[picture_name(p, raid) for p in shown] for raid, shown in enumerate(pictures)],
        "operations": [{"seq": o.seq, "written": o.written, "command": o.command, **o.body} for o in stored],
    }


def picture_name(picture: StoredPicture, raid: int) -> str:
    """The name of a picture in the ZIP; raids and rolls are counted from 1 there, as people do."""
    return f"evidence/raid-{raid + 1:03d}-roll-{picture.roll}-{picture.kind}-{picture.id}.jpg"


def to_csv(game: Mapping[str, Any]) -> str:
    """One line a raid, then one line with the totals."""
    names = [player["name"] for player in game["players"]]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *(f"total {name}" for name in names)])
    for raid in game["raids"]:
        shown = game["evidence"][raid["number"]] if raid["number"] < len(game["evidence"]) else []
        lines = "; ".join(f"{line['what']} {line['points']:+d}" for line in raid["lines"])
        values = [
            raid["number"] + 1,
            raid["player"],
            raid["card"],
            " ".join(raid["faces"]),
            " ".join(str(die + 1) for die in raid["on_card"]),
            raid["rolls"],
            raid["total"],
            raid["others"],
            raid["outcome"],
            lines,
            "yes" if raid["corrected"] else "",
            len(shown),
        ]
        writer.writerow([_plain(value) for value in [*values, *raid["totals"]]])
    return out.getvalue()


def _plain(value: Any) -> Any:
    """Keeps a spreadsheet from taking a player's name for a formula."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return "" if value is None else value


def to_zip(store: Store, game: Mapping[str, Any]) -> bytes:
    """CSV, JSON and the pictures."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("game.csv", to_csv(game))
        archive.writestr("game.json", json.dumps(game, ensure_ascii=False, indent=1))
        pad, _ = Pad.replay(store.operations(game["id"]))
        assert pad is not None
        for raid, shown in enumerate(pad.pictures_by_raid(store.pictures(game["id"]))):
            for picture in shown:
                jpeg = store.picture(picture.id)
                if jpeg is not None:
                    archive.writestr(zipfile.ZipInfo(picture_name(picture, raid), (1980, 1, 1, 0, 0, 0)), jpeg)
    return out.getvalue()


def export_game(store: Store, game: int, folder: Path, *, with_zip: bool) -> list[Path]:
    """Write the files; returns their paths. Raises `NoSuchGame`, `OSError`."""
    value = game_to_json(store, game)
    files = {
        f"game-{game}.csv": to_csv(value).encode(),
        f"game-{game}.json": json.dumps(value, ensure_ascii=False, indent=1).encode(),
    }
    if with_zip:
        files[f"game-{game}.zip"] = to_zip(store, value)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        replace_file(folder / name, data)
    return [folder / name for name in files]
