#!/usr/bin/env bash
# Changes one expression of a crate at a time, and reports the changes that no unit test notices.
# Needs cargo-mutants. Each mutant is a build, so a sample of 300 in the core takes about two hours.
#
# usage: lab/scripts/mutants.sh [PACKAGE [COUNT [SEED]]]
# The seed selects the sample, and is the hash of the last commit by default.
set -euo pipefail
cd "$(dirname "$0")/../.."

package=${1:-waiting-room-core}
count=${2:-300}
seed=${3:-$((16#$(git rev-parse --short=12 HEAD)))}
# Texts for programmers, and code for other builds.
select=(--package "$package" --exclude-re 'Debug|::fmt' --exclude '**/no_drawing.rs')

total=$(cargo mutants --list "${select[@]}" | wc -l)
shards=$(((total + count - 1) / count))
shard=$((seed % shards))
echo "shard $shard of $shards, seed $seed"
# Few cases per property suffice to notice most mutants.
PROPTEST_CASES=${PROPTEST_CASES:-64} cargo mutants "${select[@]}" --all-features --timeout 240 \
    --shard "$shard/$shards" --sharding round-robin --output target/mutants -- --lib
