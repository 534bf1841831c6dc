"""Compares the digests and trace hashes of the WebAssembly module with those of the native engine.

The runs are the scenarios of the gallery and the benchmarks, shortened, and `every_kind.toml` under each back-pressure
mechanism and each queue discipline, without and with ECN; and users' components in WebAssembly, which the program
around the module provides (`wasm_laws.py`): they are compared with the built-in ones, too. Every fourth run is also
traced. The exit code is 1 if a digest or the hash of a packet trace differs, if a run moved no packet, if a run with
transports delivered nothing, or if an error of a component has another text.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import wasm_laws
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
    with tempfile.TemporaryDirectory() as folder:
        compare(module, Path(folder))


def compare(module: Path, folder: Path) -> None:
    """Compare all runs; users' components are written into `folder`."""
    files = wasm_laws.written(folder)
    runs = [wasm_laws.Run(name, scenario, [scenario]) for name, scenario in scenarios()] + wasm_laws.runs(folder)
    failures = wasm_laws.failures(folder)
    request = [
        {
            "name": run.name,
            "toml": run.scenario.to_toml(),
            "seed": SEED,
            "traced": number % TRACED == 0,
            "limit_ms": run.limit_ms,
        }
        for number, run in enumerate(runs)
    ]
    request += [
        {"name": one.name, "toml": one.toml, "seed": SEED, "fails": True, "limit_ms": one.limit_ms} for one in failures
    ]
    command = ["node", str(ROOT / "tools" / "wasm_digest.mjs"), str(module), *map(str, files)]
    answer = subprocess.run(command, input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True)
    lines = answer.stdout.splitlines()

    verdicts = [failed(one, line, folder) for one, line in zip(failures, lines[len(runs) :], strict=True)]
    verdicts += [
        compared(run, line.split(), traced=number % TRACED == 0)
        for number, (run, line) in enumerate(zip(runs, lines[: len(runs)], strict=True))
    ]
    wrong = verdicts.count(False)
    traces = len(range(0, len(runs), TRACED))
    print(f"{len(verdicts) - wrong} passed, {wrong} failed; {traces} traces were compared")
    sys.exit(wrong > 0)


def failed(one: wasm_laws.Failure, in_module: str, folder: Path) -> bool:
    """Print and return whether the errors of the module and of the native program have their parts."""
    try:
        _native.Scenario.from_toml(one.toml, str(folder / "laws.toml")).run(SEED)
        natively = "no error"
    except (RuntimeError, _native.ScenarioError) as error:
        natively = str(error)
    texts = [(in_module, (*one.parts, one.in_module)), (natively, (*one.parts, one.natively))]
    passed = all(part in text for text, parts in texts for part in parts)
    print(f"{one.name}: {'ok' if passed else f'FAILED, natively {natively}'}: {in_module}")
    return passed


def compared(run: wasm_laws.Run, found: list[str], *, traced: bool) -> bool:
    """Print and return whether a run's digest and trace in the module are those of the native program."""
    digest, trace = found
    reports = [json.loads(scenario.run(SEED)) for scenario in run.equal]
    report = reports[0]
    verdict, passed = "ok", True
    if differing := {other["digest"] for other in reports} - {digest}:
        verdict, passed = f"FAILED: WebAssembly has {digest}, not {', '.join(differing)}", False
    elif traced:
        if differing := {trace_hash(scenario) for scenario in run.equal} - {trace}:
            verdict, passed = f"FAILED: the trace {', '.join(differing)} is {trace} in WebAssembly", False
        else:
            verdict = f"ok, trace of {trace.replace(':', ' rows, ', 1)}"
    if report["packet_hops"] == 0:
        verdict, passed = "FAILED: no packet moved, so nothing was compared", False
    transports = [flow["transport"] for flow in report["flows"] if flow["transport"]]
    if transports and not any(transport["goodput_bytes"] for transport in transports):
        verdict, passed = "FAILED: no transport delivered anything, so none was compared", False
    print(f"{run.name}: {report['digest']}, {report['packet_hops']} packet-hops: {verdict}")
    return passed


if __name__ == "__main__":
    main()
