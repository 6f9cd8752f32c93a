"""What phones ask and say: the state (at once, waited for, or as a stream), commands, photos, evidence, joining.

No GET changes anything. Watching is open; everything that acts calls `access.demand`.
"""

from __future__ import annotations

import io
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any, cast

import segno
from flask import Blueprint, Response, current_app, jsonify, redirect, render_template, request
from jinja2 import TemplateNotFound

from device.errors import BadCommand, DeviceError
from device.orders import order_from_json
from device.snapshot import Snapshot
from device.web import Parts
from device.web.security import Refused, refuse_foreign

api = Blueprint("api", __name__)

LONGEST_WAIT = 25.0
"""Seconds that a state request with `since` waits at most."""
PING = 15.0
"""Seconds between two signs of life of an event stream."""
SLICE = 1.0
"""Seconds after which a waiting thread looks whether its phone is still there."""


def parts() -> Parts:
    """What this application was given."""
    return cast(Parts, current_app.extensions["ausguck"])


# -- watching ------------------------------------------------------------------------------------------------


@api.get("/api/state")
def state() -> Response:
    """The table's state; with `since=v` waits for a newer version."""
    own = parts()
    since = request.args.get("since")
    if since is None:
        return _state_response(own, own.table.snapshot)
    try:
        version = int(since)
    except ValueError:
        raise BadCommand(f"expected a version number in since, got {since[:40]!r}", code="bad_since") from None
    timeout = min(max(request.args.get("wait", LONGEST_WAIT, type=float), 0.0), LONGEST_WAIT)
    with own.streams.held():
        return _state_response(own, _newer(own, version, timeout))


def _newer(own: Parts, version: int, timeout: float) -> Snapshot:
    """The next state; waits in slices, so that a phone that has left does not hold its thread."""
    gone = request.environ.get("waitress.client_disconnected", lambda: False)
    end = time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        snapshot = own.table.wait(version, max(0.0, min(left, SLICE)))
        if snapshot.version != version or left <= SLICE or own.stopping.is_set() or gone():
            return snapshot


def _state_response(own: Parts, snapshot: Snapshot) -> Response:
    body = _with_own_view(snapshot.json, own.access.may_act(request))
    return Response(body, mimetype="application/json", headers={"Cache-Control": "no-store"})


def _with_own_view(text: str, can_act: bool) -> str:
    """The shared JSON with what only this browser is told; spares encoding the state once a phone."""
    return f'{text[:-1]},"can_act":{"true" if can_act else "false"}}}'


@api.get("/api/events")
def events() -> Response:
    """The state as a stream of server-sent events: `state` at each version, `ping` every 15 s."""
    own = parts()
    can_act = own.access.may_act(request)
    gone = request.environ.get("waitress.client_disconnected", lambda: False)
    own.streams.take()
    try:
        stream = _Stream(own, can_act, gone)
    except BaseException:
        own.streams.give_back()
        raise
    return Response(
        stream, mimetype="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


class _Stream:
    """One phone's events. Its slot is given back exactly once, however the phone leaves."""

    def __init__(self, own: Parts, can_act: bool, gone: Any) -> None:
        self._own, self._gone = own, gone
        self._lines = self._make(can_act)
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._lines)

    def close(self) -> None:
        """The server calls this when the phone has gone."""
        if self._open:
            self._open = False
            self._own.streams.give_back()

    def _make(self, can_act: bool) -> Iterator[bytes]:
        table = self._own.table
        snapshot = table.snapshot
        yield b"retry: 1500\n\n" + _event("state", snapshot.version, _with_own_view(snapshot.json, can_act))
        seen, history, said = snapshot.version, snapshot.history.version, time.monotonic()
        while not table.is_closed and not self._own.stopping.is_set() and not self._gone():
            snapshot = table.wait(seen, SLICE)
            if snapshot.version != seen:
                same = snapshot.history.version == history
                yield _event("state", snapshot.version, snapshot.short_json if same else snapshot.json)
                seen, history, said = snapshot.version, snapshot.history.version, time.monotonic()
            elif time.monotonic() - said >= PING:
                yield _event("ping", seen, json.dumps({"version": seen}))
                said = time.monotonic()


