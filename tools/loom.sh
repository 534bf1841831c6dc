#!/usr/bin/env bash
# Runs the barrier between the threads of one run in every interleaving that loom's models of it allow; some ten seconds after
# a minute of building. The package `loom` stands outside the workspace, so that loom is built for this only.
set -euo pipefail
cd "$(dirname "$0")/../loom"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-../target}/loom"
cargo test --locked --release
