//! Proportional integral controller enhanced (Pan et al., HPSR 2013; RFC 8033).
//!
//! At each update the probability with which arriving packets are marked or dropped changes with
//! the queueing delay and with its change since the last update.

use super::{Arrival, ArrivalLaw, Backlog, BuildLaw, Decision, Form};
use crate::retune::Retune;
use crate::signals::{Length, Signals, Threshold};
use crate::state::bytes_of;
use crate::{Fate, Packet, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Size, Time};

/// Proportional integral controller enhanced (PIE; Pan et al. 2013, RFC 8033): arriving packets are
/// marked or dropped with a probability that is updated periodically from the deviation of the
/// queueing delay from `target` and from its change. The defaults are those of RFC 8033 except
/// `long-delay-step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Target delay, above 0s and at most 24h. Default 15ms.
    pub target: Dur,
    /// Time between two updates of the probability, above 0s and at most 24h. Default 15ms.
    pub update: Dur,
    /// Increase of the probability at each update per second of delay above `target`, Hz, above 0 and at most
    /// 1000000. Default 0.125.
    pub alpha: f64,
    /// Increase of the probability at each update per second by which the delay has risen since the last update, Hz,
    /// above 0 and at most 1000000. Default 1.25.
    pub beta: f64,
    /// Burst allowance: time at the start of a burst during which no packet is marked or dropped
    /// early, at most 24h. Default 150ms.
    pub burst: Dur,
    /// `true` if ECN-capable packets are marked instead of dropped. Default false.
    pub ecn: bool,
    /// Probability at or above which ECN-capable packets, too, are dropped instead of marked (RFC
    /// 8033 section 5.1). Default 0.1.
    pub mark_limit: Fraction,
    /// Size of a full packet, 1 B to 65535 B: while at most twice this size waits, no packet is
    /// marked or dropped early. Default 1514 B.
    pub mtu: Size,
    /// `true` if the probability of packets smaller than `mtu` is proportional to their size.
    /// Default false.
    pub byte_mode: bool,
    /// `true` if marks and drops are spaced more evenly than independent ones (derandomisation, RFC 8033
    /// section 5.4). Default true.
    pub derandomise: bool,
    /// Estimator of the queueing delay: "timestamp", the time that the packet which left last has
    /// waited, or "departure-rate", the backlog divided by the average departure rate (RFC 8033
    /// section 5.2). Default "timestamp".
    pub estimator: Estimator,
    /// `true` if each update with a delay above 250 ms raises the probability by an additional 0.02, as in Linux and
    /// RFC 8034; `false` as in RFC 8033. Default true.
    pub long_delay_step: bool,
    /// "published", or "linux": Linux 6.1 (`net/sched/sch_pie.c`). The burst allowance shrinks with the time between
    /// departures and returns at an update (`pie_process_dequeue`, `pie_calculate_probability`); a packet is spared by the
    /// delay that was last measured, and exactly twice `mtu` is enough for a choice (`pie_drop_early`); a mark because the
    /// last choice is too long ago does not end that wait; a probability that has reached 1 goes on rising in overload, to
    /// 256; and updates without delay lower it by 1/64, but not while packets wait. Needs `derandomise` and
    /// `long-delay-step`. Default "published".
    #[serde(skip_serializing_if = "Form::is_published")]
    pub form: Form,
}

/// Estimator of the queueing delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// The time that the packet which left last has waited; 0 when it left the queue empty.
    #[default]
    Timestamp,
    /// The waiting bytes divided by an average of the departure rate.
    DepartureRate,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Dur::from_ms(15),
            update: Dur::from_ms(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Dur::from_ms(150),
            ecn: false,
            mark_limit: Fraction(0.1),
            mtu: Size(1514),
            byte_mode: false,
            derandomise: true,
            estimator: Estimator::default(),
            long_delay_step: true,
            form: Form::Published,
        }
    }
}

