//! Blue (Feng, Kandlur, Saha and Shin, UM CSE-TR-387-99, 1999): one marking probability, raised when
//! the queue overflows and lowered when the link idles.

pub use super::blue_params::{Form, IdleSteps, Params, Rise, Timers};
use super::{Arrival, ArrivalLaw, Backlog, BuildLaw, Decision};
use crate::retune::Retune;
use crate::state::bytes_of;
use crate::{Fate, Site, Victim, Watch};
use tailback_random::Rng;
use tailback_units::{Amount, Dur, Time};

/// A probability that changes in steps, at least a freeze time apart. Blue and COBALT have one,
/// stochastic fair Blue one per bin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stepped {
    p: f64,
    /// Time of the last step up.
    raised: Time,
    /// Time of the last step down.
    lowered: Time,
    timers: Timers,
}

impl Stepped {
    /// Returns a probability of zero that has not changed since the start of the run.
    pub const fn new(timers: Timers) -> Stepped {
        Stepped { p: 0.0, raised: Time::ZERO, lowered: Time::ZERO, timers }
    }
    /// Returns this probability with other timers; the times of its last steps are kept.
    #[must_use]
    pub(crate) fn with_timers(self, timers: Timers) -> Stepped {
        Stepped { timers, ..self }
    }
    /// Returns the kind of the freeze timers.
    pub(crate) fn timers(&self) -> Timers {
        self.timers
    }
    /// Returns the probability.
    #[inline]
    pub fn p(&self) -> f64 {
        self.p
    }
    /// Sets the probability, and counts this as a step up and a step down.
    pub fn set(&mut self, now: Time, p: f64) {
        self.p = p;
        self.raised = now;
        self.lowered = now;
    }
    /// Sets the probability without counting a step.
    pub fn replace(&mut self, p: f64) {
        self.p = p;
    }
    /// Raises the probability by `by`, to at most 1, if `freeze` is zero or more than `freeze` has passed since the
    /// last step; with separate timers, since the last step up. Returns `true` if it was raised.
    pub fn raise(&mut self, now: Time, by: f64, freeze: Dur) -> bool {
        let due = is_due(self.last(self.raised), now, freeze);
        if due {
            self.raised = now;
            self.p = f64::min(1.0, self.p + by);
        }
        due
    }
    /// Lowers the probability by `by`, to at least 0, if `freeze` is zero or more than `freeze` has passed since the
    /// last step; with separate timers, since the last step down. Returns `true` if it was lowered.
    pub fn lower(&mut self, now: Time, by: f64, freeze: Dur) -> bool {
        let due = is_due(self.last(self.lowered), now, freeze);
        if due {
            self.lowered = now;
            self.p = f64::max(0.0, self.p - by);
        }
        due
    }
    /// Counts `now` as the time of the last step down, so that the probability is not lowered for a freeze time.
    pub fn keep(&mut self, now: Time) {
        self.lowered = now;
    }
    /// Returns the earliest time at which the probability may be lowered.
    pub fn may_fall(&self, freeze: Dur) -> Time {
        self.last(self.lowered) + freeze + Dur(1)
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        bytes_of!(self; p, raised, lowered)
    }
    /// Returns the time of the last step in any direction; with separate timers `own`, the time of the last step in the
    /// direction in question.
    fn last(&self, own: Time) -> Time {
        if self.timers == Timers::Separate { own } else { self.raised.max(self.lowered) }
    }
}

/// Returns `true` if `freeze` is zero or more than `freeze` has passed since the last step.
fn is_due(last: Time, now: Time, freeze: Dur) -> bool {
    freeze == Dur::ZERO || now.since(last) > freeze
}

/// The state of the law at one queue.
#[derive(Clone, Debug)]
pub struct Blue {
    form: Form,
    increment: f64,
    decrement: f64,
    rise: Rise,
    raise_freeze: Dur,
    lower_freeze: Dur,
    idle_steps: IdleSteps,
    probability: Stepped,
    /// Beginning of the idle time. `None`: a packet has arrived since.
    idle_since: Option<Time>,
    ecn: bool,
    victim: Victim,
    /// Queue above which an arrival counts as an overflow. `None`: only an arrival at a full queue
    /// does.
    threshold: Option<Amount>,
}

/// Probability that ALTQ sets after a long idle time.
const ALTQ_RESET: f64 = 0.001;

impl Blue {
    /// Returns the law in its initial state; the parameters must have passed `check`.
    pub fn new(params: &Params) -> Blue {
        Blue {
            form: params.form,
            increment: params.increment(),
            decrement: params.decrement(),
            rise: params.rise,
            raise_freeze: params.freeze(),
            lower_freeze: params.decrement_freeze.unwrap_or(params.freeze()),
            idle_steps: params.idle,
            probability: Stepped::new(params.timers),
            idle_since: Some(Time::ZERO),
            ecn: params.ecn,
            victim: params.victim(),
            threshold: params.threshold,
        }
    }

