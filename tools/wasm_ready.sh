#!/usr/bin/env bash
# Succeeds if a WebAssembly module can be built and run on this machine, installing Rust's target with rustup if
# necessary; otherwise prints what is missing, and fails.
set -euo pipefail
target=wasm32-unknown-unknown

if ! command -v node >/dev/null; then
  echo "skipped: the WebAssembly tests need Node.js (Debian package nodejs)"
  exit 1
fi
if [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
  exit 0
fi
if command -v rustup >/dev/null && rustup target add "$target" >&2; then
  exit 0
fi
echo "skipped: the WebAssembly tests need Rust's target $target (rustup target add $target, or Debian package libstd-rust-dev-wasm32)"
exit 1