impl Params {
    /// Refuses times and gains out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("target", self.target)?;
        check::duration("update", self.update)?;
        check::above("alpha", self.alpha, 0.0, 1e6)?;
        check::above("beta", self.beta, 0.0, 1e6)?;
        check::at_most_a_day("burst", self.burst)?;
        check::packet("mtu", self.mtu)?;
        if self.form == Form::Linux && !(self.derandomise && self.long_delay_step) {
            let message = "\"linux\" needs `derandomise` and `long-delay-step`; remove these keys, or write `form = \"published\"`";
            return Err(Invalid::new("form", message));
        }
        Ok(())
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let derived = self.target == Params::default().target;
        f(Threshold { path: "target".to_owned(), derived, length: Length::Wait(self.target), site: *site });
    }
}

/// Bytes over which a departure rate is measured (RFC 8033 section 5.2).
const DQ_THRESHOLD: u64 = 1 << 14;
/// Unit of the kernel's clock for disciplines (`PSCHED_SHIFT`).
const TICK: Dur = Dur::from_ns(64);
/// Probability at which that of the form "linux" overflows and becomes 1: 56 of its 64 bits are behind the point.
const OVERFLOW: f64 = 256.0;
/// Delay in seconds above which an update raises the probability by an additional 0.02 if `long-delay-step` is set.
const LONG_DELAY: f64 = 0.25;

/// The state of the law at one queue.
#[derive(Clone, Debug)]
pub struct Pie {
    params: Arc<Params>,
    probability: f64,
    /// Sum of the probabilities since the last mark or drop.
    accumulated: f64,
    /// Rest of the burst allowance.
    burst_left: Dur,
    /// Delay that was last measured, seconds.
    delay: f64,
    /// `delay` at the last update.
    old_delay: f64,
    /// Time of the next update.
    due: Time,
    /// Start of the measurement of the departure rate, and the bytes that have left since. `None`: no measurement runs.
    measurement: Option<(Time, u64)>,
    /// Average time in which `DQ_THRESHOLD` bytes leave, seconds; 0 before the first measurement.
    departure_time: f64,
    /// Form "linux": average departure rate in units of 2^-8 bytes per tick, as in the kernel, which rounds it down: at
    /// 1.5 Mbit/s to 3; 0 before the first measurement.
    departure_rate: u64,
    /// Form "linux": time of the last departure. `None`: none since the burst allowance was restored.
    left_at: Option<Time>,
}

impl Pie {
    /// Returns the law in its state at the start of the run; the parameters must have passed `check`.
    pub fn new(params: &Params) -> Pie {
        Pie::sharing(Arc::new(params.clone()))
    }
    /// Returns the law of one of many queues with the same parameters, which have passed `check`.
    pub fn sharing(params: Arc<Params>) -> Pie {
        Pie {
            probability: 0.0,
            accumulated: 0.0,
            burst_left: params.burst,
            delay: 0.0,
            old_delay: 0.0,
            due: Time::ZERO + params.update,
            measurement: None,
            departure_time: 0.0,
            departure_rate: 0,
            left_at: None,
            params,
        }
    }

    /// Decides about a packet of `size` bytes that arrives and finds `queue` waiting (RFC 8033 sections 4.1, 4.4 and
    /// 5.4).
    pub fn arrive(&mut self, queue: Backlog, size: u16, rng: &mut Rng) -> Decision {
        if self.params.form == Form::Linux {
            return self.arrive_linux(queue, size, rng);
        }
        let half = self.params.target.as_secs() / 2.0;
        if self.probability == 0.0 && self.delay < half && self.old_delay < half {
            self.burst_left = self.params.burst;
        }
        if self.burst_left > Dur::ZERO || !self.drop_early(queue, size, rng) {
            return Decision::Pass;
        }
        self.accumulated = 0.0;
        Decision::Early
    }

    /// Decides in form "linux" (`pie_drop_early`).
    fn arrive_linux(&mut self, queue: Backlog, size: u16, rng: &mut Rng) -> Decision {
        let short = self.delay < self.params.target.as_secs() / 2.0 && self.probability < 0.2;
        if self.burst_left > Dur::ZERO || short || queue.bytes < 2 * self.params.mtu.0 {
            return Decision::Pass;
        }
        let p = self.probability * self.share(size);
        self.accumulated = if p == 0.0 { 0.0 } else { self.accumulated + p };
        if self.accumulated < 0.85 {
            return Decision::Pass;
        }
        if self.accumulated < 8.5 {
            if !rng.chance(p.min(1.0)) {
                return Decision::Pass;
            }
            self.accumulated = 0.0;
        }
        Decision::Early
    }
    /// Returns the factor of the probability for a packet of `size` bytes.
    fn share(&self, size: u16) -> f64 {
        if self.params.byte_mode { f64::min(1.0, f64::from(size) / self.params.mtu.0 as f64) } else { 1.0 }
    }

