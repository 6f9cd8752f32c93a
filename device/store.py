"""What survives a power cut: every game's operations, the ids of commands done, and the pictures kept as evidence.

One SQLite file, `ausguck.db`, in write-ahead mode with `synchronous=FULL`: `append` returns when the operations are
on the disk. Beside it lies a second, plain copy of the operations (`journal/game-0001.jsonl`, one line each with a
checksum, written after the commit). It costs no extra sync, and on opening it is the witness that says what a
damaged or truncated database has lost, and gives it back where it can.

Only the table writes. Pages and exports read through short connections of their own.
"""

from __future__ import annotations

import datetime
import fcntl
import json
import os
import secrets
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from device.errors import StoreError, StoreFull, StoreInUse

SCHEMA_VERSION = 1
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE games (id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, summary TEXT NOT NULL DEFAULT '{}');
CREATE TABLE operations (
    game INTEGER NOT NULL REFERENCES games, seq INTEGER NOT NULL, command TEXT NOT NULL,
    body TEXT NOT NULL, written TEXT NOT NULL, PRIMARY KEY (game, seq)) WITHOUT ROWID;
CREATE TABLE commands (id TEXT PRIMARY KEY, game INTEGER NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE evidence (
    id INTEGER PRIMARY KEY, game INTEGER NOT NULL, seq INTEGER NOT NULL, raid INTEGER NOT NULL, roll INTEGER NOT NULL,
    kind TEXT NOT NULL, taken TEXT NOT NULL, reading TEXT, size INTEGER NOT NULL, jpeg BLOB NOT NULL);
CREATE INDEX evidence_of_game ON evidence (game, seq);
"""

EVIDENCE_LIMIT = 48 * 2**20
"""Bytes of pictures kept of one game; beyond, raids lose their middle pictures first."""
PICTURE_LIMIT = 2**20
"""Bytes of one picture; a larger one is not kept."""


CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""No 0/O, 1/I/L: a code is read aloud over a table."""
CODE_LENGTH = 6


def new_code() -> str:
    """A fresh code for a table."""
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))


@dataclass(frozen=True, slots=True)
class Note:
    """Something that opening the store has to tell the table (recovered, lost, moved aside)."""

    code: str
    args: Mapping[str, Any]
    sentence: str


@dataclass(frozen=True, slots=True)
class StoredOperation:
    """One line of a game's log."""

    game: int
    seq: int
    """Counts from 0 within the game, without a gap."""
    command: str
    """Id of the command that caused it."""
    body: dict[str, Any]
    written: str
    """Wall-clock time, ISO 8601; a label only."""


@dataclass(frozen=True, slots=True)
class StoredGame:
    """A game in the list of games."""

    id: int
    started: str
    finished: str | None
    summary: dict[str, Any]
    """What the table noted last: players, totals, raids."""
    operations: int


@dataclass(frozen=True, slots=True)
class StoredPicture:
    """A picture kept as evidence, without its bytes."""

    id: int
    game: int
    seq: int
    """The operation that it belongs to."""
    raid: int
    roll: int
    kind: str
    taken: str
    size: int
    reading: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewPicture:
    """A picture to keep."""

    jpeg: bytes
    kind: str = "roll"
    roll: int = 0
    reading: Mapping[str, Any] | None = None


