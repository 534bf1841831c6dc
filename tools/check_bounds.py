"""Runs the Python tests with the oldest versions of the dependencies that pyproject.toml allows."""

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
    """`polars>=1.30` becomes `polars==1.30`; without a lower bound, the requirement itself."""
    return re.sub(r">=([^,;]+).*", r"==\1", requirement)


def main() -> None:
    """Build an environment of the oldest versions and test in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    # The tools of the tests may be new: only the dependencies of users are under test.
    pins = [oldest(r) for r in [*project["dependencies"], *extras["plot"], *extras["pandas"]]]
    env = {name: value for name, value in os.environ.items() if name not in ("PIP_CONSTRAINT", "VIRTUAL_ENV")}
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "venv", "bin", "python")
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "pytest", "hypothesis", "scipy"]
        subprocess.run([*pip, *pins], check=True, env=env)
        # The extension that `make build` left in place serves every CPython from 3.11 on.
        env["PYTHONPATH"] = str(ROOT / "python")
        # Old versions warn of what they themselves do with newer ones.
        command = [str(python), "-m", "pytest", "-m", "not slow", "-W", "default"]
        subprocess.run(command, check=True, env=env, cwd=ROOT)


if __name__ == "__main__":
    main()
