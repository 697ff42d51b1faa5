"""What is held for a while and settled at the end of an ``async with`` block: reservations and leases."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, Awaitable, Callable, Generator, Generic, Optional, Protocol, Type, TypeVar

from redis.exceptions import RedisError

from .. import words
from ..answers import QuotaDecision, Settlement
from ..errors import LeaseLost
from ..lease_clock import LeaseClock

T = TypeVar("T")


class Connection(Protocol):
    """``redis.asyncio.Redis``, with its pool, its TLS and its retries."""

    def execute_command(self, *words: Any, **options: Any) -> Awaitable[Any]: ...


async def run(connection: Connection, call: words.Call[T]) -> T:
    return call.read(await connection.execute_command(*call.words))


class _Hold(Protocol):
    async def _end(self) -> object: ...


HoldT = TypeVar("HoldT", bound=_Hold)


class Asked(Generic[HoldT]):
    """``await`` gives the hold; ``async with`` gives it and settles it at the end of the block."""

    def __init__(self, ask: Callable[[], Awaitable[HoldT]]) -> None:
        self._ask = ask
        self._hold: Optional[HoldT] = None

    def __await__(self) -> Generator[Any, None, HoldT]:
        return self._ask().__await__()

    async def __aenter__(self) -> HoldT:
        self._hold = await self._ask()
        return self._hold

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if self._hold is None:
            return
        try:
            await self._hold._end()
        except RedisError:
            pass  # Without the server a reservation lapses, and a lease ends with its time.


class Reservation:
    """An estimate that was taken. At the end of its block it is given back, unless it was committed before."""

    def __init__(self, connection: Connection, id: str, estimate: int, decision: QuotaDecision) -> None:
        self.id = id
        self.estimate = estimate
        self.decision = decision
        self._connection = connection
        self._is_settled = False

    async def commit(self, actual: int) -> Settlement:
        """Charges the actual cost: what was estimated above it comes back. After an error it may be tried again."""
        settlement = await run(self._connection, words.commit(self.id, actual))
        self._is_settled = True
        return settlement

    async def cancel(self) -> bool:
        """Gives all of it back; False where it was settled, or had lapsed."""
        if self._is_settled:
            return False
        was_held = await run(self._connection, words.cancel(self.id))
        self._is_settled = True
        return was_held

    async def _end(self) -> None:
        await self.cancel()


class Lease:
    """A lease that a task renews until the end of its block, or until ``release``.

    A lease that is not renewed in time is lost: ``lost`` is set, ``is_held`` is False and ``check()`` raises, by this
    process's own count of the time, and never later than the server gives the lease to another holder.
    """

    def __init__(self, connection: Connection, id: str, asked_at: float, ttl_ms: int, decision: QuotaDecision) -> None:
        self.id = id
        self.decision = decision
        #: Set when the lease is lost; never where it was released in time.
        self.lost = asyncio.Event()
        self._connection = connection
        self._clock = LeaseClock(asked_at, ttl_ms)
        self._is_released = False
        self._failure: Optional[Exception] = None
        self._renewing = asyncio.ensure_future(self._renew())

    @property
    def is_held(self) -> bool:
        return not (self._is_released or self.lost.is_set() or self._clock.is_over)

    def check(self) -> None:
        """Raises LeaseLost where the lease is not held any more."""
        if not self.is_held:
            raise LeaseLost(f"the lease {self.id} is not held any more") from self._failure

    async def release(self) -> bool:
        """Gives the lease back; False where it had ended."""
        if self._is_released:
            return False
        self._is_released = True
        self._renewing.cancel()
        return await run(self._connection, words.release(self.id))

    async def _end(self) -> None:
        await self.release()

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._clock.pause)
            if self._clock.is_over:
                self.lost.set()
                return
            asked_at = time.monotonic()
            try:
                # The end must be noticed while the reply is on its way, too.
                call = run(self._connection, words.renew(self.id, self._clock.ttl_ms))
                if await asyncio.wait_for(call, self._clock.left):
                    self._clock.hold(asked_at)
                else:
                    self._clock.retry()
            except (RedisError, OSError, asyncio.TimeoutError) as failure:
                self._failure = failure
                self._clock.retry()
