#!/usr/bin/env bash
# Checks licences and sources of all pinned crates, and known advisories about the crates and all pinned Python
# packages. A violation or an advisory is an error. If a database of advisories cannot be reached, its check is skipped
# with a message. Usage: audit.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"$1" -m venv "$tools"
"$tools/bin/pip" install --quiet pip-audit
# Kept in target/tools, since its build takes minutes.
command -v cargo-deny >/dev/null || cargo install --quiet --locked --root target/tools cargo-deny
PATH="$tools/bin:$PATH:$PWD/target/tools/bin"

echo "crates: licences, sources, wildcards"
cargo-deny --workspace --all-features check --hide-inclusion-graph licenses bans sources

# check_advisories SUBJECT UNREACHABLE COMMAND...: runs a check against a database on the network. A failure whose
# output matches the expression UNREACHABLE means that the database cannot be reached, and is not an error.
check_advisories() {
  local subject=$1 unreachable=$2
  shift 2
  echo "$subject: known advisories"
  local log="$tools/log"
  "$@" >"$log" 2>&1 && { tail -n 1 "$log"; return; }
  if grep -qE "$unreachable" "$log"; then
    echo "  skipped: the database of advisories cannot be reached"
  else
    cat "$log"
    return 1
  fi
}
check_advisories crates "failed to fetch|failed to (clone|open) advisory|unable to (fetch|connect)" cargo-deny --workspace check advisories
check_advisories packages "ConnectionError|ServiceError|Failed to (query|connect)|HTTPError|not found on PyPI" pip-audit --strict --require-hashes --disable-pip -r requirements/dev.txt
