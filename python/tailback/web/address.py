"""Addresses of the lab, which hold a scenario."""

from __future__ import annotations

import base64
import json
import zlib

from tailback.errors import UsageError
from tailback.scenario import Scenario

__all__ = ["address", "opening"]


def address(text: str, seed: int) -> str:
    """Return the fragment of the lab's address, `#` included, that opens a scenario (TOML) with a seed."""
    variant = {"text": text, "sets": [], "tunable": [], "timeline": []}
    plain = json.dumps({"variants": [variant], "seed": str(seed), "at": 0}).encode()
    packing = zlib.compressobj(9, wbits=-15)  # raw deflate (RFC 1951), as the page has it
    packed = packing.compress(plain) + packing.flush()
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def opening(scenario: Scenario, written: str | None = None, seed: int | None = None) -> str:
    """Return the fragment that opens a scenario, as it was written if that text is given; default: its own seed.

    Raises:
        UsageError: The scenario has what the lab cannot run: user-defined components, or files.

    """
    if scenario.native.has_user_code:
        raise UsageError("the lab does not run user-defined components; use `tailback run`")
    if scenario.files:
        raise UsageError("the lab does not read files, which this scenario names; use `tailback run`")
    text = scenario.to_toml() if written is None else written
    return address(text, int(str(scenario.run_config["seed"])) if seed is None else seed)
