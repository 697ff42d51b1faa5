"""What is held for a while and settled at the end of a ``with`` block: reservations and leases."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Optional, Protocol, Type, TypeVar

from redis.exceptions import RedisError

from . import words
from .answers import QuotaDecision, Settlement
from .errors import LeaseLost
from .lease_clock import LeaseClock

T = TypeVar("T")


class Connection(Protocol):
    """``redis.Redis``, with its pool, its TLS and its retries."""

    def execute_command(self, *words: Any, **options: Any) -> Any: ...


def run(connection: Connection, call: words.Call[T]) -> T:
    return call.read(connection.execute_command(*call.words))


class Reservation:
    """An estimate that was taken. At the end of its block it is given back, unless it was committed before."""

    def __init__(self, connection: Connection, id: str, estimate: int, decision: QuotaDecision) -> None:
        self.id = id
        self.estimate = estimate
        self.decision = decision
        self._connection = connection
        self._is_settled = False

    def commit(self, actual: int) -> Settlement:
        """Charges the actual cost: what was estimated above it comes back. After an error it may be tried again."""
        settlement = run(self._connection, words.commit(self.id, actual))
        self._is_settled = True
        return settlement

    def cancel(self) -> bool:
        """Gives all of it back; False where it was settled, or had lapsed."""
        if self._is_settled:
            return False
        was_held = run(self._connection, words.cancel(self.id))
        self._is_settled = True
        return was_held

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            self.cancel()
        except RedisError:
            pass  # Without the server the reservation lapses.


class Lease:
    """A lease that a thread renews until the end of its block, or until ``release``.

    A lease that is not renewed in time is lost: ``is_held`` is False and ``check()`` raises, by this process's own
    count of the time, and never later than the server gives the lease to another holder.
    """

    def __init__(self, connection: Connection, id: str, asked_at: float, ttl_ms: int, decision: QuotaDecision) -> None:
        self.id = id
        self.decision = decision
        #: Set when the lease is lost; never where it was released in time.
        self.lost = threading.Event()
        self._connection = connection
        self._clock = LeaseClock(asked_at, ttl_ms)
        self._released = threading.Event()
        self._failure: Optional[Exception] = None
        # A thread that only renews must not keep a program alive: without renewals the lease ends by itself.
        threading.Thread(target=self._renew, name=f"quotadb lease {id}", daemon=True).start()

    @property
    def is_held(self) -> bool:
        return not (self._released.is_set() or self.lost.is_set() or self._clock.is_over)

    def check(self) -> None:
        """Raises LeaseLost where the lease is not held any more."""
        if not self.is_held:
            raise LeaseLost(f"the lease {self.id} is not held any more") from self._failure

    def release(self) -> bool:
        """Gives the lease back; False where it had ended."""
        if self._released.is_set():
            return False
        self._released.set()
        return run(self._connection, words.release(self.id))

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        try:
            self.release()
        except RedisError:
            pass  # Without the server the lease ends with its time.

    def _renew(self) -> None:
        while not self._released.wait(self._clock.pause):
            if self._clock.is_over:
                self.lost.set()
                return
            asked_at = time.monotonic()
            try:
                if run(self._connection, words.renew(self.id, self._clock.ttl_ms)):
                    self._clock.hold(asked_at)
                else:
                    self._clock.retry()
            except (RedisError, OSError) as failure:
                self._failure = failure
                self._clock.retry()
