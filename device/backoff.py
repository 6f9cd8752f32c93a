"""How long to wait before something that failed is started again."""

from __future__ import annotations

from collections import deque


class Backoff:
    """Quick restarts at first, then pauses that grow: a fault that goes away is over soon, one that stays is cheap.

    `limit` restarts are allowed within `window` seconds, after waits of `first` seconds doubling each time. Beyond,
    the wait is `pause` seconds, doubling up to `longest`. A time of `window` seconds without a failure forgets all.
    """

    def __init__(
        self, *, limit: int = 5, window: float = 60.0, first: float = 0.25, pause: float = 30.0, longest: float = 300.0
    ) -> None:
        self._limit, self._window = limit, window
        self._first, self._pause, self._longest = first, pause, longest
        self._failures: deque[float] = deque(maxlen=limit)
        self._last = 0.0
        self._pauses = 0

    def failed(self, now: float) -> float:
        """Note a failure at `now` (seconds); returns how many seconds to wait before the restart."""
        if self._failures and now - self._last > self._window + self._wait_of_pause():
            self._failures.clear()
            self._pauses = 0
        self._last = now
        recent = sum(1 for at in self._failures if now - at < self._window)
        self._failures.append(now)
        if recent < self._limit and not self._pauses:
            return float(self._first * 2**recent)
        self._pauses += 1
        return self._wait_of_pause()

    def _wait_of_pause(self) -> float:
        return float(min(self._pause * 2 ** (self._pauses - 1), self._longest)) if self._pauses else 0.0
