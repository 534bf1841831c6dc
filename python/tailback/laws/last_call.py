"""Record of the last call of a law: memory that a worker process shares with the process that has started it.

The extension writes it before and after each call (`_native.record_calls`), so that a call can be named that has
crashed or hangs. The file behind it has a record for each thread with laws. A record has 64 words of 64 bits in the
byte order of the machine (`crates/compiled/src/last_call.rs`):

| words | |
|---|---|
| 0 | number of calls begun and ended: odd during a call |
| 1 | simulated time of the call, picoseconds; 2^64 - 1 for one outside a run, such as `__init__` |
| 2, 3 | name of the call, such as `arrive` |
| 4 to 63 | name of the law and its place, such as `` `Mine` of mine.py at s->b `` |

Names are UTF-8, end at the first zero byte, and are truncated if they are longer.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LastCall", "Record", "unnamed_file"]

BYTES = 512
"""Size of a record."""
RECORDS = 64
"""Number of records of the file."""
_NO_TIME = 2**64 - 1
"""Time of a call outside a run."""


@dataclass(frozen=True, slots=True)
class LastCall:
    """The last call of a law in another process."""

    calls: int
    """Number of calls begun and ended: odd during a call."""
    now_ps: int | None
    """Simulated time of the call; `None`: it is outside a run."""
    call: str
    """Name of the call."""
    component: str
    """Name of the law and its place; empty: there was no call."""

    @property
    def is_open(self) -> bool:
        """`True` during the call."""
        return self.calls % 2 == 1

    def __str__(self) -> str:
        where = "in" if self.is_open else "after"
        at = ""
        if self.now_ps is not None:
            # All digits, as in the message of a fault.
            whole, rest = divmod(self.now_ps, 10**12)
            at = f" at {f'{whole}.{rest:012}'.rstrip('0').rstrip('.')} s"
        return f"{self.component}, {where} `{self.call}`{at}"


def unnamed_file() -> int:
    """Return the descriptor of a new temporary file without a name, which the system removes when it is closed."""
    descriptor, path = tempfile.mkstemp(prefix="tailback-")
    Path(path).unlink()
    return descriptor


class Record:
    """A new record, in a file without a name."""

    def __init__(self) -> None:
        self.descriptor = unnamed_file()
        """Descriptor of the file, to be inherited."""
        os.ftruncate(self.descriptor, BYTES * RECORDS)
        self._memory = mmap.mmap(self.descriptor, BYTES * RECORDS)

    @property
    def calls(self) -> tuple[int, ...]:
        """Number of calls begun and ended by each thread: odd during a call."""
        return tuple(struct.unpack_from("=Q", self._memory, number * BYTES)[0] for number in range(RECORDS))

    def read(self, number: int = 0) -> LastCall:
        """Return the last call of the thread with a record of this number."""
        calls, now_ps, call, component = struct.unpack_from(f"=QQ16s{BYTES - 32}s", self._memory, number * BYTES)
        return LastCall(calls, None if now_ps == _NO_TIME else now_ps, _text(call), _text(component))

    def last(self, before: tuple[int, ...]) -> LastCall | None:
        """Return the last call since `before`, a value of `calls`: one that is open, if there is one.

        `None`: no call has begun since then.
        """
        since = [number for number, calls in enumerate(self.calls) if calls != before[number]]
        found = [self.read(number) for number in since]
        return max(found, key=lambda last: (last.is_open, last.now_ps or 0), default=None)

    def close(self) -> None:
        """Free the memory and the file."""
        self._memory.close()
        os.close(self.descriptor)


def _text(padded: bytes) -> str:
    return padded.partition(b"\0")[0].decode(errors="replace")
