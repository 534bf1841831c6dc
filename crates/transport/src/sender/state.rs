//! Observable state and counts of a sender.

/// State of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No data has been offered.
    Closed,
    /// The SYN is outstanding.
    Opening,
    /// No loss is detected.
    Open,
    /// The window was reduced after an echo of congestion, less than a window ago.
    Reduced,
    /// Fast retransmit repairs a loss.
    Recovery,
    /// The retransmission timer (or, with "tahoe", a loss) has set the window to one segment.
    Loss,
}

impl State {
    /// Returns the name in tables.
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

/// Counts of a sender since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Transmissions of data segments, retransmissions included.
    pub sent: u64,
    /// Retransmissions of data segments.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer with segments outstanding.
    pub timeouts: u64,
    /// Recoveries begun by fast retransmit.
    pub fast_retransmits: u64,
    /// Reductions after an echo of congestion.
    pub ecn_reductions: u64,
    /// Spurious reductions undone.
    pub spurious: u64,
    /// Tail loss probes.
    pub probes: u64,
}

/// Counts of every sender; those of events at most once per round trip have 32 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub sent: u64,
    pub retransmissions: u64,
    pub timeouts: u32,
    pub fast_retransmits: u32,
}

/// Counts of rare events, kept in the cold state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RareCounts {
    pub ecn_reductions: u32,
    pub spurious: u32,
    pub probes: u32,
}

impl Counts {
    /// Returns the number of new segments transmitted since the start, which does not wrap.
    pub fn transmitted_once(&self) -> u64 {
        self.sent - self.retransmissions
    }

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
