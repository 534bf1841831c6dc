"""The Rust core: scenarios, runs and the statistics that need special functions."""

from collections.abc import Callable
from typing import final

__all__ = [
    "Cancel",
    "Cancelled",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Study",
    "digest_version",
    "explain",
    "export_router",
    "import_router",
    "mos",
    "mser5",
    "names",
    "parse_bytes",
    "parse_duration",
    "parse_rate",
    "patch_router",
    "schema",
    "speech_rating",
    "study_schema",
    "t_quantile",
    "translate_router",
    "version",
    "video_score",
    "y1541_class",
    "y1541_limits",
    "y1541_violations",
]

version: str
"""Version of the package and of the core, such as "0.1.0"."""
digest_version: str
"""Version of the digest, such as "tb2": digests of different versions are never equal."""

class ScenarioError(ValueError):
    """A scenario that cannot be run, with where it is wrong and what to write instead."""

    message: str
    """The first problem in one sentence."""
    path: str
    """Where in the document, such as `links[0].rate`; empty for the whole."""
    line: int | None
    """Line in the file, from 1; none where the problem has no single place."""
    column: int | None
    """Column in the line, from 1."""
    suggestion: str | None
    """What to write instead, where that is known."""
    rendered: str
    """All problems found, each with its source line and a caret."""
    problems: list[dict[str, str | int | None]]
    """Every problem with its message, path, line, column, suggestion and rendered text."""

class Cancelled(Exception):
    """The run was stopped through its `Cancel`."""

@final
class Cancel:
    """Stops the runs that it was given to."""

    def __init__(self) -> None: ...
    def cancel(self) -> None:
        """Ask for an end; runs stop within a few milliseconds."""
    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""

@final
class Scenario:
    """A checked scenario. Immutable, safe to run from several threads at once."""

    @staticmethod
    def from_toml(text: str, filename: str = "<scenario>", allow_files: bool = False) -> Scenario:
        """Read a TOML document; raises `ScenarioError`."""
    @staticmethod
    def from_json(text: str, folder: str = "", allow_files: bool = False) -> Scenario:
        """Read the same document as JSON; raises `ScenarioError`."""
    def with_set(self, assignments: list[tuple[str, str]]) -> Scenario:
        """Return a copy with `path = value` applied in order; a value is TOML, or else a string."""
    def to_json(self) -> str:
        """Return the canonical document with all defaults filled in."""
    def to_toml(self) -> str:
        """Return the document as TOML."""
    def run_config(self) -> str:
        """Return the `[run]` table as JSON, defaults filled in."""
    @property
    def hash(self) -> str:
        """Hash of the canonical document."""
    @property
    def effect(self) -> str:
        """Hash of what the document amounts to: without what nothing goes by."""
    def offered(self) -> dict[str, tuple[float, float] | None]:
        """Return what each group of flows offers, bit/s in buffers and on the wire; None if it is not known."""
    def warnings(self) -> list[dict[str, str | int | None]]:
        """Return what looks wrong although it is allowed: the keys of a problem, and `name`."""
    def without_effect(self, assignments: list[tuple[str, str]]) -> list[dict[str, str | int | None]]:
        """Return a warning for each assignment that changes nothing; raises `ScenarioError`."""
    @property
    def title(self) -> str:
        """The document's title, or an empty text."""
    def run(
        self,
        seed: int,
        cancel: Cancel | None = None,
        progress: Callable[[float], object] | None = None,
        engine: str | None = None,
        warmup_s: float | None = None,
        parallel: int = 1,
    ) -> str:
        """Run one replication without the GIL and return its report as JSON; raises `Cancelled`.

        At most `parallel` parts of the network have a thread each; the digest does not depend on it.
        """
    def count(self, seed: int, parallel: int = 1) -> tuple[int, int]:
        """Run one replication as `run` does and return its packet-hops and events only, not a text about each flow."""
    def run_in_turn(self, seed: int, parts: int) -> str:
        """Run one replication in at most so many parts, one after the other on this thread: a test of parts."""
    def network(self, seed: int) -> str:
        """Return nodes, links and the pairs that flows join as JSON, patterns and counts spelled out."""
    def parts(self, most: int, seed: int) -> str:
        """Return the parts of a parallel run as JSON: nodes of each, links between them, look-ahead in seconds."""

