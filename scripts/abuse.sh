#!/usr/bin/env bash
# All attacks in full, over real sockets, on a service that is built from a configuration file: what
# the attacker got, and what people got meanwhile. Takes the options of the program, such as --short,
# --seed 7 or --attack ticket-hoard. Needs Linux, and 12 000 open files.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo run --quiet --release -p abuse -- "$@"
