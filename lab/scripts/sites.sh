#!/usr/bin/env bash
# Runs three sites with one limit, without a fault and then with each fault, on Redis and on Valkey, with
# three seeds each. A run that admits too few visitors to put the promises at stake fails as void.
# Takes about three hours.
#
#   lab/scripts/sites.sh [SEED...]
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --release --quiet --manifest-path lab/Cargo.toml -p sites
if (($#)); then seeds=("$@"); else seeds=(11 12 13); fi
failed=0
for engine in redis valkey; do
    for seed in "${seeds[@]}"; do
        sites() { cargo --quiet lab sites -- --engine "$engine" --seed "$seed" "$@"; }
        sites || failed=1
        sites faults || failed=1
    done
done
exit "$failed"
