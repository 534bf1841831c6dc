//! Transfers that arrive at random, each on a fresh connection.

use tailback_random::Rng;
use tailback_units::Time;

/// State of an application that makes transfers.
#[derive(Debug)]
pub(super) struct Transfers {
    pub(super) spec: tailback_traffic::Transfers,
    pub(super) rng: Rng,
    /// Index of the group in the results.
    pub(super) group: usize,
    /// Instant at and after which no transfer begins.
    pub(super) stop: Time,
    /// First flow of the group, whose events start transfers (on any of the flows).
    pub(super) clock: u32,
    /// Indices of the slots without a transfer, unsorted.
    pub(super) free: Vec<u32>,
    /// One slot for each flow of the group.
    pub(super) slots: Vec<Slot>,
}

/// A flow of the group and its current transfer.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) flow: u32,
    /// Start of the last transfer.
    pub(super) began: Time,
    /// Bytes of the transfer in progress; 0: there is none, or all its bytes are acknowledged.
    pub(super) bytes: u64,
    /// `true` if the connection has carried a transfer, and is reopened before the next one.
    pub(super) used: bool,
}

impl Transfers {
    /// Returns the state without a transfer in progress; `flows` carry the transfers.
    pub fn new(spec: tailback_traffic::Transfers, rng: Rng, group: usize, stop: Time, flows: &[u32]) -> Transfers {
        let slot = |flow: &u32| Slot { flow: *flow, began: Time::ZERO, bytes: 0, used: false };
        Transfers {
            spec,
            rng,
            group,
            stop,
            clock: flows[0],
            free: (0..flows.len() as u32).collect(),
            slots: flows.iter().map(slot).collect(),
        }
    }

    /// Returns the flow whose event starts the first transfer, and the time of that event.
    pub fn first(&mut self, start: Time) -> (u32, Time) {
        (self.clock, start + self.spec.gap(&mut self.rng))
    }
}
