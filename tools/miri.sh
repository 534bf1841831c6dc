#!/usr/bin/env bash
# Runs the tests of the unsafe code under Miri, natively: the ring of packets and the C interface of the wasm module.
# Some five minutes. Without a nightly toolchain that has miri and rust-src one line says why nothing is done.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "Miri skipped: no nightly toolchain with it; rustup toolchain install nightly --component miri,rust-src"
    exit 0
fi
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/miri"
cargo +nightly miri test --locked -p tailback-sim --lib ring::
cargo +nightly miri test --locked -p tailback-wasm --lib
