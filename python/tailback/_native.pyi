"""The Rust core: scenarios, runs and the statistics that need special functions."""

from collections.abc import Callable, Sequence
from typing import Self, final

from typing_extensions import disjoint_base

__all__ = [
    "Call",
    "Cancel",
    "Cancelled",
    "Component",
    "CongestionCall",
    "CongestionControl",
    "LawFault",
    "LawMonitor",
    "QueueState",
    "Scenario",
    "ScenarioError",
    "SchedulerCall",
    "Simulation",
    "SourceCall",
    "Study",
    "TraceReader",
    "abort_at_end_of_input",
    "capture",
    "compiled_role",
    "component_events",
    "digest_version",
    "explain",
    "export_router",
    "follow_receiver",
    "follow_sender",
    "host_functions",
    "import_router",
    "law_records",
    "load_component",
    "maths",
    "mos",
    "names",
    "parse_bytes",
    "parse_duration",
    "parse_rate",
    "patch_router",
    "pilot_lengths",
    "record_calls",
    "schema",
    "speech_rating",
    "study_schema",
    "t_quantile",
    "trace",
    "trace_columns",
    "trace_network",
    "translate_router",
    "version",
    "video_score",
    "wat_to_wasm",
    "why_names",
    "why_packet",
    "why_port",
    "y1541_class",
    "y1541_limits",
    "y1541_violations",
]

_TraceChunk = dict[str, tuple[bytes, bytes | None]]
"""Numbers of each column, and for lists their lengths (`uint32`), otherwise a byte for each row that has a value."""
_TraceChosen = tuple[list[str], list[str], list[str], list[str], int | None, int | None]
"""Selection of a trace: flows, ports, kinds of events, kinds of frames, first and last instant in picoseconds."""

version: str
"""Version of the package and of the core, such as "0.1.0"."""
pilot_lengths: list[int]
"""Lengths of the pilot runs that are tried in turn for an automatic warm-up, as multiples of `run.duration`."""
digest_version: str
"""Version of the digest, such as "tb2": digests of different versions are never equal."""

class ScenarioError(ValueError):
    """A scenario that cannot be run, with the place of each error and a correction."""

    message: str
    """The first problem in one sentence."""
    path: str
    """Path in the document, such as `links[0].rate`; empty: the whole document."""
    line: int | None
    """Line in the file, from 1; `None`: the problem has no single place."""
    column: int | None
    """Column in the line, from 1; `None`: the problem has no single place."""
    suggestion: str | None
    """Correction, if one is known."""
    rendered: str
    """All problems found, each with its source line and a caret."""
    problems: list[dict[str, str | int | None]]
    """All problems found, each with the keys `message`, `path`, `line`, `column`, `suggestion` and `rendered`."""

class Cancelled(Exception):
    """The run was stopped through its `Cancel`."""

@final
class Cancel:
    """Flag that stops the runs to which it was passed."""

    def __init__(self) -> None: ...
    def cancel(self) -> None:
        """Set the flag; runs stop within a few milliseconds."""
    @property
    def cancelled(self) -> bool:
        """`True` if `cancel` was called."""

@final
class _Maths:
    """Functions with the same bits on every platform; see `tailback.maths`."""

    @staticmethod
    def ln(x: float) -> float:
        """Return the natural logarithm."""
    @staticmethod
    def ln_1p(x: float) -> float:
        """Return ln(1 + x)."""
    @staticmethod
    def log2(x: float) -> float:
        """Return the logarithm to base 2."""
    @staticmethod
    def exp(x: float) -> float:
        """Return e to the power x."""
    @staticmethod
    def exp_m1(x: float) -> float:
        """Return exp(x) - 1."""
    @staticmethod
    def cos(x: float) -> float:
        """Return the cosine of x radians."""
    @staticmethod
    def sin(x: float) -> float:
        """Return the sine of x radians."""
    @staticmethod
    def ln_gamma(x: float) -> float:
        """Return the logarithm of the gamma function."""
    @staticmethod
    def pow(x: float, y: float) -> float:
        """Return x to the power y."""

