"""python limits with a strategy that keeps lists, which QuotaDB has not. Prints what its user sees, as JSON."""
import json
import sys

import redis
from limits import parse, storage, strategies

store = storage.storage_from_string(f"redis://127.0.0.1:{sys.argv[1]}")
moving = strategies.MovingWindowRateLimiter(store)
try:
    print(json.dumps(["answered", moving.hit(parse("3/minute"), "alice")]))
except redis.exceptions.ResponseError as error:
    print(json.dumps(["refused", str(error)]))
