"""Random streams are named after components: a component that is added changes no draw of the others."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from tailback import _native

ROOT = Path(__file__).resolve().parent.parent.parent
SEED = 7


def scenarios() -> list[tuple[str, _native.Scenario]]:
    """Return the shortened scenarios of `tools/wasm_digest.py`: gallery, benchmarks, and `every_kind.toml`."""
    spec = importlib.util.spec_from_file_location("wasm_digest", ROOT / "tools" / "wasm_digest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[tuple[str, _native.Scenario]] = module.scenarios()
    return found


def rows(scenario: _native.Scenario) -> dict[str, Any]:
    """Return flows, ports and applications of a run, without the ports of the idle link."""
    report = json.loads(scenario.run(SEED))
    ports = [port for port in report["ports"] if "_idle" not in port["name"]]
    return {"flows": report["flows"], "ports": ports, "applications": report.get("applications")}


def test_an_idle_link_before_all_others_changes_no_result_of_any_scenario() -> None:
    for name, scenario in scenarios():
        document = json.loads(scenario.to_json())
        document["hosts"].update({"_idle1": {}, "_idle2": {}})
        link = {"between": ["_idle1", "_idle2"], "rate": "1Gbit/s", "loss": 0.5}
        document["links"] = [link, *document.get("links", [])]
        wider = _native.Scenario.from_json(json.dumps(document), str(ROOT), allow_files=True)
        assert rows(wider) == rows(scenario), name