maths: _Maths
"""Mathematical functions."""

class LawFault(RuntimeError):
    """A user-defined law has failed; the message names the law, its port, the call and the simulated time."""

component_events: dict[str, list[str]]
"""Methods of a component that the engine calls, by the role, in the order of their bits."""

@disjoint_base
class Component:
    """Base of `tailback.Law` and of the other components: their timer and their random stream."""

    wake_ps: int | None
    """Time of the next call of `timer`, picoseconds since the start of the run, not before now; `None`: no call."""

    def __new__(cls, *args: object, **kwargs: object) -> Self: ...
    def random(self) -> float:
        """Draw a uniform number on [0, 1); raises `RuntimeError` outside a call of the law."""
    def below(self, n: int) -> int:
        """Draw a uniform integer on [0, n); raises `ValueError` if n is 0."""
    def exponential(self, mean: float) -> float:
        """Draw an exponentially distributed number; raises `ValueError` if the mean is negative or not finite."""
    def normal(self) -> float:
        """Draw a number with the standard normal distribution."""

@disjoint_base
class CongestionControl(Component):
    """Base of `tailback.CongestionControl`: the window and the pacing rate of its sender."""

    cwnd: float
    """Congestion window, segments, at least 1."""
    ssthresh: float
    """Slow-start threshold, segments, at least 1; infinite before the first congestion unless one is set."""
    rate: float
    """Pacing rate, segments per second; 0: segments leave as soon as the window allows."""

    def __new__(cls, *args: object, **kwargs: object) -> Self: ...

@final
class CongestionCall:
    """Event that a congestion control is called for, and the state of the sender.

    Attributes that the event does not have are 0.
    """

    @property
    def now_ps(self) -> int:
        """Current time, picoseconds since the start of the run."""
    @property
    def now_s(self) -> float:
        """Current time, s."""
    @property
    def rtt_ps(self) -> int | None:
        """Sample of the round-trip time, picoseconds; `None`: there is no sample."""
    @property
    def rtt_s(self) -> float | None:
        """Sample of the round-trip time, s; `None`: there is no sample."""
    @property
    def srtt_ps(self) -> int:
        """Smoothed round-trip time at the last acknowledgement, picoseconds; 0 before the first one."""
    @property
    def srtt_s(self) -> float:
        """Smoothed round-trip time at the last acknowledgement, s; 0 before the first one."""
    @property
    def min_rtt_ps(self) -> int:
        """Minimum round-trip time of the connection, picoseconds; 0 before the first acknowledgement."""
    @property
    def min_rtt_s(self) -> float:
        """Minimum round-trip time of the connection, s; 0 before the first acknowledgement."""
    @property
    def delivery_rate(self) -> float | None:
        """Sample of the delivery rate, segments per second; `None`: there is no sample."""
    @property
    def delivered(self) -> int:
        """Number of segments newly acknowledged, cumulatively or selectively."""
    @property
    def advanced(self) -> int:
        """Number of segments by which the cumulative acknowledgement advances."""
    @property
    def in_flight_before(self) -> int:
        """Number of segments outstanding before the acknowledgement."""
    @property
    def in_flight(self) -> int:
        """Number of segments outstanding after the acknowledgement; at congestion FlightSize (RFC 5681)."""
    @property
    def lost(self) -> int:
        """Number of segments newly considered lost since the last acknowledgement that was reported."""
    @property
    def payload(self) -> int:
        """Payload of a full segment, bytes."""
    @property
    def window_limited(self) -> bool:
        """`True` if the window, not the application or the receiver, limits the sender."""
    @property
    def ece(self) -> bool:
        """`True` if the acknowledgement echoes a mark."""
    @property
    def recovering(self) -> bool:
        """`True` if the sender is in loss recovery."""
    @property
    def round(self) -> bool:
        """`True` if the acknowledgement ends a round trip."""
    @property
    def app_limited(self) -> bool:
        """`True` if the application limited the sample of the delivery rate."""
    @property
    def idle(self) -> bool:
        """`True` if no segment was outstanding before the transmission."""

