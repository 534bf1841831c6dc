//! Single token bucket: in profile or out of profile.

use crate::{Colour, Shows, TokenBucket, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Rate, Size, Time};

/// A single token bucket: packets that conform are green, others red.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Rate of the profile.
    pub rate: Rate,
    /// Bucket size, above 0 B and at most 1 TB; larger packets never conform.
    pub burst: Size,
}

impl Params {
    /// Checks the bucket size.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::some_burst("burst", self.burst)
    }
}

/// The meter with its state.
#[derive(Clone, Debug)]
pub struct Profile(TokenBucket);

impl Profile {
    /// Returns a meter with a full bucket.
    pub fn new(params: &Params) -> Profile {
        Profile(TokenBucket::new(params.rate, params.burst.0))
    }
    /// Returns green if there are tokens for the packet, else red; the incoming colour is ignored.
    pub fn mark(&mut self, now: Time, bytes: u32, _incoming: Colour, _rng: &mut Rng) -> Colour {
        self.0.fill(now);
        if self.0.take(bytes) { Colour::Green } else { Colour::Red }
    }
}

impl Shows for Profile {}
