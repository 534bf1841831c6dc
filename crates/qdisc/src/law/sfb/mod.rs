//! Stochastic fair Blue (Feng, Kandlur, Saha and Shin, UM CSE-TR-387-99 and INFOCOM 2001): Blue per bin. Independent
//! hashes assign each flow a bin at each level. The probability of a flow is the smallest of its bins, so that the
//! probability of a responsive flow is large only if unresponsive flows share all of its bins. A flow whose bins all
//! have probability 1 does not respond to signals and is put into a penalty box.

mod bins;
mod params;
mod penalty_box;

pub use bins::Bins;
pub use params::{BinFull, Boxed, Form, LowerAt, Params, PenaltyBox, Rehash, Scope, Warmed};
pub use penalty_box::Limiter;

use super::blue::Timers;
use crate::retune::Retune;
use crate::state::bytes_of;
use params::Settings;
use tailback_random::Rng;
use tailback_units::Time;

/// The decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is queued; the caller then calls [`Sfb::accept`].
    Pass(Ticket),
    /// The packet is marked and queued (the caller then calls [`Sfb::accept`]), or dropped if it cannot be marked.
    Signal(Ticket),
    /// The packet is dropped by the law.
    Drop,
    /// The packet is dropped because its flow is in the penalty box.
    Boxed,
}

/// For each of the two sets of bins, the seed of the hashes by which a waiting packet is counted in it; 0: the packet
/// is not counted in this set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket([u64; 2]);

/// The state of the law at one queue.
#[derive(Clone, Debug)]
pub struct Sfb {
    settings: Settings,
    /// The set that decides and, with a moving hash, the one that decides next.
    sets: [Bins; 2],
    /// Index of the set that decides.
    current: usize,
    /// Time at which the current set began to decide.
    since: Time,
    limiter: Limiter,
    /// Bit set of the flows of which a packet has arrived.
    seen: Vec<u64>,
}

/// If the change switches the moving hash on, the first change of the set is one interval later.
impl Retune for Sfb {
    fn adopt(&mut self, now: Time, fresh: Sfb) {
        if self.settings.rehash_interval.is_none() && fresh.settings.rehash_interval.is_some() {
            self.since = now;
        }
        self.settings = fresh.settings;
        for (set, fresh) in self.sets.iter_mut().zip(fresh.sets) {
            set.adopt(now, fresh);
        }
        self.limiter.adopt(now, fresh.limiter);
    }
}

impl Sfb {
    /// Returns the law in its initial state; the parameters must have passed `check`. The hashes are drawn at the first
    /// arrival.
    pub fn new(params: &Params) -> Sfb {
        let settings = params.settings();
        let timers = if settings.freeze_down.is_some() { Timers::Separate } else { Timers::Shared };
        let set = Bins::with_timers(settings.levels, settings.bins, timers);
        let limiter = Limiter::new(&settings, set.len());
        Sfb { settings, sets: [set.clone(), set], current: 0, since: Time::ZERO, limiter, seen: Vec::new() }
    }

    /// Decides about an arriving packet of `flow`.
    pub fn arrive(&mut self, now: Time, flow: u32, rng: &mut Rng) -> Verdict {
        self.move_hash(now, rng);
        self.note(flow);
        let hold = self.holds(flow);
        let set = &mut self.sets[self.current];
        let found = set.update(now, flow, &self.settings, hold);
        if found.is_refused(&self.settings) {
            return Verdict::Drop;
        }
        let boxed = found.p_min >= self.settings.threshold;
        let mut ticket = Ticket::default();
        if self.is_warming(now) && (boxed || self.settings.warmed == Warmed::All) {
            let next = &mut self.sets[1 - self.current];
            if boxed && self.settings.form == Form::Thesis {
                // The penalty box admits few packets of the flow, so that its bins would not fill: their probabilities
                // are raised directly.
                next.press(now, flow, &self.settings);
            } else {
                next.update(now, flow, &self.settings, false);
            }
            ticket.0[1 - self.current] = next.seed();
        }
        let set = &mut self.sets[self.current];
        if boxed {
            if self.settings.boxed == Boxed::Keep {
                set.keep(now, flow);
            }
            if self.settings.boxed == Boxed::Pressure {
                set.press(now, flow, &self.settings);
            }
            if !self.limiter.admit(now, flow, set) {
                return Verdict::Boxed;
            }
            if self.settings.boxed != Boxed::Uncounted {
                ticket.0[self.current] = set.seed();
            }
            return Verdict::Pass(ticket);
        }
        ticket.0[self.current] = set.seed();
        match self.settings.form {
            Form::Thesis if rng.chance(found.p_min) => Verdict::Signal(ticket),
            Form::Thesis => Verdict::Pass(ticket),
            Form::Linux => {
                // In 16 bits, as in the kernel; above 1/2 an increasing part of the marks becomes
                // drops.
                const MAX: i64 = 0xffff;
                let (r, p) = ((rng.uniform() * 65_536.0) as i64, (found.p_min * MAX as f64).round() as i64);
                if r >= p {
                    Verdict::Pass(ticket)
                } else if r < (p - MAX / 2) * 2 {
                    Verdict::Drop
                } else {
                    Verdict::Signal(ticket)
                }
            }
        }
    }

