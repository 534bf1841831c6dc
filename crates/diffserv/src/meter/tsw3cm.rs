//! Time-sliding-window three-colour marker (RFC 2859).

use crate::{Colour, Shows, SlidingWindow, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

/// Time-sliding-window three-colour marker: packets are coloured at random, so that the part of the stream's rate
/// beyond the peak rate is red and the part between committed and peak rate yellow (RFC 2859).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Committed target rate.
    pub cir: Rate,
    /// Peak target rate, at least `cir`.
    pub pir: Rate,
    /// Window of the rate estimate, above 0s and at most 24h. Default 1s.
    #[serde(default = "super::tsw2cm::default_window")]
    pub window: Dur,
}

impl Params {
    /// Checks the range of the window, and that the peak rate is at least the committed one.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("window", self.window)?;
        if self.pir < self.cir {
            return Err(Invalid::new("pir", format!("{} is below `cir`; write at least {}", self.pir, self.cir)));
        }
        Ok(())
    }
}

/// The marker with its state.
#[derive(Clone, Debug)]
pub struct Tsw3cm {
    window: SlidingWindow,
    /// Committed rate, bytes per second.
    committed: f64,
    /// Peak rate, bytes per second.
    peak: f64,
}

impl Tsw3cm {
    /// Returns a marker whose rate estimate starts at the committed rate.
    pub fn new(params: &Params) -> Tsw3cm {
        let window = SlidingWindow::new(params.window, params.cir);
        Tsw3cm { window, committed: params.cir.0 as f64 / 8.0, peak: params.pir.0 as f64 / 8.0 }
    }
    /// Returns the colour of a packet (RFC 2859 section 4); the incoming colour is ignored.
    pub fn mark(&mut self, now: Time, bytes: u32, _incoming: Colour, rng: &mut Rng) -> Colour {
        let rate = self.window.arrive(now, bytes);
        if rate <= self.committed {
            return Colour::Green;
        }
        let red = f64::max(0.0, (rate - self.peak) / rate);
        let not_green = (rate - self.committed) / rate;
        match rng.uniform() {
            u if u < red => Colour::Red,
            u if u < not_green => Colour::Yellow,
            _ => Colour::Green,
        }
    }
}

impl Shows for Tsw3cm {
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("observed_bit_s", 8.0 * self.window.last());
    }
}
