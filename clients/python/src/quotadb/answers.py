"""What the server answers. Times are seconds; None where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Optional, Tuple, TypeVar


@dataclass(frozen=True)
class Standing:
    """The quota of one subject, as known to the region that answered."""

    remaining_here: int
    remaining_everywhere: int
    #: Until the window ends; None where the quota has none.
    reset_after: Optional[float]


@dataclass(frozen=True)
class QuotaDecision(Standing):
    """True in a condition where the request was allowed."""

    allowed: bool
    #: When to try again: 0 where the request was allowed, None where that cannot help.
    retry_after: Optional[float]

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True)
class RateDecision:
    """True in a condition where the request was allowed."""

    allowed: bool
    limit: int
    remaining: int
    #: Until the current window ends.
    reset_after: Optional[float]
    #: When to try again: 0 where the request was allowed, None where its cost is above the limit.
    retry_after: Optional[float]

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True)
class BucketDecision:
    """True in a condition where the request was allowed."""

    allowed: bool
    #: How many requests a full bucket holds.
    limit: int
    remaining: int
    #: Until the bucket is full.
    reset_after: Optional[float]
    #: When to try again: None where the request was allowed, or where its cost is above the burst.
    retry_after: Optional[float]

    def __bool__(self) -> bool:
        return self.allowed


DecisionT = TypeVar("DecisionT", QuotaDecision, RateDecision)


@dataclass(frozen=True)
class Several(Generic[DecisionT]):
    """The answer of several limits together: all of them were charged, or none."""

    allowed: bool
    decisions: Tuple[DecisionT, ...]

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True)
class Settlement:
    charged: int
    #: Used above the estimate and not charged, because the limit was reached.
    uncharged: int


@dataclass(frozen=True)
class QuotaItem:
    """One of several quotas to take from."""

    name: str
    subject: str
    cost: int = 1


@dataclass(frozen=True)
class RateRule:
    """One of several sliding windows to count in; the window in seconds."""

    key: str
    limit: int
    window: float
