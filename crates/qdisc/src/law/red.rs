//! Random early detection (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993), as in ns-2.35, with
//! the two adaptive forms: Feng et al. (INFOCOM 1999) and Floyd, Gummadi and Shenker (2001).
//!
//! The average of the queue, updated at each arrival, determines the probability with which arriving packets are chosen
//! to be marked or dropped. The number of packets since the last choice modifies the probability, so that choices are
//! spread evenly.

pub use super::average::Idle;
use super::average::{Average, ramp, uniform_gaps};
pub(crate) use super::red_params::FORM_FIXED;
pub use super::red_params::{AboveMax, Adaptive, Feng, Floyd, Params};
use super::{Backlog, Decision, Form};
pub use crate::fifo::Count;
use crate::retune::Retune;
use crate::state::bytes_of;
use tailback_random::Rng;
use tailback_units::{Rate, Time};

/// The state of the law at one queue. Fields read at each arrival come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Red {
    average: Average,
    /// Lower threshold, in the unit of `count`.
    min: f64,
    /// Number of waiting packets or bytes from which a packet may be chosen.
    least: u64,
    /// Packets and bytes that arrived since the last choice, or since the average rose to `min`.
    since: Backlog,
    /// p_b of the last arrival.
    probability: f64,
    adaptive: Option<Box<Adaptive>>,
    /// `true` if `count` is "bytes".
    count_bytes_of_queue: bool,
    /// `true` if max_p does not adapt and the form is not "linux".
    only_samples: bool,
    /// `true` if the last arrival found the average at or above `min`.
    above_min: bool,
    gentle: bool,
    wait: bool,
    independent: bool,
    byte_mode: bool,
    above_max: AboveMax,
    side: Side,
    form: Form,
    /// Upper threshold, in the unit of `count`.
    max: f64,
    max_p: f64,
    /// Bytes.
    mean_packet: u64,
    /// p_b at or above which ECN-capable packets are dropped. `None`: no limit.
    mark_limit: Option<f64>,
    /// Lower bound of max_p in the form of Floyd et al.; 0 in other forms.
    bottom: f64,
    /// Time of the last change of max_p; in form "linux" of the last comparison with the average.
    adapted: Time,
    /// Wait of the form "linux".
    draw: Draw,
}

/// Wait for the next choice in form "linux" (`struct red_vars`).
#[derive(Clone, Copy, Debug, Default)]
struct Draw {
    /// Packets since the last choice, or since the first packet between the thresholds (`qcount`).
    count: u64,
    /// Number drawn then, in the unit of `count` times packets (`qR`).
    number: f64,
}

/// Keeps max_p if the old and the new parameters have an adaptation; an adaptation that begins with the change starts
/// from `max-p`.
///
/// Differs from Linux (`red_change`), which sets the average to 0: here the average is kept, so that a small change of
/// a parameter has a small effect.
impl Retune for Red {
    fn adopt(&mut self, now: Time, mut fresh: Red) {
        self.average.adopt(now, fresh.average);
        if self.adaptive.is_some() && fresh.adaptive.is_some() {
            (fresh.max_p, fresh.side, fresh.adapted) = (self.max_p, self.side, self.adapted);
        } else if fresh.adaptive.is_some() {
            fresh.adapted = now;
        }
        *self = Red {
            average: self.average.clone(),
            since: self.since,
            probability: self.probability,
            above_min: self.above_min,
            draw: self.draw,
            ..fresh
        };
    }
}

/// Position of the average relative to the thresholds, for the form of Feng et al.: that of the last change of max_p,
/// or `Between` if the average has been between the thresholds since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    Between,
    Above,
}

impl Red {
    /// Returns the law for a queue at a link of `rate`; the parameters must have passed `check`.
    pub fn new(params: &Params, rate: Rate) -> Red {
        let mean = params.mean_packet.0 as f64;
        let packets_per_second = rate.0 as f64 / (8.0 * mean);
        let (min, max) = params.thresholds(packets_per_second);
        let bottom = match &params.adaptive {
            Some(Adaptive::Floyd(floyd)) => {
                let least = if params.form == Form::Linux { 0.01 } else { f64::min(0.01, 80_000.0 / rate.0 as f64) };
                floyd.bottom.map_or(least, |bottom| bottom.0)
            }
            _ => 0.0,
        };
        Red {
            min,
            max,
            count_bytes_of_queue: params.count == Count::Bytes,
            mean_packet: params.mean_packet.0,
            gentle: params.gentle,
            wait: params.wait,
            independent: params.independent,
            byte_mode: params.byte_mode,
            mark_limit: params.mark_limit.map(|limit| limit.0),
            above_max: params.above_max,
            adaptive: params.adaptive.clone().map(Box::new),
            only_samples: params.adaptive.is_none() && params.form == Form::Published,
            bottom,
            average: Average::new(params.weight(packets_per_second), params.idle, packets_per_second, params.form),
            max_p: params.max_p.0,
            probability: 0.0,
            since: Backlog::default(),
            above_min: false,
            side: Side::Between,
            adapted: Time::ZERO,
            form: params.form,
            draw: Draw::default(),
            // One packet, or one byte if `count` is "bytes": ns-2.35 compares in the unit of the queue.
            least: if params.form == Form::Linux { 0 } else { 2 },
        }
    }