    /// Notes a drop because the queue is full.
    fn forced(&mut self) {
        self.accumulated = 0.0;
    }

    /// Returns `true` if the probability is below the limit of marks, so that ECN-capable packets
    /// may be marked.
    fn may_mark(&self) -> bool {
        match self.params.form {
            Form::Published => self.probability < self.params.mark_limit.0,
            Form::Linux => self.probability <= self.params.mark_limit.0,
        }
    }

    /// Returns the probability with which packets are marked or dropped, 0 to 1.
    pub fn probability(&self) -> f64 {
        self.probability.min(1.0)
    }
    /// Returns the delay that was last measured, seconds.
    pub fn delay(&self) -> f64 {
        self.delay
    }
    /// Returns the divisor of the step, so that small probabilities change in small steps (RFC 8033 section 4.2).
    fn scale(&self) -> f64 {
        match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        }
    }

    /// Returns the change of the probability at an update (RFC 8033 sections 4.2 and 5.5).
    fn step(&self) -> f64 {
        let Params { alpha, beta, target, .. } = &*self.params;
        let step = alpha * (self.delay - target.as_secs()) + beta * (self.delay - self.old_delay);
        let mut step = step / self.scale();
        if self.probability >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        if self.params.long_delay_step && self.delay > LONG_DELAY {
            step += 0.02;
        }
        step
    }

    /// Returns `true` if the packet is chosen: at random, or by derandomisation since the last choice is too long ago.
    fn drop_early(&mut self, queue: Backlog, size: u16, rng: &mut Rng) -> bool {
        let short = self.old_delay < self.params.target.as_secs() / 2.0 && self.probability < 0.2;
        if short || queue.bytes <= 2 * self.params.mtu.0 {
            return false;
        }
        let p = self.probability * self.share(size);
        if !self.params.derandomise {
            return rng.chance(p);
        }
        self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + p };
        if self.accumulated < 0.85 {
            return false;
        }
        self.accumulated >= 8.5 || rng.chance(p)
    }
}

/// Form "linux".
impl Pie {
    /// Measures the delay or the departure rate at a departure that leaves `left` bytes, and reduces the burst allowance
    /// by the time of the measurement (`pie_process_dequeue`).
    fn depart_linux(&mut self, now: Time, packet: &Packet, left: u64) {
        let time = if self.params.estimator == Estimator::Timestamp {
            self.delay = if left == 0 { 0.0 } else { now.since(packet.at).as_secs() };
            self.left_at.replace(now).map_or(Dur::ZERO, |before| now.since(before))
        } else {
            self.measure_rate(now, packet, left)
        };
        self.burst_left = self.burst_left - time;
    }
    /// Measures the departure rate; returns the time of a measurement that ends, else zero.
    fn measure_rate(&mut self, now: Time, packet: &Packet, left: u64) -> Dur {
        if self.measurement.is_none() && left >= DQ_THRESHOLD {
            self.measurement = Some((now, 0));
        }
        let Some((since, bytes)) = &mut self.measurement else { return Dur::ZERO };
        *bytes += u64::from(packet.size);
        let time = now.since(*since);
        if *bytes < DQ_THRESHOLD || time == Dur::ZERO {
            return Dur::ZERO;
        }
        let rate = (*bytes << 8) / (time.0 / TICK.0).max(1);
        let average = self.departure_rate;
        self.departure_rate = if average == 0 { rate } else { average - (average >> 3) + (rate >> 3) };
        self.measurement = (left >= DQ_THRESHOLD).then_some((now, 0));
        time
    }
    /// Updates the probability (`pie_calculate_probability`).
    fn update_linux(&mut self, queue: Backlog) {
        let by_rate = self.params.estimator == Estimator::DepartureRate;
        if by_rate {
            self.old_delay = self.delay;
            let ticks = (queue.bytes << 8).checked_div(self.departure_rate).unwrap_or(0);
            self.delay = (TICK * ticks).as_secs();
        }
        // A measured delay of 0 with packets waiting says that the queue is very short.
        let mut decays = self.delay != 0.0 || queue.bytes == 0;
        let step = self.step();
        self.probability = f64::max(0.0, self.probability + step);
        if step > 0.0 && self.probability >= OVERFLOW {
            self.probability = 1.0;
            decays = false;
        }
        if self.delay == 0.0 && self.old_delay == 0.0 && decays {
            self.probability -= self.probability / 64.0;
        }
        let half = self.params.target.as_secs() / 2.0;
        let measured = !by_rate || self.departure_rate > 0;
        if self.delay < half && self.old_delay < half && self.probability == 0.0 && measured {
            // `pie_vars_init`.
            (self.burst_left, self.accumulated) = (self.params.burst, 0.0);
            (self.left_at, self.measurement, self.departure_rate) = (None, None, 0);
        }
        if !by_rate {
            self.old_delay = self.delay;
        }
    }
}

