"""Commands as words, and their replies as answers: all that the two clients, with and without asyncio, share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Callable, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from .answers import BucketDecision, QuotaDecision, QuotaItem, RateDecision, RateRule, Settlement, Several, Standing

#: Seconds, or a timedelta.
Duration = Union[int, float, timedelta]
Word = Union[str, int]
T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """A command, and how its reply is read."""

    words: Tuple[Word, ...]
    read: Callable[[Any], T]


def milliseconds(duration: Duration, what: str) -> int:
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"{what} is a number of seconds from 0 on, or a timedelta, not {duration!r}")
    return round(seconds * 1000)


def define(
    name: str,
    limit: int,
    window: Optional[Duration],
    lease: Optional[Duration],
    allocator: Optional[str],
    shares: Optional[Mapping[str, float]],
    wait: Optional[Duration],
) -> Call[None]:
    words: List[Word] = ["QUOTA.DEFINE", name, "LIMIT", limit]
    if lease is not None:
        words += ["LEASE", f"{milliseconds(lease, 'lease')}ms"]
    else:
        words += ["WINDOW", "NONE" if window is None else f"{milliseconds(window, 'window')}ms"]
    if allocator is not None:
        words += ["ALLOCATOR", allocator]
    for region, fraction in (shares or {}).items():
        words += ["SHARE", region, repr(fraction)]
    if wait is not None:
        wait_ms = milliseconds(wait, "wait")
        words += ["ON-UNREACHABLE", "DENY"] if wait_ms == 0 else ["ON-UNREACHABLE", "WAIT", wait_ms]
    return Call(tuple(words), lambda reply: None)


def drop(name: str) -> Call[bool]:
    return Call(("QUOTA.DROP", name), _is_one)


def names() -> Call[List[str]]:
    return Call(("QUOTA.LIST",), lambda reply: sorted(_text(name) for name in reply))


def peek(name: str, subject: str) -> Call[Standing]:
    return Call(("QUOTA.PEEK", name, subject), lambda reply: Standing(reply[0], reply[1], _seconds(reply[2])))


def take(name: str, subject: str, cost: int, wait: Optional[Duration], id: Optional[str]) -> Call[QuotaDecision]:
    return Call(("QUOTA.TAKE", name, subject, cost, *_options(wait, id)), _quota_decision)


def take_all(items: Sequence[QuotaItem], wait: Optional[Duration], id: Optional[str]) -> Call[Several[QuotaDecision]]:
    words = [word for item in items for word in (item.name, item.subject, item.cost)]
    return Call(
        ("QUOTA.TAKEALL", len(items), *words, *_options(wait, id)),
        lambda reply: Several(reply[0] == 1, tuple(_quota_decision(one) for one in reply[1:])),
    )


def reserve(
    name: str, subject: str, estimate: int, ttl_ms: int, wait: Optional[Duration], id: Optional[str], charge: bool
) -> Call[Tuple[QuotaDecision, str]]:
    lapse = ("LAPSE", "CHARGE") if charge else ()
    words = ("QUOTA.RESERVE", name, subject, estimate, "TTL", ttl_ms, *_options(wait, id), *lapse)
    return Call(words, _held)


def commit(reservation: str, actual: int) -> Call[Settlement]:
    return Call(("QUOTA.COMMIT", reservation, actual), lambda reply: Settlement(reply[0], reply[1]))


def cancel(reservation: str) -> Call[bool]:
    return Call(("QUOTA.CANCEL", reservation), _is_one)


def acquire(
    name: str, subject: str, ttl_ms: int, wait: Optional[Duration], id: Optional[str]
) -> Call[Tuple[QuotaDecision, str]]:
    return Call(("QUOTA.ACQUIRE", name, subject, "TTL", ttl_ms, *_options(wait, id)), _held)


def renew(lease: str, ttl_ms: int) -> Call[bool]:
    return Call(("QUOTA.RENEW", lease, "TTL", ttl_ms), lambda reply: bool(reply[0] == 1))


def release(lease: str) -> Call[bool]:
    return Call(("QUOTA.RELEASE", lease), _is_one)


def rate(command: str, key: str, limit: int, window: Duration, cost: int) -> Call[RateDecision]:
    return Call((command, key, limit, _span(window, "window"), cost), _rate_decision)


def limit_all(rules: Sequence[RateRule], cost: int) -> Call[Several[RateDecision]]:
    words = [word for rule in rules for word in (rule.key, rule.limit, _span(rule.window, "window"))]
    return Call(
        ("RATE.LIMITALL", cost, *words),
        lambda reply: Several(reply[0] == 1, tuple(_rate_decision(one) for one in reply[1:])),
    )


def bucket(key: str, burst: int, count: int, period: Duration, cost: int) -> Call[BucketDecision]:
    return Call(("RATE.GCRA", key, burst, count, _span(period, "period"), cost), _bucket_decision)


def _span(duration: Duration, name: str) -> str:
    """With its unit: the server refuses a small number without one."""
    return f"{milliseconds(duration, name)}ms"


def _options(wait: Optional[Duration], id: Optional[str]) -> Tuple[Word, ...]:
    waiting: Tuple[Word, ...] = () if wait is None else ("WAIT", milliseconds(wait, "wait"))
    return waiting if id is None else (*waiting, "ID", id)


def _quota_decision(reply: Any) -> QuotaDecision:
    allowed, here, everywhere, reset_ms, retry_ms = reply[:5]
    return QuotaDecision(here, everywhere, _seconds(reset_ms), allowed == 1, _seconds(retry_ms))


def _held(reply: Any) -> Tuple[QuotaDecision, str]:
    allowed, id, *standing = reply
    return _quota_decision([allowed, *standing]), _text(id)


def _rate_decision(reply: Any) -> RateDecision:
    allowed, limit, remaining, reset_ms, retry_ms = reply[:5]
    return RateDecision(allowed == 1, limit, remaining, _seconds(reset_ms), _seconds(retry_ms))


def _bucket_decision(reply: Any) -> BucketDecision:
    allowed, limit, remaining, reset_ms, retry_ms = reply[:5]
    return BucketDecision(allowed == 1, limit, remaining, _seconds(reset_ms), None if allowed else _seconds(retry_ms))


def _is_one(reply: Any) -> bool:
    return bool(reply == 1)


def _seconds(milliseconds: int) -> Optional[float]:
    return None if milliseconds < 0 else milliseconds / 1000


def _text(value: Any) -> str:
    """Connections without ``decode_responses`` give bytes."""
    return value.decode() if isinstance(value, bytes) else str(value or "")
