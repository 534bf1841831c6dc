//! Two-rate three-colour marker (RFC 2698).

use crate::{Colour, Shows, TokenBucket, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Rate, Size, Time};

/// Two-rate three-colour marker (RFC 2698): red beyond the peak rate and burst, else yellow beyond the committed ones,
/// else green.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Peak information rate, at least `cir`.
    pub pir: Rate,
    /// Peak burst size, above 0 B and at most 1 TB.
    pub pbs: Size,
    /// Committed information rate.
    pub cir: Rate,
    /// Committed burst size, above 0 B and at most 1 TB.
    pub cbs: Size,
    /// `true` if the incoming colour is an upper bound: no packet gets a better one. Default false.
    #[serde(default)]
    pub colour_aware: bool,
}

impl Params {
    /// Checks the ranges of the bursts, and that the peak rate is at least the committed one (RFC 2698 section 2).
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::some_burst("pbs", self.pbs)?;
        check::some_burst("cbs", self.cbs)?;
        if self.pir < self.cir {
            return Err(Invalid::new("pir", format!("{} is below `cir`; write at least {}", self.pir, self.cir)));
        }
        Ok(())
    }
}

/// The marker with its state.
#[derive(Clone, Debug)]
pub struct TrTcm {
    peak: TokenBucket,
    committed: TokenBucket,
    colour_aware: bool,
}

impl TrTcm {
    /// Returns a marker with both buckets full.
    pub fn new(params: &Params) -> TrTcm {
        TrTcm {
            peak: TokenBucket::new(params.pir, params.pbs.0),
            committed: TokenBucket::new(params.cir, params.cbs.0),
            colour_aware: params.colour_aware,
        }
    }
    /// Returns the colour of a packet (RFC 2698 section 3).
    pub fn mark(&mut self, now: Time, bytes: u32, incoming: Colour, _rng: &mut Rng) -> Colour {
        self.peak.fill(now);
        self.committed.fill(now);
        let before = if self.colour_aware { incoming } else { Colour::Green };
        if before == Colour::Red || !self.peak.take(bytes) {
            Colour::Red
        } else if before == Colour::Yellow || !self.committed.take(bytes) {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }
}

impl Shows for TrTcm {}
