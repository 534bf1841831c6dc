"""Disciplines of a scenario as commands of Linux's tc.

Each parameter of a discipline is either given to tc or must have the value that is built into the kernel; otherwise the
discipline is refused, so that the kernel never runs another discipline than the one that the result names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tailback import _native

__all__ = ["Options", "Refused", "command"]

Table = Mapping[str, Any]

UNLIMITED_PACKETS = 1_000_000
"""Limit in packets that stands for an unlimited queue."""


class Refused(ValueError):
    """Raised for a part of a scenario that the kernel does not have."""


def command(discipline: Table, buffer: str, rate_bps: int) -> tuple[str, list[str]]:
    """Return a discipline in the syntax of tc, such as `codel limit 100 …`, and what the kernel does otherwise.

    `discipline` is the table of a scenario with its defaults, `buffer` the limit of the queue, and `rate_bps` the rate
    of the link, bit/s. Raises Refused.
    """
    kind = str(discipline["kind"])
    made = _KINDS.get(kind)
    if made is None:
        raise Refused(f"Linux 6.1 has no discipline such as `{kind}`")
    options = Options(kind, {key: value for key, value in discipline.items() if key != "kind"})
    text = made(options, buffer, rate_bps)
    options.finish()
    return text, options.notes


TICK_PS = 10_000_000_000
"""Tick of the guest's timers, picoseconds (`HZ` of 100, which User-Mode Linux fixes)."""


class Options:
    """Parameters of a discipline; notes which have been read."""

    def __init__(self, kind: str, table: Table) -> None:
        self._kind = kind
        self._table = dict(table)
        self.notes: list[str] = []
        """What the kernel does otherwise than the table says."""

    def take(self, key: str) -> Any:
        """Return a parameter; `None` if it is not given."""
        return self._table.pop(key, None)

    def fixed(self, why: str, **values: Any) -> None:
        """Refuse parameters that have other values than those of the kernel; `why` names the kernel's function."""
        for name, value in values.items():
            key = name.replace("_", "-")
            found = self.take(key)
            if found is not None and found != value:
                given = f"`{key} = {found!r}`" if not isinstance(found, bool) else f"`{key} = {str(found).lower()}`"
                raise Refused(f"{self._kind}: {given} is not in Linux 6.1 ({why}: {value!r})")

    def other(self, key: str, linux: object, what: str) -> None:
        """Read a parameter, and note what the kernel does if it has not the value of Linux."""
        if self.take(key) != linux:
            self.notes.append(f"{self._kind}: Linux 6.1 {what}, whatever `{key}` says")

    def form(self, what: str) -> bool:
        """Read the form; if it is not "linux", note what the kernel does otherwise. Returns `True` if it is "linux"."""
        linux = bool(self.take("form") == "linux")
        if not linux:
            self.notes.append(f"{self._kind}: Linux 6.1 {what}, as with `form = linux`")
        return linux

    def codel(self) -> None:
        """Read the parameters of CoDel that select Linux's computations."""
        linux = self.take("form") == "linux"
        root = self.take("root")
        if not linux:
            self.notes.append(
                f"{self._kind}: Linux 6.1 has a clock of 1.024 us and other rules, as with `form = linux`"
            )
            if root != "newton":
                self.notes.append(f"{self._kind}: Linux 6.1 computes the root by Newton's method, whatever `root` says")

    def finish(self) -> None:
        """Refuse parameters that have not been read."""
        left = [key for key, value in self._table.items() if value is not None]
        if left:
            raise Refused(f"{self._kind}: Linux 6.1 has no parameter such as `{left[0]}`")


def _packets(kind: str, buffer: str) -> int:
    """Return a limit in packets."""
    if buffer == "unlimited":
        return UNLIMITED_PACKETS
    if not buffer.endswith("packets"):
        raise Refused(
            f"{kind}: Linux 6.1 limits this discipline in packets; write the buffer, now {buffer}, in packets"
        )
    return int(buffer.removesuffix("packets"))


def _microseconds(text: str) -> str:
    """Return a duration for tc."""
    return f"{_native.parse_duration(text) / 1_000_000:.0f}us"


