"""The pages that people see: thin HTML shells, filled by the scripts in `static/js` from the state.

Languages are gettext catalogues through Flask-Babel: a cookie, then the table's setting, then what the phone asks
for. Text answers are sent compressed. Nothing here changes anything.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import lru_cache
from typing import Any, cast

from flask import Blueprint, Flask, Response, abort, current_app, make_response, render_template, request
from flask_babel import Babel, get_locale, get_translations, gettext

from device.web import texts
from scorer.editions import DEFAULT, EDITIONS, SETTINGS, SettingKind

pages = Blueprint("pages", __name__)

LANGUAGES: dict[str, str] = {"en": "English", "de": "Deutsch"}
"""Code → its own name. A new language is a folder in `translations/` and a line here."""
LANGUAGE_COOKIE = "ausguck_lang"
PICTURE_AGE = 24 * 3600
"""Seconds that a phone keeps drawn dice and cards without asking."""
SMALL = 1000
"""Bytes under which compressing does not pay."""

# name, path, drawing, text, script, modules that the script will ask for
_N = str  # marks for extraction, see babel.cfg
PAGES: tuple[tuple[str, str, str, str], ...] = (
    ("table", "/", "pad", _N("Score pad")),
    ("history", "/history", "history", _N("History")),
    ("setup", "/setup", "plus", _N("New game")),
    ("live", "/live", "eye", _N("Live picture")),
    ("join", "/join", "join", _N("Join")),
    ("games", "/games", "games", _N("Games")),
    ("status", "/status", "gear", _N("How everything is")),
)
"""Name, path, drawing and title of each page, in the order of the menu."""

MODULES: dict[str, tuple[str, ...]] = {
    "table": ("dom", "texts", "link", "shell", "sheet", "pad", "pictures", "raid", "questions"),
}
"""What a page's script imports, so that the browser asks for all of it at once."""


def init_app(app: Flask) -> None:
    """Set up languages and compression for an application."""
    app.config.setdefault("BABEL_TRANSLATION_DIRECTORIES", "translations")
    Babel(app, default_locale="en", locale_selector=_language)
    app.jinja_env.policies["json.dumps_kwargs"] = {"sort_keys": False}  # editions in their own order
    app.context_processor(_shared)
    app.after_request(_keep_pictures)
    app.after_request(_compress)
    app.register_blueprint(pages)


def _language() -> str:
    chosen = request.cookies.get(LANGUAGE_COOKIE) or current_app.extensions["ausguck"].settings.language
    if chosen in LANGUAGES:
        return cast(str, chosen)
    return request.accept_languages.best_match(list(LANGUAGES), default="en") or "en"


def _shared() -> dict[str, Any]:
    """What every template needs."""
    language = str(get_locale() or "en")
    page = next((name for name, path, _, _ in PAGES if path == request.path), "error")
    return {
        "language": language,
        "languages": LANGUAGES.items(),
        "links": [(name, path, icon, gettext(text)) for name, path, icon, text in PAGES],
        "page": page,
        "script": page if page not in ("join", "error") else "plain",
        "modules": MODULES.get(page, ("dom", "texts", "link", "shell")),
        "texts_url": f"/texts/{language}.json?v={_catalogue(language)[1]}",
        "sentence": _sentence,
    }


def _sentence(code: str | None, own: str, args: dict[str, Any] | None = None) -> str:
    """The sentence of a code in this language; the given one where there is none."""
    template = texts.TABLE_TEXTS.get(code or "")
    if template is None:
        return own
    try:
        return gettext(template).format(**(args or {}))
    except (KeyError, IndexError):
        return own


# -- pages ---------------------------------------------------------------------------------------------------


@pages.get("/")
def table() -> Response:
    """The score pad."""
    return _page("table")


@pages.get("/history")
def history() -> Response:
    """Every raid of the game."""
    return _page("history")


