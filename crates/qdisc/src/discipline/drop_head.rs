//! Drop-head: a FIFO that drops its oldest packets when it is full.

use crate::discipline::drop_tail::{self, DropTail};
use crate::{Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;

/// First in, first out. If an arriving packet would exceed the limit, packets are dropped from the
/// head of the queue until it fits (Lakshman, Neidhardt and Ott, INFOCOM 1996). The same as
/// drop-tail with `victim = "head"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {}

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> DropTail {
        drop_tail::Params { packets: None, victim: Victim::Head }.build(site)
    }
    /// Accepts: there are no parameters.
    ///
    /// # Errors
    /// Never.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}
