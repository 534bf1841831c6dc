//! The parameters of stochastic fair Blue.

use crate::check;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Dur, Fraction};

/// Stochastic fair Blue (Feng et al., UM CSE-TR-387-99 and INFOCOM 2001): flows share bins by
/// independent hashes on several levels, each bin has a probability that rises when it is full and
/// falls when it is empty, and the smallest of a flow's bins is the flow's. Flows that stand at 1
/// are held to a rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// "thesis", as published, or "linux", the kernel's version: probabilities in parts of 65535, no
    /// freeze time, a bin is full at `bin-size` rather than above it, packets are dropped when every bin
    /// has `max`, more and more marks become drops above a probability of one half, the penalty box is
    /// a bucket of tokens, and old hashes leave their probabilities to the next. Default "thesis".
    pub form: Form,
    /// Levels, 1 to 32. Default 2; 8 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<u8>,
    /// Bins on each level, 1 to 65535. Default 23; 16 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<u16>,
    /// Packets above which a bin is full; half as much again as a fair share of the buffer is usual.
    /// Default 13, for 200 packets in 23 bins; 20 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin_size: Option<u64>,
    /// Packets in each of its bins from which on a packet is dropped. Default: no limit; 25 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// By how much the probability of a full bin is raised (d1). Default 0.005; 66/65535 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment: Option<f64>,
    /// By how much that of an empty bin is lowered (d2). Default 0.001; 11/65535 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrement: Option<f64>,
    /// Time that must have passed since a bin's last change. Default 10ms; 0s in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Dur>,
    /// Freeze time of decrements, which then have a timer of their own; Feng's code
    /// for ns has two (`ihold-time`, `dhold-time`). Default: one timer for both, as in the paper and in
    /// Apple's kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze_down: Option<Dur>,
    /// Event at which an empty bin lowers its probability: an "arrival" that finds it empty, as in the paper, or at the
    /// "departure" of its last packet, as in Feng's code for ns and in Apple's kernel. Form "linux" has "arrival". Default
    /// "arrival".
    pub lower_at: LowerAt,
    /// Effect of a full bin besides a higher probability: nothing, "increase"; drop the packet if
    /// one of its bins is full, "drop-any", or if all are, "drop-all". Default "increase".
    pub bin_full: BinFull,
    /// Rate allowed to flows that do not respond.
    pub penalty_box: PenaltyBox,
    /// Moving hash: how often the hashes change. Default: never; every 10min in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rehash: Option<Rehash>,
    /// `true` if ECN-capable packets are marked instead of dropped early. Default false.
    pub ecn: bool,
}

/// The two published forms of stochastic fair Blue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// UM CSE-TR-387-99.
    #[default]
    Thesis,
    /// Linux's `sch_sfb`.
    Linux,
}

/// When an empty bin lowers its probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LowerAt {
    /// When a packet arrives that finds it empty.
    #[default]
    Arrival,
    /// When its last packet leaves the queue.
    Departure,
}

/// Effect of a full bin besides a higher probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BinFull {
    /// The probability of the bin increases, nothing else.
    #[default]
    Increase,
    /// The packet is dropped if any of its bins is full, as in the figure of the paper.
    DropAny,
    /// It is dropped if all of them are.
    DropAll,
}

/// The penalty box of flows that do not respond to congestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PenaltyBox {
    /// Probability from which on a flow is in it. Default 1.
    pub threshold: Fraction,
    /// Time between two packets that may pass. Default 50ms, which is 0.16 Mbit/s of 1000-byte
    /// packets; 100ms in form "linux", where it is the time per token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Dur>,
    /// Tokens that the bucket of form "linux" holds. Linux counts a time too short for a whole token
    /// as nothing, so that flows faster than one packet per `interval` get no token. Default 20.
    pub burst: u64,
    /// Scope of the interval: all flows, "global", each bin, "per-bin", or each flow,
    /// "per-flow", which no router could keep. Form "linux" has "global". Default "global".
    pub scope: Scope,
    /// Effect of boxed packets on their bins: those that pass count in them like any other, "counted",
    /// or do not, "uncounted"; each that comes raises their probabilities like a full bin, "pressure";
    /// empty bins of theirs are not lowered by them, "hold", nor for a freeze time by any other flow,
    /// "keep". Default "counted".
    pub boxed: Boxed,
}

impl Default for PenaltyBox {
    fn default() -> PenaltyBox {
        PenaltyBox {
            threshold: Fraction(1.0),
            interval: None,
            burst: 20,
            scope: Scope::default(),
            boxed: Boxed::default(),
        }
    }
}

/// Scope of the penalty box's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All boxed flows.
    #[default]
    Global,
    /// Flows with a common bin.
    PerBin,
    /// Each flow has its own.
    PerFlow,
}

/// Effect of boxed packets on their bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Boxed {
    /// They count while they wait.
    #[default]
    Counted,
    /// They do not count.
    Uncounted,
    /// They count, and each that arrives raises its bins.
    Pressure,
    /// They count, and do not lower their bins.
    Hold,
    /// As `Hold`, and each that arrives keeps other flows from lowering them for a freeze time, so that
    /// their probability stands while the flow goes on.
    Keep,
}

