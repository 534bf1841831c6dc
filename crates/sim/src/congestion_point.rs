//! Congestion point (IEEE 802.1Qau) of a queue: its law, its random stream and its counters.

use crate::ledger::Count;
use tailback_qdisc::congestion_notification::cp::{Arrival, Point, Spec, Watch};
use tailback_qdisc::congestion_notification::{Feedback, Tag, wire};
use tailback_qdisc::law::Backlog;
use tailback_random::Rng;
use tailback_units::Time;

/// The congestion point of one class at one output port.
#[derive(Debug)]
pub(crate) struct CongestionPoint {
    law: Point,
    rng: Rng,
    /// Number of the congestion point in messages and tags, from 1; 0: not assigned yet.
    pub number: u16,
    /// Format of the congestion point's messages.
    pub format: wire::Format,
    /// Messages sent since the start.
    pub messages_sent: u64,
    /// Counters since the end of the warm-up.
    pub counters: Counters,
}

/// Counters of a congestion point.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Frames that arrived.
    pub arrived: u64,
    /// Arrived frames that were sampled.
    pub sampled: u64,
    /// Numbers of messages sent: to stop, to slow down, to speed up.
    pub sent: [u64; 3],
    /// Messages sent for frames that requested a message and were not sampled.
    pub solicited: u64,
}

impl CongestionPoint {
    pub fn new(spec: &Spec, rng: Rng) -> CongestionPoint {
        CongestionPoint {
            law: spec.build(),
            rng,
            number: 0,
            format: wire::Format::of(spec),
            messages_sent: 0,
            counters: Counters::default(),
        }
    }

    /// Replaces the parameters of the law, and the format of messages, which depends on them.
    pub fn retune(&mut self, now: Time, spec: &Spec) {
        self.law.retune(now, spec);
        self.format = wire::Format::of(spec);
    }

    /// Processes the arrival of a frame of `size` buffer bytes, with its rate-limited tag if it has one, at a queue of
    /// length `queued`. Returns the feedback for the frame's source; `None`: no message is sent.
    pub fn judge(&mut self, queued: Count, size: u16, tag: Option<Tag>) -> Option<Feedback> {
        let queued = Backlog { packets: queued.packets, bytes: queued.bytes };
        let limited = tag.filter(|tag| tag.point == self.number).map(|tag| tag.solicit);
        let answer = self.law.judge(&Arrival { queued, size, limited }, &mut self.rng);
        let counters = &mut self.counters;
        counters.arrived += 1;
        counters.sampled += u64::from(answer.sampled);
        let feedback = answer.feedback?;
        self.messages_sent += 1;
        counters.sent[match feedback {
            Feedback::Stop => 0,
            Feedback::Change(amount) if amount < 0.0 => 1,
            Feedback::Change(_) => 2,
        }] += 1;
        counters.solicited += u64::from(!answer.sampled);
        Some(feedback)
    }
}