def _flag(value: Any, name: str, otherwise: str = "") -> str:
    """Return an option that is on or off, with a space before it."""
    word = name if value else otherwise
    return f" {word}" if word else ""


def _drop_tail(_options: Options, buffer: str, _rate_bps: int) -> str:
    if buffer == "unlimited" or buffer.endswith("packets"):
        return f"pfifo limit {_packets('drop-tail', buffer)}"
    return f"bfifo limit {_native.parse_bytes(buffer)}"


def _codel(options: Options, buffer: str, _rate_bps: int) -> str:
    options.fixed("codel_change: the device's MTU", mtu="1514B")
    options.codel()
    threshold = options.take("ce-threshold")
    return (
        f"codel limit {_packets('codel', buffer)} target {_microseconds(options.take('target'))} "
        f"interval {_microseconds(options.take('interval'))}{_flag(options.take('ecn'), 'ecn', 'noecn')}"
        + ("" if threshold is None else f" ce_threshold {_microseconds(threshold)}")
    )


def _fq_codel(options: Options, buffer: str, _rate_bps: int) -> str:
    options.fixed("fq_codel_init: the device's MTU", mtu="1514B")
    options.codel()
    buckets = options.take("buckets")
    if not isinstance(buckets, int):
        raise Refused("fq-codel: Linux 6.1 assigns flows to queues by a hash; write a number of `buckets`")
    threshold = options.take("ce-threshold")
    return (
        f"fq_codel limit {min(_packets('fq-codel', buffer), 10 * 2**20)} flows {buckets} "
        f"quantum {_native.parse_bytes(options.take('quantum'))} target {_microseconds(options.take('target'))} "
        f"interval {_microseconds(options.take('interval'))} drop_batch {options.take('batch')} memory_limit 1gb"
        f"{_flag(options.take('ecn'), 'ecn', 'noecn')}"
        + ("" if threshold is None else f" ce_threshold {_microseconds(threshold)}")
    )


def _pie_law(options: Options) -> str:
    """Return the parameters of PIE's control law."""
    options.fixed("pie_calculate_probability: 150 ms", burst="150ms")
    options.fixed("pie_drop_early: accu_prob", derandomise=True)
    options.fixed("pie_calculate_probability", long_delay_step=True)
    options.fixed("pie_drop_early: the device's MTU", mtu="1514B")
    alpha, beta = (16 * options.take(key) for key in ("alpha", "beta"))
    if alpha != round(alpha) or beta != round(beta):
        raise Refused("pie: tc takes `alpha` and `beta` in sixteenths")
    estimator = options.take("estimator")
    update = options.take("update")
    # pie_change rounds up to jiffies, and the timer wheel adds one (calc_index in kernel/time/timer.c).
    jiffies = max(1, math.ceil(_native.parse_duration(update) / TICK_PS) - 1)
    real_ps = (jiffies + 1) * TICK_PS
    if real_ps != _native.parse_duration(update):
        real = f"every {real_ps // 10**9} ms in the guest, not every {update}"
        options.notes.append(f"pie: Linux 6.1 updates the probability {real}")
    return (
        f"target {_microseconds(options.take('target'))} tupdate {jiffies * TICK_PS // 10**6}us "
        f"alpha {alpha:.0f} beta {beta:.0f}{_flag(options.take('ecn'), 'ecn', 'noecn')}"
        f"{_flag(options.take('byte-mode'), 'bytemode', 'nobytemode')}"
        f"{_flag(estimator == 'departure-rate', 'dq_rate_estimator', 'no_dq_rate_estimator')}"
    )


def _pie(options: Options, buffer: str, _rate_bps: int) -> str:
    options.fixed("pie_drop_early: a tenth", mark_limit=0.1)
    options.form("measures the burst allowance by departures")
    return f"pie limit {_packets('pie', buffer)} {_pie_law(options)}"


