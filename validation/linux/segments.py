"""Comparison with the kernel's TCP segment by segment: the same acknowledgements, and what a sender transmits.

    python validation/linux/segments.py [--cases REGEX] [--kernel PROGRAM] [--out FOLDER] [--record] [--recorded]
                                        [--whole] [--page PAGE]

All segments of a sending host of a run in the guest are recorded. A sender of Tailback gets the acknowledgements that
arrived, at the same times, and must transmit the same segments at the same times; a receiver gets the segments that
arrived, and must acknowledge as the kernel's. With `--record` the segments are written to segments.json.xz, with which
`--recorded` compares without a kernel. `--whole` compares all flows of the host for the whole run.

Exits with 1 if other flows differ than those that have a known reason, or the guest fails; with 0, after a line that
begins with SKIPPED, if the kernel or a tool is missing.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compare import rewrite
from records import compiled, earlier, read
from segments_cases import CASES, Case
from segments_runs import SYN_NUMBER, Event, Packed, followed, on_kernel, pack, unpack

from tailback.witness.kernel import GuestError, Kernel

RECORDED = Path(__file__).resolve().with_name("segments.json.xz")
"""Segments by case, with the hash of the kernel and the commands that made them."""
BEGIN, END = "<!-- validation/linux/segments.py writes from here -->", "<!-- to here -->"
AROUND = 12
"""Number of events before a difference that are printed."""


@dataclass(frozen=True)
class Row:
    """Comparison of a flow."""

    flow: int
    """Number of the flow in the order of the SYNs."""
    events: Sequence[Event]
    found: dict[str, Any]
    """Result of `segments_runs.followed`."""

    @property
    def transmissions(self) -> int:
        """Number of recorded transmissions, of a receiver acknowledgements."""
        return sum(one.sent for one in self.events)

    @property
    def equal(self) -> bool:
        """`True` if all transmissions are equal."""
        return self.found["first"] is None


def recorded_part(case: Case, events: Sequence[Event]) -> list[Event]:
    """Return the events up to the last transmission that is recorded."""
    sent = [i for i, one in enumerate(events) if one.sent]
    return list(events[: sent[: case.transmissions][-1] + 1]) if sent else []


def packed(case: Case, flows: Sequence[Sequence[Event]]) -> list[Packed]:
    """Return what is recorded of the flows of a host."""
    return [pack(recorded_part(case, events), case.receiver, case.windows) for events in flows[: case.flows]]


def compared(case: Case, flows: Sequence[Sequence[Event]], transport: dict[str, Any] | None = None) -> list[Row]:
    """Compare the flows of a host; `transport` replaces the parameters of the case's TCP."""
    text = json.dumps(case.transport() if transport is None else transport)
    return [Row(i, one, followed(text, one, case.receiver)) for i, one in enumerate(flows)]


def recorded_flows(case: Case, record: dict[str, Any]) -> list[list[Event]]:
    """Return the recorded flows of a case."""
    return [unpack(one, case.receiver, case.windows) for one in record["cases"][case.name]]


def read_record() -> dict[str, Any]:
    """Return the recorded results: `kernel`, and by the names of the cases `commands` and `cases`."""
    return read(RECORDED)


