#!/usr/bin/env bash
# Installs the named components of Rust with rustup, if they are missing, or prints how to install them.
# Usage: rust_components.sh rustfmt clippy
set -euo pipefail
for component in "$@"; do
  case $component in
    rustfmt) probe=fmt ;;
    *) probe=$component ;;
  esac
  cargo "$probe" --version >/dev/null 2>&1 && continue
  if command -v rustup >/dev/null && rustup component add "$component" >&2; then
    continue
  fi
  echo "Rust's $component is missing: rustup component add $component (Debian packages rustfmt and rust-clippy)" >&2
  exit 1
done