@final
class QueueState:
    """State of a queue at a call of a scheduler."""

    @property
    def packets(self) -> int:
        """Number of waiting packets."""
    @property
    def bytes(self) -> int:
        """Buffer bytes of these packets."""
    @property
    def ready(self) -> bool:
        """`True` if the queue may be chosen."""

@final
class SchedulerCall:
    """Event that a scheduler is called for, and the states of the queues.

    `queue`, `size`, `wire` and `flow` are those of the packet that has arrived or is sent, else 0.
    """

    @property
    def now_ps(self) -> int:
        """Current time, picoseconds since the start of the run."""
    @property
    def now_s(self) -> float:
        """Current time, s."""
    @property
    def rate_bps(self) -> int:
        """Rate of the link, bit/s."""
    @property
    def queue(self) -> int:
        """Number of the packet's queue, 0 for the first."""
    @property
    def size(self) -> int:
        """Buffer bytes of the packet."""
    @property
    def wire(self) -> int:
        """Bytes of the packet on the link."""
    @property
    def flow(self) -> int:
        """Index of the packet's flow."""
    @property
    def queues(self) -> tuple[QueueState, ...]:
        """States of the queues, in the order of the list."""

@final
class SourceCall:
    """Event that a source is called for."""

    @property
    def now_ps(self) -> int:
        """Time of the last burst or, before the first one, of the start, picoseconds since the start of the run."""
    @property
    def now_s(self) -> float:
        """Time of the last burst or, before the first one, of the start, s."""
    @property
    def bursts(self) -> int:
        """Number of bursts so far."""

@final
class Call:
    """Event that a law is called for: the time, the packet, the queue and the link.

    The attributes of the packet are 0 unless it arrives or departs.
    """

    @property
    def now_ps(self) -> int:
        """Current time, picoseconds since the start of the run."""
    @property
    def now_s(self) -> float:
        """Current time, s."""
    @property
    def sojourn_ps(self) -> int:
        """Time that a departing packet has waited, picoseconds; 0 for other events."""
    @property
    def sojourn_s(self) -> float:
        """Time that a departing packet has waited, s; 0 for other events."""
    @property
    def queue_packets(self) -> int:
        """Number of waiting packets: without an arriving packet, and behind a departing one."""
    @property
    def queue_bytes(self) -> int:
        """Buffer bytes of these packets."""
    @property
    def limit_packets(self) -> int | None:
        """Limit of the queue in packets; `None`: it has none."""
    @property
    def limit_bytes(self) -> int | None:
        """Limit of the queue in buffer bytes; `None`: it has none."""
    @property
    def rate_bps(self) -> int:
        """Rate of the link, bit/s."""
    @property
    def size(self) -> int:
        """Buffer bytes of the packet."""
    @property
    def payload(self) -> int:
        """Payload bytes of the packet."""
    @property
    def flow(self) -> int:
        """Index of the packet's flow; each direction of a connection has its own."""
    @property
    def sequence(self) -> int:
        """Sequence number of the packet within its flow; in an acknowledgement the next one expected.

        It is 4294967295 in packets of a handshake.
        """
    @property
    def traffic_class(self) -> int:
        """Class of the packet, 0 (highest) to 7."""
    @property
    def ecn(self) -> int:
        """ECN codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE (RFC 3168)."""
    @property
    def ect(self) -> bool:
        """`True` if the packet is ECN-capable: MARK marks it."""
    @property
    def dscp(self) -> int:
        """Differentiated services code point, 0 to 63 (RFC 2474)."""
    @property
    def colour(self) -> int:
        """Colour: 0 green, 1 yellow, 2 red (RFC 2697)."""
    @property
    def full(self) -> bool:
        """`True` if the queue has no room for the arriving packet."""

