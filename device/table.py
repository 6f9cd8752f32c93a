"""The table: the only writer. Orders go in, the next state comes out; between them lies the disk.

Phones, buttons and the referee hand orders to one bounded queue. One thread takes them out: is it done already? may
it be done? → operations → on the disk → new state → listeners and waiting phones. A state is an immutable, numbered
`Snapshot`; whoever holds one can read it without a lock. Nothing here knows a camera, a pin or a browser.

Doubts are questions on the table. While one is open, what it is about is not scored. A bust, or the end of an island
raid, is announced by the table itself and written on the pad when its grace has passed.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from device import pad
from device.errors import BadCommand, DeviceError, NotAllowed, StoreError, StoreFull, TableBusy, TableError
from device.orders import (
    Answer,
    Ask,
    Choice,
    CorrectDie,
    DrawCard,
    EndRaid,
    EnterRaid,
    NewGame,
    NextCard,
    Order,
    Picture,
    Redo,
    Roll,
    Undo,
    Withdraw,
    fill,
    kind_of,
)
from device.settings import Settings
from device.snapshot import ANNOUNCED, NO_GAME_SENTENCE, NO_HISTORY, History, Snapshot, Told, View, dump
from device.store import Store, StoredGame, StoredPicture
from scorer.cards import Card
from scorer.faces import Face

log = logging.getLogger(__name__)

QUIET = 0.1
"""Seconds between two states that tell only what the camera sees; an order is told at once."""
PROBE = 5.0
"""Seconds between two looks whether a full disk has room again."""
VERSIONS_A_START = 100_000_000
"""Versions of one life of the table; the next life's are all higher."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an order."""

    id: str
    applied: bool
    version: int
    """The version that shows it."""
    duplicate: bool = False
    """It was done before, and is not done again."""


@dataclass(slots=True)
class _Job:
    order: Order
    id: str
    source: str
    raid: int | None
    future: Future[Receipt] | None


@dataclass(frozen=True, slots=True)
class Question:
    """An open question."""

    id: str
    ask: Ask
    deadline: float | None

    def to_json(self) -> dict[str, Any]:
        """The question as the page shows it."""
        ask = self.ask
        return {
            "id": self.id,
            "kind": ask.kind,
            "die": ask.die,
            "code": ask.code,
            "args": dict(ask.args),
            "sentence": ask.sentence,
            "choices": [
                {"value": c.value, "probability": None if c.probability is None else round(c.probability, 4)}
                for c in ask.choices
            ],
            "default": ask.default,
            "deadline": None if self.deadline is None else round(self.deadline, 3),
            "box": None if ask.box is None else list(ask.box),
        }


