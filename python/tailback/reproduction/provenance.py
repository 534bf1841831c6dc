"""Provenance of results: the command that repeats them, a digest over all runs, the version and the commit."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tailback import _native
from tailback.study.experiment.runner import Trial

__all__ = ["Provenance", "commit", "digest", "provenance"]

_SOURCES = ("Cargo.toml", "Cargo.lock", "crates", "python/tailback")
"""Paths of the sources that affect results; only changes in them add "+" to the commit."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance of an experiment's results: enough to reproduce them and to verify that they are the same."""

    command: str
    """Shell command that repeats the runs."""
    digest: str
    """Digest over all runs, see the function `digest`."""
    version: str
    """Version of Tailback."""
    commit: str
    """Commit of the source tree, with "+" if sources differ; empty if Tailback was installed without a source tree."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON form; `commit` is null if Tailback was installed without a source tree."""
        return {
            "command": self.command,
            "digest": self.digest,
            "tailback": self.version,
            "commit": self.commit or None,
        }


def provenance(trial: Trial) -> Provenance:
    """Return the provenance of an experiment's results."""
    seed = "" if trial.seed is None else f" --seed {trial.seed}"
    command = f"tailback reproduce {trial.experiment.id} --{trial.profile}{seed}"
    return Provenance(command, digest(trial), _native.version, commit())


def digest(trial: Trial) -> str:
    """Return a hash over the descriptions of the points, and the seeds and digests of their runs.

    Points are in the experiment's order, and the replications of a point in ascending order. The digest is the first
    128 bits of SHA-256 in hexadecimal, after `tb2e:`. Equal digests mean equal results of all runs.
    """
    found = hashlib.sha256()
    for point, samples in trial.samples.items():
        found.update(f"{trial.experiment.describe(point)}\n".encode())
        for sample in samples:
            found.update(f"{sample.seed} {sample.digest}\n".encode())
    return f"{_native.digest_version}e:{found.hexdigest()[:32]}"


@cache
def commit() -> str:
    """Return the commit of the running source tree, with "+" if sources differ; empty if there is no checkout."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "Cargo.lock").is_file() or not (root / ".git").exists():
        return ""
    name = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--", *_SOURCES)
    if name is None or changed is None:
        return ""
    return f"{name}+" if changed else name


def _git(root: Path, *arguments: str) -> str | None:
    """Return the output of git; `None`: git is not installed, fails, or takes more than 30 s."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
