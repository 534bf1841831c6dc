//! Variables of BBRv3 in groups: the state machine, the full-pipe estimator, the bounds and the cycle of probing. Names
//! in brackets are those of section 2 of the draft.

use tailback_units::{Dur, Time};

/// State of the state machine (section 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Estimator of a full pipe: three rounds in which the bandwidth grows by less than a quarter (section 5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Full {
    /// Reference bandwidth, segments per second (full_bw).
    pub bandwidth: f64,
    /// Number of rounds with less growth (full_bw_count).
    pub rounds: u32,
    /// `true` if the pipe is full in this phase (full_bw_now).
    pub now: bool,
    /// `true` if the pipe has been full in any phase (full_bw_reached).
    pub reached: bool,
}

impl Full {
    /// Restarts the estimator with a reference bandwidth in segments per second (BBRResetFullBW).
    pub fn reset(&mut self, bandwidth: f64) {
        *self = Full { bandwidth, rounds: 0, now: false, reached: self.reached };
    }
}

/// Bounds of the model, and the signals that change them (sections 2.9 and 2.10). A bound of infinity has no effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Short-term bound of the bandwidth, segments per second (bw_shortterm).
    pub bw_short: f64,
    /// Short-term bound of the segments outstanding (inflight_shortterm).
    pub inflight_short: f64,
    /// Long-term bound of the segments outstanding (inflight_longterm).
    pub inflight_long: f64,
    /// Maximum delivery rate in the last round trip, segments per second (bw_latest).
    pub bw_latest: f64,
    /// Maximum number of segments delivered by a sample in the last round trip (inflight_latest).
    pub inflight_latest: f64,
    /// `true` if a loss was detected in this round (loss_in_round).
    pub loss_in_round: bool,
    /// Number of segments delivered at which the current round of loss detection ends: it ends with a sample that was
    /// sent after this number of deliveries (loss_round_delivered).
    pub loss_round_delivered: u64,
    /// `true` if this acknowledgement ends that round (loss_round_start).
    pub loss_round_start: bool,
    /// `true` if the segments now being acknowledged were sent in a probe, and no response to a loss among them has
    /// been made yet (bw_probe_samples).
    pub probe_samples: bool,
    /// State before the first loss of this round.
    pub undo: Undo,
}

/// State before a loss, restored if the loss was spurious (BBRSaveStateUponLoss).
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub state: State,
    pub bw_short: f64,
    pub inflight_short: f64,
    pub inflight_long: f64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        let unbounded = f64::INFINITY;
        Bounds {
            bw_short: unbounded,
            inflight_short: unbounded,
            inflight_long: unbounded,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            probe_samples: false,
            undo: Undo {
                state: State::Startup,
                bw_short: unbounded,
                inflight_short: unbounded,
                inflight_long: unbounded,
            },
        }
    }
}

impl Bounds {
    /// Clears the signals of the last round (BBRResetCongestionSignals).
    pub fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }
    /// Removes the short-term bounds (BBRResetShortTermModel).
    pub fn reset_short(&mut self) {
        self.bw_short = f64::INFINITY;
        self.inflight_short = f64::INFINITY;
    }
}

/// Phase in which the segments now being acknowledged were sent (ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    None,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// Cycle of probing for bandwidth (section 5.3.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    pub phase: Phase,
    /// Start of the cycle, the entry to ProbeBW_DOWN (cycle_stamp).
    pub start: Time,
    /// Time from `start` to the next probe (bw_probe_wait).
    pub wait: Dur,
    /// Number of rounds since the last probe, plus a random 0 or 1 (rounds_since_bw_probe).
    pub rounds: u64,
    /// Number of segments that must be delivered for each segment by which the long-term bound grows (probe_up_cnt).
    pub up_count: f64,
    /// Number of rounds of growth in ProbeBW_UP (bw_probe_up_rounds).
    pub up_rounds: u32,
    /// Number of segments delivered since the long-term bound last grew (bw_probe_up_acks).
    pub up_acks: f64,
}

impl Cycle {
    /// Counts a round if one has started.
    pub fn count_round(&mut self, start: bool) {
        self.rounds += u64::from(start);
    }
}
