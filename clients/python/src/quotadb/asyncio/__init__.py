"""The same with asyncio, on the connections of ``redis.asyncio``.

    import redis.asyncio
    from quotadb.asyncio import QuotaDB

    db = QuotaDB(redis.asyncio.Redis(port=6380))
    async with db.quota("jobs").lease("alice") as lease:
        ...
"""

from ..answers import BucketDecision, QuotaDecision, QuotaItem, RateDecision, RateRule, Settlement, Several, Standing
from ..errors import LeaseLost, LimitExceeded, QuotaDBError
from ..words import Duration
from .client import Bucket, Quota, QuotaDB, RateLimit
from .holds import Lease, Reservation

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
