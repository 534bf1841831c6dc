#!/usr/bin/env bash
# Runs the tests of the unsafe code (the ring of packets, and the C interface of the wasm module) under Miri, compiled
# for the native target. Takes about five minutes. Without a nightly toolchain with miri and rust-src, prints the reason
# and does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "skipped: Miri needs a nightly toolchain (rustup toolchain install nightly --component miri,rust-src)"
    exit 0
fi
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri"
cargo +nightly miri test --locked -p tailback-sim --lib ring::
cargo +nightly miri test --locked -p tailback-wasm --lib
