"""Quotas, reservations, leases and rate limits of QuotaDB, on the connections of redis-py.

    import redis
    from quotadb import QuotaDB

    db = QuotaDB(redis.Redis(port=6380))
    calls = db.quota("calls")
    calls.define(limit=1000, window=3600)
    if calls.take("customer:42"):
        ...

Counters need no client of their own: ``redis.Redis(port=6380).incr("visits")``. For asyncio: ``quotadb.asyncio``.
"""

from .answers import BucketDecision, QuotaDecision, QuotaItem, RateDecision, RateRule, Settlement, Several, Standing
from .client import Bucket, Quota, QuotaDB, RateLimit
from .errors import LeaseLost, LimitExceeded, QuotaDBError
from .holds import Lease, Reservation
from .words import Duration

__all__ = [
    "Bucket",
    "BucketDecision",
    "Duration",
    "Lease",
    "LeaseLost",
    "LimitExceeded",
    "Quota",
    "QuotaDB",
    "QuotaDBError",
    "QuotaDecision",
    "QuotaItem",
    "RateDecision",
    "RateLimit",
    "RateRule",
    "Reservation",
    "Settlement",
    "Several",
    "Standing",
]
