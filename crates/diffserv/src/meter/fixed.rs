//! A constant colour for every packet.

use crate::{Colour, Shows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::Time;

/// Gives every packet the same colour. Used for best-effort traffic next to marked traffic, since uncoloured packets
/// are green.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Colour: "green", "yellow" or "red".
    pub colour: Colour,
}

impl Params {
    /// Always `Ok`: every colour is valid.
    ///
    /// # Errors
    /// Never.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// The marker.
#[derive(Clone, Debug)]
pub struct Fixed(Colour);

impl Fixed {
    /// Returns a marker with one colour.
    pub fn new(params: &Params) -> Fixed {
        Fixed(params.colour)
    }
    /// Returns the colour; all arguments are ignored.
    pub fn mark(&mut self, _now: Time, _bytes: u32, _incoming: Colour, _rng: &mut Rng) -> Colour {
        self.0
    }
}

impl Shows for Fixed {}