def _event(name: str, version: int, data: str) -> bytes:
    return f"event: {name}\nid: {version}\ndata: {data}\n\n".encode()


@api.get("/live.jpg")
def live_picture() -> Response:
    """The newest picture of the camera, numbered, never cached."""
    own = parts()
    if own.live is None:
        raise Refused(
            "there is no camera: take a photo with the phone, or tap the faces in", status=503, code="no_camera"
        )
    with own.live_views.held():
        picture = own.live.picture(timeout=2.0)
    if picture is None:
        raise Refused("the camera gives no picture at the moment", status=503, code="camera_silent", retry_after=2)
    return Response(
        picture.jpeg,
        mimetype="image/jpeg",
        headers={"Cache-Control": "no-store", "X-Frame-Number": str(picture.number)},
    )


@api.get("/api/raids/<int:raid>/photo/<int:number>")
def evidence(raid: int, number: int) -> Response:
    """A picture kept as evidence of a raid of the game on the table."""
    picture = parts().table.photo(raid, number)
    if picture is None:
        raise Refused("there is no such picture (any more)", status=404, code="no_picture")
    return Response(picture, mimetype="image/jpeg", headers={"Cache-Control": "no-store"})


@api.get("/api/games")
def games() -> Response:
    """All games in the store."""
    return jsonify(
        [
            {"id": game.id, "started": game.started, "finished": game.finished, **game.summary}
            for game in parts().table.store.games()
        ]
    )


@api.get("/api/games/<int:number>")
def one_game(number: int) -> Response:
    """An old game's pad."""
    found = parts().table.old_game(number)
    if found is None:
        raise Refused(f"there is no game {number}", status=404, code="no_game", details={"game": number})
    return jsonify(found)


@api.get("/api/status")
def status() -> Response:
    """What the status page shows: every part and what stands in for it."""
    own = parts()
    return jsonify(
        {
            "checks": list(own.checks()),
            "addresses": list(own.addresses()),
            "watching": own.streams.taken,
            "table": own.table.health(),
        }
    )


@api.get("/healthz")
def health() -> Response:
    """Is the server alive?"""
    return Response("ok\n", mimetype="text/plain", headers={"Cache-Control": "no-store"})


# -- acting --------------------------------------------------------------------------------------------------


@api.post("/api/commands")
def command() -> Response:
    """Do one command, once."""
    own = parts()
    own.access.demand(request)
    if request.content_length is not None and request.content_length > 64 * 1024:
        raise Refused("a command of more than 64 KB cannot be right", status=413, code="too_big", details={"limit": 0})
    body = _json_object()
    order = order_from_json(body)
    raid = body.get("raid") if body["kind"] != "correct_raid" else body.get("expect_raid")
    if raid is not None and (not isinstance(raid, int) or isinstance(raid, bool)):
        raise BadCommand('expected the raid\'s number in "raid"', code="bad_value", details={"key": "raid"})
    receipt = own.table.submit(
        order, id=_command_id(body), source="phone", raid=raid, timeout=own.settings.command_timeout
    )
    answer: dict[str, Any] = {"version": receipt.version, "applied": receipt.applied}
    if receipt.duplicate:
        answer["duplicate"] = True
    return jsonify(answer)


def _json_object() -> dict[str, Any]:
    if not request.is_json:
        raise Refused("expected JSON with Content-Type: application/json", status=415, code="wrong_type")
    try:
        body = json.loads(request.get_data())
    except (ValueError, RecursionError):
        raise BadCommand("expected a JSON object, got something that is not JSON", code="not_json") from None
    if not isinstance(body, dict):
        raise BadCommand("expected a JSON object with id and kind", code="not_json")
    return body


