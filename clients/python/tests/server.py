"""The server that the tests talk to: the one at QUOTADB_PORT, 6380 if it is not set. It needs ``--data``, as quotas without a window do."""

import itertools
import os
import time

PORT = int(os.environ.get("QUOTADB_PORT", "6380"))
#: Longer than any test: no window ends in the middle of one, but for the one that waits for the end.
LONG = 365 * 24 * 3600
#: The time that a lease holds in tests that outlive it: a busy machine must be able to renew it within two thirds.
TTL = 5.0

_names = itertools.count()


def fresh_name(what: str) -> str:
    """A name that no other test, and no earlier run on the same server, has used."""
    return f"{what}-{os.getpid()}-{time.time_ns()}-{next(_names)}"


#: Tokens come back once the server's disk has the end of what held them: a moment after the reply.
DEADLINE = 30


def eventually(what):  # type: ignore[no-untyped-def]
    """Asks until the answer is true."""
    until = time.monotonic() + DEADLINE
    while not what():
        if time.monotonic() > until:
            raise AssertionError("it did not come true in time")


async def eventually_async(what):  # type: ignore[no-untyped-def]
    until = time.monotonic() + DEADLINE
    while not await what():
        if time.monotonic() > until:
            raise AssertionError("it did not come true in time")
