//! TIMELY: rate control by the gradient of the round-trip time (Mittal and others, *TIMELY: RTT-based Congestion
//! Control for the Datacenter*, SIGCOMM 2015), and the variant with a unique fixed point (Zhu and others, *ECN or
//! Delay: Lessons Learnt from Analysis of DCQCN and TIMELY*, CoNEXT 2016).

use super::{
    Acked, Build, CongestionControl, CongestionEvent, EchoResponse, NO_WINDOW, Needs, Pacing, Profile, RecoveryWindow,
    Setup, Window,
};
use crate::check::{duration, factor, number, rate};
use crate::line::Line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Size};

/// TIMELY (SIGCOMM 2015): the rate of a sender is updated once per acknowledged `chunk`. It grows by steps while the
/// round-trip time falls or is below `low`, and shrinks in proportion to the gradient while the round-trip time rises.
/// There is no window, and the initial rate is that of the link, since TIMELY is made for lossless networks. TIMELY
/// does not converge to fair shares: between `low` and `high` the samples of a slow sender are far apart, so that their
/// differences and its reductions are large, and one or two senders take nearly all bandwidth. The variant "patched"
/// has a unique fixed point with equal rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Control law between `low` and `high`. Default "gradient", the paper's.
    pub variant: Variant,
    /// Interval between updates of the rate: "chunk", each `chunk` acknowledged (the paper), or "round-trip", each
    /// round trip (the simulation of HPCC's authors). Default "chunk".
    pub update: Update,
    /// Payload that is acknowledged by one completion event, 1 B to 1 GB. Default 16 kB.
    pub chunk: Size,
    /// Weight alpha of a new difference of round-trip times in their moving average, above 0 and below 1. Default
    /// 0.875.
    pub weight: f64,
    /// Multiplicative decrease beta, above 0 and below 1. Default 0.8, and 0.008 if "patched", as in the papers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Round-trip time below which the rate always grows, 1 ns to 10 s. Default 50 us.
    pub low: Dur,
    /// Round-trip time above which the rate always shrinks, `low` to 10 s. Default 500 us.
    pub high: Dur,
    /// Reference round-trip time RTT_ref of the "patched" variant, at which its error is zero, `low` to `high`.
    /// Default `low`, as the paper's q' = C T_low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Dur>,
    /// Divisor of differences for the normalised gradient, 1 ns to 10 s. Default 20 us.
    pub min_rtt: Dur,
    /// Additive increase delta, above 0. Default 10 Mbit/s.
    pub additive: Rate,
    /// Number of consecutive completion events with a gradient of at most 0 that multiplies the additive increase by
    /// five until the gradient is positive again, 1 to 1000. Default 5.
    pub hyper_after: u32,
    /// Minimum rate, above 0. Default 10 Mbit/s.
    pub least: Rate,
    /// Initial rate, as a fraction of the link's rate, above 0 and at most 1. Default 1.
    pub start: Fraction,
}

/// Control law of TIMELY between its thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The gradient alone (algorithm 1 of the paper of 2015). Every rate is a fixed point when the gradient is 0.
    #[default]
    Gradient,
    /// Patched TIMELY (Zhu and others 2016, algorithm 2): R ← δ (1 − w) + R (1 − β w e), with the error e = RTT/RTT_ref
    /// − 1 and the weight w of the gradient g: 0 for g up to −1/4, 2 g + 1/2 between, 1 for g of 1/4 and more. There is
    /// no hyperactive increase. N senders converge to equal rates and RTT = RTT_ref (1 + N δ/(β C)).
    Patched,
}

/// Interval between updates of TIMELY's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// The acknowledgement of a chunk.
    #[default]
    Chunk,
    /// A round trip: the first sample after the acknowledgement of a segment sent after the last update.
    RoundTrip,
}

/// Default of beta in the papers of 2015 and of 2016.
const BETA: [f64; 2] = [0.8, 0.008];

/// Factor N of the additive increase in hyperactive increase (paper of 2015).
const HYPER: f64 = 5.0;

impl Default for Params {
    fn default() -> Params {
        Params {
            variant: Variant::Gradient,
            update: Update::Chunk,
            chunk: Size(16_000),
            weight: 0.875,
            beta: None,
            reference: None,
            low: Dur::from_us(50),
            high: Dur::from_us(500),
            min_rtt: Dur::from_us(20),
            additive: Rate::mbit(10),
            hyper_after: 5,
            least: Rate::mbit(10),
            start: Fraction(1.0),
        }
    }
}

