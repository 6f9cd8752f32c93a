"""The page and its interface: a Flask application that *receives* what it shows.

`create_app(table, …)` makes one; nothing here is global. `serve` runs it with waitress.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from flask import Flask, jsonify, render_template, request
from jinja2 import TemplateNotFound
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.wrappers import Response

from device.errors import DeviceError, StoreError, StoreFull, TableBusy, TableError
from device.settings import Settings
from device.web.security import Access, Refused, Slots, Throttle, install_headers
from device.web.serve import STREAMS

if TYPE_CHECKING:
    from device.table import Table
    from vision.reading import Reading

READ_PHOTO = "read_photo"
"""The name under which the application finds what reads an uploaded photo."""


class LivePicture(Protocol):
    """One picture for a browser: `device.live.LivePicture`."""

    @property
    def number(self) -> int: ...
    @property
    def jpeg(self) -> bytes: ...


class LiveSource(Protocol):
    """What `/live.jpg` asks: `device.live.LiveView`."""

    def picture(self, timeout: float = 2.0) -> LivePicture | None:
        """The newest picture, or None when no camera delivers."""
        ...


@dataclass(eq=False)
class Parts:
    """What the application was given; views find it as `current_app.extensions["ausguck"]`."""

    table: Table
    settings: Settings
    access: Access
    live: LiveSource | None
    read_photo: Callable[[bytes], Reading] | None
    addresses: Callable[[], Sequence[str]]
    checks: Callable[[], Sequence[dict[str, Any]]]
    streams: Slots = field(default_factory=lambda: Slots(STREAMS))
    live_views: Slots = field(default_factory=lambda: Slots(4))
    photos: Slots = field(default_factory=lambda: Slots(2))
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to stop: streams end then."""


def create_app(
    table: Table,
    *,
    settings: Settings | None = None,
    live: LiveSource | None = None,
    read_photo: Callable[[bytes], Reading] | None = None,
    addresses: Callable[[], Sequence[str]] = lambda: (),
    checks: Callable[[], Sequence[dict[str, Any]]] = lambda: (),
    throttle: Throttle | None = None,
    streams: int = STREAMS,
) -> Flask:
    """The web application of one table.

    `live` gives the live picture, `read_photo` reads a JPEG or PNG that a phone took (raises `DeviceError` or
    `ValueError` with a sentence), `addresses()` says where phones find the page, `checks()` what the status page
    lists. Each may be missing: the page then says so, and everything else works.
    """
    from device.web.api import api

    settings = settings or Settings()
    app = Flask("device.web")
    app.config["MAX_CONTENT_LENGTH"] = settings.upload_limit
    app.config["MAX_FORM_MEMORY_SIZE"] = 64 * 1024
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.secret_key = table.store.secret
    access = Access(table.store.code, table.store.secret, throttle=throttle)
    app.extensions["ausguck"] = Parts(table, settings, access, live, read_photo, addresses, checks, Slots(streams))
    install_headers(app)
    _install_errors(app)
    app.register_blueprint(api)
    _add_pages(app)
    return app


def _add_pages(app: Flask) -> None:
    """The pages for people; without them the interface alone is served."""
    if importlib.util.find_spec("device.web.pages") is None:
        return
    pages: Any = importlib.import_module("device.web.pages")
    if hasattr(pages, "init_app"):
        pages.init_app(app)
    if pages.pages.name not in app.blueprints:
        app.register_blueprint(pages.pages)


STATUS_OF: tuple[tuple[type[DeviceError], int], ...] = (
    (TableBusy, 503),
    (StoreFull, 503),
    (StoreError, 503),
)
"""HTTP status of errors; the first that fits counts, then a command's own 400 or 409."""


def status_of(error: DeviceError) -> int:
    """The HTTP status that says the same as this error."""
    from device.errors import BadCommand

    if isinstance(error, Refused):
        return error.status
    for kind, status in STATUS_OF:
        if isinstance(error, kind):
            return status
    if isinstance(error, BadCommand):
        return 400
    return 409 if isinstance(error, TableError) else 500


def wants_json() -> bool:
    """Is the answer read by a program?"""
    if request.path.startswith("/api/") or request.is_json:
        return True
    best = request.accept_mimetypes.best_match(["text/html", "application/json"])
    return best == "application/json"


def _answer(status: int, body: dict[str, Any], retry_after: int | None = None) -> Response:
    if wants_json() or request.path.endswith(".jpg"):
        response: Response = jsonify(body)
    else:
        try:
            response = Response(
                render_template(
                    "error.html", status=status, message=body["error"], code=body.get("code"), args=body.get("args")
                ),
                mimetype="text/html",
            )
        except (TemplateNotFound, LookupError):
            response = Response(f"{body['error']}\n", mimetype="text/plain")
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    if retry_after is not None:
        response.headers["Retry-After"] = str(retry_after)
    return response


def _install_errors(app: Flask) -> None:
    @app.errorhandler(DeviceError)
    def _device_error(error: DeviceError) -> Response:
        status = status_of(error)
        return _answer(status, error.to_json(), getattr(error, "retry_after", None) or (2 if status == 503 else None))

    @app.errorhandler(RequestEntityTooLarge)
    def _too_large(error: RequestEntityTooLarge) -> Response:
        limit = (app.config["MAX_CONTENT_LENGTH"] or 0) // 2**20
        return _answer(
            413,
            {
                "error": f"that is too big: at most {limit} MB can be sent; take a smaller picture",
                "code": "too_big",
                "args": {"limit": limit},
            },
        )

    @app.errorhandler(HTTPException)
    def _http_error(error: HTTPException) -> Response:
        status = error.code or 500
        if status < 400:  # redirects are exceptions too
            return error.get_response()
        code = {404: "not_found", 405: "wrong_method", 400: "bad_request", 415: "wrong_type"}.get(
            status, f"http_{status}"
        )
        sentence = {
            404: "there is nothing at this address: go back to the score pad",
            405: "this address cannot be asked in that way",
            415: "expected JSON with Content-Type: application/json",
        }.get(status, error.description or error.name)
        response = _answer(status, {"error": sentence, "code": code, "args": {}})
        for name, value in error.get_headers():
            if name.lower() == "allow":
                response.headers[name] = value
        return response

    @app.errorhandler(Exception)
    def _fault(error: Exception) -> Response:
        app.logger.exception("a request failed")
        return _answer(
            500,
            {
                "error": "the table made a mistake and wrote it down; nothing was changed: try again",
                "code": "fault",
                "args": {"kind": type(error).__name__},
            },
        )