@final
class LawMonitor:
    """Progress of the calls of laws on the thread that made the monitor."""

    def __new__(cls) -> LawMonitor: ...
    @property
    def calls(self) -> int:
        """Number of calls begun and ended: odd during a call."""

def record_calls(descriptor: int) -> None:
    """Record the last call of a law in the file behind a descriptor; see `tailback.laws.last_call`.

    Raises OSError if the file cannot be mapped, or if calls are recorded already.
    """

def abort_at_end_of_input() -> None:
    """Abort this process as soon as its standard input is closed, from a thread that needs no GIL."""

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
        """Return a copy with `path = value` applied in order; a value that is not valid TOML is taken as a string."""
    @property
    def has_user_code(self) -> bool:
        """`True` if the scenario names user-defined laws, whose code a run executes."""
    @property
    def user_languages(self) -> list[str]:
        """Languages of the user-defined laws that the scenario names: "python", "native" and "wasm"."""
    @property
    def user_files(self) -> list[tuple[str, str, bytes | None]]:
        """File, hash and content of each user-defined component that the scenario names, as they were loaded.

        The content of files in Python is `None`: `tailback.laws.loading.sources` has it by the hash.
        """
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
        """Hash of the document without settings that have no effect."""
    def offered(self) -> dict[str, tuple[float, float] | None]:
        """Return the load that each group of flows offers, in bit/s of buffer and of wire bytes; `None`: unknown."""
    def warnings(self) -> list[dict[str, str | int | None]]:
        """Return the warnings about valid but suspicious settings: the keys of a problem, and `name`."""
    def without_effect(self, assignments: list[tuple[str, str]]) -> list[dict[str, str | int | None]]:
        """Return a warning for each assignment that changes nothing; raises `ScenarioError`."""
    def pilot(self, factor: int) -> tuple[Scenario, int]:
        """Return the scenario of a pilot run `factor` times as long, and its sampling interval in picoseconds."""
    def truncation_ps(self, in_network: list[float], sample_ps: int) -> int | None:
        """Return the end of the warm-up by MSER-5 from a pilot run; `None`: it finds no steady state."""
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
        """Run one replication as `run` does and return only the numbers of packet-hops and events."""
    def run_in_turn(self, seed: int, parts: int) -> str:
        """Run one replication in at most `parts` parts, one after the other on this thread, to test the partition."""
    def network(self, seed: int) -> str:
        """Return nodes, links and the host pairs of flows as JSON, with patterns and counts expanded."""
    def parts(self, most: int, seed: int) -> str:
        """Return the partition of a run on at most `most` threads as JSON: nodes, links between parts, lookahead, s."""

def capture(
    scenario: Scenario,
    seed: int,
    sink: Callable[[bytes], object],
    *,
    sides: str,
    snap: int,
    chosen: _TraceChosen,
    comments: list[str],
    engine: str | None = None,
    warmup_s: float | None = None,
    parallel: int = 1,
    cancel: Cancel | None = None,
    progress: Callable[[float], object] | None = None,
) -> str:
    """Run one replication as `Scenario.run` does, and pass its capture (pcapng) to `sink` in pieces of whole blocks.

    `sides` is "send", "receive" or "both", `snap` the longest captured part of a frame (0: all); kinds of events and
    frames in `chosen` have no effect. Raises ValueError if a name of `chosen` matches nothing. An exception of `sink`
    ends the run; after any other one, the end of the capture is passed to `sink` before it is raised.
    """

@final
class Simulation:
    """A run that is stepped through; see `tailback.Simulation`. Times are picoseconds, views are JSON."""

    def __new__(
        cls,
        scenario: Scenario,
        seed: int,
        engine: str | None = None,
        warmup_s: float | None = None,
        trace: _TraceChosen | None = None,
    ) -> Simulation: ...
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
    def run_to_rows(self, at_ps: int) -> None:
        """Handle events up to the next instant with rows of the trace, at most up to `at_ps`."""
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
    def take_trace(self) -> list[tuple[int, _TraceChunk]]:
        """Return the rows of the trace since the last call, in chunks with their numbers of rows."""
    @property
    def trace_summary(self) -> tuple[int, str] | None:
        """Number and hash of the rows taken so far; `None`: no trace is kept."""
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