impl Params {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(1..=1_000_000_000).contains(&self.chunk.0) {
            return Err(Invalid::new("chunk", format!("{} is out of range; write 1B to 1GB", self.chunk)));
        }
        factor("weight", self.weight)?;
        self.beta.map_or(Ok(()), |beta| factor("beta", beta))?;
        duration("low", self.low)?;
        duration("high", self.high)?;
        duration("min-rtt", self.min_rtt)?;
        if self.high < self.low {
            return Err(Invalid::new("high", format!("{} is below `low`; write {} or more", self.high, self.low)));
        }
        match (self.variant, self.reference) {
            (Variant::Gradient, Some(_)) => {
                let message = "the \"gradient\" variant has no reference; remove it, or write variant = \"patched\"";
                return Err(Invalid::new("reference", message));
            }
            (Variant::Patched, Some(reference)) if reference < self.low || reference > self.high => {
                return Err(Invalid::new(
                    "reference",
                    format!("{reference} is out of range; write {} to {}, `low` to `high`", self.low, self.high),
                ));
            }
            _ => {}
        }
        rate("additive", self.additive)?;
        number("hyper-after", self.hyper_after, 1, 1000)?;
        rate("least", self.least)?;
        if self.start.0 > 0.0 {
            return Ok(());
        }
        Err(Invalid::new("start", format!("{} is out of range; write a number above 0 and at most 1", self.start)))
    }
}

impl Build for Params {
    type Control = Timely;
    fn build(&self, setup: &Setup, _: Rng) -> Timely {
        let line = setup.line;
        Timely {
            beta: self.beta.unwrap_or(BETA[usize::from(self.variant == Variant::Patched)]),
            params: self.clone(),
            line,
            payload: u64::from(setup.payload),
            rate: line.rate.0 as f64 * self.start.0,
            acked: 0,
            round_ended: false,
            last_rtt: None,
            difference: 0.0,
            falling: 0,
        }
    }
    fn initial_window(&self, _: &Setup) -> f64 {
        NO_WINDOW
    }
    fn needs(&self) -> Needs {
        Needs { line: true, ..Needs::default() }
    }
}

/// State of TIMELY in one sender. Rates are in bit/s on the wire.
#[derive(Debug)]
pub struct Timely {
    params: Params,
    beta: f64,
    line: Line,
    /// Payload of a full segment, bytes.
    payload: u64,
    /// Sending rate.
    rate: f64,
    /// Payload bytes acknowledged since the last completion event.
    acked: u64,
    /// `true` if a round trip has ended since the last completion event.
    round_ended: bool,
    /// Round-trip time at the last completion event, seconds. `None`: there was no event.
    last_rtt: Option<f64>,
    /// Moving average of the differences of consecutive round-trip times, seconds.
    difference: f64,
    /// Number of consecutive completion events with a gradient of at most 0.
    falling: u32,
}

impl Timely {
    /// Updates the rate at a completion event with round-trip time `rtt` in seconds: algorithm 1 of the paper of 2015,
    /// or algorithm 2 of the paper of 2016.
    fn complete(&mut self, rtt: f64) {
        let p = &self.params;
        let Some(last_rtt) = self.last_rtt.replace(rtt) else { return };
        self.difference = (1.0 - p.weight) * self.difference + p.weight * (rtt - last_rtt);
        let gradient = self.difference / p.min_rtt.as_secs();
        let (low, high, step) = (p.low.as_secs(), p.high.as_secs(), p.additive.0 as f64);
        let rising = gradient > 0.0;
        self.falling = if rising { 0 } else { self.falling + 1 };
        if rtt < low {
            self.rate += step;
        } else if rtt > high {
            self.rate *= 1.0 - self.beta * (1.0 - high / rtt);
        } else if p.variant == Variant::Patched {
            let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let error = rtt / p.reference.unwrap_or(p.low).as_secs() - 1.0;
            self.rate = step * (1.0 - weight) + self.rate * (1.0 - self.beta * weight * error);
        } else if rising {
            // A gradient above 1 would reduce the rate by more than beta.
            self.rate *= 1.0 - self.beta * gradient.min(1.0);
        } else {
            self.rate += if self.falling >= p.hyper_after { HYPER * step } else { step };
        }
        // On a link slower than `least`, the minimum rate is that of the link.
        let line = self.line.rate.0 as f64;
        self.rate = self.rate.clamp((p.least.0 as f64).min(line), line);
    }
}

impl CongestionControl for Timely {
    fn profile(&self) -> Profile {
        Profile { recovery: RecoveryWindow::Control, echo: EchoResponse::Control, paces: true, ..Profile::default() }
    }
    fn on_ack(&mut self, window: &mut Window, acked: &Acked) {
        // Not redundant: the loss of a SYN sets the window to one segment.
        window.cwnd = NO_WINDOW;
        self.acked += u64::from(acked.delivered) * self.payload;
        self.round_ended |= acked.round;
        let due = match self.params.update {
            Update::Chunk => self.acked >= self.params.chunk.0,
            Update::RoundTrip => self.round_ended,
        };
        if let Some(rtt) = acked.rtt
            && due
        {
            (self.acked, self.round_ended) = (0, false);
            self.complete(rtt.as_secs());
        }
    }
    fn on_congestion(&mut self, _: &mut Window, _: &CongestionEvent) {}
    fn pacing(&self) -> Pacing {
        Pacing::at(self.line.segments(self.rate))
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("rate", self.rate);
        f("gradient", self.difference / self.params.min_rtt.as_secs());
    }
}
