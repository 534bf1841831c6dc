//! Shapers: packets wait until they conform.

use crate::{TokenBucket, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Rate, Size, Time};

/// Delays a stream until it conforms to a token bucket (RFC 2475 section 2.3.3.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Rate of the stream after shaping.
    pub rate: Rate,
    /// Bucket size, above 0 B and at most 1 TB; larger packets never conform.
    pub burst: Size,
}

impl Params {
    /// Returns the shaper with a full bucket.
    pub fn build(&self) -> Shaper {
        Shaper { bucket: TokenBucket::new(self.rate, self.burst.0), last: Time::ZERO }
    }
    /// Checks the bucket size.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::some_burst("burst", self.burst)
    }
}

/// A shaper with its state, which computes the departure time of each packet.
#[derive(Clone, Debug)]
pub struct Shaper {
    bucket: TokenBucket,
    /// Departure time of the last packet; zero before the first one.
    last: Time,
}

impl Shaper {
    /// Returns a shaper with a full bucket. The parameters must have passed `check`.
    pub fn new(params: &Params) -> Shaper {
        params.build()
    }
    /// Returns the departure time of a packet of `bytes` that arrives at `now`, not before that of the last packet.
    /// `None`: the packet is larger than the bucket and never conforms.
    pub fn release(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let from = now.max(self.last);
        self.bucket.fill(from);
        let at = self.bucket.ready_at(bytes)?;
        self.bucket.fill(at);
        self.bucket.take(bytes);
        self.last = at;
        Some(at)
    }
}
