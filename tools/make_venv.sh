#!/usr/bin/env bash
# Makes the virtual environment, or says what the machine lacks. Usage: make_venv.sh PYTHON FOLDER
set -euo pipefail
python=$1 venv=$2

command -v "$python" >/dev/null || {
  echo "Tailback needs Python 3.11 or newer, and there is no '$python'. Install it, or name one: make PYTHON=python3.12 run" >&2
  exit 1
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Tailback needs Python 3.11 or newer; '$python' is $("$python" -V 2>&1). Name a newer one: make PYTHON=python3.12 run" >&2
  exit 1
}
if ! "$python" -m venv "$venv"; then
  # A half-made folder would pass for a finished one the next time.
  rm -rf "$venv"
  echo "'$python -m venv' failed. On Debian and Ubuntu it is a package of its own: apt-get install python3-venv" >&2
  exit 1
fi
