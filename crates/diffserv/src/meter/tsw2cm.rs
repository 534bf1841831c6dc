//! Time-sliding-window two-colour marker.

use crate::{Colour, Shows, SlidingWindow, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Time-sliding-window two-colour marker: packets of a stream that exceeds the committed rate are yellow with
/// probability (rate − `cir`)/rate, else green (Clark and Fang 1998).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Committed information rate.
    pub cir: Rate,
    /// Window of the rate estimate, above 0s and at most 24h. Default 1s.
    #[serde(default = "default_window")]
    pub window: Dur,
}

pub(super) fn default_window() -> Dur {
    Dur::from_secs(1)
}

impl Params {
    /// Checks the range of the window.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("window", self.window)
    }
}

/// The marker with its state.
#[derive(Clone, Debug)]
pub struct Tsw2cm {
    window: SlidingWindow,
    /// Committed rate, bytes per second.
    committed: f64,
}

impl Tsw2cm {
    /// Returns a marker whose rate estimate starts at the committed rate.
    pub fn new(params: &Params) -> Tsw2cm {
        let window = SlidingWindow::new(params.window, params.cir);
        Tsw2cm { window, committed: params.cir.0 as f64 / 8.0 }
    }
    /// Returns yellow with probability (rate − cir)/rate if the estimated rate exceeds cir, else green; the incoming
    /// colour is ignored.
    pub fn mark(&mut self, now: Time, bytes: u32, _incoming: Colour, rng: &mut Rng) -> Colour {
        let rate = self.window.arrive(now, bytes);
        if rate > self.committed && rng.chance((rate - self.committed) / rate) { Colour::Yellow } else { Colour::Green }
    }
}

impl Shows for Tsw2cm {
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("observed_bit_s", 8.0 * self.window.last());
    }
}
