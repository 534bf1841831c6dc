//! The parameters of stochastic fair Blue.

use crate::check;
use crate::retune::{Fixed, fixed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Dur, Fraction};

/// Stochastic fair Blue (Feng et al., UM CSE-TR-387-99 and INFOCOM 2001): independent hashes assign
/// each flow a bin on each of several levels. Each bin has a probability, which is raised when the
/// bin is full and lowered when it is empty; the probability of a flow is the smallest of its bins.
/// Flows whose probability reaches 1 are limited to a rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Form of the law: "thesis", as published, or "linux", as in Linux's `sch_sfb`. In form "linux"
    /// probabilities are multiples of 1/65535, there is no freeze time, a bin is full at `bin-size`
    /// instead of above it, a packet is dropped if each of its bins holds `max` packets, an increasing
    /// part of the marks becomes drops above a probability of 1/2, the penalty box is a token bucket,
    /// and a set of bins keeps its probabilities when it gets new hashes. Default "thesis".
    #[schemars(extend("x-fixed" = FORM_FIXED))]
    pub form: Form,
    /// Number of levels, 1 to 32. Default 2; 8 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = LEVELS_FIXED))]
    pub levels: Option<u8>,
    /// Number of bins on each level, 1 to 65535. Default 23; 16 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = BINS_FIXED))]
    pub bins: Option<u16>,
    /// Number of packets above which a bin is full; usually 1.5 times the buffer in packets divided
    /// by `bins`. Default 13, for 200 packets in 23 bins; 20 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin_size: Option<u64>,
    /// Number of packets per bin: an arriving packet is dropped if each of its bins holds at least this
    /// number. Default: no limit; 25 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// Increment of the probability of a full bin (d1), above 0 and at most 1. Default 0.005; 66/65535 in
    /// form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment: Option<f64>,
    /// Decrement of the probability of an empty bin (d2), above 0 and at most 1. Default 0.001;
    /// 11/65535 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrement: Option<f64>,
    /// Freeze time: minimum time between two changes of a bin's probability, at most 24h. Default 10ms; 0s in
    /// form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Dur>,
    /// Freeze time of decrements, at most 24h; they then have a timer of their own, as in Feng's code for ns
    /// (`ihold-time`, `dhold-time`). Default: one timer for increments and decrements with `freeze`, as
    /// in the paper and in Apple's kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze_down: Option<Dur>,
    /// Event at which the probability of an empty bin is lowered: "arrival", of a packet that finds the bin empty, as
    /// in the paper, or "departure", of the bin's last packet, as in Feng's code for ns and in Apple's kernel. Form
    /// "linux" allows "arrival" only. Default "arrival".
    pub lower_at: LowerAt,
    /// Effect of full bins on an arriving packet, in addition to the higher probability:
    /// "increase", no other effect; "drop-any", the packet is dropped if any of its bins is full;
    /// "drop-all", the packet is dropped if all of them are full. Default "increase".
    pub bin_full: BinFull,
    /// Penalty box, which limits the rate of unresponsive flows.
    pub penalty_box: PenaltyBox,
    /// Moving hash: periodic change of the hashes. Default: never; every 10 min in form "linux".
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

/// Event at which the probability of an empty bin is lowered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LowerAt {
    /// Arrival of a packet that finds the bin empty.
    #[default]
    Arrival,
    /// Departure of the bin's last packet.
    Departure,
}

/// Effect of full bins on an arriving packet, in addition to the higher probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BinFull {
    /// No other effect.
    #[default]
    Increase,
    /// The packet is dropped if any of its bins is full, as in the figure of the paper.
    DropAny,
    /// The packet is dropped if all of its bins are full.
    DropAll,
}

/// The penalty box of flows that do not respond to congestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PenaltyBox {
    /// Probability at or above which a flow is in the penalty box, above 0 and at most 1. Default 1.
    pub threshold: Fraction,
    /// Minimum time between two boxed packets that pass, above 0s and at most 24h. Default 50ms, which limits 1000-byte
    /// packets to 0.16 Mbit/s. In form "linux" it is the time per token, default 100ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Dur>,
    /// Depth of the token bucket of form "linux", tokens of one packet each. When the bucket is
    /// empty, Linux discards the fraction of a token accumulated since the last packet, so that
    /// flows with more than one packet per `interval` get no further token. Default 20.
    pub burst: u64,
    /// Scope of `interval`: "global", all boxed flows together; "per-bin", each bin; "per-flow",
    /// each flow, whose state no router could keep. Form "linux" is always "global". Default
    /// "global".
    #[schemars(extend("x-fixed" = SCOPE_FIXED))]
    pub scope: Scope,
    /// Effect of the packets of boxed flows on their bins: "counted", packets that pass count in the
    /// bins like any others; "uncounted", they do not count; "pressure", they count, and each arrival
    /// raises the probabilities of its bins as if the bins were full; "hold", they count, and they do not
    /// lower the probabilities of empty bins; "keep", as "hold", and each arrival also prevents other
    /// flows from lowering these probabilities for a freeze time. Default "counted".
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
    /// All boxed flows together.
    #[default]
    Global,
    /// The boxed flows of each bin.
    PerBin,
    /// Each boxed flow.
    PerFlow,
}

