//! Random early detection by drop precedence: RIO (Clark and Fang, IEEE/ACM ToN 6(4), 1998) and
//! enhanced RED (Feng et al., NOSSDAV 1997). Precedence 0 is the best protected: "in", marked, green.

use super::red::{Count, Params, Red};
use super::{Backlog, Decision};
use tailback_random::Rng;
use tailback_units::{Amount, Rate, Time};

/// RED with In and Out, for any number of precedences: a packet is judged by the average of what
/// waits of its own precedence and of better ones, so that in-packets see only in-packets and the
/// last see all.
///
/// Differs from ns-2.35, whose averages miss the arrivals of out-packets (a defect that its source notes).
#[derive(Clone, Debug)]
pub struct Rio {
    /// By precedence, the best protected first.
    levels: Vec<Red>,
}

impl Rio {
    /// One RED per precedence. The parameters have passed `check`; there is at least one.
    pub fn new(levels: &[Params], rate: Rate) -> Rio {
        assert!(!levels.is_empty(), "RIO has a RED for each precedence");
        Rio { levels: levels.iter().map(|params| Red::new(params, rate)).collect() }
    }
    /// A packet of `size` bytes and `precedence` (the last one if there are fewer) arrives; of
    /// precedences up to `k` there waits `queues[k]`.
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
    /// A packet of `precedence` is dropped because the queue is full.
    pub fn forced(&mut self, precedence: u8) {
        let own = usize::from(precedence).min(self.levels.len() - 1);
        self.levels[own].forced();
    }
    /// The transmitter is free and nothing waits.
    pub fn idle(&mut self, now: Time) {
        self.levels.iter_mut().for_each(|red| red.idle(now));
    }
    /// The link's rate has changed.
    pub fn set_rate(&mut self, rate: Rate) {
        self.levels.iter_mut().for_each(|red| red.set_rate(rate));
    }
    /// The RED of each precedence.
    pub fn levels(&self) -> &[Red] {
        &self.levels
    }
}

/// Enhanced RED: all packets make the average, but those of precedence 0, sent within a reservation,
/// are never chosen at random; a full queue drops them, or a threshold of their own.
#[derive(Clone, Debug)]
pub struct Ered {
    red: Red,
    /// Average from which on packets of precedence 0 are dropped, in the unit of RED's thresholds.
    marked_max: f64,
}

impl Ered {
    /// The law with parameters that have passed `check`.
    pub fn new(params: &Params, marked_max: Option<Amount>, rate: Rate) -> Ered {
        let mean = params.mean_packet.0 as f64;
        let marked_max = marked_max.map_or(f64::INFINITY, |amount| match params.count {
            Count::Bytes => amount.in_bytes(mean),
            Count::Packets => amount.in_packets(mean),
        });
        Ered { red: Red::new(params, rate), marked_max }
    }
    /// A packet of `size` bytes and `precedence` arrives and finds `queue` waiting.
    pub fn arrive(&mut self, now: Time, queue: Backlog, size: u16, precedence: u8, rng: &mut Rng) -> Decision {
        if precedence > 0 {
            return self.red.arrive(now, queue, size, rng);
        }
        self.red.observe(now, queue);
        if self.red.average() >= self.marked_max { Decision::Forced } else { Decision::Pass }
    }
    /// Bytes of its variables.
    pub fn state_bytes(&self) -> usize {
        self.red.state_bytes()
    }
    /// The RED that unmarked packets see.
    pub fn red(&mut self) -> &mut Red {
        &mut self.red
    }
    /// Shows what RED does.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.red.probe(f);
    }
}
