"""Compares the digests and trace hashes of the WebAssembly module with those of the native engine.

The runs are the scenarios of the gallery and the benchmarks, shortened, and `every_kind.toml` under each back-pressure
mechanism and each queue discipline, without and with ECN. Every fourth run is also traced. The exit code is 1 if a
digest or the hash of a packet trace differs, if a run moved no packet, or if a run with transports delivered nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tailback import _native

ROOT = Path(__file__).resolve().parent.parent
SEED = 7
# Every fourth run is traced.
TRACED = 4
# Simulated durations by the name of the file: long enough for bursts to coincide, and so short that all runs take a few
# seconds in WebAssembly.
SHORT = {
    "forward": "20ms",
    "udpqueue": "50s",
    "lan-a1": "10s",
    "tcp100000": "200ms",
    "net64": "10ms",
    "dc10g": "5ms",
    "leafspine128": "50us",
    "fattree1024": "20us",
}
# Simulated duration of other scenarios of the gallery.
SHORT_GALLERY = "2s"
# Simulated duration of the gallery's group `datacentre`, whose links of 10 Gbit/s or more have many events in a short
# time.
SHORT_DATACENTRE = "10ms"
# Settings of `backpressure` for each mechanism.
MECHANISMS: dict[str, dict[str, str]] = {
    "plain": {},
    "class": {"scope": "class", "end-stations": "true"},
    "destination": {"scope": "destination", "notify": "feeding"},
    "class-destination": {"scope": "class-destination", "addresses": "filtering-database"},
    "rate": {"response": '{ kind = "rate" }'},
    "fill-rate": {"detection": '{ kind = "fill-rate" }'},
    "mac": {"signal": '{ kind = "mac", quanta = 1000 }'},
}
# Parameters of disciplines that would do nothing or drop all packets with their defaults.
CLASSFUL: dict[str, dict[str, str]] = {
    "class-based": {
        "classes": '[{ match = { class = 0 }, priority = { rate = "20%", burst = "3kB" } },'
        ' { match = { class = 1 }, bandwidth = "30%" }]'
    },
    "hfsc": {
        "default": '"rest"',
        "classes": '[{ name = "all", ls = { m2 = "9Mbit/s" }, ul = { m2 = "9Mbit/s" } },'
        ' { name = "first", parent = "all", match = { class = 0 }, ls = { m2 = "1Mbit/s" },'
        ' rt = { m1 = "4Mbit/s", d = "5ms", m2 = "1Mbit/s" } },'
        ' { name = "rest", parent = "all", ls = { m2 = "7Mbit/s" } }]',
    },
    "htb": {
        "default": '"rest"',
        "classes": '[{ name = "all", rate = "9Mbit/s" },'
        ' { name = "first", parent = "all", match = { class = 0 }, rate = "1Mbit/s", ceil = "9Mbit/s" },'
        ' { name = "rest", parent = "all", rate = "7Mbit/s", ceil = "8Mbit/s", prio = 1 }]',
    },
    "netem": {"delay": '"2ms"', "jitter": '"1ms"', "loss": "0.01"},
    "shaper": {"rate": '"8Mbit/s"'},
    "wrr": {"classes": "[{ match = { class = 0 }, weight = 3 }]"},
}


def read(path: Path) -> _native.Scenario:
    """Read one scenario."""
    return _native.Scenario.from_toml(path.read_text(encoding="utf-8"), str(path))


def scenarios() -> list[tuple[str, _native.Scenario]]:
    """Return the shortened scenarios of the repository, and `every_kind.toml` under each mechanism and discipline."""
    package = ROOT / "python" / "tailback"
    benchmarks = sorted((package / "bench").glob("*.toml"))
    gallery = sorted((package / "gallery").rglob("*.toml"))
    if not benchmarks or not gallery:
        sys.exit(f"there are no scenarios in {package}: nothing was compared")
    found = []
    for path in [*benchmarks, *gallery]:
        name = str(path.relative_to(package))
        gallery_length = SHORT_DATACENTRE if "datacentre" in path.parts else SHORT_GALLERY
        settings = [("run.duration", SHORT.get(path.stem, gallery_length)), ("run.warmup", "0s")]
        try:
            found.append((name, read(path).with_set(settings)))
        except _native.ScenarioError:
            print(f"{name}: left out, since something in it begins after its shortened end")
    every_kind = read(ROOT / "tools" / "every_kind.toml")
    for name, mechanism in MECHANISMS.items():
        changes = [(f"backpressure.{key}", value) for key, value in mechanism.items()]
        found.append((f"every kind, {name}", every_kind.with_set(changes)))
    for name in json.loads(_native.names())["disciplines"]:
        if name.startswith("user"):
            continue  # It needs a file, which the WebAssembly module cannot load.
        # Without back-pressure, since not every discipline can stop only the traffic that a notification names.
        changes = [("backpressure.scope", "none"), ("network.discipline.kind", name)]
        changes += [(f"network.discipline.{key}", value) for key, value in CLASSFUL.get(name, {}).items()]
        found.append((f"every kind, {name}", every_kind.with_set(changes)))
        try:
            marking = every_kind.with_set([*changes, ("network.discipline.ecn", "true")])
        except _native.ScenarioError:
            continue  # The discipline has no key `ecn`: it always marks, or never marks.
        found.append((f"every kind, {name}, ECN", marking))
    return found


def trace_hash(scenario: _native.Scenario) -> str:
    """Return the number of rows and the hash of the packet trace of a run, as `ROWS:HASH`."""
    _, rows, found = _native.trace(scenario, SEED, lambda *_: None, ([], [], [], [], None, None))
    return f"{rows}:{found}"


def main() -> None:
    """Run each scenario natively and in WebAssembly, and compare digests and trace hashes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", type=Path, help="the WebAssembly module")
    module = parser.parse_args().module

    runs = scenarios()
    reports = [json.loads(scenario.run(SEED)) for _, scenario in runs]
    hashes = [trace_hash(scenario) if number % TRACED == 0 else "-" for number, (_, scenario) in enumerate(runs)]
    request = [
        {"name": name, "toml": scenario.to_toml(), "seed": SEED, "traced": number % TRACED == 0}
        for number, (name, scenario) in enumerate(runs)
    ]
    command = ["node", str(ROOT / "tools" / "wasm_digest.mjs"), str(module)]
    answer = subprocess.run(command, input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True)

    failed = 0
    found = [line.split() for line in answer.stdout.splitlines()]
    for (name, _), report, trace, (wasm, wasm_trace) in zip(runs, reports, hashes, found, strict=True):
        verdict = "ok" if report["digest"] == wasm else f"FAILED: WebAssembly has {wasm}"
        failed += report["digest"] != wasm
        if trace != wasm_trace:
            failed += 1
            verdict = f"FAILED: the trace {trace} is {wasm_trace} in WebAssembly"
        elif trace != "-":
            verdict += f", trace of {trace.replace(':', ' rows, ', 1)}"
        if report["packet_hops"] == 0:
            failed += 1
            verdict = "FAILED: no packet moved, so nothing was compared"
        transports = [flow["transport"] for flow in report["flows"] if flow["transport"]]
        if transports and not any(transport["goodput_bytes"] for transport in transports):
            failed += 1
            verdict = "FAILED: no transport delivered anything, so none was compared"
        print(f"{name}: {report['digest']}, {report['packet_hops']} packet-hops: {verdict}")
    print(f"{len(runs) - failed} passed, {failed} failed; {len(hashes) - hashes.count('-')} traces were compared")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