def wall_clock() -> str:
    """Now, as a label: ISO 8601 with the zone."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


@dataclass(eq=False)
class Store:
    """The games of one table, in one folder.

        with Store.open(Path("~/ausguck").expanduser()) as store:
            game = store.begin_game("some-command-id", [{"kind": "start"}])
            store.append(game, [{"kind": "roll"}], "another-command-id")

    Raises `StoreInUse` when another process has the folder, `StoreError` when it cannot be used at all.
    """

    directory: Path
    read_only: bool = False
    evidence_limit: int = EVIDENCE_LIMIT
    page_size: int = 4096
    notes: list[Note] = field(default_factory=list)
    starts: int = 0
    """How many times this store has been opened for writing; makes versions grow over restarts."""
    code: str = ""
    """The table's code, which a phone needs to act."""
    secret: str = field(default="", repr=False)
    """What cookies are signed with."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._lock_file: int | None = None
        self._connection: sqlite3.Connection | None = None
        self._journal_game = -1
        self._journal: int | None = None

    # -- opening and closing ---------------------------------------------------------------------------------

    @classmethod
    def open(
        cls, directory: Path, *, read_only: bool = False, evidence_limit: int = EVIDENCE_LIMIT, page_size: int = 4096
    ) -> Self:
        """Open, and create or repair where needed. `notes` says what was found."""
        store = cls(directory, read_only=read_only, evidence_limit=evidence_limit, page_size=page_size)
        if read_only:
            if not store.path.exists():
                raise StoreError(
                    f"expected a store of games in {directory}, found none: start `ausguck run` once, "
                    "or name the folder with --data",
                    code="store_missing",
                    details={"path": str(directory)},
                )
            store._connection = store._connect(query_only=True)
            return store
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            (directory / "journal").mkdir(exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the data folder {directory} cannot be made ({error.strerror}): name another one with --data",
                code="store_unusable",
                details={"path": str(directory)},
            ) from error
        store._take_lock()
        try:
            store._open_or_repair()
        except BaseException:
            store.close()
            raise
        return store

    @property
    def path(self) -> Path:
        """The database file."""
        return self.directory / "ausguck.db"

    def close(self) -> None:
        """Close; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        with suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
        if self._journal is not None:
            os.close(self._journal)
        if self._lock_file is not None:
            os.close(self._lock_file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _take_lock(self) -> None:
        path = self.directory / "ausguck.lock"
        try:
            self._lock_file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"the data folder {self.directory} cannot be written ({error.strerror}): name another one with --data",
                code="store_unusable",
                details={"path": str(self.directory)},
            ) from error
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(self._lock_file, 32, 0).decode("ascii", "replace").strip() or "?"
            os.close(self._lock_file)
            self._lock_file = None
            raise StoreInUse(
                f"another Ausguck (process {owner}) already uses {self.directory}: "
                "stop it, or name another folder with --data",
                details={"path": str(self.directory), "process": owner},
            ) from None
        with suppress(OSError):  # the number is a comfort for the message above; a full disk must not stop us here
            os.ftruncate(self._lock_file, 0)
            os.pwrite(self._lock_file, f"{os.getpid()}\n".encode(), 0)

    def _connect(self, *, query_only: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=5, isolation_level=None, check_same_thread=False)
        try:
            if query_only:
                connection.execute("PRAGMA query_only=1")
                return connection
            connection.execute(f"PRAGMA page_size={int(self.page_size)}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA wal_autocheckpoint=500")
            connection.execute("PRAGMA journal_size_limit=4194304")
            connection.execute("PRAGMA foreign_keys=1")
            return connection
        except BaseException:
            connection.close()
            raise

    def _open_or_repair(self) -> None:
        fresh = not self.path.exists()
        try:
            self._connection = self._connect()
            if not fresh:
                self._check(self._connection)
            self._create_schema(self._connection)
        except sqlite3.DatabaseError as error:
            if is_disk_trouble(error):
                raise StoreFull(
                    "the disk is full or refuses to write: free some space, then start again",
                    details={"reason": str(error)},
                ) from error
            self._rebuild(str(error))
        self._compare_with_journal()
        with self._writing() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key='starts'").fetchone()
            self.starts = int(row[0]) + 1 if row else 1
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('starts', ?)", (str(self.starts),))
            self.code = self._kept(connection, "code", new_code)
            self.secret = self._kept(connection, "secret", lambda: secrets.token_hex(32))

    @staticmethod
    def _kept(connection: sqlite3.Connection, key: str, make: Callable[[], str]) -> str:
        """A value that is made once, at the first start."""
        connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, make()))
        return str(connection.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()[0])

    @staticmethod
    def _check(connection: sqlite3.Connection) -> None:
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise sqlite3.DatabaseError(answer)

    def _create_schema(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"the games in {self.directory} were written by a newer Ausguck (format {version}, this one "
                f"knows {SCHEMA_VERSION}): update this one, or name another folder with --data",
                code="store_newer",
                details={"format": version},
            )
        if version == 0:
            connection.executescript(f"BEGIN;{SCHEMA}PRAGMA user_version={SCHEMA_VERSION};COMMIT;")

    # -- repair ----------------------------------------------------------------------------------------------

    def _rebuild(self, reason: str) -> None:
        """Move the damaged database aside, and make a new one of all that can still be read."""
        saved = self._salvage()
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        aside = self._free_name(f"ausguck.db.damaged-{datetime.date.today().isoformat()}")
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.rename(f"{self.path}{suffix}", f"{aside}{suffix}")
        self._connection = self._connect()
        self._create_schema(self._connection)
        with self._writing() as connection:
            for key, value in saved.meta.items():
                connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
            for game, (started, finished, summary) in saved.games.items():
                connection.execute("INSERT INTO games VALUES (?, ?, ?, ?)", (game, started, finished, summary))
            for operation in saved.operations:
                self._insert_operation(connection, operation)
            for picture in saved.evidence:
                connection.execute("INSERT OR IGNORE INTO evidence VALUES (?,?,?,?,?,?,?,?,?,?)", picture)
        self.notes.append(
            Note(
                "store_rebuilt",
                {"file": aside.name, "operations": len(saved.operations), "reason": reason},
                f"The store of games was damaged ({reason}). {len(saved.operations)} operations were read from it; "
                f"the damaged file is kept as {aside.name}.",
            )
        )

    def _free_name(self, name: str) -> Path:
        path, n = self.directory / name, 1
        while path.exists():
            n += 1
            path = self.directory / f"{name}-{n}"
        return path

    def _salvage(self) -> _Salvage:
        saved = _Salvage()
        with suppress(sqlite3.Error), closing(sqlite3.connect(self.path, timeout=5, isolation_level=None)) as damaged:
            for key, value in _readable(damaged, "SELECT key, value FROM meta"):
                saved.meta[key] = value
            for game, *rest in _readable(damaged, "SELECT id, started, finished, summary FROM games ORDER BY id"):
                saved.games[game] = tuple(rest)
            expected: dict[int, int] = {}
            for row in _readable(
                damaged, "SELECT game, seq, command, body, written FROM operations ORDER BY game, seq"
            ):
                operation = _operation(row)
                if operation is None or operation.seq != expected.get(operation.game, 0):
                    continue  # replay needs an unbroken beginning; the journal may know the rest
                expected[operation.game] = operation.seq + 1
                saved.games.setdefault(operation.game, (operation.written, None, "{}"))
                saved.operations.append(operation)
            saved.evidence.extend(_readable(damaged, "SELECT * FROM evidence ORDER BY id"))
        return saved

    def _compare_with_journal(self) -> None:
        """Give back what the database has lost and the journal still knows; say what neither knows."""
        journals = sorted((self.directory / "journal").glob("game-*.jsonl"))
        restored = lost = 0
        for path in journals:
            game = _game_of(path)
            if game is None:
                continue
            lines, torn = read_journal(path)
            have = self._count(game)
            missing = [operation for operation in lines if operation.seq >= have]
            contiguous = missing[: _unbroken(missing, have)]
            lost += len(missing) - len(contiguous) + (1 if torn and _last(lines) + 1 >= have + len(contiguous) else 0)
            if contiguous:
                restored += len(contiguous)
                self._restore(game, contiguous)
            if torn or _last(lines) + 1 < self._count(game):
                self._rewrite_journal(game)
        for game in self._games_without_journal({_game_of(path) for path in journals}):
            self._rewrite_journal(game)
        if restored:
            self.notes.append(
                Note(
                    "store_restored",
                    {"operations": restored},
                    f"The database had lost its last {restored} operation(s); they were restored from the second copy.",
                )
            )
        if lost:
            self.notes.append(
                Note(
                    "store_lost",
                    {"operations": lost},
                    f"The last {lost} operation(s) could not be read any more: "
                    "please compare the score pad with your memory.",
                )
            )

    def _restore(self, game: int, operations: Sequence[StoredOperation]) -> None:
        with self._writing() as connection:
            known = connection.execute("SELECT 1 FROM games WHERE id=?", (game,)).fetchone()
            if not known:
                connection.execute("INSERT INTO games (id, started) VALUES (?, ?)", (game, operations[0].written))
                connection.execute("INSERT OR REPLACE INTO meta VALUES ('current', ?)", (str(game),))
            for operation in operations:
                self._insert_operation(connection, operation)

    def _games_without_journal(self, have: set[int | None]) -> list[int]:
        assert self._connection is not None
        rows = self._connection.execute("SELECT DISTINCT game FROM operations").fetchall()
        return [game for (game,) in rows if game not in have]

    def _count(self, game: int) -> int:
        assert self._connection is not None
        row = self._connection.execute("SELECT MAX(seq) FROM operations WHERE game=?", (game,)).fetchone()
        return 0 if row[0] is None else int(row[0]) + 1

    # -- writing ---------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, on the disk when the block is left; on any trouble nothing of it is."""
        with self._lock:
            try:
                connection = self._writer()
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._abandon()
                if isinstance(error, sqlite3.IntegrityError):
                    raise
                raise StoreFull(
                    "the table's memory cannot be written (disk full?): nothing was changed; "
                    "free some space and try again",
                    details={"reason": str(error)},
                ) from error
            except BaseException:
                self._abandon()
                raise

    def _writer(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreError("the store is closed: start Ausguck again")
        if self._connection is None:  # closed after an I/O error, whose connection must not be trusted any more
            self._connection = self._connect()
        return self._connection

    def _abandon(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._connection = connection
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                connection.close()

    @staticmethod
    def _insert_operation(connection: sqlite3.Connection, operation: StoredOperation) -> None:
        connection.execute(
            "INSERT INTO operations VALUES (?, ?, ?, ?, ?)",
            (operation.game, operation.seq, operation.command, _dump(operation.body), operation.written),
        )
        connection.execute(
            "INSERT OR IGNORE INTO commands VALUES (?, ?, ?)", (operation.command, operation.game, operation.seq)
        )

    def begin_game(self, command: str, bodies: Sequence[Mapping[str, Any]]) -> int:
        """A new game with its first operations; it becomes the current one. Returns its id.

        Raises `StoreFull` when the disk refuses; then nothing has changed.
        """
        written = wall_clock()
        with self._writing() as connection:
            row = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 FROM games").fetchone()
            game = max(int(row[0]), self._next_by_journal())
            connection.execute("INSERT INTO games (id, started) VALUES (?, ?)", (game, written))
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('current', ?)", (str(game),))
            operations = [StoredOperation(game, n, command, dict(body), written) for n, body in enumerate(bodies)]
            for operation in operations:
                self._insert_operation(connection, operation)
        self._write_journal(operations)
        return game

    def append(self, game: int, seq: int, bodies: Sequence[Mapping[str, Any]], command: str) -> None:
        """Put `bodies` on the disk as operations `seq`, `seq + 1`, … of `game`. Returns when they are there.

        Raises `StoreFull` when the disk refuses, `StoreError` when the command was done before or `seq` is not the
        next.
        """
        written = wall_clock()
        operations = [StoredOperation(game, seq + n, command, dict(body), written) for n, body in enumerate(bodies)]
        try:
            with self._writing() as connection:
                for operation in operations:
                    self._insert_operation(connection, operation)
        except sqlite3.IntegrityError as error:
            raise StoreError(f"operation {seq} of game {game} is already written: restart Ausguck ({error})") from error
        self._write_journal(operations)

    def set_summary(self, game: int, summary: Mapping[str, Any], *, finished: bool) -> None:
        """Note players, totals and raids for the list of games."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE games SET summary=?, finished=CASE WHEN ? THEN COALESCE(finished, ?) ELSE NULL END WHERE id=?",
                (_dump(summary), finished, wall_clock(), game),
            )

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small named value."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def add_picture(self, game: int, seq: int, raid: int, picture: NewPicture) -> int | None:
        """Keep a picture as evidence of operation `seq`; None when it is too large. Old ones of the game make
        room."""
        size = len(picture.jpeg)
        if size > PICTURE_LIMIT:
            return None
        with self._writing() as connection:
            cursor = connection.execute(
                "INSERT INTO evidence (game, seq, raid, roll, kind, taken, reading, size, jpeg) "
                "VALUES (?,?,?,?,?,?,?,?,?)",
                (
                    game,
                    seq,
                    raid,
                    picture.roll,
                    picture.kind,
                    wall_clock(),
                    None if picture.reading is None else _dump(picture.reading),
                    size,
                    picture.jpeg,
                ),
            )
            self._thin_out(connection, game)
            return cursor.lastrowid

    def _thin_out(self, connection: sqlite3.Connection, game: int) -> None:
        """Keep a game's pictures under the limit: first those that have a later one of the same raid, oldest
        first."""
        while True:
            (total,) = connection.execute(
                "SELECT COALESCE(SUM(size), 0) FROM evidence WHERE game=?", (game,)
            ).fetchone()
            if total <= self.evidence_limit:
                return
            row = connection.execute(
                "SELECT id FROM evidence e WHERE game=? ORDER BY NOT EXISTS "
                "(SELECT 1 FROM evidence l WHERE l.game=e.game AND l.raid=e.raid AND l.id>e.id), id LIMIT 1",
                (game,),
            ).fetchone()
            connection.execute("DELETE FROM evidence WHERE id=?", row)

    def probe(self) -> None:
        """Write some pages and free them again; raises `StoreFull` as long as the disk refuses."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('probe', ?)", ("x" * 4 * self.page_size,))
        with self._writing() as connection:
            connection.execute("DELETE FROM meta WHERE key='probe'")

    # -- the second copy -------------------------------------------------------------------------------------

    def _journal_path(self, game: int) -> Path:
        return self.directory / "journal" / f"game-{game:04d}.jsonl"

    def _next_by_journal(self) -> int:
        """A number that no journal has yet, so that a new game never meets an old one's lines."""
        games = [_game_of(path) or 0 for path in (self.directory / "journal").glob("game-*.jsonl")]
        return max(games, default=0) + 1

    def _write_journal(self, operations: Sequence[StoredOperation]) -> None:
        if not operations:
            return
        game = operations[0].game
        # A full disk here costs only the second copy, and that is rewritten at the next start.
        with suppress(OSError):
            if self._journal is None or self._journal_game != game:
                if self._journal is not None:
                    os.close(self._journal)
                    self._journal = None
                self._journal = os.open(
                    self._journal_path(game), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
                )
                self._journal_game = game
            os.write(self._journal, b"".join(journal_line(operation) for operation in operations))

    def _rewrite_journal(self, game: int) -> None:
        lines = b"".join(journal_line(operation) for operation in self.operations(game))
        path = self._journal_path(game)
        with suppress(OSError):
            replace_file(path, lines)

    # -- reading ---------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._connect(query_only=True)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise StoreError(f"the store of games in {self.directory} cannot be read ({error})") from error

    def done(self, command: str) -> bool:
        """Was this command done already, in this life or an earlier one?"""
        with self._lock:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    return (
                        self._connection.execute("SELECT 1 FROM commands WHERE id=?", (command,)).fetchone() is not None
                    )
        with self._reading() as connection:
            return connection.execute("SELECT 1 FROM commands WHERE id=?", (command,)).fetchone() is not None

    def meta(self, key: str) -> str | None:
        """A small named value."""
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def current_game(self) -> int | None:
        """The game that was on the table last."""
        value = self.meta("current")
        return None if value is None else int(value)

    def games(self) -> list[StoredGame]:
        """All games, oldest first."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT g.id, g.started, g.finished, g.summary, (SELECT COUNT(*) FROM operations o WHERE o.game=g.id) "
                "FROM games g ORDER BY g.id"
            ).fetchall()
        return [
            StoredGame(i, started, finished, json.loads(summary), count)
            for i, started, finished, summary, count in rows
        ]

    def operations(self, game: int) -> list[StoredOperation]:
        """A game's log, in order."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT game, seq, command, body, written FROM operations WHERE game=? ORDER BY seq", (game,)
            ).fetchall()
        return [StoredOperation(g, seq, command, json.loads(body), written) for g, seq, command, body, written in rows]

    def pictures(self, game: int) -> list[StoredPicture]:
        """What evidence there is of a game, in the order of its operations."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT id, game, seq, raid, roll, kind, taken, size, reading FROM evidence "
                "WHERE game=? ORDER BY seq, id",
                (game,),
            ).fetchall()
        return [_picture(row) for row in rows]

    def picture(self, picture: int) -> bytes | None:
        """The JPEG of a picture, or None when it has been thinned out."""
        with self._reading() as connection:
            row = connection.execute("SELECT jpeg FROM evidence WHERE id=?", (picture,)).fetchone()
        return None if row is None else bytes(row[0])


@dataclass
class _Salvage:
    meta: dict[str, str] = field(default_factory=dict)
    games: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    operations: list[StoredOperation] = field(default_factory=list)
    evidence: list[tuple[Any, ...]] = field(default_factory=list)


def _readable(connection: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    """Rows until the damage."""
    with suppress(sqlite3.Error):
        yield from connection.execute(query)


def _operation(row: Sequence[Any]) -> StoredOperation | None:
    try:
        return StoredOperation(int(row[0]), int(row[1]), str(row[2]), dict(json.loads(row[3])), str(row[4]))
    except (ValueError, TypeError):
        return None


def _picture(row: Sequence[Any]) -> StoredPicture:
    identity, game, seq, raid, roll, kind, taken, size, reading = row
    return StoredPicture(
        identity, game, seq, raid, roll, kind, taken, size, None if reading is None else json.loads(reading)
    )


def _dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def is_disk_trouble(error: sqlite3.Error) -> bool:
    """Full, read-only or failing disk, as against a damaged file."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith(
        ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_BUSY", "SQLITE_LOCKED")
    ) and (name != "SQLITE_IOERR_SHORT_READ")


