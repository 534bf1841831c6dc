//! HPCC: a window from the queues and rates that switches report (Li and others, *HPCC: High Precision
//! Congestion Control*, SIGCOMM 2019).

use super::{Acked, Build, Congestion, CongestionControl, Window};
use crate::line::{Hop, Line};
use crate::params::{Tcp, duration, factor, number, rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// HPCC (SIGCOMM 2019): each acknowledgement tells the queue, the bytes sent and the rate of every link
/// on the way; the window is set so that the busiest link has 95 % of a bandwidth-delay product in
/// flight. Begins with one product. Switches write into every packet of such a sender; give the
/// `header` 42 B more for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// eta, the utilisation aimed at, above 0 and below 1. Default 0.95.
    pub target: f64,
    /// maxStage, round trips of additive increase before the next multiplicative one, 0 to 1000. Default 5.
    pub stages: u32,
    /// Rate that additive increase adds per round trip; the window grows by its product with T. Absent, what `flows` says,
    /// and without that 50 Mbit/s: the paper's 80 B at 100 Gbit/s and 13 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive: Option<Rate>,
    /// N of the paper's rule for W_AI (section 3.3), the senders of one link that together add what eta leaves free: W_AI =
    /// W_init (1 − eta)/N, 1 to 1000000. In place of `additive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// T, a round trip without queues, 1 ns to 10 s. Absent, that of the longest idle way of the group's flows, since senders
    /// with different T share a link unequally.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rtt: Option<Dur>,
    /// Whether T is, for each flow, that of its own idle way. Default false.
    pub own_rtt: bool,
}

/// W_AI/T without anything said.
const ADDITIVE: Rate = Rate::mbit(50);

impl Default for Params {
    fn default() -> Params {
        Params { target: 0.95, stages: 5, additive: None, flows: None, base_rtt: None, own_rtt: false }
    }
}

impl Params {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), Invalid> {
        factor("target", self.target)?;
        if self.stages > 1000 {
            return Err(Invalid::new("stages", format!("{} is out of range; write 0 to 1000", self.stages)));
        }
        self.additive.map_or(Ok(()), |additive| rate("additive", additive))?;
        self.flows.map_or(Ok(()), |flows| number("flows", flows, 1, 1_000_000))?;
        if self.flows.is_some() && self.additive.is_some() {
            return Err(Invalid::new("flows", "`additive` says what is added; leave out one of the two"));
        }
        if self.own_rtt && self.base_rtt.is_some() {
            return Err(Invalid::new("own-rtt", "`base-rtt` says what T is; leave out one of the two"));
        }
        self.base_rtt.map_or(Ok(()), |base| duration("base-rtt", base))
    }
}

impl Build for Params {
    type Control = Hpcc;
    fn build(&self, tcp: &Tcp, _: Rng) -> Hpcc {
        let line = Line { base_rtt: self.base_rtt.unwrap_or(tcp.line().base_rtt), ..tcp.line() };
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
            heard: false,
        }
    }
    fn telemetry(&self) -> bool {
        true
    }
    fn needs_line(&self) -> bool {
        true
    }
    fn shares_base_rtt(&self) -> bool {
        self.base_rtt.is_none() && !self.own_rtt
    }
}

/// HPCC at work. Windows in segments.
#[derive(Debug)]
pub struct Hpcc {
    target: f64,
    stages: u32,
    /// W_AI.
    step: f64,
    line: Line,
    /// W_c, the window of the last round trip.
    reference: f64,
    /// W.
    window: f64,
    /// U, bytes in flight by bandwidth-delay product at the busiest link, an average over a round trip.
    utilisation: f64,
    /// incStage.
    stage: u32,
    /// What the last acknowledgement told.
    last: Vec<Hop>,
    /// Whether U has been measured by this acknowledgement.
    heard: bool,
}

impl Hpcc {
    /// A segment may leave while less than W is in flight, as in the authors' simulation: windows of a few segments that
    /// were rounded down would keep what they are short of for ever, whatever W_AI adds.
    fn segments(&self) -> f64 {
        self.window.ceil().max(1.0)
    }

    /// MeasureInflight of algorithm 1: what has changed since the last acknowledgement; none if the way
    /// has, or if nothing has.
    fn busiest(&self, hops: &[Hop]) -> Option<(f64, f64)> {
        let same = self.last.len() == hops.len() && self.last.iter().zip(hops).all(|(a, b)| a.port == b.port);
        if !same || hops.is_empty() {
            return None;
        }
        let base = self.line.base_rtt.as_secs();
        let mut busiest = (-1.0, 0.0);
        for (before, hop) in self.last.iter().zip(hops) {
            let apart = hop.at.since(before.at).as_secs();
            if apart <= 0.0 {
                return None;
            }
            let product = hop.rate.0 as f64 / 8.0 * base;
            let sent = (hop.busy.0 - before.busy.0) as f64 / hop.at.since(before.at).0 as f64;
            let load = f64::from(hop.queue.min(before.queue)) / product + sent;
            if load > busiest.0 {
                busiest = (load, apart.min(base) / base);
            }
        }
        Some(busiest)
    }
}

impl CongestionControl for Hpcc {
    fn begin(&mut self, window: &mut Window) {
        window.cwnd = self.segments();
    }

    fn on_telemetry(&mut self, hops: &[Hop]) {
        self.heard = false;
        if let Some((load, share)) = self.busiest(hops) {
            self.utilisation = (1.0 - share) * self.utilisation + share * load;
            self.heard = true;
        }
        self.last.clear();
        self.last.extend_from_slice(hops);
    }

    /// ComputeWind of algorithm 1.
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        if !std::mem::take(&mut self.heard) {
            return;
        }
        let multiplies = self.utilisation >= self.target || self.stage >= self.stages;
        self.window =
            self.step + if multiplies { self.reference / (self.utilisation / self.target) } else { self.reference };
        // More than the way holds would only wait in the host. A way that holds less than W_AI holds it always.
        let most = self.line.product();
        self.window = self.window.clamp(self.step.min(most), most);
        if acked.round {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
        window.cwnd = self.segments();
    }

    fn on_congestion(&mut self, _: &mut Window, _: Congestion, _: Time, _: u32) {}

    /// R = W / T, also below a window of one segment.
    fn pacing_rate(&self) -> Option<f64> {
        Some(self.window / self.line.base_rtt.as_secs())
    }
    fn controls_recovery(&self) -> bool {
        true
    }
    fn handles_ecn(&self) -> bool {
        true
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("utilisation", self.utilisation);
        f("reference", self.reference);
    }
}
