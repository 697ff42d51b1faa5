"""python3-limits and Flask-Limiter, as their documentation sets them up. Prints what a user sees, as JSON."""
import json
import sys

from flask import Flask
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from limits import parse, storage, strategies

uri = f"redis://127.0.0.1:{sys.argv[1]}"

store = storage.storage_from_string(uri)
fixed = strategies.FixedWindowRateLimiter(store)
elastic = strategies.FixedWindowElasticExpiryRateLimiter(store)
three = parse("3/minute")
seen = {
    "fixed": [fixed.hit(three, "limits", "alice") for _ in range(5)],
    "elastic": [elastic.hit(three, "limits", "bob") for _ in range(5)],
    "remaining": fixed.get_window_stats(three, "limits", "carol")[1],
    "test": fixed.test(three, "limits", "alice"),
}
fixed.clear(three, "limits", "alice")
seen["after clear"] = fixed.hit(three, "limits", "alice")
seen["reset"] = store.reset()

app = Flask("limited")
limiter = Limiter(get_remote_address, app=app, storage_uri=uri, strategy="fixed-window", swallow_errors=True)


@app.get("/")
@limiter.limit("2/minute")
def index():
    return "hello"


with app.test_client() as client:
    seen["flask"] = [client.get("/").status_code for _ in range(4)]

print(json.dumps(seen))
