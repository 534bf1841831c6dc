//! Colours: conformance of a packet to a traffic profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drop precedence of a packet, in ascending order: green is dropped last, red first. A packet that
/// no meter has coloured is green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Colour {
    /// Within the committed burst size (RFC 2697) or the committed rate (RFC 2698).
    #[default]
    Green,
    /// Beyond the committed, but within the excess burst size (RFC 2697); beyond the committed, but
    /// within the peak rate (RFC 2698).
    Yellow,
    /// Beyond the excess burst size (RFC 2697) or the peak rate (RFC 2698).
    Red,
}

impl Colour {
    /// All colours, in ascending drop precedence.
    pub const ALL: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

    /// Returns the drop precedence of assured forwarding: 1, 2 or 3 (RFC 2597 section 6).
    pub fn precedence(self) -> u8 {
        self as u8 + 1
    }
}
