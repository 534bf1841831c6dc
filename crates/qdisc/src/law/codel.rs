//! Controlled delay (Nichols and Jacobson, ACM Queue 2012; RFC 8289), as in Linux.
//!
//! The law decides about packets as they leave the queue, one call each: after [`Verdict::Drop`] the caller passes the
//! next packet, or reports an empty queue by [`Codel::empty`].

pub use super::departure::Verdict;
use super::{Departure, DepartureLaw, Form};
use crate::retune::Retune;
use crate::signals::{Length, Signals, Threshold};
use crate::state::bytes_of;
use crate::{Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Size, Time};

/// Controlled delay (CoDel; Nichols and Jacobson 2012, RFC 8289): once the delay of departing
/// packets has stayed above `target` for an `interval`, packets are marked or dropped at departure,
/// at times `interval` / √n apart, with n the number of signals since dropping began, until the delay is below
/// `target`. The defaults are those of RFC 8289 and Linux.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Acceptable standing delay, above 0s and at most `interval`; 5 % to 10 % of `interval` is recommended. Default
    /// 5ms.
    pub target: Dur,
    /// Time for which the delay must stay above `target` before the first signal, about the largest
    /// round-trip time of the flows; at most 24h. Default 100ms.
    pub interval: Dur,
    /// Backlog up to which no packet is marked or dropped: the maximum packet size of the link, 1 B
    /// to 65535 B. Default 1514 B.
    pub mtu: Size,
    /// `true` if ECN-capable packets are marked instead of dropped. Default false.
    pub ecn: bool,
    /// Delay above which every ECN-capable packet is marked, in addition to the control law, as for DCTCP; at most 24h.
    /// Default: no such threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Dur>,
    /// Computation of the square root in the time to the next signal: "exact" (RFC 8289), or "newton", as in Linux, one
    /// step of Newton's method per signal, in 16 bits; its second gap is 0.5 · `interval` instead of 0.71 · `interval`.
    /// Form "linux" always has "newton". Default "exact".
    pub root: Root,
    /// "published": RFC 8289; "linux": Linux 6.1 (`include/net/codel.h` and `codel_impl.h`), with the root of "newton", and
    /// with a clock of 1.024 µs, in whole units of which all times are rounded down. Default "published".
    pub form: Form,
}

/// Unit of Linux's clock, 2^10 ns (`CODEL_SHIFT`).
const UNIT: Dur = Dur::from_ns(1024);

/// Computation of the inverse square root of the number of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Root {
    /// The root in floating point, with times rounded down to the picosecond.
    #[default]
    Exact,
    /// One step of Newton's method from the previous inverse, kept in 16 bits (Linux, and BSD after it).
    Newton,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Dur::from_ms(5),
            interval: Dur::from_ms(100),
            mtu: Size(1514),
            ecn: false,
            ce_threshold: None,
            root: Root::Exact,
            form: Form::Published,
        }
    }
}

impl Params {
    /// Refuses times out of range, and an interval shorter than the target.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("target", self.target)?;
        check::duration("interval", self.interval)?;
        if self.interval < self.target {
            let advice =
                format!("{} is shorter than `target`; write ten to twenty times {}", self.interval, self.target);
            return Err(Invalid::new("interval", advice));
        }
        check::packet("mtu", self.mtu)?;
        self.ce_threshold.map_or(Ok(()), |threshold| check::at_most_a_day("ce-threshold", threshold))
    }
}

impl Params {
    /// Returns the parameters with which the law compares: in form "linux" times in whole units of its clock.
    #[must_use]
    pub fn compared(mut self) -> Params {
        if self.form == Form::Linux {
            let whole = |time: Dur| Dur(time.0 - time.0 % UNIT.0);
            self.target = whole(self.target);
            self.interval = whole(self.interval);
            self.ce_threshold = self.ce_threshold.map(whole);
        }
        self
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.ecn || self.ce_threshold.is_some()
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let mut report = |path: &str, wait: Dur, derived: bool| {
            f(Threshold { path: path.to_owned(), derived, length: Length::Wait(wait), site: *site });
        };
        report("target", self.target, self.target == Params::default().target);
        if let Some(threshold) = self.ce_threshold {
            report("ce-threshold", threshold, false);
        }
    }
}