@pages.get("/live")
def live() -> Response:
    """The live picture."""
    return _page("live")


@pages.get("/games")
def games() -> Response:
    """All games."""
    return _page("games")


@pages.get("/status")
def status() -> Response:
    """How everything is."""
    return _page("status")


@pages.get("/setup")
def setup() -> Response:
    """A new game."""
    return _page("setup", about=_about_editions())


def _page(name: str, **values: Any) -> Response:
    answer = make_response(render_template(f"{name}.html", **values))
    answer.headers["Cache-Control"] = "no-cache"
    answer.headers["Vary"] = "Accept-Language, Cookie"
    return answer


def _about_editions() -> dict[str, Any]:
    """What the set-up form shows, from the rules' own description of their settings."""
    return {
        "default": DEFAULT.key,
        "editions": {
            key: {"title": gettext(edition.title), "settings": {name: _plain(edition, name) for name in SETTINGS}}
            for key, edition in EDITIONS.items()
        },
        "settings": [
            {
                "name": setting.name,
                "kind": str(setting.kind),
                "description": gettext(setting.description),
                "least": setting.least,
                "most": setting.most,
                "choices": [[key, gettext(texts.CHOICE_TEXTS.get(key, key))] for key in setting.choices],
            }
            for setting in SETTINGS.values()
        ],
    }


def _plain(edition: Any, name: str) -> Any:
    value = getattr(edition, name)
    if SETTINGS[name].kind is SettingKind.CARDS:
        return [card for card in SETTINGS[name].choices if card in value]
    return value


# -- texts for the scripts -----------------------------------------------------------------------------------


@pages.get("/texts/<language>.json")
def texts_of(language: str) -> Response:
    """The catalogue of a language for the scripts."""
    if language not in LANGUAGES:
        abort(404)
    body, version = _catalogue(language)
    answer = Response(body, mimetype="application/json")
    kept = request.args.get("v") == version
    answer.headers["Cache-Control"] = "public, max-age=31536000, immutable" if kept else "no-cache"
    return answer


@lru_cache(maxsize=8)
def _catalogue(language: str) -> tuple[str, str]:
    """(JSON, short hash) of a language."""
    from flask_babel import force_locale

    with force_locale(language):
        body = json.dumps(texts.catalogue(get_translations()), ensure_ascii=False, separators=(",", ":"))
    return body, hashlib.sha256(body.encode()).hexdigest()[:12]


# -- sending -------------------------------------------------------------------------------------------------

TEXTUAL = ("text/", "application/json", "application/manifest+json", "image/svg+xml", "application/javascript")


def _keep_pictures(response: Response) -> Response:
    """Drawings hardly ever change; asking for each of them again would make every page slower."""
    if request.path.startswith(("/static/faces/", "/static/cards/", "/static/icon")) and response.status_code == 200:
        response.headers["Cache-Control"] = f"public, max-age={PICTURE_AGE}"
    return response


def _compress(response: Response) -> Response:
    """Send text compressed; a stream stays as it is."""
    kind = response.mimetype or ""
    fits = response.status_code == 200 and kind.startswith(TEXTUAL) and kind != "text/event-stream"
    if not fits or "Content-Encoding" in response.headers or request.method == "HEAD":
        return response
    if response.is_streamed and not response.direct_passthrough:
        return response
    response.headers.add("Vary", "Accept-Encoding")
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return response
    response.direct_passthrough = False
    data = response.get_data()
    if len(data) < SMALL:
        return response
    response.set_data(_gzipped(data) if request.path.startswith(("/static/", "/texts/")) else gzip.compress(data, 5))
    response.headers["Content-Encoding"] = "gzip"
    if etag := response.get_etag()[0]:
        response.set_etag(etag, weak=True)
    return response


@lru_cache(maxsize=128)
def _gzipped(data: bytes) -> bytes:
    """Files are the same for every phone."""
    return gzip.compress(data, 9)
