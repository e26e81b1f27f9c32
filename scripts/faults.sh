#!/usr/bin/env bash
# Runs all faults of the cluster example while visitors are admitted, on Redis and on Valkey, with
# three seeds each. A run that admits too few visitors to put the promises at stake fails as void.
# Takes an hour.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --quiet -p cluster
trouble() {
    cargo run --release --quiet -p cluster -- --ignore-times --deadline 250ms \
        --limit 60 --rate 6000 --session 5s --refresh-interval 2s --work 0s \
        --visitors 1500 --at 15s "$@"
}
if (($#)); then seeds=("$@"); else seeds=(11 12 13); fi
failed=0
for engine in redis valkey; do
    for seed in "${seeds[@]}"; do
        # Nodes that are killed one by one, for as long as it takes to admit a hundred visitors.
        trouble --engine "$engine" --seed "$seed" --lasts 25s --over 48s --drain 20s \
            faults none nodes || failed=1
        # An outage of the store that is shorter than a session.
        trouble --engine "$engine" --seed "$seed" --lasts 3s --over 40s --drain 5s \
            faults store-paused cut half-open slow || failed=1
        # After a loss of state, the room admits no newcomers for a minute.
        trouble --engine "$engine" --seed "$seed" --lasts 3s --over 45s --drain 75s \
            faults store-kept store-lost failover flush || failed=1
    done
done
exit "$failed"
