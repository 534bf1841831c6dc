//! Differentiated services code points (DSCP) and their names.

use crate::Colour;
use core::fmt;
use core::str::FromStr;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;

/// A differentiated services code point (DSCP), 0 to 63 (RFC 2474). Documents contain a name, `"af11"` to `"af43"`,
/// `"ef"`, `"va"`, `"cs0"` to `"cs7"` or `"default"`, or the number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort.
    pub const DEFAULT: Dscp = Dscp(0);
    /// Expedited forwarding (RFC 3246).
    pub const EF: Dscp = Dscp(46);
    /// Expedited forwarding of admitted voice (RFC 5865).
    pub const VOICE_ADMIT: Dscp = Dscp(44);

    /// Returns the DSCP with that number; `None`: above 63.
    pub fn new(codepoint: u8) -> Option<Dscp> {
        (codepoint < 64).then_some(Dscp(codepoint))
    }
    /// Returns assured forwarding of a class, 1 to 4, and a drop precedence, 1 to 3: 8·class + 2·precedence (RFC 2597
    /// section 6); `None`: out of range.
    pub fn af(class: u8, precedence: u8) -> Option<Dscp> {
        ((1..=4).contains(&class) && (1..=3).contains(&precedence)).then_some(Dscp(8 * class + 2 * precedence))
    }
    /// Returns a class selector, 0 to 7: 8·class (RFC 2474 section 4.2.2); `None`: out of range.
    pub fn cs(class: u8) -> Option<Dscp> {
        (class < 8).then_some(Dscp(8 * class))
    }
    /// Returns the number, 0 to 63.
    pub fn codepoint(self) -> u8 {
        self.0
    }
    /// Returns the upper three bits: IP precedence, 0 to 7 (RFC 791).
    pub fn precedence(self) -> u8 {
        self.0 >> 3
    }
    /// Returns the class, 1 to 4, and the drop precedence, 1 to 3; `None`: not a DSCP of assured forwarding.
    pub fn assured(self) -> Option<(u8, u8)> {
        let (class, precedence) = (self.0 / 8, self.0 % 8 / 2);
        (Dscp::af(class, precedence) == Some(self)).then_some((class, precedence))
    }
    /// Returns the colour of the drop precedence; `None`: not a DSCP of assured forwarding.
    pub fn colour(self) -> Option<Colour> {
        self.assured().map(|(_, precedence)| Colour::ALL[usize::from(precedence - 1)])
    }
    /// Returns the same class of assured forwarding with the drop precedence of `colour`; other DSCPs are unchanged.
    #[must_use]
    pub fn coloured(self, colour: Colour) -> Dscp {
        self.assured().and_then(|(class, _)| Dscp::af(class, colour.precedence())).unwrap_or(self)
    }
}

impl fmt::Display for Dscp {
    /// Formats the name, or the number of a DSCP without a name; the text parses back to the same DSCP.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self, self.assured()) {
            (Dscp::DEFAULT, _) => f.write_str("default"),
            (Dscp::EF, _) => f.write_str("ef"),
            (Dscp::VOICE_ADMIT, _) => f.write_str("va"),
            (_, Some((class, precedence))) => write!(f, "af{class}{precedence}"),
            (Dscp(n), _) if n % 8 == 0 => write!(f, "cs{}", n / 8),
            (Dscp(n), _) => write!(f, "{n}"),
        }
    }
}

impl FromStr for Dscp {
    type Err = String;
    fn from_str(text: &str) -> Result<Dscp, String> {
        let name = text.trim().to_ascii_lowercase();
        let digits_after = |prefix: &str| -> Option<Vec<u8>> {
            let tail = name.strip_prefix(prefix)?;
            tail.chars().map(|c| c.to_digit(10).map(|d| d as u8)).collect()
        };
        let parsed = match name.as_str() {
            "default" | "be" | "df" => Some(Dscp::DEFAULT),
            "ef" => Some(Dscp::EF),
            "va" | "voice-admit" => Some(Dscp::VOICE_ADMIT),
            _ => match (digits_after("af").as_deref(), digits_after("cs").as_deref()) {
                (Some([class, precedence]), _) => Dscp::af(*class, *precedence),
                (_, Some([class])) => Dscp::cs(*class),
                _ => name.parse().ok().and_then(Dscp::new),
            },
        };
        parsed.ok_or_else(|| {
            format!("`{text}` is not a DSCP; write af11 to af43, ef, va, cs0 to cs7, default, or 0 to 63")
        })
    }
}

struct DscpVisitor;

impl Visitor<'_> for DscpVisitor {
    type Value = Dscp;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a DSCP such as \"af11\", or its number")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Dscp, E> {
        text.parse().map_err(E::custom)
    }
    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Dscp, E> {
        self.visit_str(&n.to_string())
    }
    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Dscp, E> {
        self.visit_str(&n.to_string())
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Dscp, D::Error> {
        d.deserialize_any(DscpVisitor)
    }
}
impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl JsonSchema for Dscp {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Dscp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "string", "pattern": "^\\s*(af[1-4][1-3]|ef|va|voice-admit|cs[0-7]|default|be|df|[0-9]{1,2})\\s*$" },
                { "type": "integer", "minimum": 0, "maximum": 63 },
            ],
            "examples": ["af11", "ef", 0],
        })
    }
}