/// The state of the law at one queue.
#[derive(Clone, Debug)]
pub struct Codel {
    params: Arc<Params>,
    /// Time at which the delay will have been above the target for an interval. `None`: the delay is not
    /// above the target.
    first_above_time: Option<Time>,
    /// `true` in the dropping state.
    dropping: bool,
    /// Time of the next signal in the dropping state.
    drop_next: Time,
    /// Number of signals since dropping began, plus those of the previous dropping state if this one continues its
    /// rate.
    count: u32,
    /// `count` when dropping last began.
    lastcount: u32,
    /// 1/√`count` by Newton's method, in units of 2^-16; used with [`Root::Newton`] and in form "linux" only.
    inverse_root: u16,
    after: After,
}

/// Event that preceded the present packet in the same dequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    /// Drop that begins the dropping state.
    FirstDrop,
    /// Further drop in the dropping state.
    Drop,
}

impl Codel {
    /// Returns the law in its initial state; the parameters must have passed `check`.
    pub fn new(params: &Params) -> Codel {
        Codel::sharing(Arc::new(params.clone().compared()))
    }
    /// Returns the law of one of many queues with the same parameters, which have passed `check` and
    /// [`Params::compared`].
    pub fn sharing(params: Arc<Params>) -> Codel {
        Codel {
            params,
            first_above_time: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            inverse_root: u16::MAX,
            after: After::Nothing,
        }
    }

    /// Decides about a packet that has waited for `sojourn` and leaves `left` buffer bytes waiting behind it (RFC 8289
    /// section 5.6). `ect`: the packet is ECN-capable.
    pub fn judge(&mut self, now: Time, sojourn: Dur, left: u64, ect: bool) -> Verdict {
        let (now, sojourn) = match self.params.form {
            Form::Published => (now, sojourn),
            Form::Linux => {
                let whole = |time: Time| Time(time.0 - time.0 % UNIT.0);
                (whole(now), whole(now).since(whole(Time(now.0 - sojourn.0))))
            }
        };
        match self.decide(now, self.is_above(sojourn, left), ect && self.params.ecn) {
            Verdict::Deliver if ect && self.params.ce_threshold.is_some_and(|threshold| sojourn > threshold) => {
                Verdict::Mark
            }
            verdict => verdict,
        }
    }

    /// Notes that a dequeue found no packet, or no further one after a drop.
    pub fn empty(&mut self, now: Time) {
        self.first_above_time = None;
        match core::mem::replace(&mut self.after, After::Nothing) {
            After::FirstDrop => self.begin(now),
            After::Nothing | After::Drop => self.dropping = false,
        }
    }

