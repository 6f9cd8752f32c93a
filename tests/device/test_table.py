"""The table: one writer, each command once, nothing told before it is on the disk, doubt asked and never guessed."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device.errors import NotAllowed, StoreFull, TableBusy
from device.orders import (
    Answer,
    Ask,
    Choice,
    CorrectDie,
    CorrectRaid,
    DieDetail,
    DrawCard,
    EndRaid,
    EnterRaid,
    NewGame,
    NextCard,
    Picture,
    PlaceOnCard,
    Redo,
    RenamePlayer,
    Roll,
    Undo,
    Withdraw,
)
from device.settings import Settings
from device.store import Store
from device.table import Table
from scorer.cards import Card
from scorer.faces import Face
from tests.device.table_helpers import BUST, ISLAND, PLAIN, TWO_SKULLS, C, D, M, P, S, X, begin, raid

State = dict[str, Any]
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def state(table: Table) -> State:
    return table.snapshot.to_json()


def settled(check: Callable[[], bool], seconds: float = 3.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.01)
    return check()


def pads(table: Table) -> list[Any]:
    now = state(table)
    return [now["players"], now["raids"], now["raid"], now["turn"], now["winners"]]


class TestCommands:
    def test_a_raid_goes_on_the_pad(self, table: Table) -> None:
        begin(table)
        raid(table, PLAIN, Card.GOLD_COIN)
        now = state(table)
        assert now["players"][0]["total"] == 700
        assert now["raids"][0]["player"] == "Anna"
        assert sum(line["points"] for line in now["raids"][0]["lines"]) == 700
        assert (now["turn"], now["status"], now["raid"]) == (1, "waiting", None)

    def test_without_a_game_everything_says_so(self, table: Table) -> None:
        with pytest.raises(NotAllowed, match="no game yet"):
            table.submit(EndRaid())
        assert state(table)["status"] == "no_game"

    def test_versions_grow_over_restarts(self, folder: Path) -> None:
        last = 0
        for _ in range(3):
            with Store.open(folder) as store, Table(store) as table:
                assert table.snapshot.version > last
                last = table.snapshot.version

    def test_a_restart_gives_the_same_pad(self, folder: Path) -> None:
        with Store.open(folder) as store, Table(store) as table:
            begin(table, "Anna", "Ben", "Cem", target=3000)
            raid(table)
            table.submit(DrawCard(Card.SHIP_2))
            details = tuple(DieDetail(0.9, ((Face.SKULL, 0.1),), (1.0, 2.0, 3.0, 4.0)) for _ in range(8))
            table.submit(Roll(TWO_SKULLS, details=details))
            before = pads(table)
        with Store.open(folder) as store, Table(store) as table:
            assert pads(table) == before
            assert before[2]["dice"][0]["box"] == [1.0, 2.0, 3.0, 4.0]

    def test_a_refused_command_changes_nothing(self, table: Table, store: Store) -> None:
        begin(table)
        version, log = table.snapshot.version, len(store.operations(1))
        with pytest.raises(NotAllowed):
            table.submit(EndRaid())
        assert (table.snapshot.version, len(store.operations(1))) == (version, log)

    def test_each_id_is_done_once(self, table: Table, store: Store) -> None:
        begin(table)
        table.submit(DrawCard(Card.PIRATE), id="one")
        again = table.submit(DrawCard(Card.SKULL_1), id="one")
        assert again.duplicate
        assert not again.applied
        assert state(table)["raid"]["card"] == "pirate"

    def test_the_raid_that_was_meant(self, table: Table) -> None:
        begin(table)
        raid(table)
        with pytest.raises(NotAllowed, match="somebody else was quicker"):
            table.submit(EnterRaid(Card.PIRATE, PLAIN), raid=0)
        table.submit(EnterRaid(Card.PIRATE, PLAIN), raid=1)

    def test_a_full_queue_says_so(self, store: Store) -> None:
        table = Table(store, settings=Settings(queue=1, command_timeout=0.05))  # nobody takes orders out
        with pytest.raises(TableBusy):
            table.submit(NewGame(("A", "B")))
        with pytest.raises(TableBusy):
            table.submit(NewGame(("A", "B")))
        assert table.post(EndRaid()) is False

    def test_a_listener_that_fails_stops_nobody(self, table: Table) -> None:
        def fail(snapshot: object) -> None:
            raise RuntimeError("the light is broken")

        seen: list[int] = []
        table.add_listener(fail)
        table.add_listener(lambda snapshot: seen.append(snapshot.version))
        begin(table)
        assert settled(lambda: len(seen) > 0)

    def test_a_fault_inside_does_not_end_the_writer(self, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        begin(table)
        with monkeypatch.context() as broken:
            broken.setattr(table.store, "append", lambda *a: 1 / 0)
            with pytest.raises(Exception, match="made a mistake"):
                table.submit(DrawCard(Card.PIRATE))
        table.submit(DrawCard(Card.PIRATE))
        assert state(table)["raid"]["card"] == "pirate"

    def test_names_may_be_anything_short(self, table: Table) -> None:
        begin(table, "🏴‍☠️ Zoë", "<script>alert(1)</script>")
        table.submit(RenamePlayer(0, "Ännchen"))
        assert [p["name"] for p in state(table)["players"]] == ["Ännchen", "<script>alert(1)</script>"]

    def test_the_next_card(self, table: Table) -> None:
        begin(table)
        seen = []
        for _ in range(15):
            table.submit(NextCard(), source="button")
            seen.append(state(table)["raid"]["card"])
        assert len(set(seen)) == 14
        assert seen[0] == seen[14]
        assert state(table)["raid"]["card_source"] == "button"

    def test_a_card_again_is_no_operation(self, table: Table, store: Store) -> None:
        begin(table)
        table.submit(DrawCard(Card.PIRATE))
        log = len(store.operations(1))
        assert table.submit(DrawCard(Card.PIRATE)).applied
        assert len(store.operations(1)) == log

    def test_entering_replaces_the_raid_that_runs(self, table: Table) -> None:
        begin(table)
        table.submit(DrawCard(Card.PIRATE))
        table.submit(Roll(TWO_SKULLS))
        table.submit(EnterRaid(Card.GOLD_COIN, PLAIN, rolls=1))
        now = state(table)
        assert [r["total"] for r in now["raids"]] == [700]
        assert now["turn"] == 1

    def test_dice_on_treasure_island(self, table: Table) -> None:
        begin(table)
        table.submit(DrawCard(Card.TREASURE_ISLAND))
        table.submit(Roll(TWO_SKULLS))
        table.submit(PlaceOnCard((2, 7)))
        with pytest.raises(NotAllowed, match="lies on Treasure Island"):
            table.submit(Roll((C, X), dice=(2, 3)))
        table.submit(Roll((X, P), dice=(3, 4)))
        now = state(table)
        assert now["status"] == "announced"
        table.submit(EndRaid())
        assert state(table)["raids"][0]["total"] == 200
        assert state(table)["raids"][0]["on_card"] == [2, 7]

    def test_correcting_an_earlier_raid_counts_all_again(self, table: Table) -> None:
        begin(table)
        raid(table)
        raid(table)
        table.submit(CorrectRaid(0, Card.PIRATE, PLAIN))
        now = state(table)
        assert now["raids"][0]["corrected"]
        assert not now["raids"][1]["corrected"]
        assert now["players"][0]["total"] == now["raids"][0]["total"] != 700
        table.submit(Undo())
        assert state(table)["players"][0]["total"] == 700


class TestWaiting:
    def test_wait_returns_at_once_for_a_stranger(self, table: Table) -> None:
        began = time.monotonic()
        assert table.wait(0, 5.0) is table.snapshot
        assert time.monotonic() - began < 0.5

    def test_wait_wakes_at_a_change(self, table: Table) -> None:
        seen: list[int] = []
        since = table.snapshot.version
        thread = threading.Thread(target=lambda: seen.append(table.wait(since, 5.0).version))
        thread.start()
        begin(table)
        thread.join(2)
        assert seen == [since + 1]

    def test_what_the_camera_sees_is_bounded(self, table: Table) -> None:
        since, began = table.snapshot.version, time.monotonic()
        for n in range(300):
            table.show_reading({"phase": "settled", "frame": n})
            time.sleep(0.001)
        assert settled(lambda: (state(table)["reading"] or {}).get("frame") == 299)
        assert table.snapshot.version - since <= 2 + 10 * (time.monotonic() - began)

    def test_the_same_status_is_no_news(self, table: Table) -> None:
        table.show_status("camera", {"state": "streaming"})
        assert settled(lambda: state(table)["camera"]["state"] == "streaming")
        version = table.snapshot.version
        table.show_status("camera", {"state": "streaming"})
        time.sleep(0.2)
        assert table.snapshot.version == version

    def test_history_is_left_out_where_it_is_known(self, table: Table) -> None:
        begin(table)
        raid(table)
        history = table.snapshot.history.version
        table.submit(DrawCard(Card.PIRATE))
        assert table.snapshot.history.version == history
        assert '"raids":' not in table.snapshot.short_json
        assert '"raids":' in table.snapshot.json


def face_question(group: str = "roll-1", die: int = 3, faces: tuple[Face | None, ...] = (), **more: Any) -> Ask:
    return Ask(
        kind="face",
        code="doubtful_die",
        sentence="Die 4: skull or coin?",
        die=die,
        group=group,
        choices=(Choice("skull", 0.6), Choice("coin", 0.3)),
        pending=Roll(faces or (C, C, C, None, M, P, S, D)),
        **more,
    )


class TestDoubt:
    def ask(self, table: Table, **more: Any) -> str:
        begin(table)
        table.submit(DrawCard(Card.GOLD_COIN))
        table.submit(face_question(**more))
        return str(state(table)["questions"][0]["id"])

    def test_nothing_is_scored_while_it_is_open(self, table: Table) -> None:
        self.ask(table)
        now = state(table)
        assert now["status"] == "asking"
        assert now["raid"]["dice"] == []
        assert [c["value"] for c in now["questions"][0]["choices"]] == ["skull", "coin"]
        assert not now["can"]["end_raid"]["ok"]
        with pytest.raises(NotAllowed, match="skull or coin"):
            table.submit(EndRaid())

    def test_one_tap_settles_it(self, table: Table) -> None:
        question = self.ask(table)
        table.submit(Answer(question, "coin"))
        now = state(table)
        assert now["questions"] == []
        assert [d["face"] for d in now["raid"]["dice"]] == ["coin"] * 4 + ["monkey", "parrot", "sabers", "diamond"]

    def test_any_face_may_be_answered(self, table: Table) -> None:
        table.submit(Answer(self.ask(table), "parrot"))
        assert state(table)["raid"]["dice"][3]["face"] == "parrot"

    def test_correcting_that_die_answers_too(self, table: Table) -> None:
        self.ask(table)
        table.submit(CorrectDie(3, Face.MONKEY))
        assert state(table)["raid"]["dice"][3]["face"] == "monkey"

    def test_two_doubtful_dice_wait_for_both(self, table: Table) -> None:
        begin(table)
        table.submit(DrawCard(Card.GOLD_COIN))
        faces = (None, C, C, None, M, P, S, D)
        table.submit(face_question(die=0, faces=faces))
        table.submit(face_question(die=3, faces=faces))
        first, second = (q["id"] for q in state(table)["questions"])
        table.submit(Answer(first, "diamond"))
        assert state(table)["raid"]["dice"] == []
        table.submit(Answer(second, "coin"))
        assert [d["face"] for d in state(table)["raid"]["dice"]][:4] == ["diamond", "coin", "coin", "coin"]

    def test_an_answer_comes_once(self, table: Table) -> None:
        question = self.ask(table)
        table.submit(Answer(question, "coin"))
        with pytest.raises(NotAllowed, match="settled already"):
            table.submit(Answer(question, "skull"))

    def test_withdrawn_when_the_dice_are_thrown_again(self, table: Table) -> None:
        self.ask(table)
        table.submit(Withdraw("roll-1"))
        assert state(table)["questions"] == []

    def test_a_newer_question_supersedes(self, table: Table) -> None:
        old = self.ask(table)
        table.submit(face_question())
        (new,) = state(table)["questions"]
        assert new["id"] != old

    def test_it_answers_itself_where_that_is_wanted(self, table: Table) -> None:
        self.ask(table, default="coin", seconds=0.05)
        assert settled(lambda: len(state(table)["raid"]["dice"]) == 8)
        assert state(table)["raid"]["dice"][3]["face"] == "coin"

    def test_a_choice_may_be_an_order(self, table: Table) -> None:
        begin(table)
        table.submit(DrawCard(Card.GOLD_COIN))
        choices = (Choice("pirate", order=DrawCard(Card.PIRATE)), Choice("gold_coin", order=DrawCard(Card.GOLD_COIN)))
        table.submit(Ask(kind="card", code="card_differs", sentence="Which?", choices=choices, group="card"))
        table.submit(Answer(state(table)["questions"][0]["id"], "pirate"))
        assert state(table)["raid"]["card"] == "pirate"

    def test_a_roll_without_a_card_asks_for_it(self, table: Table) -> None:
        begin(table)
        table.submit(Roll(PLAIN), source="camera")
        now = state(table)
        assert now["questions"][0]["kind"] == "card"
        assert now["raid"]["worth_now"] is None
        with pytest.raises(NotAllowed, match="Which pirate card"):
            table.submit(EndRaid())
        table.submit(Answer(now["questions"][0]["id"], "gold_coin"))
        table.submit(EndRaid())
        assert state(table)["raids"][0]["total"] == 700

    def test_a_bust_without_a_card_is_not_announced(self, table: Table) -> None:
        begin(table)
        table.submit(Roll(BUST), source="camera")
        assert [q["kind"] for q in state(table)["questions"]] == ["card"]
        table.submit(DrawCard(Card.WATCHWOMAN))
        assert state(table)["questions"] == []
        assert state(table)["raid"]["watchwoman"]


class TestAnnouncing:
    def test_a_bust_goes_on_the_pad_after_its_grace(self, store: Store) -> None:
        with Table(store, settings=Settings(grace=0.1)) as table:
            begin(table)
            table.submit(DrawCard(Card.GOLD_COIN))
            table.submit(Roll(BUST), source="camera")
            now = state(table)
            assert now["status"] == "announced"
            assert now["raid"]["phase"] == "bust"
            assert settled(lambda: state(table)["turn"] == 1)
            assert state(table)["raids"][0]["outcome"] == "bust"

    def test_that_was_misread(self, store: Store) -> None:
        with Table(store, settings=Settings(grace=0.2)) as table:
            begin(table)
            table.submit(DrawCard(Card.GOLD_COIN))
            table.submit(Roll(BUST))
            table.submit(Answer(state(table)["questions"][0]["id"], "misread"))
            time.sleep(0.3)
            assert state(table)["raids"] == []
            table.submit(CorrectDie(0, Face.COIN))
            now = state(table)
            assert (now["status"], now["raid"]["phase"], now["questions"]) == ("raid", "rolling", [])

    def test_a_correction_during_the_grace_takes_it_back(self, table: Table) -> None:
        begin(table)
        table.submit(DrawCard(Card.GOLD_COIN))
        table.submit(Roll(BUST))
        table.submit(CorrectDie(0, Face.COIN))
        assert state(table)["questions"] == []

    def test_skull_island_counts_on_until_no_skull_falls(self, table: Table) -> None:
        begin(table)
        table.submit(DrawCard(Card.PIRATE))
        table.submit(Roll(ISLAND))
        assert state(table)["raid"]["phase"] == "island"
        table.submit(Roll((X, M), dice=(4, 5)))
        table.submit(Roll((M, M), dice=(5, 6)))
        assert state(table)["questions"][0]["kind"] == "island"
        table.submit(EndRaid())
        assert [p["total"] for p in state(table)["players"]] == [0, -1000]

    def test_it_survives_a_restart(self, folder: Path) -> None:
        with Store.open(folder) as store, Table(store) as table:
            begin(table)
            table.submit(DrawCard(Card.GOLD_COIN))
            table.submit(Roll(BUST))
        with Store.open(folder) as store, Table(store, settings=Settings(grace=0.1)) as table:
            assert settled(lambda: len(state(table)["raids"]) == 1)


class TestEvidence:
    def test_pictures_hang_on_their_raid(self, table: Table) -> None:
        begin(table)
        raid(table)
        table.submit(DrawCard(Card.GOLD_COIN))
        table.submit(Roll(TWO_SKULLS, pictures=(Picture(b"one"),)))
        table.submit(Roll((C, C), dice=(3, 4), pictures=(Picture(b"two"),)))
        assert [p["roll"] for p in state(table)["raid"]["photos"]] == [1, 2]
        table.submit(EndRaid(pictures=(Picture(b"end", kind="end"),)))
        now = state(table)
        assert now["raids"][0]["photos"] == []
        assert [p["kind"] for p in now["raids"][1]["photos"]] == ["roll", "roll", "end"]
        assert table.photo(1, 1) == b"two"
        assert table.photo(1, 9) is None

    def test_an_undone_roll_takes_its_picture_along(self, table: Table) -> None:
        begin(table)
        table.submit(DrawCard(Card.GOLD_COIN))
        table.submit(Roll(TWO_SKULLS, pictures=(Picture(b"one"),)))
        table.submit(Undo())
        assert state(table)["raid"]["photos"] == []
        table.submit(Redo())
        assert len(state(table)["raid"]["photos"]) == 1

    def test_of_an_answered_doubt(self, table: Table) -> None:
        begin(table)
        table.submit(DrawCard(Card.GOLD_COIN))
        table.submit(face_question(pictures=(Picture(b"doubt"),)))
        table.submit(Answer(state(table)["questions"][0]["id"], "coin"))
        assert len(state(table)["raid"]["photos"]) == 1


class TestFullDisk:
    def test_says_so_keeps_the_state_and_resumes(
        self, table: Table, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("device.table.PROBE", 0.05)
        begin(table)
        before = pads(table)
        assert store._connection is not None
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages}")
        with suppress(StoreFull):
            for _ in range(300):
                table.submit(NextCard())
                before = pads(table)
        with pytest.raises(StoreFull, match="nothing was changed"):
            table.submit(Roll(PLAIN, details=tuple(DieDetail(0.5, ((Face.SKULL, 0.1),) * 90) for _ in range(8))))
        assert settled(lambda: state(table)["store"]["state"] == "full")
        assert [m["code"] for m in state(table)["messages"]] == ["store_full"]
        assert pads(table) == before
        store._connection.execute("PRAGMA max_page_count=100000")
        assert settled(lambda: state(table)["store"]["state"] == "ok")
        assert state(table)["messages"] == []
        table.submit(NextCard())


TURNS = st.lists(
    st.tuples(st.sampled_from(list(Card)), st.lists(st.sampled_from(list(Face)), min_size=8, max_size=8)), max_size=6
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=TURNS, extra=st.integers(0, 2))
def test_undo_n_then_redo_n_is_identity(turns: list[Any], extra: int) -> None:
    """Field fault 34, over the whole table and its store."""
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as name,
        Store.open(Path(name)) as store,
        Table(store, settings=Settings(grace=60)) as table,
    ):
        begin(table, "Anna", "Ben", target=2000)
        for card, faces in turns:
            if state(table)["status"] != "finished":
                table.submit(EnterRaid(card, tuple(faces)))
        if state(table)["status"] != "finished" and extra:
            table.submit(DrawCard(Card.PIRATE))
            table.submit(Roll(TWO_SKULLS))
        states = [pads(table)]
        while state(table)["can"]["undo"]["ok"]:
            table.submit(Undo())
            states.append(pads(table))
        for expected in reversed(states[:-1]):
            table.submit(Redo())
            assert pads(table) == expected
        assert not state(table)["can"]["redo"]["ok"]


def test_two_phones_end_at_once(table: Table) -> None:
    """Field fault 28: one raid, whoever was quicker."""
    begin(table)
    table.submit(DrawCard(Card.GOLD_COIN))
    table.submit(Roll(PLAIN))
    results: list[object] = []

    def end(name: str) -> None:
        try:
            results.append(table.submit(EndRaid(), id=name, raid=0).applied)
        except NotAllowed as error:
            results.append(error.code)

    phones = [threading.Thread(target=end, args=(f"phone-{n}",)) for n in range(2)]
    for thread in phones:
        thread.start()
    for thread in phones:
        thread.join()
    assert sorted(map(str, results)) == ["True", "other_raid"]
    assert len(state(table)["raids"]) == 1


def test_a_broken_log_goes_on_before_the_break(folder: Path) -> None:
    with Store.open(folder) as store, Table(store) as table:
        begin(table)
        raid(table)
    with Store.open(folder) as store:
        store.append(1, 4, [{"op": {"kind": "walk_the_plank"}}], "strange")
        with Table(store) as table:
            now = state(table)
            assert [m["code"] for m in now["messages"]] == ["replay_stopped"]
            assert len(now["raids"]) == 1
            raid(table)
    with Store.open(folder) as store, Table(store) as table:
        assert len(state(table)["raids"]) == 2
