//! Time-sliding-window two-colour marker.

use crate::{Colour, Shows, SlidingWindow, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Time-sliding-window two-colour marker: of a stream above the committed rate, the part that is
/// beyond it is yellow, chosen at random (Clark and Fang 1998).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Committed information rate.
    pub cir: Rate,
    /// Length of the window, above 0s: how long the estimate of the rate remembers. Default 1s.
    #[serde(default = "second")]
    pub window: Dur,
}

pub(super) fn second() -> Dur {
    Dur::from_secs(1)
}

impl Params {
    /// The window has a length.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("window", self.window)
    }
}

/// The marker at work.
#[derive(Clone, Debug)]
pub struct Tsw2cm {
    window: SlidingWindow,
    /// Bytes per second.
    committed: f64,
}

impl Tsw2cm {
    /// Its estimate starts at the committed rate.
    pub fn new(params: &Params) -> Tsw2cm {
        let window = SlidingWindow::new(params.window, params.cir);
        Tsw2cm { window, committed: params.cir.0 as f64 / 8.0 }
    }
    /// Yellow with probability (rate − cir)/rate, whatever it was before.
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
