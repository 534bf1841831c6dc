//! A script as data.

use tailback_units::Dur;

/// Place in a script, both numbers from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// Error at a place of a script: what cannot be read or run, or what was expected and what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub place: Place,
    pub message: String,
}

impl Failure {
    pub fn new(place: Place, message: impl Into<String>) -> Failure {
        Failure { place, message: message.into() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} column {}: {}", self.place.line, self.place.column, self.message)
    }
}

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Tolerance of times (`--tolerance_usecs`). `None`: not given.
    pub tolerance: Option<Dur>,
    /// Text after `// tailback:`, each with its place.
    pub parameters: Vec<(Place, String)>,
    /// Commands of the host, in backquotes.
    pub commands: Vec<(Place, String)>,
    pub events: Vec<Event>,
}

/// An event: what happens, or must happen, at a time.
#[derive(Clone, Debug)]
pub struct Event {
    pub place: Place,
    pub when: When,
    pub what: What,
}

/// Time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    pub start: Moment,
    /// Latest time: of `a~b` that of the event, of `a...b` that of a call's return. `None`: not given.
    pub end: Option<Moment>,
    /// `true` for `a...b`.
    pub blocks: bool,
}

/// A time on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// `1.5`: since the start of the script.
    Absolute(Dur),
    /// `+1.5`: since the event before.
    Relative(Dur),
    /// `*`: any time.
    Any,
}

/// Content of an event.
#[derive(Clone, Debug)]
pub enum What {
    Call(Call),
    /// `<`: a packet that arrives at the host.
    Arrival(Packet),
    /// `>`: a packet that the host must transmit.
    Transmission(Packet),
    /// `%{ … }%`.
    Assertions(Vec<Assertion>),
}

/// A system call with its expected result.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<Argument>,
    pub result: i64,
}

/// Argument of a system call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// `...`.
    Any,
    Number(i64),
    Name(String),
    Text(String),
    /// `[1]`.
    List(Vec<i64>),
}

/// ECN field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codepoint {
    NotEct,
    Ect0,
    Ect1,
    /// `[ect01]`: ECT(0) or ECT(1).
    AnyEct,
    Ce,
}

/// A TCP segment. Numbers are relative to the initial sequence numbers.
#[derive(Clone, Debug, Default)]
pub struct Packet {
    /// ECN field. `None`: not given.
    pub ecn: Option<Codepoint>,
    pub flags: Flags,
    pub start: u64,
    pub end: u64,
    pub ack: Option<u64>,
    pub window: Option<u64>,
    /// Options; empty if not given. `None`: `<...>`, any options.
    pub options: Option<Options>,
}

impl Packet {
    /// Returns the number of payload bytes.
    pub fn length(&self) -> u64 {
        self.end - self.start
    }
}

/// Flags of a segment that have a meaning here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub syn: bool,
    pub ack: bool,
    /// PSH, which the model does not have.
    pub push: bool,
    pub ece: bool,
    pub cwr: bool,
}

/// TCP options that have a meaning here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mss: Option<u64>,
    pub sack_ok: bool,
    pub window_scale: Option<u64>,
    /// Timestamps: value and echo.
    pub timestamp: Option<(u64, u64)>,
    /// SACK blocks, from the first byte to the one after the last.
    pub sack: Vec<(u64, u64)>,
}

/// One `assert`: comparisons of which each must hold.
#[derive(Clone, Debug)]
pub struct Assertion {
    pub comparisons: Vec<Comparison>,
}

/// A comparison of two values.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub place: Place,
    pub left: Operand,
    pub relation: Relation,
    pub right: Operand,
}

/// Side of a comparison.
#[derive(Clone, Debug)]
pub enum Operand {
    Number(f64),
    Name(String),
}

/// Relation of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Relation {
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Relation::Equal => left == right,
            Relation::Unequal => left != right,
            Relation::Less => left < right,
            Relation::LessOrEqual => left <= right,
            Relation::Greater => left > right,
            Relation::GreaterOrEqual => left >= right,
        }
    }
    pub fn text(self) -> &'static str {
        match self {
            Relation::Equal => "==",
            Relation::Unequal => "!=",
            Relation::Less => "<",
            Relation::LessOrEqual => "<=",
            Relation::Greater => ">",
            Relation::GreaterOrEqual => ">=",
        }
    }
}