    /// Returns `true` in the dropping state, in which packets are dropped or marked.
    pub fn is_dropping(&self) -> bool {
        self.dropping
    }
    /// Returns the number n that sets the gap to the next signal, `interval` / √n: signals since dropping last began,
    /// plus those of the previous dropping state if this one continues its rate.
    pub fn count(&self) -> u32 {
        self.count
    }
    /// Returns the time of the next signal in the dropping state.
    pub fn drop_next(&self) -> Time {
        self.drop_next
    }
    /// Adds `drops` at the limit of the queue to the signals, as Linux's `fq_codel_drop`.
    pub fn add_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        let root = if self.params.root == Root::Newton || self.params.form == Form::Linux {
            bytes_of!(self; inverse_root)
        } else {
            0
        };
        root + bytes_of!(self; first_above_time, dropping, drop_next, count, lastcount, after)
    }
    /// Reports the dropping state (1 or 0) and [`Codel::count`].
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("dropping", f64::from(u8::from(self.dropping)));
        f("count", f64::from(self.count));
    }

    /// Returns `true` if the delay is at least the target and more than `mtu` bytes wait.
    fn is_above(&self, sojourn: Dur, left: u64) -> bool {
        sojourn >= self.params.target && left > self.params.mtu.0
    }

    /// Decides about a packet by the control law; `may_mark`: the packet may be marked instead of dropped.
    fn decide(&mut self, now: Time, above: bool, may_mark: bool) -> Verdict {
        let ok_to_drop = self.has_stayed_above(now, above);
        match core::mem::replace(&mut self.after, After::Nothing) {
            After::FirstDrop => {
                self.begin(now);
                return Verdict::Deliver;
            }
            After::Drop if ok_to_drop => self.drop_next = self.following(self.drop_next),
            After::Drop => {}
            After::Nothing if self.dropping => {}
            After::Nothing if !ok_to_drop => return Verdict::Deliver,
            After::Nothing if may_mark => {
                self.begin(now);
                return Verdict::Mark;
            }
            After::Nothing => {
                self.after = After::FirstDrop;
                return Verdict::Drop;
            }
        }
        self.dropping &= ok_to_drop;
        if !self.dropping || now < self.drop_next {
            return Verdict::Deliver;
        }
        self.count = self.count.saturating_add(1);
        self.inverse_root = newton_step(self.inverse_root, self.count);
        if may_mark {
            // The gap begins at the deadline, not now, so that a late dequeue does not delay later
            // signals.
            self.drop_next = self.following(self.drop_next);
            return Verdict::Mark;
        }
        self.after = After::Drop;
        Verdict::Drop
    }

    /// Returns `true` if the delay has been above the target for an interval.
    fn has_stayed_above(&mut self, now: Time, above: bool) -> bool {
        match self.first_above_time {
            _ if !above => {
                self.first_above_time = None;
                false
            }
            None => {
                self.first_above_time = Some(now + self.params.interval);
                false
            }
            Some(at) => now > at,
        }
    }

    /// Enters the dropping state. If the previous one had more than one signal, and its next signal was due less than
    /// 16 intervals ago, continues at about its rate of signals.
    fn begin(&mut self, now: Time) {
        self.dropping = true;
        // Drops at the limit (`add_drops`) may have wrapped the count.
        let signals = self.count.wrapping_sub(self.lastcount);
        let recent = now.0 < self.drop_next.0.saturating_add(16 * self.params.interval.0);
        if signals > 1 && recent {
            self.count = signals;
            // One step from the previous value; later steps bring it closer to the root.
            self.inverse_root = newton_step(self.inverse_root, signals);
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.lastcount = self.count;
        self.drop_next = self.following(now);
    }

    /// Returns the time of the next signal after one at `t`.
    fn following(&self, t: Time) -> Time {
        let interval = self.params.interval;
        if self.params.form == Form::Linux {
            // `codel_control_law`.
            return t + UNIT * ((interval.0 / UNIT.0 * u64::from(self.inverse_root)) >> 16);
        }
        match self.params.root {
            Root::Exact => control_law(t, interval, self.count),
            Root::Newton => t + Dur(((u128::from(interval.0) * u128::from(self.inverse_root)) >> 16) as u64),
        }
    }
}

/// As `codel_change` in Linux, which keeps the state; in addition, a signal is due no later than one interval from now.
impl Retune for Codel {
    fn adopt(&mut self, now: Time, fresh: Codel) {
        self.params = fresh.params;
        let latest = now + self.params.interval;
        self.first_above_time = self.first_above_time.map(|at| at.min(latest));
        self.drop_next = self.drop_next.min(latest);
    }
}

impl DepartureLaw for Codel {
    fn depart(&mut self, departure: &Departure, _rng: &mut Rng) -> Verdict {
        self.judge(departure.now, departure.sojourn, departure.left.bytes, departure.ect)
    }
}

/// Returns the time of the next signal after one at `t`: `t` + `interval` / √`count` (RFC 8289 section 4.2), rounded
/// down to the picosecond. A `count` of 0 counts as 1.
pub fn control_law(t: Time, interval: Dur, count: u32) -> Time {
    t + Dur((interval.0 as f64 / f64::from(count.max(1)).sqrt()) as u64)
}

/// Returns 1/√`count` in units of 2^-16 after one step of Newton's method from `inverse`: y ← y (3 − count y²) / 2, in
/// the integers of Linux's `codel_Newton_step`.
fn newton_step(inverse: u16, count: u32) -> u16 {
    let y = u64::from(inverse) << 16;
    let square = (y * y) >> 32;
    // The shift drops two bits so that the product fits into 64 bits.
    let bracket = (3u64 << 32).wrapping_sub(u64::from(count) * square) >> 2;
    (bracket.wrapping_mul(y) >> (32 - 2 + 1) >> 16) as u16
}
