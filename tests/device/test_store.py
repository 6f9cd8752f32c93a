"""The store: what is acknowledged is on the disk, and what the disk has lost is said."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from device.errors import StoreError, StoreFull, StoreInUse
from device.store import NewPicture, Store, read_journal, replace_file


def bodies(first: int, count: int) -> list[dict[str, object]]:
    return [{"op": {"kind": "note", "n": first + n}} for n in range(count)]


def numbers(store: Store, game: int) -> list[int]:
    return [operation.body["op"]["n"] for operation in store.operations(game)]


def filled(folder: Path, count: int = 10, *, page_size: int = 4096) -> None:
    with Store.open(folder, page_size=page_size) as store:
        game = store.begin_game("begin", bodies(0, 1))
        for n in range(1, count):
            store.append(game, n, bodies(n, 1), f"command-{n}")


def test_operations_survive_and_ids_are_known(folder: Path) -> None:
    filled(folder)
    with Store.open(folder) as store:
        assert store.current_game() == 1
        assert numbers(store, 1) == list(range(10))
        assert store.done("command-7")
        assert not store.done("command-10")
        assert store.notes == []


def test_every_start_is_counted(folder: Path) -> None:
    for start in (1, 2, 3):
        with Store.open(folder) as store:
            assert store.starts == start


def test_an_operation_is_written_once(folder: Path) -> None:
    filled(folder, 3)
    with Store.open(folder) as store, pytest.raises(StoreError, match="already written"):
        store.append(1, 2, bodies(2, 1), "again")
    with Store.open(folder) as store:
        assert numbers(store, 1) == [0, 1, 2]


def test_several_games_are_kept(folder: Path) -> None:
    with Store.open(folder) as store:
        first = store.begin_game("a", bodies(0, 1))
        store.set_summary(first, {"players": ["Anna"]}, finished=True)
        second = store.begin_game("b", bodies(5, 2))
        assert (first, second, store.current_game()) == (1, 2, 2)
        games = store.games()
        assert [g.operations for g in games] == [1, 2]
        assert games[0].summary == {"players": ["Anna"]}
        assert games[0].finished is not None
        assert games[1].finished is None


def test_a_second_instance_says_so_in_one_sentence(folder: Path) -> None:
    with Store.open(folder), pytest.raises(StoreInUse) as refused:
        Store.open(folder)
    sentence = str(refused.value)
    assert sentence.startswith("another Ausguck (process ")
    assert "--data" in sentence
    assert "\n" not in sentence


def test_reading_beside_the_running_table(folder: Path) -> None:
    with Store.open(folder) as running:
        running.begin_game("a", bodies(0, 2))
        with Store.open(folder, read_only=True) as reader:
            assert numbers(reader, 1) == [0, 1]


def test_reading_where_nothing_is(folder: Path) -> None:
    with pytest.raises(StoreError, match="found none"):
        Store.open(folder, read_only=True)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        Store.open(tmp_path / "file" / "data")


def test_a_newer_format_is_left_alone(folder: Path) -> None:
    filled(folder)
    connection = sqlite3.connect(folder / "ausguck.db")
    connection.execute("PRAGMA user_version=99")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="newer Ausguck"):
        Store.open(folder)


class TestEvidence:
    def test_pictures_come_back(self, folder: Path) -> None:
        with Store.open(folder) as store:
            game = store.begin_game("a", bodies(0, 1))
            number = store.add_picture(game, 0, 0, NewPicture(b"\xff\xd8jpeg", roll=2, reading={"dice": []}))
            (picture,) = store.pictures(game)
            assert (picture.id, picture.roll, picture.size, picture.reading) == (number, 2, 6, {"dice": []})
            assert store.picture(picture.id) == b"\xff\xd8jpeg"

    def test_middle_pictures_make_room_first(self, folder: Path) -> None:
        with Store.open(folder, evidence_limit=50_000) as store:
            game = store.begin_game("a", bodies(0, 1))
            for raid in range(4):
                for roll in range(3):
                    store.add_picture(game, 0, raid, NewPicture(bytes(10_000), roll=roll))
            kept = [(p.raid, p.roll) for p in store.pictures(game)]
            assert sum(p.size for p in store.pictures(game)) <= 50_000
            assert {(0, 2), (1, 2), (2, 2), (3, 2)} <= set(kept), "the last picture of each raid stays"

    def test_a_giant_picture_is_not_kept(self, folder: Path) -> None:
        with Store.open(folder) as store:
            game = store.begin_game("a", bodies(0, 1))
            assert store.add_picture(game, 0, 0, NewPicture(bytes(2**20 + 1))) is None


class TestFullDisk:
    def fill(self, store: Store, game: int) -> int:
        with suppress(StoreFull):
            for n in range(1, 10_000):
                store.append(game, n, [{"op": {"n": n, "long": "x" * 500}}], f"c{n}")
        return n - 1

    def test_nothing_changes_and_it_resumes(self, folder: Path) -> None:
        with Store.open(folder) as store:
            game = store.begin_game("a", bodies(0, 1))
            assert store._connection is not None
            pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
            store._connection.execute(f"PRAGMA max_page_count={pages}")
            store._connection.execute("PRAGMA cache_spill=0")
            written = 1 + self.fill(store, game)
            assert len(store.operations(game)) == written
            with pytest.raises(StoreFull, match="nothing was changed"):
                store.append(game, written, [{"op": {"long": "x" * 5000}}], f"c{written}")
            store._connection.execute("PRAGMA max_page_count=1000000")
            store.append(game, written, bodies(written, 1), f"c{written}")
            assert len(store.operations(game)) == written + 1
            assert not store.done("never")

    def test_a_limit_on_file_size(self, folder: Path) -> None:
        """The kernel refuses to let the file grow; the store goes on when it may again."""
        script = (
            "import resource, signal, sys, pathlib\n"
            "from device.store import Store\nfrom device.errors import StoreFull\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "s = Store.open(pathlib.Path(sys.argv[1])); g = s.begin_game('a', [{'n': 0}])\n"
            "wal = pathlib.Path(sys.argv[1], 'ausguck.db-wal').stat().st_size\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (wal + 30000, resource.RLIM_INFINITY)); n = 1; full = 0\n"
            "while not full:\n"
            "    try:\n        s.append(g, n, [{'n': n, 'x': 'y' * 3000}], f'c{n}'); n += 1\n"
            "    except StoreFull: full = 1\n"
            "have = len(s.operations(g)); assert have == n, (have, n)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
            "s.append(g, n, [{'n': n}], f'c{n}'); assert len(s.operations(g)) == n + 1; print('ok', n)\n"
        )
        done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, timeout=60)
        assert done.stdout.startswith("ok"), done.stderr


class TestDamage:
    """Field fault 33: truncated files. All earlier operations come back, and what was lost is said."""

    def crashed(self, folder: Path, *, page_size: int = 512) -> Path:
        """A folder as a killed process leaves it: the last operations only in the write-ahead log."""
        with Store.open(folder, page_size=page_size) as store:
            game = store.begin_game("begin", bodies(0, 1))
            for n in range(1, 6):
                store.append(game, n, bodies(n, 1), f"command-{n}")
            before = (folder / "ausguck.db-wal").stat().st_size
            store.append(game, 6, bodies(6, 1), "command-6")
            copy = folder.parent / "copy"
            shutil.copytree(folder, copy)
            (copy / "before").write_text(str(before))
        return copy

    def reopen(self, source: Path, target: Path, *, log_size: int | None, journal: bool) -> tuple[list[int], list[str]]:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        (target / "ausguck.db-shm").unlink(missing_ok=True)
        if log_size is not None:
            with open(target / "ausguck.db-wal", "r+b") as file:
                file.truncate(log_size)
        if not journal:
            shutil.rmtree(target / "journal")
        with Store.open(target, page_size=512) as store:
            return numbers(store, 1), [note.code for note in store.notes]

    @pytest.mark.slow
    def test_log_cut_at_every_byte_of_the_last_record(self, folder: Path) -> None:
        copy = self.crashed(folder)
        first, size = int((copy / "before").read_text()), (copy / "ausguck.db-wal").stat().st_size
        assert size > first
        for cut in range(first, size):
            have, notes = self.reopen(copy, folder.parent / "cut", log_size=cut, journal=True)
            assert (have, notes) == ([0, 1, 2, 3, 4, 5, 6], ["store_restored"]), cut
        for cut in range(first, size, 97):
            have, _ = self.reopen(copy, folder.parent / "cut", log_size=cut, journal=False)
            assert have == [0, 1, 2, 3, 4, 5], cut

    def test_second_copy_cut_at_every_byte_of_its_last_line(self, folder: Path) -> None:
        copy = self.crashed(folder)
        journal = copy / "journal" / "game-0001.jsonl"
        whole = journal.read_bytes()
        last = whole.rindex(b"\n", 0, -1) + 1
        for cut in range(last, len(whole), 5):
            journal.write_bytes(whole[:cut])
            have, _ = self.reopen(copy, folder.parent / "cut", log_size=None, journal=True)
            assert have == [0, 1, 2, 3, 4, 5, 6], cut
            assert len(read_journal(folder.parent / "cut" / "journal" / "game-0001.jsonl")[0]) == 7

    def test_both_cut_says_what_was_lost(self, folder: Path) -> None:
        copy = self.crashed(folder)
        journal = copy / "journal" / "game-0001.jsonl"
        journal.write_bytes(journal.read_bytes()[:-10])
        before = int((copy / "before").read_text())
        have, notes = self.reopen(copy, folder.parent / "cut", log_size=before, journal=True)
        assert have == [0, 1, 2, 3, 4, 5]
        assert notes == ["store_lost"]

    @pytest.mark.parametrize("damage", ["head", "middle", "empty", "half", "text"])
    def test_a_damaged_database_is_set_aside_and_rebuilt(self, folder: Path, damage: str) -> None:
        filled(folder, 200)
        path = folder / "ausguck.db"
        data = bytearray(path.read_bytes())
        match damage:
            case "head":
                data[:100] = bytes(100)
            case "middle":
                data[len(data) // 2 : len(data) // 2 + 9000] = b"\xa5" * 9000
            case "empty":
                data = bytearray()
            case "half":
                del data[len(data) // 2 :]
            case _:
                data = bytearray(b"this is not a database\n" * 300)
        path.write_bytes(data)
        with Store.open(folder) as store:
            assert numbers(store, 1) == list(range(200))
            assert store.current_game() == 1
            assert store.done("command-199")
            assert store.notes, "the damage is said"
            store.append(1, 200, bodies(200, 1), "next")

    def test_lost_without_a_second_copy_keeps_an_unbroken_beginning(self, folder: Path) -> None:
        filled(folder, 400)
        shutil.rmtree(folder / "journal")
        path = folder / "ausguck.db"
        data = bytearray(path.read_bytes())
        data[len(data) * 2 // 3 :] = b"\x55" * (len(data) - len(data) * 2 // 3)
        path.write_bytes(data)
        with Store.open(folder) as store:
            have = numbers(store, 1) if store.games() else []
            assert have == list(range(len(have)))
            assert "store_rebuilt" in [note.code for note in store.notes]
            assert any(folder.glob("ausguck.db.damaged-*"))


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_order_on_the_disk(folder: Path) -> None:
    """Field fault 33: an operation is synced before it is acknowledged; a replaced file is synced, renamed, its
    folder synced."""
    script = (
        "import os, pathlib, sys\nfrom device.store import Store, replace_file\n"
        "s = Store.open(pathlib.Path(sys.argv[1])); g = s.begin_game('a', [{'n': 0}])\n"
        "os.write(2, b'MARK-1'); s.append(g, 1, [{'n': 1}], 'b'); os.write(2, b'MARK-2')\n"
        "replace_file(pathlib.Path(sys.argv[1], 'kept'), b'data'); os.write(2, b'MARK-3')\n"
    )
    trace = folder.parent / "trace"
    subprocess.run(
        [
            "strace",
            "-f",
            "-y",
            "-o",
            str(trace),
            "-e",
            "trace=pwrite64,write,fsync,fdatasync,rename,renameat,renameat2",
            sys.executable,
            "-c",
            script,
            str(folder),
        ],
        capture_output=True,
        timeout=60,
    )
    if not trace.exists() or "MARK-3" not in trace.read_text():
        pytest.skip("strace may not trace here")
    _, between, after, _ = trace.read_text().split('"MARK-')
    wal_write = between.rindex("pwrite64", 0, between.rindex("ausguck.db-wal"))
    sync = between.index("sync(", wal_write)
    journal = between.index("journal/game-0001.jsonl", sync)
    assert wal_write < sync < journal
    data, renamed, directory = after.index("fsync("), after.index("rename"), after.rindex("fsync(")
    assert data < renamed < directory
    assert "kept.new" in after[data:renamed]


def test_replace_file_leaves_no_half(folder: Path) -> None:
    folder.mkdir()
    replace_file(folder / "kept", b"one")
    replace_file(folder / "kept", b"two")
    assert (folder / "kept").read_bytes() == b"two"
    assert [p.name for p in folder.iterdir()] == ["kept"]
