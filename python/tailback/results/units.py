"""Display units of figures and tables; results are kept in base units."""

from __future__ import annotations

__all__ = ["display"]

# Factor to the display unit, and display unit, by base unit.
_DISPLAY = {
    "1": (1.0, ""),
    "B": (1e-3, "kB"),
    "bit/s": (1e-6, "Mbit/s"),
    "packet": (1.0, "packets"),
    "packet/s": (1.0, "1/s"),
    "s": (1e3, "ms"),
}


def display(unit: str, *, is_share: bool = False) -> tuple[float, str]:
    """Return the factor from a base unit to its display unit, and the display unit; for a share, (100, `%`).

    All numbers with the same base unit have the same display unit, so that columns and axes can be compared.

    Raises:
        KeyError: The unit is not `1`, `B`, `bit/s`, `packet`, `packet/s` or `s`.

    """
    return (100.0, "%") if is_share else _DISPLAY[unit]
