#!/usr/bin/env bash
# The long campaign: all figures in full. Takes about an hour on two cores; not part of ./test.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
day=examples/shop/data/worldcup98-1998-06-30.csv

echo "== a whole day at full rate in virtual time, ten seeds, two settings of the limits"
cargo lab waiting-room-studies -- --trace "$day" --visits 10000000 --seeds 10
cargo lab waiting-room-studies -- --trace "$day" --visits 10000000 --seeds 10 --peak-factor 3

echo "== the same day with a scheduled event and a draw in its middle, ten seeds"
cargo lab waiting-room-studies -- --trace "$day" --visits 10000000 --seeds 10 --event

echo "== how often rate-limit algorithms are wrong"
cargo lab waiting-room-studies -- accuracy --trace "$day" --seed 17 --out docs/figures

echo "== the gate under too many requests"
cargo lab waiting-room-studies -- gate \
    --seed 17 --seed 18 --seed 19 --seed 20 --seed 21 --out docs/figures

echo "== the shares of networks: crowds and attacks"
cargo lab waiting-room-studies -- shares --out docs/figures

echo "== many sites that share one limit"
cargo lab waiting-room-studies -- figures --out docs/figures

echo "== the cost, compared with the peers"
cargo lab waiting-room-bench -- bars --full
cargo lab waiting-room-bench -- cases --full
cargo lab waiting-room-bench -- room --full
