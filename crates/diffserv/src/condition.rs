//! Conditioners: a meter and an action for each colour.

use crate::{Colour, Dscp, Marker, Meter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_random::Rng;
use tailback_units::Time;

/// Action on packets of a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// The packet passes; if its DSCP is one of assured forwarding, its drop precedence becomes that of the colour.
    #[default]
    Pass,
    /// The packet passes with this DSCP.
    Mark(Dscp),
    /// The packet is dropped: policing.
    Drop,
}

/// A traffic conditioner: a meter, and an action for each colour. `red = "drop"` polices; `yellow = { mark = "af12" }`
/// sets a DSCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Actions {
    /// Meter that colours the packets.
    pub meter: Meter,
    /// Action on green packets: "pass", "drop" or { mark = DSCP }. Default "pass".
    #[serde(default)]
    pub green: Action,
    /// Action on yellow packets, with the same values. Default "pass".
    #[serde(default)]
    pub yellow: Action,
    /// Action on red packets, with the same values. Default "pass".
    #[serde(default)]
    pub red: Action,
}

impl Actions {
    /// Returns a conditioner with its initial state.
    pub fn build(&self) -> Conditioner {
        Conditioner { marker: self.meter.build(), actions: [self.green, self.yellow, self.red] }
    }
    /// Checks the meter's parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.meter.check().map_err(|e| e.within("meter"))
    }
}

/// Result of conditioning a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet passes with this colour and DSCP.
    Pass(Colour, Dscp),
    /// The packet of this colour is dropped.
    Drop(Colour),
}

/// A conditioner of one stream, with its state.
#[derive(Clone, Debug)]
pub struct Conditioner {
    marker: Marker,
    /// Actions, indexed by colour.
    actions: [Action; 3],
}

impl Conditioner {
    /// Conditions a packet of `bytes` that arrives at `now` with a DSCP; calls must be in order of `now`. The packet's
    /// incoming colour is that of its DSCP, or green if the DSCP is not one of assured forwarding.
    pub fn condition(&mut self, now: Time, bytes: u32, dscp: Dscp, rng: &mut Rng) -> Outcome {
        let colour = self.marker.mark(now, bytes, dscp.colour().unwrap_or_default(), rng);
        match self.actions[colour as usize] {
            Action::Pass => Outcome::Pass(colour, dscp.coloured(colour)),
            Action::Mark(dscp) => Outcome::Pass(colour, dscp),
            Action::Drop => Outcome::Drop(colour),
        }
    }
}