    /// Decides about a packet of `size` bytes that arrives and finds `queue` waiting. After [`Decision::Early`] a mark
    /// is allowed if [`Red::may_mark`] returns `true`.
    #[inline]
    pub fn arrive(&mut self, now: Time, queue: Backlog, size: u16, rng: &mut Rng) -> Decision {
        let waiting = self.observe(now, queue);
        self.since.packets += 1;
        self.since.bytes += u64::from(size);
        if self.average() < self.min || waiting < self.least {
            self.above_min = false;
            self.probability = 0.0;
            return Decision::Pass;
        }
        self.choose(size, rng)
    }

    /// Decides about a packet that finds the average at or above `min`.
    #[inline(never)]
    fn choose(&mut self, size: u16, rng: &mut Rng) -> Decision {
        if self.form == Form::Linux {
            return if self.average() < self.max { self.count(rng) } else { self.exceed() };
        }
        self.probability = self.p_b();
        // With a limit on marks, ns-2.35 makes the random choice here, too, with p_b = 1.
        if self.mark_limit.is_none() && self.average() >= self.certain_average() {
            self.forced();
            return if self.above_max == AboveMax::Mark { Decision::Early } else { Decision::Forced };
        }
        if !self.above_min && !self.independent {
            self.above_min = true;
            self.since = Backlog { packets: 1, bytes: u64::from(size) };
            return Decision::Pass;
        }
        if !rng.chance(self.p_a(size)) {
            return Decision::Pass;
        }
        self.forced();
        Decision::Early
    }

    /// Updates the average at an arrival that finds `queue` waiting, without a decision; returns the queue length in
    /// the unit of the average.
    #[inline]
    pub fn observe(&mut self, now: Time, queue: Backlog) -> u64 {
        let waiting = if self.count_bytes_of_queue { queue.bytes } else { queue.packets };
        if self.only_samples {
            self.average.sample(now, waiting as f64);
        } else {
            self.sample_and_adapt(now, waiting);
        }
        waiting
    }
    #[inline(never)]
    fn sample_and_adapt(&mut self, now: Time, waiting: u64) {
        if self.form == Form::Linux {
            self.adapt_by_timer(now);
            self.average.sample_whole(now, waiting as f64);
        } else {
            self.average.sample(now, waiting as f64);
            self.adapt(now);
        }
    }

    /// Decides in form "linux" about a packet that finds the average between the thresholds (`red_action`).
    pub(crate) fn count(&mut self, rng: &mut Rng) -> Decision {
        self.probability = self.p_b();
        if !self.above_min {
            self.above_min = true;
            self.draw = Draw { count: 0, number: self.drawn(rng) };
            return Decision::Pass;
        }
        self.draw.count += 1;
        // `red_mark_probability`: the excess is in whole packets or bytes.
        let excess = (self.average() - self.min).floor();
        if excess * (self.draw.count as f64) < self.draw.number {
            return Decision::Pass;
        }
        self.draw = Draw { count: 0, number: self.drawn(rng) };
        Decision::Early
    }
    /// Returns a random number from 0 to the range of the thresholds divided by max_p (`red_random`).
    fn drawn(&self, rng: &mut Rng) -> f64 {
        /// Largest value of the kernel's probabilities and random numbers, plus 1.
        const WHOLE: f64 = 4_294_967_296.0;
        let range = (self.max - self.min).floor().max(1.0);
        let step = (self.max_p.min(1.0) * (WHOLE - 1.0) / range).floor().max(1.0);
        (rng.uniform() * WHOLE / step).floor()
    }
    /// Decides in form "linux" about a packet that finds the average above the thresholds: every such packet is chosen,
    /// and the next one between the thresholds is not.
    pub(crate) fn exceed(&mut self) -> Decision {
        self.probability = 1.0;
        self.above_min = false;
        if self.above_max == AboveMax::Mark { Decision::Early } else { Decision::Forced }
    }
    /// Notes in form "linux" that the average is below the thresholds.
    pub(crate) fn fall_short(&mut self) {
        self.probability = 0.0;
        self.above_min = false;
    }
    /// Adapts max_p at each expiry of the timer until `now` (`red_adaptative_timer`).
    fn adapt_by_timer(&mut self, now: Time) {
        let Some(Adaptive::Floyd(floyd)) = self.adaptive.as_deref() else { return };
        let fifth = (self.max - self.min) / 5.0;
        while self.adapted + floyd.interval <= now {
            self.adapted += floyd.interval;
            let average = self.average.at(self.adapted);
            if average > self.min + 3.0 * fifth && self.max_p <= floyd.top.0 {
                self.max_p += f64::min(floyd.alpha, 0.25 * self.max_p);
            } else if average < self.min + 2.0 * fifth && self.max_p >= self.bottom {
                self.max_p *= floyd.beta;
            }
        }
    }

    /// Notes a drop, also for another reason such as a full queue: restarts the count of packets since the last choice.
    /// In form "linux" only choices restart the count.
    pub fn forced(&mut self) {
        self.since = Backlog::default();
    }