impl BuildLaw for Params {
    type Law = Pie;
    fn law(&self, _site: &Site) -> Pie {
        Pie::new(self)
    }
}

/// A change of the estimator ends a measurement of the departure rate, since the estimator "timestamp" does not count
/// the bytes that leave.
///
/// A queue above a smaller limit is not shortened; Linux (`pie_change`) drops the packets above it.
impl Retune for Pie {
    fn adopt(&mut self, now: Time, fresh: Pie) {
        if fresh.params.estimator != self.params.estimator {
            self.measurement = None;
        }
        self.params = fresh.params;
        self.burst_left = self.burst_left.min(self.params.burst);
        self.due = self.due.min(now + self.params.update);
    }
}

impl ArrivalLaw for Pie {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        if arrival.full {
            self.forced();
            return Fate::Dropped(Reason::BufferFull);
        }
        let decision = self.arrive(arrival.queue, arrival.packet.size, rng);
        let fate = arrival.fate(decision, self.params.ecn && self.may_mark());
        if matches!(fate, Fate::Dropped(_)) {
            self.accumulated = 0.0;
        }
        fate
    }
    /// Measures the delay, or the departure rate (RFC 8033 section 5.2).
    fn depart(&mut self, now: Time, packet: &Packet, Backlog { bytes: left, .. }: Backlog) {
        if self.params.form == Form::Linux {
            return self.depart_linux(now, packet, left);
        }
        if self.params.estimator == Estimator::Timestamp {
            self.delay = if left == 0 { 0.0 } else { now.since(packet.at).as_secs() };
            return;
        }
        if self.measurement.is_none() && left >= DQ_THRESHOLD {
            self.measurement = Some((now, 0));
        }
        let Some((since, bytes)) = &mut self.measurement else { return };
        *bytes += u64::from(packet.size);
        if *bytes >= DQ_THRESHOLD {
            // RFC 8033 appendix B: the weight of a new sample is DQ_THRESHOLD / 2^16.
            let (time, weight) = (now.since(*since).as_secs(), 0.25);
            self.departure_time =
                if self.departure_time == 0.0 { time } else { time * weight + self.departure_time * (1.0 - weight) };
            self.measurement = None;
        }
    }
    fn next_update(&self) -> Option<Time> {
        Some(self.due)
    }
    /// Updates the probability (RFC 8033 sections 4.2 and 5.5).
    fn update(&mut self, now: Time, queue: Backlog) {
        self.due = now + self.params.update;
        if self.params.form == Form::Linux {
            return self.update_linux(queue);
        }
        if self.params.estimator == Estimator::DepartureRate {
            self.delay = queue.bytes as f64 * self.departure_time / DQ_THRESHOLD as f64;
        }
        self.probability += self.step();
        if self.delay == 0.0 && self.old_delay == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.old_delay = self.delay;
        self.burst_left = self.burst_left - self.params.update;
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("probability", self.probability());
        f("delay_seconds", self.delay);
        f("burst_allowance_seconds", self.burst_left.as_secs());
    }
    fn state_bytes(&self) -> usize {
        let form = match self.params.form {
            Form::Published => bytes_of!(self; departure_time),
            Form::Linux => bytes_of!(self; departure_rate, left_at),
        };
        form + bytes_of!(self; probability, accumulated, burst_left, delay, old_delay, due, measurement)
    }
}
