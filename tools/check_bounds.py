"""Runs the Python tests, without the slow ones, with the oldest dependencies that pyproject.toml allows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def oldest(requirement: str) -> str:
    """Return `polars==1.30` for `polars>=1.30`; a requirement without `>=` is returned unchanged."""
    return re.sub(r">=([^,;]+).*", r"==\1", requirement)


def main() -> None:
    """Make an environment of the oldest versions and run the tests in it; raises CalledProcessError if one fails."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    # Only the dependencies of users have their oldest versions; the test tools are the newest ones.
    pins = [oldest(r) for r in [*project["dependencies"], *extras["plot"], *extras["pandas"], *extras["notebook"]]]
    env = {name: value for name, value in os.environ.items() if name not in ("PIP_CONSTRAINT", "VIRTUAL_ENV")}
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "venv", "bin", "python")
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "pytest", "hypothesis", "scipy"]
        subprocess.run([*pip, *pins], check=True, env=env)
        # The extension from `make build` uses the stable ABI, so it works with every CPython from 3.11 on.
        env["PYTHONPATH"] = str(ROOT / "python")
        # Warnings are not errors here, since old versions warn about their own use of newer packages.
        command = [str(python), "-m", "pytest", "-m", "not slow", "-W", "default"]
        subprocess.run(command, check=True, env=env, cwd=ROOT)


if __name__ == "__main__":
    main()
