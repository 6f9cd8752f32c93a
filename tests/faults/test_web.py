"""Field faults E: web, phones, network. Numbers are those of the list; what needs a browser is in `tests/browser`."""

from __future__ import annotations

import io
import tokenize
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from device.store import Store
from device.table import Table
from tests.device.conftest import app, folder, phone, store, table, watcher
from tests.device.table_helpers import PLAIN, begin, command, raid

__all__ = ["app", "folder", "phone", "store", "table", "watcher"]
PROJECT = Path(__file__).resolve().parents[2]


def pages_of(app: Flask) -> list[str]:
    """Every address that a GET answers, arguments filled in."""
    found = []
    for rule in app.url_map.iter_rules():
        if "GET" in (rule.methods or ()) and rule.endpoint != "static":
            path = rule.rule
            for converter in rule.arguments:
                for spelt in (f"<int:{converter}>", f"<{converter}>", f"<path:{converter}>"):
                    path = path.replace(spelt, "0")
            found.append(path)
    return sorted(found)


def test_27_no_endless_multipart_anywhere() -> None:
    """A picture in parts that never ends stops on some phones; ours is a numbered JPEG, asked for again."""
    for path in [*(PROJECT / "device").rglob("*.py"), *(PROJECT / "device" / "web").rglob("*.js")]:
        assert "multipart/x-mixed-replace" not in path.read_text("utf-8"), path


def test_28_sent_again_after_a_restart(folder: Path) -> None:
    """The same command, resent to a table that was started again in between, is not done again."""
    from device.web import create_app

    body = command("enter_raid", card="gold_coin", faces=[str(face) for face in PLAIN])
    applied = []
    for life in range(2):
        with Store.open(folder) as store, Table(store) as table:
            if life == 0:
                begin(table)
            client = create_app(table).test_client()
            client.get(f"/join?code={store.code}")
            for _ in range(3):
                applied.append(client.post("/api/commands", json=body).get_json()["applied"])
            assert len(table.snapshot.state["raids"]) == 1
    assert applied == [True, False, False, False, False, False]


def test_28_two_phones_end_the_raid(app: Flask, phone: FlaskClient, store: Store, table: Table) -> None:
    other = app.test_client()
    other.get(f"/join?code={store.code}")
    begin(table)
    phone.post("/api/commands", json=command("draw_card", card="gold_coin"))
    phone.post("/api/commands", json=command("roll", faces=[str(face) for face in PLAIN]))
    answers = [client.post("/api/commands", json=command("end_raid", raid=0)) for client in (phone, other)]
    assert [answer.status_code for answer in answers] == [200, 409]
    assert len(table.snapshot.state["raids"]) == 1


def test_30_the_printed_address_is_a_number(phone: FlaskClient) -> None:
    joined = phone.get("/api/join").get_json()
    assert joined["addresses"][0] == "http://192.168.1.7:8080/"
    assert joined["qr_svg"]


def test_32_no_get_changes_anything(app: Flask, phone: FlaskClient, store: Store, table: Table) -> None:
    """Every address is asked twice by a phone that may act; version and log stay as they are."""
    begin(table)
    raid(table)
    before, log = table.snapshot.version, store.operations(1)
    paths = [path for path in pages_of(app) if path != "/api/events"]
    assert {"/api/state", "/join", "/live.jpg", "/api/games/0"} <= set(paths)
    for path in paths * 2:
        assert phone.get(path).status_code < 500 or path == "/live.jpg", path
    assert table.snapshot.version == before
    assert store.operations(1) == log


def test_32_a_post_from_elsewhere_is_refused(app: Flask, phone: FlaskClient, store: Store, table: Table) -> None:
    begin(table)
    log = store.operations(1)
    posts = [rule.rule for rule in app.url_map.iter_rules() if "POST" in (rule.methods or ())]
    assert len(posts) >= 3
    for path in posts:
        answer = phone.post(path, json=command("undo", code=store.code), headers={"Origin": "http://evil.example"})
        assert answer.status_code == 403, path
    assert store.operations(1) == log


@pytest.mark.parametrize("name", ["🏴‍☠️" * 3, "<script>alert(1)</script>", "Robert'); DROP TABLE games;--", "x" * 30])
def test_any_name_comes_back_as_it_was_typed(phone: FlaskClient, name: str) -> None:
    assert phone.post("/api/commands", json=command("new_game", players=[name, "Ben"])).status_code == 200
    answer = phone.get("/api/state")
    assert answer.get_json()["players"][0]["name"] == name
    assert answer.mimetype == "application/json"


def test_no_page_carries_a_name_unescaped(app: Flask, phone: FlaskClient) -> None:
    name = "<script>alert(1)</script>"
    phone.post("/api/commands", json=command("new_game", players=[name, "Ben"]))
    for path in pages_of(app):
        if path == "/api/events":
            continue
        answer = phone.get(path)
        if answer.mimetype == "text/html":
            assert name not in answer.text, path


def test_handlers_of_the_pins_only_queue() -> None:
    """Field fault 17, static: the words of the panel's pin handler."""
    source = (PROJECT / "device" / "panel.py").read_text("utf-8")
    words = [token.string for token in tokenize.generate_tokens(io.StringIO(source).readline)]
    assert "put_nowait" in words
