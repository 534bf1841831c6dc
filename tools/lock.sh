#!/usr/bin/env bash
# Writes requirements/: exact versions and hashes of all packages that the build, the program and the tests install, for every
# platform and CPython from 3.11 on. Usage: lock.sh PYTHON [--upgrade]; without --upgrade, a version changes only if a requirement
# excludes it.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 && shift
tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT
"$python" -m venv "$tool"
"$tool/bin/pip" install --quiet uv
common=(--universal --generate-hashes --python-version 3.11 --no-annotate --no-emit-index-url --no-emit-find-links
  --custom-compile-command "make lock" --quiet "$@")
# The larger set comes first, since the smaller set takes its versions from it.
"$tool/bin/uv" pip compile "${common[@]}" --extra test pyproject.toml requirements/build.in -o requirements/dev.txt
"$tool/bin/uv" pip compile "${common[@]}" --extra plot -c requirements/dev.txt pyproject.toml requirements/build.in -o requirements/run.txt
"$tool/bin/uv" pip compile "${common[@]}" --extra plot -c requirements/dev.txt pyproject.toml requirements/site.in -o requirements/site.txt
