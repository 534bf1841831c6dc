//! What a sender shows of itself, and the kinds it is of.

use tailback_units::Time;

/// The state of a sender, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has been offered.
    Closed,
    /// The SYN is on its way.
    Opening,
    /// All is well, or losses are not certain yet.
    Open,
    /// The window was reduced after an echo of congestion, less than a window ago.
    Reduced,
    /// A loss is being repaired by fast retransmit.
    Recovery,
    /// The retransmission timer (or, with "tahoe", a loss) has set the window to one segment.
    Loss,
}

impl State {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Opening => "opening",
            State::Open => "open",
            State::Reduced => "reduced",
            State::Recovery => "recovery",
            State::Loss => "loss",
        }
    }
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Transmissions of data segments, retransmissions included.
    pub sent: u64,
    /// Retransmissions of data segments.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer with something outstanding.
    pub timeouts: u64,
    /// Recoveries begun by fast retransmit.
    pub fast_retransmits: u64,
    /// Reductions after an echo of congestion.
    pub ecn_reductions: u64,
    /// Reductions undone because the loss was none.
    pub spurious: u64,
    /// Tail loss probes.
    pub probes: u64,
}

/// The same as a sender keeps them: what comes at most once in a round trip needs no more than 32 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub sent: u64,
    pub retransmissions: u64,
    pub timeouts: u32,
    pub fast_retransmits: u32,
}

/// What many senders never count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RareCounts {
    pub ecn_reductions: u32,
    pub spurious: u32,
    pub probes: u32,
}

impl Counts {
    pub fn statistics(&self, rare: RareCounts) -> Statistics {
        Statistics {
            sent: self.sent,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts.into(),
            fast_retransmits: self.fast_retransmits.into(),
            ecn_reductions: rare.ecn_reductions.into(),
            spurious: rare.spurious.into(),
            probes: rare.probes.into(),
        }
    }
}

/// Which losses are repaired how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    Tahoe,
    Reno,
    NewReno,
    Sack,
}

/// A deadline that only a sender with a scoreboard has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub at: Time,
    pub awaits: Awaits,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe { at: Time::NEVER, awaits: Awaits::Nothing }
    }
}

/// What a [`Probe`] is the deadline of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    Nothing,
    /// A tail loss probe.
    Tail,
    /// Segments that RACK waits for.
    Reordering,
}
