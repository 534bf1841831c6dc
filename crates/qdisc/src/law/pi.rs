//! The proportional integral controller (Hollot, Misra, Towsley and Gong, INFOCOM 2001), as in ns-2.35.

use super::{Arrival, ArrivalLaw, Backlog, BuildLaw};
pub use crate::law::red::Count;
use crate::retune::Retune;
use crate::signals::{Length, Signals, Threshold};
use crate::state::bytes_of;
use crate::{Fate, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Amount, Dur, Size, Time};

/// The proportional integral controller (Hollot et al. 2001): at a constant frequency, a · (q −
/// `reference`) − b · (q' − `reference`) is added to the probability with which arriving packets
/// are marked or dropped, with q the present queue length and q' that at the previous update, in packets. The defaults
/// are those of ns-2.35.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Gain of the present deviation from `reference`, probability per packet, above 0 and at most 1.
    /// Default 1.822e-5.
    pub a: f64,
    /// Gain of the deviation at the previous update, probability per packet, above 0 and at most `a`.
    /// Default 1.816e-5.
    pub b: f64,
    /// Updates per second, 0.001 to 1e6. Default 170.
    pub frequency: f64,
    /// Target queue length. Default 50packets.
    pub reference: Amount,
    /// Unit in which the queue is measured: "packets", or "bytes" divided by `mean-packet`. Default
    /// "packets".
    pub count: Count,
    /// Mean packet size, which converts between packets and bytes, 1 B to 65535 B. Default 500 B.
    pub mean_packet: Size,
    /// `true` if a packet's probability is proportional to its size: p · size / `mean-packet`.
    /// Default false.
    pub byte_mode: bool,
    /// `true` if ECN-capable packets are marked instead of dropped. Default false.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            a: 1.822e-5,
            b: 1.816e-5,
            frequency: 170.0,
            reference: Amount::packets(50),
            count: Count::Packets,
            mean_packet: Size(500),
            byte_mode: false,
            ecn: false,
        }
    }
}

impl Params {
    /// Refuses gains and a frequency out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("a", self.a, 0.0, 1.0)?;
        check::above("b", self.b, 0.0, self.a)?;
        check::within("frequency", self.frequency, 1e-3, 1e6)?;
        check::packet("mean-packet", self.mean_packet)
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let derived = self.reference == Params::default().reference;
        let length = Length::of(self.reference, self.count, self.mean_packet);
        f(Threshold { path: "reference".to_owned(), derived, length, site: *site });
    }
}

/// The state of the law at one queue.
#[derive(Clone, Debug)]
pub struct Pi {
    params: Params,
    /// Target queue length, packets.
    reference: f64,
    /// Time between two updates.
    period: Dur,
    probability: f64,
    /// Queue length at the last update, packets.
    old: f64,
    /// Time of the next update.
    due: Time,
}

impl Pi {
    /// Returns the law in its initial state; the parameters must have passed `check`.
    pub fn new(params: &Params) -> Pi {
        Pi {
            reference: params.reference.in_packets(params.mean_packet.0 as f64),
            period: Dur::from_secs_f64(1.0 / params.frequency),
            params: params.clone(),
            probability: 0.0,
            old: 0.0,
            due: Time::ZERO,
        }
    }
    /// Returns the probability with which packets are marked or dropped.
    pub fn probability(&self) -> f64 {
        self.probability
    }
}

impl BuildLaw for Params {
    type Law = Pi;
    fn law(&self, _site: &Site) -> Pi {
        Pi::new(self)
    }
}

impl Retune for Pi {
    fn adopt(&mut self, now: Time, fresh: Pi) {
        let due = self.due.min(now + fresh.period);
        *self = Pi { probability: self.probability, old: self.old, due, ..fresh };
    }
}

impl ArrivalLaw for Pi {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        if arrival.full {
            return Fate::Dropped(Reason::BufferFull);
        }
        let size = f64::from(arrival.packet.size);
        let share = if self.params.byte_mode { size / self.params.mean_packet.0 as f64 } else { 1.0 };
        if rng.chance(self.probability * share) { arrival.signal(self.params.ecn) } else { Fate::Joins }
    }
    /// Returns the time of the next update; the first one is due at the start of the run.
    fn next_update(&self) -> Option<Time> {
        Some(self.due)
    }
    fn update(&mut self, now: Time, queue: Backlog) {
        let waiting = match self.params.count {
            Count::Packets => queue.packets as f64,
            Count::Bytes => queue.bytes as f64 / self.params.mean_packet.0 as f64,
        };
        let Params { a, b, .. } = self.params;
        let p = a * (waiting - self.reference) - b * (self.old - self.reference) + self.probability;
        self.probability = p.clamp(0.0, 1.0);
        self.old = waiting;
        self.due = now + self.period;
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("probability", self.probability);
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; probability, old, due)
    }
}
