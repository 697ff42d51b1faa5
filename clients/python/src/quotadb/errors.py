"""What goes wrong. Errors of the connection and refusals of the server are redis-py's own."""

from __future__ import annotations

from typing import Union

from .answers import BucketDecision, QuotaDecision, RateDecision

Decision = Union[QuotaDecision, RateDecision, BucketDecision]


class QuotaDBError(Exception):
    """The base of the errors of this package."""


class LimitExceeded(QuotaDBError):
    """A limit denied what was asked for. ``decision`` says when to try again."""

    def __init__(self, what: str, decision: Decision) -> None:
        again = "" if decision.retry_after is None else f"; try again in {decision.retry_after:.3f} s"
        super().__init__(f"{what} was denied{again}")
        self.decision = decision


class LeaseLost(QuotaDBError):
    """A lease could not be renewed in time: the server may have given it to another holder."""
