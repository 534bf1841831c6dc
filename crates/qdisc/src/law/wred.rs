//! Weighted random early detection: an average of the queue, and a profile for each code point, precedence or colour
//! that turns the average into a drop probability.

use super::average::{Average, ramp, uniform_gaps};
use super::red::Idle;
pub use super::wred_params::{Averaged, By, Params, Profile};
use super::{Arrival, ArrivalLaw, Backlog, BuildLaw, Decision, Form};
use crate::retune::Retune;
use crate::{Colour, Fate, Packet, Reason, Site, Watch};
use tailback_random::Rng;
use tailback_units::{Rate, Time};

/// A complete profile: thresholds in packets, and the probability just below `max`.
#[derive(Clone, Copy, Debug)]
struct Slope {
    min: f64,
    max: f64,
    max_p: f64,
}

impl Slope {
    fn new(profile: Profile) -> Slope {
        let number = |n: Option<u32>| f64::from(n.unwrap_or(1));
        Slope { min: number(profile.min), max: number(profile.max), max_p: 1.0 / number(profile.denominator) }
    }
    /// Returns the drop probability at an average, packets.
    fn probability(&self, average: f64) -> f64 {
        if average < self.min {
            0.0
        } else if average >= self.max {
            1.0
        } else {
            ramp(average, self.min, self.max, self.max_p)
        }
    }
}

/// The state of the law at one queue.
#[derive(Clone, Debug)]
pub struct Wred {
    slopes: Vec<Slope>,
    /// The average of the whole queue, or one average for each profile.
    averages: Vec<Average>,
    /// Packets of each profile since its last early drop or mark. `None`: choices are independent.
    since: Option<Vec<u64>>,
    /// Mean packet size, bytes.
    mean_packet: f64,
    /// Drop probability at the last arrival.
    probability: f64,
}

impl Params {
    /// Returns the law with these profiles, for a queue at `site`.
    pub(crate) fn wred(&self, profiles: &[Profile], site: &Site) -> Wred {
        let own = self.average == Averaged::Profile;
        Wred::new(profiles, self.exponent, own, self.spread, self.mean_packet.0, site.rate)
    }
}

impl Wred {
    /// Returns the law for a queue at a link of `rate`. An omitted field of a profile counts as 1. A new sample has
    /// weight 2^-`exponent` in the average. With `own` each profile has its own average; with `spread` drops are spaced
    /// evenly as in RED. `mean_packet` is in bytes.
    pub fn new(profiles: &[Profile], exponent: u8, own: bool, spread: bool, mean_packet: u64, rate: Rate) -> Wred {
        let weight = 1.0 / f64::from(1u32 << exponent);
        let mean_packet = mean_packet as f64;
        let average = Average::new(weight, Idle::Ns, rate.0 as f64 / (8.0 * mean_packet), Form::Published);
        Wred {
            slopes: profiles.iter().map(|profile| Slope::new(*profile)).collect(),
            averages: vec![average; if own { profiles.len() } else { 1 }],
            since: spread.then(|| vec![0; profiles.len()]),
            mean_packet,
            probability: 0.0,
        }
    }

    /// Decides about an arriving packet; `profile` is the index of its profile. `waiting` is the backlog of the queue,
    /// or that of the profile if each profile has its own average.
    pub fn arrive(&mut self, now: Time, profile: usize, waiting: Backlog, rng: &mut Rng) -> Decision {
        let average_index = profile.min(self.averages.len() - 1);
        let average = &mut self.averages[average_index];
        average.sample(now, waiting.packets as f64);
        let p = self.slopes[profile].probability(average.value());
        self.probability = p;
        if p <= 0.0 {
            self.restart(profile);
            return Decision::Pass;
        }
        if p >= 1.0 && average.value() >= self.slopes[profile].max {
            self.restart(profile);
            return Decision::Forced;
        }
        let chance = match &mut self.since {
            Some(since) => {
                since[profile] += 1;
                uniform_gaps(p, p * (since[profile] - 1) as f64)
            }
            None => p,
        };
        if !rng.chance(chance) {
            return Decision::Pass;
        }
        self.restart(profile);
        Decision::Early
    }