def write_record(record: dict[str, Any]) -> None:
    """Write the recorded results."""
    with lzma.open(RECORDED, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as file:
        json.dump(record, file, separators=(",", ":"))


def _time(time_ps: int) -> str:
    return f"{time_ps / 1e9:.3f} ms"


def _sent(what: Any) -> str:
    """Return a transmission as text: a segment number or an acknowledgement."""
    if not isinstance(what, dict):
        return "SYN" if what == SYN_NUMBER else f"segment {what}"
    blocks = ", ".join(f"{start}-{end - 1}" for start, end in what["sack"])
    window = f", window {what['window']}" if what["window"] is not None else ""
    return f"acknowledgement {what['next']}{f' with {blocks}' if blocks else ''}{' ECE' if what['ece'] else ''}{window}"


def described(row: Row) -> tuple[str, str]:
    """Return what Linux transmits at the first difference, and what the model does."""
    first = row.found["first"]
    if first["theirs"] is None:
        theirs = f"nothing until {_time(first['at_ps'])}"
    else:
        theirs = f"{_sent(first['theirs'])} at {_time(first['at_ps'])}"
    timer = f", timer at {_time(first['timer_ps'])}" if first["timer_ps"] is not None else ""
    ours = f"nothing{timer}" if first["ours"] is None else f"{_sent(first['ours'][1])} at {_time(first['ours'][0])}"
    if (sender := first["sender"]) is not None:
        threshold = "none" if sender["ssthresh"] is None else f"{sender['ssthresh']:.4g}"
        windows = f"window {sender['cwnd']:.4g}, threshold {threshold}, flight {sender['in_flight']}"
        ours += f" ({sender['state']}, {windows})"
    return theirs, ours


def history(row: Row) -> str:
    """Return the recorded events before and at the first difference."""
    at = next(i for i, one in enumerate(row.events) if one.time_ns * 1000 >= row.found["first"]["at_ps"])
    lines = []
    for one in row.events[max(0, at - AROUND) : at + 1]:
        blocks = " ".join(map(str, one.blocks))
        lines.append(f"    {one.time_ns / 1e6:.4f} ms {'>' if one.sent else '<'} {one.number} {one.flags} {blocks}")
    return "\n".join(lines)


def line(case: Case, rows: Sequence[Row]) -> list[str]:
    """Return the cells of the table of cases."""
    equal, sent = sum(row.found["equal"] for row in rows), sum(row.transmissions for row in rows)
    late = max((row.found["late_ps"] for row in rows), default=0) / 1e6
    return [case.name, str(len(rows)), str(sum(row.equal for row in rows)), str(sent), str(equal), f"{late:.1f}"]


def markdown(results: Sequence[tuple[Case, Sequence[Row]]]) -> str:
    """Return the tables of the page."""
    lines = [
        "| case | flows | equal flows | transmissions | equal before the first difference | largest shift, µs |",
        "|---|---:|---:|---:|---:|---:|",
        *(f"| {' | '.join(line(case, rows))} |" for case, rows in results),
        "",
        "| case | flow | equal | Linux | here | reason |",
        "|---|---:|---:|---|---|---|",
    ]
    for case, rows in results:
        for row in rows:
            if not row.equal:
                known = case.known.get(row.flow, "")
                cells = [case.name, str(row.flow), str(row.found["equal"]), *described(row), known]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the cases, write the results, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="", help="only cases whose name matches this regular expression")
    parser.add_argument("--out", type=Path, default=Path("out/validation"), help="folder; default out/validation")
    parser.add_argument("--kernel", type=Path, help="program built by build_kernel.sh; default: OUT/kernel/linux")
    parser.add_argument("--recorded", action="store_true", help="compare with the recorded segments, without a kernel")
    parser.add_argument("--record", action="store_true", help="write the segments of the kernel to the recorded ones")
    parser.add_argument("--whole", action="store_true", help="compare all flows of the host, for the whole run")
    parser.add_argument("--page", type=Path, help="page whose marked region the tables replace")
    options = parser.parse_args()
    if options.recorded and (options.record or options.whole):
        parser.error("--recorded has only the recorded part, and records nothing")
    build = options.out / "segments"
    chosen = [case for case in CASES if re.search(options.cases, case.name)]
    results: list[tuple[Case, Sequence[Row]]] = []
    failed = False
    record: dict[str, Any] = {"commands": {}, "cases": {}}
    kernel: Kernel | str = ""
    if options.recorded:
        record = read_record()
        chosen = [case for case in chosen if case.name in record["cases"]]
    else:
        kernel = Kernel.found(options.kernel or options.out / "kernel" / "linux", build)
        if isinstance(kernel, str):
            print(f"SKIPPED: {kernel}")
            return 0
        program = compiled("segments", build)
        record = earlier(RECORDED, kernel) or record
        record["kernel"] = kernel.identity()
    for case in chosen:
        if isinstance(kernel, Kernel):
            log = build / f"{re.sub('[^a-z0-9]+', '-', case.name)}.log"
            try:
                flows = on_kernel(case, kernel, program, log)
            except GuestError as error:
                print(f"{case.name}: {error}", file=sys.stderr)
                failed = True
                continue
            record["cases"][case.name] = packed(case, flows)
            record["commands"][case.name] = " ".join(sys.argv)
            if options.record:
                write_record(record)
            rows = compared(case, flows if options.whole else recorded_flows(case, record))
        else:
            rows = compared(case, recorded_flows(case, record))
        results.append((case, rows))
        name, count, equal, sent, same, late = line(case, rows)
        print(
            f"{name}: {equal} of {count} flows are equal, {same} of {sent} transmissions before the first difference; "
            f"largest shift {late} us",
            flush=True,
        )
        differing = {row.flow for row in rows if not row.equal}
        # A whole run has flows that are not recorded, and so may differ without a reason.
        failed |= not options.whole and differing != set(case.known)
        for row in rows:
            if not row.equal:
                theirs, ours = described(row)
                print(f"  flow {row.flow} after {row.found['equal']}: Linux {theirs}; here {ours}")
                if row.flow not in case.known:
                    print(history(row))
    if options.page:
        rewrite(options.page, (BEGIN, END), markdown(results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
