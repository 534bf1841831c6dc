//! One token bucket: in profile or out of it.

use crate::{Colour, Shows, TokenBucket, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Rate, Size, Time};

/// One token bucket: what conforms is green, the rest red.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Rate of the profile.
    pub rate: Rate,
    /// Most bytes that may come at once, no less than the largest packet.
    pub burst: Size,
}

impl Params {
    /// The bucket holds something.
    pub fn check(&self) -> Result<(), Invalid> {
        check::some_burst("burst", self.burst)
    }
}

/// The meter at work.
#[derive(Clone, Debug)]
pub struct Profile(TokenBucket);

impl Profile {
    /// Its bucket is full.
    pub fn new(params: &Params) -> Profile {
        Profile(TokenBucket::new(params.rate, params.burst.0))
    }
    /// Green if there are tokens for the packet, whatever it was before.
    pub fn mark(&mut self, now: Time, bytes: u32, _incoming: Colour, _rng: &mut Rng) -> Colour {
        self.0.fill(now);
        if self.0.take(bytes) { Colour::Green } else { Colour::Red }
    }
}

impl Shows for Profile {}
