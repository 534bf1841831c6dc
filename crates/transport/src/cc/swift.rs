//! Swift: window control that keeps the delay at a target (Kumar and others, *Swift: Delay is Simple and Effective for
//! Congestion Control in the Datacenter*, SIGCOMM 2020).

use super::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent, EchoResponse, Needs, Pacing, Profile, RecoveryWindow,
    Setup, Window,
};
use crate::check::{duration, factor, number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Swift (SIGCOMM 2020): while the delay is below a target, the window grows by `additive` segments per round trip;
/// above the target it shrinks in proportion to the excess delay, at most once per round trip. At windows below one
/// segment the time between segments exceeds a round trip. The target grows with the number of hops and, for fairness
/// between small windows, with the inverse square root of the window. Only the paper's window for the fabric is
/// modelled, not the one for the end host, since hosts have no delay in this simulator. The paper gives no values for
/// the delays; the defaults are those of csg-htsim: a base delay of 20 us, a delay per hop derived from the base delay,
/// and flow scaling of up to five times the base delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Target delay for a path of no hops and a large window, 1 ns to 10 s. Default 20 us.
    pub base: Dur,
    /// Addition to the target per link of the path, at most 10 s. Default 3.053 us, 20 us / 6.55.
    pub per_hop: Dur,
    /// Maximum addition to the target by flow scaling, at most 10 s. Default 100 us, 5 · 20 us.
    pub flow_scaling: Dur,
    /// Window at and below which flow scaling adds `flow-scaling`, segments, above 0. Default 0.1.
    pub scaling_from: f64,
    /// Window at and above which flow scaling adds nothing, segments, above `scaling-from` and at most 10^9. Default
    /// 100.
    pub scaling_to: f64,
    /// Additive increase of the window per round trip, segments, above 0 and at most 100. Default
    /// 1.
    pub additive: f64,
    /// Factor beta of the relative excess delay in the decrease, above 0 and below 1. Default 0.8.
    pub beta: f64,
    /// Maximum decrease per round trip, as a fraction of the window (max_mdf), above 0 and below 1. Default 0.5.
    pub max_decrease: f64,
    /// Minimum window, segments, above 0 and below 1. Default 0.01.
    pub least: f64,
    /// Maximum window, segments, 1 to 10^9. Default: no upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// Number of consecutive expiries of the retransmission timer without an acknowledgement of new segments at which
    /// the window is set to `least` (RETX_RESET_THRESHOLD), 1 to 1000. Default 5, as in csg-htsim; the paper gives no
    /// value.
    pub reset_after: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            base: Dur::from_us(20),
            per_hop: Dur::from_ns(3_053),
            flow_scaling: Dur::from_us(100),
            scaling_from: 0.1,
            scaling_to: 100.0,
            additive: 1.0,
            beta: 0.8,
            max_decrease: 0.5,
            least: 0.01,
            most: None,
            reset_after: 5,
        }
    }
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        duration("base", self.base)?;
        for (field, time) in [("per-hop", self.per_hop), ("flow-scaling", self.flow_scaling)] {
            if time > Dur::from_secs(10) {
                return Err(Invalid::new(field, format!("{time} is out of range; write \"0s\" to \"10s\"")));
            }
        }
        if !(self.scaling_from > 0.0 && self.scaling_from < self.scaling_to && self.scaling_to <= 1e9) {
            let message = format!(
                "{} is out of range; write a number above 0 and below `scaling-to`, such as 0.1",
                self.scaling_from
            );
            return Err(Invalid::new("scaling-from", message));
        }
        if !(self.additive > 0.0 && self.additive <= 100.0) {
            let message = format!("{} is out of range; write a number above 0 and at most 100", self.additive);
            return Err(Invalid::new("additive", message));
        }
        factor("beta", self.beta)?;
        factor("max-decrease", self.max_decrease)?;
        factor("least", self.least)?;
        if let Some(most) = self.most.filter(|most| !(1.0..=1e9).contains(most)) {
            return Err(Invalid::new(
                "most",
                format!("{most} is out of range; write a number of segments from 1 to 1e9"),
            ));
        }
        number("reset-after", self.reset_after, 1, 1000)
    }
}

