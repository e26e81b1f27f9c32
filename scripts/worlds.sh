#!/usr/bin/env bash
# Simulated worlds of the global ledger: two ledgers, three sites, and faults, by a seed. The tests run
# 20 of them, this script 1000.
#
#   scripts/worlds.sh [SEEDS [FIRST_SEED]]
set -euo pipefail
cd "$(dirname "$0")/.."

export WAITING_ROOM_SEEDS="${1:-1000}" WAITING_ROOM_SEED="${2:-1}"
exec cargo test --release -p waiting-room-ledger --test it -- --nocapture worlds
