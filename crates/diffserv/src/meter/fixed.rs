//! No meter: every packet has one colour.

use crate::{Colour, Shows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::Time;

/// Every packet has the same colour. Best-effort traffic beside marked traffic needs it, since what
/// nobody colours counts as green.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// "green", "yellow" or "red".
    pub colour: Colour,
}

impl Params {
    /// Nothing can be wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// The marker at work.
#[derive(Clone, Debug)]
pub struct Fixed(Colour);

impl Fixed {
    /// It always gives one colour.
    pub fn new(params: &Params) -> Fixed {
        Fixed(params.colour)
    }
    /// The colour, whatever the packet.
    pub fn mark(&mut self, _now: Time, _bytes: u32, _incoming: Colour, _rng: &mut Rng) -> Colour {
        self.0
    }
}

impl Shows for Fixed {}
