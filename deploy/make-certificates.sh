#!/bin/sh
# Makes the authority of the cluster and a certificate for each region named, where they are not there yet.
#
#   make-certificates.sh us eu ap      the authority into $AUTHORITY, by default /authority; each region's certificate
#                                      and key, and the authority's certificate, into $CERTIFICATES/REGION
#   make-certificates.sh us.a us.b     the same for members of a region, into $CERTIFICATES/us.a …
#
# The authority's directory, and that of each region, is a volume of its own: a region gets to see its own key and no
# other, and the key of the authority, which could sign for any region, is seen by this script alone.
set -eu
authority=${AUTHORITY:-/authority}
directory=${CERTIFICATES:-/certificates}
owner=${CERTIFICATES_OWNER:-10001:10001}
umask 077
[ -e "$authority/ca.crt" ] || quotadb certs init --cluster "${QUOTADB_CLUSTER:-compose}" --out "$authority"
for name in "$@"; do
  own=$directory/$name
  case $name in
    *.*) set -- --region "${name%%.*}" --member "${name#*.}" ;;
    *) set -- --region "$name" ;;
  esac
  [ -e "$own/$name.crt" ] || quotadb certs issue "$@" --dir "$authority" --out "$own"
  cp "$authority/ca.crt" "$own/ca.crt"
  chown -R "$owner" "$own"
  chmod 700 "$own"
done
