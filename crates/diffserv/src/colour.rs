//! Colours: how well a packet conforms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drop precedence of a packet, from the last to be dropped to the first. A later colour is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Colour {
    /// Within the committed profile.
    #[default]
    Green,
    /// Beyond it, within the excess.
    Yellow,
    /// Beyond both.
    Red,
}

impl Colour {
    /// Every colour, the last to be dropped first.
    pub const ALL: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

    /// Drop precedence of assured forwarding: 1, 2 or 3 (RFC 2597 section 6).
    pub fn precedence(self) -> u8 {
        self as u8 + 1
    }
}