def _fq_pie(options: Options, buffer: str, _rate_bps: int) -> str:
    buckets = options.take("buckets")
    if not isinstance(buckets, int):
        raise Refused("fq-pie: Linux 6.1 assigns flows to queues by a hash; write a number of `buckets`")
    options.form("removes a new queue that runs empty from its lists if there are no old queues")
    law = Options("fq-pie", options.take("pie"))
    law.take("form")  # It is that of the discipline.
    limit = law.take("mark-limit")
    percent = 100 * limit
    if abs(percent - round(percent)) > 1e-9:
        raise Refused("fq-pie: tc takes `mark-limit` in per cent")
    text = (
        f"fq_pie limit {_packets('fq-pie', buffer)} flows {buckets} "
        f"quantum {_native.parse_bytes(options.take('quantum'))} memory_limit 1gb ecn_prob {percent:.0f} "
        f"{_pie_law(law)}"
    )
    law.finish()
    options.notes += law.notes
    return text


def burst(weight: float, minimum: float) -> int:
    """Return the burst in packets from which tc derives a weight of RED's average, which must be a power of two.

    `minimum` is RED's lower threshold in mean packets. The rule is tc_red_eval_ewma of iproute2: the largest weight
    2^-n, n from 1 to 31, with burst + 1 - minimum ≤ (1 - (1 - W)^burst) / W. Raises Refused.
    """
    wanted = round(-math.log2(weight))
    if not 1 <= wanted <= 31 or abs(2.0**-wanted - weight) > 1e-3 * weight:
        near = 2.0 ** -min(max(wanted, 1), 31)
        raise Refused(
            f"red: Linux 6.1 has weights that are powers of two; the nearest to `weight = {weight:g}` is {near}"
        )

    def found(packets: int) -> int:
        a = packets + 1 - minimum
        for n in range(1, 32):
            w = 2.0**-n
            if a <= (1 - (1 - w) ** packets) / w:
                return n
        return 32

    low, high = 1, 1
    while found(high) < wanted:
        low, high = high, high * 2
        if high > 2**30:
            break
    while low < high:
        middle = (low + high) // 2
        if found(middle) < wanted:
            low = middle + 1
        else:
            high = middle
    if found(low) != wanted:
        raise Refused(f"red: tc derives no weight of 2^-{wanted} with a lower threshold of {minimum:g} packets")
    return low


def _red_law(options: Options, count: str = "bytes") -> tuple[int, int, int, str]:
    """Return the thresholds and the mean packet, bytes, and the parameters after them; `count` is the kernel's unit."""
    mean = _native.parse_bytes(options.take("mean-packet"))
    options.other("count", count, f"averages the queue in {count}")
    options.fixed("red_mark_probability: sizes are not looked at", byte_mode=False)
    options.fixed("red_action: every packet is marked above the upper threshold", gentle=False)
    options.fixed("red_mark_probability: gaps are uniform from 1", wait=False)
    options.fixed("red_enqueue", victim="tail", independent=False)
    options.other("idle", "none", "does not age the average below HTB, which hides from RED that the queue is empty")

    def size(key: str) -> int:
        text = options.take(key)
        if text is None:
            raise Refused(f"red: tc needs `{key}`")
        number, packets, _ = str(text).partition("packets")
        return round(float(number) * mean) if packets else int(_native.parse_bytes(text))

    low, high = size("min"), size("max")
    weight = options.take("weight")
    if weight is None:
        raise Refused("red: tc needs `weight`, a power of two")
    packets = burst(weight, low / mean)
    adaptive = options.take("adaptive")
    if adaptive is not None and adaptive["kind"] != "floyd":
        raise Refused("red: Linux 6.1 adapts max_p as Floyd, Gummadi and Shenker (red_adaptative_algo), not as Feng")
    ecn, above = options.take("ecn"), options.take("above-max")
    limit = options.take("mark-limit")
    if limit is not None:
        raise Refused("red: Linux 6.1 has no `mark-limit`")
    if adaptive is not None:
        options.notes.append(
            "red: the guest starts the timer of the adaptation itself, which tc of iproute2 5.7 or later "
            "does not start on Linux 6.1"
        )
    return (
        low,
        high,
        mean,
        f"burst {packets} probability {options.take('max-p'):.6f}{_flag(adaptive, 'adaptive')}{_flag(ecn, 'ecn')}"
        f"{_flag(ecn and above == 'drop', 'harddrop')}",
    )


