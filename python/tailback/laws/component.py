"""Parts that all user-defined components share."""

from __future__ import annotations

from typing import ClassVar

from tailback import _native

__all__ = ["Component", "NotADuration"]


class NotADuration(ValueError):
    """A value that is not the text of a duration."""

    def __init__(self, value: object, reason: str, advice: str) -> None:
        """Make the error of a value; the reason is a phrase that quotes the value."""
        super().__init__(f"{reason}; {advice}")
        self.value = value
        self.reason = reason
        self.advice = advice


class Component:
    """Attributes and functions of all user-defined components."""

    probes: ClassVar[tuple[str, ...]] = ()
    """Names of numeric attributes that are recorded in time series, with their units, such as `("average_bytes",)`."""

    @staticmethod
    def picoseconds(text: str) -> int:
        """Return a duration such as "5ms" in picoseconds; raises ValueError for other text, and for other values."""
        if not isinstance(text, str):
            raise NotADuration(text, f"`{text!r}` is not text", _advice(text))
        try:
            return _native.parse_duration(text)
        except ValueError as error:
            reason, _, advice = str(error).partition("; ")
            raise NotADuration(text, reason, advice or _advice(text)) from None


def _advice(value: object) -> str:
    """Return the advice for a value that is not the text of a duration; a number is repeated with a unit."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f'write a duration with a unit in quotes, such as "{value if is_number else 20}ms"'
