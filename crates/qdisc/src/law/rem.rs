//! Random exponential marking (Athuraliya, Li, Low and Yin, IEEE Network 2001), as in ns-2.35.

use super::{Arrival, ArrivalLaw, Backlog, BuildLaw};
pub use crate::law::red::Count;
use crate::retune::Retune;
use crate::signals::{Length, Signals, Threshold};
use crate::state::bytes_of;
use crate::{Fate, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::{Rng, maths};
use tailback_units::{Amount, Dur, Rate, Size, Time};

/// Random exponential marking (Athuraliya et al. 2001): a price rises while the input rate exceeds
/// the link's rate or the queue exceeds `target`, and falls otherwise. Arriving packets are marked
/// or dropped with probability 1 − phi^(−price), so that the end-to-end probability depends on the
/// sum of the prices of the links. The defaults are those of ns-2.35.
///
/// Differs from ns-2.35, which marks packets when they leave the queue and, if marking is enabled, neither marks nor
/// drops packets that are not ECN-capable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Step of the price at each update per packet of mismatch, above 0 and at most 1000000. The mismatch is the number
    /// of packets that arrived minus the number that the link can send between two updates, plus `queue-weight` times
    /// the deviation of the queue from `target`. Default 0.001.
    pub gamma: f64,
    /// Base of the exponential, above 1 and at most 1000000. Default 1.001.
    pub phi: f64,
    /// Weight of a new sample in the average input rate, above 0 and at most 1. Default 1.
    pub weight: f64,
    /// Weight of the deviation of the queue from `target`, relative to the mismatch of rates, above
    /// 0 and at most 1000. Default 0.1.
    pub queue_weight: f64,
    /// Target queue length. Default 20packets.
    pub target: Amount,
    /// Time between two updates of the price, above 0s and at most 24h. Default 2ms.
    pub update: Dur,
    /// Unit in which rate and queue are measured: "packets", or "bytes" divided by `mean-packet`,
    /// with probabilities proportional to packet size. Default "packets".
    pub count: Count,
    /// Mean packet size, which converts between packets and bytes, 1 B to 65535 B. Default 1000 B.
    pub mean_packet: Size,
    /// `true` if ECN-capable packets are marked instead of dropped. Default false.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            gamma: 0.001,
            phi: 1.001,
            weight: 1.0,
            queue_weight: 0.1,
            target: Amount::packets(20),
            update: Dur::from_ms(2),
            count: Count::Packets,
            mean_packet: Size(1000),
            ecn: false,
        }
    }
}

impl Params {
    /// Refuses steps, weights and times out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("gamma", self.gamma, 0.0, 1e6)?;
        check::above("phi", self.phi, 1.0, 1e6)?;
        check::above("weight", self.weight, 0.0, 1.0)?;
        check::above("queue-weight", self.queue_weight, 0.0, 1e3)?;
        check::duration("update", self.update)?;
        check::packet("mean-packet", self.mean_packet)
    }
    /// Returns the number of packets that a link of `rate` sends between two updates.
    fn capacity(&self, rate: Rate) -> f64 {
        let packets_per_second = rate.0 as f64 / (8.0 * self.mean_packet.0 as f64);
        self.update.as_secs() * packets_per_second
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let derived = self.target == Params::default().target;
        let length = Length::of(self.target, self.count, self.mean_packet);
        f(Threshold { path: "target".to_owned(), derived, length, site: *site });
    }
}

/// The state of the law at one queue.
#[derive(Clone, Debug)]
pub struct Rem {
    params: Params,
    /// Target queue length, packets.
    target: f64,
    /// Packets that the link sends between two updates.
    capacity: f64,
    /// Arrivals since the last update.
    arrived: Backlog,
    /// Average of the arrivals between two updates, packets.
    average: f64,
    price: f64,
    probability: f64,
    /// Time of the next update.
    due: Time,
}

impl Rem {
    /// Returns the law for a queue at a link of `rate`; the parameters must have passed `check`.
    pub fn new(params: &Params, rate: Rate) -> Rem {
        Rem {
            target: params.target.in_packets(params.mean_packet.0 as f64),
            params: params.clone(),
            capacity: params.capacity(rate),
            arrived: Backlog::default(),
            average: 0.0,
            price: 0.0,
            probability: 0.0,
            due: Time::ZERO + params.update,
        }
    }
    /// Returns the probability with which packets are marked or dropped.
    pub fn probability(&self) -> f64 {
        self.probability
    }
}

impl BuildLaw for Params {
    type Law = Rem;
    fn law(&self, site: &Site) -> Rem {
        Rem::new(self, site.rate)
    }
}

/// The average number of arrivals between two updates is converted to the new interval, and the arrivals since the last
/// update to the part of the new interval that has passed, so that a new interval alone does not move the price.
impl Retune for Rem {
    fn adopt(&mut self, now: Time, fresh: Rem) {
        let (old, new) = (self.params.update, fresh.params.update);
        let due = self.due.min(now + new);
        let (passed, passed_of_new) = (old - self.due.since(now), new - due.since(now));
        let share = if passed > Dur::ZERO { passed_of_new.0 as f64 / passed.0 as f64 } else { 1.0 };
        let part = |amount: u64| (amount as f64 * share).round() as u64;
        let arrived = Backlog { packets: part(self.arrived.packets), bytes: part(self.arrived.bytes) };
        let average = self.average * (new.0 as f64 / old.0 as f64);
        *self = Rem { arrived, average, price: self.price, probability: self.probability, due, ..fresh };
    }
}

impl ArrivalLaw for Rem {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        let size = arrival.packet.size;
        // The input rate includes packets that find the queue full.
        self.arrived.packets += 1;
        self.arrived.bytes += u64::from(size);
        if arrival.full {
            return Fate::Dropped(Reason::BufferFull);
        }
        let share = match self.params.count {
            Count::Packets => 1.0,
            Count::Bytes => f64::from(size) / self.params.mean_packet.0 as f64,
        };
        if rng.chance(self.probability * share) { arrival.signal(self.params.ecn) } else { Fate::Joins }
    }
    fn next_update(&self) -> Option<Time> {
        Some(self.due)
    }
    /// Updates price and probability.
    fn update(&mut self, now: Time, queue: Backlog) {
        let in_packets = |amount: Backlog| match self.params.count {
            Count::Packets => amount.packets as f64,
            Count::Bytes => amount.bytes as f64 / self.params.mean_packet.0 as f64,
        };
        let Params { gamma, phi, weight, queue_weight, update, .. } = self.params;
        self.average = self.average * (1.0 - weight) + weight * in_packets(self.arrived);
        let mismatch = self.average + queue_weight * (in_packets(queue) - self.target) - self.capacity;
        self.price = f64::max(0.0, self.price + gamma * mismatch);
        self.probability = 1.0 - maths::pow(phi, -self.price);
        self.arrived = Backlog::default();
        self.due = now + update;
    }
    fn set_rate(&mut self, rate: Rate) {
        self.capacity = self.params.capacity(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("price", self.price);
        f("probability", self.probability);
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; arrived, average, price, probability, due)
    }
}
