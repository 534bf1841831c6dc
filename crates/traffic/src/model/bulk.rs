//! A single transfer.

use crate::{Burst, MAX_BURST};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Size, Time};

/// A single burst at the start: a transfer of `size`, or without it a greedy source that always has data to send.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bulk {
    /// Payload of the transfer, 1 B to 2^40 B (1.0995 TB). Default: unlimited, which requires a
    /// transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
}

impl Bulk {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        match self.size {
            Some(size) if !(1..=MAX_BURST).contains(&size.0) => {
                Err(Invalid::new("size", format!("{size} is out of range; write 1B to {}", Size(MAX_BURST))))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        None
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        self.size.map(|size| size.0)
    }

    pub(crate) fn start(&self, at: Time, _: &mut Rng) -> Source {
        Source { transfer: Some(Burst { at, bytes: self.size.map_or(Burst::ENDLESS, |size| size.0) }) }
    }
}

/// A source of a single transfer.
#[derive(Clone, Debug)]
pub struct Source {
    /// The transfer; `None`: it has been emitted.
    transfer: Option<Burst>,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, _: &mut Rng) -> Option<Burst> {
        self.transfer.take()
    }
}
