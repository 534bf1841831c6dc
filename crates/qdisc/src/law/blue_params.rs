//! The parameters of Blue.

use crate::signals::{Signals, Threshold};
use crate::{Site, Victim, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Amount, Dur};

/// Blue (Feng et al., UM CSE-TR-387-99, 1999): arriving packets are marked or dropped with one
/// probability, which is raised when the queue overflows and lowered when the link idles.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Form of the law: "thesis", as published, or "altq", as in ALTQ's kernel code. Form "altq"
    /// lowers the probability at the first arrival after an idle time, or sets it to 0.001 if the whole seconds of the
    /// clock are then at least two more than at the last change. It marks or drops nothing early while fewer than two
    /// packets wait. Default "thesis".
    pub form: Form,
    /// Increment of the probability at an overflow (d1), above 0 and at most 1. Default 0.0025; 0.125 in form
    /// "altq".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment: Option<f64>,
    /// Decrement of the probability at an idle link (d2), above 0 and at most 1. Default 0.00025;
    /// 0.001 in form "altq".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrement: Option<f64>,
    /// Freeze time: minimum time between two changes of the probability, at most 24h. Default 100ms; 50ms in
    /// form "altq".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Dur>,
    /// Freeze time before the probability is lowered, at most 24h. Default: `freeze`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrement_freeze: Option<Dur>,
    /// Freeze timers: "shared", as published, where each change delays increases and decreases alike, or
    /// "separate", as in the authors' code for ns, where increases delay only increases and decreases only
    /// decreases. Default "shared".
    pub timers: Timers,
    /// Increase of the probability p: "linear", to p + `increment`, or "doubling", to 2p + `increment`
    /// (variant 2 of the authors' code). Default "linear".
    pub rise: Rise,
    /// Decreases during an idle time: "once", when it begins, or "repeated", also after each further
    /// freeze time; with "once" a probability of 1 never falls again. Form "altq" ignores this parameter. Default
    /// "repeated".
    pub idle: IdleSteps,
    /// Queue above which an arrival counts as overflow. Default: only a full queue does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Amount>,
    /// `true` if ECN-capable packets are marked instead of dropped early. Default false.
    pub ecn: bool,
    /// Packet that is dropped when the queue is full: "tail", the arriving one, "head", the oldest, or "random".
    /// Default "tail"; "random" in form "altq".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub victim: Option<Victim>,
}

/// The two published forms of Blue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// UM CSE-TR-387-99 and IEEE/ACM ToN 10(4).
    #[default]
    Thesis,
    /// ALTQ's `altq_blue.c`.
    Altq,
}

/// Freeze timers of increases and decreases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timers {
    /// Each change delays increases and decreases.
    #[default]
    Shared,
    /// Increases delay only increases, decreases only decreases.
    Separate,
}

/// Form of an increase of the probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rise {
    /// From p to p + increment.
    #[default]
    Linear,
    /// From p to 2p + increment.
    Doubling,
}

/// Number of decreases per idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleSteps {
    /// One, at the beginning of the idle time.
    Once,
    /// One at the beginning of the idle time, and one after each further freeze time.
    #[default]
    Repeated,
}

impl Params {
    /// Refuses steps of 0 or above 1, and freeze times above a day.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("increment", self.increment(), 0.0, 1.0)?;
        check::above("decrement", self.decrement(), 0.0, 1.0)?;
        check::at_most_a_day("freeze", self.freeze())?;
        check::at_most_a_day("decrement-freeze", self.decrement_freeze.unwrap_or_default())
    }

    /// Returns the increment, by default that of the form.
    pub(super) fn increment(&self) -> f64 {
        self.increment.unwrap_or(match self.form {
            Form::Thesis => 0.0025,
            Form::Altq => 0.125,
        })
    }
    /// Returns the decrement, by default that of the form.
    pub(super) fn decrement(&self) -> f64 {
        self.decrement.unwrap_or(match self.form {
            Form::Thesis => 0.00025,
            Form::Altq => 0.001,
        })
    }
    /// Returns the freeze time, by default that of the form.
    pub(super) fn freeze(&self) -> Dur {
        self.freeze.unwrap_or(match self.form {
            Form::Thesis => Dur::from_ms(100),
            Form::Altq => Dur::from_ms(50),
        })
    }
    /// Returns the packet that is dropped when the queue is full, by default that of the form.
    pub(crate) fn victim(&self) -> Victim {
        self.victim.unwrap_or(match self.form {
            Form::Thesis => Victim::Tail,
            Form::Altq => Victim::Random,
        })
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        if let Some(threshold) = self.threshold {
            f(Threshold { path: "threshold".to_owned(), derived: false, length: threshold.into(), site: *site });
        }
    }
}
