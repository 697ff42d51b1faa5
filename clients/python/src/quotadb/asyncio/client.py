"""QuotaDB on a connection of redis.asyncio."""

from __future__ import annotations

import time
from typing import List, Mapping, Optional, Sequence, TypeVar

from .. import words
from ..answers import BucketDecision, QuotaDecision, QuotaItem, RateDecision, RateRule, Several, Standing
from ..errors import LimitExceeded
from .holds import Asked, Connection, Lease, Reservation, run
from ..words import Duration

DEFAULT_TTL = 60.0
T = TypeVar("T")


class Quota:
    """A limit that all regions together never pass, for each subject."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection

    async def define(
        self,
        limit: int,
        *,
        window: Optional[Duration] = None,
        lease: Optional[Duration] = None,
        allocator: Optional[str] = None,
        shares: Optional[Mapping[str, float]] = None,
        wait: Optional[Duration] = None,
    ) -> None:
        """Defines the quota, or changes its limit.

        ``window``: the limit begins anew after each; without one it holds for ever. ``lease``, in its place: at most
        ``limit`` leases at once, each held this long at most. ``wait``: how long a request waits for tokens of other
        regions; 0 denies at once.
        """
        await self._run(words.define(self.name, limit, window, lease, allocator, shares, wait))

    async def drop(self) -> bool:
        return await self._run(words.drop(self.name))

    async def peek(self, subject: str) -> Standing:
        return await self._run(words.peek(self.name, subject))

    async def take(
        self, subject: str, cost: int = 1, *, wait: Optional[Duration] = None, id: Optional[str] = None
    ) -> QuotaDecision:
        """Takes tokens if there are enough. A repetition with the same ``id`` within ten minutes is free."""
        return await self._run(words.take(self.name, subject, cost, wait, id))

    async def require(
        self, subject: str, cost: int = 1, *, wait: Optional[Duration] = None, id: Optional[str] = None
    ) -> QuotaDecision:
        """Takes tokens, or raises LimitExceeded."""
        return self._allowed(subject, await self.take(subject, cost, wait=wait, id=id))

    def reserve(
        self,
        subject: str,
        estimate: int,
        *,
        ttl: Duration = DEFAULT_TTL,
        wait: Optional[Duration] = None,
        id: Optional[str] = None,
        charge_on_lapse: bool = False,
    ) -> Asked[Reservation]:
        """Takes an estimate, or raises LimitExceeded.

        ``async with quota.reserve("alice", 500) as reservation: await reservation.commit(320)``. An estimate that is not
        settled within the ``ttl`` is given back or, with ``charge_on_lapse``, counts as used.
        """
        ttl_ms = words.milliseconds(ttl, "ttl")
        call = words.reserve(self.name, subject, estimate, ttl_ms, wait, id, charge_on_lapse)

        async def ask() -> Reservation:
            decision, reservation = await self._run(call)
            return Reservation(self._connection, reservation, estimate, self._allowed(subject, decision))

        return Asked(ask)

    def lease(
        self, subject: str, *, ttl: Duration = DEFAULT_TTL, wait: Optional[Duration] = None, id: Optional[str] = None
    ) -> Asked[Lease]:
        """Takes a lease, or raises LimitExceeded: ``async with jobs.lease("alice"): …``. A task renews it."""
        ttl_ms = words.milliseconds(ttl, "ttl")
        call = words.acquire(self.name, subject, ttl_ms, wait, id)

        async def ask() -> Lease:
            asked_at = time.monotonic()
            decision, lease = await self._run(call)
            return Lease(self._connection, lease, asked_at, ttl_ms, self._allowed(subject, decision))

        return Asked(ask)

    def _allowed(self, subject: str, decision: QuotaDecision) -> QuotaDecision:
        if not decision:
            raise LimitExceeded(f"the quota {self.name} of {subject}", decision)
        return decision

    async def _run(self, call: words.Call[T]) -> T:
        return await run(self._connection, call)


class RateLimit:
    """At most ``limit`` in any sliding window of this length, for each key."""

    def __init__(self, connection: Connection, limit: int, window: Duration, prefix: str) -> None:
        self.limit = limit
        self.window = window
        self.prefix = prefix
        self._connection = connection

    async def take(self, key: str, cost: int = 1) -> RateDecision:
        return await self._run("RATE.LIMIT", key, cost)

    async def peek(self, key: str, cost: int = 1) -> RateDecision:
        return await self._run("RATE.PEEK", key, cost)

    async def require(self, key: str, cost: int = 1) -> RateDecision:
        """Counts the request, or raises LimitExceeded."""
        decision = await self.take(key, cost)
        if not decision:
            raise LimitExceeded(f"the limit of {self.limit} for {self.prefix}{key}", decision)
        return decision

    async def _run(self, command: str, key: str, cost: int) -> RateDecision:
        return await run(self._connection, words.rate(command, self.prefix + key, self.limit, self.window, cost))


class Bucket:
    """``burst`` + 1 requests at once, refilled by ``count`` in each period; every server has buckets of its own."""

    def __init__(self, connection: Connection, burst: int, count: int, period: Duration, prefix: str) -> None:
        self.burst = burst
        self.count = count
        self.period = period
        self.prefix = prefix
        self._connection = connection

    async def take(self, key: str, cost: int = 1) -> BucketDecision:
        return await run(self._connection, words.bucket(self.prefix + key, self.burst, self.count, self.period, cost))

    async def require(self, key: str, cost: int = 1) -> BucketDecision:
        """Takes from the bucket, or raises LimitExceeded."""
        decision = await self.take(key, cost)
        if not decision:
            raise LimitExceeded(f"the bucket of {self.prefix}{key}", decision)
        return decision


class QuotaDB:
    """``QuotaDB(redis.asyncio.Redis(port=6380))``. The connection stays yours: its pool, its TLS, its end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def quota(self, name: str) -> Quota:
        return Quota(self._connection, name)

    async def quotas(self) -> List[str]:
        return await run(self._connection, words.names())

    async def take_all(
        self, items: Sequence[QuotaItem], *, wait: Optional[Duration] = None, id: Optional[str] = None
    ) -> Several[QuotaDecision]:
        """Takes from all of the quotas or, where one has too little, from none."""
        return await run(self._connection, words.take_all(items, wait, id))

    def limit(self, limit: int, window: Duration, *, prefix: str = "") -> RateLimit:
        return RateLimit(self._connection, limit, window, prefix)

    async def limit_all(self, rules: Sequence[RateRule], cost: int = 1) -> Several[RateDecision]:
        """Counts against all of the rules or, where one denies, against none."""
        return await run(self._connection, words.limit_all(rules, cost))

    def bucket(self, burst: int, count: int, period: Duration, *, prefix: str = "") -> Bucket:
        return Bucket(self._connection, burst, count, period, prefix)
