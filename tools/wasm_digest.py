"""Compares the digests and trace hashes of the WebAssembly module with those of the native engine.

The runs are the scenarios of the gallery and the benchmarks, shortened, and `every_kind.toml` under each back-pressure
mechanism and each queue discipline, without and with ECN; and users' laws in WebAssembly, which the program around the
module provides: CoDel is compared with the built-in one. Every fourth run is also traced. The exit code is 1 if a
digest or the hash of a packet trace differs, if a run moved no packet, if a run with transports delivered nothing, or
if an error of a law has another text.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
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


LAWS = ROOT / "python" / "tests" / "laws"
# Built-in CoDel and the parameters of the law, as in python/tests/test_compiled_laws.py.
CODEL = {
    '{ kind = "codel" }': "{}",
    '{ kind = "codel", target = "1ms", interval = "20ms" }': '{ target = "1ms", interval = "20ms" }',
    '{ kind = "codel", target = "20ms", mtu = "9kB" }': '{ target = "20ms", mtu = 9000 }',
}
# Parameters of the law with draws, and part of the text of the error.
FAILURES = {
    '{ mode = "no" }': "the mode is refused",
    "{ rate = 5 }": "`rate` is 5; write a rate",
    "{ rates = 5 }": "did you mean `rate`?",
    '{ rate = "20Mbit/s" }': "in `arrive` at 0.",
}


def laws(folder: Path) -> tuple[list[tuple[str, _native.Scenario, _native.Scenario]], list[tuple[str, str, str]]]:
    """Write laws into a folder; return runs with them, each with a run that must give the same, and failures.

    A failure is a name, a scenario and a part of the text of the error.
    """
    for name in ("codel", "draws"):
        (folder / f"{name}.wasm").write_bytes(_native.wat_to_wasm((LAWS / f"{name}.wat").read_text(encoding="utf-8")))
    text = (ROOT / "python" / "tailback" / "bench" / "red64.toml").read_text(encoding="utf-8")
    start = text.index("discipline = {")
    end = text.index("\n", start)

    def toml(discipline: str) -> str:
        return f"{text[:start]}discipline = {discipline}{text[end:]}"

    def made(discipline: str) -> _native.Scenario:
        return _native.Scenario.from_toml(toml(discipline), str(folder / "laws.toml")).with_set(
            [("run.duration", "5s")]
        )

    def law(name: str, parameters: str) -> str:
        return f'{{ kind = "user", file = "{name.lower()}.wasm", class = "{name}", parameters = {parameters} }}'

    runs = [(f"a law, {built_in}", made(law("Codel", own)), made(built_in)) for built_in, own in CODEL.items()]
    draws = made(law("Draws", '{ rate = "2Mbit/s" }'))
    failures = [(f"a law, {own}", toml(law("Draws", own)), part) for own, part in FAILURES.items()]
    return [*runs, ("a law with draws", draws, draws)], failures


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
    """Compare all runs; laws are written into `folder`."""
    runs = scenarios()
    with_laws, failures = laws(folder)
    count = len(runs)
    # Natively, a law is replaced by what it must give.
    runs += [(name, expected) for name, _, expected in with_laws]
    own = [scenario for _, scenario in runs[:count]] + [scenario for _, scenario, _ in with_laws]
    reports = [json.loads(scenario.run(SEED)) for _, scenario in runs]
    hashes = [trace_hash(scenario) if number % TRACED == 0 else "-" for number, (_, scenario) in enumerate(runs)]
    request = [
        {"name": name, "toml": scenario.to_toml(), "seed": SEED, "traced": number % TRACED == 0}
        for number, ((name, _), scenario) in enumerate(zip(runs, own, strict=True))
    ]
    request += [{"name": name, "toml": toml, "seed": SEED, "fails": True} for name, toml, _ in failures]
    paths = sorted(str(path) for path in folder.glob("*.wasm"))
    command = ["node", str(ROOT / "tools" / "wasm_digest.mjs"), str(module), *paths]
    answer = subprocess.run(command, input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True)

    failed = 0
    lines = answer.stdout.splitlines()
    found = [line.split() for line in lines[: len(runs)]]
    for (name, _, part), text in zip(failures, lines[len(runs) :], strict=True):
        failed += part not in text
        print(f"{name}: {'ok' if part in text else 'FAILED'}: {text}")
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
    traces = len(hashes) - hashes.count("-")
    print(f"{len(runs) + len(failures) - failed} passed, {failed} failed; {traces} traces were compared")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
