"""Django with django-redis as its cache: counters, and a rate limit on them. Prints what a user sees, as JSON."""
import json
import sys
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings

settings.configure(
    CACHES={
        "default": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": f"redis://127.0.0.1:{sys.argv[1]}/0",
            "OPTIONS": {"CLIENT_CLASS": "django_redis.client.DefaultClient"},
        }
    }
)

import django

django.setup()

from django.core.cache import cache

seen = {}
cache.set("hits", 0, timeout=60)
with ThreadPoolExecutor(8) as threads:
    for done in [threads.submit(lambda: [cache.incr("hits") for _ in range(100)]) for _ in range(8)]:
        done.result()
seen["eight threads, a hundred each"] = cache.get("hits")
seen["ttl is kept"] = 0 < cache.ttl("hits") <= 60
seen["decr"] = cache.decr("hits", 10)
try:
    cache.incr("missing")
except ValueError as error:
    seen["missing"] = str(error)
seen["add"] = [cache.add("flag", 1, 60), cache.add("flag", 1, 60)]
seen["touch"] = cache.touch("flag", 90)
seen["many"] = cache.get_many(["hits", "flag", "nothing"])
seen["delete"] = [cache.delete("flag"), cache.delete("flag")]
cache.set("lent", 1, timeout=60)
seen["incr_version"] = [cache.incr_version("lent"), cache.get("lent"), cache.get("lent", version=2)]
print(json.dumps(seen))