@final
class Simulation:
    """A run that is stepped through; see `tailback.Simulation`. Times are picoseconds, views are JSON."""

    def __init__(
        self, scenario: Scenario, seed: int, engine: str | None = None, warmup_s: float | None = None
    ) -> None: ...
    @property
    def now_ps(self) -> int:
        """Time up to which all events have been handled."""
    @property
    def end_ps(self) -> int:
        """Last instant of the run."""
    @property
    def warmup_ps(self) -> int:
        """End of the warm-up."""
    @property
    def next_event_ps(self) -> int | None:
        """Time of the next event; `None`: there is none."""
    @property
    def done(self) -> bool:
        """`True` if the end of the run has been reached."""
    @property
    def touched(self) -> bool:
        """`True` if a parameter was changed, or data injected."""
    @property
    def replays(self) -> int:
        """Number of jumps back."""
    def run_until(self, at_ps: int) -> None:
        """Handle all events at and before `at_ps`; Ctrl-C ends the step between two events."""
    def jump(self, at_ps: int) -> bool:
        """Go to `at_ps`, also back; return `True` if the run was replayed."""
    def view(self) -> str:
        """Return the state of the whole network."""
    def port(self, name: str) -> str | None:
        """Return the state of a port; `None`: there is no such port."""
    def flow(self, name: str) -> str | None:
        """Return the state of a flow; `None`: there is no such flow."""
    def node(self, name: str) -> str | None:
        """Return the state of a host or switch; `None`: there is no such node."""
    def change(self, pairs: list[tuple[str, str]], at_ps: int | None = None) -> int:
        """Change tunable keys, return the time; raises `ScenarioError`."""
    def inject(self, flow: str, size: int, at_ps: int | None = None) -> int:
        """Let a flow send payload besides its source, return the time; raises `ScenarioError`."""
    def record_delivered(self, host: str) -> bool:
        """Record the data that arrives at a host from now on; `False`: there is no such host."""
    def take_delivered(self) -> list[tuple[int, str, int, int, int]]:
        """Return time, flow, sequence number, payload and time of generation of the recorded data."""
    def scenario(self) -> Scenario:
        """Return the scenario with all changes made so far in its timeline."""
    def report(self) -> str:
        """Return the report of a run that ends now as JSON; the simulation is then over."""

@final
class Study:
    """A checked study document. Immutable."""

    @staticmethod
    def from_toml(text: str, filename: str = "<study>") -> Study:
        """Read a TOML document; raises `ScenarioError`."""
    @staticmethod
    def from_json(text: str) -> Study:
        """Read the same document as JSON; raises `ScenarioError`."""
    def to_json(self) -> str:
        """Return the document as JSON with defaults filled in."""
    def refuse(self, path: str, message: str, suggestion: str | None = None) -> ScenarioError:
        """Return an error about the value at `path`, with its place in the file."""

def schema() -> str:
    """Return the JSON Schema of the scenario document."""

def study_schema() -> str:
    """Return the JSON Schema of the study document."""

def names() -> str:
    """Return the registered kinds as JSON, such as {"sources": ["cbr", ...]}."""

def explain(name: str) -> str | None:
    """Describe a kind and its parameters; none if there is no such kind."""

def parse_rate(text: str) -> int:
    """Read "10Mbit/s" as bit/s; raises ValueError with what to write instead."""

def parse_duration(text: str) -> int:
    """Read "20ms" as picoseconds; raises ValueError with what to write instead."""

def parse_bytes(text: str) -> int:
    """Read "50kB" as bytes; raises ValueError with what to write instead."""

def t_quantile(p: float, dof: float) -> float:
    """Quantile of Student's t distribution: p between 0 and 1, dof above 0."""

def mser5(values: list[float]) -> int | None:
    """Return how many leading values the MSER-5 rule drops; none if it finds no steady state."""

def import_router(
    language: str,
    text: str,
    traffic: str | None = None,
    interface: str | None = None,
    policy: str | None = None,
    rate_bps: int | None = None,
    overhead: str | None = None,
    title: str | None = None,
    duration: str | None = None,
    platform: str | None = None,
) -> str:
    """Read a configuration ("mqc" or "tc") and a traffic table; the scenario, the policies and the reports as JSON."""

def translate_router(from_: str, text: str, to: str) -> str:
    """Write a configuration in another language; text and reports as JSON."""

def export_router(language: str, document: str, port: str | None = None, name: str | None = None) -> str:
    """Write the policy of a port of a scenario, given as canonical JSON; text and report as JSON."""

def patch_router(
    language: str,
    original: str,
    document: str,
    traffic: str | None = None,
    interface: str | None = None,
    policy: str | None = None,
    rate_bps: int | None = None,
    overhead: str | None = None,
) -> str:
    """Write the values of a scenario into the text that it was made of; text, changes and reports as JSON."""

def speech_rating(delay_s: float, loss: float, burst_ratio: float, codec: str) -> float:
    """Rating R of a call by the E-model (ITU-T G.107); raises ValueError for a codec that is not known."""

def mos(rating: float) -> float:
    """Mean opinion score, 1 to 4.5, of a rating."""

def video_score(rate_bps: float, loss: float, frame_rate: float, codec: str) -> float:
    """Video quality by ITU-T G.1070, 1 to 5; raises ValueError for a codec that is not known."""

def y1541_limits(class_: int) -> tuple[float | None, float | None, float | None]:
    """Mean delay and variation in seconds, and loss, that class 0 to 5 of ITU-T Y.1541 allows; none is unspecified."""

def y1541_violations(class_: int, delay_s: float, variation_s: float, loss: float) -> list[str]:
    """Return which of `delay`, `variation` and `loss` exceed what a class of ITU-T Y.1541 allows."""

def y1541_class(delay_s: float, variation_s: float, loss: float) -> int:
    """Return the strictest class of ITU-T Y.1541 that a stream meets."""
