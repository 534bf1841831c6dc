//! What becomes of a packet by its colour.

use crate::{Colour, Dscp, Marker, Meter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_random::Rng;
use tailback_units::Time;

/// What is done with packets of a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It passes; if its codepoint is one of assured forwarding, its drop precedence becomes that of
    /// the colour.
    #[default]
    Pass,
    /// It passes with this codepoint.
    Mark(Dscp),
    /// It is dropped: policing.
    Drop,
}

/// A traffic conditioner: a meter, and what is done with each colour. `red = "drop"` polices;
/// `yellow = { mark = "af12" }` writes a codepoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Actions {
    /// By what the stream is judged.
    pub meter: Meter,
    /// "pass", "drop" or { mark = codepoint } for green packets. Default "pass".
    #[serde(default)]
    pub green: Action,
    /// The same for yellow packets. Default "pass".
    #[serde(default)]
    pub yellow: Action,
    /// The same for red packets. Default "pass".
    #[serde(default)]
    pub red: Action,
}

impl Actions {
    /// The conditioner at work.
    pub fn build(&self) -> Conditioner {
        Conditioner { marker: self.meter.build(), actions: [self.green, self.yellow, self.red] }
    }
    /// Whether the meter's parameters make sense.
    pub fn check(&self) -> Result<(), Invalid> {
        self.meter.check().map_err(|e| e.within("meter"))
    }
}

/// What has become of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It passes with this colour and codepoint.
    Pass(Colour, Dscp),
    /// It is dropped, having had this colour.
    Drop(Colour),
}

/// A conditioner at work on one stream.
#[derive(Clone, Debug)]
pub struct Conditioner {
    marker: Marker,
    /// By colour.
    actions: [Action; 3],
}

impl Conditioner {
    /// A packet of `bytes` arrives with a codepoint. Its colour before is what its codepoint says,
    /// green if that is not one of assured forwarding.
    pub fn condition(&mut self, now: Time, bytes: u32, dscp: Dscp, rng: &mut Rng) -> Outcome {
        let colour = self.marker.mark(now, bytes, dscp.colour().unwrap_or_default(), rng);
        match self.actions[colour as usize] {
            Action::Pass => Outcome::Pass(colour, dscp.coloured(colour)),
            Action::Mark(dscp) => Outcome::Pass(colour, dscp),
            Action::Drop => Outcome::Drop(colour),
        }
    }
}
