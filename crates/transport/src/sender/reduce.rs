//! Reductions of the window: the report to the congestion control, and the start and end of recovery.

use super::Sender;
use super::cold::DsackWatch;
use super::groups::Flavour;
use super::state::State;
use crate::cc::{Congestion, CongestionControl, CongestionEvent, EchoResponse, Expired, RecoveryWindow, Window};
use crate::params::{Form, Recovery, SpuriousTimeout};
use tailback_units::Time;

impl Sender {
    /// Reports congestion to the congestion control, which reduces the whole window. If only the window above the
    /// reservation may be reduced and an unmarked segment was lost, the report is about that part of the window.
    /// `flight`: FlightSize, segments.
    pub(super) fn reduce(&mut self, sign: Congestion, now: Time, flight: u32) {
        let marking = self.is_marking();
        let marked = marking && sign != Congestion::Ecn && self.was_marked(self.seq.una);
        let event = CongestionEvent { marked, ..CongestionEvent::new(sign, now, flight) };
        let reserved = if marked || !marking { 0.0 } else { self.reserved_window() };
        if reserved == 0.0 {
            return self.control.on_congestion(&mut self.window, &event);
        }
        let mut excess = Window { cwnd: f64::max(0.0, self.window.cwnd - reserved), ssthresh: self.window.ssthresh };
        let excess_flight = f64::max(0.0, f64::from(flight) - reserved);
        self.control.on_congestion(&mut excess, &CongestionEvent { in_flight: excess_flight as u32, ..event });
        // ssthresh = rwnd + (cwnd − rwnd)/2, computed here because the event has only whole segments.
        self.window.ssthresh =
            reserved + if sign == Congestion::Ecn { excess.ssthresh } else { f64::max(excess_flight / 2.0, 1.0) };
        if sign == Congestion::Ecn {
            self.window.cwnd = reserved + excess.cwnd;
        }
    }

    /// Enters recovery, and reduces the window unless an echo has reduced it less than a window ago.
    pub(super) fn begin_recovery(&mut self, now: Time) {
        self.counts.fast_retransmits += 1;
        self.repair.partial = false;
        self.watch_eifel();
        let flight = self.flight_size();
        let control_sets_window = self.keeps_window();
        if self.is_reduced_once() {
            if !control_sets_window && !self.ecn.is_gradual() {
                self.window.ssthresh = self.window.cwnd;
            }
        } else {
            self.save_window();
            let tahoe = self.repair.flavour == Flavour::Tahoe;
            let sign = if tahoe { Congestion::Timeout } else { Congestion::Loss };
            self.reduce(sign, now, flight);
            // RFC 3168 section 6.1.2: CWR reports a reduction for any reason.
            self.ecn.cwr |= self.ecn_capable;
        }
        self.state = State::Recovery;
        // The time until a segment sent earlier is acknowledged would include the repair.
        self.timers.rtt.stop_timing();
        // Linux's `tcp_enter_recovery` continues a reduction by proportion up to its own end.
        let end = if self.ecn.is_gradual() { self.ecn.reduced_at } else { self.seq.max };
        self.seq.recover = end;
        self.ecn.reduced_for_loss(end);
        if !self.owns_recovery() && !self.uses_prr() && !control_sets_window {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Sets the window to the threshold, at the end of recovery, unless the congestion control sets the window.
    pub(super) fn set_window_to_threshold(&mut self) {
        if !self.owns_recovery() && !self.keeps_window() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Returns `true` if an echo has reduced the window, segments sent before that are still outstanding, and a loss
    /// does not reduce the window again.
    pub(super) fn is_reduced_once(&self) -> bool {
        (self.ecn.is_reduced(self.seq.una) || self.ecn.is_gradual()) && self.profile.echo != EchoResponse::ThenLoss
    }

    /// Returns `true` if the congestion control sets the window at a loss and the sender does not change it in
    /// recovery.
    pub(super) fn keeps_window(&self) -> bool {
        self.profile.recovery == RecoveryWindow::AtLoss && !self.uses_prr()
    }

    /// Returns `true` if proportional rate reduction sets the window in recovery.
    pub(super) fn uses_prr(&self) -> bool {
        matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.prr) && !self.owns_recovery()
    }

    /// Returns FlightSize for a reduction, segments: those outstanding without those of limited transmit (RFC 5681).
    pub(super) fn flight_size(&self) -> u32 {
        self.seq.outstanding().min(self.allowed())
    }

    /// Returns `true` if the rules of Linux apply where they differ from those of the RFCs.
    pub(super) fn is_as_linux(&self) -> bool {
        matches!(&self.tcp.recovery, Recovery::Sack(sack) if sack.form == Form::Linux)
    }

    /// Counts `lost` segments, which are reported with the next acknowledgement.
    pub(super) fn count_lost(&mut self, lost: u32) {
        self.repair.lost += lost;
        if let Some(sampler) = self.sampler() {
            sampler.lost(lost);
        }
    }

    /// Counts `lost` segments that an expiry of a timer has found: of the retransmission timer (`timeout`), or of that of
    /// reordered segments.
    pub(super) fn count_expired(&mut self, now: Time, lost: u32, timeout: bool) {
        let expired = Expired { now, lost, in_flight: self.in_flight(), timeout };
        let before = self.repair.lost;
        self.count_lost(lost);
        if self.control.on_expired(&mut self.window, &expired) {
            self.repair.lost = before;
        }
    }

    /// Saves the window before a reduction, if the parameters allow the reduction to be undone.
    pub(super) fn save_window(&mut self) {
        let by_duplicates = self.tcp.dsack_undo;
        if by_duplicates || self.tcp.spurious_timeout != SpuriousTimeout::Off {
            let (mut prior, from) = (self.window, self.seq.una);
            if self.is_as_linux() && !self.ecn.is_gradual() && self.state != State::Recovery {
                // `tcp_current_ssthresh`.
                prior.ssthresh = prior.ssthresh.max((prior.cwnd / 2.0).floor() + (prior.cwnd / 4.0).floor());
            }
            // Retransmissions that are outstanding now may be reported as duplicates later.
            let unreported = self.board.as_ref().map_or(0, |board| board.retransmitted);
            let cold = self.cold();
            cold.prior = Some(prior);
            cold.dsack_watch = by_duplicates.then_some(DsackWatch { from, unreported });
        }
    }
}
