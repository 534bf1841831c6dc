//! HPCC: window control by the queue lengths and link loads that switches report (Li and others, *HPCC: High Precision
//! Congestion Control*, SIGCOMM 2019).

use super::{
    Acked, Build, CongestionControl, CongestionEvent, EchoResponse, Feedback, Needs, Pacing, Profile, RecoveryWindow,
    Setup, Window,
};
use crate::check::{duration, factor, number, rate};
use crate::line::{Hop, Line};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate};

/// HPCC (SIGCOMM 2019): each acknowledgement carries queue length, bytes sent and rate of every link of the path. The
/// window is set such that the bytes in flight are `target` times the bandwidth-delay product of the busiest link. The
/// initial window is one bandwidth-delay product. Switches write telemetry into each packet of such a sender; add 42 B
/// to the `header` for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Target utilisation eta, above 0 and below 1. Default 0.95.
    pub target: f64,
    /// Number of round trips with additive increase between two with multiplicative adjustment (maxStage), 0 to 1000.
    /// Default 5.
    pub stages: u32,
    /// Additive increase per round trip, as a rate above 0; the window grows by the product of this rate and T.
    /// Default: computed from `flows`; without `flows` 50 Mbit/s, the paper's 80 B per 13 us at 100 Gbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive: Option<Rate>,
    /// Number N of senders per link in the paper's rule for W_AI (section 3.3): W_AI = W_init (1 − eta)/N, so that the
    /// increases of all senders add up to the headroom; 1 to 1000000. Excludes `additive`. Default: `additive` applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Round-trip time T without queues, 1 ns to 10 s. Default: that of the longest idle path of the group's flows,
    /// since senders with different T share a link unequally.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rtt: Option<Dur>,
    /// `true` if T of each flow is the round-trip time of its own idle path. Default false.
    pub own_rtt: bool,
}

/// Default of the additive increase as a rate, W_AI/T.
const ADDITIVE: Rate = Rate::mbit(50);

impl Default for Params {
    fn default() -> Params {
        Params { target: 0.95, stages: 5, additive: None, flows: None, base_rtt: None, own_rtt: false }
    }
}

impl Params {
    /// Checks ranges, and that at most one parameter sets the increase and at most one sets T.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        factor("target", self.target)?;
        if self.stages > 1000 {
            return Err(Invalid::new("stages", format!("{} is out of range; write 0 to 1000", self.stages)));
        }
        self.additive.map_or(Ok(()), |additive| rate("additive", additive))?;
        self.flows.map_or(Ok(()), |flows| number("flows", flows, 1, 1_000_000))?;
        if self.flows.is_some() && self.additive.is_some() {
            return Err(Invalid::new("flows", "`additive` sets the increase, too; remove one of the two"));
        }
        if self.own_rtt && self.base_rtt.is_some() {
            return Err(Invalid::new("own-rtt", "`base-rtt` sets T, too; remove one of the two"));
        }
        self.base_rtt.map_or(Ok(()), |base| duration("base-rtt", base))
    }

    /// Returns the host's link and path with T as round-trip time.
    fn line(&self, setup: &Setup) -> Line {
        Line { base_rtt: self.base_rtt.unwrap_or(setup.line.base_rtt), ..setup.line }
    }
}

impl Build for Params {
    type Control = Hpcc;
    fn build(&self, setup: &Setup, _: Rng) -> Hpcc {
        let line = self.line(setup);
        let additive = match self.flows {
            Some(flows) => line.rate.0 as f64 * (1.0 - self.target) / f64::from(flows),
            None => self.additive.unwrap_or(ADDITIVE).0 as f64,
        };
        Hpcc {
            target: self.target,
            stages: self.stages,
            step: line.segments(additive) * line.base_rtt.as_secs(),
            line,
            reference: line.product(),
            window: line.product(),
            utilisation: 1.0,
            stage: 0,
            last: Vec::new(),
            measured: false,
        }
    }
    fn initial_window(&self, setup: &Setup) -> f64 {
        segments(self.line(setup).product())
    }
    fn needs(&self) -> Needs {
        let shares_base_rtt = self.base_rtt.is_none() && !self.own_rtt;
        Needs { telemetry: true, line: true, shares_base_rtt, ..Needs::default() }
    }
}

