"""Records of laws in machine code, as types of numpy."""

from __future__ import annotations

import numpy as np

__all__ = ["ANSWER", "CALL"]

CALL = np.dtype(
    [
        *((name, "u8") for name in ("now_ps", "sojourn_ps", "queue_packets", "queue_bytes")),
        *((name, "u8") for name in ("limit_packets", "limit_bytes", "rate_bps")),
        *((name, "u4") for name in ("event", "size", "payload", "flow", "sequence")),
        *((name, "u1") for name in ("traffic_class", "ecn", "dscp", "colour", "full")),
        ("reserved", "u1", (7,)),
    ]
)
"""Layout of `tailback_queue_call` of the header."""
ANSWER = np.dtype([("wake_ps", "u8"), ("verdict", "u4"), ("reserved", "u4")])
"""Layout of `tailback_queue_answer` of the header."""
