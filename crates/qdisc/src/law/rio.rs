//! Random early detection by drop precedence: RIO (Clark and Fang, IEEE/ACM ToN 6(4), 1998). Drop precedence 0 ("in",
//! green) is the best protected.

use super::red::{self, Red};
pub use super::rio_params::Params;
use super::{Arrival, ArrivalLaw, Backlog, BuildLaw, Decision};
use crate::retune::Retune;
use crate::{Fate, Packet, Reason, Site, Watch};
use tailback_random::Rng;
use tailback_units::{Rate, Time};

/// RED with In and Out, for any number of drop precedences. The decision about a packet depends on the average of the
/// waiting packets of its own and of better protected precedences: on "in" packets alone for an "in" packet, on all
/// packets for one of the last precedence.
///
/// Differs from ns-2.35, whose averages are not sampled at arrivals of "out" packets (a defect that its source notes).
#[derive(Clone, Debug)]
pub struct Rio {
    /// One RED for each drop precedence, the best protected first.
    levels: Vec<Red>,
}

impl Rio {
    /// Returns the law with one RED per drop precedence, the best protected first, at a link of `rate`. The parameters
    /// must have passed `check`.
    ///
    /// # Panics
    /// If there are no levels.
    pub fn new(levels: &[red::Params], rate: Rate) -> Rio {
        assert!(!levels.is_empty(), "RIO has a RED for each precedence");
        Rio { levels: levels.iter().map(|params| Red::new(params, rate)).collect() }
    }
    /// Decides about an arriving packet of `size` bytes; a drop precedence without a RED counts as the last one that
    /// has one. `queues[k]` is the backlog of precedences 0 to k; the last entry is also used for missing ones.
    pub fn arrive(&mut self, now: Time, queues: &[Backlog], size: u16, precedence: u8, rng: &mut Rng) -> Decision {
        let own = usize::from(precedence).min(self.levels.len() - 1);
        let mut decision = Decision::Pass;
        for (level, red) in self.levels.iter_mut().enumerate().skip(own) {
            let queue = queues.get(level).or(queues.last()).copied().unwrap_or_default();
            if level == own {
                decision = red.arrive(now, queue, size, rng);
            } else {
                red.observe(now, queue);
            }
        }
        decision
    }
    /// Notes that a packet of this drop precedence was dropped because the queue is full.
    pub fn forced(&mut self, precedence: u8) {
        let own = usize::from(precedence).min(self.levels.len() - 1);
        self.levels[own].forced();
    }
    /// Notes that an idle time has begun, as [`Red::idle`] defines it.
    pub fn idle(&mut self, now: Time) {
        self.levels.iter_mut().for_each(|red| red.idle(now));
    }
    /// Notes that the link now has the rate `rate`.
    pub fn set_rate(&mut self, rate: Rate) {
        self.levels.iter_mut().for_each(|red| red.set_rate(rate));
    }
    /// Returns the RED of each drop precedence, the best protected first.
    pub fn levels(&self) -> &[Red] {
        &self.levels
    }
}

/// RIO at one queue: the law, and the backlog by colour.
#[derive(Debug)]
pub struct RioByColour {
    law: Rio,
    /// For each level `true` if ECN-capable packets are marked.
    ecn: Vec<bool>,
    /// For each level the backlog of this and of better protected levels.
    waiting: Vec<Backlog>,
    /// Event that starts an idle time.
    watches: Watch,
}

impl RioByColour {
    /// Returns the level of a packet: the last one if its colour has no level of its own.
    fn level(&self, packet: &Packet) -> usize {
        (packet.colour() as usize).min(self.waiting.len() - 1)
    }
}

impl BuildLaw for Params {
    type Law = RioByColour;
    fn law(&self, site: &Site) -> RioByColour {
        let levels: Vec<red::Params> = self.levels().into_iter().map(|(_, level)| level.clone()).collect();
        RioByColour {
            law: Rio::new(&levels, site.rate),
            ecn: levels.iter().map(|level| level.ecn).collect(),
            waiting: vec![Backlog::default(); levels.len()],
            watches: self.green.idle.watch(),
        }
    }
}

impl Retune for RioByColour {
    fn adopt(&mut self, now: Time, fresh: RioByColour) {
        for (red, fresh) in self.law.levels.iter_mut().zip(fresh.law.levels) {
            red.adopt(now, fresh);
        }
        (self.ecn, self.watches) = (fresh.ecn, fresh.watches);
    }
}

impl ArrivalLaw for RioByColour {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        let (level, size) = (self.level(arrival.packet), arrival.packet.size);
        let decision = self.law.arrive(arrival.now, &self.waiting, size, level as u8, rng);
        if arrival.full {
            self.law.forced(level as u8);
            return Fate::Dropped(Reason::BufferFull);
        }
        let fate = arrival.fate(decision, self.ecn[level] && self.law.levels[level].may_mark());
        if !matches!(fate, Fate::Dropped(_)) {
            for waiting in &mut self.waiting[level..] {
                waiting.packets += 1;
                waiting.bytes += u64::from(size);
            }
        }
        fate
    }
    fn depart(&mut self, _now: Time, packet: &Packet, _left: Backlog) {
        let level = self.level(packet);
        for waiting in &mut self.waiting[level..] {
            waiting.packets -= 1;
            waiting.bytes -= u64::from(packet.size);
        }
    }
    fn watches(&self) -> Watch {
        self.watches
    }
    fn idle(&mut self, now: Time) {
        self.law.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.law.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        const NAMES: [[&str; 2]; 3] = [
            ["green_average", "green_probability"],
            ["yellow_average", "yellow_probability"],
            ["red_average", "red_probability"],
        ];
        for (law, [average, probability]) in self.law.levels().iter().zip(NAMES) {
            f(average, law.average());
            f(probability, law.probability());
        }
    }
    fn state_bytes(&self) -> usize {
        self.law.levels().iter().map(Red::state_bytes).sum::<usize>() + size_of_val(self.waiting.as_slice())
    }
}