/// State of HPCC in one sender. Windows are in segments.
#[derive(Debug)]
pub struct Hpcc {
    /// Target utilisation eta.
    target: f64,
    /// Number of round trips with additive increase between two with multiplicative adjustment (maxStage).
    stages: u32,
    /// Additive increase W_AI.
    step: f64,
    line: Line,
    /// Reference window W_c: the window at the end of the last round trip.
    reference: f64,
    /// Window W.
    window: f64,
    /// Utilisation U of the busiest link: moving average over a round trip of bytes in flight divided by the
    /// bandwidth-delay product.
    utilisation: f64,
    /// Number of round trips with additive increase since the last multiplicative adjustment (incStage).
    stage: u32,
    /// Telemetry of the last acknowledgement (L).
    last: Vec<Hop>,
    /// `true` if U has been measured since the last call of `on_ack`.
    measured: bool,
}

/// Returns the congestion window for a window W, rounded up: a segment may be sent while less than W is in flight, as
/// in the authors' simulation. If W were rounded down, additive increases of less than a segment would have no effect
/// on small windows.
fn segments(window: f64) -> f64 {
    window.ceil().max(1.0)
}

impl Hpcc {
    /// Returns the utilisation u of the busiest link since the last acknowledgement, and the weight τ/T of this sample
    /// (MeasureInflight of algorithm 1, lines 2 to 8). `None`: `hops` is empty, the path has changed, or the time
    /// stamps of a link have not advanced.
    fn busiest(&self, hops: &[Hop]) -> Option<(f64, f64)> {
        let same_path = self.last.len() == hops.len() && self.last.iter().zip(hops).all(|(a, b)| a.port == b.port);
        if !same_path || hops.is_empty() {
            return None;
        }
        let base = self.line.base_rtt.as_secs();
        let (mut highest, mut weight) = (-1.0, 0.0);
        for (before, hop) in self.last.iter().zip(hops) {
            let elapsed = hop.at.since(before.at).as_secs();
            if elapsed <= 0.0 {
                return None;
            }
            let product = hop.rate.0 as f64 / 8.0 * base;
            let sent = (hop.busy.0 - before.busy.0) as f64 / hop.at.since(before.at).0 as f64;
            let load = f64::from(hop.queue.min(before.queue)) / product + sent;
            if load > highest {
                (highest, weight) = (load, elapsed.min(base) / base);
            }
        }
        Some((highest, weight))
    }
}

impl CongestionControl for Hpcc {
    fn profile(&self) -> Profile {
        Profile { recovery: RecoveryWindow::Control, echo: EchoResponse::Control, paces: true, ..Profile::default() }
    }

    fn on_feedback(&mut self, _: &mut Window, feedback: &Feedback<'_>) {
        let Some(hops) = feedback.hops else { return };
        self.measured = false;
        if let Some((load, share)) = self.busiest(hops) {
            self.utilisation = (1.0 - share) * self.utilisation + share * load;
            self.measured = true;
        }
        self.last.clear();
        self.last.extend_from_slice(hops);
    }

    /// Sets the window (`ComputeWind` of algorithm 1).
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if !std::mem::take(&mut self.measured) {
            return;
        }
        let multiplies = self.utilisation >= self.target || self.stage >= self.stages;
        self.window =
            self.step + if multiplies { self.reference / (self.utilisation / self.target) } else { self.reference };
        // The window is at most the bandwidth-delay product, since more would only wait in the host. If the
        // bandwidth-delay product is below W_AI, the window is constant.
        let maximum = self.line.product();
        self.window = self.window.clamp(self.step.min(maximum), maximum);
        if acked.round {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
        window.cwnd = segments(self.window);
    }

    fn on_congestion(&mut self, _: &mut Window, _: &CongestionEvent) {}

    /// Returns the pacing rate R = W/T, which has no lower bound at a window of one segment.
    fn pacing(&self) -> Pacing {
        Pacing::at(self.window / self.line.base_rtt.as_secs())
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("utilisation", self.utilisation);
        f("reference", self.reference);
    }
}
