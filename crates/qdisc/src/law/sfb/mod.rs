//! Stochastic fair Blue (Feng, Kandlur, Saha and Shin, UM CSE-TR-387-99 and INFOCOM 2001): Blue per
//! bin. Independent hashes assign each flow a bin at each level. The probability of a flow is the
//! smallest of its bins, so that it is large only if an unresponsive flow shares each of its bins.
//! Flows whose bins all have probability 1 do not respond to signals and are put into a penalty
//! box.

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
    /// The packet is queued and passed to [`Sfb::accept`].
    Pass(Ticket),
    /// The packet is marked and queued (and passed to [`Sfb::accept`]), or dropped if it cannot be
    /// marked.
    Signal(Ticket),
    /// The packet is dropped by the law.
    Drop,
    /// The packet is dropped because its flow is in the penalty box.
    Boxed,
}

/// Seeds of the sets of bins in which a waiting packet is counted; 0: not counted in this set.
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
    /// Flows seen so far, one bit each.
    seen: Vec<u64>,
}

/// A moving hash that begins with the change has its first move one interval later.
impl Retune for Sfb {
    fn adopt(&mut self, now: Time, fresh: Sfb) {
        if self.settings.interval.is_none() && fresh.settings.interval.is_some() {
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
    /// Returns the law in its initial state; the parameters have passed `check`. The hashes are drawn at the first arrival.
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
        let flagged = self.holds(flow);
        let set = &mut self.sets[self.current];
        let found = set.update(now, flow, &self.settings, flagged);
        if found.is_refused(&self.settings) {
            return Verdict::Drop;
        }
        let boxed = found.p_min >= self.settings.threshold;
        let mut ticket = Ticket::default();
        if self.is_warming(now) && (boxed || self.settings.warmed == Warmed::All) {
            let next = &mut self.sets[1 - self.current];
            if boxed && self.settings.form == Form::Thesis {
                // The penalty box keeps the flow's queue short, so that its bins would not fill: they
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
                } else if p > MAX / 2 && r < (p - MAX / 2) * 2 {
                    Verdict::Drop
                } else {
                    Verdict::Signal(ticket)
                }
            }
        }
    }

    /// Returns `true` if packets that find the queue full, too, must be passed to [`Sfb::arrive`].
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
            // A set with new hashes does not count packets that were queued before. Linux keeps the
            // counts of a set when its hashes change.
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
    /// Returns the flows seen so far that are in the penalty box, in ascending order.
    pub fn boxed_flows(&self) -> impl Iterator<Item = u32> + '_ {
        let flows = self.seen.iter().enumerate().flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word as u32 * 64 + bit)
        });
        flows.filter(|flow| self.probability(*flow) >= self.settings.threshold)
    }
    /// Returns the size of its variables in bytes: the set of bins that decides, the other set if the hash moves, and
    /// the penalty box. The list of flows seen, used for time series only, is not counted.
    pub fn state_bytes(&self) -> usize {
        let bins = self.sets[0].state_bytes();
        let moving = bins + bytes_of!(self; since) + size_of::<bool>();
        bins + self.limiter.state_bytes() + if self.settings.interval.is_some() { moving } else { 0 }
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

    /// Adds the flow to those seen so far.
    fn note(&mut self, flow: u32) {
        let word = flow as usize / 64;
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        self.seen[word] |= 1 << (flow % 64);
    }

    /// Draws the first hashes; changes to the next set if the change is due.
    fn move_hash(&mut self, now: Time, rng: &mut Rng) {
        if self.sets[0].seed() == 0 {
            self.sets.iter_mut().for_each(|set| set.draw(rng));
        }
        let Some(interval) = self.settings.interval else { return };
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
        let (Some(interval), Some(warm_up)) = (self.settings.interval, self.settings.warm_up) else { return false };
        now.since(self.since) > interval - warm_up
    }
}