    /// Decides about a packet that arrives and finds `queue` waiting.
    pub fn arrive(&mut self, now: Time, queue: Backlog, rng: &mut Rng) -> Decision {
        let idle = self.idle_since.take();
        let chosen = match self.form {
            Form::Thesis => rng.chance(self.probability.p),
            Form::Altq => {
                if idle.is_some() {
                    self.end_altq_idle(now);
                }
                rng.chance(self.probability.p) && queue.packets > 1
            }
        };
        if chosen { Decision::Early } else { Decision::Pass }
    }

    /// Notes that the queue has overflowed or exceeds the threshold that counts as overflow.
    pub fn overflow(&mut self, now: Time) {
        let by = match self.rise {
            Rise::Linear => self.increment,
            Rise::Doubling => self.probability.p + self.increment,
        };
        self.probability.raise(now, by, self.raise_freeze);
    }

    /// Notes that the transmitter is free and the queue empty. Further calls until the next arrival change nothing.
    pub fn idle(&mut self, now: Time) {
        if self.idle_since.is_some() {
            return;
        }
        self.idle_since = Some(now);
        match self.form {
            Form::Thesis => {
                self.probability.lower(now, self.decrement, self.lower_freeze);
            }
            // In ALTQ one variable holds the time of the last step and the beginning of the idle time.
            Form::Altq => self.probability.set(now, self.probability.p),
        }
    }

    /// Returns the time at which the probability is lowered next if the link stays idle. `None`: the link is not idle,
    /// or the probability is not lowered while it is idle.
    pub fn next_update(&self) -> Option<Time> {
        let idles = self.form == Form::Thesis && self.idle_steps == IdleSteps::Repeated && self.idle_since.is_some();
        (idles && self.probability.p > 0.0 && self.lower_freeze > Dur::ZERO)
            .then(|| self.probability.may_fall(self.lower_freeze))
    }

    /// Lowers the probability if [`Blue::next_update`] is due.
    pub fn update(&mut self, now: Time) {
        if self.next_update().is_some_and(|at| at <= now) {
            self.probability.lower(now, self.decrement, self.lower_freeze);
        }
    }

    /// Returns the probability of a mark or early drop.
    pub fn probability(&self) -> f64 {
        self.probability.p
    }
    /// Processes the first arrival after an idle time as ALTQ does: resets the probability if the whole seconds of the
    /// clock are at least two more than at the last change, else lowers it.
    fn end_altq_idle(&mut self, now: Time) {
        const SECOND: u64 = Dur::from_secs(1).0;
        let last = self.probability.raised.max(self.probability.lowered);
        if now.0 / SECOND > last.0 / SECOND + 1 {
            self.probability.set(now, ALTQ_RESET);
        } else {
            self.probability.lower(now, self.decrement, self.lower_freeze);
        }
    }

    /// Returns `true` if the queue, with the arriving packet, exceeds the threshold that counts as overflow.
    fn is_above_threshold(&self, queue: Backlog) -> bool {
        self.threshold.is_some_and(|threshold| match threshold {
            Amount::Bytes(bytes) => queue.bytes > bytes,
            Amount::Millipackets(thousandths) => queue.packets.saturating_mul(1000) > thousandths,
        })
    }
}

impl Retune for Blue {
    fn adopt(&mut self, _now: Time, fresh: Blue) {
        let probability = self.probability.with_timers(fresh.probability.timers());
        *self = Blue { probability, idle_since: self.idle_since, ..fresh };
    }
}

impl BuildLaw for Params {
    type Law = Blue;
    fn law(&self, _site: &Site) -> Blue {
        Blue::new(self)
    }
}

/// Differs from the authors' code for ns, whose queue holds one packet less than its limit: here the queue may
/// reach the limit.
impl ArrivalLaw for Blue {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        let Arrival { now, packet, mut queue, full } = *arrival;
        let mut fate = Fate::Joins;
        if self.arrive(now, queue, rng) == Decision::Early {
            fate = arrival.signal(self.ecn);
            if fate != Fate::Marked {
                return fate;
            }
            if full && self.victim == Victim::Tail {
                // The full queue drops the arriving packet, so that no mark is counted.
                fate = Fate::Joins;
            }
        }
        queue.packets += 1;
        queue.bytes += u64::from(packet.size);
        if full || self.is_above_threshold(queue) {
            self.overflow(now);
        }
        fate
    }
    fn victim(&self) -> Victim {
        self.victim
    }
    fn next_update(&self) -> Option<Time> {
        Blue::next_update(self)
    }
    fn update(&mut self, now: Time, _queue: Backlog) {
        Blue::update(self, now);
    }
    fn watches(&self) -> Watch {
        Watch::Idle
    }
    fn idle(&mut self, now: Time) {
        Blue::idle(self, now);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("probability", self.probability.p);
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; idle_since) + self.probability.state_bytes()
    }
}
