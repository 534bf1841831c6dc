#!/usr/bin/env bash
# Checks the barrier between the threads of a run in all interleavings of its loom models. Takes about ten seconds,
# after a minute of building. The package in loom/ is not part of the workspace, so that other builds do not compile the
# crate loom.
set -euo pipefail
cd "$(dirname "$0")/../loom"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-../target}/loom"
cargo test --locked --release
