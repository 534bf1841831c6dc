//! Drop-head: drop-tail with another victim.

use crate::discipline::drop_tail::{self, DropTail};
use crate::{Site, Victim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;

/// First in, first out; when an arriving packet would take the queue above its limit, packets are
/// dropped from the head until it fits (Lakshman, Neidhardt and Ott, INFOCOM 1996). Short for
/// drop-tail with `victim = "head"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {}

impl Params {
    /// Returns the empty queue at its site.
    pub fn build(&self, site: &Site) -> DropTail {
        drop_tail::Params { packets: None, victim: Victim::Head }.build(site)
    }
    /// Accepts all parameters: there are none.
    ///
    /// # Errors
    /// Never.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}