    /// Returns `true` if the packet that [`Red::arrive`] chose last may be marked.
    pub fn may_mark(&self) -> bool {
        self.mark_limit.is_none_or(|limit| self.probability < limit)
    }

    /// Notes that an idle time begins: the queue is empty and the transmitter free (`idle` "ns"), or the last packet
    /// has left the queue (`idle` "1993"). Further calls until the next arrival change nothing.
    pub fn idle(&mut self, now: Time) {
        self.average.idle(now);
    }

    /// Notes that a dequeue has found no packet: an idle time begins, whatever `idle` is.
    pub(crate) fn found_empty(&mut self, now: Time) {
        self.average.found_empty(now);
    }

    /// Notes a change of the link's rate. Thresholds and weight derived from the initial rate are
    /// kept, as in ns-2.35; only the ageing by idle times follows the rate.
    pub fn set_rate(&mut self, rate: Rate) {
        self.average.set_packets_per_second(rate.0 as f64 / (8.0 * self.mean_packet as f64));
    }

    /// Returns the average queue, in the unit of `count`.
    pub fn average(&self) -> f64 {
        self.average.value()
    }
    /// Returns the present max_p.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }
    /// Returns p_b at the last arrival, before choices are spread; 0 below `min`.
    pub fn probability(&self) -> f64 {
        self.probability
    }
    /// Returns the lower and the upper threshold, in the unit of `count`.
    pub fn thresholds(&self) -> (f64, f64) {
        (self.min, self.max)
    }
    /// Returns the weight of a new sample in the average.
    pub fn weight(&self) -> f64 {
        self.average.weight()
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        let count = match self.form {
            Form::Published => bytes_of!(self; since),
            Form::Linux => bytes_of!(self; draw),
        };
        count + bytes_of!(self; above_min) + self.average.state_bytes() + self.adaptation_bytes()
    }
    /// Reports the average queue, max_p and p_b.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f(if self.count_bytes_of_queue { "average_bytes" } else { "average_packets" }, self.average());
        f("max_probability", self.max_p);
        f("probability", self.probability);
    }

    fn adaptation_bytes(&self) -> usize {
        if self.adaptive.is_some() { bytes_of!(self; max_p, side, adapted) } else { 0 }
    }
    /// Returns the average at or above which every packet is chosen.
    fn certain_average(&self) -> f64 {
        if self.gentle { 2.0 * self.max } else { self.max }
    }

    /// Adapts max_p to the average.
    #[inline(never)]
    fn adapt(&mut self, now: Time) {
        let average = self.average();
        match self.adaptive.as_deref() {
            None => {}
            Some(Adaptive::Feng(feng)) => {
                if self.min < average && average < self.max {
                    self.side = Side::Between;
                }
                let (side, next) = if average < self.min {
                    (Side::Below, self.max_p / feng.alpha)
                } else if average > self.max {
                    (Side::Above, self.max_p * feng.beta)
                } else {
                    return;
                };
                if self.side != side && now.since(self.adapted) >= feng.freeze {
                    self.side = side;
                    self.adapted = now;
                    // Without `top` max_p must stay finite: no division by `alpha` would lower it from infinity.
                    self.max_p = next.clamp(feng.bottom.0, feng.top.unwrap_or(f64::MAX));
                }
            }
            Some(Adaptive::Floyd(floyd)) => {
                if now.since(self.adapted) <= floyd.interval {
                    return;
                }
                let margin = 0.4 * (self.max - self.min);
                if average < self.min + margin && self.max_p > self.bottom {
                    self.max_p *= floyd.beta;
                } else if average > self.max - margin && self.max_p < floyd.top.0 {
                    self.max_p += f64::min(floyd.alpha, 0.25 * self.max_p);
                } else {
                    return;
                }
                self.adapted = now;
            }
        }
    }

    /// Returns p_b, the probability that the average alone gives.
    fn p_b(&self) -> f64 {
        let average = self.average();
        let p = if average >= self.max {
            if !self.gentle {
                return 1.0;
            }
            self.max_p + (1.0 - self.max_p) * (average - self.max) / self.max
        } else {
            ramp(average, self.min, self.max, self.max_p)
        };
        p.min(1.0)
    }

    /// Returns p_b modified so that the gaps between choices are uniformly distributed (1993, section 7; with `wait` as
    /// in ns-2.35), or p_b itself if choices are independent; in byte mode in proportion to `size`. At most 1.
    fn p_a(&self, size: u16) -> f64 {
        let p_b = self.probability;
        let count = if self.byte_mode { self.since.bytes / self.mean_packet } else { self.since.packets };
        let accumulated = count as f64 * p_b;
        let p = if self.independent {
            p_b
        } else if self.wait {
            match accumulated {
                a if a < 1.0 => 0.0,
                a if a < 2.0 => p_b / (2.0 - a),
                _ => 1.0,
            }
        } else {
            uniform_gaps(p_b, accumulated)
        };
        if self.byte_mode && p < 1.0 { (p * f64::from(size) / self.mean_packet as f64).min(1.0) } else { p.min(1.0) }
    }
}