@final
class TraceReader:
    """Reads the columns of a trace in order: their hash, and their lines in a text format."""

    def __new__(
        cls,
        form: str | None = None,
        port_ends: list[tuple[int, int]] | None = None,
        flow_ends: list[tuple[int, int, bool]] | None = None,
    ) -> TraceReader: ...
    def add(self, count: int, columns: dict[str, tuple[bytes, bytes]]) -> str:
        """Add the next rows and return their lines; raises ValueError if they are not rows of a trace."""
    @property
    def rows(self) -> int:
        """Number of rows so far."""
    @property
    def hash(self) -> str:
        """Hash of the rows so far."""

def trace(
    scenario: Scenario,
    seed: int,
    sink: Callable[[int, _TraceChunk], object],
    chosen: _TraceChosen,
    cancel: Cancel | None = None,
    progress: Callable[[float], object] | None = None,
    engine: str | None = None,
    warmup_s: float | None = None,
    parallel: int = 1,
) -> tuple[str, int, str]:
    """Run one replication and pass each chunk of its trace to `sink`; return the report, number and hash of the rows.

    An exception of `sink` ends the run; before any other one is raised, the rows up to it are passed to `sink`. Raises
    ValueError if a name of `chosen` matches nothing.
    """

def trace_network(scenario: Scenario, seed: int, chosen: _TraceChosen) -> str:
    """Return names and ends of ports and flows as JSON; raises ValueError if a name of `chosen` matches nothing."""

def trace_columns() -> list[tuple[str, str, str | None, bool, bool, str, str]]:
    """Return name, type, list of names, is a list, is optional, unit and description of each column of traces."""

def schema() -> str:
    """Return the JSON Schema of the scenario document."""

def study_schema() -> str:
    """Return the JSON Schema of the study document."""

def names() -> str:
    """Return the registered kinds as JSON, such as {"sources": ["cbr", ...]}."""

def explain(name: str) -> str | None:
    """Return the description of a kind and its parameters; `None`: there is no such kind."""

def parse_rate(text: str) -> int:
    """Return a rate such as "10Mbit/s" in bit/s; raises ValueError with the accepted form."""

def parse_duration(text: str) -> int:
    """Return a duration such as "20ms" in picoseconds; raises ValueError with the accepted form."""

def parse_bytes(text: str) -> int:
    """Return a size such as "50kB" in bytes; raises ValueError with the accepted form."""

def follow_sender(transport: str, events: Sequence[Sequence[int]]) -> str:
    """Compare a sender of an endless transfer with a recorded one, as JSON: `equal`, `late_ps`, `first` and `phases`.

    `phases` are those of BBR with which most transmissions are equal; other congestion controls have none.
    `transport` is the table of a scenario as JSON. An event is `[0, time_ps, segment]` for a transmission, and
    `[1, time_ps, next, flags, echo_ps, window, start, end, ...]` for an acknowledgement that arrives; flags: 1 SYN, 2
    ECE. A window, in segments, of 2^32 - 1 is not recorded, and does not limit the sender. Raises `ValueError` for
    other events, and for a transport that cannot be.
    """

def follow_receiver(transport: str, events: Sequence[Sequence[int]]) -> str:
    """Compare a receiver with a recorded one; return `equal`, `late_ps` and `first` as JSON.

    An event is `[1, time_ps, segment, flags, asked_ps]` for a segment that arrives, and `[0, time_ps, next, flags,
    window, start, end, ...]` for an acknowledgement that is transmitted; flags: 1 SYN, 2 ECE, 4 PSH, 8 CE, 16 CWR, 32
    ECT. A window of 2^32 - 1 is not recorded. Raises as `follow_sender`.
    """

