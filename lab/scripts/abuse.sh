#!/usr/bin/env bash
# Runs all attacks in full, over real sockets, on a service that is built from a configuration file.
# Prints what the attacker got, and what other people got meanwhile. Accepts the options of the
# program, such as --short, --seed 7 or --attack ticket-hoard. Needs Linux, Redis or
# Valkey, and 15 000 open files.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo --quiet lab abuse -- "$@"
