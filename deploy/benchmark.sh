#!/bin/sh
# QuotaDB beside Redis, by Redis's own tool, in turns: the same commands to one, then to the other, three times. Ends with
# 1 at the first target that fails: figures without their other side say nothing.
#
#   benchmark.sh quotadb-host:port redis-host:port      QUOTADB_PASSWORD is that of the first
set -eu
quotadb=$1
redis=$2
requests=${REQUESTS:-1000000}
for round in 1 2 3; do
  for pipeline in 1 16; do
    for target in "$quotadb" "$redis"; do
      password=""
      [ "$target" = "$quotadb" ] && password=${QUOTADB_PASSWORD:-}
      if ! output=$(redis-benchmark -h "${target%:*}" -p "${target#*:}" ${password:+-a "$password"} -q -n "$requests" -c 50 \
        -r 100000 -P "$pipeline" INCR counter:__rand_int__ 2>&1) ||
        ! figures=$(printf '%s\n' "$output" | tr '\r' '\n' | grep 'requests per second'); then
        printf '%s cannot be measured: %s\n' "$target" "$output" >&2
        exit 1
      fi
      printf 'round %s, pipeline %s, %s: %s\n' "$round" "$pipeline" "$target" "$(printf '%s\n' "$figures" | tail -n 1)"
    done
  done
done
