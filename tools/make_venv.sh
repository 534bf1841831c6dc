#!/usr/bin/env bash
# Makes the virtual environment, or prints what is missing on this machine. Usage: make_venv.sh PYTHON FOLDER
set -euo pipefail
python=$1 venv=$2

command -v "$python" >/dev/null || {
  echo "Tailback needs Python 3.11 or newer, and there is no '$python'. Install one, or name another: make PYTHON=python3.12 run" >&2
  exit 1
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Tailback needs Python 3.11 or newer; '$python' is $("$python" -V 2>&1). Name a newer one: make PYTHON=python3.12 run" >&2
  exit 1
}
if ! "$python" -m venv "$venv"; then
  # Otherwise the next call would use the incomplete folder.
  rm -rf "$venv"
  echo "'$python -m venv' failed. On Debian and Ubuntu it is a separate package: apt-get install python3-venv" >&2
  exit 1
fi
