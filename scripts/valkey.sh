#!/bin/sh
# A Valkey to measure beside Redis: scripts/valkey.sh DIRECTORY [SUITE]
#
# Unpacks Debian's newest package of it (SUITE: sid), with the libraries that it was built for, from the mirror that
# this machine uses anyway. Nothing is installed, and the system's own sources and libraries stay as they are.
set -eu

directory=${1:?which directory?}
suite=${2:-sid}
libraries='libc6 libgcc-s1 libatomic1 libssl3t64 libjemalloc2 liblzf1 libsystemd0 libcap2 zlib1g libzstd1'

mkdir -p "$directory/apt/state/lists/partial" "$directory/apt/cache/archives/partial" "$directory/packages"
directory=$(readlink -f "$directory")
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keyring] $mirror $suite main" > "$directory/apt/sources.list"
: > "$directory/apt/status"

apt() {
  apt-get -q -o Dir::Etc::sourcelist="$directory/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State="$directory/apt/state" -o Dir::State::status="$directory/apt/status" \
    -o Dir::Cache="$directory/apt/cache" -o APT::Sandbox::User=root "$@"
}
apt update
cd "$directory/packages"
rm -f ./*.deb
# shellcheck disable=SC2086
apt download valkey-server valkey-tools $libraries
for package in ./*.deb; do dpkg -x "$package" "$directory/root"; done

cat > "$directory/valkey-server" <<'END'
#!/bin/sh
# With the loader and the libraries of its own Debian; the system's are older.
here=$(dirname "$(readlink -f "$0")")
name=$(basename "$0")
for libraries in "$here"/root/usr/lib/*-linux-gnu; do
  for loader in "$libraries"/ld-linux*.so.?; do
    exec "$loader" --library-path "$libraries" --argv0 "$name" "$here/root/usr/bin/$name" "$@"
  done
done
END
chmod +x "$directory/valkey-server"
ln -sf valkey-server "$directory/valkey-cli"
ln -sf valkey-server "$directory/valkey-benchmark"
cd "$directory"
rm -r "$directory/apt" "$directory/packages"
"$directory/valkey-server" --version