def _command_id(body: dict[str, Any]) -> str:
    value = body.get("id")
    if not isinstance(value, str) or not 8 <= len(value) <= 64 or not value.isascii() or not value.isprintable():
        raise BadCommand(
            "expected an id of 8 to 64 plain characters (a new UUID for each tap), "
            "so that a command sent twice is done once",
            code="bad_id",
        )
    return value


@api.post("/api/photo")
def photo() -> Response:
    """Read the dice on a photo that a phone took; nothing is scored by it."""
    own = parts()
    own.access.demand(request)
    file = request.files.get("photo")
    if file is None:
        raise BadCommand('expected a picture in the field "photo"', code="no_photo")
    if own.read_photo is None:
        raise Refused(
            "pictures cannot be read here (no network is loaded): tap the faces in", status=503, code="no_model"
        )
    data = file.read()
    with own.photos.held():
        try:
            reading = own.read_photo(data)
        except DeviceError:
            raise
        except ValueError as error:
            raise BadCommand(str(error), code="bad_photo", details={"why": str(error)}) from error
    return jsonify({"reading": reading.to_json()})


# -- joining -------------------------------------------------------------------------------------------------


@api.route("/join", methods=["GET", "POST"])
def join() -> Any:
    """Show the code to who holds it, take it from who enters it. A GET with `code` is what the QR opens."""
    own = parts()
    given = _given_code()
    if given is None:
        return _join_page(own)
    if request.method == "POST":
        refuse_foreign(request)
    try:
        own.access.check_code(request, given)
    except Refused as error:
        if request.is_json:
            raise
        return _join_page(own, error)
    answer: Any = jsonify({"ok": True}) if request.is_json else redirect("/", code=303)
    own.access.remember(answer)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _given_code() -> str | None:
    if request.method == "GET":
        value: Any = request.args.get("code")
    elif request.is_json:
        value = _json_object().get("code", "")
    else:
        value = request.form.get("code", "")
    return None if value is None else str(value)[:64]


def _join_page(own: Parts, error: Refused | None = None) -> Response:
    can_act = own.access.may_act(request)
    values = {
        "can_act": can_act,
        "code_needed": not can_act,
        "error": error.sentence if error else None,
        "error_code": error.code if error else None,
        "addresses": list(own.addresses()),
        "code": own.access.code if can_act else None,
        "qr_svg": join_qr(own) if can_act else None,
    }
    try:
        text = render_template("join.html", **values)
    except TemplateNotFound:
        text = (
            "<!doctype html><meta charset=utf-8><title>Ausguck</title><form method=post action=/join>"
            "<label>Code <input name=code autocomplete=off></label> <button>Join</button></form>"
        )
    response = Response(
        text, status=error.status if error else 200, mimetype="text/html", headers={"Cache-Control": "no-store"}
    )
    if error is not None and error.retry_after:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


@api.get("/api/join")
def join_info() -> Response:
    """Where the page is; the code and its QR only for browsers that hold it."""
    own = parts()
    can_act = own.access.may_act(request)
    response = jsonify(
        {
            "can_act": can_act,
            "addresses": list(own.addresses()),
            "code": own.access.code if can_act else None,
            "qr_svg": join_qr(own) if can_act else None,
        }
    )
    response.headers["Cache-Control"] = "no-store"
    return response


def join_qr(own: Parts) -> str:
    """The QR that joins a phone, as inline SVG; it carries the numeric address, which every phone opens."""
    urls = list(own.addresses())
    base = urls[0] if urls else request.host_url
    out = io.BytesIO()
    segno.make(f"{base}join?code={own.access.code}", error="m").save(
        out,
        kind="svg",
        xmldecl=False,
        svgns=True,
        scale=1,
        border=4,
        omitsize=True,
        title="QR",
        svgclass="qr",
        lineclass=None,
    )
    return out.getvalue().decode()


def fresh_id() -> str:
    """An id for a command that comes from inside."""
    return str(uuid.uuid4())
