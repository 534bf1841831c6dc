"""Reader of pcapng files and of the frames in them, independent of the writer; it checks lengths and checksums.

It is written from draft-ietf-opsawg-pcapng, RFC 791, RFC 768, RFC 9293, RFC 2018 and RFC 7323.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

# Types of blocks: section header, interface description, name resolution, interface statistics, enhanced packet.
SHB, IDB, NRB, ISB, EPB = 0x0A0D0D0A, 1, 4, 5, 6
DROPPED = bytes([1]) + struct.pack("<Q", 2)
"""Value of `epb_verdict` of a dropped frame: TC_ACT_SHOT of Linux's traffic control."""
PASSED = bytes([1]) + struct.pack("<Q", 0)
"""Value of `epb_verdict` of a frame that was passed on, here one that was marked."""


@dataclass
class Frame:
    """An enhanced packet block."""

    interface: str
    time_ns: int
    data: bytes
    """Captured bytes of the frame."""
    length: int
    """Length of the whole frame, bytes."""
    options: dict[int, bytes]
    """Values of the options by code."""

    @property
    def is_outbound(self) -> bool:
        """`True` at the interface that sends the frame."""
        return struct.unpack("<I", self.options[2])[0] & 3 == 2

    @property
    def packet(self) -> int | None:
        """Value of `epb_packetid`; `None`: the block has no such option."""
        return struct.unpack("<Q", self.options[5])[0] if 5 in self.options else None

    @property
    def is_dropped(self) -> bool:
        """`True` if the verdict is to drop the frame."""
        return self.options.get(7) == DROPPED

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Fields of the whole frame; see `dissect`."""
        return dissect(self)

    @property
    def comment(self) -> str:
        """Comment; empty if there is none."""
        return self.options.get(1, b"").decode()


@dataclass
class File:
    """Content of a file."""

    interfaces: list[dict[int, bytes]] = field(default_factory=list)
    """Options of the interfaces by code."""
    snap: list[int] = field(default_factory=list)
    """Snap lengths of the interfaces, bytes; 0: frames are captured in full."""
    frames: list[Frame] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Names of nodes by IP address."""
    statistics: list[dict[int, bytes]] = field(default_factory=list)
    """Options of the statistics of each interface by code."""
    comments: list[str] = field(default_factory=list)


def _options(data: bytes) -> dict[int, bytes]:
    """Return the values of the options of a block by code."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            assert (length, at + 4) == (0, len(data))
            return found
        assert code not in found, "each option occurs once here"
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    assert not data, "options end with the code 0"
    return found


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and body of each block."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        yield kind, data[at + 8 : at + length - 4]
        at += length


def read(path: Path) -> File:
    """Read a file of one section; raises AssertionError for bytes that are not of the format."""
    found = File()
    for index, (kind, body) in enumerate(blocks(path.read_bytes())):
        assert (kind == SHB) == (index == 0)
        if kind == SHB:
            assert struct.unpack_from("<IHHq", body) == (0x1A2B3C4D, 1, 0, -1)
            found.comments.append(_options(body[16:]).get(1, b"").decode())
        elif kind == IDB:
            link, _, snap = struct.unpack_from("<HHI", body)
            assert link == 1
            found.interfaces.append(_options(body[8:]))
            found.snap.append(snap)
        elif kind == EPB:
            interface, high, low, captured, length = struct.unpack_from("<IIIII", body)
            padded = (captured + 3) // 4 * 4
            name = found.interfaces[interface][2].decode()
            options = _options(body[20 + padded :])
            found.frames.append(Frame(name, high << 32 | low, body[20 : 20 + captured], length, options))
        elif kind == NRB:
            at = 0
            while struct.unpack_from("<H", body, at)[0] != 0:
                code, length = struct.unpack_from("<HH", body, at)
                assert code == 1
                address, name = body[at + 4 : at + 8], body[at + 8 : at + 4 + length]
                found.names[".".join(map(str, address))] = name.rstrip(b"\0").decode()
                at += 4 + (length + 3) // 4 * 4
        else:
            assert kind == ISB
            found.statistics.append(_options(body[12:]))
    return found


def ones_complement_sum(data: bytes) -> int:
    """Return the ones' complement sum of the 16-bit words: 0xffff for data that include their checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def dissect(frame: Frame) -> dict[str, Any]:
    """Return the fields of a whole frame; raises AssertionError for a wrong length or checksum."""
    data = frame.data
    assert len(data) == frame.length >= 60
    found: dict[str, Any] = {"dst": data[:6], "src": data[6:12], "labels": []}
    at, kind = 14, int.from_bytes(data[12:14])
    if kind == 0x8100:
        found["priority"] = data[14] >> 5
        at, kind = 18, int.from_bytes(data[16:18])
    if kind == 0x8904:
        found["tag"] = int.from_bytes(data[at + 2 : at + 4])
        at, kind = at + 8, int.from_bytes(data[at + 6 : at + 8])
    if kind == 0x22E9:
        found["flow"] = int.from_bytes(data[at : at + 2])
        at, kind = at + 4, int.from_bytes(data[at + 2 : at + 4])
    if kind == 0x8847:
        while True:
            entry = int.from_bytes(data[at : at + 4])
            found["labels"].append((entry >> 12, entry >> 9 & 7, entry & 0xFF))
            at += 4
            if entry >> 8 & 1:
                break
        kind = 0x0800
    found["type"] = kind
    if kind != 0x0800:
        return found | {"body": data[at:]}
    ip = data[at : at + 20]
    total = int.from_bytes(ip[2:4])
    assert ip[0] == 0x45
    assert ones_complement_sum(ip) == 0xFFFF, "checksum of IP"
    assert len(data) == max(at + total, 60)
    found |= {"dscp": ip[1] >> 2, "ecn": ip[1] & 3, "from": ".".join(map(str, ip[12:16]))}
    found |= {"to": ".".join(map(str, ip[16:20])), "protocol": ip[9], "total": total}
    inner = data[at + 20 : at + total]
    pseudo = ip[12:20] + bytes([0, ip[9]]) + len(inner).to_bytes(2)
    assert ones_complement_sum(pseudo + inner) == 0xFFFF, "checksum of TCP or UDP"
    found["ports"] = struct.unpack_from(">HH", inner)
    if ip[9] == 17:
        assert int.from_bytes(inner[4:6]) == len(inner)
        return found | {"payload": inner[8:]}
    assert ip[9] == 6
    sequence, acknowledgement, offset, flags, window = struct.unpack_from(">IIBBH", inner, 4)
    header = offset >> 4 << 2
    found |= {"seq": sequence, "ack": acknowledgement, "flags": flags, "window": window, "len": len(inner) - header}
    return found | {"options": _tcp_options(inner[20:header])}


def _tcp_options(data: bytes) -> dict[int, bytes]:
    """Return the values of the TCP options by kind; padding is left out."""
    found = {}
    at = 0
    while at < len(data):
        if data[at] == 1:
            at += 1
            continue
        found[data[at]] = data[at + 2 : at + data[at + 1]]
        at += data[at + 1]
    assert at == len(data)
    return found