/// A moving hash: two sets of bins, of which one decides; after each interval they change places and
/// the retired one gets new hashes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rehash {
    /// Time between two changes, above 0s.
    pub interval: Dur,
    /// For how long before a change the next set is warmed. Default: all of `interval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Dur>,
    /// Packets that warm it: "all" or those of "unresponsive" flows. Default "all".
    #[serde(default)]
    pub warmed_by: Warmed,
    /// `true` if it is warmed at all; if not, each change starts with empty bins. Default true.
    #[serde(default = "yes")]
    pub double_buffer: bool,
    /// Largest probability that a warmed bin keeps at the change; 0.2 keeps a suspicion, but no
    /// conviction. Default 1.
    #[serde(default = "one")]
    pub cap: Fraction,
}

/// Packets that warm the next set of bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Warmed {
    /// Packets of all flows.
    #[default]
    All,
    /// Packets of flows in the penalty box.
    Unresponsive,
}

fn yes() -> bool {
    true
}
fn one() -> Fraction {
    Fraction(1.0)
}

/// The parameters with the defaults of their form filled in.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub form: Form,
    pub levels: usize,
    pub bins: usize,
    pub bin_size: u64,
    pub max: Option<u64>,
    pub increment: f64,
    pub decrement: f64,
    pub freeze: Dur,
    pub freeze_down: Option<Dur>,
    pub lower_at: LowerAt,
    pub bin_full: BinFull,
    pub threshold: f64,
    pub penalty_interval: Dur,
    pub burst: u64,
    pub scope: Scope,
    pub boxed: Boxed,
    pub interval: Option<Dur>,
    /// `None`: no double buffering.
    pub warm_up: Option<Dur>,
    pub warmed: Warmed,
    pub cap: f64,
}

impl Params {
    pub(super) fn settings(&self) -> Settings {
        let linux = self.form == Form::Linux;
        let rehash = self.rehash.clone().or_else(|| linux.then(Rehash::linux));
        let by_form = |thesis: f64, kernel: f64| if linux { kernel } else { thesis };
        Settings {
            form: self.form,
            levels: usize::from(self.levels.unwrap_or(if linux { 8 } else { 2 })),
            bins: usize::from(self.bins.unwrap_or(if linux { 16 } else { 23 })),
            bin_size: self.bin_size.unwrap_or(if linux { 20 } else { 13 }),
            max: self.max.or(linux.then_some(25)),
            increment: self.increment.unwrap_or(by_form(0.005, 66.0 / 65_535.0)),
            decrement: self.decrement.unwrap_or(by_form(0.001, 11.0 / 65_535.0)),
            freeze: self.freeze.unwrap_or(if linux { Dur::ZERO } else { Dur::from_ms(10) }),
            freeze_down: self.freeze_down,
            lower_at: self.lower_at,
            bin_full: self.bin_full,
            threshold: self.penalty_box.threshold.0,
            penalty_interval: self.penalty_box.interval.unwrap_or(Dur::from_ms(if linux { 100 } else { 50 })),
            burst: self.penalty_box.burst,
            scope: self.penalty_box.scope,
            boxed: self.penalty_box.boxed,
            interval: rehash.as_ref().map(|rehash| rehash.interval),
            warm_up: rehash.as_ref().and_then(|r| r.double_buffer.then_some(r.warm_up.unwrap_or(r.interval))),
            warmed: rehash.as_ref().map_or(Warmed::All, |rehash| rehash.warmed_by),
            cap: rehash.as_ref().map_or(1.0, |rehash| rehash.cap.0),
        }
    }

    /// There are bins, steps and times.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        let settings = self.settings();
        check::within("levels", settings.levels as f64, 1.0, 32.0)?;
        check::within("bins", settings.bins as f64, 1.0, 65_535.0)?;
        check::above("increment", settings.increment, 0.0, 1.0)?;
        check::above("decrement", settings.decrement, 0.0, 1.0)?;
        check::pause("freeze", settings.freeze)?;
        check::pause("freeze-down", settings.freeze_down.unwrap_or(Dur::ZERO))?;
        if self.form == Form::Linux && self.lower_at == LowerAt::Departure {
            let advice = "form \"linux\" lowers bins at arrivals; write \"arrival\" or `form = \"thesis\"`";
            return Err(Invalid::new("lower-at", advice));
        }
        check::some("penalty-box.threshold", self.penalty_box.threshold)?;
        check::duration("penalty-box.interval", settings.penalty_interval)?;
        let Some(rehash) = &self.rehash else { return Ok(()) };
        check::duration("rehash.interval", rehash.interval)?;
        match rehash.warm_up {
            Some(warm_up) if warm_up > rehash.interval => {
                let advice = format!("{warm_up} is longer than `interval`; write at most {}", rehash.interval);
                Err(Invalid::new("rehash.warm-up", advice))
            }
            _ => Ok(()),
        }
    }
}

impl Rehash {
    fn linux() -> Rehash {
        Rehash {
            interval: Dur::from_secs(600),
            warm_up: Some(Dur::from_secs(60)),
            warmed_by: Warmed::Unresponsive,
            double_buffer: true,
            cap: one(),
        }
    }
}
