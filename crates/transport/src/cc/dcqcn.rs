//! DCQCN: rate control, in which congestion notifications reduce the rate, and a timer and a byte counter raise it (Zhu
//! and others, *Congestion Control for Large-Scale RDMA Deployments*, SIGCOMM 2015).

use super::{
    Acked, Build, CongestionControl, CongestionEvent, EchoResponse, NO_WINDOW, Needs, Pacing, Profile, RecoveryWindow,
    Sent, SentCalls, Setup, Timer, Window,
};
use crate::check::{duration, number, rate};
use crate::line::Line;
use crate::wire::EcnEcho;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// DCQCN (SIGCOMM 2015): congestion notifications from the receiver reduce the rate of a sender, and a timer and a byte
/// counter raise it: in `recovery-steps` steps towards the rate before the reduction, and then beyond that rate. There
/// is no window, and the initial rate is that of the link, since DCQCN is made for lossless networks. Requires queues
/// that mark, such as "red" with weight 1. The defaults are those of the paper; Mellanox and the authors of HPCC use
/// others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Weight g of a notification in alpha, the estimate of congestion, above 0 and at most 1. Default 1/256.
    pub g: Fraction,
    /// Minimum time between two notifications from a receiver, 1 ns to 10 s. Default 50 us.
    pub notification_interval: Dur,
    /// Time without a notification after which alpha decays, and period of further decays, 1 ns to 10 s. Default 55 us.
    pub alpha_interval: Dur,
    /// Period of the timer that raises the rate, 1 ns to 10 s. Default 55 us.
    pub increase_interval: Dur,
    /// Payload sent between two increases of the rate by the byte counter, 1 B to 1 GB. Default 10 MB.
    pub increase_bytes: Size,
    /// Number F of steps of fast recovery, the increases towards the rate before the reduction, 1 to 1000. Default 5.
    pub recovery_steps: u32,
    /// Step of additive increase, above 0. Default 40 Mbit/s.
    pub additive: Rate,
    /// Step of hyper increase, multiplied by the number of steps of hyper increase so far, above 0.
    /// Default 100 Mbit/s.
    pub hyper: Rate,
    /// Minimum rate, above 0. Default 10 Mbit/s.
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
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(self.g.0 > 0.0 && self.g.0 <= 1.0) {
            let message = format!("{} is out of range; write a number above 0 and at most 1", self.g);
            return Err(Invalid::new("g", message));
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
    fn build(&self, setup: &Setup, _: Rng) -> Dcqcn {
        let line = setup.line;
        Dcqcn {
            params: self.clone(),
            line,
            payload: u64::from(setup.payload),
            current: line.rate.0 as f64,
            target: line.rate.0 as f64,
            alpha: 1.0,
            decay_at: Time::NEVER,
            raise_at: Time::NEVER,
            timer_events: 0,
            byte_events: 0,
            bytes: 0,
        }
    }
    fn initial_window(&self, _: &Setup) -> f64 {
        NO_WINDOW
    }
    fn needs(&self) -> Needs {
        let notification = Some(self.notification_interval);
        Needs { echo: EcnEcho::Accurate, notification, marks: true, line: true, ..Needs::default() }
    }
}

/// State of DCQCN in one sender, the reaction point. Rates are in bit/s on the wire.
#[derive(Debug)]
pub struct Dcqcn {
    params: Params,
    line: Line,
    /// Payload of a full segment, bytes.
    payload: u64,
    /// Current rate R_C.
    current: f64,
    /// Target rate R_T.
    target: f64,
    /// Estimate alpha of congestion, 0 to 1.
    alpha: f64,
    /// Time of the next decay of alpha; [`Time::NEVER`]: alpha is below [`NEGLIGIBLE`], or there was no notification.
    decay_at: Time,
    /// Time of the next increase by the timer; [`Time::NEVER`]: the rate is that of the link.
    raise_at: Time,
    /// Number of increases by the timer since the last reduction.
    timer_events: u32,
    /// Number of increases by the byte counter since the last reduction.
    byte_events: u32,
    /// Payload bytes sent since the last increase by the byte counter, or since the last reduction.
    bytes: u64,
}

/// Value of alpha below which alpha no longer decays.
const NEGLIGIBLE: f64 = 1e-9;

impl Dcqcn {
    /// Reduces the rate at a notification (equations 1).
    fn reduce(&mut self, now: Time) {
        self.target = self.current;
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(self.params.least.0 as f64);
        self.alpha = (1.0 - self.params.g.0) * self.alpha + self.params.g.0;
        self.decay_at = now + self.params.alpha_interval;
        self.raise_at = now + self.params.increase_interval;
        (self.timer_events, self.byte_events, self.bytes) = (0, 0, 0);
    }

    /// Raises the rate by a step of fast recovery, additive or hyper increase (equations 3 and 4, figure 7).
    fn raise(&mut self) {
        let steps = self.params.recovery_steps;
        let (maximum, minimum) = (self.timer_events.max(self.byte_events), self.timer_events.min(self.byte_events));
        if minimum > steps {
            self.target += f64::from(minimum - steps) * self.params.hyper.0 as f64;
        } else if maximum > steps {
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

    /// Applies all decays of alpha and all increases by the timer that are due up to `now`.
    fn advance(&mut self, now: Time) {
        while self.decay_at.min(self.raise_at) <= now {
            if self.decay_at <= self.raise_at {
                self.alpha *= 1.0 - self.params.g.0;
                self.decay_at =
                    if self.alpha < NEGLIGIBLE { Time::NEVER } else { self.decay_at + self.params.alpha_interval };
            } else {
                self.timer_events += 1;
                self.raise_at += self.params.increase_interval;
                self.raise();
            }
        }
    }
}

impl CongestionControl for Dcqcn {
    fn profile(&self) -> Profile {
        Profile {
            recovery: RecoveryWindow::Control,
            echo: EchoResponse::Control,
            sent: SentCalls::Each,
            paces: true,
            ..Profile::default()
        }
    }

    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        // Not redundant: the loss of a SYN sets the window to one segment.
        window.cwnd = NO_WINDOW;
        self.advance(acked.now);
        if acked.ece {
            self.reduce(acked.now);
        }
    }

    fn on_congestion(&mut self, _: &mut Window, _: &CongestionEvent) {}

    fn on_sent(&mut self, _: &mut Window, _: &Sent) -> bool {
        self.bytes += self.payload;
        if self.bytes >= self.params.increase_bytes.0 && self.raise_at != Time::NEVER {
            self.bytes = 0;
            self.byte_events += 1;
            self.raise();
        }
        false
    }

    fn on_timer(&mut self, _: &mut Window, now: Time, timer: Timer) {
        if timer == Timer::Control {
            self.advance(now);
        }
    }

    fn pacing(&self) -> Pacing {
        let changes_at = self.decay_at.min(self.raise_at);
        Pacing { changes_at, ..Pacing::at(self.line.segments(self.current)) }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("rate", self.current);
        f("target", self.target);
        f("alpha", self.alpha);
    }
}
