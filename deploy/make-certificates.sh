#!/bin/sh
# Makes the authority of the cluster and a certificate for each region named, where they are not there yet.
#
#   make-certificates.sh us eu ap      into $CERTIFICATES, by default /certificates
#
# The key of the authority stays in the volume, readable by root alone; a region reads its own certificate and key.
set -eu
directory=${CERTIFICATES:-/certificates}
owner=${CERTIFICATES_OWNER:-10001:10001}
umask 077
[ -e "$directory/ca.crt" ] || quotadb certs init --cluster "${QUOTADB_CLUSTER:-compose}" --out "$directory"
for region in "$@"; do
  [ -e "$directory/$region/$region.crt" ] || quotadb certs issue --region "$region" --dir "$directory" --out "$directory/$region"
  chown -R "$owner" "$directory/$region"
  chmod 755 "$directory/$region"
done
chmod 755 "$directory"
chmod 644 "$directory/ca.crt"
