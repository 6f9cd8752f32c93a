"""The appliance as a whole, and its small parts: export, settings, watchdog, photographs."""

from __future__ import annotations

import csv
import io
import json
import socket
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

from device.appliance import Appliance
from device.cli import main
from device.errors import BadCommand
from device.export import export_game, game_to_json, to_csv
from device.orders import DrawCard, EndRaid, Picture, Roll
from device.photo import decode, read_photo
from device.settings import BadSettings, Settings, default_data_dir
from device.store import Store
from device.table import Table
from device.watchdog import Progress, Watchdog, interval, notify
from scorer.cards import Card
from tests.device.table_helpers import PLAIN, begin, raid


def settled(check: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not check() and time.monotonic() < end:
        time.sleep(0.02)
    return check()


class TestAppliance:
    def test_without_camera_pins_and_networks_it_keeps_the_score(self, folder: Path, tmp_path: Path) -> None:
        with Appliance(folder, camera="none", host="127.0.0.1", port=0, models=tmp_path, quiet=True) as ausguck:
            begin(ausguck.table)
            raid(ausguck.table)
            checks = {check["name"]: check for check in ausguck.checks()}
            assert {"camera", "model", "pins", "store", "disk", "clock", "power", "eyes"} <= set(checks)
            assert checks["camera"]["stands_in"]
            with pytest.raises(Exception, match=r"\w"):
                ausguck.read_photo(_jpeg())
        ausguck.close()

    def test_a_press_that_is_refused_says_why(self, folder: Path) -> None:
        with Appliance(folder, camera="none", host="127.0.0.1", port=0, quiet=True) as ausguck:
            begin(ausguck.table)
            assert ausguck.panel is not None
            press = SimpleNamespace(kind=SimpleNamespace(value="end_raid"), id="press-0001")
            ausguck._pressed(press)  # type: ignore[arg-type]
            assert settled(lambda: bool(ausguck.table.snapshot.state["messages"]))
            (message,) = ausguck.table.snapshot.state["messages"]
            assert message["code"] == "refused"
            assert "draws a card first" in message["sentence"]

    def test_bad_settings_are_a_sentence(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "settings.toml").write_text("grce = 3\n")
        with pytest.raises(BadSettings, match="expected one of grace"):
            Appliance(folder, camera="none", host="127.0.0.1", port=0, quiet=True).start()
        Store.open(folder).close()


class TestSettings:
    def test_file_over_defaults(self, tmp_path: Path) -> None:
        path = tmp_path / "settings.toml"
        path.write_text("grace = 2\nend_pin = 5\nbuzzer_pin = -1\n[camera]\nfps = 10\n", "utf-8")
        settings = Settings.load(path)
        assert (settings.grace, settings.end_pin, settings.extra) == (2.0, 5, {"camera": {"fps": 10}})
        assert Settings.load(tmp_path / "none.toml") == Settings()

    @pytest.mark.parametrize("text", ["grace = -1", 'grace = "x"', "queue = true", "grace = ", "what = 1"])
    def test_nonsense(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "settings.toml"
        path.write_text(text)
        with pytest.raises(BadSettings, match=r"settings"):
            Settings.load(path)

    def test_where_games_are_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("STATE_DIRECTORY", raising=False)
        monkeypatch.setenv("XDG_DATA_HOME", "/x")
        assert default_data_dir() == Path("/x/ausguck")
        monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/ausguck")
        assert default_data_dir() == Path("/var/lib/ausguck")


class TestExport:
    @pytest.fixture
    def played(self, folder: Path) -> Path:
        with Store.open(folder) as store, Table(store) as table:
            begin(table, "=Anna", "Ben")
            table.submit(DrawCard(Card.TREASURE_ISLAND))
            table.submit(Roll(PLAIN, pictures=(Picture(b"\xff\xd8picture"),)))
            table.submit(EndRaid())
            raid(table)
        return folder

    def test_csv_json_and_zip(self, played: Path, tmp_path: Path) -> None:
        with Store.open(played, read_only=True) as store:
            files = export_game(store, 1, tmp_path / "out", with_zip=True)
        assert [path.suffix for path in files] == [".csv", ".json", ".zip"]
        rows = list(csv.DictReader(io.StringIO(files[0].read_text("utf-8"))))
        assert [row["raid"] for row in rows] == ["1", "2"]
        assert rows[0]["player"] == "'=Anna", "no spreadsheet takes a name for a formula"
        assert rows[0]["pictures"] == "1"
        game = json.loads(files[1].read_text("utf-8"))
        assert [r["total"] for r in game["raids"]] == [int(row["total"]) for row in rows]
        assert game["operations"][0]["op"]["kind"] == "new_game"
        with zipfile.ZipFile(files[2]) as archive:
            assert set(game["evidence"][0]) < set(archive.namelist())
            assert archive.read(game["evidence"][0][0]) == b"\xff\xd8picture"

    def test_the_command_line(self, played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["games", "--data", str(played)]) == 0
        listed = json.loads(capsys.readouterr().out)
        assert (listed["id"], listed["raids"], listed["players"]) == (1, 2, ["=Anna", "Ben"])
        assert main(["export", "last", "--json", "--data", str(played)]) == 0
        assert json.loads(capsys.readouterr().out)["id"] == 1
        assert main(["export", "1", "--data", str(played), "--out", str(tmp_path)]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [Path(line["file"]).name for line in lines] == ["game-1.csv", "game-1.json"]

    @pytest.mark.parametrize(
        "words", [["export"], ["export", "7"], ["export", "first"], ["export", "--network", "detector"]]
    )
    def test_what_is_not_there(self, played: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*words, "--data", str(played)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert len(said.err.strip().splitlines()) == 1

    def test_no_store(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["games", "--data", str(tmp_path / "none")]) == 2
        assert "found none" in capsys.readouterr().err
        assert not (tmp_path / "none").exists()

    def test_an_old_game_reads_alike(self, played: Path) -> None:
        with Store.open(played, read_only=True) as store:
            assert to_csv(game_to_json(store, 1)).count("\n") == 3


class TestWatchdog:
    def test_ready_and_fed(self, tmp_path: Path) -> None:
        path = tmp_path / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(str(path))
            systemd.settimeout(5)
            moves = [True]
            environment = {"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "150000"}
            with Watchdog({"eyes": lambda: moves[0]}, environment=environment) as watchdog:
                assert systemd.recv(100).startswith(b"READY=1")
                assert systemd.recv(100) == b"WATCHDOG=1"
                moves[0] = False
                while systemd.recv(100) == b"WATCHDOG=1":
                    pass
                assert watchdog.stuck == "eyes"
                assert b"eyes" in systemd.recv(100)
            while (last := systemd.recv(100)) != b"STOPPING=1":
                assert last.startswith(b"STATUS=")

    def test_without_systemd(self) -> None:
        assert not notify("READY=1", environment={})
        assert interval({}) is None
        assert interval({"WATCHDOG_USEC": "30000000"}) == 10.0
        assert interval({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}) is None

    def test_a_part_that_cannot_say_is_stuck(self) -> None:
        watchdog = Watchdog({"web": lambda: 1 // 0 == 1}, environment={})
        watchdog.look()
        assert watchdog.stuck == "web"

    def test_progress_is_movement(self) -> None:
        now, count = [0.0], [0.0]
        moves = Progress(lambda: count[0], patience=5, clock=lambda: now[0])
        assert moves()
        now[0] = 6
        assert not moves()
        count[0] = 1
        assert moves()


def _jpeg(width: int = 320, height: int = 240) -> bytes:
    return bytes(cv2.imencode(".jpg", np.full((height, width, 3), 120, np.uint8))[1])


class TestPhotos:
    @pytest.mark.parametrize(("data", "words"), [(b"", "empty"), (b"text", "no picture"), (_jpeg()[:60], "no picture")])
    def test_what_is_no_picture(self, data: bytes, words: str) -> None:
        with pytest.raises(BadCommand, match=words):
            decode(data)

    def test_too_small(self) -> None:
        with pytest.raises(BadCommand, match="got 20×20"):
            decode(_jpeg(20, 20))

    def test_a_huge_photo_is_made_smaller(self) -> None:
        assert decode(_jpeg(5000, 1000)).shape == (800, 4000, 3)

    def test_it_is_read_thoroughly(self) -> None:
        seen: list[Any] = []
        read_photo(_jpeg(), SimpleNamespace(read=lambda image, thorough: seen.append((image.shape, thorough))))
        assert seen == [((240, 320, 3), True)]
