"""Identity of the program: results of two builds are not mixed, whatever their version says."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tailback import _native

__all__ = ["engine"]


@cache
def engine() -> str:
    """Return a hash of the core that is loaded, 16 hexadecimal digits: every build of other sources has another."""
    return hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:16]
