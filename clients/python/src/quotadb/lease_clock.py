"""How long a lease holds by this process's own count, and when to renew it."""

from __future__ import annotations

import time

#: Renewals in the time that a lease holds: two may be lost on the way.
RENEWALS_IN_A_TTL = 3
#: A renewal that failed is tried again after this part of the time that is left.
RETRY_PART = 4
SHORTEST_PAUSE = 0.01


class LeaseClock:
    """Counts from before the server was asked: the server counts from later, so a lease never ends there first."""

    def __init__(self, asked_at: float, ttl_ms: int) -> None:
        self.ttl_ms = ttl_ms
        self.hold(asked_at)

    def hold(self, asked_at: float) -> None:
        """The server has given or renewed the lease; it was asked at this ``time.monotonic()``."""
        now = time.monotonic()
        self._until = asked_at + self.ttl_ms / 1000
        # The monotonic clock may stand still while a machine sleeps.
        self._until_wall = time.time() - (now - asked_at) + self.ttl_ms / 1000
        self._next = asked_at + self.ttl_ms / 1000 / RENEWALS_IN_A_TTL

    def retry(self) -> None:
        """The renewal did not succeed: the server gives the lease to no other holder before its time is over."""
        self._next = time.monotonic() + max(self.left / RETRY_PART, SHORTEST_PAUSE)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._until or time.time() >= self._until_wall

    @property
    def left(self) -> float:
        """Seconds until the lease ends."""
        return max(self._until - time.monotonic(), 0.0)

    @property
    def pause(self) -> float:
        """Seconds until the next renewal, or until the lease ends."""
        return max(min(self._next, self._until) - time.monotonic(), 0.0)
