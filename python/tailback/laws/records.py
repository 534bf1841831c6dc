"""Records of components in machine code, as types of numpy; the header `tailback_law.h` describes their fields."""

from __future__ import annotations

import numpy as np

__all__ = [
    "CONGESTION_ANSWER",
    "CONGESTION_CALL",
    "QUEUE_ANSWER",
    "QUEUE_CALL",
    "QUEUE_STATE",
    "SCHEDULER_ANSWER",
    "SCHEDULER_CALL",
    "SOURCE_ANSWER",
    "SOURCE_CALL",
]

QUEUE_CALL = np.dtype(
    [
        *((name, "u8") for name in ("now_ps", "sojourn_ps", "queue_packets", "queue_bytes")),
        *((name, "u8") for name in ("limit_packets", "limit_bytes", "rate_bps")),
        *((name, "u4") for name in ("event", "size", "payload", "flow", "sequence")),
        *((name, "u1") for name in ("traffic_class", "ecn", "dscp", "colour", "full")),
        ("reserved", "u1", (7,)),
    ]
)
"""Layout of `tailback_queue_call`."""
QUEUE_ANSWER = np.dtype([("wake_ps", "u8"), ("verdict", "u4"), ("reserved", "u4")])
"""Layout of `tailback_queue_answer`."""

QUEUE_STATE = np.dtype([("packets", "u8"), ("bytes", "u8"), ("ready", "u4"), ("reserved", "u4")])
"""Layout of `tailback_queue_state`."""
SCHEDULER_CALL = np.dtype(
    [
        *((name, "u8") for name in ("now_ps", "rate_bps")),
        *((name, "u4") for name in ("event", "queue", "size", "wire", "flow", "queues")),
        ("states", QUEUE_STATE, (250,)),
    ]
)
"""Layout of `tailback_scheduler_call` with the states of the queues behind it, of which the first `queues` exist."""
SCHEDULER_ANSWER = np.dtype([("wake_ps", "u8"), ("queue", "u4"), ("reserved", "u4")])
"""Layout of `tailback_scheduler_answer`."""

CONGESTION_CALL = np.dtype(
    [
        *((name, "u8") for name in ("now_ps", "rtt_ps", "srtt_ps", "min_rtt_ps")),
        *((name, "f8") for name in ("cwnd", "ssthresh", "delivery_rate")),
        *((name, "u4") for name in ("event", "delivered", "advanced", "in_flight_before", "in_flight", "lost")),
        ("payload", "u4"),
        *((name, "u1") for name in ("window_limited", "ece", "recovering", "round", "app_limited", "idle")),
        ("reserved", "u1", (6,)),
    ]
)
"""Layout of `tailback_congestion_call`."""
CONGESTION_ANSWER = np.dtype([("cwnd", "f8"), ("ssthresh", "f8"), ("rate", "f8"), ("wake_ps", "u8")])
"""Layout of `tailback_congestion_answer`."""

SOURCE_CALL = np.dtype([("now_ps", "u8"), ("bursts", "u8"), ("event", "u4"), ("reserved", "u4")])
"""Layout of `tailback_source_call`."""
SOURCE_ANSWER = np.dtype([("at_ps", "u8"), ("bytes", "u8")])
"""Layout of `tailback_source_answer`."""