def journal_line(operation: StoredOperation) -> bytes:
    """One line of the second copy: checksum, space, JSON."""
    text = _dump(
        {
            "game": operation.game,
            "seq": operation.seq,
            "command": operation.command,
            "body": operation.body,
            "written": operation.written,
        }
    ).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def read_journal(path: Path) -> tuple[list[StoredOperation], bool]:
    """The operations of a journal file up to the first damaged line, and whether there was such a line."""
    operations: list[StoredOperation] = []
    data = path.read_bytes()
    for line in data.split(b"\n"):
        if not line:
            continue
        checksum, _, text = line.partition(b" ")
        if b"%08x" % zlib.crc32(text) != checksum:
            return operations, True
        value = json.loads(text)
        operations.append(
            StoredOperation(value["game"], value["seq"], value["command"], value["body"], value["written"])
        )
    return operations, bool(data) and not data.endswith(b"\n")


def _game_of(path: Path) -> int | None:
    number = path.stem.removeprefix("game-")
    return int(number) if number.isdigit() else None


def _last(operations: Sequence[StoredOperation]) -> int:
    return operations[-1].seq if operations else -1


def _unbroken(operations: Sequence[StoredOperation], first: int) -> int:
    """How many of `operations` follow `first`, `first + 1`, … without a gap."""
    n = 0
    while n < len(operations) and operations[n].seq == first + n:
        n += 1
    return n


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` at `path` so that after a power cut either the old or the new content is there, whole.

    Data is synced before the rename, and the folder after it.
    """
    temporary = path.with_name(path.name + ".new")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
