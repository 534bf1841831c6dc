//! What only some senders need, and those not always.

use super::Sender;
use super::reserve::{Marks, Reserve};
use super::sampler::Sampler;
use super::state::RareCounts;
use crate::cc::Window;
use crate::params::{SpuriousTimeout, WindowValidation};
use crate::seq::before;
use crate::wire::Block;
use std::collections::VecDeque;
use tailback_units::Time;

/// What spaces segments, and what their rate is measured with.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// No segment before this time.
    pub release: Time,
    /// Whether a segment may leave but for that.
    pub holds: bool,
    pub sampler: Option<Box<Sampler>>,
}

/// What only some senders need, and those not always.
#[derive(Debug, Default)]
pub(super) struct Rare {
    /// Segments that are not full: how many were offered before each, and its payload.
    pub short: VecDeque<(u64, u16)>,
    /// The window before the last reduction, where that may be undone.
    pub prior: Option<Window>,
    /// When the first retransmission of this recovery was sent, while Eifel waits for its answer.
    pub eifel: Option<Time>,
    /// Of the last reduction, where reports of duplicates may undo it.
    pub doubt: Option<Doubt>,
    /// With `window-validation = "round"`.
    pub used: Used,
    pub counts: RareCounts,
    pub reserve: Option<Box<Reserve>>,
    pub marks: Marks,
}

/// What has been sent again since a reduction (RFC 3708 section 3).
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// First segment not acknowledged at the reduction.
    pub from: u32,
    /// Retransmissions since, and those then under way, less the duplicates reported of them.
    pub unreported: u32,
}

/// How much of the window has been used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Most segments outstanding in this round trip.
    pub flight: u32,
    /// It ends when this one is acknowledged.
    pub until: u32,
}

impl Sender {
    /// What many senders never need.
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Keeps the window before a reduction, where that may turn out to have had no reason.
    pub(super) fn keep_window(&mut self) {
        let hears = self.tcp.dsack_undo;
        if hears || !self.watches(SpuriousTimeout::Off) {
            let (prior, from) = (self.window, self.una);
            // Those under way may be reported yet.
            let unreported = self.board.as_ref().map_or(0, |board| board.retransmitted);
            let rare = self.rare();
            rare.prior = Some(prior);
            rare.doubt = hears.then_some(Doubt { from, unreported });
        }
    }

    /// Whether, with this report of a duplicate, all that was sent again since the last reduction has arrived twice
    /// (RFC 3708 section 3): nothing was lost.
    pub(super) fn was_needless(&mut self, reported: Block) -> bool {
        let Some(doubt) = self.rare.as_mut().and_then(|rare| rare.doubt.as_mut()) else { return false };
        if doubt.unreported == 0 || before(reported.start, doubt.from) {
            return false;
        }
        doubt.unreported = doubt.unreported.saturating_sub(reported.end.wrapping_sub(reported.start));
        doubt.unreported == 0
    }

    /// Keeps the most segments outstanding of the last round trip, as Linux's `tcp_cwnd_validate` does.
    pub(super) fn note_flight(&mut self) {
        let (una, max) = (self.una, self.max);
        let flight = max.wrapping_sub(una);
        let used = &mut self.rare().used;
        if !before(una, used.until) || flight > used.flight {
            *used = Used { flight, until: max };
        }
    }

    /// Segments that slow start compares the window with, `in_flight` being outstanding.
    #[inline]
    pub(super) fn used(&self, in_flight: u32) -> u32 {
        match (self.tcp.window_validation, &self.rare) {
            (WindowValidation::Round, Some(rare)) => rare.used.flight,
            _ => in_flight,
        }
    }
}