def t_quantile(p: float, dof: float) -> float:
    """Return the quantile of Student's t distribution for `p` between 0 and 1 and `dof` > 0 degrees of freedom."""

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
    """Read a router configuration and a traffic table; return the scenario, the policies and the reports as JSON."""

def translate_router(from_: str, text: str, to: str) -> str:
    """Write a configuration in another language; return its text and the reports as JSON."""

def export_router(language: str, document: str, port: str | None = None, name: str | None = None) -> str:
    """Write the policy of a port of a scenario, given as canonical JSON; return its text and the report as JSON."""

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
    """Write a scenario's values into the configuration it was imported from; return text, changes, reports as JSON."""

def speech_rating(delay_s: float, loss: float, burst_ratio: float, codec: str) -> float:
    """Return the rating R of a call, at most 93.2, by the E-model (ITU-T G.107); raises ValueError: unknown codec."""

def mos(rating: float) -> float:
    """Return the mean opinion score, 1 to 4.5, of a rating R (ITU-T G.107, Annex B)."""

def video_score(rate_bps: float, loss: float, frame_rate: float, codec: str) -> float:
    """Return the video quality, 1 to 5, by ITU-T G.1070; raises ValueError: unknown codec."""

def y1541_limits(class_: int) -> tuple[float | None, float | None, float | None]:
    """Return mean delay, s, delay variation, s, and loss ratio of class 0 to 5 of ITU-T Y.1541; `None`: unspecified."""

def y1541_violations(class_: int, delay_s: float, variation_s: float, loss: float) -> list[str]:
    """Return those of `delay`, `variation` and `loss` that exceed the limits of class 0 to 5 of ITU-T Y.1541."""

def y1541_class(delay_s: float, variation_s: float, loss: float) -> int:
    """Return the strictest class of ITU-T Y.1541, 0 to 5, that a stream meets."""

def why_names(scenario: Scenario, seed: int) -> str:
    """Return the names of the flows and ports of a run as JSON: `flows` and `ports`."""

def why_packet(
    scenario: Scenario,
    seed: int,
    flow: int,
    query: str,
    value: int,
    warmup_s: float | None = None,
    parallel: int = 1,
    cancel: Cancel | None = None,
) -> str:
    """Explain a packet of the flow with this index as JSON: `digest`, `packets`, `drops` and `stories`.

    `query` is `packet` (number `value`), `at` (`value` picoseconds), `worst` (delay) or `drop` (number `value`).
    """

def why_port(
    scenario: Scenario,
    seed: int,
    number: int,
    warmup_s: float | None = None,
    parallel: int = 1,
    cancel: Cancel | None = None,
) -> str:
    """Explain the queue of the port with this index as JSON: `digest` and `story`."""

def host_functions() -> dict[str, int]:
    """Return the addresses of the functions of the host for laws in machine code."""

def law_records() -> dict[str, list[tuple[str, int]]]:
    """Return the fields of the records of compiled laws with their offsets; the last entry of each has the size."""

def load_component(
    role: str, folder: str, file: str, name: str, allow_files: bool, parameters: str, /
) -> tuple[tuple[str, int, bool, int] | None, tuple[str, str, str, tuple[str, bool] | None] | None]:
    """Load a component and make an instance; return its properties, or the problem (`tailback.laws.trial`).

    `parameters` is JSON. Raises what the component raises if it is no `Exception`, and `ValueError` for an unknown role
    and for other text than JSON.
    """

def compiled_role(file: str, name: str) -> str | None:
    """Return the role of a class of a library or module, such as "queue-law"; None: there is no such class.

    This process loads the file: see `tailback.laws.trial.role_of`. Raises ValueError for a file that cannot be loaded.
    """

def wat_to_wasm(text: str) -> bytes:
    """Return a WebAssembly module in the binary format; raises `ValueError` for text that is no module."""
