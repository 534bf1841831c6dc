//! Single-rate three-colour marker (RFC 2697).

use crate::{Colour, Shows, TokenBucket, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Rate, Size, Time};

/// Single-rate three-colour marker (RFC 2697): green within the committed burst, yellow within the excess burst, else
/// red. One rate fills the committed bucket first, then the excess bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Committed information rate.
    pub cir: Rate,
    /// Committed burst size, at most 1 TB; may be "0B" if `ebs` is above 0.
    pub cbs: Size,
    /// Excess burst size, at most 1 TB. Default "0B": no packet is yellow.
    #[serde(default = "no_excess")]
    pub ebs: Size,
    /// `true` if the incoming colour is an upper bound: no packet gets a better one. Default false.
    #[serde(default)]
    pub colour_aware: bool,
}

fn no_excess() -> Size {
    Size(0)
}

impl Params {
    /// Checks the ranges of the bursts, and that one of them is above 0 (RFC 2697 section 2).
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::burst("cbs", self.cbs)?;
        check::burst("ebs", self.ebs)?;
        if self.cbs == Size(0) {
            check::some_burst("ebs", self.ebs)?;
        }
        Ok(())
    }
}

/// The marker with its state.
#[derive(Clone, Debug)]
pub struct SrTcm {
    committed: TokenBucket,
    /// Excess bucket, filled by the overflow of the committed bucket.
    excess: TokenBucket,
    colour_aware: bool,
}

impl SrTcm {
    /// Returns a marker with both buckets full.
    pub fn new(params: &Params) -> SrTcm {
        SrTcm {
            committed: TokenBucket::new(params.cir, params.cbs.0),
            excess: TokenBucket::new(Rate(0), params.ebs.0),
            colour_aware: params.colour_aware,
        }
    }
    /// Returns the colour of a packet (RFC 2697 section 3).
    pub fn mark(&mut self, now: Time, bytes: u32, incoming: Colour, _rng: &mut Rng) -> Colour {
        let overflow = self.committed.fill(now);
        self.excess.add(overflow);
        let before = if self.colour_aware { incoming } else { Colour::Green };
        if before == Colour::Green && self.committed.take(bytes) {
            Colour::Green
        } else if before <= Colour::Yellow && self.excess.take(bytes) {
            Colour::Yellow
        } else {
            Colour::Red
        }
    }
}

impl Shows for SrTcm {}