impl Build for Params {
    type Control = Swift;
    fn build(&self, setup: &Setup, _: Rng) -> Swift {
        let inverse_root = |window: f64| 1.0 / window.sqrt();
        let alpha = self.flow_scaling.as_secs() / (inverse_root(self.scaling_from) - inverse_root(self.scaling_to));
        Swift {
            alpha,
            offset: alpha * inverse_root(self.scaling_to),
            base_target: self.base.as_secs() + f64::from(setup.line.hops) * self.per_hop.as_secs(),
            cwnd: f64::from(setup.initial_window),
            decreased_at: None,
            srtt: Dur::ZERO,
            expiries: 0,
            params: self.clone(),
        }
    }
    fn needs(&self) -> Needs {
        Needs { line: true, ..Needs::default() }
    }
}

/// State of Swift in one sender.
#[derive(Debug)]
pub struct Swift {
    params: Params,
    /// Coefficient alpha of flow scaling, which adds alpha/√cwnd − `offset` to the target, seconds.
    alpha: f64,
    /// Constant that flow scaling subtracts, seconds.
    offset: f64,
    /// Target delay without flow scaling, seconds.
    base_target: f64,
    /// Congestion window, segments; may be below 1.
    cwnd: f64,
    /// Time of the last decrease. `None`: there was none.
    decreased_at: Option<Time>,
    /// Smoothed round-trip time at the last acknowledgement.
    srtt: Dur,
    /// Number of expiries of the retransmission timer since new segments were last acknowledged.
    expiries: u32,
}

impl Swift {
    /// Returns the target delay of section 3.5, seconds.
    fn target(&self) -> f64 {
        let scaling = self.alpha * (1.0 / self.cwnd.sqrt()) - self.offset;
        self.base_target + scaling.clamp(0.0, self.params.flow_scaling.as_secs())
    }
    /// Returns `true` if a round trip has passed since the last decrease, or if there was none (canDecrease).
    fn may_decrease(&self, now: Time) -> bool {
        self.decreased_at.is_none_or(|at| now.since(at) >= self.srtt)
    }
    /// Sets the window to `cwnd` segments within its bounds. If that is below one segment, the sender's window is one
    /// segment, and the interval of [`Swift::pacing`] limits it.
    fn set(&mut self, window: &mut Window, cwnd: f64) {
        self.cwnd = cwnd.max(self.params.least).min(self.params.most.unwrap_or(f64::INFINITY));
        window.cwnd = self.cwnd.max(1.0);
    }
}

impl CongestionControl for Swift {
    fn profile(&self) -> Profile {
        Profile {
            recovery: RecoveryWindow::Control,
            echo: EchoResponse::Control,
            every_expiry: true,
            paces: true,
            ..Profile::default()
        }
    }

    /// Sets the window (algorithm 1).
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.srtt = acked.srtt;
        self.expiries = 0;
        let Some(rtt) = acked.rtt else { return };
        let (delay, target) = (rtt.as_secs(), self.target());
        if delay < target {
            if acked.window_limited || self.cwnd < 1.0 {
                let growth = self.params.additive * f64::from(acked.delivered);
                self.set(window, self.cwnd + if self.cwnd >= 1.0 { growth / self.cwnd } else { growth });
            }
        } else if self.may_decrease(acked.now) {
            let factor = 1.0 - self.params.beta * (delay - target) / delay;
            self.set(window, self.cwnd * factor.max(1.0 - self.params.max_decrease));
            self.decreased_at = Some(acked.now);
        }
    }

    /// Reduces the window at a retransmission timeout or fast recovery (algorithm 1).
    fn on_congestion(&mut self, window: &mut Window, event: &CongestionEvent) {
        if event.sign == Congestion::Timeout {
            self.expiries += 1;
        }
        if self.expiries >= self.params.reset_after {
            self.set(window, self.params.least);
        } else if self.may_decrease(event.now) {
            self.set(window, self.cwnd * (1.0 - self.params.max_decrease));
        } else {
            return;
        }
        self.decreased_at = Some(event.now);
    }

    /// Returns no pacing or, at a window below one segment, the interval between segments.
    fn pacing(&self) -> Pacing {
        if self.cwnd >= 1.0 {
            return Pacing::default();
        }
        Pacing { interval: Dur::from_secs_f64(self.srtt.as_secs() / self.cwnd), ..Pacing::default() }
    }

    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("target", self.target());
        f("fraction", self.cwnd);
    }
}
