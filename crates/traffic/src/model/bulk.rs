//! One transfer, all at once.

use crate::{Burst, LARGEST_BURST};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Size, Time};

/// Hands a single burst to the host at the start: a transfer, or with a large size a host that
/// always has something to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bulk {
    /// Payload of the whole transfer, 1 B to 2^40 B (1.0995 TB).
    pub size: Size,
}

impl Bulk {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), Invalid> {
        if (1..=LARGEST_BURST).contains(&self.size.0) {
            return Ok(());
        }
        Err(Invalid::new("size", format!("{} is out of range; write 1B to {}", self.size, Size(LARGEST_BURST))))
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        None
    }

    pub(crate) fn start(&self, at: Time, _: &mut Rng) -> Source {
        Source { transfer: Some(Burst { at, bytes: self.size.0 }) }
    }
}

/// A transfer that has or has not been handed over.
#[derive(Clone, Debug)]
pub struct Source {
    transfer: Option<Burst>,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, _: &mut Rng) -> Option<Burst> {
        self.transfer.take()
    }
}
