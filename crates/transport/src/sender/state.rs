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
    /// The window was reduced after an echo of congestion, and segments sent before that are still outstanding.
    Reduced,
    /// Fast retransmit repairs a loss.
    Recovery,
    /// The retransmission timer (or, with "tahoe", a loss) has set the window to one segment.
    Loss,
}

impl State {
    /// Returns the name that tables show: the variant in lower case.
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

/// Counts of outstanding segments on the scoreboard of a sender with SACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scoreboard {
    /// Number of segments selectively acknowledged.
    pub sacked: u32,
    /// Number of segments considered lost, whether or not they have been retransmitted.
    pub lost: u32,
    /// Number of segments retransmitted and not considered lost since then.
    pub retransmitted: u32,
}

/// Counts of a sender since the start of the run, over all its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of transmissions of data segments, retransmissions included.
    pub sent: u64,
    /// Number of retransmissions of data segments.
    pub retransmissions: u64,
    /// Number of expiries of the retransmission timer with segments outstanding.
    pub timeouts: u64,
    /// Number of recoveries that a fast retransmit started.
    pub fast_retransmits: u64,
    /// Number of reductions after an echo of congestion.
    pub ecn_reductions: u64,
    /// Number of reductions that were found spurious and undone.
    pub spurious: u64,
    /// Number of tail loss probes.
    pub probes: u64,
    /// Number of expiries of the retransmission timer while a connection was opening; each sends the SYN again.
    pub syn_timeouts: u64,
}

/// Counts that every sender keeps. Counts of events that occur at most once per round trip have 32 bits.
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
    pub syn_timeouts: u32,
}

impl Counts {
    /// Returns the number of distinct data segments transmitted since the start of the run; unlike sequence numbers it
    /// does not wrap.
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
            syn_timeouts: rare.syn_timeouts.into(),
        }
    }
}
