#!/bin/sh
# Puts the first map of a cluster into etcd ($QUOTADB_ETCD), unless there is one: of an earlier start.
#
#   put-first-map.sh /cluster.yaml
set -eu
if said=$(quotadb cluster init "$1" 2>&1); then
  echo "$said"
  exit 0
fi
case $said in
  *'etcd has a cluster map already'*) echo "$said" ;;
  *)
    echo "$said" >&2
    exit 1
    ;;
esac