class Table:
    """One table.

        with Store.open(folder) as store, Table(store) as table:
            table.submit(NewGame(("Anna", "Ben")))
            table.submit(Roll(faces))
            print(table.snapshot.json)

    `clock` gives seconds, `settings` the grace and the limits. Use as a context manager, or call `start` and `close`.
    """

    def __init__(
        self, store: Store, *, settings: Settings | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.store = store
        self.settings = settings or Settings()
        self._clock = clock
        self._queue: queue.Queue[_Job | None] = queue.Queue(self.settings.queue)
        self._wake_pending = threading.Event()
        self._changed = threading.Condition()
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._thread = threading.Thread(target=self._run, name="table", daemon=True)
        self._closed = threading.Event()
        self._told = Told()
        self._told_lock = threading.Lock()
        self._told_dirty = False
        self._last_told = -1e9
        # Below: touched by the writer thread only.
        self._pad: pad.Pad | None = None
        self._game: int | None = None
        self._questions: dict[str, Question] = {}
        self._question_number = 0
        self._holes: dict[str, dict[int, tuple[Face, tuple[Picture, ...]]]] = {}
        self._misread_at: int | None = None
        self._pictures: tuple[StoredPicture, ...] = ()
        self._small_ids: dict[str, None] = {}
        self._full_since: float | None = None
        self._probed = 0.0
        self._faults = 0
        self._version = store.starts * VERSIONS_A_START
        self._history: History = NO_HISTORY
        self._view = View.of(None, ())
        self._viewed: tuple[StoredPicture, ...] = ()
        self._listed: StoredGame | None = None
        for note in store.notes:
            self._told.message(note.code, note.sentence, note.args, level="warning")
        self._load()
        self._snapshot = self._make_snapshot()

    # -- life ------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Begin to take orders."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Finish the order at hand, refuse the others. A second call does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        with suppress(queue.Full):
            self._queue.put_nowait(None)
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout=10)
        with self._changed:
            self._changed.notify_all()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def is_closed(self) -> bool:
        """Has it stopped?"""
        return self._closed.is_set()

    def _load(self) -> None:
        """Replay the current game from the store."""
        self._game = self.store.current_game()
        if self._game is None:
            return
        stored = self.store.operations(self._game)
        self._pad, bad = pad.Pad.replay(stored)
        if bad is not None:
            self._told.message(
                "replay_stopped",
                f"Operation {bad.seq + 1} of {len(stored)} of the saved game cannot be replayed "
                f"({bad.reason}); the game goes on before it.",
                {"number": bad.seq + 1, "of": len(stored)},
                level="error",
            )
            self._game = None if self._pad is None else self._fork(self._pad)
        self._pictures = () if self._game is None else tuple(self.store.pictures(self._game))
        self._list_game()
        self._announce()

    def _list_game(self) -> None:
        self._listed = next((game for game in self.store.games() if game.id == self._game), None)

    def _fork(self, good: pad.Pad) -> int:
        """A new game in the store of the part that can be replayed, so that the damaged log stays as it is."""
        return self.store.begin_game(f"fork-{uuid.uuid4()}", good.bodies)

    # -- what others call ------------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The newest state."""
        return self._snapshot

    def wait(self, since: int, timeout: float) -> Snapshot:
        """The newest state, as soon as its version is not `since` (at most `timeout` seconds later)."""
        with self._changed:
            self._changed.wait_for(lambda: self._snapshot.version != since or self._closed.is_set(), timeout)
            return self._snapshot

    def submit(
        self,
        order: Order,
        *,
        id: str | None = None,
        source: str = "inside",
        raid: int | None = None,
        timeout: float | None = None,
    ) -> Receipt:
        """Have an order done; returns when it is on the disk.

        `id` makes sending it again safe; `raid` is the number of the raid that the sender means, `source` who sends
        (`phone`, `camera`, `button`, …). Raises `TableError` with a sentence when it is refused, `StoreFull` when
        the disk refuses, `TableBusy` when it takes longer than `timeout` seconds (send it again with the same id).
        """
        future: Future[Receipt] = Future()
        job = _Job(order, id or str(uuid.uuid4()), source, raid, future)
        limit = self.settings.command_timeout if timeout is None else timeout
        try:
            if self._closed.is_set():
                raise queue.Full
            self._queue.put(job, timeout=limit)
            return future.result(limit)
        except queue.Full:
            raise TableBusy("the table is busy: wait a moment, then try again") from None
        except TimeoutError as error:
            if isinstance(error, TableBusy):
                raise
            raise TableBusy("the table has not got to it yet: wait a moment, then try again") from None

    def post(self, order: Order, *, id: str | None = None, source: str = "button", raid: int | None = None) -> bool:
        """Queue an order and do not wait: for callbacks. False when the queue is full. A refusal is told as a
        message."""
        if self._closed.is_set():
            return False
        try:
            self._queue.put_nowait(_Job(order, id or str(uuid.uuid4()), source, raid, None))
        except queue.Full:
            return False
        return True

    def show_reading(self, reading: Mapping[str, Any] | None) -> None:
        """Tell the page what the camera sees now; the newest wins, nothing is stored."""
        self._tell("reading", None if reading is None else dict(reading))

    def show_status(self, part: str, status: Mapping[str, Any]) -> None:
        """Tell the page how a part is: `camera`, `panel`, `model`, `power`."""
        self._tell(part, dict(status))

    def show_message(
        self, code: str, sentence: str, args: Mapping[str, Any] | None = None, *, level: str = "warning"
    ) -> None:
        """A banner that holds until `clear_message`."""
        with self._told_lock:
            self._told.message(code, sentence, args or {}, level=level)
            self._told_dirty = True
        self._wake()

    def clear_message(self, code: str) -> None:
        """Take a banner away."""
        with self._told_lock:
            if not self._told.clear(code):
                return
            self._told_dirty = True
        self._wake()

    def add_listener(self, listener: Callable[[Snapshot], None]) -> None:
        """Have `listener(snapshot)` called in the writer's thread at each version; it must be quick."""
        self._listeners.append(listener)

    def photo(self, raid: int, number: int) -> bytes | None:
        """A picture of a raid of the game on the table."""
        pictures = self._snapshot.photos_of(raid)
        return self.store.picture(pictures[number].id) if 0 <= number < len(pictures) else None

    def old_game(self, game: int) -> dict[str, Any] | None:
        """The pad of any game in the store."""
        stored = self.store.operations(game)
        if not stored:
            return None
        old, _ = pad.Pad.replay(stored)
        return None if old is None else {"id": game, **old.summary_view()}

    def health(self) -> dict[str, Any]:
        """For the status page and the watchdog."""
        return {
            "version": self._snapshot.version,
            "alive": self._thread.is_alive(),
            "queued": self._queue.qsize(),
            "faults": self._faults,
            "game": self._game,
        }

    # -- the writer's thread ---------------------------------------------------------------------------------

    def _tell(self, part: str, value: Any) -> None:
        with self._told_lock:
            if self._told.parts.get(part) == value:
                return
            self._told.parts[part] = value
            self._told_dirty = True
        self._wake()

    def _wake(self) -> None:
        """Have the writer look; at most one such token lies in the queue."""
        if not self._wake_pending.is_set():
            self._wake_pending.set()
            with suppress(queue.Full):
                self._queue.put_nowait(None)

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                job = self._queue.get(timeout=self._next_look())
            except queue.Empty:
                job = None
            if job is None:
                self._wake_pending.clear()
            else:
                self._handle(job)
            try:
                self._take_defaults()
                self._look_at_disk()
                self._publish_told()
            except Exception:
                self._faults += 1
                log.exception("the table's housekeeping failed")
        self._refuse_the_rest()

    def _refuse_the_rest(self) -> None:
        with suppress(queue.Empty):
            while True:
                job = self._queue.get_nowait()
                if job is not None and job.future is not None:
                    job.future.set_exception(TableBusy("the table is closing: try again in a moment"))

    def _next_look(self) -> float:
        now = self._clock()
        waits = [q.deadline - now for q in self._questions.values() if q.deadline is not None]
        if self._full_since is not None:
            waits.append(self._probed + PROBE - now)
        if self._told_dirty:
            waits.append(self._last_told + QUIET - now)
        return min(max(min(waits, default=60.0), 0.0), 60.0)

    def _handle(self, job: _Job) -> None:
        try:
            receipt = self._execute(job)
        except DeviceError as error:
            self._refused(job, error)
        except Exception as error:  # a fault of ours must not end the writer
            self._faults += 1
            log.exception("order %s failed", kind_of(job.order))
            self._refused(
                job,
                TableError(
                    "the table made a mistake and wrote it down; nothing was changed",
                    code="fault",
                    details={"kind": type(error).__name__},
                ),
            )
        else:
            if job.future is not None:
                job.future.set_result(receipt)

    def _refused(self, job: _Job, error: DeviceError) -> None:
        log.info("refused %s from %s: %s", kind_of(job.order), job.source, error.sentence)
        if isinstance(error, StoreFull):
            self._disk_is_full(error)
            self._publish()  # whoever hears the refusal finds the reason in the state
        if job.future is not None:
            job.future.set_exception(error)
        else:
            self.show_message(
                "refused",
                error.sentence,
                {"code": error.code, "args": error.details, "source": job.source},
                level="info",
            )

    def _execute(self, job: _Job) -> Receipt:
        if job.id in self._small_ids or self.store.done(job.id):
            return Receipt(job.id, False, self._snapshot.version, duplicate=True)
        self._check_raid(job)
        self._do(job.order, job)
        self._small_ids[job.id] = None
        while len(self._small_ids) > 1000:
            del self._small_ids[next(iter(self._small_ids))]
        with self._told_lock:
            self._told.clear("refused")
        self._publish()
        return Receipt(job.id, True, self._snapshot.version)

    def _check_raid(self, job: _Job) -> None:
        if job.raid is None or self._pad is None:
            return
        now = self._pad.raid_number
        if job.raid != now:
            raise NotAllowed(
                f"that was meant for raid {job.raid + 1}, but the table is at raid {now + 1} already: "
                "look at the pad, somebody else was quicker",
                code="other_raid",
                details={"meant": job.raid + 1, "now": now + 1},
            )

    # -- doing -----------------------------------------------------------------------------------------------

    def _do(self, order: Order, job: _Job) -> None:
        match order:
            case NewGame():
                self._new_game(order, job)
            case Ask():
                self._ask(order)
            case Withdraw(group):
                self._withdraw(group)
            case Answer(question, choice):
                self._answer(question, choice, job)
            case CorrectDie(die, face) if (asked := self._asked_about(die)) is not None:
                self._answer(asked.id, face.value, job)
            case NextCard():
                self._apply(DrawCard(self._game_on_table().next_card()), job)
            case EndRaid() if (open_ := self._blocking()) is not None:
                raise NotAllowed(
                    f"not yet, something is doubtful: {open_.ask.sentence}",
                    code="question_open",
                    details={"question": open_.id, "code": open_.ask.code, "args": dict(open_.ask.args)},
                )
            case _:
                self._apply(order, job)

    def _game_on_table(self) -> pad.Pad:
        if self._pad is None:
            raise NotAllowed(NO_GAME_SENTENCE, code="no_game")
        return self._pad

    def _new_game(self, order: NewGame, job: _Job) -> None:
        fresh = pad.Pad.begin(order, source=job.source, command=job.id)
        self._game = self.store.begin_game(job.id, fresh.bodies)
        self._pad, self._pictures = fresh, ()
        self._list_game()
        self._forget_questions()
        self._note_summary()

    def _apply(self, order: Order, job: _Job) -> None:
        """Verify, write, and only then change anything here."""
        now = self._game_on_table()
        planned = now.after(order, source=job.source, command=job.id)
        if planned is now:  # already so: nothing to write
            self._after(order)
            return
        assert self._game is not None
        self.store.append(self._game, len(now.bodies), planned.bodies[len(now.bodies) :], job.id)
        self._pad = planned
        self._keep_pictures(order, len(planned.bodies) - 1, planned)
        self._after(order)
        if planned.raid_number != now.raid_number or planned.is_finished != now.is_finished:
            self._note_summary()

    def _after(self, order: Order) -> None:
        """Which questions an order has settled."""
        match order:
            case DrawCard():
                self._drop(lambda q: q.ask.kind == "card")
            case Roll() | EnterRaid() | Undo() | Redo() | EndRaid():
                self._forget_questions(keep_cards=isinstance(order, Roll))
            case _:
                pass
        self._announce()

    def _keep_pictures(self, order: Order, seq: int, planned: pad.Pad) -> None:
        """Evidence comes after the operation: a full disk costs a picture, never a roll."""
        pictures = getattr(order, "pictures", ())
        if not pictures or self._game is None:
            return
        raid = planned.raid_of(seq)
        try:
            for picture in pictures:
                roll = picture.roll or planned.rolls_of(raid)
                self.store.add_picture(self._game, seq, raid, replace(picture, roll=roll))
            self._pictures = tuple(self.store.pictures(self._game))
        except StoreError as error:
            if isinstance(error, StoreFull):
                self._disk_is_full(error)

    def _note_summary(self) -> None:
        """For the list of games only, so that trouble with it is no trouble."""
        if self._pad is None or self._game is None:
            return
        with suppress(StoreError):
            self.store.set_summary(self._game, self._pad.summary(), finished=self._pad.is_finished)

    # -- questions -------------------------------------------------------------------------------------------

    def _ask(self, ask: Ask) -> None:
        if ask.pending is not None and ask.die is None:
            raise BadCommand("expected the die that an Ask with a pending roll is about")
        same = [
            q.id
            for q in self._questions.values()
            if (q.ask.kind, q.ask.die, q.ask.group) == (ask.kind, ask.die, ask.group)
        ]
        for question in same:
            del self._questions[question]
        self._raise_question(ask)

    def _raise_question(self, ask: Ask) -> None:
        self._question_number += 1
        deadline = None if ask.seconds is None or ask.default is None else self._clock() + ask.seconds
        question = Question(f"q{self.store.starts}-{self._question_number}", ask, deadline)
        self._questions[question.id] = question

    def _withdraw(self, group: str | None) -> None:
        self._drop(lambda q: q.ask.kind not in ANNOUNCED and group in (None, q.ask.group))
        for known in list(self._holes):
            if group in (None, known):
                del self._holes[known]

    def _drop(self, which: Callable[[Question], bool]) -> None:
        self._questions = {i: q for i, q in self._questions.items() if not which(q)}

    def _forget_questions(self, *, keep_cards: bool = False) -> None:
        self._drop(lambda q: not (keep_cards and q.ask.kind == "card"))
        self._holes.clear()
        self._misread_at = None

    def _blocking(self) -> Question | None:
        return next((q for q in self._questions.values() if q.ask.kind not in ANNOUNCED), None)

    def _asked_about(self, die: int) -> Question | None:
        return next((q for q in self._questions.values() if q.ask.kind == "face" and q.ask.die == die), None)

    def _answer(self, question: str, choice: str, job: _Job) -> None:
        asked = self._questions.get(question)
        if asked is None:
            raise NotAllowed("that question is settled already", code="question_gone", details={"question": question})
        chosen = _choice(asked.ask, choice)
        if asked.ask.kind in ANNOUNCED:
            self._answer_announcement(asked, choice, job)
        elif asked.ask.pending is not None:
            self._fill_hole(asked, Face(choice), job)
        else:
            self._do_chosen(asked, chosen, job)

    def _do_chosen(self, asked: Question, chosen: Choice, job: _Job) -> None:
        order = chosen.order
        if order is None and asked.ask.kind == "card":
            order = DrawCard(Card(chosen.value))
        del self._questions[asked.id]
        if order is None:
            return
        try:
            self._do(order, job)
        except DeviceError:
            self._questions[asked.id] = asked
            raise

    def _fill_hole(self, asked: Question, face: Face, job: _Job) -> None:
        ask = asked.ask
        assert ask.pending is not None
        assert ask.die is not None
        position = ask.die if ask.pending.dice is None else ask.pending.dice.index(ask.die)
        holes = {**self._holes.get(ask.group, {}), position: (face, ask.pictures)}
        waiting = [
            q
            for q in self._questions.values()
            if q.id != asked.id and q.ask.pending is not None and q.ask.group == ask.group
        ]
        if waiting:
            self._holes[ask.group] = holes
            del self._questions[asked.id]
            return
        roll = fill(ask.pending, [(p, f) for p, (f, _) in holes.items()])
        if any(f is None for f in roll.faces):
            raise BadCommand("a roll was asked about with a hole that no question fills", code="unfilled_roll")
        pictures = tuple(p for _, kept in holes.values() for p in kept)
        self._apply(replace(roll, pictures=roll.pictures + pictures), job)

    # -- bust and island -------------------------------------------------------------------------------------

    def _announce(self) -> None:
        """Ask "was that misread?" when the rules have ended the raid; take it back when they have not."""
        self._ask_for_card()
        self._drop(lambda q: q.ask.kind in ANNOUNCED)
        ended = None if self._pad is None else self._pad.ended_by_rules()
        if ended is None or self._pad is None:
            self._misread_at = None
            return
        if self._misread_at == len(self._pad.bodies):
            return
        kind, code, sentence, args = ended
        self._raise_question(
            Ask(
                kind=kind,
                code=code,
                sentence=sentence,
                args=args,
                group="announcement",
                default="yes",
                seconds=self.settings.grace,
                choices=(Choice("yes"), Choice("misread")),
            )
        )

    def _ask_for_card(self) -> None:
        """Dice lie there and no card is known: nothing is scored before somebody says which."""
        if self._pad is None or not self._pad.needs_card:
            return
        if any(q.ask.kind == "card" for q in self._questions.values()):
            return
        player = self._pad.game.pad.players[self._pad.game.pad.next]
        self._raise_question(
            Ask(
                kind="card",
                code="which_card",
                sentence=f"Which pirate card did {player} draw?",
                args={"player": player},
                group="card",
                choices=tuple(Choice(card.value) for card in self._pad.deck),
            )
        )

    def _answer_announcement(self, asked: Question, choice: str, job: _Job) -> None:
        if choice == "misread":
            assert self._pad is not None
            self._misread_at = len(self._pad.bodies)
            del self._questions[asked.id]
            return
        self._apply(EndRaid(), job)

    def _take_defaults(self) -> None:
        now = self._clock()
        for question in list(self._questions.values()):
            if question.deadline is None or question.deadline > now or question.id not in self._questions:
                continue
            job = _Job(Answer(question.id, question.ask.default or ""), f"default-{question.id}", "table", None, None)
            self._handle(job)
            if question.id in self._questions:  # refused (a full disk): not again at once
                self._questions[question.id] = replace(question, deadline=now + PROBE)

    # -- the disk --------------------------------------------------------------------------------------------

    def _disk_is_full(self, error: StoreFull) -> None:
        self._full_since = self._full_since or self._clock()
        self._probed = self._clock()
        self._tell("store", {"state": "full", "message": error.sentence})
        self.show_message(error.code, error.sentence, error.details, level="error")

    def _look_at_disk(self) -> None:
        if self._full_since is None or self._clock() < self._probed + PROBE:
            return
        self._probed = self._clock()
        try:
            self.store.probe()
        except StoreError:
            return
        self._full_since = None
        self._tell("store", {"state": "ok", "message": ""})
        self.clear_message("store_full")

    # -- telling ---------------------------------------------------------------------------------------------

    def _publish_told(self) -> None:
        if self._told_dirty and self._clock() >= self._last_told + QUIET:
            self._publish()

    def _publish(self) -> None:
        self._last_told = self._clock()
        snapshot = self._make_snapshot()
        with self._changed:
            self._snapshot = snapshot
            self._changed.notify_all()
        for listener in self._listeners:
            try:
                listener(snapshot)
            except Exception:
                self._faults += 1
                log.exception("a listener of the table failed")

    def _make_snapshot(self) -> Snapshot:
        self._version += 1
        with self._told_lock:
            self._told_dirty = False
            told = self._told.to_json()
        if self._view.pad is not self._pad or self._viewed != self._pictures:
            self._view, self._viewed = View.of(self._pad, self._pictures), self._pictures
        photos = self._view.photos
        key = None if self._pad is None else (self._game, self._pad.history_key, photos[:-1])
        if key != self._history.key:
            raids = [] if self._pad is None else self._pad.history(photos)
            self._history = History(self._version, key, raids, dump(raids))
        return Snapshot.make(
            version=self._version,
            history=self._history,
            now=self._clock(),
            game=self._listed,
            pad=self._pad,
            view=self._view,
            questions=[q.to_json() for q in self._questions.values()],
            told=told,
        )


def _choice(ask: Ask, value: str) -> Choice:
    """The choice of that name; for faces and cards, any other face or card too."""
    for choice in ask.choices:
        if choice.value == value:
            return choice
    known: Sequence[str] = {"face": tuple(Face), "card": tuple(Card)}.get(ask.kind, ())
    if value in known:
        return Choice(value)
    allowed = ", ".join(choice.value for choice in ask.choices)
    raise BadCommand(f"expected one of {allowed}, got {value!r}", code="unknown_choice", details={"got": value})
