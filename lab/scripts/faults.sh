#!/usr/bin/env bash
# Runs all faults of the cluster example while visitors are admitted, on Redis and on Valkey, with
# three seeds each. A run that admits too few visitors to put the promises at stake fails as void.
# Takes 80 minutes. Response times are reported but not judged, because they depend on the machine.
set -euo pipefail
cd "$(dirname "$0")/../.."

cargo build --release --quiet --manifest-path lab/Cargo.toml -p cluster
if (($#)); then seeds=("$@"); else seeds=(11 12 13); fi
failed=0
for engine in redis valkey; do
    for seed in "${seeds[@]}"; do
        cargo --quiet lab cluster -- --ignore-times --engine "$engine" --seed "$seed" \
            faults || failed=1
    done
done
exit "$failed"
