//! Traffic sources: times and sizes of the bursts of a flow.

use core::fmt::Debug;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Event that a source is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SourceEvent {
    /// The source starts. Every source is called; its answer is ignored.
    Start = 0,
    /// The next burst is wanted.
    Next = 1,
}

impl SourceEvent {
    /// All events, in the order of their numbers.
    pub const ALL: [SourceEvent; 2] = [SourceEvent::Start, SourceEvent::Next];
    /// Returns the bit of the event in a set of events.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
    /// Returns the name of the method that handles the event.
    pub const fn name(self) -> &'static str {
        match self {
            SourceEvent::Start => "start",
            SourceEvent::Next => "next",
        }
    }
}

/// Arguments of a call of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SourceCall {
    /// Time of the last burst or, before the first one, of the start, picoseconds since the start of the run.
    pub now_ps: u64,
    /// Number of bursts so far.
    pub bursts: u64,
    /// Number of the event: see [`SourceEvent`].
    pub event: u32,
    /// Zero, so that the record has no bytes without a value.
    pub reserved: u32,
}

/// Answer of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SourceAnswer {
    /// Time of the next burst, picoseconds since the start of the run, not before the last one; `u64::MAX`: there is no
    /// further burst.
    pub at_ps: u64,
    /// Payload of the burst, bytes, 1 to 2^40.
    pub bytes: u64,
}

impl SourceAnswer {
    /// Answer of a source without further bursts.
    pub const NONE: SourceAnswer = SourceAnswer { at_ps: u64::MAX, bytes: 0 };
    /// Maximum payload of a burst, bytes.
    pub const MAX_BYTES: u64 = 1 << 40;

    /// Checks the answer to a call; returns the time of the burst. [`Time::NEVER`]: there is none.
    ///
    /// # Errors
    /// If the time is before the last burst, or if the payload is out of range.
    pub fn checked(&self, call: &SourceCall) -> Result<Time, String> {
        if self.at_ps < call.now_ps {
            let (at, last) = (Dur(self.at_ps), Dur(call.now_ps));
            return Err(format!("the burst at {at} is before the last one, at {last}"));
        }
        if self.at_ps != u64::MAX && !(1..=SourceAnswer::MAX_BYTES).contains(&self.bytes) {
            return Err(format!("a burst has {} bytes; it must have 1 to 2^40", self.bytes));
        }
        Ok(Time(self.at_ps))
    }
}

/// An instance of a traffic source, for one flow.
pub trait SourceLaw: Debug + Send + Sync {
    /// Notes the name of the instance and its place, as in [`crate::Fault::component`], before the first call.
    fn placed(&mut self, _name: &str) {}

    /// Answers a call. `rng` is the random stream of the flow's source.
    ///
    /// # Errors
    /// If the source fails; the message describes the failure.
    fn answer(&mut self, call: &SourceCall, rng: &mut Rng) -> Result<SourceAnswer, String>;

    /// Returns to the state of a new instance, for a new start of the same flow.
    ///
    /// # Errors
    /// If the source fails; the message describes the failure.
    fn renew(&mut self) -> Result<(), String>;
}
