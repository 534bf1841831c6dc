"""Progress of a sweep, read from its directory while it runs or after it was killed."""

from __future__ import annotations

from pathlib import Path

from tailback.study.store import is_running, read_manifest, read_runs

__all__ = ["status"]


def status(directory: Path) -> dict[str, object]:
    """Return the progress in the JSON form of `--status`; raises OutputError if there is no sweep.

    `state` is `running`, `complete`, `interrupted`, `failed`, or `stopped` (killed, or runs are missing). `cpu_s` is
    the processor time of the finished runs, s, and `cpu_s_left` that of the missing ones at the mean cost of the
    finished ones; `None`: no run has finished.
    """
    manifest = read_manifest(directory)
    identity = manifest["identity"]
    found = read_runs(directory)
    first = identity["seed"]
    counts = manifest["replications"] or [identity["replications"]] * len(identity["cells"])
    # Counted by scenario, because a scenario that two points share is run once.
    wanted: dict[str, int] = {}
    for (_, scenario), count in zip(identity["cells"], counts, strict=True):
        wanted[scenario] = max(count, wanted.get(scenario, 0))
    # With `until` there may be more replications than the minimum.
    own = {key: run for key, run in found.runs.items() if key[0] in wanted}
    missing = sum(wanted.values()) - sum(first <= seed < first + wanted[scenario] for scenario, seed in own)
    cpu_s = sum(run.cpu_s for run in own.values())
    running = is_running(directory)
    state = manifest["state"]
    if (state == "running" and not running) or (state == "complete" and missing):
        state = "stopped"
    return {
        "directory": str(directory),
        "title": manifest["title"],
        "state": state,
        "begun": manifest["begun"],
        "points": len(identity["cells"]),
        "runs_finished": len(own),
        "runs_missing": missing,
        "runs_failed": len(manifest.get("failures") or ()),
        "until": identity["until"] and identity["until"]["metric"],
        "cpu_s": cpu_s,
        "cpu_s_left": cpu_s / len(own) * missing if own else None,
        "damaged_shards": len(found.spoilt) + len(list((directory / "shards").glob("*.spoilt"))),
        "digest": manifest["digest"],
    }