def _red(options: Options, buffer: str, rate_bps: int) -> str:
    options.form("chooses by a number drawn at the last choice")
    low, high, mean, rest = _red_law(options)
    if buffer == "unlimited":
        limit = 2**31 - 1
    elif buffer.endswith("packets"):
        limit = int(buffer.removesuffix("packets")) * mean
        options.notes.append(f"red: Linux 6.1 limits this discipline in bytes; {buffer} are {limit}B")
    else:
        limit = int(_native.parse_bytes(buffer))
    return f"red limit {limit} min {low} max {high} avpkt {mean} bandwidth {rate_bps}bit {rest}"


def _choke(options: Options, buffer: str, rate_bps: int) -> str:
    options.fixed("choke_peek_random: one packet", candidates=1)
    options.form("compares before RED counts, and chooses by a number drawn at the last choice")
    law = Options("choke", options.take("red"))
    law.take("form")  # It is that of the discipline.
    # choke_enqueue passes the number of waiting packets to red_calc_qavg.
    low, high, mean, rest = _red_law(law, "packets")
    law.finish()
    options.notes += law.notes
    if low % mean or high % mean:
        raise Refused("choke: tc takes `min` and `max` in packets")
    # tc's own mean packet has 1000 B.
    size = "" if mean == 1000 else f"avpkt {mean} "
    return (
        f"choke limit {_packets('choke', buffer)} min {low // mean} max {high // mean} {size}bandwidth {rate_bps}bit "
        f"{rest}"
    )


def _sfq(options: Options, buffer: str, _rate_bps: int) -> str:
    options.fixed("sfq_drop: the longest queue", overflow="longest")
    linux = options.form("serves a queue while its bytes last, and drops from the queue with the most packets")
    head = {"tail": "", "head": " headdrop"}.get(victim := options.take("victim"))
    if head is None:
        raise Refused(f"sfq: Linux 6.1 drops from the tail or the head of the longest queue, not `{victim}`")
    buckets = options.take("buckets")
    if not isinstance(buckets, int) or buckets & (buckets - 1):
        raise Refused("sfq: Linux 6.1 needs a number of `buckets` that is a power of two")
    limit = _packets("sfq", buffer)
    if limit > 127:
        raise Refused(
            "sfq: a queue of Linux 6.1 has at most 127 packets (SFQ_MAX_DEPTH); write a buffer of at most that"
        )
    quantum = options.take("quantum")
    if quantum is None and not linux:
        options.notes.append("sfq: Linux 6.1 serves 1514 B per round instead of a packet")
    perturb = options.take("perturb")
    # With one flow more than packets a packet of a new flow always finds a queue, and another packet is dropped for it.
    return (
        f"sfq limit {limit} depth {limit} flows {limit + 1} divisor {buckets}{head}"
        + ("" if quantum is None else f" quantum {_native.parse_bytes(quantum)}")
        + ("" if perturb is None else f" perturb {_native.parse_duration(perturb) * 1e-12:.0f}")
    )


def _sfb(options: Options, buffer: str, _rate_bps: int) -> str:
    options.fixed("sch_sfb.c", form="linux")
    options.fixed("sfb_enqueue: ECN-capable packets are marked", ecn=True)
    options.fixed("SFB_NUMBUCKETS", bins=16, levels=8)
    options.fixed("sfb_enqueue", freeze="0s", bin_full="increase", lower_at="arrival")
    options.fixed("sfb_enqueue", penalty_box={"boxed": "counted", "burst": 20, "scope": "global", "threshold": 1.0})
    words = [f"limit {_packets('sfb', buffer)}"]
    # The defaults of form "linux" are those of sch_sfb.c (sfb_default_ops); those of tc (q_sfb.c) are others.
    for key, word, usual in (("max", "max", 25), ("bin-size", "target", 20)):
        words.append(f"{word} {options.take(key) or usual}")
    for key, step in (("increment", 66 / 65535), ("decrement", 11 / 65535)):
        words.append(f"{key} {options.take(key) or step:.9f}")
    return "sfb " + " ".join(words)


_KINDS: dict[str, Callable[[Options, str, int], str]] = {
    "drop-tail": _drop_tail,
    "red": _red,
    "choke": _choke,
    "sfb": _sfb,
    "sfq": _sfq,
    "codel": _codel,
    "fq-codel": _fq_codel,
    "pie": _pie,
    "fq-pie": _fq_pie,
}