    /// Restarts the count of the profile's packets since its last early drop or mark.
    fn restart(&mut self, profile: usize) {
        if let Some(since) = &mut self.since {
            since[profile] = 0;
        }
    }

    /// Notes that the queue is empty and the transmitter free.
    pub fn idle(&mut self, now: Time) {
        self.averages.iter_mut().for_each(|average| average.idle(now));
    }
    /// Notes that the link now has the rate `rate`.
    pub fn set_rate(&mut self, rate: Rate) {
        let packets_per_second = rate.0 as f64 / (8.0 * self.mean_packet);
        self.averages.iter_mut().for_each(|average| average.set_packets_per_second(packets_per_second));
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        let averages: usize = self.averages.iter().map(Average::state_bytes).sum();
        averages + self.since.as_ref().map_or(0, |since| size_of_val(since.as_slice()))
    }
    /// Returns the average queue, packets; the largest average if each profile has its own.
    pub fn average(&self) -> f64 {
        self.averages.iter().map(Average::value).fold(0.0, f64::max)
    }
    /// Returns the drop probability at the last arrival.
    pub fn probability(&self) -> f64 {
        self.probability
    }
}

impl Retune for Wred {
    fn adopt(&mut self, now: Time, fresh: Wred) {
        for (average, fresh) in self.averages.iter_mut().zip(fresh.averages) {
            average.adopt(now, fresh);
        }
        // If `spread` is switched on, the counts start at 0.
        if self.since.is_some() != fresh.since.is_some() {
            self.since = fresh.since;
        }
        (self.slopes, self.mean_packet) = (fresh.slopes, fresh.mean_packet);
    }
}

/// WRED at one queue: the law, and the backlog of each profile.
#[derive(Debug)]
pub struct WredByKind {
    law: Wred,
    by: By,
    /// Index of the profile of nonconforming packets. `None`: they have the profile of their field's
    /// value.
    nonconforming: Option<usize>,
    ecn: bool,
    /// Backlog of each profile. `None`: all profiles share one average.
    waiting: Option<Vec<Backlog>>,
}

impl WredByKind {
    /// Returns the index of a packet's profile.
    fn profile(&self, packet: &Packet) -> usize {
        match self.nonconforming {
            Some(profile) if packet.colour() != Colour::Green => profile,
            _ => self.by.of(packet),
        }
    }
}

impl BuildLaw for Params {
    type Law = WredByKind;
    fn law(&self, site: &Site) -> WredByKind {
        let profiles = self.complete();
        let own = self.average == Averaged::Profile;
        WredByKind {
            law: self.wred(&profiles, site),
            by: self.by,
            nonconforming: self.nonconforming_index(),
            ecn: self.ecn,
            waiting: own.then(|| vec![Backlog::default(); profiles.len()]),
        }
    }
}

impl Retune for WredByKind {
    fn adopt(&mut self, now: Time, fresh: WredByKind) {
        self.law.adopt(now, fresh.law);
        self.ecn = fresh.ecn;
    }
}

impl ArrivalLaw for WredByKind {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        let profile = self.profile(arrival.packet);
        let backlog = self.waiting.as_ref().map_or(arrival.queue, |waiting| waiting[profile]);
        let decision = self.law.arrive(arrival.now, profile, backlog, rng);
        if arrival.full {
            return Fate::Dropped(Reason::BufferFull);
        }
        let fate = arrival.fate(decision, self.ecn);
        if let Some(waiting) = &mut self.waiting
            && !matches!(fate, Fate::Dropped(_))
        {
            waiting[profile].packets += 1;
            waiting[profile].bytes += u64::from(arrival.packet.size);
        }
        fate
    }
    fn depart(&mut self, _now: Time, packet: &Packet, _left: Backlog) {
        let profile = self.profile(packet);
        if let Some(waiting) = &mut self.waiting {
            waiting[profile].packets -= 1;
            waiting[profile].bytes -= u64::from(packet.size);
        }
    }
    fn watches(&self) -> Watch {
        Watch::Idle
    }
    fn idle(&mut self, now: Time) {
        self.law.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("average_packets", self.law.average());
        f("probability", self.law.probability());
    }
    fn state_bytes(&self) -> usize {
        self.law.state_bytes() + self.waiting.as_ref().map_or(0, |waiting| size_of_val(waiting.as_slice()))
    }
}
