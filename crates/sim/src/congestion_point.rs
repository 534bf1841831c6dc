//! A congestion point at work: its law, its random stream, and what it has counted.

use crate::ledger::Count;
use tailback_qdisc::congestion_notification::cp::{Arrival, Point, Spec, Watch};
use tailback_qdisc::congestion_notification::{Feedback, Tag, wire};
use tailback_qdisc::law::Backlog;
use tailback_random::Rng;

/// The congestion point of one class at one output port.
#[derive(Debug)]
pub(crate) struct CongestionPoint {
    law: Point,
    rng: Rng,
    /// Its number in messages and tags, from 1.
    pub number: u16,
    /// The format of its messages.
    pub format: wire::Format,
    /// Messages since the start.
    pub said: u64,
    pub counters: Counters,
}

/// What it has counted since the end of the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Frames that arrived.
    pub arrived: u64,
    /// Of these, sampled.
    pub sampled: u64,
    /// Messages to stop, to slow down, to speed up.
    pub sent: [u64; 3],
    /// Of these, in answer to frames that were not sampled.
    pub solicited: u64,
}

impl CongestionPoint {
    pub fn new(spec: &Spec, rng: Rng) -> CongestionPoint {
        CongestionPoint {
            law: spec.build(),
            rng,
            number: 0,
            format: wire::Format::of(spec),
            said: 0,
            counters: Counters::default(),
        }
    }

    /// A frame of `size` buffer bytes arrives at a queue of so much: what its source should be told.
    pub fn judge(&mut self, queued: Count, size: u16, tag: Option<Tag>) -> Option<Feedback> {
        let queued = Backlog { packets: queued.packets, bytes: queued.bytes };
        let limited = tag.filter(|tag| tag.point == self.number).map(|tag| tag.solicit);
        let answer = self.law.judge(&Arrival { queued, size, limited }, &mut self.rng);
        let counters = &mut self.counters;
        counters.arrived += 1;
        counters.sampled += u64::from(answer.sampled);
        let feedback = answer.feedback?;
        self.said += 1;
        counters.sent[match feedback {
            Feedback::Stop => 0,
            Feedback::Change(amount) if amount < 0.0 => 1,
            Feedback::Change(_) => 2,
        }] += 1;
        counters.solicited += u64::from(!answer.sampled);
        Some(feedback)
    }
}
