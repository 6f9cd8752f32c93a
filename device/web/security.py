"""Who may act, and what the page may load.

Watching is open to the local network. Acting needs the table's code: six characters in the QR, kept in a cookie as a
keyed hash of it, so that a new code ends all old cookies. A code of 31⁶ possibilities is not found by guessing at a
throttled 20 tries a second (over a year on average), so the throttle's work is to keep one guessing client from
being a burden on the others; it never locks anybody out who knows the code.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Request, Response

from device.errors import DeviceError

COOKIE = "ausguck_code"
YEAR = 365 * 24 * 3600

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; script-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a form's own Origin is sent as null, and refused
    "Permissions-Policy": "geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Refused(DeviceError):
    """A request that is not served; `status` is the HTTP status."""

    def __init__(
        self,
        sentence: str,
        *,
        status: int,
        code: str,
        retry_after: int | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(sentence, code=code, details=details)
        self.status = status
        self.retry_after = retry_after


class Throttle:
    """Slows a client that sends wrong codes.

    After `free` failures each of its tries is held for `hold` seconds, at most two at a time a client and four in
    all, before it is looked at; further ones are answered 429 without a look. Failures are forgotten after `forget`
    quiet seconds.
    """

    def __init__(
        self,
        *,
        free: int = 5,
        hold: float = 0.1,
        forget: float = 60.0,
        clients: int = 1000,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.free, self.hold, self.forget, self.clients = free, hold, forget, clients
        self._clock, self._sleep = clock, sleep
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._held: dict[str, int] = {}
        self._lock = threading.Lock()

    def _count(self, client: str) -> int:
        count, last = self._failures.get(client, (0, 0.0))
        return count if self._clock() - last < self.forget else 0

    def enter(self, client: str) -> None:
        """Wait as this client deserves. Raises `Refused` (429) when it tries too much at once."""
        with self._lock:
            if self._count(client) < self.free:
                return
            if self._held.get(client, 0) >= 2 or sum(self._held.values()) >= 4:
                raise Refused(
                    "too many wrong codes: wait a moment, then try again", status=429, code="slow_down", retry_after=1
                )
            self._held[client] = self._held.get(client, 0) + 1
        try:
            self._sleep(self.hold)
        finally:
            with self._lock:
                self._held[client] -= 1
                if not self._held[client]:
                    del self._held[client]

    def failed(self, client: str) -> bool:
        """Count a wrong code; True when this client is over its free tries."""
        with self._lock:
            count = self._count(client) + 1
            self._failures[client] = (count, self._clock())
            self._failures.move_to_end(client)
            while len(self._failures) > self.clients:
                self._failures.popitem(last=False)
            return count > self.free

    def succeeded(self, client: str) -> None:
        """Forget this client's failures."""
        with self._lock:
            self._failures.pop(client, None)


class Access:
    """The table's code, and who has shown it."""

    def __init__(self, code: str, secret: str, *, throttle: Throttle | None = None) -> None:
        self.code = code
        self._token = hmac.new(secret.encode(), b"acting:" + code.encode(), hashlib.sha256).hexdigest()
        self.throttle = throttle or Throttle()

    def may_act(self, request: Request) -> bool:
        """Does this browser hold the table's code?"""
        return hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), self._token.encode())

    def demand(self, request: Request) -> None:
        """Raise `Refused` unless the request comes from our own page and its browser holds the code."""
        refuse_foreign(request)
        if not self.may_act(request):
            raise Refused(
                "to act, join the table first: scan its QR code, or enter its code", status=403, code="join_needed"
            )

    def check_code(self, request: Request, given: str) -> None:
        """Raise `Refused` unless `given` is the code. Slow for who guesses, never closed for who knows."""
        client = client_of(request)
        self.throttle.enter(client)
        clean = given.strip().upper().replace("-", "").replace(" ", "")
        if hmac.compare_digest(clean.encode(), self.code.encode()):
            self.throttle.succeeded(client)
            return
        if self.throttle.failed(client):
            raise Refused(
                "that is not the table's code, and it was tried often: wait a moment before the next try",
                status=429,
                code="slow_down",
                retry_after=1,
            )
        raise Refused(
            "that is not the table's code: look at the card on the table, or scan its QR", status=403, code="wrong_code"
        )

    def remember(self, response: Response) -> None:
        """Give the browser the cookie."""
        response.set_cookie(COOKIE, self._token, max_age=YEAR, httponly=True, samesite="Lax", path="/")


def client_of(request: Request) -> str:
    """The address that a request comes from (IPv6: its /64, which one phone has whole)."""
    address = request.remote_addr or "?"
    return ":".join(address.split(":")[:4]) if address.count(":") > 1 and "." not in address else address


def refuse_foreign(request: Request) -> None:
    """Raise `Refused` when a page of another site sent this."""
    origin = request.headers.get("Origin")
    if origin is None:
        if request.headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none"):
            return
    elif origin != "null" and urlsplit(origin).netloc.lower() == request.host.lower():
        return
    raise Refused("this request comes from another site's page, and was refused", status=403, code="foreign_origin")


class Slots:
    """How many phones may wait at the same time: each holds a thread of the server."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """Phones waiting now."""
        return self._taken

    def take(self) -> None:
        """Take one; raises `Refused` (503) when all are taken. Give it back with `give_back`."""
        with self._lock:
            if self._taken >= self.limit:
                raise Refused(
                    "too many phones are watching live: this one asks again in a moment",
                    status=503,
                    code="too_many_watchers",
                    retry_after=5,
                    details={"limit": self.limit},
                )
            self._taken += 1

    def give_back(self) -> None:
        """Give one back."""
        with self._lock:
            self._taken -= 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold one for a block."""
        self.take()
        try:
            yield
        finally:
            self.give_back()


def install_headers(app: Flask) -> None:
    """Put the security headers on every answer."""

    @app.after_request
    def _headers(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response
