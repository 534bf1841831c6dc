//! A shaper: packets wait until they conform.

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
    /// Most bytes that may leave at once, no less than the largest packet.
    pub burst: Size,
}

impl Params {
    /// The shaper, its bucket full.
    pub fn build(&self) -> Shaper {
        Shaper { bucket: TokenBucket::new(self.rate, self.burst.0), last: Time::ZERO }
    }
    /// The bucket holds something.
    pub fn check(&self) -> Result<(), Invalid> {
        check::some_burst("burst", self.burst)
    }
}

/// A shaper at work: tells when each packet may leave.
#[derive(Clone, Debug)]
pub struct Shaper {
    bucket: TokenBucket,
    /// When the last packet leaves.
    last: Time,
}

impl Shaper {
    /// A shaper with parameters that have passed `check`.
    pub fn new(params: &Params) -> Shaper {
        params.build()
    }
    /// A packet of `bytes` arrives at `now`; when it leaves, behind all that came before. None if
    /// it is larger than the burst and so never conforms.
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