/// Effect of boxed packets on their bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Boxed {
    /// Packets that pass count in their bins while they wait.
    #[default]
    Counted,
    /// Packets that pass do not count in their bins.
    Uncounted,
    /// Packets that pass count, and each arrival raises the probabilities of its bins.
    Pressure,
    /// Packets that pass count, and boxed flows do not lower the probabilities of their bins.
    Hold,
    /// As `Hold`, and each arrival prevents other flows from lowering these probabilities for a freeze
    /// time, so that they stay as they are while the flow continues.
    Keep,
}

/// Moving hash: one of two sets of bins decides about packets. After each interval the sets change roles, and the set
/// that decided before gets new hashes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rehash {
    /// Time between two changes of the set, above 0s and at most 24h.
    pub interval: Dur,
    /// Time before a change during which packets already update the next set (warm-up), at most
    /// `interval`. Default: `interval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Dur>,
    /// Packets that update the next set during its warm-up: "all", or those of "unresponsive" flows
    /// (flows in the penalty box). Default "all".
    #[serde(default)]
    pub warmed_by: Warmed,
    /// `true` if the next set is warmed up; `false` if each change starts with empty bins. Default
    /// true.
    #[serde(default = "yes")]
    pub double_buffer: bool,
    /// Upper bound of a bin's probability at a change of the set, 0 to 1. With a bound below `threshold` of the penalty
    /// box, no flow is boxed right after a change. Default 1.
    #[serde(default = "one")]
    pub cap: Fraction,
}

/// Packets that update the next set of bins during its warm-up.
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
    /// Time between two changes of the set. `None`: the hashes never change.
    pub rehash_interval: Option<Dur>,
    /// `None`: no double buffering.
    pub warm_up: Option<Dur>,
    pub warmed: Warmed,
    pub cap: f64,
}

impl Params {
    /// Returns the parameters with the defaults of their form filled in.
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
            rehash_interval: rehash.as_ref().map(|rehash| rehash.interval),
            warm_up: rehash.as_ref().and_then(|r| r.double_buffer.then_some(r.warm_up.unwrap_or(r.interval))),
            warmed: rehash.as_ref().map_or(Warmed::All, |rehash| rehash.warmed_by),
            cap: rehash.as_ref().map_or(1.0, |rehash| rehash.cap.0),
        }
    }

    /// Refuses parameters out of range, a warm-up longer than `interval`, and `lower-at` "departure" in form "linux".
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        let settings = self.settings();
        check::within("levels", settings.levels as f64, 1.0, 32.0)?;
        check::within("bins", settings.bins as f64, 1.0, 65_535.0)?;
        check::above("increment", settings.increment, 0.0, 1.0)?;
        check::above("decrement", settings.decrement, 0.0, 1.0)?;
        check::at_most_a_day("freeze", settings.freeze)?;
        check::at_most_a_day("freeze-down", settings.freeze_down.unwrap_or(Dur::ZERO))?;
        if self.form == Form::Linux && self.lower_at == LowerAt::Departure {
            let advice =
                "form \"linux\" lowers probabilities at arrivals only; write \"arrival\" or `form = \"thesis\"`";
            return Err(Invalid::new("lower-at", advice));
        }
        check::positive_fraction("penalty-box.threshold", self.penalty_box.threshold)?;
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

/// Reason why `form` is fixed during a run.
const FORM_FIXED: &str = "the forms have bins and penalty boxes of different sorts";

/// Reason why `levels` is fixed during a run.
const LEVELS_FIXED: &str = "waiting packets are counted in the bins of all levels";

/// Reason why `bins` is fixed during a run.
const BINS_FIXED: &str = "waiting packets are counted in these bins";

/// Reason why the penalty box's `scope` is fixed during a run.
const SCOPE_FIXED: &str = "it decides which times of last packets are kept";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        let (from, settings) = (self.settings(), to.settings());
        fixed("form", self.form, to.form, FORM_FIXED)?;
        fixed("levels", from.levels, settings.levels, LEVELS_FIXED)?;
        fixed("bins", from.bins, settings.bins, BINS_FIXED)?;
        fixed("penalty-box.scope", from.scope, settings.scope, SCOPE_FIXED)
    }
}

impl Rehash {
    /// Returns the moving hash of form "linux".
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
