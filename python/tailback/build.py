"""Identity of the compiled core: results of two builds are not mixed, even if both have the same version."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tailback import _native

__all__ = ["engine"]


@cache
def engine() -> str:
    """Return a hash of the loaded core, 16 hexadecimal digits; it differs between builds of different sources."""
    return hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:16]
