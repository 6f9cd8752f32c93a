"""What phones ask and say: open to watch, closed to act without the code, each wrong request a sentence."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from device.errors import BadCommand
from device.orders import Picture, Roll
from device.store import Store
from device.table import Table
from device.web import create_app
from device.web.security import COOKIE, Throttle
from scorer.faces import Face
from tests.device.table_helpers import PLAIN, begin, command, raid
from vision.reading import DieReading, Reading, Status


def post(phone: FlaskClient, kind: str, **values: Any) -> Any:
    return phone.post("/api/commands", json=command(kind, **values))


def begun(phone: FlaskClient) -> None:
    assert post(phone, "new_game", players=["Anna", "Ben"]).status_code == 200


class TestState:
    def test_the_contract(self, phone: FlaskClient, table: Table) -> None:
        begun(phone)
        raid(table)
        post(phone, "draw_card", card="pirate")
        post(phone, "roll", faces=[str(face) for face in PLAIN])
        state = phone.get("/api/state").get_json()
        assert {"version", "status", "edition", "players", "raids", "raid", "camera"} <= set(state)
        assert set(state["players"][0]) >= {"name", "total"}
        assert set(state["raids"][0]) >= {"player", "card", "faces", "total", "others", "outcome", "lines"}
        assert set(state["raid"]) >= {"player", "card", "dice", "skulls", "worth_now", "phase", "problems"}
        assert state["raid"]["worth_now"]["total"] == sum(
            line["points"] for line in state["raid"]["worth_now"]["lines"]
        )
        assert state["can_act"] is True

    def test_whoever_only_watches_sees_the_same(self, watcher: FlaskClient, table: Table) -> None:
        begin(table)
        state = watcher.get("/api/state").get_json()
        assert state["status"] == "waiting"
        assert state["can_act"] is False

    def test_since_waits_for_the_next(self, watcher: FlaskClient, table: Table) -> None:
        since = table.snapshot.version
        threading.Timer(0.1, begin, (table,)).start()
        assert watcher.get(f"/api/state?since={since}").get_json()["version"] > since

    def test_since_another_life_answers_at_once(self, watcher: FlaskClient) -> None:
        began = time.monotonic()
        watcher.get("/api/state?since=99999999999")
        assert time.monotonic() - began < 1

    def test_since_nonsense(self, watcher: FlaskClient) -> None:
        answer = watcher.get("/api/state?since=yesterday")
        assert answer.status_code == 400
        assert "version number" in answer.get_json()["error"]


class TestEvents:
    def read(self, answer: Any) -> Iterator[tuple[str, Any]]:
        for chunk in answer.response:
            for part in chunk.decode().split("\n\n"):
                fields = dict(line.split(": ", 1) for line in part.splitlines() if ": " in line)
                if "event" in fields:
                    yield fields["event"], json.loads(fields["data"])

    def test_the_whole_first_then_what_changed(self, watcher: FlaskClient, table: Table) -> None:
        begin(table)
        raid(table)
        answer = watcher.get("/api/events", buffered=False)
        events = self.read(answer)
        kind, first = next(events)
        assert kind == "state"
        assert len(first["raids"]) == 1
        table.show_status("panel", {"state": "ok"})
        kind, second = next(events)
        assert second["version"] > first["version"]
        assert "raids" not in second, "the history is not sent again"
        raid(table)
        while "raids" not in second:
            kind, second = next(events)
        assert len(second["raids"]) == 2
        answer.close()

    def test_a_sign_of_life(self, watcher: FlaskClient, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("device.web.api.PING", 0.05)
        monkeypatch.setattr("device.web.api.SLICE", 0.05)
        answer = watcher.get("/api/events", buffered=False)
        events = self.read(answer)
        next(events)
        assert next(events) == ("ping", {"version": table.snapshot.version})
        answer.close()

    def test_capped_and_given_back(self, table: Table) -> None:
        app = create_app(table, streams=2)
        clients = [app.test_client() for _ in range(3)]
        open_ = [client.get("/api/events", buffered=False) for client in clients[:2]]
        refused = clients[2].get("/api/events")
        assert refused.status_code == 503
        assert int(refused.headers["Retry-After"]) > 0
        assert clients[2].get("/api/state?since=1").status_code == 503
        assert clients[2].get("/api/state").status_code == 200
        for answer in open_:
            answer.close()
        assert app.extensions["ausguck"].streams.taken == 0
        assert clients[2].get("/api/state?since=1").status_code == 200


class TestActing:
    def test_needs_the_code(self, watcher: FlaskClient, table: Table) -> None:
        answer = post(watcher, "new_game", players=["A", "B"])
        assert answer.status_code == 403
        assert answer.get_json()["code"] == "join_needed"
        assert table.snapshot.state["status"] == "no_game"

    def test_a_forged_cookie(self, watcher: FlaskClient, store: Store) -> None:
        watcher.set_cookie(COOKIE, store.code)
        assert post(watcher, "undo").status_code == 403

    @pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:81", "https://evil.localhost"])
    def test_a_foreign_origin_is_refused(self, phone: FlaskClient, origin: str) -> None:
        for path in ("/api/commands", "/api/photo", "/join"):
            body = command("undo") if path != "/join" else {"code": "x"}
            answer = phone.post(path, json=body, headers={"Origin": origin})
            assert (answer.status_code, answer.get_json()["code"]) == (403, "foreign_origin"), path

    def test_our_own_origin_is_welcome(self, phone: FlaskClient) -> None:
        answer = phone.post("/api/commands", json=command("new_game", players=["A", "B"]),
                            headers={"Origin": "http://localhost"})  # fmt: skip
        assert answer.status_code == 200

    def test_a_form_of_another_site_cannot_act(self, phone: FlaskClient) -> None:
        answer = phone.post("/api/commands", data=json.dumps(command("undo")), content_type="text/plain")
        assert answer.status_code == 415

    def test_the_same_id_ten_times_at_once(self, app: Flask, phone: FlaskClient, store: Store) -> None:
        """Field fault 28."""
        begun(phone)
        body = command("draw_card", card="pirate")
        answers: list[Any] = []

        def send() -> None:
            client = app.test_client()
            client.get(f"/join?code={store.code}")
            answers.append(client.post("/api/commands", json=body).get_json())

        threads = [threading.Thread(target=send) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [a["applied"] for a in answers].count(True) == 1
        assert all(a["applied"] or a["duplicate"] for a in answers)
        assert len(store.operations(1)) == 2

    @pytest.mark.parametrize(
        ("body", "status", "sentence"),
        [
            ({"kind": "undo"}, 400, "expected an id"),
            ({"id": "12345678"}, 400, "expected a kind of command"),
            ({"id": "12345678", "kind": ["undo"]}, 400, "expected a kind of command"),
            ({"id": "12345678", "kind": "ask"}, 400, "expected a kind of command"),
            ({"id": "12345678", "kind": "draw_card", "card": "joker"}, 400, "expected a card"),
            ({"id": "12345678", "kind": "roll", "faces": ["coin"] * 9}, 400, "expected 1 to 8 faces, got 9"),
            ({"id": "12345678", "kind": "roll", "faces": ["coin"] * 7}, 400, "8 dice"),
            ({"id": "12345678", "kind": "roll", "faces": ["sword"] * 8}, 400, "expected a face"),
            ({"id": "12345678", "kind": "roll", "faces": ["coin"], "dice": [1, 2]}, 400, "expected 2 faces"),
            ({"id": "12345678", "kind": "roll", "faces": ["coin", "coin"], "dice": [1, 1]}, 400, "different dice"),
            ({"id": "12345678", "kind": "correct_die", "die": 8, "face": "coin"}, 400, "from 0 to 7"),
            ({"id": "12345678", "kind": "correct_die", "die": True, "face": "coin"}, 400, "from 0 to 7"),
            ({"id": "12345678", "kind": "answer", "question": "q1", "choice": "coin"}, 409, "settled already"),
            (
                {"id": "12345678", "kind": "correct_raid", "raid": 4, "card": "pirate", "faces": ["coin"] * 8},
                409,
                "raid 5",
            ),
            ({"id": "12345678", "kind": "undo"}, 409, "nothing to undo"),
            ({"id": "12345678", "kind": "end_raid"}, 409, "draws a card first"),
            ({"id": "12345678", "kind": "end_raid", "raid": 7}, 409, "raid 8"),
            ({"id": "12345678", "kind": "new_game", "players": []}, 400, "list of 2 to 8 names"),
            ({"id": "12345678", "kind": "new_game", "players": ["A"]}, 400, "2 to 5 players"),
            ({"id": "12345678", "kind": "new_game", "players": ["A", "a"]}, 400, "different names"),
            ({"id": "12345678", "kind": "new_game", "players": ["A", " \u200b "]}, 400, "at least one character"),
            ({"id": "12345678", "kind": "new_game", "players": ["A", "x" * 200]}, 400, "at most 30 characters"),
            ({"id": "12345678", "kind": "new_game", "players": ["A", 7]}, 400, "expected a name"),
            ({"id": "12345678", "kind": "new_game", "players": ["A", "B"], "edition": "x"}, 400, "no edition"),
            (
                {"id": "12345678", "kind": "new_game", "players": ["A", "B"], "house_rules": {"x": 1}},
                400,
                "no house rule",
            ),
            (
                {"id": "12345678", "kind": "new_game", "players": ["A", "B"], "house_rules": {"target": -1}},
                400,
                "target",
            ),
        ],
    )
    def test_bad_input_is_a_sentence(self, phone: FlaskClient, body: Any, status: int, sentence: str) -> None:
        begun(phone)
        version = phone.get("/api/state").get_json()["version"]
        answer = phone.post("/api/commands", json=body)
        error = answer.get_json()
        assert answer.status_code == status, error
        assert sentence in error["error"]
        assert set(error) == {"error", "code", "args"}
        assert phone.get("/api/state").get_json()["version"] == version

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 50_000])
    def test_no_json(self, phone: FlaskClient, data: bytes) -> None:
        answer = phone.post("/api/commands", data=data, content_type="application/json")
        assert answer.status_code == 400
        assert "JSON" in answer.get_json()["error"]

    def test_a_giant_command(self, phone: FlaskClient) -> None:
        assert post(phone, "undo", more="x" * 100_000).status_code == 413

    def test_names_come_back_as_typed(self, phone: FlaskClient) -> None:
        names = ["🏴‍☠️👩‍👩‍👧‍👦", "<script>alert(1)</script>", "Žofie", "李"]
        assert post(phone, "new_game", players=names).status_code == 200
        assert [p["name"] for p in phone.get("/api/state").get_json()["players"]] == names

    def test_a_failing_view_is_a_sentence_too(
        self, watcher: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store, "games", lambda: 1 / 0)
        answer = watcher.get("/api/games")
        assert answer.status_code == 500
        assert "try again" in answer.get_json()["error"]


class TestJoining:
    def test_by_qr(self, watcher: FlaskClient, store: Store) -> None:
        answer = watcher.get(f"/join?code={store.code}")
        assert (answer.status_code, answer.headers["Location"]) == (303, "/")
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert store.code not in cookie
        assert watcher.get("/api/state").get_json()["can_act"]

    def test_typed_in_small_letters(self, watcher: FlaskClient, store: Store) -> None:
        code = f" {store.code[:3].lower()}-{store.code[3:]} "
        assert watcher.post("/join", data={"code": code}).status_code == 303

    def test_by_script(self, watcher: FlaskClient, store: Store) -> None:
        assert watcher.post("/join", json={"code": store.code}).get_json() == {"ok": True}
        assert watcher.post("/join", json={"code": "NOPE"}).status_code == 403

    def test_the_code_is_shown_to_its_holders_only(
        self, watcher: FlaskClient, phone: FlaskClient, store: Store
    ) -> None:
        assert store.code not in watcher.get("/api/join").text
        assert store.code not in watcher.get("/join").text
        known = phone.get("/api/join").get_json()
        assert known["code"] == store.code
        assert known["qr_svg"].startswith("<svg")
        assert known["addresses"] == ["http://192.168.1.7:8080/"]

    def test_a_cookie_outlives_a_restart(self, phone: FlaskClient, table: Table) -> None:
        again = create_app(table).test_client()
        cookie = phone.get_cookie(COOKIE)
        assert cookie is not None
        again.set_cookie(COOKIE, cookie.value)
        assert again.get("/api/state").get_json()["can_act"]

    def test_a_thousand_wrong_codes(self, table: Table, store: Store) -> None:
        """Slowed down; nobody who knows the code is locked out, not even at the same address."""
        held: list[float] = []
        app = create_app(table, throttle=Throttle(sleep=held.append))
        guesser, friend = app.test_client(), app.test_client()
        statuses = [guesser.post("/join", json={"code": f"WRONG{n}"}).status_code for n in range(1000)]
        assert statuses[:5] == [403] * 5
        assert set(statuses[5:]) == {429}
        assert len(held) == 995, "each further try is held"
        assert friend.post("/join", json={"code": store.code}).status_code == 200
        assert friend.post("/api/commands", json=command("new_game", players=["A", "B"])).status_code == 200
        elsewhere = app.test_client()
        answer = elsewhere.post("/join", json={"code": "NOPE"}, environ_base={"REMOTE_ADDR": "192.168.1.9"})
        assert answer.status_code == 403, "another phone's first wrong try is an ordinary one"

    def test_many_guesses_at_once_hold_few_threads(self) -> None:
        waiting, go = threading.Semaphore(0), threading.Event()

        def sleep(seconds: float) -> None:
            waiting.release()
            go.wait(5)

        throttle = Throttle(sleep=sleep)
        for client in "abc":
            for _ in range(6):
                throttle.failed(client)
        threads = [threading.Thread(target=throttle.enter, args=(client,)) for client in "aabb"]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert waiting.acquire(timeout=5)
        for client in "abc":
            with pytest.raises(Exception, match="wait a moment"):
                throttle.enter(client)
        go.set()
        for thread in threads:
            thread.join()


@dataclass
class Live:
    number: int
    jpeg: bytes = b"\xff\xd8live"

    def picture(self, timeout: float = 2.0) -> Live | None:
        return self if self.number else None


class TestPictures:
    def test_live_is_numbered_and_never_kept(self, table: Table) -> None:
        answer = create_app(table, live=Live(7)).test_client().get("/live.jpg")
        assert answer.data == b"\xff\xd8live"
        assert answer.headers["X-Frame-Number"] == "7"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.mimetype == "image/jpeg"

    @pytest.mark.parametrize("live", [None, Live(0)])
    def test_without_a_camera(self, table: Table, live: Live | None) -> None:
        answer = create_app(table, live=live).test_client().get("/live.jpg")
        assert answer.status_code == 503
        assert "camera" in answer.get_json()["error"]

    def test_evidence(self, watcher: FlaskClient, table: Table) -> None:
        begin(table)
        table.submit(Roll(PLAIN, pictures=(Picture(b"\xff\xd8one"),)))
        url = watcher.get("/api/state").get_json()["raid"]["photos"][0]["url"]
        assert watcher.get(url).data == b"\xff\xd8one"
        assert watcher.get("/api/raids/0/photo/5").status_code == 404
        assert watcher.get("/api/raids/9/photo/0").status_code == 404

    def upload(self, client: FlaskClient, data: bytes) -> Any:
        return client.post("/api/photo", data={"photo": (io.BytesIO(data), "dice.jpg")})

    def joined(self, table: Table, **parts: Any) -> FlaskClient:
        client = create_app(table, **parts).test_client()
        client.get(f"/join?code={table.store.code}")
        return client

    def test_a_photo_is_read_and_scores_nothing(self, table: Table) -> None:
        reading = Reading(Status.CERTAIN, (), (DieReading(Face.COIN, 0.99, (0, 0, 9, 9)),))
        phone = self.joined(table, read_photo=lambda data: reading)
        version = table.snapshot.version
        assert self.upload(phone, b"jpeg").get_json()["reading"]["dice"][0]["face"] == "coin"
        assert table.snapshot.version == version

    def test_no_picture_and_no_network(self, phone: FlaskClient, table: Table) -> None:
        assert phone.post("/api/photo", data={}).status_code == 400
        assert self.upload(phone, b"jpeg").status_code == 503

        def refuse(data: bytes) -> Reading:
            raise BadCommand("that file is no picture", code="bad_photo")

        answer = self.upload(self.joined(table, read_photo=refuse), b"text")
        assert (answer.status_code, answer.get_json()["error"]) == (400, "that file is no picture")

    def test_forty_megabytes(self, phone: FlaskClient) -> None:
        answer = phone.post(
            "/api/photo",
            input_stream=io.BytesIO(bytes(40 * 2**20)),
            content_type="multipart/form-data; boundary=x",
            headers={"Content-Length": str(40 * 2**20)},
        )
        assert answer.status_code == 413
        assert "30 MB" in answer.get_json()["error"]


class TestOldGames:
    def test_listed_and_shown(self, watcher: FlaskClient, table: Table) -> None:
        begin(table, "Anna", "Ben")
        raid(table)
        begin(table, "Cem", "Dora", "Eve")
        games = watcher.get("/api/games").get_json()
        assert [(g["id"], g["players"], g["raids"]) for g in games] == [
            (1, ["Anna", "Ben"], 1),
            (2, ["Cem", "Dora", "Eve"], 0),
        ]
        assert watcher.get("/api/games/1").get_json()["raids"][0]["total"] == 700
        assert watcher.get("/api/games/9").status_code == 404


def test_security_headers_everywhere(watcher: FlaskClient) -> None:
    for path in ("/api/state", "/", "/nowhere", "/join", "/live.jpg"):
        headers = watcher.get(path).headers
        assert "default-src 'self'" in headers["Content-Security-Policy"], path
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"


def test_wrong_address_and_wrong_method(watcher: FlaskClient) -> None:
    assert watcher.get("/api/treasure").get_json()["code"] == "not_found"
    assert watcher.get("/api/commands").status_code == 405
    assert watcher.delete("/api/state").get_json()["code"] == "wrong_method"
