"""The pages without a browser: languages complete, shells small and safe, every sentence of the table translatable."""

from __future__ import annotations

import gzip
import io
import json
import re
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from flask import Flask

from device.store import Store
from device.table import Table
from device.web import create_app, texts
from device.web.pages import LANGUAGES, PAGES

PROJECT = Path(__file__).parents[2]
WEB = PROJECT / "device" / "web"
GZIP = {"Accept-Encoding": "gzip"}
TRANSLATED = [code for code in LANGUAGES if code != "en"]


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with Store.open(tmp_path) as store, Table(store) as table:
        yield create_app(table)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """What Babel finds in code, templates, scripts and rules."""
    target = tmp_path_factory.mktemp("texts") / "ausguck.pot"
    command = [sys.executable, "-m", "babel.messages.frontend", "-q", "extract", "-F", "babel.cfg", "-k", "_N"]
    subprocess.run([*command, "--no-location", "-o", str(target), "."], cwd=PROJECT, check=True, capture_output=True)
    with target.open("rb") as file:
        return read_po(file)


def po(language: str) -> Catalog:
    with (WEB / "translations" / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=language)


def fields(text: str) -> set[str]:
    """The `{names}` in a text."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated(language: str, collected: Catalog) -> None:
    known = po(language)
    missing = []
    for message in collected:
        if not message.id:
            continue
        found = known.get(message.id)
        done = found is not None and not found.fuzzy
        if done and isinstance(message.id, tuple):
            done = isinstance(found.string, tuple) and all(found.string)
        if not done or not found.string:
            missing.append(message.id)
    assert missing == []
    ids = {m.id if isinstance(m.id, str) else m.id[0] for m in collected}
    assert [m.id for m in known if m.id and (m.id if isinstance(m.id, str) else m.id[0]) not in ids] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_keep_what_is_filled_in(language: str) -> None:
    for message in po(language):
        if not message.id:
            continue
        sources = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        for text in strings:
            assert fields(text) <= fields(sources[-1]) | fields(sources[0]), message.id
        assert set().union(*map(fields, strings)) == fields(sources[-1]), message.id


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_compiled_catalogue_is_that_of_its_source(language: str) -> None:
    fresh = io.BytesIO()
    write_mo(fresh, po(language))
    assert (WEB / "translations" / language / "LC_MESSAGES" / "messages.mo").read_bytes() == fresh.getvalue(), (
        "compile it again: pybabel compile -d device/web/translations"
    )


def test_every_code_that_the_table_uses_has_a_sentence() -> None:
    """Codes in the source of table, page and referee, but for those that only a broken program can cause."""
    programs = {"bad_value", "bad_dice", "bad_rolls", "bad_id", "bad_since", "not_json", "wrong_type", "unknown_kind"}
    programs |= {"unknown_choice", "unfilled_roll", "wrong_number_of_faces", "bad_name", "bad_players", "no_such_game"}
    programs |= {"bad_house_rules", "bad_settings", "refused"}
    used: set[str] = set()
    for name in (
        "table",
        "pad",
        "orders",
        "snapshot",
        "photo",
        "referee",
        "commands/demo",
        "web/api",
        "web/security",
        "web/__init__",
    ):
        used |= set(re.findall(r'code="([a-z_]+)"', (PROJECT / "device" / f"{name}.py").read_text("utf-8")))
    assert used - programs - set(texts.sentences()) == set()


def test_the_scripts_get_what_they_need(app: Flask) -> None:
    for language in LANGUAGES:
        answer = app.test_client().get(f"/texts/{language}.json")
        given: dict[str, Any] = json.loads(answer.data)
        assert len(given["plural"]) == 100
        assert given["plural"][:3] == "101"
        assert set(given["sentences"]) == set(texts.sentences())
    assert given["faces"]["skull"] == ["Totenkopf", "Totenköpfe"]
    assert given["cards"]["treasure_island"] == "Schatzinsel"
    assert given["messages"]["End raid"] == "Raubzug beenden"
    assert given["messages"]["{n} roll"] == ["{n} Wurf", "{n} Würfe"]
    assert app.test_client().get("/texts/xx.json").status_code == 404


def test_the_language_is_chosen_by_cookie_then_asked_for(app: Flask) -> None:
    client = app.test_client()
    assert b'lang="de"' in client.get("/", headers={"Accept-Language": "de-AT,en;q=0.5"}).data
    assert b'lang="en"' in client.get("/", headers={"Accept-Language": "fr"}).data
    client.set_cookie("ausguck_lang", "de")
    assert b'lang="de"' in client.get("/", headers={"Accept-Language": "en"}).data
    client.set_cookie("ausguck_lang", "<script>")
    assert b'lang="en"' in client.get("/", headers={"Accept-Language": "en"}).data


def test_pages_are_shells_without_inline_code(app: Flask) -> None:
    client = app.test_client()
    for _, path, _, title in PAGES:
        answer = client.get(path, headers={"Accept": "text/html"})
        text = answer.get_data(as_text=True)
        assert answer.status_code == 200, path
        assert title in text
        assert "multipart/x-mixed-replace" not in text
        assert not re.search(r"<script(?![^>]*(src=|application/json))", text)
        assert not re.search(r"\s(style|on[a-z]+)=\"", text)
        assert not re.search(r"(src|href)=\"(https?:)?//", text)
    lost = client.get("/nowhere", headers={"Accept": "text/html", "Accept-Language": "de"})
    assert lost.status_code == 404
    assert "Unter dieser Adresse ist nichts" in lost.get_data(as_text=True)


def test_a_wrong_code_is_answered_in_the_language_of_the_phone(app: Flask) -> None:
    answer = app.test_client().post("/join", data={"code": "AAAAAA"}, headers={"Accept-Language": "de"})
    assert answer.status_code == 403
    assert "Das ist nicht der Code dieses Tisches" in answer.get_data(as_text=True)


def test_text_is_sent_compressed_and_kept(app: Flask) -> None:
    client = app.test_client()
    with client.get("/static/ausguck.css") as plain, client.get("/static/ausguck.css", headers=GZIP) as packed:
        assert packed.headers["Content-Encoding"] == "gzip"
        assert len(packed.data) < len(plain.data) / 2
        tag = packed.headers["ETag"]
    with client.get("/static/ausguck.css", headers={"If-None-Match": tag}) as again:
        assert again.status_code == 304
    with client.get("/static/faces/coin.svg") as face:
        assert "max-age" in face.headers["Cache-Control"]
    with client.get("/api/state", headers=GZIP) as state:
        assert gzip.decompress(state.data).startswith(b"{")


def test_scripts_hold_no_html_from_the_outside() -> None:
    for script in (WEB / "static" / "js").glob("*.js"):
        text = script.read_text("utf-8")
        for risky in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://"):
            clean = text.replace("http://www.w3.org/2000/svg", "").replace("https pages only", "")
            assert risky not in clean, f"{script.name}: {risky}"
