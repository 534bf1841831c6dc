"""Parts that all user-defined components share."""

from __future__ import annotations

from typing import ClassVar

from tailback import _native

__all__ = ["Component"]


class Component:
    """Attributes and functions of all user-defined components."""

    probes: ClassVar[tuple[str, ...]] = ()
    """Names of numeric attributes that are recorded in time series, with their units, such as `("average_bytes",)`."""

    @staticmethod
    def picoseconds(text: str) -> int:
        """Return a duration such as "5ms" in picoseconds; raises ValueError for other text."""
        return _native.parse_duration(text)
