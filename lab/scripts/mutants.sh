#!/usr/bin/env bash
# Changes one expression of a crate at a time, and reports the changes that none of the crate's own tests notices.
# Needs cargo-mutants. Each mutant is a build, so a sample of 300 takes about two hours in the core, and four in the layer.
#
# usage: lab/scripts/mutants.sh [waiting-room-core|tower-waiting-room [COUNT [SEED]]]
# The seed selects the sample, and is the hash of the last commit by default.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=${1:-waiting-room-core}
count=${2:-300}
seed=${3:-$((16#$(git rev-parse --short=12 HEAD)))}
tests=(--lib)
if [[ $package == tower-waiting-room ]]; then
    tests+=(--test it --test stored)
fi
# Texts for programmers, and code for builds without some feature.
select=(--package "$package" --exclude-re 'Debug|::fmt|::expecting' --exclude '**/no_*.rs')

total=$(cargo mutants --list "${select[@]}" | wc -l)
shards=$(((total + count - 1) / count))
shard=$((seed % shards))
echo "shard $shard of $shards, seed $seed"
# Few cases per property suffice to notice most mutants, and failures are not shrunk or recorded.
PROPTEST_CASES=${PROPTEST_CASES:-64} PROPTEST_MAX_SHRINK_ITERS=0 PROPTEST_FAILURE_PERSISTENCE=off \
    cargo mutants "${select[@]}" --all-features --timeout 240 \
    --shard "$shard/$shards" --sharding round-robin --output target/mutants -- "${tests[@]}"