    /// Returns `true` if [`Sfb::arrive`] must be called also for packets that find the queue full.
    pub fn hears_of_overflow(&self) -> bool {
        self.settings.form == Form::Thesis
    }

    /// Notes that a packet of `flow` has been queued, with the ticket that [`Sfb::arrive`]
    /// returned.
    pub fn accept(&mut self, flow: u32, ticket: Ticket) {
        for (set, seed) in self.sets.iter_mut().zip(ticket.0) {
            set.count(flow, seed);
        }
    }

    /// Notes that a packet of `flow` has left the queue.
    pub fn depart(&mut self, now: Time, flow: u32, ticket: Ticket) {
        let hold = self.settings.lower_at == LowerAt::Departure && self.holds(flow);
        for (set, seed) in self.sets.iter_mut().zip(ticket.0) {
            // A set with new hashes has empty bins and does not count packets that were queued before the change. Linux
            // keeps the counts of a set when its hashes change.
            if seed == set.seed() || self.settings.form == Form::Linux {
                set.discount(now, flow, seed, &self.settings, hold);
            }
        }
    }

    /// Returns the flow's bin at each level, 0 to `bins` − 1, by the present hashes. The hashes
    /// are drawn at the first arrival; before it the result has no meaning.
    pub fn bins(&self, flow: u32) -> Vec<usize> {
        self.sets[self.current].of(flow).collect()
    }
    /// Returns the probability with which the flow's packets are marked or dropped early: the
    /// smallest of its bins.
    pub fn probability(&self, flow: u32) -> f64 {
        self.sets[self.current].p_min(flow)
    }
    /// Returns `true` if each of the flow's bins is also a bin of one of `others`, so that the other
    /// flows can raise the flow's probability.
    pub fn is_covered(&self, flow: u32, others: &[u32]) -> bool {
        let others: Vec<Vec<usize>> = others.iter().map(|other| self.bins(*other)).collect();
        self.bins(flow).iter().enumerate().all(|(level, bin)| others.iter().any(|other| other[level] == *bin))
    }
    /// Returns the flows in the penalty box, in ascending order, among those of which a packet has arrived.
    pub fn boxed_flows(&self) -> impl Iterator<Item = u32> + '_ {
        let flows = self.seen.iter().enumerate().flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word as u32 * 64 + bit)
        });
        flows.filter(|flow| self.probability(*flow) >= self.settings.threshold)
    }
    /// Returns the size of the variables in bytes: the set of bins that decides, the other set if the hash moves, and
    /// the penalty box. The bit set of flows, used for time series only, is not counted.
    pub fn state_bytes(&self) -> usize {
        let bins = self.sets[self.current].state_bytes();
        let moving = bins + bytes_of!(self; since) + size_of::<bool>();
        bins + self.limiter.state_bytes() + if self.settings.rehash_interval.is_some() { moving } else { 0 }
    }
    /// Reports the mean and the largest probability of the bins, the packets in the fullest bin, and the number of
    /// flows in the penalty box.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        let set = &self.sets[self.current];
        f("mean_probability", set.mean_p());
        f("max_probability", set.max_p());
        f("max_bin_packets", set.max_packets() as f64);
        f("boxed_flows", self.boxed_flows().count() as f64);
    }

    /// Returns `true` if the flow is in the penalty box and therefore does not lower the
    /// probabilities of its bins.
    fn holds(&self, flow: u32) -> bool {
        matches!(self.settings.boxed, Boxed::Hold | Boxed::Keep) && self.probability(flow) >= self.settings.threshold
    }

    /// Adds the flow to those of which a packet has arrived.
    fn note(&mut self, flow: u32) {
        let word = flow as usize / 64;
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        self.seen[word] |= 1 << (flow % 64);
    }

    /// Draws the first hashes; changes to the next set if the change is due.
    fn move_hash(&mut self, now: Time, rng: &mut Rng) {
        if self.sets[self.current].seed() == 0 {
            self.sets.iter_mut().for_each(|set| set.draw(rng));
        }
        let Some(interval) = self.settings.rehash_interval else { return };
        if now.since(self.since) <= interval {
            return;
        }
        self.since = now;
        let next = 1 - self.current;
        if self.settings.warm_up.is_none() {
            self.sets[next].clear();
        }
        self.sets[next].cap(now, self.settings.cap);
        let retired = &mut self.sets[self.current];
        retired.draw(rng);
        if self.settings.form == Form::Thesis {
            retired.clear();
        }
        self.current = next;
        self.limiter.forget_bins();
    }

    /// Returns `true` during the warm-up of the next set of bins.
    fn is_warming(&self, now: Time) -> bool {
        let (Some(interval), Some(warm_up)) = (self.settings.rehash_interval, self.settings.warm_up) else {
            return false;
        };
        now.since(self.since) > interval - warm_up
    }
}
