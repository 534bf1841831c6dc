//! DCQCN: a rate that notifications of congestion cut and that time and bytes raise (Zhu and others,
//! *Congestion Control for Large-Scale RDMA Deployments*, SIGCOMM 2015).

use super::{Acked, Build, Congestion, CongestionControl, Window};
use crate::line::Line;
use crate::params::{EcnEcho, Tcp, duration, number, rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// DCQCN (SIGCOMM 2015): a sender's rate is cut when the receiver notifies it of marked segments, and
/// grows by a timer and a byte counter, in five steps back to what it was and then beyond. It has no
/// window and begins at line rate: for networks that lose nothing. Needs queues that mark, such as
/// "red" of weight 1. The defaults are the paper's; Mellanox's and HPCC's authors' differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// g, the weight in the estimate of congestion, above 0 and at most 1. Default 1/256.
    pub g: Fraction,
    /// Least time between notifications from a receiver, 1 ns to 10 s. Default 50 us.
    pub notification_interval: Dur,
    /// Time without a notification after which the estimate decays, 1 ns to 10 s. Default 55 us.
    pub alpha_interval: Dur,
    /// Period of the timer that raises the rate, 1 ns to 10 s. Default 55 us.
    pub increase_interval: Dur,
    /// Payload sent after which the byte counter raises the rate, 1 B to 1 GB. Default 10 MB.
    pub increase_bytes: Size,
    /// F, steps of fast recovery, 1 to 1000. Default 5.
    pub recovery_steps: u32,
    /// Step of additive increase. Default 40 Mbit/s.
    pub additive: Rate,
    /// Step of hyper increase, times its number. Default 100 Mbit/s.
    pub hyper: Rate,
    /// Smallest rate, above 0. Default 10 Mbit/s.
    pub least: Rate,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            g: Fraction(1.0 / 256.0),
            notification_interval: Dur::from_us(50),
            alpha_interval: Dur::from_us(55),
            increase_interval: Dur::from_us(55),
            increase_bytes: Size(10_000_000),
            recovery_steps: 5,
            additive: Rate::mbit(40),
            hyper: Rate::mbit(100),
            least: Rate::mbit(10),
        }
    }
}

impl Params {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(self.g.0 > 0.0 && self.g.0 <= 1.0) {
            let advice = format!("{} is out of range; write a number above 0 and at most 1", self.g);
            return Err(Invalid::new("g", advice));
        }
        duration("notification-interval", self.notification_interval)?;
        duration("alpha-interval", self.alpha_interval)?;
        duration("increase-interval", self.increase_interval)?;
        if !(1..=1_000_000_000).contains(&self.increase_bytes.0) {
            let message = format!("{} is out of range; write 1B to 1GB", self.increase_bytes);
            return Err(Invalid::new("increase-bytes", message));
        }
        number("recovery-steps", self.recovery_steps, 1, 1000)?;
        rate("additive", self.additive)?;
        rate("hyper", self.hyper)?;
        rate("least", self.least)
    }
}

impl Build for Params {
    type Control = Dcqcn;
    fn build(&self, tcp: &Tcp, _: Rng) -> Dcqcn {
        let line = tcp.line();
        Dcqcn {
            params: self.clone(),
            line,
            payload: u64::from(tcp.payload()),
            current: line.rate.0 as f64,
            target: line.rate.0 as f64,
            alpha: 1.0,
            decay_at: Time::NEVER,
            raise_at: Time::NEVER,
            times: 0,
            fills: 0,
            bytes: 0,
        }
    }
    fn echo(&self) -> EcnEcho {
        EcnEcho::Accurate
    }
    fn notification(&self) -> Option<Dur> {
        Some(self.notification_interval)
    }
    fn needs_line(&self) -> bool {
        true
    }
    fn needs_marks(&self) -> bool {
        true
    }
}

/// DCQCN at work: the reaction point. Rates in bit/s on the wire.
#[derive(Debug)]
pub struct Dcqcn {
    params: Params,
    line: Line,
    payload: u64,
    /// R_C and R_T.
    current: f64,
    target: f64,
    /// Estimate of congestion, 0 to 1.
    alpha: f64,
    /// When the estimate decays next; never when it is (almost) zero.
    decay_at: Time,
    /// When the timer raises the rate next; never at line rate.
    raise_at: Time,
    /// Events of the timer and of the byte counter since the last cut.
    times: u32,
    fills: u32,
    /// Payload sent since the counter's last event.
    bytes: u64,
}

/// An estimate below this is taken for zero.
const NONE: f64 = 1e-9;

impl Dcqcn {
    /// Equations 1: a notification has come.
    fn cut(&mut self, now: Time) {
        self.target = self.current;
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(self.params.least.0 as f64);
        self.alpha = (1.0 - self.params.g.0) * self.alpha + self.params.g.0;
        self.decay_at = now + self.params.alpha_interval;
        self.raise_at = now + self.params.increase_interval;
        (self.times, self.fills, self.bytes) = (0, 0, 0);
    }

    /// Equations 3 and 4, and the steps of figure 7: fast recovery, additive or hyper increase.
    fn raise(&mut self) {
        let steps = self.params.recovery_steps;
        let (most, least) = (self.times.max(self.fills), self.times.min(self.fills));
        if least > steps {
            self.target += f64::from(least - steps) * self.params.hyper.0 as f64;
        } else if most > steps {
            self.target += self.params.additive.0 as f64;
        }
        self.target = self.target.min(self.line.rate.0 as f64);
        self.current = f64::midpoint(self.current, self.target);
        if self.current > 0.9999 * self.line.rate.0 as f64 {
            self.current = self.line.rate.0 as f64;
            self.target = self.current;
            self.raise_at = Time::NEVER;
        }
    }
}

impl CongestionControl for Dcqcn {
    fn begin(&mut self, window: &mut Window) {
        window.cwnd = super::NO_WINDOW;
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        // A lost SYN has set it to one segment.
        window.cwnd = super::NO_WINDOW;
        self.pass(acked.now);
        if acked.ece {
            self.cut(acked.now);
        }
    }

    fn on_congestion(&mut self, _: &mut Window, _: Congestion, _: Time, _: u32) {}

    fn on_sent(&mut self, _: Time, _: bool) {
        self.bytes += self.payload;
        if self.bytes >= self.params.increase_bytes.0 && self.raise_at != Time::NEVER {
            self.bytes = 0;
            self.fills += 1;
            self.raise();
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.line.segments(self.current))
    }

    fn next_change(&self) -> Time {
        self.decay_at.min(self.raise_at)
    }

    fn pass(&mut self, now: Time) {
        while self.decay_at.min(self.raise_at) <= now {
            if self.decay_at <= self.raise_at {
                self.alpha *= 1.0 - self.params.g.0;
                self.decay_at =
                    if self.alpha < NONE { Time::NEVER } else { self.decay_at + self.params.alpha_interval };
            } else {
                self.times += 1;
                self.raise_at += self.params.increase_interval;
                self.raise();
            }
        }
    }

    fn controls_recovery(&self) -> bool {
        true
    }
    fn handles_ecn(&self) -> bool {
        true
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("rate", self.current);
        f("target", self.target);
        f("alpha", self.alpha);
    }
}
