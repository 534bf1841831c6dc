//! Swift: a window that keeps the delay at a target (Kumar and others, *Swift: Delay is Simple and
//! Effective for Congestion Control in the Datacenter*, SIGCOMM 2020).

use super::{Acked, Build, Congestion, CongestionControl, Window};
use crate::params::{Tcp, duration, factor, number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Swift (SIGCOMM 2020): the window grows by a segment per round trip while the delay is below a target
/// and shrinks in proportion to the excess above it, once a round trip; windows below a segment space
/// segments further apart than a round trip. The target grows with the hops and, so that small windows
/// are fair to each other, with one over the root of the window. Of the paper's two windows this is the
/// fabric's: hosts here take no time. The paper gives no numbers for the delays; these are csg-htsim's: a base delay of
/// 20 us, a hop's share of it and a range of flow scaling of five times that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// The target for a way of no hops and a large window, 1 ns to 10 s. Default 20 us.
    pub base: Dur,
    /// What each link on the way adds, at most 10 s. Default 3.05 us, `base`/6.55.
    pub per_hop: Dur,
    /// The most that scaling by flows adds, at most 10 s. Default 100 us, 5 · `base`.
    pub flow_scaling: Dur,
    /// Window at and below which it adds the most, segments, above 0. Default 0.1.
    pub scaling_from: f64,
    /// Window at and above which it adds nothing, segments, above `scaling-from`. Default 100.
    pub scaling_to: f64,
    /// Segments that the window grows by per round trip, above 0 and at most 100. Default 1.
    pub additive: f64,
    /// The decrease for a delay of many targets, above 0 and below 1. Default 0.8.
    pub beta: f64,
    /// The largest decrease, above 0 and below 1. Default 0.5.
    pub max_decrease: f64,
    /// The smallest window, segments, above 0 and below 1. Default 0.01.
    pub least: f64,
    /// The largest window, segments, at least 1. Absent, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// RETX_RESET_THRESHOLD: expiries of the timer in a row, without an acknowledgement of something new, at which the window
    /// falls to `least`, 1 to 1000. Default 5, as in csg-htsim; the paper names no number.
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
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), Invalid> {
        duration("base", self.base)?;
        for (field, time) in [("per-hop", self.per_hop), ("flow-scaling", self.flow_scaling)] {
            if time > Dur::from_secs(10) {
                return Err(Invalid::new(field, format!("{time} is out of range; write \"0s\" to \"10s\"")));
            }
        }
        if !(self.scaling_from > 0.0 && self.scaling_from < self.scaling_to && self.scaling_to <= 1e9) {
            let message = format!("{} is not above 0 and below `scaling-to`; write such as 0.1", self.scaling_from);
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
            return Err(Invalid::new("most", format!("{most} is out of range; write a number of segments from 1")));
        }
        number("reset-after", self.reset_after, 1, 1000)
    }
}

impl Build for Params {
    type Control = Swift;
    fn build(&self, tcp: &Tcp, _: Rng) -> Swift {
        let root = |window: f64| 1.0 / window.sqrt();
        let alpha = self.flow_scaling.as_secs() / (root(self.scaling_from) - root(self.scaling_to));
        Swift {
            alpha,
            offset: alpha * root(self.scaling_to),
            fixed: self.base.as_secs() + f64::from(tcp.line().hops) * self.per_hop.as_secs(),
            cwnd: f64::from(tcp.initial_window()),
            cut_at: None,
            srtt: Dur::ZERO,
            expiries: 0,
            params: self.clone(),
        }
    }
    fn needs_line(&self) -> bool {
        true
    }
}

/// Swift at work.
#[derive(Debug)]
pub struct Swift {
    params: Params,
    /// Coefficients of scaling by flows: alpha/√cwnd − offset, seconds.
    alpha: f64,
    offset: f64,
    /// The target without it, seconds.
    fixed: f64,
    /// Segments; may be below 1.
    cwnd: f64,
    /// When it was last cut.
    cut_at: Option<Time>,
    srtt: Dur,
    /// Expiries of the timer since something new was acknowledged.
    expiries: u32,
}

impl Swift {
    /// The target delay of section 3.5, seconds.
    fn target(&self) -> f64 {
        let scaling = self.alpha * (1.0 / self.cwnd.sqrt()) - self.offset;
        self.fixed + scaling.clamp(0.0, self.params.flow_scaling.as_secs())
    }
    /// canDecrease: a round trip has passed since the last cut.
    fn may_cut(&self, now: Time) -> bool {
        self.cut_at.is_none_or(|at| now.since(at) >= self.srtt)
    }
    fn set(&mut self, window: &mut Window, cwnd: f64) {
        self.cwnd = cwnd.max(self.params.least).min(self.params.most.unwrap_or(f64::INFINITY));
        window.cwnd = self.cwnd.max(1.0);
    }
}

impl CongestionControl for Swift {
    /// Algorithm 1 of the paper.
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        self.srtt = acked.srtt;
        self.expiries = 0;
        let Some(rtt) = acked.rtt else { return };
        let (delay, target) = (rtt.as_secs(), self.target());
        if delay < target {
            if acked.window_limited || self.cwnd < 1.0 {
                let grown = self.params.additive * f64::from(acked.delivered);
                self.set(window, self.cwnd + if self.cwnd >= 1.0 { grown / self.cwnd } else { grown });
            }
        } else if self.may_cut(acked.now) {
            let factor = 1.0 - self.params.beta * (delay - target) / delay;
            self.set(window, self.cwnd * factor.max(1.0 - self.params.max_decrease));
            self.cut_at = Some(acked.now);
        }
    }

    /// Algorithm 1's retransmission timeout and fast recovery.
    fn on_congestion(&mut self, window: &mut Window, why: Congestion, now: Time, _: u32) {
        if why == Congestion::Timeout {
            self.expiries += 1;
        }
        if self.expiries >= self.params.reset_after {
            self.set(window, self.params.least);
        } else if self.may_cut(now) {
            self.set(window, self.cwnd * (1.0 - self.params.max_decrease));
        } else {
            return;
        }
        self.cut_at = Some(now);
    }

    /// Each expiry of the timer counts.
    fn hears_each_expiry(&self) -> bool {
        true
    }

    /// Pacing below a window of one segment.
    fn interval(&self) -> Dur {
        if self.cwnd >= 1.0 {
            return Dur::ZERO;
        }
        Dur::from_secs_f64(self.srtt.as_secs() / self.cwnd)
    }
    fn controls_recovery(&self) -> bool {
        true
    }
    fn handles_ecn(&self) -> bool {
        true
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("target", self.target());
        f("fraction", self.cwnd);
    }
}
